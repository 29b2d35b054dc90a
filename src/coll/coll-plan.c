/* What one call costs on a group: NCCL's tuner picks algorithm and protocol by the time that it promises; the flow
 * takes their rate, and for its latency what the chunk pipeline takes beyond the bytes.
 *
 * Formulas: NCCL v2.30 src/graph/tuning.cc, ring and tree rows (ncclTopoTuneModel, ncclTopoGetAlgoTime). */
#include "coll-group.h"
#include "coll-pipeline.h"
#include "coll-steps.h"

/* Ring steps of an operation, and how many of them the tuner takes to cross to another node. */
static void ring_steps(const CollGroup *group, CollOperation operation, guint32 *ret_steps, guint32 *ret_network) {
  guint32 rounds = operation == COLL_ALL_REDUCE ? 2 : 1;
  *ret_steps = rounds * (group->size - 1);
  *ret_network = group->nodes > 1 ? rounds * (group->nodes - 1) : 0;
}

static CollSpan span_of(const CollGroup *group) {
  return group->nodes == 1 ? COLL_ONE_NODE : group->nodes == 2 ? COLL_TWO_NODES : COLL_MORE_NODES;
}

/* Bytes/s of one ring under a protocol. */
static double ring_cap(const CollGroup *group, CollProtocol protocol) {
  const CollTuning *tuning = &group->tuning;
  switch (protocol) {
  case COLL_LL:
    return MIN(group->ring_rate * tuning->ll_share, tuning->ll_cap[span_of(group)][group->cpu] / group->rings);
  case COLL_LL128:
    return MIN(group->ring_rate * tuning->ll128_share, tuning->ll128_channel_cap);
  default:
    return group->ring_rate;
  }
}

/* Bytes/s of one ring's two trees together, as the tuner sees them: what they reduce is half of what they move. Over
 * two nodes a tree crosses the network half as often as over more, and the search lets its channels be up to twice as
 * fast. */
static double tree_pair_rate(const CollGroup *group, CollProtocol protocol) {
  const CollTreeTuning *tree = &group->tuning.tree;
  CollSpan span = span_of(group);
  double channel = group->ring_rate;
  if (span == COLL_TWO_NODES)
    channel = CLAMP(group->node_rate, group->ring_rate, 2 * group->ring_rate);
  double rate = MIN(channel * tree->share, tree->channel_cap[span]);
  switch (protocol) {
  case COLL_LL:
    rate = MIN(rate * tree->ll_share, group->tuning.ll_cap[span][group->cpu] / group->rings);
    break;
  case COLL_LL128:
    rate = MIN(rate * (span == COLL_ONE_NODE ? tree->ll128_share_one_node : tree->ll128_share),
               tree->ll128_channel_cap[span]);
    break;
  default:
    break;
  }
  return rate / 2;
}

/* "at least 64 bytes per channel and rank": the plateau of ring all-reduce. */
#define PLATEAU_BYTES 64

static SimTime ring_promise(const CollGroup *group, const CollCall *call, const CollPlan *plan, const CollSteps *hops) {
  guint32 steps, network;
  ring_steps(group, call->operation, &steps, &network);
  SimTime latency = hops->base + (steps - network) * hops->intra + network * hops->network;
  if (call->operation == COLL_ALL_REDUCE && plan->protocol == COLL_SIMPLE && group->nodes > 1 &&
      call->bytes / ((guint64)group->rings * group->size) >= PLATEAU_BYTES)
    latency = sim_time_from_seconds(sim_time_to_seconds(latency) * group->tuning.all_reduce_penalty);
  return sim_time_add(MAX(latency, group->launch_floor), sim_time_of_amount(plan->volume, plan->cap));
}

static SimTime tree_promise(const CollGroup *group, const CollCall *call, const CollPlan *plan, const CollSteps *hops) {
  guint32 depth = 0, size = 0;
  for (guint32 nodes = group->nodes; nodes > 1; nodes /= 2)
    depth++;
  for (guint64 bytes = call->bytes / 128; bytes > 0; bytes /= 2)
    size++;
  double correction = size < COLL_CORRECTIONS ? group->tuning.tree.correction[plan->protocol][size] : 1;
  SimTime latency = hops->base + 2 * ((group->per_node - 1) * hops->intra + depth * hops->network);
  double rate = group->rings * tree_pair_rate(group, plan->protocol) * correction;
  return sim_time_add(MAX(latency, group->launch_floor), sim_time_of_amount((double)call->bytes, rate));
}

static void plan_ring(const CollGroup *group, const CollCall *call, CollPlan *plan) {
  guint32 steps, network;
  ring_steps(group, call->operation, &steps, &network);
  guint64 sent = (call->bytes + group->size - 1) / group->size * steps;
  plan->volume = (double)sent / group->rings;
  plan->cap = ring_cap(group, plan->protocol);
  plan->sent_inter = group->nodes > 1 ? sent / (group->size / group->nodes) : 0;
  plan->sent_intra = sent - plan->sent_inter;
}

/* Every place but a root sends up and is sent to: over the node's chain, and once a node over the network. */
static void plan_tree(const CollGroup *group, const CollCall *call, CollPlan *plan) {
  plan->volume = (double)call->bytes / (2 * group->rings);
  plan->cap = MIN(tree_pair_rate(group, plan->protocol) / 2, group->tree_rate);
  plan->sent_inter = 2 * call->bytes * (group->nodes - 1) / group->size;
  plan->sent_intra = 2 * call->bytes * (group->per_node - 1) / group->per_node;
}

/* Above this the bytes alone are all that matters, and sums of chunk times might leave SimTime: hours. */
#define LONG_CALL (SIM_TIME_NEVER / 1024)

/* The chunk pipeline's time, less that of the bytes, and no less than the platform's floor; base takes what it adds. */
static void time_plan(const CollGroup *group, const CollCall *call, CollPlan *plan) {
  CollSteps steps;
  coll_steps(group, call, plan, &steps);
  if (sim_time_of_amount(plan->volume, plan->cap) > LONG_CALL) {
    plan->latency = plan->base = MAX(steps.base, group->launch_floor);
    return;
  }
  SimTime pipeline =
      plan->algorithm == COLL_RING ? coll_pipeline_ring(group, &steps) : coll_pipeline_tree(group, &steps);
  SimTime latency = pipeline - sim_time_of_amount(plan->volume, plan->cap);
  plan->latency = MAX(latency, group->launch_floor);
  plan->base = steps.base + plan->latency - latency;
}

/* The best protocol of one algorithm; returns what the tuner promises of it. */
static SimTime choose_protocol(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm, CollPlan *ret) {
  SimTime best = SIM_TIME_NEVER;
  for (CollProtocol protocol = COLL_LL; protocol < COLL_PROTOCOLS; protocol++) {
    if (protocol == COLL_LL128 && group->intra == COLL_HOP_PCI)
      continue; /* needs stores of 128 bytes that arrive whole: NVLink */
    CollPlan plan = {.algorithm = algorithm, .protocol = protocol, .channels = group->channels};
    CollSteps hops;
    (algorithm == COLL_RING ? plan_ring : plan_tree)(group, call, &plan);
    coll_steps(group, call, &plan, &hops);
    SimTime time = (algorithm == COLL_RING ? ring_promise : tree_promise)(group, call, &plan, &hops);
    if (time < best || protocol == COLL_LL) {
      best = time;
      *ret = plan;
    }
  }
  return best;
}

static gboolean is_alone(const CollGroup *group, CollPlan *ret) {
  *ret = (CollPlan){.protocol = COLL_SIMPLE, .channels = group->channels, .cap = G_MAXDOUBLE};
  return group->size == 1;
}

void coll_plan(const CollGroup *group, const CollCall *call, CollPlan *ret) {
  CollPlan tree;
  if (is_alone(group, ret))
    return;
  SimTime ring_time = choose_protocol(group, call, COLL_RING, ret);
  if (call->operation == COLL_ALL_REDUCE && choose_protocol(group, call, COLL_TREE, &tree) < ring_time)
    *ret = tree;
  time_plan(group, call, ret);
}

void coll_plan_forced(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm, CollPlan *ret) {
  if (is_alone(group, ret))
    return;
  choose_protocol(group, call, algorithm, ret);
  time_plan(group, call, ret);
}

double coll_bus_bandwidth(const CollGroup *group, const CollCall *call, SimTime time) {
  if (time == 0 || group->size == 1)
    return 0;
  guint32 steps, network;
  ring_steps(group, call->operation, &steps, &network);
  return (double)call->bytes * steps / group->size / sim_time_to_seconds(time);
}
