/* Channel counts. */
#include <math.h>

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

/* Channels to a peer over the network: by the rate of the NICs that a GPU prefers, or few while all are many. */
static guint32 net_channels(const CollGraphs *graphs, const CollSystem *system, const CollSearchRules *rules,
                            const CollGraphRequest *request, guint32 gpu) {
  if (rules->p2p_net_rate == 0) {
    guint32 channels = rules->p2p_net;
    while ((guint64)channels * request->ranks > (guint64)graphs->p2p_channels * rules->p2p_operations && channels > 1)
      channels /= 2;
    return MAX(channels, 1);
  }
  gint64 host = 0, rate = 0;
  guint32 nets = 0;
  for (guint32 socket = system->starts[COLL_PART_SOCKET]; socket < system->starts[COLL_PART_NET]; socket++)
    host = MAX(host, coll_system_path(system, gpu, socket)->rate);
  while (nets < system->n_near_nets[gpu] && (nets == 0 || rate < host))
    rate += coll_system_path(system, gpu, coll_system_net(system, system->near_nets[gpu][nets++]))->rate;
  gint64 whole = rate / rules->nic_unit * rules->nic_unit;
  return MAX(nets, (guint32)((whole + rules->p2p_net_rate - 1) / rules->p2p_net_rate));
}

/* The least over all peers of all GPUs. */
static guint32 channels_per_peer(const CollGraphs *graphs, const CollSystem *system, const CollSearchRules *rules,
                                 const CollGraphRequest *request, gint64 nvlink) {
  guint32 least = rules->most_channels;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++) {
    for (guint32 peer = 0; peer < system->n_gpus; peer++) {
      const CollPath *path = coll_system_path(system, peer, gpu);
      guint32 links = path->type == COLL_PATH_NVL ? (guint32)MAX(path->rate / nvlink, 1) : 0;
      if (peer != gpu)
        least = MIN(least, links > 0 ? rules->p2p_per_nvlink * links : rules->p2p_node);
    }
    if (request->nodes > 1)
      least = MIN(least, net_channels(graphs, system, rules, request, gpu));
  }
  return power_above(least);
}

static void count_p2p(CollGraphs *graphs, const CollSystem *system, const CollSearchRules *rules,
                      const CollGraphRequest *request) {
  graphs->p2p_channels = power_above(graphs->coll_channels);
  gint64 nvlink = coll_system_nvlink_rate(rules, graphs->capability);
  guint32 each = channels_per_peer(graphs, system, rules, request, nvlink);
  if (request->nodes > 1 && rules->p2p_net_rate > 0) {
    guint32 batches = (request->ranks + rules->p2p_operations - 1) / rules->p2p_operations;
    while ((guint64)each * batches > graphs->p2p_channels && each > 1)
      each /= 2;
  }
  graphs->p2p_channels_per_peer = MIN(each, graphs->p2p_channels);
}

void coll_channels_count(CollGraphs *graphs, const CollSystem *system, const CollSearchRules *rules,
                         const CollGraphRequest *request) {
  graphs->coll_channels = coll_channels(graphs, rules, request);
  graphs->nvls_channels = nvls_channels(graphs, rules, request);
  count_p2p(graphs, system, rules, request);
}
