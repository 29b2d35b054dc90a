/* Kinds of foretrain import that have a file of their own. Private to this floor.
 *
 *   {"recipe", cli_import_recipe, TAKES_MODEL, FALSE},
 */
#pragma once

#include "cli.h"

/* Each: the text of the new file, NULL on error. `paths`: at least one. */
GString *cli_import_recipe(const CliOptions *options, const char *const *paths, GError **error);
