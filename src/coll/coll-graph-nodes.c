/* SPDX-License-Identifier: MIT */
/* Alignment, and the ends of channels in a node. */
#include "coll-graph-nodes.h"

static void align_graph(CollGraph *graph, const CollGraph *other) {
  graph->channels = MIN(graph->channels, other->channels);
  graph->intra = MIN(graph->intra, other->intra);
  graph->inter = MIN(graph->inter, other->inter);
  graph->type_intra = MAX(graph->type_intra, other->type_intra);
  graph->type_inter = MAX(graph->type_inter, other->type_inter);
  graph->cross_nic = MAX(graph->cross_nic, other->cross_nic);
  graph->same_channels &= other->same_channels;
  graph->nic_latency = MAX(graph->nic_latency, other->nic_latency);
  graph->gpus = MIN(graph->gpus, other->gpus);
  if (graph->pattern != other->pattern)
    graph->pattern = COLL_TREE_PLAIN;
}

void coll_graphs_align(const CollGraphs *const *nodes, guint32 n, CollGraphs *ret) {
  CollGraphs aligned = *nodes[0];
  for (guint32 node = 1; node < n; node++) {
    for (guint kind = 0; kind < COLL_GRAPHS; kind++)
      align_graph(&aligned.graph[kind], &nodes[node]->graph[kind]);
    aligned.nic_rate = MIN(aligned.nic_rate, nodes[node]->nic_rate);
    aligned.capability = MIN(aligned.capability, nodes[node]->capability);
    aligned.node_peer = MIN(aligned.node_peer, nodes[node]->node_peer);
    aligned.net_peer = MIN(aligned.net_peer, nodes[node]->net_peer);
  }
  for (guint kind = 0; kind < COLL_GRAPHS; kind++)
    aligned.graph[kind].order = aligned.graph[kind].nics = NULL;
  *ret = aligned;
}

void coll_graph_ring_node(const CollGraph *ring, guint32 node, guint32 channels, guint32 channel, CollRingNode *ret) {
  guint32 own = channel % channels;
  if (ring->cross_nic == 2 && channels % 2 == 0 && node % 2 == 1)
    own ^= 1;
  const guint32 *order = ring->order + (gsize)own * ring->gpus;
  *ret = (CollRingNode){.own = own, .first = order[0], .last = order[ring->gpus - 1]};
  if (ring->nics != NULL) {
    ret->nic_in = ring->nics[own * 2];
    ret->nic_out = ring->nics[own * 2 + 1];
  }
}

void coll_graph_tree_entry(const CollGraph *tree, guint32 channels, guint32 channel, CollTreeSide side,
                           guint32 *ret_gpu, guint32 *ret_nic) {
  guint32 own = channel % channels;
  gboolean second = side == COLL_TREE_TO_FIRST_CHILD    ? tree->pattern != COLL_TREE_PLAIN
                    : side == COLL_TREE_TO_SECOND_CHILD ? tree->pattern == COLL_TREE_SPLIT
                                                        : FALSE;
  *ret_gpu = tree->order[(gsize)own * tree->gpus + (second ? 1 : 0)];
  if (ret_nic != NULL && tree->nics != NULL)
    *ret_nic = tree->nics[own * 2 + (second ? 1 : 0)];
}

guint32 coll_graph_heads(const CollGraph *nvls, guint32 *ret) {
  guint32 n = 0;
  for (guint32 channel = 0; channel < nvls->channels; channel++) {
    guint32 head = nvls->order[(gsize)channel * nvls->gpus];
    gboolean known = FALSE;
    for (guint32 i = 0; i < n; i++)
      known |= ret[i] == head;
    if (!known)
      ret[n++] = head;
  }
  return n;
}
