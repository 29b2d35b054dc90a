/* Parts, chunks and hops of a call, from the tuning file and the group. */
#include "coll-steps.h"

static guint64 divide_up(guint64 amount, guint64 by) {
  return (amount + by - 1) / by;
}

static guint64 align_up(const CollGroup *group, guint64 bytes) {
  return divide_up(bytes, group->tuning.align) * group->tuning.align;
}

static void take_hops(const CollGroup *group, CollAlgorithm algorithm, CollProtocol protocol, CollSteps *ret) {
  const CollTuning *tuning = &group->tuning;
  SimTime times = protocol == COLL_SIMPLE ? 2 : 1; /* NIC latency: a Simple step flushes too */
  CollAlgorithm network = group->per_node == 1 ? COLL_TREE : algorithm;
  ret->base = tuning->base[algorithm][protocol];
  ret->network = tuning->hop[network][COLL_HOP_NET][protocol] + times * group->nic_latency;
  ret->intra = tuning->hop[algorithm][group->intra][protocol];
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

void coll_steps_ring(const CollGroup *group, const CollCall *call, CollProtocol protocol, double cap, CollSteps *ret) {
  const CollTuning *tuning = &group->tuning;
  gboolean reduces_all = call->operation == COLL_ALL_REDUCE;
  *ret = (CollSteps){.lanes = group->nodes > 1 ? group->rings : 1};
  ret->alike = MAX(group->channels / ret->lanes, 1);
  ret->steps = (reduces_all ? 2 : 1) * (group->size - 1);
  ret->depth = (guint32)(tuning->slots / tuning->ring_chunk[protocol]);
  ret->rate = cap * group->rings / (ret->lanes * ret->alike);
  take_hops(group, COLL_RING, protocol, ret);
  guint64 data = reduces_all ? call->bytes : divide_up(call->bytes, group->size);
  guint64 part = align_up(group, divide_up(data, (guint64)ret->lanes * ret->alike));
  cut(group, part, tuning->slot_bytes[protocol] * tuning->ring_chunk[protocol], reduces_all ? group->size : 1, ret);
}

static guint32 log2_down(guint64 value) {
  guint32 log = 0;
  for (; value > 1; value >>= 1)
    log++;
  return log;
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
  const CollTreeTuning *tree = &group->tuning.tree;
  guint64 chunk = group->tuning.slot_bytes[protocol];
  guint32 per_node = group->per_node, log = log2_down(group->nodes), depth = per_node - 1 + log;
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

void coll_steps_tree(const CollGroup *group, const CollCall *call, CollProtocol protocol, double cap, CollSteps *ret) {
  guint32 trees = 2 * group->rings;
  *ret = (CollSteps){.lanes = group->nodes > 1 ? trees : 1, .steps = 1};
  ret->alike = MAX(group->channels / ret->lanes, 1);
  ret->rate = cap * trees / (ret->lanes * ret->alike);
  take_hops(group, COLL_TREE, protocol, ret);
  guint64 part = align_up(group, divide_up(call->bytes, (guint64)ret->lanes * ret->alike));
  guint64 chunk = tree_chunk(group, part, protocol), lines = group->tuning.tree.lines[protocol];
  guint64 pieces = lines > 0 ? divide_up(chunk, lines) : 1;
  ret->depth = (guint32)(group->tuning.slots * pieces);
  cut(group, part, align_up(group, divide_up(chunk, pieces)), 1, ret);
}

void coll_steps(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret) {
  if (plan->algorithm == COLL_RING)
    coll_steps_ring(group, call, plan->protocol, plan->cap, ret);
  else
    coll_steps_tree(group, call, plan->protocol, plan->cap, ret);
}
