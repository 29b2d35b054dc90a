/* SPDX-License-Identifier: MIT */
/* The folders that hold the data (topologies, workloads), in order of search:
 *
 *   FORETRAIN_DATA (a list with colons)
 *   …/share/foretrain of the place where the program's file lies in …/bin
 *   the source tree that foretrain.data names, a file that a build writes above its programs
 *   $XDG_DATA_HOME/foretrain, foretrain in each of $XDG_DATA_DIRS
 *
 * So an installed tree may be moved as a whole, and no program holds the path of its source. */
#pragma once

#include <glib.h>

/* NULL-terminated, whether they exist or not; g_strfreev. Reads links and the environment at each call. NULL where the
 * machine does not let them be read (SIM_ERROR_SYSTEM): too many open files. */
char **conf_roots(GError **error);
/* FORETRAIN_DATA, split; g_strfreev. */
char **conf_roots_asked(void);
/* Whether a file could not be read because too many are open. */
gboolean conf_is_machines(const GError *cause);
