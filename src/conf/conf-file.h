/* SPDX-License-Identifier: MIT */
/* Text files as they come: read whole, BOM dropped, line ends of CR alone made line feeds, known to be UTF-8 without
 * NULs; or an error that shows the way.
 *
 *   g_autofree char *data = conf_file_read("workloads/a.ini", &length, error);
 *   // no file "workloads/a.ini"; did you mean "workloads/b.ini"?
 *
 * For this room alone: conf-text and conf-tree read through it. */
#pragma once

#include "base-error.h"

/* NUL-terminated, unpacked where gzip packed it. Errors: SIM_ERROR_INPUT for what is missing (with the nearest name), a
 * folder, an archive, more than 256 MiB, or not UTF-8 text (with line and column). Caller frees. */
char *conf_file_read(const char *path, gsize *ret_length, GError **error);

/* The same checks for data from memory that `name` stands for; a copy without BOM. Caller frees. */
char *conf_file_take(const char *name, const char *data, gsize length, gsize *ret_length, GError **error);

/* Position in characters, from 1, of a byte of valid UTF-8. Cost: the bytes before it. */
void conf_file_position(const char *data, gsize offset, guint *ret_line, guint *ret_column);

/* Names of a folder's files and folders but hidden ones, sorted, so that no answer depends on the disk's order; empty
 * where there is no such folder. NULL and *error (SIM_ERROR_SYSTEM) where the machine refuses: too many open files.
 * Caller frees with g_strfreev. */
char **conf_file_names(const char *folder, GError **error);

/* Why a path that is not there is not there: `; did you mean "models/llama-2-7b.json"?` (`; there is no folder "modls"`
 * where even that is missing), or "" where nothing is near. Caller frees. */
char *conf_file_advice(const char *path);
