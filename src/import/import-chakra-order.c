/* SPDX-License-Identifier: MIT */
/* Nodes of a Chakra trace, a graph, in an order in which one host can issue them. */
#include "base-error.h"
#include "import-chakra-node.h"

typedef struct {
  ImportChakraTrace *trace;
  guint *waits;      /* by node: how many it still waits for */
  guint *first;      /* by node: where its successors begin; [n] ends the last */
  guint *successors; /* nodes, in order of who they wait for */
  GSequence *ready;
  gboolean by_id;
} Ordering;

static ImportChakraNode *node_at(const Ordering *ordering, guint index) {
  return &g_array_index(ordering->trace->nodes, ImportChakraNode, index);
}

static gint compare(gint64 a, gint64 b) {
  return (a > b) - (a < b);
}

static gint by_turn(gconstpointer a, gconstpointer b, gpointer user) {
  const Ordering *ordering = user;
  const ImportChakraNode *one = node_at(ordering, GPOINTER_TO_UINT(a)), *other = node_at(ordering, GPOINTER_TO_UINT(b));
  gint order = 0;
  if (!ordering->by_id)
    order = compare(one->kind == IMPORT_CHAKRA_HOST, other->kind == IMPORT_CHAKRA_HOST);
  if (order == 0 && !ordering->by_id)
    order = compare(one->start, other->start);
  return order != 0 ? order : (one->id > other->id) - (one->id < other->id);
}

static gboolean fail(const ImportChakraTrace *trace, const ImportChakraNode *node, GError **error, const char *format,
                     guint64 other) {
  g_autofree char *what = g_strdup_printf(format, other);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: node %" G_GUINT64_FORMAT " (%.60s): %s", trace->path, node->id,
              node->name, what);
  return FALSE;
}

/* Control dependencies of PyTorch's traces are who called whom: circles, where a call waits for what it called, and
 * roots that are left out. Chakra's converter puts into data dependencies all that orders nodes; where a file has any,
 * they alone count. */
static gboolean resolve_needs(ImportChakraTrace *trace, GHashTable *indices, ImportChakraNode *node, GError **error) {
  guint known = 0;
  for (guint k = 0; k < node->n_needs; k++) {
    guint64 need = g_array_index(trace->needs, guint64, node->needs + k);
    gpointer index;
    if (k < node->n_controls && trace->has_data_needs)
      continue;
    if (g_hash_table_lookup_extended(indices, &need, NULL, &index))
      g_array_index(trace->needs, guint64, node->needs + known++) = GPOINTER_TO_UINT(index);
    else if (k >= node->n_controls)
      return fail(trace, node, error, "waits for node %" G_GUINT64_FORMAT ", which the file does not have", need);
  }
  node->n_needs = known;
  return TRUE;
}

/* Ids in `needs` to indices. */
static gboolean resolve(ImportChakraTrace *trace, GError **error) {
  g_autoptr(GHashTable) indices = g_hash_table_new(g_int64_hash, g_int64_equal);
  for (guint i = 0; i < trace->nodes->len; i++) {
    ImportChakraNode *node = &g_array_index(trace->nodes, ImportChakraNode, i);
    if (!g_hash_table_insert(indices, &node->id, GUINT_TO_POINTER(i)))
      return fail(trace, node, error, "there is another node of the id %" G_GUINT64_FORMAT, node->id);
  }
  for (guint i = 0; i < trace->nodes->len; i++)
    if (!resolve_needs(trace, indices, &g_array_index(trace->nodes, ImportChakraNode, i), error))
      return FALSE;
  return TRUE;
}

static void find_successors(Ordering *ordering) {
  const ImportChakraTrace *trace = ordering->trace;
  guint n = trace->nodes->len;
  ordering->waits = g_new0(guint, n);
  ordering->first = g_new0(guint, n + 2);
  ordering->successors = g_new(guint, trace->needs->len + 1);
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < node_at(ordering, i)->n_needs; k++)
      ordering->first[import_chakra_need(trace, node_at(ordering, i), k) + 2]++;
  for (guint i = 0; i < n; i++)
    ordering->first[i + 2] += ordering->first[i + 1];
  for (guint i = 0; i < n; i++) {
    ordering->waits[i] = node_at(ordering, i)->n_needs;
    for (guint k = 0; k < node_at(ordering, i)->n_needs; k++)
      ordering->successors[ordering->first[import_chakra_need(trace, node_at(ordering, i), k) + 1]++] = i;
  }
}

/* Takes nodes whose turn it is; appends their indices. */
static void take_turns(Ordering *ordering, GArray *order) {
  for (guint i = 0; i < ordering->trace->nodes->len; i++)
    if (ordering->waits[i] == 0)
      g_sequence_insert_sorted(ordering->ready, GUINT_TO_POINTER(i), by_turn, ordering);
  while (!g_sequence_is_empty(ordering->ready)) {
    GSequenceIter *next = g_sequence_get_begin_iter(ordering->ready);
    guint index = GPOINTER_TO_UINT(g_sequence_get(next));
    g_sequence_remove(next);
    g_array_append_val(order, index);
    for (guint k = ordering->first[index]; k < ordering->first[index + 1]; k++)
      if (--ordering->waits[ordering->successors[k]] == 0)
        g_sequence_insert_sorted(ordering->ready, GUINT_TO_POINTER(ordering->successors[k]), by_turn, ordering);
  }
}

static gboolean all_say_what_issuing_costs(const GArray *nodes) {
  for (guint i = 0; i < nodes->len; i++)
    if (g_array_index(nodes, ImportChakraNode, i).issue == IMPORT_CHAKRA_NONE)
      return FALSE;
  return TRUE;
}

static void put_in_order(ImportChakraTrace *trace, const GArray *order) {
  g_autofree guint *place = g_new(guint, order->len);
  GArray *nodes = g_array_sized_new(FALSE, FALSE, sizeof(ImportChakraNode), order->len);
  for (guint i = 0; i < order->len; i++) {
    guint index = g_array_index(order, guint, i);
    place[index] = i;
    g_array_append_val(nodes, g_array_index(trace->nodes, ImportChakraNode, index));
  }
  for (guint i = 0; i < nodes->len; i++) {
    const ImportChakraNode *node = &g_array_index(nodes, ImportChakraNode, i);
    for (guint k = 0; k < node->n_needs; k++)
      g_array_index(trace->needs, guint64, node->needs + k) = place[import_chakra_need(trace, node, k)];
  }
  g_array_unref(trace->nodes);
  trace->nodes = nodes;
}

static const ImportChakraNode *waiting(const Ordering *ordering) {
  for (guint i = 0; i < ordering->trace->nodes->len; i++)
    if (ordering->waits[i] > 0)
      return node_at(ordering, i);
  return NULL;
}

gboolean import_chakra_order(ImportChakraTrace *trace, GError **error) {
  if (!resolve(trace, error))
    return FALSE;
  Ordering ordering = {
      .trace = trace, .ready = g_sequence_new(NULL), .by_id = all_say_what_issuing_costs(trace->nodes)};
  g_autoptr(GArray) order = g_array_new(FALSE, FALSE, sizeof(guint));
  find_successors(&ordering);
  take_turns(&ordering, order);
  const ImportChakraNode *stuck = waiting(&ordering);
  if (stuck == NULL)
    put_in_order(trace, order);
  else
    fail(trace, stuck, error, "it, or what it waits for, waits in a circle; %" G_GUINT64_FORMAT " nodes never run",
         trace->nodes->len - order->len);
  g_sequence_free(ordering.ready);
  g_free(ordering.waits);
  g_free(ordering.first);
  g_free(ordering.successors);
  return stuck == NULL;
}

void import_chakra_trace_free(ImportChakraTrace *trace) {
  if (trace == NULL)
    return;
  g_free(trace->path);
  g_array_unref(trace->nodes);
  g_array_unref(trace->needs);
  g_string_chunk_free(trace->names);
  g_free(trace);
}
