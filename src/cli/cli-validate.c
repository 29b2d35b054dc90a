/* foretrain validate: tables of what was measured, each row played, errors by source. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-stop.h"
#include "cli.h"
#include "truth-text.h"

static gboolean set_all(Study *study, const CliOptions *options, GError **error) {
  g_autofree char *topology =
      options->topology != NULL ? g_strconcat("cluster.topology=", options->topology, NULL) : NULL;
  if (topology != NULL && !study_set(study, topology, error))
    return FALSE;
  for (guint i = 0; options->sets != NULL && options->sets[i] != NULL; i++)
    if (!study_set(study, options->sets[i], error))
      return FALSE;
  return TRUE;
}

static TruthResult *run_tables(const CliOptions *options, const Study *base, GError **error) {
  CliStop stop;
  TruthOptions truth = {.base = base,
                        .study = options->study,
                        .threads = (guint)options->jobs,
                        .stop = cli_stop_asked,
                        .stop_user = &stop};
  truth.study.timeline = FALSE;
  cli_stop_begin(&stop);
  TruthResult *result = truth_run(options->rest, &truth, error);
  cli_stop_end(&stop);
  return result;
}

CliExit cli_validate(const CliOptions *options, GError **error) {
  if (options->rest == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected one or more tables, found 0 words");
    return CLI_INPUT;
  }
  const char *database = cli_database(options, error);
  g_autoptr(Study) base = study_new("validation");
  if (database == NULL || !set_all(base, options, error))
    return CLI_INPUT;
  g_autoptr(TruthResult) result = run_tables(options, base, error);
  if (result == NULL)
    return CLI_INPUT;
  g_autoptr(StoreDb) db = store_db_open(database, error);
  if (db == NULL || !truth_keep(result, db, error))
    return CLI_FAULT;
  TruthShow show = {.rows = options->rows, .worst = (guint)options->worst};
  g_autoptr(GString) text = g_string_new(NULL);
  (options->json ? truth_json : truth_text)(result, &show, text);
  if (!options->quiet)
    fputs(text->str, stdout);
  return result->stopped ? CLI_STOPPED : CLI_DONE;
}
