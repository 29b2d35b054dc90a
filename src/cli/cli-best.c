/* SPDX-License-Identifier: MIT */
/* foretrain best: which of the runs in the database, by one objective or the front of several. */
#include <stdio.h>

#include "base-error.h"
#include "cli-objectives.h"
#include "cli-write.h"
#include "report-best.h"

#define TOP 10 /* runs that are shown of one objective */

typedef struct {
  CliObjectives objectives;
  const char *const *words;
  const char *db;
  gboolean json;
  int top;
} Best;

static const CliOption options[] = {
    CLI_WORDS(Best, words, 0, 0, "options alone"),
    CLI_DB(Best, db),
    CLI_JSON(Best, json),
    CLI_GROUP_ROW(Best, objectives, cli_objectives_options),
    {"top", 0, CLI_NUMBER, offsetof(Best, top), "N", "so many of one objective (10)", .least = 1},
    {NULL}};

static CliExit best(gconstpointer data, GError **error) {
  const Best *asked = data;
  StoreObjective objectives[STORE_OBJECTIVES_MOST];
  guint n = 0;
  if (!cli_objectives(&asked->objectives, objectives, &n, error))
    return CLI_INPUT;
  if (n == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "best: say by what, as in --minimise price_to_train or --maximise tokens_per_second");
    return CLI_INPUT;
  }
  g_autoptr(StoreExpression) subject = cli_subject(&asked->objectives, error);
  const char *database = subject != NULL ? cli_database(asked->db, error) : NULL;
  g_autoptr(StoreDb) db = database != NULL ? store_db_open_existing(database, error) : NULL;
  g_autoptr(GArray) found = db != NULL ? store_db_best(db, objectives, n, subject, (guint)asked->top, error) : NULL;
  if (found == NULL)
    return CLI_FAULT;
  if (found->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: no run has the figures and fulfils \"%s\"", database,
                store_expression_text(subject));
    return CLI_INPUT;
  }
  g_autoptr(GString) page = g_string_new(NULL);
  if (!(asked->json ? report_best_json : report_best)(db, found, objectives, n, page, error))
    return CLI_FAULT;
  cli_print(page->str);
  return CLI_DONE;
}

static const Best defaults = {.top = TOP};

const CliVerb cli_best = {"best",
                          "--minimise METRIC [--subject EXPRESSION]",
                          "which of the database's runs is cheapest, fastest ...",
                          options,
                          sizeof(Best),
                          &defaults,
                          best};
