/* SPDX-License-Identifier: MIT */
/* Two columns, and what makes the difference. */
#include "report-measured.h"

#include <string.h>

#include "base-json.h"
#include "base-names.h"
#include "base-table.h"
#include "report-measured-parts.h"
#include "report-text.h"
#include "report-words.h"

const char *const report_operation_names[] = {"all-reduce", "all-gather", "reduce-scatter", "other", NULL};

static ReportTraffic *of_operation(ReportMeasured *step, const char *operation) {
  int index = operation != NULL ? base_names_find(report_operation_names, operation) : -1;
  return &step->of[index >= 0 ? index : REPORT_OTHER];
}

static gboolean predict(StoreDb *db, gint64 run_id, ReportMeasured *ret, GError **error) {
  g_autoptr(RunReport) report = store_db_load(db, run_id, TRUE, error);
  if (report == NULL)
    return FALSE;
  const RunClass *slow = run_report_slowest(report);
  *ret = (ReportMeasured){.step = slow->step,
                          .compute = slow->compute,
                          .communication = slow->communication,
                          .exposed = slow->exposed,
                          .idle = slow->idle};
  report_measured_take(slow, ret);
  for (guint32 i = 0; i < slow->n_collectives; i++) {
    ReportTraffic *of = of_operation(ret, slow->collectives[i].operation);
    of->calls += slow->collectives[i].repeats;
    of->busy += (slow->collectives[i].end - slow->collectives[i].start) * slow->collectives[i].repeats;
  }
  for (guint32 i = 0; i < slow->n_exposures; i++) {
    const RunExposure *piece = &slow->exposures[i];
    const RunCollective *call = run_class_collective(slow, piece->row);
    if (!run_cause_is_idle(piece->cause))
      of_operation(ret, call != NULL ? call->operation : NULL)->exposed += (piece->end - piece->start) * piece->repeats;
  }
  return TRUE;
}

/* ---- For people ---- */

static double milliseconds(SimTime time) {
  return (double)time / (double)SIM_MILLISECOND;
}

static void row(BaseTable *table, const char *what, SimTime predicted, SimTime measured) {
  base_table_cell(table, "%s", what);
  base_table_cell(table, "%.2f", milliseconds(predicted));
  base_table_cell(table, "%.2f", milliseconds(measured));
  base_table_cell(table, "%+.2f", milliseconds(predicted - measured));
  if (measured > 0)
    base_table_cell(table, "%.2f", (double)predicted / (double)measured);
  base_table_end_row(table);
}

static void operations(BaseTable *table, const ReportMeasured *predicted, const ReportMeasured *measured,
                       gboolean exposed) {
  for (int o = 0; o < REPORT_OPERATIONS; o++) {
    const ReportTraffic *a = &predicted->of[o], *b = &measured->of[o];
    g_autofree char *what = g_strdup_printf("    %s", report_operation_names[o]);
    if ((exposed ? a->exposed + b->exposed : a->busy + b->busy) > 0)
      row(table, what, exposed ? a->exposed : a->busy, exposed ? b->exposed : b->busy);
  }
}

static void calls(BaseTable *table, const ReportMeasured *predicted, const ReportMeasured *measured) {
  for (int o = 0; o < REPORT_OPERATIONS; o++) {
    if (predicted->of[o].calls + measured->of[o].calls == 0)
      continue;
    base_table_cell(table, "    %s, calls", report_operation_names[o]);
    base_table_cell(table, "%u", predicted->of[o].calls);
    base_table_cell(table, "%u", measured->of[o].calls);
    base_table_cell(table, "%+d", (int)predicted->of[o].calls - (int)measured->of[o].calls);
    base_table_end_row(table);
  }
}

static void print_table(const ReportMeasured *predicted, const ReportMeasured *measured, GString *text) {
  g_autoptr(BaseTable) table = base_table_new();
  const char *const heads[] = {"", "predicted", "measured", "difference", "ratio"};
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], i == 0 ? BASE_LEFT : BASE_RIGHT);
  row(table, "step, ms", predicted->step, measured->step);
  row(table, "  compute", predicted->compute, measured->compute);
  row(table, "  exposed communication", predicted->exposed, measured->exposed);
  operations(table, predicted, measured, TRUE);
  row(table, "  idle", predicted->idle, measured->idle);
  base_table_rule(table);
  row(table, "communication, hidden or not, ms", predicted->communication, measured->communication);
  operations(table, predicted, measured, FALSE);
  calls(table, predicted, measured);
  base_table_print(table, 0, text);
}

/* The part that differs most. */
static void in_words(const ReportMeasured *predicted, const ReportMeasured *measured, GString *text) {
  const struct {
    const char *what;
    SimTime difference;
  } parts[] = {{"compute", predicted->compute - measured->compute},
               {"exposed communication", predicted->exposed - measured->exposed},
               {"idle time", predicted->idle - measured->idle}};
  gsize most = 0;
  for (gsize i = 1; i < G_N_ELEMENTS(parts); i++)
    if (ABS(parts[i].difference) > ABS(parts[most].difference))
      most = i;
  double share = 100 * ((double)predicted->step / (double)measured->step - 1);
  g_autofree char *words =
      g_strdup_printf("The predicted step is %.1f %% %s than the measured one (%+.2f ms); most of it is %s, %+.2f ms.",
                      ABS(share), share < 0 ? "shorter" : "longer", milliseconds(predicted->step - measured->step),
                      parts[most].what, milliseconds(parts[most].difference));
  g_string_append_c(text, '\n');
  report_wrap(text, "", words);
}

gboolean report_measured(StoreDb *db, gint64 run_id, const ReportMeasured *trace, GString *text, GError **error) {
  ReportMeasured predicted;
  if (!predict(db, run_id, &predicted, error))
    return FALSE;
  g_string_append_printf(text, "predicted  run %" G_GINT64_FORMAT ", its slowest ranks\nmeasured   %s", run_id,
                         trace->file);
  if (trace->steps > 0)
    g_string_append_printf(text, ", step %u of %u that the profiler marked (the one of middle length)\n\n",
                           trace->taken, trace->steps);
  else
    g_string_append(text, ", from its first kernel to its last: no ProfilerStep is marked in it\n\n");
  print_table(&predicted, trace, text);
  in_words(&predicted, trace, text);
  report_measured_parts(&predicted, trace, text);
  report_measured_release(&predicted);
  return TRUE;
}

/* ---- JSON ---- */

static void add_parts(BaseJson *json, const ReportMeasured *side) {
  base_json_list(json, "layers");
  for (guint i = 0; i < side->n_layers; i++) {
    base_json_map(json, NULL);
    base_json_integer(json, "forward_ps", side->layers[i].forward);
    base_json_integer(json, "recompute_ps", side->layers[i].recompute);
    base_json_integer(json, "backward_ps", side->layers[i].backward);
    base_json_end(json);
  }
  base_json_end(json);
  base_json_list(json, "collectives");
  for (guint i = 0; i < side->n_calls; i++) {
    base_json_map(json, NULL);
    base_json_text(json, "operation", report_operation_names[side->calls[i].operation]);
    base_json_integer(json, "bytes", (gint64)side->calls[i].bytes);
    base_json_integer(json, "time_ps", side->calls[i].time);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_side(BaseJson *json, const char *name, const ReportMeasured *side) {
  base_json_map(json, name);
  base_json_integer(json, "step_ps", side->step);
  base_json_integer(json, "compute_ps", side->compute);
  base_json_integer(json, "communication_ps", side->communication);
  base_json_integer(json, "exposed_ps", side->exposed);
  base_json_integer(json, "idle_ps", side->idle);
  base_json_map(json, "operations");
  for (int o = 0; o < REPORT_OPERATIONS; o++) {
    base_json_map(json, report_operation_names[o]);
    base_json_integer(json, "calls", side->of[o].calls);
    base_json_integer(json, "busy_ps", side->of[o].busy);
    base_json_integer(json, "exposed_ps", side->of[o].exposed);
    base_json_end(json);
  }
  base_json_end(json);
  add_parts(json, side);
  base_json_end(json);
}

gboolean report_measured_json(StoreDb *db, gint64 run_id, const ReportMeasured *trace, GString *text, GError **error) {
  ReportMeasured predicted;
  if (!predict(db, run_id, &predicted, error))
    return FALSE;
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  base_json_integer(json, "run_id", run_id);
  base_json_map(json, "trace");
  base_json_text(json, "file", trace->file);
  base_json_integer(json, "steps", trace->steps);
  base_json_integer(json, "taken", trace->taken);
  base_json_end(json);
  add_side(json, "predicted", &predicted);
  add_side(json, "measured", trace);
  base_json_end(json);
  report_measured_release(&predicted);
  return TRUE;
}
