/* SPDX-License-Identifier: MIT */
/* Parameters: all of them after the step, or by bucket in the next forward.
 *
 *   one chunk       a module's hook waits for its bucket, and dispatches the one after it in forward
 *   several         before the first pass the first two chunks, each other one before the chunk ahead of it begins, as
 *                   many passes earlier as the rank's place, so that all stages gather at one time (align_param_gather)
 *
 * Source: megatron/core/pipeline_parallel/schedules.py (param_sync_func), core/distributed/param_and_grad_buffer.py. */
#include "plan-megatron-state.h"

static gboolean gathers_in_forward(const Megatron *megatron) {
  return megatron_shards_any(megatron) && !megatron_gathers_after(megatron);
}

static gboolean is_aligned(const Megatron *megatron) {
  return gathers_in_forward(megatron) && megatron_chunks(megatron) > 1 && megatron->options->align_param_gather;
}

static guint32 gather_bucket(Megatron *megatron, guint b, guint32 need, ProgramHint hint) {
  guint64 bytes = megatron_gather_bytes(megatron, b);
  const MegatronData *data = megatron_data(megatron, b);
  if (data->shards == 1)
    return PROGRAM_NONE;
  program_builder_context(megatron->builder, PROGRAM_GATHER, -1, -1);
  guint32 row = plan_walk_collective(megatron->walk, data->comm, "all-gather parameters", data->shard_slot,
                                     (CollCall){COLL_ALL_GATHER, bytes}, hint);
  program_builder_need(megatron->builder, need);
  return megatron->work[b].gather = row;
}

static void gather_chunk(Megatron *megatron, guint32 chunk) {
  for (guint b = megatron->layout->firsts[chunk]; b < megatron->layout->firsts[chunk + 1]; b++)
    gather_bucket(megatron, b, PROGRAM_NONE, PROGRAM_HINT_NONE);
}

void megatron_begin_gathers(Megatron *megatron) {
  for (guint b = 0; b < megatron->layout->buckets->n; b++)
    megatron->work[b].gather = PROGRAM_NONE;
  for (guint32 c = 0; c < 2 && is_aligned(megatron); c++)
    gather_chunk(megatron, c);
}

/* The chunk of the forward pass `ahead` of this one, where that is its first. */
static gboolean find_begun(const Megatron *megatron, guint32 ahead, guint32 *ret_chunk) {
  const PlanHolding *holding = megatron->walk->holding;
  guint32 seen = 0;
  for (guint32 i = 0; i < holding->n_passes; i++) {
    const PlanSchedulePass *pass = &holding->passes[i];
    if (pass->kind != PLAN_PASS_FORWARD || seen++ != megatron->forwards + ahead)
      continue;
    *ret_chunk = pass->chunk;
    return pass->micro == 0;
  }
  return FALSE;
}

void megatron_before_unit(gpointer policy, guint32 unit, PlanPass pass) {
  Megatron *megatron = policy;
  const PlanHolding *holding = megatron->walk->holding;
  guint32 chunk;
  megatron_fp8_before_unit(megatron, unit, pass);
  if (pass != PLAN_FORWARD || unit != holding->chunks[megatron->walk->chunk].first)
    return;
  if (is_aligned(megatron) && find_begun(megatron, holding->rank, &chunk) && chunk > 0 && chunk + 1 < holding->n_chunks)
    gather_chunk(megatron, chunk + 1);
  megatron->forwards++;
}

/* A module's hook waits for its bucket and dispatches the one after it in forward, which lies before it in the
 * buffer. */
static void wait_for_bucket(Megatron *megatron, guint b) {
  guint before = plan_megatron_bucket_before(megatron->layout, megatron->walk->chunk, b);
  guint32 row = megatron->work[b].gather;
  if (row == PROGRAM_NONE)
    row = gather_bucket(megatron, b, PROGRAM_NONE, PROGRAM_HINT_NONE);
  plan_walk_need(megatron->walk, row);
  if (before != PLAN_NO_BUCKET && megatron->work[before].gather == PROGRAM_NONE)
    gather_bucket(megatron, before, PROGRAM_NONE, PROGRAM_HINT_NONE);
}

static void wait_for_parameters(Megatron *megatron, guint32 unit, const ModelOp *op) {
  for (guint i = 0; i < megatron->walk->units[unit].unit->n_parameters; i++) {
    guint p = plan_parameters_find(megatron->parameters, unit, i);
    if ((op->uses >> i & 1) != 0 && p != PLAN_NO_PARAMETER)
      wait_for_bucket(megatron, megatron->layout->buckets->of[p]);
  }
}

void megatron_before_op(gpointer policy, guint32 unit, const ModelOp *op, PlanPass pass) {
  Megatron *megatron = policy;
  if (pass == PLAN_FORWARD && megatron->walk->micro == 0 && gathers_in_forward(megatron))
    wait_for_parameters(megatron, unit, op);
  megatron_fp8_before_op(megatron, unit, op, pass);
}

void megatron_gather_all(Megatron *megatron) {
  if (!megatron_gathers_after(megatron))
    return;
  guint32 stepped = megatron->walk->last;
  for (guint b = megatron->layout->buckets->n; b-- > 0;)
    plan_walk_need(megatron->walk, gather_bucket(megatron, b, stepped, PROGRAM_HINT_BOUNDARY));
}
