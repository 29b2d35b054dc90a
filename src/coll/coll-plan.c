/* What one call costs on a group's rings: NCCL's tuner picks the protocol by the time that it promises; the flow takes
 * the protocol's rate, and for its latency what the chunk pipeline takes beyond the bytes.
 *
 * Formulas: NCCL v2.30 src/graph/tuning.cc, ring rows (ncclTopoTuneModel, ncclTopoGetAlgoTime). */
#include "coll-group.h"
#include "coll-pipeline.h"
#include "coll-steps.h"

/* Ring steps of an operation, and how many of them cross to another node. */
static void ring_steps(const CollGroup *group, CollOperation operation, guint32 *ret_steps, guint32 *ret_network) {
  guint32 rounds = operation == COLL_ALL_REDUCE ? 2 : 1;
  *ret_steps = rounds * (group->size - 1);
  *ret_network = group->nodes > 1 ? rounds * (group->nodes - 1) : 0;
}

/* "at least 64 bytes per channel and rank": the plateau of ring all-reduce. */
#define PLATEAU_BYTES 64

static SimTime ring_latency(const CollGroup *group, const CollCall *call, CollProtocol protocol) {
  const CollTuning *tuning = &group->tuning;
  guint32 steps, network;
  ring_steps(group, call->operation, &steps, &network);
  SimTime times = protocol == COLL_SIMPLE ? 2 : 1; /* NIC latency: a Simple step flushes too */
  SimTime inter = tuning->ring_hop[COLL_HOP_NET][protocol] + times * group->nic_latency;
  SimTime intra = tuning->ring_hop[group->intra][protocol];
  if (group->nodes > 1)
    intra = MAX(intra, tuning->overhead[group->cpu] * (protocol == COLL_SIMPLE ? 3 : 1));
  SimTime latency = tuning->ring_base[protocol] + (steps - network) * intra + network * inter;
  if (call->operation == COLL_ALL_REDUCE && protocol == COLL_SIMPLE && group->nodes > 1 &&
      call->bytes / ((guint64)group->rings * group->size) >= PLATEAU_BYTES)
    latency = sim_time_from_seconds(sim_time_to_seconds(latency) * tuning->all_reduce_penalty);
  return MAX(latency, group->launch_floor);
}

/* Bytes/s of one ring under a protocol. */
static double ring_cap(const CollGroup *group, CollProtocol protocol) {
  const CollTuning *tuning = &group->tuning;
  CollSpan span = group->nodes == 1 ? COLL_ONE_NODE : group->nodes == 2 ? COLL_TWO_NODES : COLL_MORE_NODES;
  switch (protocol) {
  case COLL_LL:
    return MIN(group->ring_rate * tuning->ll_share, tuning->ll_cap[span][group->cpu] / group->rings);
  case COLL_LL128:
    return MIN(group->ring_rate * tuning->ll128_share, tuning->ll128_channel_cap);
  default:
    return group->ring_rate;
  }
}

/* The chunk pipeline's time, less that of the bytes, and no less than the platform's floor; base takes what it adds. */
static void time_plan(const CollGroup *group, const CollCall *call, CollPlan *plan) {
  CollSteps steps;
  coll_steps_ring(group, call, plan->protocol, plan->cap, &steps);
  SimTime latency = coll_pipeline_ring(group, &steps) - sim_time_of_amount(plan->volume, plan->cap);
  plan->latency = MAX(latency, group->launch_floor);
  plan->base = steps.base + plan->latency - latency;
}

void coll_plan(const CollGroup *group, const CollCall *call, CollPlan *ret) {
  *ret = (CollPlan){.algorithm = COLL_RING, .protocol = COLL_SIMPLE, .channels = group->channels, .cap = G_MAXDOUBLE};
  if (group->size == 1)
    return;
  guint32 steps, network;
  ring_steps(group, call->operation, &steps, &network);
  guint64 chunk = (call->bytes + group->size - 1) / group->size;
  guint64 sent = chunk * steps;
  ret->volume = (double)sent / group->rings;
  ret->sent_inter = group->nodes > 1 ? sent / (group->size / group->nodes) : 0;
  ret->sent_intra = sent - ret->sent_inter;
  SimTime best = SIM_TIME_NEVER;
  for (CollProtocol protocol = COLL_LL; protocol < COLL_PROTOCOLS; protocol++) {
    if (protocol == COLL_LL128 && group->intra == COLL_HOP_PCI)
      continue; /* needs stores of 128 bytes that arrive whole: NVLink */
    double cap = ring_cap(group, protocol);
    SimTime time = ring_latency(group, call, protocol) + sim_time_of_amount(ret->volume, cap);
    if (time < best) {
      best = time;
      ret->protocol = protocol;
      ret->cap = cap;
    }
  }
  time_plan(group, call, ret);
}

double coll_bus_bandwidth(const CollGroup *group, const CollCall *call, SimTime time) {
  if (time == 0 || group->size == 1)
    return 0;
  guint32 steps, network;
  ring_steps(group, call->operation, &steps, &network);
  return (double)call->bytes * steps / group->size / sim_time_to_seconds(time);
}
