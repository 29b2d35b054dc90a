/* SPDX-License-Identifier: MIT */
/* Layers and collectives of both sides, in the same order. */
#include "report-measured-parts.h"

#include <string.h>

#include "base-names.h"
#include "base-table.h"
#include "report-words.h"

/* Two times part where they are further apart than this share of the measured one, and than this. */
#define APART_SHARE 0.10
#define APART_LEAST (20 * SIM_MICROSECOND)
/* Calls at least so large tell of a bandwidth, at most so large of a latency. */
#define LARGE ((guint64)16 << 20)
#define SMALL ((guint64)32 << 10)

/* ---- What is predicted ---- */

static void take_layers(const RunClass *of, ReportMeasured *ret) {
  gint32 most = -1;
  for (guint32 i = 0; i < of->n_tasks; i++)
    most = MAX(most, of->tasks[i].layer);
  ReportLayer *layers = g_new0(ReportLayer, (gsize)(most + 1) + 1);
  for (guint32 i = 0; i < of->n_tasks; i++) {
    const RunTask *task = &of->tasks[i];
    if (task->layer < 0 || strcmp(task->kind, "compute") != 0)
      continue;
    SimTime time = (task->end - task->start) * task->repeats;
    ReportLayer *layer = &layers[task->layer];
    layer->forward += strcmp(task->phase, "forward") == 0 ? time : 0;
    layer->recompute += strcmp(task->phase, "recompute") == 0 ? time : 0;
    layer->backward += strcmp(task->phase, "backward") == 0 ? time : 0;
  }
  ret->layers = layers;
  ret->n_layers = (guint)(most + 1);
}

static gint by_start(gconstpointer a, gconstpointer b) {
  const RunCollective *one = *(const RunCollective *const *)a, *other = *(const RunCollective *const *)b;
  if (one->start != other->start)
    return one->start < other->start ? -1 : 1;
  return (one->row > other->row) - (one->row < other->row);
}

static void take_calls(const RunClass *of, ReportMeasured *ret) {
  g_autoptr(GPtrArray) order = g_ptr_array_new();
  for (guint32 i = 0; i < of->n_collectives; i++)
    g_ptr_array_add(order, &of->collectives[i]);
  g_ptr_array_sort(order, by_start);
  ReportCall *calls = g_new0(ReportCall, (gsize)order->len + 1);
  for (guint i = 0; i < order->len; i++) {
    const RunCollective *call = g_ptr_array_index(order, i);
    gint operation = base_names_find(report_operation_names, call->operation);
    calls[i] =
        (ReportCall){operation >= 0 ? (ReportOperation)operation : REPORT_OTHER, call->bytes, call->end - call->start};
  }
  ret->calls = calls;
  ret->n_calls = order->len;
}

void report_measured_take(const RunClass *of, ReportMeasured *ret) {
  take_layers(of, ret);
  take_calls(of, ret);
}

void report_measured_release(ReportMeasured *side) {
  g_free((gpointer)side->layers);
  g_free((gpointer)side->calls);
  side->layers = NULL;
  side->calls = NULL;
}

/* ---- Layers ---- */

static double milliseconds(SimTime time) {
  return (double)time / (double)SIM_MILLISECOND;
}

static gboolean apart(SimTime predicted, SimTime measured) {
  SimTime off = ABS(predicted - measured);
  return off > APART_LEAST && (double)off > APART_SHARE * (double)measured;
}

static void cells(BaseTable *table, SimTime predicted, SimTime measured) {
  base_table_cell(table, "%.3f", milliseconds(predicted));
  base_table_cell(table, "%.3f", milliseconds(measured));
  if (measured > 0)
    base_table_cell(table, "%.2f", (double)predicted / (double)measured);
  else
    base_table_cell(table, "%s", "");
}

static void print_layers(const ReportMeasured *predicted, const ReportMeasured *measured, GString *text) {
  static const char *const heads[] = {"layer", "forward", "measured", "ratio", "backward", "measured", "ratio"};
  g_autoptr(BaseTable) table = base_table_new();
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], i == 0 ? BASE_LEFT : BASE_RIGHT);
  for (guint i = 0; i < MAX(predicted->n_layers, measured->n_layers); i++) {
    ReportLayer a = i < predicted->n_layers ? predicted->layers[i] : (ReportLayer){0};
    ReportLayer b = i < measured->n_layers ? measured->layers[i] : (ReportLayer){0};
    base_table_cell(table, "%u", i);
    cells(table, a.forward, b.forward);
    cells(table, a.recompute + a.backward, b.recompute + b.backward);
    base_table_end_row(table);
  }
  g_string_append(text,
                  "\nCompute of each layer in ms, predicted and measured; backward with what is computed again:\n");
  base_table_print(table, 0, text);
}

static SimTime sum(const ReportMeasured *side) {
  SimTime time = 0;
  for (guint i = 0; i < side->n_layers; i++)
    time += side->layers[i].forward + side->layers[i].recompute + side->layers[i].backward;
  return time;
}

/* In the order in which they are computed: forward up, backward down. Caller frees. */
static char *first_layer_apart(const ReportMeasured *predicted, const ReportMeasured *measured) {
  guint n = MIN(predicted->n_layers, measured->n_layers);
  for (guint i = 0; i < 2 * n; i++) {
    guint layer = i < n ? i : 2 * n - 1 - i;
    const ReportLayer *a = &predicted->layers[layer], *b = &measured->layers[layer];
    SimTime one = i < n ? a->forward : a->recompute + a->backward;
    SimTime other = i < n ? b->forward : b->recompute + b->backward;
    if (apart(one, other))
      return g_strdup_printf("They part first in the %s of layer %u: %.3f ms predicted, %.3f ms measured.",
                             i < n ? "forward" : "backward", layer, milliseconds(one), milliseconds(other));
  }
  return NULL;
}

static void explain_layers(const ReportMeasured *predicted, const ReportMeasured *measured, GString *words) {
  SimTime one = sum(predicted), other = sum(measured);
  g_autofree char *first = first_layer_apart(predicted, measured);
  if (predicted->n_layers != measured->n_layers)
    g_string_append_printf(words, "The run has %u layers, the trace %u. ", predicted->n_layers, measured->n_layers);
  if (first == NULL)
    return;
  g_string_append_printf(words,
                         "%s All layers' kernels take %.2f times what was predicted: times of kernels are the GPU's in "
                         "the catalogue (kernels-*.ini); import kineto --profile takes the trace's own. ",
                         first, (double)other / (double)MAX(one, 1));
}

/* ---- Collectives ---- */

/* Equal calls of both sides. */
typedef struct {
  ReportOperation operation;
  guint64 bytes;
  guint n[2];
  SimTime time[2];
} Kind;

static Kind *kind_of(GArray *kinds, const ReportCall *call) {
  for (guint i = 0; i < kinds->len; i++) {
    Kind *kind = &g_array_index(kinds, Kind, i);
    if (kind->operation == call->operation && kind->bytes == call->bytes)
      return kind;
  }
  Kind kind = {.operation = call->operation, .bytes = call->bytes};
  g_array_append_val(kinds, kind);
  return &g_array_index(kinds, Kind, kinds->len - 1);
}

static void print_calls(const ReportMeasured *const sides[2], GString *text) {
  static const char *const heads[] = {"collective", "bytes", "calls", "measured", "ms each", "measured", "ratio"};
  g_autoptr(GArray) kinds = g_array_new(FALSE, FALSE, sizeof(Kind));
  for (int s = 0; s < 2; s++)
    for (guint i = 0; i < sides[s]->n_calls; i++) {
      Kind *kind = kind_of(kinds, &sides[s]->calls[i]);
      kind->n[s]++;
      kind->time[s] += sides[s]->calls[i].time;
    }
  g_autoptr(BaseTable) table = base_table_new();
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], i == 0 ? BASE_LEFT : BASE_RIGHT);
  for (guint i = 0; i < kinds->len; i++) {
    const Kind *kind = &g_array_index(kinds, Kind, i);
    base_table_cell(table, "%s", report_operation_names[kind->operation]);
    base_table_cell(table, "%" G_GUINT64_FORMAT, kind->bytes);
    base_table_cell(table, "%u", kind->n[0]);
    base_table_cell(table, "%u", kind->n[1]);
    cells(table, kind->time[0] / MAX(kind->n[0], 1), kind->time[1] / MAX(kind->n[1], 1));
    base_table_end_row(table);
  }
  g_string_append(text,
                  "\nCollectives by size, predicted and measured (a measured one holds the wait for its peers):\n");
  base_table_print(table, 0, text);
}

/* The n-th call of an operation; NULL: there are fewer. */
static const ReportCall *call_at(const ReportMeasured *side, ReportOperation operation, guint n) {
  for (guint i = 0; i < side->n_calls; i++)
    if (side->calls[i].operation == operation && n-- == 0)
      return &side->calls[i];
  return NULL;
}

static const char *figure_of(guint64 bytes) {
  return bytes >= LARGE   ? "node.intra_achievable within a node, node.nic_achievable over several"
         : bytes <= SMALL ? "environment.launch_floor within a node, environment.hop_latency over several"
                          : "none of the fitted figures alone";
}

static void explain_call(guint n, const ReportCall *one, const ReportCall *other, GString *words) {
  const char *name = report_operation_names[one->operation];
  g_string_append_printf(words, "Of collectives the %s no. %u parts first: ", name, n + 1);
  if (other == NULL || one->bytes != other->bytes)
    g_string_append_printf(words,
                           other == NULL ? "the trace has no more of them. "
                                         : "%" G_GUINT64_FORMAT " bytes predicted, %" G_GUINT64_FORMAT
                                           " measured, which is the recipe's matter (units, buckets, dtypes). ",
                           one->bytes, other != NULL ? other->bytes : 0);
  else
    g_string_append_printf(words,
                           "%" G_GUINT64_FORMAT " bytes in %.3f ms predicted, %.3f ms measured. What would explain it: "
                           "%s (import kineto --calibrate fits it), or the wait for a slower rank. ",
                           one->bytes, milliseconds(one->time), milliseconds(other->time), figure_of(one->bytes));
}

static void explain_calls(const ReportMeasured *predicted, const ReportMeasured *measured, GString *words) {
  for (int o = 0; o < REPORT_OPERATIONS; o++) {
    const ReportCall *one;
    for (guint n = 0; (one = call_at(predicted, (ReportOperation)o, n)) != NULL; n++) {
      const ReportCall *other = call_at(measured, (ReportOperation)o, n);
      if (other != NULL && one->bytes == other->bytes && !apart(one->time, other->time))
        continue;
      explain_call(n, one, other, words);
      break;
    }
  }
}

void report_measured_parts(const ReportMeasured *predicted, const ReportMeasured *measured, GString *text) {
  const ReportMeasured *const sides[] = {predicted, measured};
  g_autoptr(GString) words = g_string_new(NULL);
  if (measured->n_layers > 0) {
    print_layers(predicted, measured, text);
    explain_layers(predicted, measured, words);
  }
  if (measured->n_calls > 0) {
    print_calls(sides, text);
    explain_calls(predicted, measured, words);
  }
  if (words->len == 0)
    return;
  g_strchomp(words->str);
  g_string_append_c(text, '\n');
  report_wrap(text, "", words->str);
}
