/* SPDX-License-Identifier: MIT */
/* A run's tables as a Report. */
#include <string.h>

#include "base-error.h"
#include "base-span.h"
#include "store-metric.h"
#include "store-reader.h"

typedef struct {
  StoreDb *db;
  gint64 run_id;
  RunReport *report;
  GError **error;
} Loading;

/* Rows of the run; of arrays that are handed on, the elements own their texts. */
static GArray *rows_of(const Loading *loading, const char *table, const RunRecord *record, const char *order,
                       GArray *classes) {
  g_autofree char *rest = g_strdup_printf("run_id = ?1%s", order);
  const StoreReader reader = {loading->db, table, record, rest, loading->run_id, NULL, loading->report->names};
  return store_reader_rows(&reader, classes, NULL, loading->error);
}

static gboolean damaged(const Loading *loading, const char *what) {
  g_set_error(loading->error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is damaged: run %" G_GINT64_FORMAT " %s",
              loading->db->path, loading->run_id, what);
  return FALSE;
}

static gboolean load_run(Loading *loading) {
  g_autoptr(GArray) runs = rows_of(loading, "run", &run_record_report, "", NULL);
  if (runs == NULL)
    return FALSE;
  if (runs->len == 0) {
    g_set_error(loading->error, SIM_ERROR, SIM_ERROR_INPUT, "no run %" G_GINT64_FORMAT, loading->run_id);
    return FALSE;
  }
  GStringChunk *names = loading->report->names;
  *loading->report = g_array_index(runs, RunReport, 0);
  loading->report->names = names;
  return TRUE;
}

/* What table run says again of the classes that decide. */
static gboolean check_summary(const Loading *loading) {
  static const RunRecord summary = {run_fields_class, RUN_CLASS_METRICS, sizeof(RunClass)};
  const RunReport *report = loading->report;
  g_autoptr(GArray) runs = rows_of(loading, "run", &summary, "", NULL);
  if (runs == NULL)
    return FALSE;
  for (gsize m = 0; m < store_n_metrics; m++) {
    const StoreMetric *metric = &store_metrics[m];
    if (metric->from != STORE_OF_SLOWEST && metric->from != STORE_OF_TIGHTEST)
      continue;
    const RunClass *of = metric->from == STORE_OF_SLOWEST ? run_report_slowest(report) : run_report_tightest(report);
    if (run_field_equal(metric->field, runs->data, of))
      continue;
    g_autofree char *what = g_strdup_printf("and its rank classes differ in %s", metric->column);
    return damaged(loading, what);
  }
  return TRUE;
}

static gboolean load_classes(Loading *loading) {
  RunReport *report = loading->report;
  GArray *classes = rows_of(loading, "rank_class", &run_record_class, " ORDER BY rank_class", NULL);
  if (classes == NULL)
    return FALSE;
  report->n_classes = classes->len;
  report->classes = (RunClass *)(gpointer)g_array_free(classes, FALSE);
  for (guint32 i = 0; i < report->n_classes; i++)
    report->classes[i].peak_layer = -1;
  if (report->slowest >= report->n_classes || report->tightest >= report->n_classes)
    return damaged(loading, "lacks rank classes");
  return check_summary(loading);
}

static gboolean load_settings(Loading *loading) {
  RunIdentity *identity = &loading->report->identity;
  GArray *settings = rows_of(loading, "setting", &run_record_setting, " ORDER BY name", NULL);
  if (settings == NULL)
    return FALSE;
  identity->n_settings = settings->len;
  identity->settings = (RunSetting *)(gpointer)g_array_free(settings, FALSE);
  return TRUE;
}

typedef struct {
  char *text;
} Note;

static gboolean load_notes(Loading *loading) {
  static const RunField field = {"text", "text", RUN_TEXT, FALSE, 0, sizeof(char *), NULL};
  static const RunRecord record = {&field, 1, sizeof(Note)};
  GArray *notes = rows_of(loading, "note", &record, " ORDER BY number", NULL);
  if (notes == NULL)
    return FALSE;
  g_array_set_size(notes, notes->len + 1);
  loading->report->identity.notes = (char **)(gpointer)g_array_free(notes, FALSE);
  return TRUE;
}

static gboolean load_links(Loading *loading) {
  GArray *links = rows_of(loading, "link", &run_record_link, " ORDER BY link_class", NULL);
  if (links == NULL)
    return FALSE;
  loading->report->n_links = links->len;
  loading->report->links = (RunLink *)(gpointer)g_array_free(links, FALSE);
  return TRUE;
}

/* Takes one class's rows, n of them. */
typedef gboolean (*TakeRows)(Loading *loading, RunClass *of, gpointer rows, guint32 n);

/* Rows of a table by class, each class's in its order. */
static gboolean load_by_class(Loading *loading, const char *table, const RunRecord *record, const char *order,
                              TakeRows take) {
  g_autoptr(GArray) classes = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_autofree char *by = g_strdup_printf(" ORDER BY rank_class%s", order);
  g_autoptr(GArray) rows = rows_of(loading, table, record, by, classes);
  gboolean good = rows != NULL;
  for (guint first = 0, next; good && first < rows->len; first = next) {
    guint32 rank_class = g_array_index(classes, guint32, first);
    for (next = first + 1; next < rows->len && g_array_index(classes, guint32, next) == rank_class;)
      next++;
    good = rank_class < loading->report->n_classes
               ? take(loading, &loading->report->classes[rank_class], rows->data + first * record->size, next - first)
               : damaged(loading, "lacks rank classes");
  }
  return good;
}

static gboolean take_peaks(Loading *loading, RunClass *of, gpointer rows, guint32 n) {
  const RunPeak *peaks = rows;
  loading->report->missing &= ~(guint32)RUN_MISSING_DETAILS;
  for (guint32 i = 0; i < n; i++) {
    of->peak_held[peaks[i].tenant] = peaks[i].bytes;
    of->peak_unique[peaks[i].tenant] = peaks[i].unique;
  }
  of->peak_at = peaks->at;
  of->peak_step = peaks->step;
  of->peak_name = peaks->name;
  of->peak_layer = peaks->layer;
  of->peak_phase = peaks->phase;
  return TRUE;
}

static gboolean take_oom(G_GNUC_UNUSED Loading *loading, RunClass *of, gpointer rows, G_GNUC_UNUSED guint32 n) {
  of->has_oom = TRUE;
  of->oom = *(const RunOom *)rows;
  return TRUE;
}

static gboolean take_tasks(Loading *loading, RunClass *of, gpointer rows, guint32 n) {
  loading->report->missing &= ~(guint32)RUN_MISSING_TIMELINE;
  of->tasks = g_memdup2(rows, n * sizeof *of->tasks);
  of->n_tasks = n;
  return TRUE;
}

static gboolean take_collectives(G_GNUC_UNUSED Loading *loading, RunClass *of, gpointer rows, guint32 n) {
  of->collectives = g_memdup2(rows, n * sizeof *of->collectives);
  of->n_collectives = n;
  return TRUE;
}

static gboolean take_exposures(Loading *loading, RunClass *of, gpointer rows, guint32 n) {
  of->exposures = g_memdup2(rows, n * sizeof *of->exposures);
  of->n_exposures = n;
  BaseCover cover = base_cover((BaseSpan){0, of->step});
  for (guint32 i = 0; i < n; i++) {
    const RunExposure *piece = &of->exposures[i];
    if (base_span_length(base_cover_add(&cover, (BaseSpan){piece->start, piece->end})) != piece->end - piece->start)
      return damaged(loading, "is exposed twice at one time, or beyond its step");
    of->by_cause[piece->cause] += (piece->end - piece->start) * piece->repeats;
  }
  return TRUE;
}

static gboolean take_counted(G_GNUC_UNUSED Loading *loading, RunClass *of, gpointer rows, G_GNUC_UNUSED guint32 n) {
  of->counted = *(const RunCounted *)rows;
  return TRUE;
}

/* Rows tell the tenants whose level changed. */
static gboolean take_levels(G_GNUC_UNUSED Loading *loading, RunClass *of, gpointer rows, guint32 n) {
  const RunLevel *levels = rows;
  of->samples = g_new0(RunMemorySample, n);
  for (guint32 i = 0; i < n; i++) {
    if (of->n_samples == 0 || of->samples[of->n_samples - 1].at != levels[i].at) {
      if (of->n_samples > 0)
        of->samples[of->n_samples] = of->samples[of->n_samples - 1];
      of->samples[of->n_samples++].at = levels[i].at;
    }
    of->samples[of->n_samples - 1].held[levels[i].tenant] = levels[i].bytes;
  }
  return TRUE;
}

static gboolean load_timeline(Loading *loading) {
  return load_by_class(loading, "task", &run_record_task, ", task_id", take_tasks) &&
         load_by_class(loading, "collective", &run_record_collective, ", task_id", take_collectives) &&
         load_by_class(loading, "exposure", &run_record_exposure, ", start_ps", take_exposures) &&
         load_by_class(loading, "counted", &run_record_counted, "", take_counted) &&
         load_by_class(loading, "memory", &run_record_level, ", at_ps, tenant", take_levels);
}

RunReport *store_db_load(StoreDb *db, gint64 run_id, gboolean timeline, GError **error) {
  g_autoptr(RunReport) report = g_new0(RunReport, 1);
  report->names = g_string_chunk_new(1024);
  Loading loading = {db, run_id, report, error};
  if (!load_run(&loading))
    return NULL;
  report->missing = RUN_MISSING_TIMELINE | RUN_MISSING_DETAILS;
  if (load_classes(&loading) && load_settings(&loading) && load_notes(&loading) && load_links(&loading) &&
      load_by_class(&loading, "memory_peak", &run_record_peak, "", take_peaks) &&
      load_by_class(&loading, "oom", &run_record_oom, "", take_oom) && (!timeline || load_timeline(&loading)))
    return g_steal_pointer(&report);
  return NULL;
}
