/* SPDX-License-Identifier: MIT */
/* The files that SQLite keeps beside a database: it takes what stands there for its own, whoever put it there.
 *
 *   PATH-journal   what a transaction that was broken off had changed: played back when the database is next opened.
 *                  Its last words may name a further file, which SQLite then removes (a "super-journal", of
 *                  transactions over several databases: https://www.sqlite.org/fileformat2.html, "The Rollback
 *                  Journal"); foretrain makes none
 *   PATH-wal, -shm pages that are not in the database yet, and their index: written even by who only reads
 *
 * Private to this floor. */
#pragma once

#include <glib.h>

/* FALSE: one of them is a trap. Errors: SIM_ERROR_INPUT for a link, a folder, a pipe or a device in its place; for a
 * file that somebody else put there, who owns neither the database nor the machine, where anybody may put one; for a
 * journal that names another file. `path` is the database's own, no link, and need not be there. */
gboolean store_beside_is_safe(const char *path, GError **error);
