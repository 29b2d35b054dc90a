/* SPDX-License-Identifier: MIT */
/* Bytes of a file that people have: as they are, or unpacked where gzip packed them; other archives are named.
 *
 *   g_autoptr(GBytes) data = conf_data_load("trace.json.gz", error);
 *   // a.tgz: is a tar archive; unpack it (tar xf a.tgz) and name a file of it
 *
 * A file that is not packed is mapped, not read: a look at its first bytes costs nothing, however large it is. */
#pragma once

#include "base-error.h"

/* Errors (SIM_ERROR_INPUT): no such file, a folder, a tar, zip, zstd, xz or bzip2 archive, a broken gzip, one of more
 * than 2 GiB unpacked. Cost: of packed files the unpacked text. */
GBytes *conf_data_load(const char *path, GError **error);
/* The same as a text with a NUL behind it; caller frees. */
char *conf_data_text(const char *path, gsize *ret_length, GError **error);
