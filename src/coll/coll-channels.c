/* SPDX-License-Identifier: MIT */
/* Channel counts. */
#include "coll-channels.h"

enum { HOPPER = 90, BLACKWELL = 100 };

static guint32 power_above(guint32 value) {
  guint32 power = 1;
  while (power < value)
    power *= 2;
  return power;
}

static guint32 most_of(const CollSearchRules *rules, const CollGraphRequest *request) {
  return request->max_channels > 0 ? MIN(request->max_channels, rules->most_channels) : rules->most_channels;
}

static guint32 bounded(guint32 channels, const CollSearchRules *rules, const CollGraphRequest *request) {
  return MAX(MIN(channels, most_of(rules, request)), MIN(request->min_channels, rules->most_channels));
}

static guint32 coll_channels(const CollGraphs *graphs, const CollSearchRules *rules, const CollGraphRequest *request) {
  const CollGraph *ring = &graphs->graph[COLL_GRAPH_RING];
  guint32 channels = MIN(ring->channels, graphs->graph[COLL_GRAPH_TREE].channels);
  channels = MIN(channels * rules->doubled, rules->most_channels);
  if (graphs->capability >= HOPPER && request->nodes > 1 && ring->intra > (double)rules->more_speed &&
      channels < rules->more_below)
    channels *= 2;
  return bounded(channels, rules, request);
}

static guint32 nvls_blackwell(const CollGraphs *graphs, const CollSearchRules *rules, const CollGraphRequest *request) {
  if (request->nodes == 1)
    return rules->nvls_blackwell_one_node;
  gboolean is_fast = graphs->nic_rate >= (double)rules->nvls_blackwell_nic;
  gboolean is_faster = graphs->nic_rate >= (double)rules->nvls_blackwell_nic_fast;
  if (!is_fast || (request->nodes == 2 && is_fast))
    return rules->nvls_blackwell_nodes;
  return is_faster && request->n_gpus > rules->nvls_blackwell_few_gpus ? rules->nvls_blackwell_nodes
                                                                       : rules->nvls_blackwell_fast;
}

static guint32 nvls_channels(const CollGraphs *graphs, const CollSearchRules *rules, const CollGraphRequest *request) {
  if (graphs->graph[COLL_GRAPH_NVLS].channels == 0)
    return 0;
  return bounded(graphs->capability >= BLACKWELL ? nvls_blackwell(graphs, rules, request) : rules->nvls_hopper, rules,
                 request);
}

/* Over the network by the rate of the NICs that a GPU prefers, no more of them than its host link carries. */
static guint32 net_channels(const CollSystem *system, const CollSearchRules *rules, guint32 gpu) {
  gint64 host = 0, rate = 0;
  guint32 nets = 0;
  for (guint32 socket = system->starts[COLL_PART_SOCKET]; socket < system->starts[COLL_PART_NET]; socket++)
    host = MAX(host, coll_system_path(system, gpu, socket)->rate);
  while (nets < system->n_near_nets[gpu] && (nets == 0 || rate < host))
    rate += coll_system_path(system, gpu, coll_system_net(system, system->near_nets[gpu][nets++]))->rate;
  gint64 whole = rate / rules->nic_unit * rules->nic_unit;
  return rules->p2p_net_rate > 0 ? MAX(nets, (guint32)((whole + rules->p2p_net_rate - 1) / rules->p2p_net_rate))
                                 : rules->p2p_net;
}

void coll_channels_peers(CollGraphs *graphs, const CollSystem *system, const CollSearchRules *rules) {
  gint64 nvlink = coll_system_nvlink_rate(rules, graphs->capability);
  graphs->node_peer = graphs->net_peer = rules->most_channels;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++) {
    for (guint32 peer = 0; peer < system->n_gpus; peer++) {
      const CollPath *path = coll_system_path(system, peer, gpu);
      guint32 links = path->type == COLL_PATH_NVL ? (guint32)MAX(path->rate / nvlink, 1) : 0;
      if (peer != gpu)
        graphs->node_peer = MIN(graphs->node_peer, links > 0 ? rules->p2p_per_nvlink * links : rules->p2p_node);
    }
    if (system->n_nets > 0)
      graphs->net_peer = MIN(graphs->net_peer, net_channels(system, rules, gpu));
  }
}

/* Before the rule by rate: few while all ranks together have many operations. */
static guint32 net_peer(const CollGraphs *graphs, const CollSearchRules *rules, const CollGraphRequest *request,
                        guint32 p2p) {
  guint32 channels = graphs->net_peer;
  while (rules->p2p_net_rate == 0 && channels > 1 &&
         (guint64)channels * request->ranks > (guint64)p2p * rules->p2p_operations)
    channels /= 2;
  return channels;
}

static void count_p2p(const CollGraphs *graphs, const CollSearchRules *rules, const CollGraphRequest *request,
                      CollCounts *counts) {
  counts->p2p = power_above(counts->coll);
  guint32 each = graphs->node_peer;
  if (request->nodes > 1)
    each = MIN(each, net_peer(graphs, rules, request, counts->p2p));
  each = power_above(each);
  if (request->nodes > 1 && rules->p2p_net_rate > 0) {
    guint32 batches = (request->ranks + rules->p2p_operations - 1) / rules->p2p_operations;
    while ((guint64)each * batches > counts->p2p && each > 1)
      each /= 2;
  }
  counts->p2p_per_peer = MIN(each, counts->p2p);
}

void coll_graphs_count(const CollGraphs *graphs, const CollSearchRules *rules, const CollGraphRequest *request,
                       CollCounts *ret) {
  CollCounts counts = {.coll = coll_channels(graphs, rules, request), .nvls = nvls_channels(graphs, rules, request)};
  count_p2p(graphs, rules, request, &counts);
  *ret = counts;
}
