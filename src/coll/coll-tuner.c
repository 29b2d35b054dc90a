/* SPDX-License-Identifier: MIT */
/* The tuner's model, cell by cell. */
#include "coll-tuner.h"

#include "coll-tree.h"

static gboolean is_gather(CollOperation operation) {
  return operation == COLL_ALL_GATHER || operation == COLL_REDUCE_SCATTER;
}
static gboolean is_chain(CollOperation operation) {
  return operation == COLL_BROADCAST || operation == COLL_REDUCE;
}

guint32 coll_ring_steps(const CollGroup *group, CollOperation operation) {
  return operation == COLL_ALL_REDUCE ? 2 * (group->size - 1) : is_gather(operation) ? group->size - 1 : group->size;
}

/* Whether the algorithm has a kernel for the operation. */
static gboolean has_kernel(CollOperation operation, CollAlgorithm algorithm) {
  switch (algorithm) {
  case COLL_RING:
    return operation <= COLL_REDUCE;
  case COLL_TREE:
  case COLL_NVLS_TREE:
  case COLL_COLLNET_CHAIN:
    return operation == COLL_ALL_REDUCE;
  case COLL_NVLS:
  case COLL_COLLNET_DIRECT:
    return operation == COLL_ALL_REDUCE || is_gather(operation);
  case COLL_PAT:
    return is_gather(operation);
  case COLL_SYMMETRIC:
    return operation == COLL_ALL_REDUCE || is_gather(operation);
  case COLL_P2P:
    return operation == COLL_SEND_RECV;
  default:
    return operation == COLL_ALL_TO_ALL;
  }
}

static const CollSearchResult *found_of(const CollGroup *group, CollAlgorithm algorithm) {
  static const CollSearchKind shapes[COLL_ALGORITHMS] = {
      [COLL_RING] = COLL_SEARCHED_RING,    [COLL_TREE] = COLL_SEARCHED_TREE,
      [COLL_NVLS] = COLL_SEARCHED_NVLS,    [COLL_NVLS_TREE] = COLL_SEARCHED_NVLS,
      [COLL_PAT] = COLL_SEARCHED_RING,     [COLL_COLLNET_DIRECT] = COLL_SEARCHED_COLLNET,
      [COLL_P2P] = COLL_SEARCHED_RING,     [COLL_COLLNET_CHAIN] = COLL_SEARCHED_COLLNET,
      [COLL_P2P_ALL] = COLL_SEARCHED_RING, [COLL_SYMMETRIC] = COLL_SEARCHED_RING};
  return &group->found[shapes[algorithm]];
}

static gboolean is_collnet(CollAlgorithm algorithm) {
  return algorithm == COLL_COLLNET_DIRECT || algorithm == COLL_COLLNET_CHAIN;
}

/* Of all channels, in Simple, before what an algorithm makes of it. */
static double channels_bandwidth(const CollGroup *group, CollAlgorithm algorithm) {
  const CollSearchResult *found = found_of(group, algorithm);
  double speed = group->nodes <= 2 || is_collnet(algorithm) ? found->intra : found->inter;
  return found->channels * speed;
}

static double ring_bandwidth(const CollGroup *group, CollOperation operation, CollProtocol protocol) {
  const CollTuning *tuning = group->tuning;
  double whole = channels_bandwidth(group, COLL_RING);
  gboolean reducing = operation == COLL_ALL_REDUCE || operation == COLL_REDUCE || group->nodes > 1;
  if (protocol == COLL_LL)
    whole = MIN(whole * (reducing ? tuning->ll_share_reducing : tuning->ll_share),
                tuning->ll_cap[coll_group_span(group)][group->cpu]);
  if (protocol == COLL_LL128)
    whole = MIN(whole * (group->per_node < 2 ? tuning->ll128_share_one_gpu : tuning->ll128_share),
                found_of(group, COLL_RING)->channels * tuning->ll128_channel_cap);
  return whole * group->size / coll_ring_steps(group, operation);
}

static double tree_bandwidth(const CollGroup *group, CollProtocol protocol) {
  const CollTreeTuning *tree = &group->tuning->tree;
  const CollSearchResult *found = found_of(group, COLL_TREE);
  CollSpan span = coll_group_span(group);
  double whole = MIN(channels_bandwidth(group, COLL_TREE) * tree->share, found->channels * tree->channel_cap[span]);
  if (protocol == COLL_LL)
    whole = MIN(whole * tree->ll_share, group->tuning->ll_cap[span][group->cpu]);
  if (protocol == COLL_LL128)
    whole = MIN(whole * (span == COLL_ONE_NODE ? tree->ll128_share_one_node : tree->ll128_share),
                found->channels * tree->ll128_channel_cap[span]);
  return (found->plain_tree ? whole * tree->plain_share : whole) / 2;
}

/* Of one head. */
static double head_bandwidth(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm) {
  const CollNvlsTuning *nvls = &group->tuning->nvls;
  const CollSearchResult *found = found_of(group, algorithm);
  double heads = found->channels, per_node = group->per_node;
  double intra = found->intra, inter = found->inter;
  if (nvls->model == COLL_NVLS_EFFICIENCY)
    intra *= nvls->efficiency * (heads - 1) / heads * (operation == COLL_ALL_REDUCE ? 2 : 1);
  if (is_gather(operation)) {
    intra *= nvls->gather_peers ? (per_node - 1) / per_node : 1;
    inter *= group->nodes > 1 ? nvls->gather_inter_share : 1;
  }
  if (algorithm != COLL_NVLS_TREE)
    return MIN(intra, inter);
  double bandwidth = MIN(intra, inter * nvls->tree_inter[coll_group_span(group)]);
  return nvls->model == COLL_NVLS_EFFICIENCY ? MIN(bandwidth, nvls->tree_channel[coll_group_span(group)]) : bandwidth;
}

static double heads_bandwidth(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm) {
  const CollSearchResult *found = found_of(group, algorithm);
  gboolean over_nodes = algorithm == COLL_NVLS_TREE;
  if (found->channels < 2 || over_nodes != (group->nodes > 1))
    return 0;
  double whole = found->channels * head_bandwidth(group, operation, algorithm);
  if (operation != COLL_ALL_REDUCE)
    return whole;
  return group->tuning->nvls.model == COLL_NVLS_LEAST ? whole * group->tuning->nvls.least_share
                                                      : whole * group->size / coll_ring_steps(group, operation);
}

static double collnet_bandwidth(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm) {
  const CollTuning *tuning = group->tuning;
  const CollSearchResult *found = found_of(group, algorithm);
  if (found->channels == 0 || group->nodes < 2)
    return 0;
  if (is_gather(operation))
    return group->per_node * MIN(found->intra, tuning->collnet_gather_share * found->inter);
  double whole = channels_bandwidth(group, algorithm);
  if (algorithm == COLL_COLLNET_DIRECT) {
    double ratio = (double)group->per_node / found->channels;
    whole = whole / (ratio - (ratio - 1) / group->per_node) * tuning->collnet_direct_share;
  }
  return whole / 2;
}

static double bandwidth_of(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm,
                           CollProtocol protocol) {
  if (group->units[algorithm] == 0 || group->size < 2)
    return 0;
  switch (algorithm) {
  case COLL_RING:
    return ring_bandwidth(group, operation, protocol);
  case COLL_TREE:
    return tree_bandwidth(group, protocol);
  case COLL_NVLS:
  case COLL_NVLS_TREE:
    return protocol == COLL_SIMPLE ? heads_bandwidth(group, operation, algorithm) : 0;
  case COLL_COLLNET_DIRECT:
  case COLL_COLLNET_CHAIN:
    return protocol == COLL_SIMPLE ? collnet_bandwidth(group, operation, algorithm) : 0;
  case COLL_SYMMETRIC:
    return protocol == COLL_SIMPLE ? group->node_rate * group->rings * group->size /
                                         (operation == COLL_ALL_REDUCE ? 2 * (group->size - 1) : group->size - 1)
                                   : 0;
  case COLL_PAT:
    return protocol == COLL_SIMPLE ? channels_bandwidth(group, COLL_PAT) * group->tuning->pat_share : 0;
  default:
    return protocol != COLL_LL128 ? channels_bandwidth(group, COLL_RING) : 0;
  }
}

/* A hop inside a node and between nodes, the NIC's own latency in it: twice in Simple, whose steps flush. */
static SimTime intra_hop(const CollGroup *group, CollAlgorithm algorithm, CollProtocol protocol) {
  CollHop kind = found_of(group, algorithm)->nvlink || algorithm == COLL_NVLS ? COLL_HOP_NVLINK : COLL_HOP_PCI;
  return group->tuning->hop[algorithm][kind][protocol];
}
static SimTime inter_hop(const CollGroup *group, CollAlgorithm algorithm, CollProtocol protocol) {
  CollAlgorithm row = group->per_node == 1 && algorithm == COLL_RING ? COLL_TREE : algorithm;
  return group->tuning->hop[row][COLL_HOP_NET][protocol] + (protocol == COLL_SIMPLE ? 2 : 1) * group->nic_latency;
}

static SimTime ring_latency(const CollGroup *group, CollOperation operation, CollProtocol protocol) {
  const CollTuning *tuning = group->tuning;
  SimTime intra = intra_hop(group, COLL_RING, protocol), inter = inter_hop(group, COLL_RING, protocol);
  if (is_chain(operation)) {
    SimTime hop = group->nodes > 1 ? inter : intra;
    return found_of(group, COLL_RING)->same ? hop : hop * group->size;
  }
  SimTime least = group->nodes > 1 ? tuning->overhead[group->cpu] * (protocol == COLL_SIMPLE ? 3 : 1) : 0;
  SimTime network = (operation == COLL_ALL_REDUCE ? 2 : 1) * (SimTime)(group->nodes - 1);
  return (coll_ring_steps(group, operation) - network) * MAX(intra, least) + network * inter;
}

static SimTime latency_of(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm,
                          CollProtocol protocol) {
  const CollTuning *tuning = group->tuning;
  SimTime intra = intra_hop(group, algorithm, protocol), inter = inter_hop(group, algorithm, protocol);
  SimTime others = group->per_node - 1, rounds = coll_tree_rounds(group->nodes);
  switch (algorithm) {
  case COLL_RING:
    return ring_latency(group, operation, protocol);
  case COLL_TREE:
    return 2 * (others * intra + rounds * inter);
  case COLL_NVLS:
    return group->nodes > 1 ? intra + inter : intra;
  case COLL_NVLS_TREE:
    return intra + 2 * rounds * inter;
  case COLL_COLLNET_DIRECT:
    return 2 * (MIN(1, others) * intra + others * tuning->collnet_peer) + inter;
  case COLL_COLLNET_CHAIN:
    return 2 * others * intra + inter;
  case COLL_PAT:
    return sim_time_from_seconds(sim_time_to_seconds(inter) * tuning->pat_round_share * (double)rounds) +
           group->size * tuning->pat_rank;
  case COLL_SYMMETRIC:
    return tuning->symmetric_base;
  default:
    return group->nodes > 1 ? tuning->hop[COLL_RING][COLL_HOP_NET][protocol] + 2 * group->nic_latency
                            : tuning->hop[COLL_RING][group->intra][protocol];
  }
}

CollTunerCell coll_tuner_cell(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm,
                              CollProtocol protocol) {
  if (!has_kernel(operation, algorithm) || (algorithm == COLL_PAT && group->per_node > 1))
    return (CollTunerCell){0};
  CollAlgorithm base = algorithm >= COLL_P2P ? COLL_RING : algorithm; /* of COLL_SYMMETRIC: none */
  return (CollTunerCell){group->tuning->base[base][protocol] + latency_of(group, operation, algorithm, protocol),
                         bandwidth_of(group, operation, algorithm, protocol)};
}

gboolean coll_tuner_enabled(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm,
                            CollProtocol protocol) {
  const CollKnobs *knobs = &group->knobs;
  if (algorithm < COLL_P2P &&
      (!(knobs->algorithms[operation] >> algorithm & 1) || !(knobs->protocols[operation] >> protocol & 1)))
    return FALSE;
  if (protocol == COLL_LL128 && !found_of(group, algorithm)->ll128)
    return FALSE;
  return coll_tuner_cell(group, operation, algorithm, protocol).bandwidth > 0;
}

/* "at least 64 bytes per channel and rank": the plateau of ring all-reduce. */
#define PLATEAU_BYTES 64

SimTime coll_tuner_time(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm, CollProtocol protocol) {
  CollTunerCell cell = coll_tuner_cell(group, call->operation, algorithm, protocol);
  if (algorithm == COLL_TREE) {
    guint32 size = 0;
    for (guint64 bytes = call->bytes / 128; bytes > 0; bytes /= 2)
      size++;
    cell.bandwidth *= size < COLL_CORRECTIONS ? group->tuning->tree.correction[protocol][size] : 1;
  }
  if (algorithm == COLL_RING && call->operation == COLL_ALL_REDUCE && protocol == COLL_SIMPLE && group->nodes > 1 &&
      call->bytes / ((guint64)group->channels * group->size) >= PLATEAU_BYTES)
    cell.latency = sim_time_from_seconds(sim_time_to_seconds(cell.latency) * group->tuning->all_reduce_penalty);
  return sim_time_add(cell.latency, sim_time_of_amount((double)call->bytes, cell.bandwidth));
}

/* Send-recv and all-to-all: parts of up to this go in LL, where it is allowed. */
static gboolean is_short(const CollGroup *group, const CollCall *call) {
  guint64 part = call->operation == COLL_ALL_TO_ALL ? (call->bytes + group->size - 1) / group->size : call->bytes;
  return part <= group->tuning->p2p_ll && group->knobs.protocols[call->operation] >> COLL_LL & 1;
}

gboolean coll_choice_among(const CollGroup *group, const CollCall *call, guint32 algorithms, CollChoice *ret) {
  SimTime best = SIM_TIME_NEVER;
  gboolean found = FALSE;
  for (CollAlgorithm algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++)
    for (CollProtocol protocol = 0; protocol < COLL_PROTOCOLS; protocol++) {
      if (!(algorithms >> algorithm & 1) || !coll_tuner_enabled(group, call->operation, algorithm, protocol))
        continue;
      SimTime time = coll_tuner_time(group, call, algorithm, protocol);
      if (algorithm == COLL_SYMMETRIC) /* before the tuner is asked */
        time = 0;
      if (algorithm >= COLL_P2P && (protocol == COLL_LL) != is_short(group, call))
        continue;
      if (time < best || !found) {
        best = time;
        *ret = (CollChoice){algorithm, protocol};
        found = TRUE;
      }
    }
  return found;
}

/* What the tuner of the network's plugin names, if it names anything that can run. */
static gboolean choice_of_plugin(const CollGroup *group, const CollCall *call, CollChoice *ret) {
  if (!group->knobs.tuner_plugin || group->nodes < 2)
    return FALSE;
  const CollRegion *region = coll_regions_find(&group->tuning->regions, group->platform, call->operation,
                                               group->per_node, call->bytes, group->size);
  if (region == NULL || !coll_tuner_enabled(group, call->operation, region->algorithm, region->protocol))
    return FALSE;
  *ret = (CollChoice){region->algorithm, region->protocol};
  return TRUE;
}

/* Where [nccl] leaves nothing that a call could run: as NCCL does, the ring in Simple. */
CollChoice coll_choice(const CollGroup *group, const CollCall *call) {
  CollChoice choice = {COLL_RING, COLL_SIMPLE};
  if (choice_of_plugin(group, call, &choice))
    return choice;
  coll_choice_among(group, call, G_MAXUINT32, &choice);
  return choice;
}
