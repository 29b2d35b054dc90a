/* SPDX-License-Identifier: MIT */
/* foretrain plot: the table of its kinds, and pictures of a run in the database, or of a workload that is run first. */
#include <stdio.h>

#include "base-error.h"
#include "cli-find.h"
#include "cli-plot.h"
#include "cli-written.h"

typedef struct {
  CliWorkload workload;
  const char *const *words;
  const char *db;
  CliCanvas on;
  SimTime from, to; /* -1: not given */
  int stage;        /* -1: not given */
} Picture;

static gboolean read_time(const char *option, const char *text, gpointer field, GError **error) {
  double seconds;
  if (!base_quantity_parse(text, BASE_UNIT_TIME, &seconds, error)) {
    g_prefix_error(error, "%s: ", option);
    return FALSE;
  }
  *(SimTime *)field = sim_time_from_seconds(seconds);
  return TRUE;
}

#define ROWS                                                                                                           \
  CLI_WORKLOAD_WORD(Picture, words, "a kind and a run"), CLI_GROUP_ROW(Picture, workload, cli_workload_options),       \
      CLI_DB(Picture, db), CLI_CANVAS(Picture, on),                                                                    \
      {"from", 0, CLI_READ, offsetof(Picture, from), "TIME", "draw from this time of the step on", .read = read_time}, \
  {                                                                                                                    \
    "to", 0, CLI_READ, offsetof(Picture, to), "TIME", "draw to this time of the step", .read = read_time               \
  }

static const CliOption options[] = {ROWS, {NULL}};
static const CliOption timeline_options[] = {ROWS,
                                             {"stage", 0, CLI_NUMBER, offsetof(Picture, stage), "N",
                                              "of a pipeline the streams of this stage, from 0 (all stages)"},
                                             {NULL}};
static const Picture defaults = {.workload = CLI_WORKLOAD_DEFAULT, .from = -1, .to = -1, .stage = -1};

gboolean cli_plot_check(const CliCanvas *asked, const char *plot, GError **error) {
  if (asked->canvas.path != NULL)
    return cli_written_check(asked->json, asked->canvas.path, "plot", error) &&
           report_plot_check(asked->canvas.path, error);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "plot: say where to, as in -o %s.svg or -o %s.png", plot, plot);
  return FALSE;
}

void cli_plot_tell(const CliCanvas *asked) {
  if (asked->json) {
    g_auto(GStrv) files = report_plot_files(asked->canvas.path);
    CliWritten written;
    cli_written_begin(&written, (const char *const *)files);
    cli_written_print(&written);
  } else if (!asked->quiet) {
    fprintf(stderr, "%s is drawn; its script and data stand beside it\n", asked->canvas.path);
  }
}

typedef gboolean (*Plot)(StoreDb *db, gint64 run_id, const Picture *asked, GError **error);

static CliExit draw(const Picture *asked, Plot plot, GError **error) {
  gint64 run_id;
  const char *database = cli_plot_check(&asked->on, "step", error) ? cli_database(asked->db, error) : NULL;
  if (database == NULL)
    return CLI_INPUT;
  g_autoptr(StoreDb) db = cli_find_run(&asked->workload, database, asked->words[0], &run_id, error);
  if (db == NULL || !plot(db, run_id, asked, error))
    return CLI_FAULT;
  cli_plot_tell(&asked->on);
  return CLI_DONE;
}

static gboolean draw_timeline(StoreDb *db, gint64 run_id, const Picture *asked, GError **error) {
  ReportTimeline how = {asked->from, asked->to, asked->stage};
  return report_plot_timeline_as(db, run_id, &how, &asked->on.canvas, error);
}

static gboolean draw_memory(StoreDb *db, gint64 run_id, const Picture *asked, GError **error) {
  return report_plot_memory(db, run_id, asked->from, asked->to, &asked->on.canvas, error);
}

static CliExit timeline(gconstpointer data, GError **error) {
  return draw(data, draw_timeline, error);
}

static CliExit memory(gconstpointer data, GError **error) {
  return draw(data, draw_memory, error);
}

#define REFUSAL "draws one run: --minimise, --maximise and --subject are pareto's"

static const CliVerb plot_timeline = {"timeline",
                                      "RUN [--from TIME --to TIME] -o FILE",
                                      "what ran when; of a pipeline the passes of all stages",
                                      timeline_options,
                                      sizeof(Picture),
                                      &defaults,
                                      timeline,
                                      REFUSAL};
static const CliVerb plot_memory = {"memory",
                                    "RUN [--from TIME --to TIME] -o FILE",
                                    "who held memory when",
                                    options,
                                    sizeof(Picture),
                                    &defaults,
                                    memory,
                                    REFUSAL};

static const CliVerb *const kinds[] = {
    &plot_timeline,    &plot_memory,      &cli_plot_exposed,  &cli_plot_parity,  &cli_plot_pareto,
    &cli_plot_scaling, &cli_plot_oom_map, &cli_plot_capacity, &cli_plot_tornado, NULL};

const CliVerb cli_plot = {.name = "plot",
                          .usage = "timeline|memory|exposed|tornado RUN -o FILE.svg|png, or "
                                   "parity|pareto|scaling|oom-map|capacity -o FILE.svg|png",
                          .summary = "draw a run, what validate found, or the runs of a sweep",
                          .kinds = kinds,
                          .wants = "a kind, one of %s",
                          .unknown = "no such plot"};
