/* SPDX-License-Identifier: MIT */
/* foretrain: the table of verbs. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base-display.h"
#include "base-error.h"
#include "base-names.h"
#include "base-pages.h"
#include "cli-print.h"
#include "cli-version.h"
#include "cli.h"
#include "run-report.h"
#include "study-mpi.h"

const CliVerb *const cli_verbs[] = {&cli_run,     &cli_explain,  &cli_stages, &cli_fit,   &cli_collective, &cli_layers,
                                    &cli_plot,    &cli_validate, &cli_sweep,  &cli_merge, &cli_best,       &cli_check,
                                    &cli_compare, &cli_report,   &cli_advise, &cli_trace, &cli_replay,     &cli_list,
                                    &cli_import,  &cli_export,   &cli_schema, NULL};

/* Other spellings of what every program takes. */
static const char *const help[] = {"--help", "-h", "help", "--help-all", NULL};

void cli_print_version(void) {
  printf("foretrain %s (results version %s)\n", FORETRAIN_VERSION, RUN_MODEL_VERSION);
}

static void print_usage(FILE *out) {
  fputs("usage: foretrain VERB ... [OPTION...]\n\n", out);
  for (const CliVerb *const *verb = cli_verbs; *verb != NULL; verb++)
    fprintf(out, "  foretrain %s%s%s\n      %s\n", (*verb)->name, *(*verb)->usage != '\0' ? " " : "", (*verb)->usage,
            (*verb)->summary);
  fputs("\nforetrain VERB --help lists the options. RUN is a run id, the beginning of a run key, \"last\", or a "
        "workload.\n",
        out);
}

static const CliVerb *find_verb(const char *name, GError **error) {
  for (const CliVerb *const *verb = cli_verbs; *verb != NULL; verb++)
    if (strcmp((*verb)->name, name) == 0)
      return *verb;
  g_autofree const char **names = cli_verb_names(cli_verbs);
  g_autofree char *advice = base_names_advice(names, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no such verb \"%s\"%s", name, advice);
  return NULL;
}

CliExit cli_exit_of(const GError *error) {
  gboolean theirs = g_error_matches(error, SIM_ERROR, SIM_ERROR_INPUT) || error->domain == G_OPTION_ERROR ||
                    error->domain == G_CONVERT_ERROR; /* an option's value that is no text */
  return theirs ? CLI_INPUT : CLI_FAULT;
}

CliExit cli_tell(const GError *error) {
  g_autofree char *shown = base_display(error->message);
  fprintf(stderr, "foretrain: %s\n", shown);
  return cli_exit_of(error);
}

CliExit cli_end_together(const StudyMpi *mpi, CliExit status, GError **error) {
  if (mpi->size > 1 && *error != NULL) {
    status = cli_tell(*error);
    g_clear_error(error);
  }
  study_mpi_end(mpi);
  return status;
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

/* Not for people: what the build makes of the tables. */
static CliExit print_made(const char *what) {
  static const struct {
    const char *name;
    void (*print)(GString *text);
  } all[] = {{"man", cli_print_manual}, {"bash", cli_print_bash}, {"zsh", cli_print_zsh}};
  g_autoptr(GString) text = g_string_new(NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
    if (strcmp(all[i].name, what) == 0)
      all[i].print(text);
  if (text->len == 0)
    fputs("foretrain: --print: expected man, bash or zsh\n", stderr);
  fputs(text->str, stdout);
  return text->len > 0 ? flush(CLI_DONE) : CLI_INPUT;
}

int main(int argc, char **argv) {
  base_pages_begin();
  signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error that names it */
  if (argc < 2 || g_strv_contains(help, argv[1])) {
    print_usage(argc < 2 ? stderr : stdout);
    return argc < 2 ? CLI_INPUT : flush(CLI_DONE);
  }
  if (strcmp(argv[1], "--version") == 0) {
    cli_print_version();
    return flush(CLI_DONE);
  }
  if (argc == 3 && strcmp(argv[1], "--print") == 0)
    return print_made(argv[2]);
  g_autoptr(GError) error = NULL;
  const CliVerb *verb = find_verb(argv[1], &error);
  CliExit status = verb != NULL ? cli_verb_run(verb, argc - 1, argv + 1, &error) : CLI_INPUT;
  return error == NULL ? flush(status) : cli_tell(error);
}
