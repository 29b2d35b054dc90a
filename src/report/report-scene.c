/* The run that a picture shows. */
#include "report-scene.h"

#include "base-error.h"
#include "report-words.h"

typedef struct {
  ReportScene *scene;
  const char *which;
  SimTime step;
  gboolean found, timeline;
} Loading;

/* Columns as in `facts`. */
static void take_facts(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                       gpointer user) {
  Loading *loading = user;
  ReportScene *scene = loading->scene;
  gboolean oom = g_str_equal(v[6], "oom");
  loading->found = TRUE;
  loading->step = g_ascii_strtoll(v[7], NULL, 10);
  g_autofree char *step = g_strdup_printf("%.2f ms", (double)report_centi_ms(loading->step) / 100);
  g_autofree char *interval =
      v[14] != NULL ? report_interval(g_ascii_strtoll(v[14], NULL, 10), g_ascii_strtoll(v[15], NULL, 10)) : NULL;
  g_autofree char *around = interval != NULL ? g_strdup_printf(" (%s ms)", interval) : g_strdup("");
  scene->title = g_strdup_printf("%s, ZeRO-%s (%s), %s × %s in %s node%s: %s%s a step%s", v[0], v[1], v[2], v[3], v[4],
                                 v[5], g_str_equal(v[5], "1") ? "" : "s", step, around, oom ? " (if it fitted)" : "");
  const char *plural = g_str_equal(v[8], "1") ? "" : "s";
  if (g_str_equal(v[10], "1"))
    scene->ranks = g_strdup_printf("%s rank%s, all alike", v[8], plural);
  else if (g_str_equal(v[10], v[3]))
    scene->ranks = g_strdup_printf("rank %s, the %s of %s", v[9], loading->which, v[10]);
  else
    scene->ranks =
        g_strdup_printf("%s rank%s from rank %s on, the %s of %s classes", v[8], plural, v[9], loading->which, v[10]);
  scene->capacity = g_ascii_strtoull(v[11], NULL, 10);
  scene->device_used = g_ascii_strtoull(v[12], NULL, 10);
  loading->timeline = g_str_equal(v[13], "1");
}

gboolean report_scene_load(StoreDb *db, gint64 run_id, ReportWhich which, SimTime from, SimTime to, ReportScene *ret,
                           GError **error) {
  static const char *const words[] = {[REPORT_SLOWEST] = "slowest", [REPORT_TIGHTEST] = "tightest"};
  g_autofree char *facts = g_strdup_printf(
      "SELECT model, zero_stage, framework, gpus, gpu, nodes, run.verdict, run.step_ps, ranks, first_rank,"
      " (SELECT count(*) FROM rank_class WHERE run_id = ?1), rank_class.capacity_bytes, rank_class.device_used_bytes,"
      " EXISTS (SELECT 1 FROM task WHERE run_id = ?1) AND EXISTS (SELECT 1 FROM memory WHERE run_id = ?1),"
      " run.step_low_ps, run.step_high_ps"
      " FROM run JOIN rank_class USING (run_id) WHERE run_id = ?1 AND rank_class = %s_class",
      words[which]);
  g_auto(ReportScene) scene = {0};
  Loading loading = {.scene = &scene, .which = words[which]};
  if (!store_db_query(db, facts, run_id, take_facts, &loading, error))
    return FALSE;
  if (!loading.found) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no run %" G_GINT64_FORMAT, run_id);
    return FALSE;
  }
  if (!loading.timeline) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "run %" G_GINT64_FORMAT
                " was written without a timeline; foretrain run keeps one, and of the points that it plays "
                "foretrain sweep --timeline=yes",
                run_id);
    return FALSE;
  }
  scene.from = MAX(from, 0);
  scene.to = to < 0 ? loading.step : to;
  if (scene.from >= scene.to || scene.from >= loading.step) {
    g_autofree char *begin = base_format_time(scene.from), *end = base_format_time(scene.to),
                    *all = base_format_time(loading.step);
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
}
