/* SPDX-License-Identifier: MIT */
/* Loads a topology file into settings; for this floor alone. */
#pragma once

#include <glib.h>

struct ConfSettings;
struct ConfText;

/* Lays the file that cluster.topology names (`name`) over the defaults; what --set gave stays above it. Gives the
 * file's bare name and the file (caller frees both). Errors: no such file, a group that no topology has, a topology's
 * key in a workload, and what conf_settings_load_text finds. */
char *hw_topology_load(struct ConfSettings *settings, const char *name, struct ConfText **ret_text, GError **error);
