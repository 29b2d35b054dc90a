/* DeepSpeed's step: norm, optimizer on what the rank owns, and in stages 1 and 2 the gather of all parameters.
 *
 *   C: norm ─► all-reduce of one number ─► the host waits ─► C: flatten, to fp32, clip, Adam, to 16 bits ─► all-gather
 *
 * The gather is on the compute stream: nothing hides it. Source: stage_1_and_2.py (step, _step_without_closure),
 * runtime/utils.py (all_gather_dp_groups), fp16/fused_optimizer.py, bf16_optimizer.py. */
#include "mem-tenant.h"
#include "plan-zero.h"

#define FP32   4
#define SCALAR 8 /* bytes of a number that ranks reduce */

static void take_in(PlanZero *zero, guint32 tensor) {
  if (tensor != PROGRAM_NONE)
    plan_walk_take(zero->walk, tensor);
}

static void give_up(PlanZero *zero, guint32 tensor) {
  if (tensor != PROGRAM_NONE)
    plan_walk_give(zero->walk, tensor, PROGRAM_NONE);
}

static void norm(PlanZero *zero) {
  if (!plan_offload_on(zero))
    plan_update_norm(zero->walk, zero->norm);
  if (!plan_zero_alone(zero))
    plan_lane_collective(&zero->compute, zero->comm, "reduce norm", zero->world, (CollCall){COLL_ALL_REDUCE, SCALAR},
                         PROGRAM_HINT_NONE);
  plan_walk_host(zero->walk, "wait for the norm");
  plan_lane_block(&zero->compute);
}

static gboolean flattens(const PlanZero *zero) {
  return zero->flat != PROGRAM_NONE;
}

static void update(PlanZero *zero) {
  if (plan_offload_on(zero)) {
    plan_offload_update(zero);
    return;
  }
  if (flattens(zero)) {
    plan_lane_pass(&zero->compute, "flatten own gradients", plan_zero_op(zero, zero->shard, 2 * zero->kept));
    take_in(zero, zero->flat);
  }
  for (guint i = 0; i < zero->groups; i++) {
    plan_update_run(zero->walk, i + 1 < zero->groups ? zero->update : zero->last_update, NULL);
    take_in(zero, zero->cast);
    if (zero->section == PROGRAM_FIRST && i == 0)
      program_builder_take(zero->builder, zero->momenta);
    if (flattens(zero))
      give_up(zero, zero->flat);
    give_up(zero, zero->cast);
  }
}

/* Pieces of at most allgather_bucket_size elements, as long as there were any. */
static void gather(PlanZero *zero) {
  guint64 all = zero->shard * zero->owners, piece = all;
  if (zero->recipe->version < PLAN_ZERO_ONE_GATHER && zero->options->allgather_bucket_size > 0)
    piece = MIN(all, zero->options->allgather_bucket_size);
  program_builder_context(zero->builder, PROGRAM_GATHER, -1, -1);
  for (guint64 done = 0; done < all; done += piece) {
    CollCall call = {COLL_ALL_GATHER, MIN(piece, all - done) * zero->walk->element_bytes};
    plan_lane_collective(&zero->compute, zero->comm, "gather parameters", zero->world, call, PROGRAM_HINT_BOUNDARY);
  }
}

static void free_gradients(PlanZero *zero) {
  gboolean in_grad = zero->recipe->zero_stage == 0 || (plan_zero_alone(zero) && zero->fetch == NULL);
  for (guint p = 0; in_grad && !zero->hybrid && p < zero->parameters->n; p++)
    plan_walk_give(zero->walk, zero->gradients[p], PROGRAM_NONE);
  if (zero->partition_held)
    plan_walk_give(zero->walk, zero->partition, PROGRAM_NONE);
  zero->partition_held = FALSE;
}

void plan_step(PlanZero *zero) {
  program_builder_context(zero->builder, PROGRAM_OPTIMIZER, -1, -1);
  norm(zero);
  update(zero);
  free_gradients(zero);
  if ((zero->recipe->zero_stage == 1 || zero->recipe->zero_stage == 2) && !plan_zero_alone(zero))
    gather(zero);
  if (zero->fetch != NULL && !plan_zero_alone(zero))
    plan_fetch_step_ended(zero->fetch);
  program_builder_context(zero->builder, PROGRAM_OPTIMIZER, -1, -1);
  plan_walk_host(zero->walk, "end of step");
  plan_lane_block(&zero->compute);
}

static PlanUpdate *update_of(PlanZero *zero, guint64 elements, guint32 arriving, gboolean norm_too) {
  gboolean plain = zero->recipe->zero_stage == 0 && zero->walk->element_bytes == FP32;
  return plan_update_new(zero->walk,
                         &(ModelOptimizer){.style = plain ? MODEL_OPTIMIZER_FUSED : MODEL_OPTIMIZER_DEEPSPEED,
                                           .elements = elements,
                                           .tensors = 1,
                                           .element_bytes = zero->walk->element_bytes,
                                           .gradient_bytes = arriving,
                                           .norm = norm_too,
                                           .clip = zero->recipe->gradient_clipping > 0});
}

/* Stage 3 updates its shard in groups of sub_group_size elements, the last of which may be smaller. */
static guint64 group_elements(const PlanZero *zero) {
  guint64 most = zero->options->sub_group_size;
  return zero->recipe->zero_stage == 3 && most > 0 ? MIN(zero->shard, most) : zero->shard;
}

void plan_step_init(PlanZero *zero) {
  guint64 group = group_elements(zero);
  guint32 arriving = zero->hybrid ? FP32 : zero->kept;
  guint64 stage = zero->recipe->zero_stage;
  gboolean lists = (stage == 1 || stage == 2) && !zero->hybrid && !plan_zero_alone(zero);
  zero->flat = zero->cast = PROGRAM_NONE;
  if (lists)
    zero->flat =
        program_builder_tensor(zero->builder, "own gradients, flat", MEM_TEMPORARY, zero->shard * zero->kept, 0);
  if (arriving < FP32)
    zero->cast = program_builder_tensor(zero->builder, "own gradients in fp32", MEM_TEMPORARY, group * FP32, 0);
  zero->groups = (guint)((zero->shard + group - 1) / group);
  zero->update = update_of(zero, group, arriving, FALSE);
  zero->last_update = update_of(zero, zero->shard - (zero->groups - 1) * group, arriving, FALSE);
  zero->norm = update_of(zero, zero->shard, arriving, TRUE);
}
