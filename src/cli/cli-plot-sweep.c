/* SPDX-License-Identifier: MIT */
/* foretrain plot oom-map, capacity: the newest sweep of the database, drawn. */
#include "base-error.h"
#include "cli-plot.h"

typedef struct {
  const char *const *axes;
  const char *db;
  CliCanvas on;
} SweepPlot;

#define ROWS CLI_DB(SweepPlot, db), CLI_CANVAS(SweepPlot, on)

static const CliOption map_options[] = {CLI_WORDS(SweepPlot, axes, 0, 2, "no more, or two of its axes"), ROWS, {NULL}};
static const CliOption capacity_options[] = {
    CLI_WORDS(SweepPlot, axes, 0, 0, "the kind alone: it takes no more"), ROWS, {NULL}};

/* The newest sweep; NULL where it cannot be drawn to the output either. */
static StoreDb *open_sweep(const SweepPlot *asked, const char *kind, GError **error) {
  const char *database = cli_plot_check(&asked->on, kind, error) ? cli_database(asked->db, error) : NULL;
  return database != NULL ? store_db_open_existing(database, error) : NULL;
}

static CliExit map(gconstpointer data, GError **error) {
  const SweepPlot *asked = data;
  const char *across = asked->axes[0], *up = across != NULL ? asked->axes[1] : NULL;
  if (across != NULL && up == NULL) {
    g_set_error(
        error, SIM_ERROR, SIM_ERROR_INPUT,
        "plot oom-map draws the newest sweep: it takes no more, or two of its axes: the one across and the one up");
    return CLI_INPUT;
  }
  g_autoptr(StoreDb) db = open_sweep(asked, "oom-map", error);
  if (db == NULL || !report_plot_oom_map(db, across, up, &asked->on.canvas, error))
    return CLI_FAULT;
  cli_plot_tell(&asked->on);
  return CLI_DONE;
}

static CliExit capacity(gconstpointer data, GError **error) {
  const SweepPlot *asked = data;
  g_autoptr(StoreDb) db = open_sweep(asked, "capacity", error);
  if (db == NULL || !report_plot_capacity(db, &asked->on.canvas, error))
    return CLI_FAULT;
  cli_plot_tell(&asked->on);
  return CLI_DONE;
}

#define REFUSAL "draws what foretrain sweep found: no setting, window, objective or option of runs applies"

const CliVerb cli_plot_oom_map = {
    "oom-map", "[AXIS AXIS] -o FILE", "what of the newest sweep fits", map_options, sizeof(SweepPlot), NULL, map,
    REFUSAL};
const CliVerb cli_plot_capacity = {
    "capacity", "-o FILE", "how much of each point of the newest sweep fits", capacity_options, sizeof(SweepPlot), NULL,
    capacity,   REFUSAL};
