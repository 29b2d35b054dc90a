/* SPDX-License-Identifier: MIT */
/* Rows of a log and calls of the same sizes, side by side. */
#include "cli-measured.h"

#include <math.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "base-table.h"
#include "import-usable.h"

struct CliMeasured {
  BaseTable *table;
  GString *head;
  GArray *distances; /* double: |ratio - 1| of each half that was measured */
};

/* One file is compared. */
static const char *name_of(const ImportLog *log) {
  return g_ptr_array_index(log->files, 0);
}

/* Of the operation, or of none that is named, where its rows may be of it. */
static gboolean is_of(const ImportRun *run, const char *operation) {
  int named = base_names_find(import_operation_names, operation);
  return run->operation == IMPORT_UNKNOWN ? named > 0 && import_run_may_be(run, (ImportOperation)named)
                                          : (int)run->operation == named;
}

static const ImportRun *fail(const ImportLog *log, const ImportRun *run, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
static const ImportRun *fail(const ImportLog *log, const ImportRun *run, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  base_error_set_at(error, &(BasePlace){.file = name_of(log), .line = run != NULL ? run->line : 0}, "%s", message);
  return NULL;
}

const ImportRun *cli_measured_run(const ImportLog *log, const char *operation, GError **error) {
  const ImportRun *other = NULL, *refused = NULL;
  for (guint i = 0; i < log->runs->len; i++) {
    const ImportRun *run = g_ptr_array_index(log->runs, i);
    g_autofree char *refusal = import_run_refusal(run);
    if (refusal == NULL && is_of(run, operation))
      return run;
    if (refusal != NULL)
      refused = refused != NULL ? refused : run;
    else
      other = run;
  }
  g_autofree char *why = refused != NULL ? import_run_refusal(refused) : NULL;
  if (other == NULL && why != NULL)
    return fail(log, refused, error, "nothing to compare: %s", why);
  if (other == NULL)
    return fail(log, NULL, error, "holds no rows of nccl-tests");
  return other->operation == IMPORT_UNKNOWN
             ? fail(log, other, error, "its rows' redop is not that of %s", operation)
             : fail(log, other, error, "holds %s, not %s", import_operation_names[other->operation], operation);
}

void cli_measured_settings(const ImportRun *run, CliMeasuredSettings *ret) {
  g_strlcpy(ret->dtype, g_array_index(run->rows, ImportRow, 0).type, sizeof ret->dtype);
  if (run->nodes > 0)
    g_snprintf(ret->nodes, sizeof ret->nodes, "%u", run->nodes);
  if (run->nodes > 0 && run->ranks % run->nodes == 0 && run->ranks > 0)
    g_snprintf(ret->gpus_per_node, sizeof ret->gpus_per_node, "%u", run->ranks / run->nodes);
}

gboolean cli_measured_check(const ImportLog *log, const ImportRun *run, const StudyCollective *collective,
                            GError **error) {
  guint32 ranks = study_collective_ranks(collective), nodes = study_collective_nodes(collective);
  BasePlace place = {.file = name_of(log), .line = run->line};
  if (run->ranks != 0 && run->ranks != ranks)
    base_error_set_at(error, &place, "measured on %u GPUs, not %u: set --nodes and --gpus-per-node", run->ranks, ranks);
  else if (run->nodes != 0 && run->nodes != nodes)
    base_error_set_at(error, &place, "measured on %u nodes, not %u: set --nodes", run->nodes, nodes);
  else
    return TRUE;
  return FALSE;
}

CliMeasured *cli_measured_new(const ImportLog *log, const ImportRun *run, const StudyCollective *collective) {
  static const char *const heads[] = {"size",     "type",  "measured",  "in place", "predicted", "ratio",
                                      "in place", "busbw", "predicted", "algo",     "proto"};
  CliMeasured *table = g_new0(CliMeasured, 1);
  table->table = base_table_new();
  table->head = g_string_new(NULL);
  table->distances = g_array_new(FALSE, FALSE, sizeof(double));
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table->table, heads[i], i == 1 || i > 8 ? BASE_LEFT : BASE_RIGHT);
  g_string_append_printf(table->head, "%s beside %s on %s, %u nodes, %u ranks (%s)\n", name_of(log),
                         study_collective_operation(collective), study_collective_topology(collective),
                         study_collective_nodes(collective), study_collective_ranks(collective),
                         run->nccl_version != NULL ? run->nccl_version : "NCCL's version is not stated");
  const char *gpu = study_collective_gpu(collective);
  if (import_run_other_gpu(run, gpu))
    g_string_append_printf(table->head, "The log is of %s, and the topology's GPUs are %s.\n", run->gpu, gpu);
  g_string_append_c(table->head, '\n');
  return table;
}

void cli_measured_free(CliMeasured *table) {
  if (table == NULL)
    return;
  base_table_free(table->table);
  g_string_free(table->head, TRUE);
  g_array_unref(table->distances);
  g_free(table);
}

static gboolean ratio_of(SimTime predicted, SimTime measured, double *ret) {
  if (measured == SIM_TIME_NEVER || measured <= 0)
    return FALSE;
  *ret = (double)predicted / (double)measured;
  return TRUE;
}

static void time_cell(BaseTable *table, SimTime time) {
  g_autofree char *shown = base_format_time(time);
  base_table_cell(table, "%s", time == SIM_TIME_NEVER ? "-" : shown);
}

static void ratio_cell(CliMeasured *table, SimTime predicted, SimTime measured) {
  double ratio;
  if (!ratio_of(predicted, measured, &ratio)) {
    base_table_cell(table->table, "-");
    return;
  }
  double distance = ABS(ratio - 1);
  base_table_cell(table->table, "%.3f", ratio);
  g_array_append_val(table->distances, distance);
}

void cli_measured_add(CliMeasured *table, const StudyCollectiveCall *call, const ImportRow *row) {
  gboolean out = row->out_of_place.time != SIM_TIME_NEVER;
  double bus = out ? row->out_of_place.bus_bandwidth : row->in_place.bus_bandwidth;
  base_table_cell(table->table, "%" G_GUINT64_FORMAT, row->bytes);
  base_table_cell(table->table, "%s", row->type);
  time_cell(table->table, row->out_of_place.time);
  time_cell(table->table, row->in_place.time);
  time_cell(table->table, call->time);
  ratio_cell(table, call->time, row->out_of_place.time);
  ratio_cell(table, call->time, row->in_place.time);
  base_table_cell(table->table, "%.2f", base_in_gb(bus));
  base_table_cell(table->table, "%.2f", base_in_gb(call->bus_bandwidth));
  base_table_cell(table->table, "%s", call->algorithm);
  base_table_cell(table->table, "%s", call->protocol);
}

static int compare_numbers(gconstpointer a, gconstpointer b) {
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

void cli_measured_print(const CliMeasured *table, GString *text) {
  guint n = table->distances->len;
  g_string_append(text, table->head->str);
  base_table_print(table->table, 0, text);
  g_array_sort(table->distances, compare_numbers);
  if (n > 0)
    g_string_append_printf(
        text, "\nHalf of %u predictions are within %.1f %% of what was measured; the furthest is %.1f %% off.\n", n,
        100 * g_array_index(table->distances, double, (n - 1) / 2),
        100 * g_array_index(table->distances, double, n - 1));
}

static void json_half(BaseJson *json, const char *time_key, const char *ratio_key, SimTime predicted,
                      SimTime measured) {
  double ratio;
  gboolean known = ratio_of(predicted, measured, &ratio);
  if (known)
    base_json_integer(json, time_key, measured);
  else
    base_json_null(json, time_key);
  base_json_number(json, ratio_key, known ? ratio : NAN);
}

void cli_measured_json(const StudyCollectiveCall *call, const ImportRow *row, BaseJson *json) {
  json_half(json, "measured_time_ps", "ratio", call->time, row->out_of_place.time);
  json_half(json, "measured_in_place_time_ps", "in_place_ratio", call->time, row->in_place.time);
}
