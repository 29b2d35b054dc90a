/* SPDX-License-Identifier: MIT */
/* foretrain plot pareto, plot scaling: the runs of the database, drawn side by side. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-objectives.h"
#include "cli-plot.h"

/* How many GPUs, and what they bring: asked of every sweep, and always known. */
typedef struct {
  CliObjectives objectives;
  const char *const *words;
  const char *db;
  CliCanvas on;
} Points;

#define ROWS(objectives_table)                                                                                         \
  CLI_WORDS(Points, words, 0, 0, "the kind alone: it draws the runs of the database"), CLI_DB(Points, db),             \
      CLI_CANVAS(Points, on), CLI_GROUP_ROW(Points, objectives, objectives_table), {                                   \
    NULL                                                                                                               \
  }

static const CliOption pareto_options[] = {ROWS(cli_objectives_options)};
static const CliOption scaling_options[] = {ROWS(cli_subject_options)};

static gboolean two_objectives(const CliObjectives *asked, StoreObjective ret[STORE_OBJECTIVES_MOST], GError **error) {
  guint n;
  if (!cli_objectives(asked, ret, &n, error))
    return FALSE;
  if (n == 0) {
    ret[0] = (StoreObjective){store_metric_find("gpus"), FALSE};
    ret[1] = (StoreObjective){store_metric_find("tokens_per_second"), TRUE};
    n = 2;
  }
  if (n == 2)
    return TRUE;
  g_set_error(
      error, SIM_ERROR, SIM_ERROR_INPUT,
      "plot pareto: expected two objectives, as in --minimise gpus --minimise price_per_million_tokens, found %u", n);
  return FALSE;
}

/* `objectives`: NULL for the picture of how it scales. */
static CliExit draw(const Points *asked, const StoreObjective *objectives, GError **error) {
  g_autoptr(StoreExpression) subject = cli_subject(&asked->objectives, error);
  const char *database = subject != NULL ? cli_database(asked->db, error) : NULL;
  if (database == NULL)
    return CLI_INPUT;
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  if (db == NULL || !(objectives == NULL ? report_plot_scaling(db, subject, &asked->on.canvas, error)
                                         : report_plot_pareto(db, objectives, subject, &asked->on.canvas, error)))
    return CLI_FAULT;
  cli_plot_tell(&asked->on);
  return CLI_DONE;
}

static CliExit pareto(gconstpointer data, GError **error) {
  const Points *asked = data;
  StoreObjective objectives[STORE_OBJECTIVES_MOST];
  if (!cli_plot_check(&asked->on, "pareto", error) || !two_objectives(&asked->objectives, objectives, error))
    return CLI_INPUT;
  return draw(asked, objectives, error);
}

static CliExit scaling(gconstpointer data, GError **error) {
  const Points *asked = data;
  return cli_plot_check(&asked->on, "scaling", error) ? draw(asked, NULL, error) : CLI_INPUT;
}

const CliVerb cli_plot_pareto = {
    "pareto",
    "[--minimise METRIC --maximise METRIC] -o FILE",
    "the runs of the database by two objectives",
    pareto_options,
    sizeof(Points),
    NULL,
    pareto,
    "draws the runs of the database: it takes --db, --subject, --minimise, --maximise and -o"};
const CliVerb cli_plot_scaling = {"scaling",
                                  "-o FILE",
                                  "the runs of the database by their GPUs",
                                  scaling_options,
                                  sizeof(Points),
                                  NULL,
                                  scaling,
                                  "draws the runs of the database: it takes --db, --subject and -o"};
