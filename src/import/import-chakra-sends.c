/* SPDX-License-Identifier: MIT */
/* Sends and receives of Chakra traces: each must have the other, on the other rank's file. */
#include "import-chakra-sends.h"

#include "base-error.h"
#include "import-chakra-node.h"

typedef struct {
  guint32 from, to;
  gint64 tag;
} Way;

static guint way_hash(gconstpointer data) {
  const Way *way = data;
  return way->from * 2654435761u ^ way->to * 40503u ^ (guint)way->tag;
}

static gboolean way_equal(gconstpointer a, gconstpointer b) {
  const Way *one = a, *other = b;
  return one->from == other->from && one->to == other->to && one->tag == other->tag;
}

/* Sends count up, receives count down. */
static gboolean count(GHashTable *open, const ImportChakraTrace *trace, guint32 rank, guint32 ranks, GError **error) {
  for (guint i = 0; i < trace->nodes->len; i++) {
    const ImportChakraNode *node = &g_array_index(trace->nodes, ImportChakraNode, i);
    gboolean sends = node->kind == IMPORT_CHAKRA_SEND;
    if (!sends && node->kind != IMPORT_CHAKRA_RECEIVE)
      continue;
    if (node->peer >= ranks || node->peer == rank) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                  "%s: node %" G_GUINT64_FORMAT " (%.60s): its peer, rank %" G_GINT64_FORMAT
                  ", is %s; give every rank's file",
                  trace->path, node->id, node->name, node->peer,
                  node->peer == rank ? "itself" : "none of those that have a file");
      return FALSE;
    }
    guint32 peer = (guint32)node->peer;
    Way way = {sends ? rank : peer, sends ? peer : rank, node->tag};
    int so_far = GPOINTER_TO_INT(g_hash_table_lookup(open, &way));
    g_hash_table_replace(open, g_memdup2(&way, sizeof way), GINT_TO_POINTER(so_far + (sends ? 1 : -1)));
  }
  return TRUE;
}

static gint by_way(gconstpointer a, gconstpointer b) {
  const Way *one = a, *other = b;
  if (one->from != other->from)
    return one->from < other->from ? -1 : 1;
  if (one->to != other->to)
    return one->to < other->to ? -1 : 1;
  return (one->tag > other->tag) - (one->tag < other->tag);
}

gboolean import_chakra_check_sends(const GPtrArray *traces, GError **error) {
  g_autoptr(GHashTable) open = g_hash_table_new_full(way_hash, way_equal, g_free, NULL);
  for (guint32 rank = 0; rank < traces->len; rank++)
    if (!count(open, g_ptr_array_index(traces, rank), rank, traces->len, error))
      return FALSE;
  g_autoptr(GList) ways = g_list_sort(g_hash_table_get_keys(open), by_way);
  for (GList *at = ways; at != NULL; at = at->next) {
    const Way *way = at->data;
    int left = GPOINTER_TO_INT(g_hash_table_lookup(open, way));
    if (left == 0)
      continue;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: of rank %u's sends to rank %u with tag %" G_GINT64_FORMAT ", %d more are %s",
                ((const ImportChakraTrace *)g_ptr_array_index(traces, way->from))->path, way->from, way->to, way->tag,
                ABS(left), left > 0 ? "sent than received" : "received than sent");
    return FALSE;
  }
  return TRUE;
}
