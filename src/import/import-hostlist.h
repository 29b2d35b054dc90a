/* SPDX-License-Identifier: MIT */
/* Slurm's lists of names: "node[01-16,20],login1", also with several brackets. Private to this floor.
 *
 *   import_hostlist_visit("n[1-3]", take, user);       // take("n1"), take("n2"), take("n3") */
#pragma once

#include <glib.h>

#define IMPORT_HOSTLIST_MOST 65536

/* In order. FALSE: brackets that do not close, ranges that are none, over IMPORT_HOSTLIST_MOST names; some may have
 * been visited by then. */
gboolean import_hostlist_visit(const char *list, void (*take)(const char *name, gpointer user), gpointer user);
