/* SPDX-License-Identifier: MIT */
/* Kinds of foretrain import that have a file of their own. Private to this floor.
 *
 *   KIND(recipe, "recipe", "FILE", "another tool's recipe to a workload", recipe_options, cli_import_recipe);
 */
#pragma once

#include "cli.h"
#include "study-trace.h"

/* What all kinds are asked for; each takes only what its own table has. */
typedef struct {
  const char *const *paths, *const *sets, *const *scales, *const *executions; /* paths: at least one */
  const char *output, *topology, *operation, *model, *gpu, *nic, *intra, *platform, *groups;
  int nodes, nics, ranks; /* 0: not given */
  gboolean json, keep_unsized, keep_communication, figures, calibrate, profile;
} CliImport;

/* Each: the text of the new file, NULL on error. */
GString *cli_import_recipe(const CliImport *asked, GError **error);

/* Prints the new file, or writes it and prints what it says of itself. Takes the text; NULL: it could not be made. */
CliExit cli_import_finish(const CliImport *asked, GString *text, GError **error);

/* Writes the trace, and prints what was measured and, with a topology, what it replays to. */
CliExit cli_import_kineto(const CliImport *asked, GError **error);

/* The same of Chakra traces. */
CliExit cli_import_chakra(const CliImport *asked, GError **error);

/* What a written trace replayed to. */
typedef struct {
  RunReport *report; /* owned; NULL: nothing was replayed */
  guint32 ranks;
  double scale;     /* of compute times */
  SimTime measured; /* the step on the host's clock; 0: not known */
  SimTime kept;     /* the step where communication takes the time that was measured; -1: not asked for, or not known */
} CliReplayed;

/* A written trace on --topology and --set; fewer ranks than most machines have are one node's. */
StudyTrace *cli_import_open_trace(const CliImport *asked, const char *path, guint32 ranks, GError **error);
/* Its times kept, but for --scale, which *ret_scale gets. */
RunReport *cli_import_play(const CliImport *asked, const StudyTrace *trace, double *ret_scale, GError **error);
/* What became of it, in ms: the head of a table, a row, and that of the slowest rank. */
void cli_import_print_head(const char *what);
void cli_import_print_row(const char *name, SimTime step, SimTime compute, SimTime communication, SimTime exposed,
                          SimTime idle);
void cli_import_print_slowest(const RunReport *report);
