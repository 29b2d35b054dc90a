/* The command line: a table of verbs, one file each, and the options of each.
 *
 * Exit status: 0 done (an out-of-memory verdict is done), 1 a check failed or --require-fit met an out-of-memory, 2 the
 * input is at fault, 3 the fault is ours or the machine's, 130 stopped by Ctrl-C after finishing what was begun. Results go to stdout, messages to stderr. */
#pragma once

#include "study.h"

typedef enum { CLI_DONE, CLI_FAILED, CLI_INPUT, CLI_FAULT, CLI_STOPPED = 130 } CliExit;

/* Which options a verb takes, as bits; what it does not take, GOption refuses as unknown. All take --version, --help. */
typedef enum {
  CLI_TAKES_SETTINGS = 1 << 0, /* --set, --topology */
  CLI_TAKES_DB = 1 << 1,
  CLI_TAKES_JSON = 1 << 2,
  CLI_TAKES_QUIET = 1 << 3,
  CLI_TAKES_PLAY =
      1 << 4, /* how a step is played: --fold, --net, --tie, --fidelity, --contention, --repeat, --jitter */
  CLI_TAKES_VERDICT = 1 << 5, /* what becomes of it: --timeline, --explain, --require-fit */
  CLI_TAKES_OUTPUT = 1 << 6,  /* -o */
  CLI_TAKES_WINDOW = 1 << 7,  /* --from, --to */
  CLI_TAKES_CALL = 1 << 8,    /* a collective: --nodes, --gpus-per-node, --dtype, --bytes, --explain, --compare */
  CLI_TAKES_ROWS = 1 << 9,    /* which rows of a validation are shown: --rows, --worst */
  CLI_TAKES_JOBS = 1 << 10,   /* --jobs */
  CLI_TAKES_IMPORT = 1 << 11, /* --topology, --nodes, --model, --operation, --gpu, --nic, --intra, --platform */
  CLI_TAKES_FORMAT = 1 << 12, /* --format */
  CLI_TAKES_REPLAY = 1 << 13, /* what of a trace is changed: --scale, --retime, --keep-times */
  CLI_TAKES_QUOTES = 1 << 14, /* --topology as often as there are quotes to compare, --set */
  CLI_TAKES_GRID = 1 << 15,   /* --grid, --where, --shard, --timeline (no, unless asked) */
  CLI_TAKES_BEST = 1 << 16,   /* --minimise, --maximise, --subject */
  CLI_TAKES_CHECK = 1 << 17,  /* --junit, --markdown, --github, --accept, --reason */
  CLI_TAKES_VARY = 1 << 18,   /* --vary */
  CLI_TAKES_AS = 1 << 19,     /* --as */
  CLI_TAKES_TOP = 1 << 20,    /* --top */
} CliTakes;

#define CLI_TOP 10 /* runs that best shows of one objective */

/* What stands on the command line. Cleared by cli_options_clear. */
typedef struct {
  char **rest; /* what is not an option; NULL-terminated */
  char **sets; /* --set, in order; NULL: none */
  char *topology, *db, *output, *vary;
  int as; /* of report_tool_names; -1: not given */
  gboolean json, quiet, require_fit, explain;
  gboolean plays;                                              /* an option was given that only a run can obey */
  SimTime from, to;                                            /* --from, --to; -1: not given */
  char *group_nodes, *gpus_per_node, *dtype, *bytes, *compare; /* as given; NULL: not */
  gboolean rows;
  int worst, jobs;                                        /* 0: none; one for each core */
  char *model, *operation, *gpu, *nic, *intra, *platform; /* of import */
  int nodes;                                              /* --nodes; 0: not given */
  char *format;                                           /* --format; NULL: not given */
  char **scales;                                          /* --scale, in order; NULL: none */
  char **quotes;                                          /* --topology of compare, in order; NULL: none */
  gboolean retime, keep_times;
  char **grid, *where, *shard;           /* of sweep */
  char **minimise, **maximise, *subject; /* of best */
  int top;                               /* --top; CLI_TOP, unless it is given */
  char *junit, *markdown, *reason;       /* of check */
  gboolean github, accept;
  StudyOptions study;
} CliOptions;

typedef CliExit (*CliVerbRun)(const CliOptions *options, GError **error);

typedef struct {
  const char *name, *usage, *summary; /* `usage`: what stands after the verb */
  CliVerbRun run;                     /* NULL: known, not built yet */
  guint takes;                        /* CliTakes */
} CliVerb;

/* Parses argv (argv[0] is the verb). *ret_done: --help or --version was given and has been answered. */
gboolean cli_options_parse(const CliVerb *verb, int argc, char **argv, CliOptions *ret, gboolean *ret_done,
                           GError **error);
void cli_options_clear(CliOptions *options);

void cli_print_version(void);

/* The workload with --topology and --set laid over it. */
Study *cli_open_study(const CliOptions *options, const char *workload, GError **error);
/* Where results go: --db, FORETRAIN_DB, foretrain.db. NULL and SIM_ERROR_INPUT where a given name is blank. */
const char *cli_database(const CliOptions *options, GError **error);
/* 2 or 3, as the error is theirs or ours. */
CliExit cli_exit_of(const GError *error);

CliExit cli_run(const CliOptions *options, GError **error);
CliExit cli_fit(const CliOptions *options, GError **error);
CliExit cli_stages(const CliOptions *options, GError **error);
CliExit cli_collective(const CliOptions *options, GError **error);
CliExit cli_validate(const CliOptions *options, GError **error);
CliExit cli_layers(const CliOptions *options, GError **error);
CliExit cli_plot(const CliOptions *options, GError **error);
/* The kind "parity" of plot. */
CliExit cli_plot_parity(const CliOptions *options, GError **error);
/* The kinds "pareto" and "scaling" of plot. */
CliExit cli_plot_points(const CliOptions *options, GError **error);
/* The kinds "oom-map" and "capacity". */
CliExit cli_plot_sweep(const CliOptions *options, GError **error);
CliExit cli_list(const CliOptions *options, GError **error);
CliExit cli_check(const CliOptions *options, GError **error);
CliExit cli_best(const CliOptions *options, GError **error);
CliExit cli_merge(const CliOptions *options, GError **error);
CliExit cli_sweep(const CliOptions *options, GError **error);
CliExit cli_schema(const CliOptions *options, GError **error);
CliExit cli_import(const CliOptions *options, GError **error);
CliExit cli_trace(const CliOptions *options, GError **error);
CliExit cli_replay(const CliOptions *options, GError **error);
CliExit cli_compare(const CliOptions *options, GError **error);

/* Reports into the database, then text to stdout (with --quiet: neither more nor less than the first). CLI_FAILED where
 * --require-fit met an out-of-memory. */
CliExit cli_finish(const CliOptions *options, RunReport *const *reports, guint n, GString *text, GError **error);

/* The number of words after the verb must be n: else an error that says what the verb wants. */
gboolean cli_want(const CliOptions *options, guint n, const char *what, GError **error);
