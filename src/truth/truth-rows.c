/* SPDX-License-Identifier: MIT */
/* A line for each figure of a row; below the worst rows, compute, exposed time by cause, and memory by tenant. */
#include "truth-rows.h"

#include "base-table.h"

#define PERCENT 100.0

static const char *verdict_name(double value) {
  return value == STORE_UNKNOWN        ? "-"
         : value == STORE_VERDICT_FITS ? "fits"
         : value == STORE_VERDICT_EDGE ? "edge"
                                       : "oom";
}

static void figure_cell(BaseTable *table, StoreMeasureKind kind, double value) {
  if (kind == STORE_MEASURE_FITS)
    base_table_cell(table, "%s", verdict_name(value));
  else if (value == STORE_UNKNOWN)
    base_table_cell(table, "-");
  else
    base_table_cell(table, "%.6g", store_measure_shown(kind, value));
}

static void add_row(BaseTable *table, const TruthRow *row) {
  gboolean first = TRUE;
  for (StoreMeasureKind kind = 0; kind < STORE_MEASURES; kind++) {
    double error;
    if (row->measured[kind] == STORE_UNKNOWN)
      continue;
    base_table_cell(table, "%s", first ? row->id : "");
    base_table_cell(table, "%s", first ? row->set : "");
    base_table_cell(table, "%s", store_measure_names[kind]);
    figure_cell(table, kind, row->measured[kind]);
    figure_cell(table, kind, row->predicted[kind]);
    if (kind != STORE_MEASURE_FITS && truth_row_error(row, kind, &error))
      base_table_cell(table, "%+.1f %%", PERCENT * error);
    base_table_end_row(table);
    first = FALSE;
  }
}

static BaseTable *table_new(void) {
  BaseTable *table = base_table_new();
  base_table_head(table, "row", BASE_LEFT);
  base_table_head(table, "set", BASE_LEFT);
  base_table_head(table, "figure", BASE_LEFT);
  base_table_head(table, "measured", BASE_RIGHT);
  base_table_head(table, "predicted", BASE_RIGHT);
  base_table_head(table, "error", BASE_RIGHT);
  return table;
}

void truth_rows_all(const TruthResult *result, GString *text) {
  g_autoptr(BaseTable) table = table_new();
  guint ran = 0;
  for (guint i = 0; i < result->rows->len; i++)
    if (truth_row(result, i)->ran) {
      add_row(table, truth_row(result, i));
      ran++;
    }
  g_string_append(text, "\nRows\n");
  if (ran > 0)
    base_table_print(table, 2, text);
  for (guint i = 0; i < result->rows->len; i++) {
    const TruthRow *row = truth_row(result, i);
    g_autofree char *status = truth_row_status(row);
    if (!row->ran)
      g_string_append_printf(text, "  %s (%s) did not run: %s\n", row->id, row->source, status);
  }
}

typedef struct {
  guint index;
  double size;
} Distance;

static gboolean distance_of(const TruthRow *row, double *ret) {
  static const StoreMeasureKind kinds[] = {STORE_MEASURE_STEP_TIME, STORE_MEASURE_TOKENS,   STORE_MEASURE_TIME,
                                           STORE_MEASURE_BANDWIDTH, STORE_MEASURE_RESERVED, STORE_MEASURE_ALLOCATED,
                                           STORE_MEASURE_STEADY};
  double error;
  for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++)
    if (truth_row_error(row, kinds[k], &error)) {
      *ret = ABS(error);
      return TRUE;
    }
  return FALSE;
}

static int compare_distances(gconstpointer a, gconstpointer b) {
  const Distance *one = a, *other = b;
  if (one->size != other->size)
    return one->size < other->size ? 1 : -1;
  return (one->index > other->index) - (one->index < other->index);
}

static void print_time(const char *what, SimTime part, SimTime step, GString *text) {
  g_autofree char *time = base_format_time(part);
  if (part > 0)
    g_string_append_printf(text, "      %-12s %12s  %5.1f %%\n", what, time, PERCENT * (double)part / (double)step);
}

static void print_breakdown(const TruthRow *row, GString *text) {
  const TruthBreakdown *parts = &row->breakdown;
  print_time("compute", parts->compute, parts->step, text);
  for (int cause = 0; cause < RUN_CAUSES; cause++)
    print_time(run_cause_names[cause], parts->by_cause[cause], parts->step, text);
  g_string_append(text, "      at the peak:");
  for (int tenant = 0; tenant < RUN_TENANTS; tenant++) {
    g_autofree char *held = base_format_memory(parts->held[tenant]);
    if (parts->held[tenant] > 0)
      g_string_append_printf(text, " %s %s,", run_tenant_names[tenant], held);
  }
  g_autofree char *used = base_format_memory(parts->device_used);
  g_autofree char *capacity = base_format_memory(parts->capacity);
  g_string_append_printf(text, " together %s of %s\n", used, capacity);
}

void truth_rows_worst(const TruthResult *result, guint n, GString *text) {
  g_autoptr(GArray) distances = g_array_new(FALSE, FALSE, sizeof(Distance));
  for (guint i = 0; i < result->rows->len; i++) {
    Distance distance = {.index = i};
    if (distance_of(truth_row(result, i), &distance.size))
      g_array_append_val(distances, distance);
  }
  g_array_sort(distances, compare_distances);
  g_string_append(text, "\nThe rows that are furthest off\n");
  for (guint i = 0; i < MIN(n, distances->len); i++) {
    const TruthRow *row = truth_row(result, g_array_index(distances, Distance, i).index);
    g_autoptr(BaseTable) table = table_new();
    add_row(table, row);
    base_table_print(table, 2, text);
    if (row->algorithm != NULL)
      g_string_append_printf(text, "      predicted as %s, %s\n", row->algorithm, row->protocol);
    else
      print_breakdown(row, text);
  }
}
