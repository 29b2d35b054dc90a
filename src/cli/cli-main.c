/* foretrain: the table of verbs. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli.h"

typedef struct {
  const char *name, *usage, *summary;
  CliVerbRun run;    /* NULL: known, not built yet */
  gboolean explains; /* has something to say under --explain */
} Verb;

static const Verb verbs[] = {
    {"run", "WORKLOAD", "one training step: summary and verdict, into the database", cli_run, TRUE},
    {"stages", "WORKLOAD", "the same step under ZeRO 0, 1, 2 and 3, side by side", cli_stages, TRUE},
    {"layers", "WORKLOAD", "operations per layer and direction", cli_layers, FALSE},
    {"plot", "timeline|memory RUN -o FILE.svg|png", "draw a run", cli_plot, FALSE},
    {"list", "gpus|links|platforms|topologies|workloads|runs|settings", "what there is to choose from", cli_list,
     FALSE},
    {"schema", "", "the database, documented", cli_schema, FALSE},
    {"fit", NULL, NULL, NULL, FALSE},
    {"collective", NULL, NULL, NULL, FALSE},
    {"sweep", NULL, NULL, NULL, FALSE},
    {"merge", NULL, NULL, NULL, FALSE},
    {"best", NULL, NULL, NULL, FALSE},
    {"compare", NULL, NULL, NULL, FALSE},
    {"explain", NULL, NULL, NULL, FALSE},
    {"check", NULL, NULL, NULL, FALSE},
    {"report", NULL, NULL, NULL, FALSE},
    {"trace", NULL, NULL, NULL, FALSE},
    {"replay", NULL, NULL, NULL, FALSE},
    {"import", NULL, NULL, NULL, FALSE},
    {"validate", NULL, NULL, NULL, FALSE},
};

static void print_usage(FILE *out) {
  fputs("usage: foretrain VERB … [OPTION…]\n\n", out);
  for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
    if (verbs[i].run != NULL)
      fprintf(out, "  foretrain %s %s\n      %s\n", verbs[i].name, verbs[i].usage, verbs[i].summary);
  fputs("\nforetrain VERB --help lists the options. RUN is a run id, the beginning of a run key, \"last\", or a "
        "workload.\n",
        out);
}

static const Verb *find_verb(const char *name, GError **error) {
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

static CliExit run_verb(const Verb *verb, int argc, char **argv, GError **error) {
  CliOptions options;
  if (!cli_options_parse(argc, argv, verb->usage, verb->summary, &options, error))
    return CLI_INPUT;
  CliExit status = CLI_INPUT;
  if (options.explain && !verb->explains)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"foretrain %s\" has nothing to explain", verb->name);
  else
    status = verb->run(&options, error);
  cli_options_clear(&options);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
    print_usage(argc < 2 ? stderr : stdout);
    return argc < 2 ? CLI_INPUT : CLI_DONE;
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("foretrain %s (results version %s)\n", FORETRAIN_VERSION, RUN_MODEL_VERSION);
    return CLI_DONE;
  }
  g_autoptr(GError) error = NULL;
  const Verb *verb = find_verb(argv[1], &error);
  CliExit status = verb != NULL ? run_verb(verb, argc - 1, argv + 1, &error) : CLI_INPUT;
  if (error == NULL)
    return status;
  fprintf(stderr, "foretrain: %s\n", error->message);
  gboolean theirs = g_error_matches(error, SIM_ERROR, SIM_ERROR_INPUT) || error->domain == G_OPTION_ERROR;
  return theirs ? CLI_INPUT : CLI_FAULT;
}
