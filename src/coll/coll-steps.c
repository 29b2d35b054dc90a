/* SPDX-License-Identifier: MIT */
/* Parts, chunks and hops of a call, from the tuning file and the group. */
#include "coll-steps.h"

#include "coll-tree.h"
#include "coll-tuner.h"

static guint64 divide_up(guint64 amount, guint64 by) {
  return (amount + by - 1) / by;
}

static guint64 align_up(const CollGroup *group, guint64 bytes) {
  return divide_up(bytes, group->tuning->align) * group->tuning->align;
}

/* Between nodes the platform's own latency comes on top, twice where a step flushes. */
static SimTime network_hop(const CollGroup *group, CollAlgorithm algorithm, CollProtocol protocol) {
  CollAlgorithm row = group->per_node == 1 && algorithm == COLL_RING ? COLL_TREE : algorithm;
  SimTime times = protocol == COLL_SIMPLE && group->flushes ? 2 : 1;
  SimTime hop = group->tuning->hop[row][COLL_HOP_NET][protocol] + times * group->hop_latency;
  return (SimTime)((double)hop * group->network_latency);
}

/* Rings as measured inside a node; trees by the ratio of the tuner's hops; what neither is, by the tuner's. */
static void take_hops(const CollGroup *group, CollAlgorithm algorithm, CollProtocol protocol, CollSteps *ret) {
  const CollTuning *tuning = group->tuning;
  const CollLatency *measured = &tuning->measured[group->intra];
  SimTime hop = tuning->hop[algorithm][group->intra][protocol];
  gboolean known = algorithm == COLL_RING || algorithm == COLL_TREE;
  ret->base = known ? measured->base[protocol] : tuning->base[algorithm][protocol];
  ret->network = network_hop(group, algorithm, protocol);
  ret->intra = known ? hop * measured->hop[protocol] / tuning->hop[COLL_RING][group->intra][protocol] : hop;
  if (algorithm == COLL_RING && group->nodes > 1)
    ret->intra = MAX(ret->intra, tuning->overhead[group->cpu] * (protocol == COLL_SIMPLE ? 3 : 1));
}

/* Cuts what a channel moves, `loop` bytes at a time into `ways` chunks each. */
static void cut(const CollGroup *group, guint64 part, guint64 chunk, guint64 ways, CollSteps *ret) {
  guint64 rest = part % (chunk * ways);
  ret->chunk = chunk;
  ret->loops = divide_up(part, chunk * ways);
  ret->last = rest > 0 ? align_up(group, divide_up(rest, ways)) : chunk;
}

/* Lanes of `n` kinds of channels, of which a call has `channels`. */
static void take_lanes(guint32 channels, guint32 kinds, CollSteps *ret) {
  gboolean even = channels % kinds == 0;
  ret->kinds = kinds;
  ret->lanes = even ? kinds : channels;
  ret->alike = even ? channels / kinds : 1;
}

static guint64 channels_of(const CollSteps *steps) {
  return (guint64)steps->lanes * steps->alike;
}

static SimTime hidden_by(const CollSteps *steps, guint64 slices) {
  guint64 slice = steps->chunk / slices;
  return sim_time_of_amount((double)(steps->chunk - slice), steps->rate);
}

static void steps_ring(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret) {
  const CollTuning *tuning = group->tuning;
  CollProtocol protocol = plan->protocol;
  gboolean reduces_all = call->operation == COLL_ALL_REDUCE;
  take_lanes(plan->channels, group->nodes > 1 ? group->rings : 1, ret);
  ret->steps = (reduces_all ? 2 : 1) * (group->size - 1);
  ret->depth = (guint32)(tuning->slots / tuning->ring_chunk[protocol]);
  ret->rate = plan->cap * group->rings / (double)channels_of(ret);
  take_hops(group, COLL_RING, protocol, ret);
  guint64 data = reduces_all ? call->bytes : divide_up(call->bytes, group->size);
  guint64 part = align_up(group, divide_up(data, channels_of(ret)));
  cut(group, part, tuning->slot_bytes[protocol] * tuning->ring_chunk[protocol], reduces_all ? group->size : 1, ret);
  if (protocol == COLL_SIMPLE)
    ret->hidden = hidden_by(ret, tuning->slices);
}

/* Halves chunks above `floor` while a channel has fewer than `enough`. */
static guint64 halve(guint64 per_channel, double enough, guint64 floor, guint64 chunk) {
  guint64 chunks = per_channel / chunk; /* whole ones, as NCCL counts */
  for (; (double)chunks < enough && chunk > floor; chunks = per_channel / chunk)
    chunk /= 2;
  return chunk;
}

#define KIB 1024

/* NCCL src/enqueue.cc: chunks of small calls, so that the tree's hops overlap. */
static guint64 tree_chunk(const CollGroup *group, guint64 part, CollProtocol protocol) {
  const CollTreeTuning *tree = &group->tuning->tree;
  guint64 chunk = group->tuning->slot_bytes[protocol];
  guint32 per_node = group->per_node, log = coll_tree_rounds(group->nodes), depth = per_node - 1 + log;
  double waves = (1 + log + 0.1 * per_node) / per_node;
  if (protocol == COLL_LL128) {
    chunk = halve(part, waves * (double)tree->ll128_cut[0], 128 * KIB, chunk);
    chunk = halve(part, waves * (double)tree->ll128_cut[1], 32 * KIB, chunk);
  } else if (protocol == COLL_SIMPLE) {
    chunk = halve(part, depth * (double)tree->simple_cut[0], 128 * KIB, chunk);
    chunk = halve(part, depth * (double)tree->simple_cut[1], 64 * KIB, chunk);
    chunk = halve(part, depth * (double)tree->simple_cut[2], 32 * KIB, chunk);
  }
  return chunk;
}

static void steps_tree(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret) {
  guint32 trees = 2 * group->rings;
  CollProtocol protocol = plan->protocol;
  ret->steps = 1;
  take_lanes(plan->channels, group->nodes > 1 ? trees : 1, ret);
  ret->rate = plan->cap * trees / (double)channels_of(ret);
  take_hops(group, COLL_TREE, protocol, ret);
  guint64 part = align_up(group, divide_up(call->bytes, channels_of(ret)));
  guint64 chunk = tree_chunk(group, part, protocol), lines = group->tuning->tree.lines[protocol];
  guint64 pieces = lines > 0 ? divide_up(chunk, lines) : 1;
  ret->depth = (guint32)(group->tuning->slots * pieces);
  cut(group, part, align_up(group, divide_up(chunk, pieces)), 1, ret);
}

/* NCCL src/enqueue.cc: a chunk of each head in each channel, smaller for small calls. */
static guint64 head_chunk(const CollGroup *group, guint64 bytes, guint64 concurrent) {
  const CollNvlsTuning *nvls = &group->tuning->nvls;
  guint64 chunk = nvls->chunk;
  if (group->nodes == 1) {
    for (int i = 0; i < 3; i++)
      if (bytes < nvls->below[i] * concurrent * chunk)
        chunk = MIN(chunk, (guint64)(64 * KIB) >> i);
    return chunk;
  }
  if (group->nodes >= 4)
    chunk = MIN(chunk, nvls->tree_chunk_more_nodes);
  for (int i = 0; i < 4; i++)
    if (bytes < nvls->tree_below[i] * concurrent * chunk)
      chunk = MIN(chunk, (guint64)(256 * KIB) >> i);
  return chunk;
}

/* Scattered into the switch's buffer, reduced and stored to all by the head, gathered: the first chunk of every channel
 * goes through two stages before the last. Over nodes it goes up and down a tree in between, alone on the NICs. */
static void steps_heads(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret) {
  guint64 heads = group->per_node, channels = plan->channels;
  gboolean over_nodes = group->nodes > 1;
  ret->line = TRUE;
  ret->alike = plan->channels;
  ret->rate = plan->cap * group->units[plan->algorithm] / (double)channels;
  take_hops(group, plan->algorithm, COLL_SIMPLE, ret);
  guint64 part = align_up(group, divide_up((guint64)(plan->volume * group->units[plan->algorithm]), channels));
  cut(group, part, head_chunk(group, call->bytes, heads * channels) * heads, 1, ret);
  double first = (double)MIN(ret->chunk, part) * (double)channels, trees = over_nodes ? 2 : 1;
  ret->base += ret->intra;
  ret->fill = 2 * sim_time_of_amount(first, group->switch_rate * trees * (double)heads);
  if (!over_nodes)
    return;
  ret->base += 2 * group->tree_depth * ret->network;
  ret->fill += 2 * group->tree_depth * sim_time_of_amount(first, group->nic_rate);
}

/* A chain from the root through all, or to it. */
static void steps_chain(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret) {
  take_lanes(plan->channels, group->nodes > 1 ? group->rings : 1, ret);
  ret->rate = plan->cap * group->rings / (double)channels_of(ret);
  take_hops(group, COLL_RING, plan->protocol, ret);
  ret->line = TRUE;
  ret->base += (SimTime)(group->nodes - 1) * ret->network + (SimTime)(group->size - group->nodes) * ret->intra;
  cut(group, align_up(group, divide_up(call->bytes, channels_of(ret))), group->tuning->slot_bytes[plan->protocol], 1,
      ret);
  ret->fill = (SimTime)(group->size - 2) * coll_steps_wire(ret, 0);
}

/* Up to the network's switches and down; in the node a chain, or to all at once. */
static void steps_collnet(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret) {
  guint32 others = group->per_node - 1;
  gboolean chain = plan->algorithm == COLL_COLLNET_CHAIN;
  take_lanes(plan->channels, group->rings, ret);
  ret->rate = plan->cap * group->rings / (double)channels_of(ret);
  take_hops(group, plan->algorithm, COLL_SIMPLE, ret);
  ret->line = TRUE;
  ret->base += ret->network + (chain ? 2 * others * ret->intra
                                     : 2 * (MIN(others, 1) * ret->intra + others * group->tuning->collnet_peer));
  cut(group, align_up(group, divide_up(call->bytes, channels_of(ret))), group->tuning->slot_bytes[COLL_SIMPLE], 1, ret);
  ret->fill = (1 + 2 * (SimTime)(chain ? others : MIN(others, 1))) * coll_steps_wire(ret, 0);
}

/* What each gets of a call. */
static SimTime far_peer(const CollGroup *group, const CollCall *call) {
  guint64 part = call->operation == COLL_ALL_TO_ALL ? divide_up(call->bytes, group->size) : call->bytes;
  return part < group->short_bytes ? group->short_peer : group->peer;
}

/* Sends and receives before the first byte: once, and for each further peer; over the network its proxy takes them one
 * after another. */
static SimTime p2p_base(const CollGroup *group, const CollCall *call, const CollPlan *plan, const CollSteps *steps) {
  const CollPeerTuning *peers = &group->tuning->p2p[group->intra];
  gboolean all = plan->algorithm == COLL_P2P_ALL;
  SimTime near = all ? group->per_node - 1 : 1, far = all ? group->size - group->per_node : 1;
  if (group->nodes == 1)
    return peers->base[plan->protocol] + (near - 1) * peers->peer;
  return steps->base + steps->network + (all ? near : 0) * peers->peer + (far - 1) * far_peer(group, call);
}

/* Sends and receives; PAT's rounds overlap but for the share that the tuner counts, and symmetric kernels have none. */
static void steps_direct(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret) {
  gboolean rounds = plan->algorithm == COLL_PAT || plan->algorithm == COLL_SYMMETRIC;
  ret->lanes = ret->alike = 1;
  ret->rate = plan->cap;
  ret->line = TRUE;
  take_hops(group, COLL_RING, plan->protocol, ret);
  if (rounds)
    ret->base = coll_tuner_cell(group, call->operation, plan->algorithm, COLL_SIMPLE).latency;
  else
    ret->base = p2p_base(group, call, plan, ret);
  guint64 chunk =
      group->intra == COLL_HOP_NVLINK && group->nodes == 1 ? group->tuning->p2p_chunk_nvlink : group->tuning->p2p_chunk;
  cut(group, (guint64)plan->volume, chunk, 1, ret);
}

void coll_steps(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret) {
  *ret = (CollSteps){.lanes = 1, .alike = 1, .kinds = 1, .steps = 1};
  switch (plan->algorithm) {
  case COLL_RING:
    if (call->operation == COLL_BROADCAST || call->operation == COLL_REDUCE)
      steps_chain(group, call, plan, ret);
    else
      steps_ring(group, call, plan, ret);
    return;
  case COLL_TREE:
    steps_tree(group, call, plan, ret);
    return;
  case COLL_NVLS:
  case COLL_NVLS_TREE:
    steps_heads(group, call, plan, ret);
    return;
  case COLL_COLLNET_DIRECT:
  case COLL_COLLNET_CHAIN:
    steps_collnet(group, call, plan, ret);
    return;
  default:
    steps_direct(group, call, plan, ret);
  }
}
