/* SPDX-License-Identifier: MIT */
/* Whom the nodes of Chakra traces communicate with. Private to this floor.
 *
 *   g_autoptr(ImportChakraGroups) groups = import_chakra_groups_load("step.groups.json", 8, error);
 *   const GArray *ranks = import_chakra_group(groups, "3");       // of guint32, ascending; NULL: no such group
 *
 * No name, and PyTorch's default group "0" where the file has none of that name, are all ranks. */
#pragma once

#include <glib.h>

typedef struct ImportChakraGroups ImportChakraGroups;

/* path NULL: no groups. ranks: of all; 0: the highest that a group names, and one more. Errors (SIM_ERROR_INPUT): no
 * JSON of such a form; a rank beyond `ranks`, or named twice. */
ImportChakraGroups *import_chakra_groups_load(const char *path, guint32 ranks, GError **error);
void import_chakra_groups_free(ImportChakraGroups *groups);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportChakraGroups, import_chakra_groups_free)
guint32 import_chakra_groups_ranks(const ImportChakraGroups *groups);
const GArray *import_chakra_group(const ImportChakraGroups *groups, const char *name);
