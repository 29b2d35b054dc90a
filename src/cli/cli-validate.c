/* SPDX-License-Identifier: MIT */
/* foretrain validate: tables of what was measured, each row played, errors by source. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-stop.h"
#include "cli-write.h"
#include "cli.h"
#include "truth-text.h"

typedef struct {
  CliWorkload workload;
  const char *const *tables;
  const char *db;
  gboolean json, quiet, rows;
  int worst, jobs;
} Validate;

static const CliOption options[] = {CLI_WORDS(Validate, tables, 1, CLI_WORDS_ANY, "one or more tables"),
                                    CLI_GROUP_ROW(Validate, workload, cli_workload_options),
                                    CLI_DB(Validate, db),
                                    CLI_JSON(Validate, json),
                                    CLI_QUIET(Validate, quiet),
                                    {"rows", 0, CLI_FLAG, offsetof(Validate, rows), NULL, "list every row"},
                                    {"worst", 0, CLI_NUMBER, offsetof(Validate, worst), "N",
                                     "show the rows that are furthest off, with their breakdown"},
                                    CLI_JOBS(Validate, jobs),
                                    {NULL}};

static TruthResult *run_tables(const Validate *asked, const Study *base, GError **error) {
  CliStop stop;
  TruthOptions truth = {.base = base,
                        .study = asked->workload.twins.study,
                        .threads = (guint)asked->jobs,
                        .stop = cli_stop_asked,
                        .stop_user = &stop};
  truth.study.timeline = FALSE;
  cli_stop_begin(&stop);
  TruthResult *result = truth_run((char *const *)asked->tables, &truth, error);
  cli_stop_end(&stop);
  return result;
}

/* A database that is there and cannot take the rows is told before they are played: tables take minutes. */
static gboolean is_ours(const char *database, GError **error) {
  if (!g_file_test(database, G_FILE_TEST_EXISTS))
    return TRUE;
  g_autoptr(StoreDb) db = store_db_open(database, error);
  return db != NULL;
}

static CliExit validate(gconstpointer data, GError **error) {
  const Validate *asked = data;
  const char *database = cli_database(asked->db, error);
  g_autoptr(Study) base = study_new("validation");
  if (database == NULL || !cli_settings_lay(&asked->workload.settings, base, error))
    return CLI_INPUT;
  if (!is_ours(database, error))
    return CLI_FAULT;
  g_autoptr(TruthResult) result = run_tables(asked, base, error);
  if (result == NULL)
    return CLI_INPUT;
  g_autoptr(StoreDb) db = store_db_open(database, error);
  if (db == NULL || !truth_keep(result, db, error))
    return CLI_FAULT;
  TruthShow show = {.rows = asked->rows, .worst = (guint)asked->worst};
  g_autoptr(GString) text = g_string_new(NULL);
  (asked->json ? truth_json : truth_text)(result, &show, text);
  if (!asked->quiet)
    cli_print(text->str);
  return result->stopped ? CLI_STOPPED : CLI_DONE;
}

static const Validate defaults = {.workload = CLI_WORKLOAD_DEFAULT};

const CliVerb cli_validate = {
    "validate", "TABLE...",       "predicted against measured, by source: error, bias, fit and out-of-memory",
    options,    sizeof(Validate), &defaults,
    validate};
