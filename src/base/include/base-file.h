/* SPDX-License-Identifier: MIT */
/* Files that the person named, written whole or not at all.
 *
 *   if (!base_file_write("out.svg", text, length, error)) return FALSE;
 *   // out.svg: cannot be written: No space left on device
 *
 * The new file is made beside the old one and takes its place when it is complete; whatever stops it before leaves the
 * old one as it was. What is no regular file (a pipe, a device), belongs to somebody else, has a second name, or stands
 * where no file can be made is written in place. A link is followed to where it leads, but not out of a folder that
 * others may write to, if one of them put it there. An SQLite database is never written over.
 *
 * Errors name the file: SIM_ERROR_INPUT for a folder, a folder that is not there, such a link, a database;
 * SIM_ERROR_SYSTEM for what the machine refuses. */
#pragma once

#include <glib.h>

/* Where writing to a path leads: its link's end, else the path itself. Caller frees. */
char *base_file_target(const char *path, GError **error);
gboolean base_file_write(const char *path, const void *data, gsize length, GError **error);
