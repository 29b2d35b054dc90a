/* SPDX-License-Identifier: MIT */
/* Barriers and lists of one number of each rank. */
#include "plan-metrics.h"

#include "model-host.h"
#include "plan-groups.h"

#define NUMBERS      2 /* of a metric: LanguageCrossEntropy's sum_loss and total_items */
#define NUMBER_BYTES 8
#define BARRIER      4 /* bytes of what c10d reduces for a barrier */

/* The default group; shards over all ranks are on it already. */
static guint32 everyone(const PlanWalk *walk) {
  const PlanRecipe *recipe = walk->recipe;
  guint32 shard = program_builder_slot(walk->builder, "shard");
  gboolean shared = shard != PROGRAM_NONE && recipe->shard_ranks == recipe->ranks;
  return shared ? shard : plan_groups_everyone(walk->builder, recipe);
}

void plan_metrics_init(PlanMetrics *metrics, PlanWalk *walk, guint64 count) {
  *metrics = (PlanMetrics){.walk = walk, .numbers = plan_walk_alone(walk) ? 0 : NUMBERS * count};
  if (metrics->numbers == 0)
    return;
  guint64 bytes = (guint64)walk->recipe->ranks * NUMBER_BYTES;
  metrics->slot = everyone(walk);
  metrics->zeros = program_builder_memory_ops(walk->builder, bytes, walk->recipe->ranks);
  metrics->copies = program_builder_memory_ops(walk->builder, 2 * bytes, walk->recipe->ranks);
  metrics->sum = program_builder_memory_ops(walk->builder, 3 * bytes, 2); /* stacked, then summed */
}

/* One launch for each rank. */
static void pass(const PlanMetrics *metrics, const char *name, guint32 op, ModelHostCost each) {
  PlanWalk *walk = metrics->walk;
  plan_walk_pass_costing(walk, walk->stream, name, op,
                         (SimTime)walk->recipe->ranks * model_host_cost(walk->host, each));
}

static void collect(const PlanMetrics *metrics) {
  PlanWalk *walk = metrics->walk;
  CollCall barrier = {COLL_ALL_REDUCE, BARRIER};
  CollCall gather = {COLL_ALL_GATHER, (guint64)walk->recipe->ranks * NUMBER_BYTES};
  plan_walk_collective(walk, walk->stream, "barrier before a metric", metrics->slot, barrier, PROGRAM_HINT_NONE);
  plan_walk_wait(walk);
  pass(metrics, "zeros for a metric", metrics->zeros, MODEL_HOST_COPY);
  plan_walk_collective(walk, walk->stream, "all-gather metric", metrics->slot, gather, PROGRAM_HINT_NONE);
  pass(metrics, "copy metric out of its list", metrics->copies, MODEL_HOST_LISTED_RANK);
  plan_walk_pass(walk, walk->stream, "sum metric", metrics->sum);
}

void plan_metrics_end_step(const PlanMetrics *metrics) {
  for (guint64 i = 0; i < metrics->numbers; i++)
    collect(metrics);
}
