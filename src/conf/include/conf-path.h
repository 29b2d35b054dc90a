/* SPDX-License-Identifier: MIT */
/* Where a named file is: beside the file that names it, in the roots of the data (conf-root.h).
 *
 *   char *path = conf_path_find("dgx-h100", ".ini", "topologies", "workloads", &place, error);
 *   // looks for workloads/dgx-h100(.ini), then $FORETRAIN_DATA/topologies/dgx-h100(.ini), …
 */
#pragma once

#include "base-error.h"

/* `name`: a path (absolute, from "~/", or relative to `beside`, or to the current folder where that is NULL), or a bare
 * name (without "/"); a function that follows a file of Python ("configs.py:llama3_8b") goes with its path.
 * FORETRAIN_DATA may be a list of folders with ":" between them. `extension` (may be NULL) is tried
 * when the name alone is not there. `folder`: the data folder for bare names (may be ""). `beside`: folder of the
 * naming file or NULL. Error: SIM_ERROR_INPUT at `place` (may be NULL), with the nearest existing name and the places
 * looked in. Caller frees. */
char *conf_path_find(const char *name, const char *extension, const char *folder, const char *beside,
                     const BasePlace *place, GError **error);

/* Existing data files of a folder ("topologies") with the extension, bare names sorted, each once; caller frees with
 * g_strfreev. NULL where the machine refuses (SIM_ERROR_SYSTEM). */
char **conf_path_list(const char *folder, const char *extension, GError **error);

/* Paths of those data folders that exist, in order of search, for `folder`; g_strfreev. NULL as above. */
char **conf_path_folders(const char *folder, GError **error);
