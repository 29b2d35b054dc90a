/* SPDX-License-Identifier: MIT */
/* The search behind conf_path_find, for names that may lie in several data folders. For this room alone.
 *
 *   static const char *const folders[] = {"", "workloads", NULL};
 *   path = conf_path_search("models/a.json", NULL, folders, "runs", TRUE, &place, error);
 *   // runs/models/a.json, then models/a.json and workloads/models/a.json under each data root
 */
#pragma once

#include "base-error.h"

/* `anywhere`: names with a slash are looked for in the data folders too, not only beside the naming file. Errors and
 * ownership as conf_path_find. */
char *conf_path_search(const char *name, const char *extension, const char *const *folders, const char *beside,
                       gboolean anywhere, const BasePlace *place, GError **error);
