/* foretrain: the table of verbs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli.h"

#define PLAYED                                                                                                         \
  (CLI_TAKES_SETTINGS | CLI_TAKES_DB | CLI_TAKES_JSON | CLI_TAKES_QUIET | CLI_TAKES_PLAY | CLI_TAKES_VERDICT)

static const CliVerb verbs[] = {
    {"run", "WORKLOAD", "one training step: summary and verdict, into the database", cli_run, PLAYED | CLI_TAKES_AS},
    {"stages", "WORKLOAD", "the same step under ZeRO 0, 1, 2 and 3, side by side", cli_stages, PLAYED},
    {"fit", "WORKLOAD --vary KEY", "the largest (nodes: the least) value of KEY that fits, per stage", cli_fit,
     CLI_TAKES_SETTINGS | CLI_TAKES_JSON | CLI_TAKES_PLAY | CLI_TAKES_VARY},
    {"collective", "OPERATION --topology T [--nodes N] [--compare LOG]",
     "a collective by size, in the columns of nccl-tests", cli_collective,
     CLI_TAKES_SETTINGS | CLI_TAKES_JSON | CLI_TAKES_CALL},
    {"layers", "WORKLOAD", "operations per layer and direction; -o writes them as a layer profile", cli_layers,
     CLI_TAKES_SETTINGS | CLI_TAKES_JSON | CLI_TAKES_OUTPUT},
    {"plot", "timeline|memory RUN -o FILE.svg|png, or parity|pareto|scaling|oom-map|capacity -o FILE.svg|png",
     "draw a run, what validate found, or the runs of a sweep", cli_plot,
     CLI_TAKES_SETTINGS | CLI_TAKES_DB | CLI_TAKES_QUIET | CLI_TAKES_PLAY | CLI_TAKES_OUTPUT | CLI_TAKES_WINDOW |
         CLI_TAKES_BEST},
    {"validate", "TABLE...", "predicted against measured, by source: error, bias, fit and out-of-memory", cli_validate,
     CLI_TAKES_SETTINGS | CLI_TAKES_DB | CLI_TAKES_JSON | CLI_TAKES_QUIET | CLI_TAKES_PLAY | CLI_TAKES_ROWS |
         CLI_TAKES_JOBS},
    {"sweep", "WORKLOAD --grid KEY=V1,V2,... [--grid KEY=A..B:STEP]",
     "every point of a grid over any setting, into the database", cli_sweep,
     CLI_TAKES_SETTINGS | CLI_TAKES_DB | CLI_TAKES_JSON | CLI_TAKES_QUIET | CLI_TAKES_PLAY | CLI_TAKES_JOBS |
         CLI_TAKES_GRID},
    {"merge", "DB...", "several databases into the one that --db names", cli_merge, CLI_TAKES_DB | CLI_TAKES_QUIET},
    {"best", "--minimise METRIC [--subject EXPRESSION]", "which of the database's runs is cheapest, fastest ...",
     cli_best, CLI_TAKES_DB | CLI_TAKES_JSON | CLI_TAKES_BEST | CLI_TAKES_TOP},
    {"check", "BUDGETS", "recipes against their budgets and baselines, for CI; exit status 1 on a breach", cli_check,
     CLI_TAKES_DB | CLI_TAKES_QUIET | CLI_TAKES_PLAY | CLI_TAKES_JOBS | CLI_TAKES_CHECK},
    {"compare", "A B... | --topology T1 --topology T2 WORKLOAD | RUN TRACE.json",
     "why steps differ; the quotes for one workload; predicted against a profiler's timeline", cli_compare,
     CLI_TAKES_QUOTES | CLI_TAKES_DB | CLI_TAKES_JSON | CLI_TAKES_PLAY},
    {"trace", "WORKLOAD|RUN", "a step as text to read, edit and replay; or its timeline for Perfetto", cli_trace,
     CLI_TAKES_SETTINGS | CLI_TAKES_DB | CLI_TAKES_QUIET | CLI_TAKES_PLAY | CLI_TAKES_FORMAT | CLI_TAKES_OUTPUT},
    {"replay", "FILE --topology T", "play a trace file: summary and verdict, into the database", cli_replay,
     PLAYED | CLI_TAKES_REPLAY},
    {"list", "gpus|links|platforms|topologies|workloads|runs|settings", "what there is to choose from", cli_list,
     CLI_TAKES_DB | CLI_TAKES_JSON},
    {"import", "nccl-tests|nccl-topology|nvidia-smi-topo|recipe FILE... [-o FILE]", "other tools' files into ours",
     cli_import, CLI_TAKES_IMPORT | CLI_TAKES_OUTPUT},
    {"schema", "[database|trace]", "the database, or trace files, documented", cli_schema, 0},
    {"explain", NULL, NULL, NULL, 0},
    {"report", NULL, NULL, NULL, 0},
};

static void print_usage(FILE *out) {
  fputs("usage: foretrain VERB ... [OPTION...]\n\n", out);
  for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
    if (verbs[i].run != NULL)
      fprintf(out, "  foretrain %s%s%s\n      %s\n", verbs[i].name, *verbs[i].usage != '\0' ? " " : "", verbs[i].usage,
              verbs[i].summary);
  fputs("\nforetrain VERB --help lists the options. RUN is a run id, the beginning of a run key, \"last\", or a "
        "workload.\n",
        out);
}

static const CliVerb *find_verb(const char *name, GError **error) {
  const char *names[G_N_ELEMENTS(verbs) + 1] = {NULL};
  gsize built = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++) {
    if (verbs[i].run != NULL)
      names[built++] = verbs[i].name;
    if (strcmp(verbs[i].name, name) != 0)
      continue;
    if (verbs[i].run != NULL)
      return &verbs[i];
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"foretrain %s\" does not exist yet", name);
    return NULL;
  }
  g_autofree char *advice = base_names_advice(names, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no such verb \"%s\"%s", name, advice);
  return NULL;
}

static CliExit run_verb(int argc, char **argv, GError **error) {
  const CliVerb *verb = find_verb(argv[0], error);
  CliOptions options;
  gboolean done = FALSE;
  if (verb == NULL || !cli_options_parse(verb, argc, argv, &options, &done, error))
    return CLI_INPUT;
  CliExit status = done ? CLI_DONE : verb->run(&options, error);
  cli_options_clear(&options);
  return status;
}

CliExit cli_exit_of(const GError *error) {
  gboolean theirs = g_error_matches(error, SIM_ERROR, SIM_ERROR_INPUT) || error->domain == G_OPTION_ERROR ||
                    error->domain == G_CONVERT_ERROR; /* an option's value that is no text */
  return theirs ? CLI_INPUT : CLI_FAULT;
}

/* What was printed must have arrived: a full disk shows only here. */
static CliExit flush(CliExit status) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout))
    return status;
  fprintf(stderr, "foretrain: standard output cannot be written%s%s\n", errno != 0 ? ": " : "",
          errno != 0 ? g_strerror(errno) : "");
  return CLI_FAULT;
}

int main(int argc, char **argv) {
  static const char *const help[] = {"--help", "-h", "help", NULL};
  if (argc < 2 || g_strv_contains(help, argv[1])) {
    print_usage(argc < 2 ? stderr : stdout);
    return argc < 2 ? CLI_INPUT : flush(CLI_DONE);
  }
  if (strcmp(argv[1], "--version") == 0) {
    cli_print_version();
    return flush(CLI_DONE);
  }
  g_autoptr(GError) error = NULL;
  CliExit status = run_verb(argc - 1, argv + 1, &error);
  if (error == NULL)
    return flush(status);
  fprintf(stderr, "foretrain: %s\n", error->message);
  return cli_exit_of(error);
}
