#include "coll-steps.h"

static guint64 divide_up(guint64 amount, guint64 by) {
  return (amount + by - 1) / by;
}

static guint64 align_up(const CollGroup *group, guint64 bytes) {
  return divide_up(bytes, group->tuning.align) * group->tuning.align;
}

static void take_hops(const CollGroup *group, CollProtocol protocol, CollSteps *ret) {
  const CollTuning *tuning = &group->tuning;
  SimTime times = protocol == COLL_SIMPLE ? 2 : 1; /* NIC latency: a Simple step flushes too */
  ret->base = tuning->ring_base[protocol];
  ret->network = tuning->ring_hop[COLL_HOP_NET][protocol] + times * group->nic_latency;
  ret->intra = tuning->ring_hop[group->intra][protocol];
  if (group->nodes > 1)
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
  take_hops(group, protocol, ret);
  guint64 data = reduces_all ? call->bytes : divide_up(call->bytes, group->size);
  guint64 part = align_up(group, divide_up(data, (guint64)ret->lanes * ret->alike));
  cut(group, part, tuning->slot_bytes[protocol] * tuning->ring_chunk[protocol], reduces_all ? group->size : 1, ret);
}
