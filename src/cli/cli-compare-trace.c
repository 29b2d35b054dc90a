/* SPDX-License-Identifier: MIT */
/* Traces to what report-measured.h sets beside a run. */
#include "cli-compare-trace.h"

#include <string.h>

#include "cli-write.h"
#include "report-measured.h"

static const ReportOperation operations[] = {[IMPORT_TRACED_ALL_REDUCE] = REPORT_ALL_REDUCE,
                                             [IMPORT_TRACED_ALL_GATHER] = REPORT_ALL_GATHER,
                                             [IMPORT_TRACED_REDUCE_SCATTER] = REPORT_REDUCE_SCATTER,
                                             [IMPORT_TRACED_OTHER] = REPORT_OTHER};

gboolean cli_compare_is_trace(const char *const *words) {
  static const char *const endings[] = {".json", ".json.gz", ".sqlite", ".tar", ".tar.gz", ".tgz"};
  guint n = words != NULL ? g_strv_length((char **)words) : 0, traces = 0;
  for (guint i = 1; i < n; i++)
    for (gsize e = 0; e < G_N_ELEMENTS(endings); e++)
      if (g_str_has_suffix(words[i], endings[e])) {
        traces++;
        break;
      }
  return n > 1 && traces == n - 1;
}

static guint longest(const ImportKinetoSet *set) {
  guint found = 0;
  for (guint i = 1; i < import_kineto_files(set); i++)
    if (import_kineto_measured(set, i)->step > import_kineto_measured(set, found)->step)
      found = i;
  return found;
}

static void take_parts(const ImportKinetoSet *set, guint file, GArray *layers, GArray *calls) {
  ImportKinetoLayers read;
  import_kineto_layers(set, file, &read);
  for (guint i = 0; i < read.n; i++) {
    const SimTime *time = read.of[i].time;
    ReportLayer layer = {time[IMPORT_KINETO_FORWARD], time[IMPORT_KINETO_RECOMPUTE], time[IMPORT_KINETO_BACKWARD]};
    g_array_append_val(layers, layer);
  }
  import_kineto_layers_clear(&read);
  g_autoptr(GArray) sent = import_kineto_sent(set, file);
  for (guint i = 0; i < sent->len; i++) {
    const ImportKinetoSent *one = &g_array_index(sent, ImportKinetoSent, i);
    ReportCall call = {operations[one->what], one->bytes, one->time};
    g_array_append_val(calls, call);
  }
}

static void take_sums(const ImportKineto *read, ReportMeasured *ret) {
  for (int i = 0; i < IMPORT_COLLECTIVES; i++)
    ret->of[operations[i]] = (ReportTraffic){read->of[i].calls, read->of[i].busy, read->of[i].exposed};
  ret->steps = read->steps;
  ret->taken = read->taken;
  ret->step = read->step;
  ret->compute = read->compute;
  ret->communication = read->communication;
  ret->exposed = read->exposed;
  ret->idle = read->idle;
}

CliExit cli_compare_trace(const ImportKinetoSet *set, const char *database, gint64 run_id, gboolean json,
                          GError **error) {
  guint file = longest(set);
  g_autoptr(GArray) layers = g_array_new(FALSE, FALSE, sizeof(ReportLayer));
  g_autoptr(GArray) calls = g_array_new(FALSE, FALSE, sizeof(ReportCall));
  take_parts(set, file, layers, calls);
  ReportMeasured measured = {.file = import_kineto_path(set, file),
                             .layers = (const ReportLayer *)(gpointer)layers->data,
                             .n_layers = layers->len,
                             .calls = (const ReportCall *)(gpointer)calls->data,
                             .n_calls = calls->len};
  take_sums(import_kineto_measured(set, file), &measured);
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  if (db == NULL || !(json ? report_measured_json : report_measured)(db, run_id, &measured, text, error))
    return CLI_FAULT;
  cli_print(text->str);
  return CLI_DONE;
}
