/* The command line: a table of verbs, one file each, and the options they share.
 *
 * Exit status: 0 done (an out-of-memory verdict is done), 1 a check failed or --require-fit met an out-of-memory, 2 the
 * input is at fault, 3 the fault is ours or the machine's. Results go to stdout, messages to stderr. */
#pragma once

#include "study.h"

typedef enum { CLI_DONE, CLI_FAILED, CLI_INPUT, CLI_FAULT } CliExit;

/* Options of every verb that runs or reads runs. Cleared by cli_options_clear. */
typedef struct {
  char **rest; /* what is not an option; NULL-terminated */
  char **sets; /* --set, in order; NULL: none */
  char *topology, *db, *output;
  gboolean json, quiet, require_fit, explain;
  SimTime from, to; /* --from, --to; -1: not given */
  StudyOptions study;
} CliOptions;

/* Parses argv (argv[0] is the verb). `usage`: what stands after the verb. On --help prints and exits. */
gboolean cli_options_parse(int argc, char **argv, const char *usage, const char *summary, CliOptions *ret,
                           GError **error);
void cli_options_clear(CliOptions *options);

/* The workload with --topology and --set laid over it. */
Study *cli_open_study(const CliOptions *options, const char *workload, GError **error);
/* Where results go: --db, FORETRAIN_DB, foretrain.db. */
const char *cli_database(const CliOptions *options);

typedef CliExit (*CliVerbRun)(const CliOptions *options, GError **error);

CliExit cli_run(const CliOptions *options, GError **error);
CliExit cli_stages(const CliOptions *options, GError **error);
CliExit cli_layers(const CliOptions *options, GError **error);
CliExit cli_plot(const CliOptions *options, GError **error);
CliExit cli_list(const CliOptions *options, GError **error);
CliExit cli_schema(const CliOptions *options, GError **error);

/* The number of words after the verb must be n: else an error that says what the verb wants. */
gboolean cli_want(const CliOptions *options, guint n, const char *what, GError **error);
