/* SPDX-License-Identifier: MIT */
/* What one call costs on a group: NCCL's tuner picks algorithm and protocol by the time that it predicts; the flow
 * takes their rate, and for its latency what the chunk pipeline takes beyond the bytes.
 *
 * Formulas: NCCL v2.30 src/enqueue.cc (topoGetAlgoInfo, scheduleCollTasksToPlan) for the channels of a call. */
#include "base-error.h"
#include "coll-group.h"
#include "coll-layout.h"
#include "coll-pipeline.h"
#include "coll-steps.h"
#include "coll-tuner.h"

/* Channels of an algorithm before the call's size is looked at. */
static guint32 channels_of(const CollGroup *group, CollAlgorithm algorithm) {
  return algorithm == COLL_NVLS || algorithm == COLL_NVLS_TREE ? group->nvls_channels
         : algorithm >= COLL_P2P                               ? group->p2p_channels
                                                               : group->channels;
}

/* Bytes that NCCL's scheduler counts a call as moving. */
static guint64 traffic_of(const CollCall *call) {
  return call->operation == COLL_ALL_REDUCE ? 2 * call->bytes : call->bytes;
}

static guint32 call_channels(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm,
                             CollProtocol protocol) {
  const CollThreadTuning *threads = &group->tuning->threads;
  guint64 channels = channels_of(group, algorithm), least = group->knobs.min_channels;
  if (algorithm != COLL_RING && algorithm != COLL_TREE)
    return (guint32)channels;
  guint64 block = algorithm == COLL_RING ? threads->ring[protocol] : threads->tree[protocol];
  const CollSearchResult *ring = &group->found[COLL_SEARCHED_RING];
  if (algorithm == COLL_RING && protocol == COLL_SIMPLE && ring->channels * ring->intra <= threads->narrow)
    block = threads->ring_simple_narrow;
  guint64 bytes = block * threads->bytes[protocol] * (algorithm == COLL_RING && protocol == COLL_LL ? group->size : 1);
  guint64 traffic = traffic_of(call) * (protocol == COLL_LL ? threads->ll_traffic : 1);
  guint64 most = MIN(call->bytes / bytes, (traffic + threads->least_traffic - 1) / threads->least_traffic);
  return (guint32)CLAMP(most, MIN(MAX(least, 1), channels), channels);
}

/* LL over all channels: what the links give of it, the ceiling, and what so many channels reach. */
static double ll_rate(const CollGroup *group, double links, guint32 channels) {
  const CollTuning *tuning = group->tuning;
  double node = tuning->ll_cap[COLL_ONE_NODE][group->cpu] / (double)tuning->ll_channels;
  return MIN(links, MIN(tuning->ll_cap[coll_group_span(group)][group->cpu], node * channels));
}

/* Share of the rings, and so of the NICs, that a call with so few channels uses. */
static double rings_used(const CollGroup *group, guint32 channels) {
  return MIN(channels, group->rings) / (double)group->rings;
}

/* Bytes/s of one tree of two that share a ring's channels: a quarter of what the tuner counts, which is both trees'
 * data up and down. */
static double tree_cap(const CollGroup *group, double rate, CollProtocol protocol, guint32 channels) {
  const CollTreeTuning *tree = &group->tuning->tree;
  CollSpan span = coll_group_span(group);
  double both = MIN(4 * rate, tree->channel_cap[span]) * rings_used(group, channels);
  if (protocol == COLL_LL)
    both = ll_rate(group, both * tree->ll_share * group->rings, channels) / group->rings;
  if (protocol == COLL_LL128)
    both = MIN(both * (span == COLL_ONE_NODE ? tree->ll128_share_one_node : tree->ll128_share),
               tree->ll128_channel_cap[span]);
  return both / 4;
}

/* A ring's pace in Simple: each loop ends with a receive that sends nothing, which the node's own rate decides. */
static double ring_pace(const CollGroup *group, CollOperation operation, double rate) {
  double node = group->node_rate, steps = coll_ring_steps(group, operation);
  return group->per_node > 1 && group->intra == COLL_HOP_NVLINK
             ? 1 / (1 / rate + group->tuning->last_receive / (steps * node))
             : rate;
}

/* Of sends and receives: in an exchange each also copies its own part; in LL a part takes one channel; over the network
 * a peer gets what the proxy keeps in flight to it. */
static double p2p_cap(const CollGroup *group, CollAlgorithm algorithm, CollProtocol protocol, double rate) {
  const CollTuning *tuning = group->tuning;
  double nics = algorithm == COLL_P2P ? 1 : MAX(group->layout->n_nics, 1); /* that a part's bytes are counted over */
  rate *= tuning->p2p_share;
  if (algorithm == COLL_P2P_ALL)
    rate /= 1 + tuning->last_receive / (group->size - 1);
  if (protocol == COLL_LL)
    rate = MIN(rate, tuning->ll_cap[COLL_ONE_NODE][group->cpu] / (double)tuning->ll_channels / nics);
  return group->nodes > 1 ? MIN(rate, group->net_connections * tuning->p2p_net_rate / nics) : rate;
}

/* Bytes/s of one unit under a protocol: what the links allow, and what NVIDIA's tables say that LL, LL128 and trees
 * reach. */
static double unit_cap(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm, CollProtocol protocol,
                       guint32 channels) {
  const CollTuning *tuning = group->tuning;
  double rate = MIN(group->rates[algorithm], group->p2p_cap);
  if (algorithm == COLL_TREE)
    return tree_cap(group, rate, protocol, channels);
  if (algorithm == COLL_P2P_ALL || algorithm == COLL_P2P)
    return p2p_cap(group, algorithm, protocol, rate);
  if (algorithm != COLL_RING)
    return rate;
  rate *= rings_used(group, channels);
  if (protocol == COLL_LL)
    return ll_rate(group, rate * tuning->ll_share * group->rings, channels) / group->rings;
  return protocol == COLL_LL128 ? MIN(rate * tuning->ll128_share, tuning->ll128_channel_cap)
                                : ring_pace(group, operation, rate);
}

/* Bytes that each unit moves past each of its points, and what a rank sends on average. */
static void measure(const CollGroup *group, const CollCall *call, CollPlan *plan) {
  double bytes = (double)call->bytes, units = group->units[plan->algorithm];
  guint64 nodes = group->nodes, per_node = group->per_node, n = group->size;
  guint64 shard = (call->bytes + n - 1) / n, steps = coll_ring_steps(group, call->operation);
  switch (plan->algorithm) {
  case COLL_RING: {
    gboolean chain = call->operation == COLL_BROADCAST || call->operation == COLL_REDUCE;
    guint64 sent = chain ? call->bytes * (n - 1) / n : shard * steps;
    plan->volume = (double)(chain ? call->bytes : sent) / units;
    plan->sent_inter = nodes > 1 ? sent / per_node : 0;
    plan->sent_intra = sent - plan->sent_inter;
    return;
  }
  case COLL_TREE:
    plan->volume = bytes / units;
    plan->sent_inter = 2 * call->bytes * (nodes - 1) / n;
    plan->sent_intra = 2 * call->bytes * (per_node - 1) / per_node;
    return;
  case COLL_NVLS:
  case COLL_NVLS_TREE: { /* a gather moves (heads) parts past a GPU, where an all-reduce moves one more */
    double heads = (double)per_node;
    plan->volume = bytes / units * (call->operation == COLL_ALL_REDUCE ? 1 : heads / (heads + 1));
    plan->sent_intra = call->bytes + (call->operation == COLL_ALL_REDUCE ? call->bytes / per_node : 0);
    plan->sent_inter = 2 * call->bytes * (nodes - 1) / n;
    return;
  }
  case COLL_COLLNET_DIRECT:
  case COLL_COLLNET_CHAIN:
    plan->volume = bytes / units;
    plan->sent_inter = call->bytes / per_node;
    plan->sent_intra = 2 * call->bytes * (per_node - 1) / per_node;
    return;
  case COLL_SYMMETRIC:
    plan->volume = (double)(shard * (call->operation == COLL_ALL_REDUCE ? 2 * (n - 1) : n - 1));
    plan->sent_intra = (guint64)plan->volume;
    return;
  case COLL_P2P:
    plan->volume = bytes;
    plan->sent_inter = nodes > 1 ? call->bytes / per_node : 0;
    plan->sent_intra = call->bytes - plan->sent_inter;
    return;
  case COLL_P2P_ALL: { /* the route counts a byte to each other member times the NICs of a node */
    guint64 nics = MAX(group->layout->n_nics, 1);
    plan->volume = (double)shard / (double)nics;
    plan->sent_inter = shard * (n - per_node);
    plan->sent_intra = shard * (per_node - 1);
    return;
  }
  default: /* PAT: the route counts shards */
    plan->volume = (double)shard;
    plan->sent_inter = shard * (n - 1);
  }
}

/* Above this the bytes alone are all that matters, and sums of chunk times might leave SimTime: hours. */
#define LONG_CALL (SIM_TIME_NEVER / 1024)

/* The chunk pipeline's time, less that of the bytes, and no less than the platform's floor; base takes what it adds. */
static void time_plan(const CollGroup *group, const CollCall *call, CollPlan *plan) {
  CollSteps steps;
  coll_steps(group, call, plan, &steps);
  SimTime bytes = sim_time_of_amount(plan->volume, plan->cap);
  if (bytes > LONG_CALL) {
    plan->latency = plan->base = MAX(steps.base, group->launch_floor);
    return;
  }
  SimTime pipeline = coll_pipeline(group, plan->algorithm, &steps), latency = MAX(pipeline - bytes, 0);
  plan->latency = MAX(latency, group->launch_floor - bytes);
  plan->base = steps.base + plan->latency - latency;
}

static gboolean is_alone(const CollGroup *group, CollPlan *ret) {
  *ret = (CollPlan){.protocol = COLL_SIMPLE, .channels = 1, .cap = G_MAXDOUBLE};
  return group->size == 1;
}

void coll_plan_as(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm, CollProtocol protocol,
                  CollPlan *ret) {
  sim_require(group->connected >> algorithm & 1, 0, NULL, "a call over %s that was never prepared",
              coll_algorithm_names[algorithm]);
  guint32 channels = call_channels(group, call, algorithm, protocol);
  *ret = (CollPlan){.algorithm = algorithm,
                    .protocol = protocol,
                    .channels = channels,
                    .cap = unit_cap(group, call->operation, algorithm, protocol, channels)};
  measure(group, call, ret);
  time_plan(group, call, ret);
}

void coll_plan(const CollGroup *group, const CollCall *call, CollPlan *ret) {
  if (is_alone(group, ret))
    return;
  CollChoice choice = coll_choice(group, call);
  coll_plan_as(group, call, choice.algorithm, choice.protocol, ret);
}

gboolean coll_plan_forced(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm, CollPlan *ret) {
  CollChoice choice;
  if (is_alone(group, ret))
    return TRUE;
  if (!coll_choice_among(group, call, 1u << algorithm, &choice))
    return FALSE;
  coll_plan_as(group, call, choice.algorithm, choice.protocol, ret);
  return TRUE;
}

/* Data of nccl-tests' bus bandwidth, per byte of the call, times the ranks. */
static guint64 bus_steps(const CollGroup *group, CollOperation operation) {
  switch (operation) {
  case COLL_ALL_REDUCE:
    return 2 * (group->size - 1);
  case COLL_BROADCAST:
  case COLL_REDUCE:
  case COLL_SEND_RECV:
    return group->size;
  default:
    return group->size - 1;
  }
}

double coll_bus_bandwidth(const CollGroup *group, const CollCall *call, SimTime time) {
  if (time == 0 || group->size == 1)
    return 0;
  return (double)call->bytes * (double)bus_steps(group, call->operation) / group->size / sim_time_to_seconds(time);
}
