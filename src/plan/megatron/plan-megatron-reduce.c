/* SPDX-License-Identifier: MIT */
/* Gradients on their way: into the buffer, over data ranks by bucket, and what has to be summed beside.
 *
 *   no overlap         all passes ─ chunk by chunk, bucket by bucket
 *   1f1b, first stage  … B of the last micro-batch: a bucket once it is full
 *   other stages       all passes ─ the one bucket: earlier it would only disturb the pipeline (align_grad_reduce)
 *   interleaved        B of the last micro-batch of a chunk ─ as many passes later as the rank's place ─ its one bucket
 *   then               compute ← all of them;  norms' gradients over tensor ranks;  the tied matrix's over the first
 *                      and the last stage
 *
 * Sources: megatron/core/pipeline_parallel/schedules.py (grad_sync_func), core/distributed/finalize_model_grads.py. */
#include "model-host.h"
#include "plan-groups.h"
#include "plan-megatron-state.h"

/* The norm over the bucket, one pass that reads it, whose result the host waits for. */
static void check_bucket(Megatron *megatron, guint b) {
  if (!megatron->options->checks_gradients)
    return;
  guint32 norm = plan_walk_pass(megatron->walk, megatron->walk->stream, "norm of bucket", megatron->work[b].norm);
  plan_walk_host(megatron->walk, "look for NaN");
  program_builder_need(megatron->builder, norm);
}

/* Compute scales, so that sums are means, unless the collective averages. */
static guint32 scale_bucket(Megatron *megatron, guint b) {
  PlanWalk *walk = megatron->walk;
  return megatron->options->averages ? walk->last
                                     : plan_walk_pass(walk, walk->stream, "scale gradients", megatron->work[b].scale);
}

/* Within the instance, then over instances. Experts' gradients are means over all tokens too, of which as many ranks
 * saw some as of dense layers', so they are scaled even where nobody else holds them. */
static void reduce_bucket(Megatron *megatron, guint b) {
  PlanWalk *walk = megatron->walk;
  guint64 bytes = megatron->layout->buckets->list[b].elements * megatron->options->gradient_bytes;
  ProgramHint hint = megatron->options->overlap_grad_reduce ? PROGRAM_HINT_BUCKET : PROGRAM_HINT_BOUNDARY;
  const MegatronData *data = megatron_data(megatron, b);
  program_builder_context(megatron->builder, PROGRAM_REDUCE, -1, (gint32)walk->micro);
  check_bucket(megatron, b);
  if (plan_walk_alone(walk) && data->shards * data->replicas == 1)
    return;
  guint32 ready = scale_bucket(megatron, b), row = ready;
  if (megatron_shards(megatron, megatron->layout->kinds[b])) {
    row = plan_walk_collective(walk, data->comm, "reduce-scatter gradients", data->shard_slot,
                               (CollCall){COLL_REDUCE_SCATTER, bytes}, hint);
    program_builder_need(megatron->builder, ready);
    bytes /= data->shards;
  }
  if (data->replicas > 1) {
    guint32 before = row;
    row = plan_walk_collective(walk, data->comm_across, "all-reduce gradients", data->replica_slot,
                               (CollCall){COLL_ALL_REDUCE, bytes}, hint);
    program_builder_need(megatron->builder, before);
  }
  if (row != ready)
    g_array_append_val(walk->reductions, row);
}

static void reduce_chunk(Megatron *megatron, guint32 chunk) {
  for (guint b = megatron->layout->firsts[chunk]; b < megatron->layout->firsts[chunk + 1]; b++)
    reduce_bucket(megatron, b);
  megatron->reduced[chunk] = TRUE;
}

/* ---- While backward runs ---- */

static gboolean is_aligned(const Megatron *megatron) {
  return megatron_stages(megatron) > 1 && megatron->options->align_grad_reduce;
}

/* A bucket goes as soon as the last micro-batch has filled it. */
static gboolean goes_by_bucket(const Megatron *megatron) {
  gboolean first_stage = megatron->walk->holding->rank == 0 && megatron_chunks(megatron) == 1;
  return megatron_overlaps(megatron) && plan_walk_last_micro(megatron->walk) && (!is_aligned(megatron) || first_stage);
}

static gboolean is_fused(const Megatron *megatron, const ModelUnit *unit, const ModelParameter *parameter) {
  return megatron->options->gradient_accumulation_fusion && unit->kind != MODEL_UNIT_EMBEDDING &&
         parameter->elements > parameter->rows;
}

/* For autograd: a tensor that nobody reads. Transformer Engine (module/base.py, get_dummy_wgrad) keeps one for each
 * shape, Megatron (core/tensor_parallel/layers.py) makes one each time. */
static void stand_in(Megatron *megatron, guint parameter) {
  PlanWalk *walk = megatron->walk;
  if (megatron->dummies[parameter] == PROGRAM_NONE) {
    plan_walk_take(walk, megatron->new_gradients[parameter]);
    plan_walk_give(walk, megatron->new_gradients[parameter], PROGRAM_NONE);
  } else {
    plan_walk_take(walk, megatron->dummies[parameter]);
  }
}

void megatron_gradient(gpointer policy, const PlanGradient *gradient) {
  Megatron *megatron = policy;
  PlanWalk *walk = megatron->walk;
  guint p = gradient->parameter;
  const ModelUnit *unit = walk->units[gradient->unit].unit;
  if (is_fused(megatron, unit, &unit->parameters[gradient->index])) {
    if (megatron->dummies != NULL)
      stand_in(megatron, p);
  } else {
    plan_walk_take(walk, megatron->new_gradients[p]);
    plan_walk_pass(walk, walk->stream, "add to gradient buffer", megatron->add_ops[p]);
    program_builder_cost(megatron->builder, model_host_cost(walk->host, MODEL_HOST_GRADIENT_HOOK));
    plan_walk_give(walk, megatron->new_gradients[p], PROGRAM_NONE);
  }
  gboolean counts = !gradient->first_part && plan_walk_last_micro(walk);
  if (!counts || !plan_buckets_arrived(megatron->layout->buckets, p) || !goes_by_bucket(megatron))
    return;
  reduce_bucket(megatron, megatron->layout->buckets->of[p]);
  megatron->reduced[walk->chunk] = TRUE;
}

/* The chunk whose last backward pass was `late` passes ago, which all stages then reduce at one time. */
static gboolean find_ended(const Megatron *megatron, guint32 late, guint32 *ret_chunk) {
  const PlanHolding *holding = megatron->walk->holding;
  guint32 micros = (guint32)plan_recipe_micro_batches(megatron->recipe), seen = 0;
  for (guint32 i = 0; i < holding->n_passes; i++) {
    const PlanSchedulePass *pass = &holding->passes[i];
    if (pass->kind != PLAN_PASS_BACKWARD || ++seen + late != megatron->backwards)
      continue;
    *ret_chunk = pass->chunk;
    return pass->micro + 1 == micros;
  }
  return FALSE;
}

void megatron_backward_ended(gpointer policy) {
  Megatron *megatron = policy;
  guint32 chunk;
  megatron->backwards++;
  if (megatron_chunks(megatron) > 1 && is_aligned(megatron) && megatron_overlaps(megatron) &&
      find_ended(megatron, megatron->walk->holding->rank, &chunk))
    reduce_chunk(megatron, chunk);
}

/* ---- When all passes are over ---- */

/* A blocking call of compute, for which copies are put together and apart again. */
static void sum(Megatron *megatron, const char *name, guint32 slot, guint64 elements, ProgramHint hint) {
  PlanWalk *walk = megatron->walk;
  guint32 before = walk->last;
  plan_walk_collective(walk, walk->stream, name, slot,
                       (CollCall){COLL_ALL_REDUCE, elements * megatron->options->gradient_bytes}, hint);
  program_builder_need(megatron->builder, before);
}

static void sum_norms(Megatron *megatron) {
  PlanWalk *walk = megatron->walk;
  if (megatron->summed == 0)
    return;
  guint32 slot = plan_groups_of(megatron->builder, "tensor", megatron->recipe, LAYOUT_BIT(LAYOUT_TENSOR));
  plan_walk_pass(walk, walk->stream, "put norms' gradients together", megatron->sum_copy);
  sum(megatron, "all-reduce norms' gradients", slot, megatron->summed, PROGRAM_HINT_BOUNDARY);
  plan_walk_pass(walk, walk->stream, "norms' gradients back", megatron->sum_copy);
}

/* First and last stage of each pipeline. */
static guint32 ends_slot(const Megatron *megatron) {
  Layout layout = plan_groups_layout(megatron->recipe);
  guint32 known = program_builder_slot(megatron->builder, "embedding"), last = layout.degree[LAYOUT_PIPELINE] - 1;
  if (known != PROGRAM_NONE)
    return known;
  g_autofree guint32 *of_rank = g_new(guint32, layout.ranks);
  layout_of_rank(&layout, LAYOUT_BIT(LAYOUT_PIPELINE), of_rank);
  for (guint32 i = 0; i < layout.ranks; i++) {
    guint32 stage = layout_coordinate(&layout, i, LAYOUT_PIPELINE);
    if (stage > 0 && stage < last)
      of_rank[i] = PROGRAM_NONE;
  }
  return program_builder_communicators(megatron->builder, "embedding", of_rank, layout.ranks);
}

static void sum_tied(Megatron *megatron) {
  if (megatron->tied == 0)
    return;
  guint32 slot = ends_slot(megatron);
  sum(megatron, "all-reduce tied embedding", slot, megatron->tied, PROGRAM_HINT_PIPELINE);
}

void megatron_finish_reductions(Megatron *megatron) {
  for (guint32 c = 0; c < megatron_chunks(megatron); c++)
    if (!megatron->reduced[c])
      reduce_chunk(megatron, c);
  program_builder_context(megatron->builder, PROGRAM_REDUCE, -1, -1);
  plan_walk_need_reductions(megatron->walk);
  sum_norms(megatron);
  sum_tied(megatron);
}
