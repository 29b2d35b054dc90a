/* SPDX-License-Identifier: MIT */
/* The overlay: figures measured on one cluster, laid over its topology; for this floor alone.
 *
 *   [environment]
 *   overlay = mine.overlay.ini         ; in the topology; or [cluster] overlay in the workload, which wins
 *
 *   # mine.overlay.ini                 ; as "foretrain import nccl-tests" writes it, or by hand
 *   [environment]
 *   launch_floor = 21.3 us
 *   [node]
 *   nic_achievable = 46.2 GB/s
 *
 * An overlay may hold the keys of hw_overlay_keys alone: what a machine is stays in its topology. */
#pragma once

#include <glib.h>

struct ConfSettings;

extern const char *const hw_overlay_keys[]; /* "environment.launch_floor", …; NULL-terminated */

/* The path of the overlay that the settings name so far; *ret NULL where there is none. Caller frees. Errors:
 * SIM_ERROR_INPUT at the key where there is no such file. */
gboolean hw_overlay_path(const struct ConfSettings *settings, char **ret, GError **error);
/* Lays it over the topology, under --set. Errors: another key, and what conf_settings_load_text finds. */
gboolean hw_overlay_load(struct ConfSettings *settings, const char *path, GError **error);
