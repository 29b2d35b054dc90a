/* SPDX-License-Identifier: MIT */
/* Bytes of a file that people have: as they are, or unpacked where gzip packed them; the files of a tar archive, where
 * they are asked for; other archives are named.
 *
 *   g_autoptr(GBytes) data = conf_data_load("trace.json.gz", error);
 *   // a.tgz: is a tar archive; unpack it (tar xf a.tgz) and name a file of it
 *
 * A file that is not packed is mapped, not read: a look at its first bytes costs nothing, however large it is. */
#pragma once

#include "base-error.h"

/* Errors (SIM_ERROR_INPUT): no such file, a folder, a pipe, a device, a tar, zip, zstd, xz or bzip2 archive, a broken
 * gzip, one that unpacks to more than 2 GiB, or than 64 MiB and 100 times what it was. Cost: of packed files the
 * unpacked text. */
GBytes *conf_data_load(const char *path, GError **error);
/* The same as a text with a NUL behind it; caller frees. */
char *conf_data_text(const char *path, gsize *ret_length, GError **error);
/* The same of what a person or a tool wrote about one machine or one job. Errors too: more than CONF_DATA_MOST bytes
 * (of what is not packed, told without reading them), and a NUL near the beginning, which no text has. */
#define CONF_DATA_MOST ((gsize)256 << 20)
char *conf_data_small_text(const char *path, gsize *ret_length, GError **error);

/* A file, or one of a tar archive's: `path` is then "traces.tar.gz:rank0.json". */
typedef struct {
  char *path;
  GBytes *bytes;
} ConfPart;

/* The plain files of a tar archive (packed by gzip or not) in the archive's order, each unpacked where gzip packed it
 * too; of any other file that file alone. ConfPart, to be unreffed. Errors: as conf_data_load, whose bounds hold for
 * all of them together; a broken archive, one without files. */
GPtrArray *conf_data_parts(const char *path, GError **error);
