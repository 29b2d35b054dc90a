/* SPDX-License-Identifier: MIT */
/* Kinds of foretrain import that have a file of their own. Private to this floor.
 *
 *   KIND(recipe, "recipe", "FILE", "another tool's recipe to a workload", recipe_options, cli_import_recipe);
 */
#pragma once

#include "cli.h"

/* What all kinds are asked for; each takes only what its own table has. */
typedef struct {
  const char *const *paths, *const *sets, *const *scales; /* paths: at least one */
  const char *output, *topology, *operation, *model, *gpu, *nic, *intra, *platform;
  int nodes, nics; /* 0: not given */
  gboolean json, keep_unsized, keep_communication, figures, calibrate, profile;
} CliImport;

/* Each: the text of the new file, NULL on error. */
GString *cli_import_recipe(const CliImport *asked, GError **error);

/* Prints the new file, or writes it and prints what it says of itself. Takes the text; NULL: it could not be made. */
CliExit cli_import_finish(const CliImport *asked, GString *text, GError **error);

/* Writes the trace, and prints what was measured and, with a topology, what it replays to. */
CliExit cli_import_kineto(const CliImport *asked, GError **error);
