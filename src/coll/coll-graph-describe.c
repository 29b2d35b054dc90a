/* SPDX-License-Identifier: MIT */
/* Graphs as NCCL's own log prints them at INFO level, with the machine's indices.
 *
 *   Pattern 4, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PXN, sameChannels 0
 *    0 : NET/0-0 GPU/0-0 … GPU/0-7 NET/0-0 */
#include "coll-graph.h"

static void describe_channel(const CollGraph *graph, const guint32 *gpus, guint32 channel, GString *text) {
  g_string_append_printf(text, "%2u :", channel);
  if (graph->nics != NULL)
    g_string_append_printf(text, " NET/0-%x", graph->nics[channel * 2]);
  guint32 shown = graph->pattern == COLL_PATTERN_NVLS ? 1 : graph->gpus;
  for (guint32 i = 0; i < shown; i++)
    g_string_append_printf(text, " GPU/0-%x", gpus[graph->order[(gsize)channel * graph->gpus + i]]);
  if (graph->nics != NULL)
    g_string_append_printf(text, " NET/0-%x", graph->nics[channel * 2 + 1]);
  g_string_append_c(text, '\n');
}

void coll_graph_describe(const CollGraph *graph, const guint32 *gpus, GString *text) {
  g_string_append_printf(text, "Pattern %d, crossNic %u, nChannels %u, bw %f/%f, type %s/%s, sameChannels %d\n",
                         graph->pattern, graph->cross_nic, graph->channels, base_in_gb(graph->intra),
                         base_in_gb(graph->inter), coll_path_names[graph->type_intra],
                         coll_path_names[graph->type_inter], graph->same_channels ? 1 : 0);
  for (guint32 channel = 0; channel < graph->channels; channel++)
    describe_channel(graph, gpus, channel, text);
}

void coll_graphs_describe(const CollGraphs *graphs, const guint32 *gpus, GString *text) {
  for (guint kind = 0; kind < COLL_GRAPHS; kind++)
    coll_graph_describe(&graphs->graph[kind], gpus, text);
  g_string_append_printf(text, "%u coll channels, %u nvls channels, %u p2p channels, %u p2p channels per peer\n",
                         graphs->counts.coll, graphs->counts.nvls, graphs->counts.p2p, graphs->counts.p2p_per_peer);
}
