/* SPDX-License-Identifier: MIT */
/* The run that a picture shows. */
#include "report-scene.h"

#include "base-error.h"
#include "report-words.h"

static char *title_of(const RunReport *report) {
  const RunIdentity *identity = &report->identity;
  g_autofree char *interval = report_interval(report->step_low, report->step_high);
  g_autofree char *around = interval != NULL ? g_strdup_printf(" (%s ms)", interval) : g_strdup("");
  return g_strdup_printf("%s, ZeRO-%u (%s), %u × %s in %u node%s: %.2f ms%s a step%s", identity->model,
                         identity->zero_stage, identity->framework, identity->gpus, identity->gpu, identity->nodes,
                         identity->nodes == 1 ? "" : "s",
                         (double)report_centi_ms(run_report_slowest(report)->step) / 100, around,
                         run_report_runs_out(report) ? " (if it fitted)" : "");
}

static char *ranks_of(const RunReport *report, const RunClass *of, const char *which) {
  const char *plural = of->ranks == 1 ? "" : "s";
  if (report->n_classes == 1)
    return g_strdup_printf("%u rank%s, all alike", of->ranks, plural);
  if (report->n_classes == report->identity.gpus)
    return g_strdup_printf("rank %u, the %s of %u", of->first_rank, which, report->n_classes);
  return g_strdup_printf("%u rank%s from rank %u on, the %s of %u classes", of->ranks, plural, of->first_rank, which,
                         report->n_classes);
}

/* The whole step is shown unless its middle was counted: then what comes before that. */
static void choose_window(ReportScene *scene, SimTime from, SimTime to) {
  const RunCounted *counted = &scene->of->counted;
  SimTime step = run_report_slowest(scene->report)->step;
  gboolean cut = counted->more > 0 && from < counted->end && to < 0;
  scene->from = MAX(from, 0);
  scene->to = to >= 0 ? to : cut ? counted->end : step;
  if (!cut)
    return;
  g_autofree char *ranks = scene->ranks;
  scene->ranks = g_strdup_printf("%s; %" G_GUINT64_FORMAT
                                 " micro-batches like the last one here follow, %.2f ms each, then the end of the step",
                                 ranks, counted->more, base_in_ms(counted->period));
}

static gboolean has_timeline(const RunReport *report) {
  guint32 samples = 0;
  for (guint32 i = 0; i < report->n_classes; i++)
    samples += report->classes[i].n_samples > 0;
  return (report->missing & RUN_MISSING_TIMELINE) == 0 && samples > 0;
}

static const RunClass *find_class(const RunReport *report, ReportWhich which, GError **error) {
  if (which == REPORT_SLOWEST)
    return run_report_slowest(report);
  if (which == REPORT_TIGHTEST)
    return run_report_tightest(report);
  guint stage = (guint)which - REPORT_STAGES;
  g_autofree char *name = g_strdup_printf("stage %u:", stage);
  for (guint32 i = 0; i < report->n_classes; i++)
    if (report->classes[i].role != NULL && g_str_has_prefix(report->classes[i].role, name))
      return &report->classes[i];
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "the run has no stage %u of a pipeline", stage);
  return NULL;
}

gboolean report_scene_load(StoreDb *db, gint64 run_id, ReportWhich which, SimTime from, SimTime to, ReportScene *ret,
                           GError **error) {
  g_auto(ReportScene) scene = {0};
  scene.report = store_db_load(db, run_id, TRUE, error);
  if (scene.report == NULL)
    return FALSE;
  SimTime step = run_report_slowest(scene.report)->step;
  scene.of = find_class(scene.report, which, error);
  if (scene.of == NULL)
    return FALSE;
  scene.title = title_of(scene.report);
  scene.ranks = which >= REPORT_STAGES
                    ? g_strdup(scene.of->role)
                    : ranks_of(scene.report, scene.of, which == REPORT_SLOWEST ? "slowest" : "tightest");
  scene.capacity = scene.of->capacity;
  scene.device_used = scene.of->device_used;
  if (!has_timeline(scene.report)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "run %" G_GINT64_FORMAT
                " has no timeline: it is a point of a sweep, or was run with --timeline=no. foretrain run keeps one, "
                "and so does foretrain sweep --timeline=yes",
                run_id);
    return FALSE;
  }
  choose_window(&scene, from, to);
  if (scene.from >= scene.to || scene.from >= step) {
    g_autofree char *begin = base_format_time(scene.from), *end = base_format_time(scene.to),
                    *all = base_format_time(step);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no window from %s to %s in a step of %s", begin, end, all);
    return FALSE;
  }
  *ret = scene;
  scene = (ReportScene){0};
  return TRUE;
}

void report_scene_clear(ReportScene *scene) {
  g_free(scene->title);
  g_free(scene->ranks);
  run_report_free(scene->report);
}
