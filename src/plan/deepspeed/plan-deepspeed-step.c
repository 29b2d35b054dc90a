/* SPDX-License-Identifier: MIT */
/* DeepSpeed's step: norm, optimizer on what the rank owns, and in stages 1 and 2 the gather of all parameters.
 *
 *   C: norm ─► all-reduce of one number ─► the host waits ─► C: flatten, to fp32, clip, Adam, to 16 bits ─► all-gather
 *
 * The gather is on the compute stream: nothing hides it. Source: stage_1_and_2.py (step, _step_without_closure),
 * runtime/utils.py (all_gather_dp_groups), fp16/fused_optimizer.py, bf16_optimizer.py. */
#include "mem-tenant.h"
#include "plan-deepspeed-engine.h"
#include "plan-model-parallel.h"

#define FP32   4
#define SCALAR 8 /* bytes of a number that ranks reduce */

static void take_in(PlanDeepspeedEngine *engine, guint32 tensor) {
  if (tensor != PROGRAM_NONE)
    plan_walk_take(engine->walk, tensor);
}

static void give_up(PlanDeepspeedEngine *engine, guint32 tensor) {
  if (tensor != PROGRAM_NONE)
    plan_walk_give(engine->walk, tensor, PROGRAM_NONE);
}

static void norm(PlanDeepspeedEngine *engine) {
  if (!plan_deepspeed_offload_on(engine))
    plan_update_norm(engine->walk, engine->optimizer.norm);
  for (guint kind = 0; kind < engine->kinds; kind++)
    if (engine->data[kind].ranks > 1)
      plan_stream_collective(&engine->streams.compute, engine->streams.comm, "reduce norm", engine->data[kind].slot,
                             (CollCall){COLL_ALL_REDUCE, SCALAR}, PROGRAM_HINT_NONE);
  plan_sum_norm(engine->walk);
  plan_walk_host(engine->walk, "wait for the norm");
  plan_stream_block(&engine->streams.compute);
}

static void take_momenta(PlanDeepspeedEngine *engine) {
  for (guint k = 0; k < G_N_ELEMENTS(engine->optimizer.momenta); k++)
    if (engine->optimizer.momenta[k] != PROGRAM_NONE)
      program_builder_take(engine->builder, engine->optimizer.momenta[k]);
  plan_paged_take(&engine->optimizer.paged, engine->walk);
}

static void free_own(PlanDeepspeedEngine *engine) {
  if (engine->grads.own_held)
    plan_walk_give(engine->walk, engine->grads.own, PROGRAM_NONE);
  engine->grads.own_held = FALSE;
}

/* self.flatten(self.averaged_gradients[i]).to(fp32): the flat copy is gone once it is cast, and in stages 1 and 2 so
 * are the gradients themselves, before Adam takes its temporaries. Source: step in stage_1_and_2.py,
 * _prepare_fp32_grad_for_sub_group in stage3.py, the same from 0.8 to 0.19. */
static void cast_gradients(PlanDeepspeedEngine *engine, const PlanDeepspeedGroup *group, gboolean last) {
  if (group->flat != PROGRAM_NONE)
    plan_stream_pass(&engine->streams.compute, "flatten own gradients",
                     plan_deepspeed_op(engine, group->elements, 2 * engine->bytes.kept));
  take_in(engine, group->flat);
  take_in(engine, group->cast);
  give_up(engine, group->flat);
  if (last)
    free_own(engine);
}

static void update(PlanDeepspeedEngine *engine) {
  if (plan_deepspeed_offload_on(engine)) {
    plan_deepspeed_offload_update(engine);
    return;
  }
  plan_paged_move(&engine->optimizer.paged, engine->walk);
  for (guint i = 0; i < engine->optimizer.groups->len; i++) {
    const PlanDeepspeedGroup *group =
        g_ptr_array_index(engine->optimizer.sizes, g_array_index(engine->optimizer.groups, guint, i));
    cast_gradients(engine, group, i + 1 == engine->optimizer.groups->len);
    plan_update_run(engine->walk, group->update, NULL);
    if (engine->walk->section == PROGRAM_FIRST && i == 0)
      take_momenta(engine);
    for (guint k = 0; k < G_N_ELEMENTS(group->roots); k++)
      take_in(engine, group->roots[k]);
    for (guint k = 0; k < G_N_ELEMENTS(group->roots); k++)
      give_up(engine, group->roots[k]);
    give_up(engine, group->cast);
  }
}

/* Pieces of at most allgather_bucket_size elements, as long as there were any. */
static void gather(PlanDeepspeedEngine *engine, const PlanDeepspeedData *data) {
  guint64 all = data->shard * data->owners, piece = all;
  if (engine->recipe->version < PLAN_DEEPSPEED_ONE_GATHER && engine->options->allgather_bucket_size > 0)
    piece = MIN(all, engine->options->allgather_bucket_size);
  program_builder_context(engine->builder, PROGRAM_GATHER, -1, -1);
  for (guint64 done = 0; done < all; done += piece) {
    CollCall call = {COLL_ALL_GATHER, MIN(piece, all - done) * engine->walk->element_bytes};
    plan_stream_collective(&engine->streams.compute, engine->streams.comm, "gather parameters", data->slot, call,
                           PROGRAM_HINT_BOUNDARY);
  }
}

static void free_gradients(PlanDeepspeedEngine *engine) {
  gboolean in_grad = engine->recipe->zero_stage == 0 || (plan_walk_alone(engine->walk) && engine->fetch == NULL);
  for (guint p = 0; in_grad && !engine->hybrid && p < engine->parameters->n; p++)
    plan_walk_give(engine->walk, engine->grads.whole[p], PROGRAM_NONE);
  free_own(engine);
}

void plan_deepspeed_step(gpointer policy) {
  PlanDeepspeedEngine *engine = policy;
  plan_deepspeed_pipe_reduce(engine);
  norm(engine);
  update(engine);
  free_gradients(engine);
  if ((engine->recipe->zero_stage == 1 || engine->recipe->zero_stage == 2) && !plan_walk_alone(engine->walk))
    for (guint kind = 0; kind < engine->kinds; kind++)
      if (engine->data[kind].ranks > 1)
        gather(engine, &engine->data[kind]);
  if (engine->fetch != NULL && !plan_walk_alone(engine->walk))
    plan_deepspeed_fetch_step_ended(engine->fetch);
  plan_deepspeed_pipe_loss(engine);
}

static PlanUpdate *update_of(PlanDeepspeedEngine *engine, guint64 elements, guint32 arriving, gboolean norm_too) {
  gboolean plain = engine->recipe->zero_stage == 0 && engine->walk->element_bytes == FP32;
  int asked = engine->recipe->optimizer_style;
  gboolean torch = asked == PLAN_STYLE_FOREACH || asked == PLAN_STYLE_SINGLE;
  ModelOptimizerStyle own = torch ? MODEL_OPTIMIZER_DEEPSPEED_TORCH : MODEL_OPTIMIZER_DEEPSPEED;
  return plan_update_new(
      engine->walk,
      &(ModelOptimizer){.style = plain ? plan_optimizer_style(engine->recipe, MODEL_OPTIMIZER_FUSED) : own,
                        .elements = elements,
                        .tensors = 1,
                        .element_bytes = engine->walk->element_bytes,
                        .gradient_bytes = arriving,
                        .norm = norm_too,
                        .clip = engine->recipe->gradient_clipping > 0});
}

static void group_free(gpointer data) {
  PlanDeepspeedGroup *group = data;
  plan_update_free(group->update);
  g_free(group);
}

/* torch/optim/adam.py: _foreach_sqrt makes a list as large as the parameters, divided and added to in place; one tensor
 * after the other, the quotient is another tensor while the root is still there. */
static void add_roots(PlanDeepspeedEngine *engine, PlanDeepspeedGroup *group) {
  static const char *const names[] = {"roots of the variance", "denominators"};
  int style = engine->recipe->optimizer_style;
  guint n = style == PLAN_STYLE_SINGLE ? 2 : style == PLAN_STYLE_FOREACH ? 1 : 0;
  for (guint k = 0; k < G_N_ELEMENTS(names); k++)
    group->roots[k] = k < n
                          ? program_builder_tensor(engine->builder, names[k], MEM_TEMPORARY, group->elements * FP32, 0)
                          : PROGRAM_NONE;
}

/* Stages 1 and 2 of what several ranks share out, stage 3 always. */
static gboolean flattens(const PlanDeepspeedEngine *engine) {
  guint64 stage = engine->recipe->zero_stage;
  return stage == 3 || ((stage == 1 || stage == 2) && !engine->hybrid && !plan_walk_alone(engine->walk));
}

static guint size_of_group(PlanDeepspeedEngine *engine, guint64 elements, guint32 arriving) {
  GPtrArray *sizes = engine->optimizer.sizes;
  for (guint i = 0; i < sizes->len; i++)
    if (((PlanDeepspeedGroup *)g_ptr_array_index(sizes, i))->elements == elements)
      return i;
  PlanDeepspeedGroup *group = g_new(PlanDeepspeedGroup, 1);
  *group = (PlanDeepspeedGroup){.elements = elements,
                                .flat = PROGRAM_NONE,
                                .cast = PROGRAM_NONE,
                                .update = update_of(engine, elements, arriving, FALSE)};
  if (arriving < FP32)
    group->cast = program_builder_tensor(engine->builder, "own gradients in fp32", MEM_TEMPORARY, elements * FP32, 0);
  if (flattens(engine))
    group->flat =
        program_builder_tensor(engine->builder, "own gradients, flat", MEM_TEMPORARY, elements * engine->bytes.kept, 0);
  add_roots(engine, group);
  g_ptr_array_add(sizes, group);
  return sizes->len - 1;
}

static void add_group(PlanDeepspeedEngine *engine, guint64 elements, guint32 arriving) {
  guint size = size_of_group(engine, elements, arriving);
  g_array_append_val(engine->optimizer.groups, size);
}

/* Stage 3 updates whole parameters' shards together, up to the first with which they reach sub_group_size. Source:
 * stage3.py, _create_fp16_sub_groups. */
static void add_groups(PlanDeepspeedEngine *engine, guint32 arriving) {
  guint64 least = engine->options->sub_group_size, elements = 0;
  engine->optimizer.sizes = g_ptr_array_new_with_free_func(group_free);
  engine->optimizer.groups = g_array_new(FALSE, FALSE, sizeof(guint));
  if (engine->recipe->zero_stage < 3 || least >= engine->shard) {
    for (guint kind = 0; kind < engine->kinds; kind++)
      add_group(engine, engine->data[kind].shard, arriving);
    return;
  }
  for (guint p = 0; p < engine->parameters->n; p++) {
    elements += (engine->parameters->list[p].elements + engine->owners - 1) / engine->owners;
    if (elements < least && p + 1 < engine->parameters->n)
      continue;
    add_group(engine, elements, arriving);
    elements = 0;
  }
}

void plan_deepspeed_step_init(PlanDeepspeedEngine *engine) {
  guint32 arriving = engine->hybrid ? FP32 : engine->bytes.kept;
  add_groups(engine, arriving);
  engine->optimizer.norm = update_of(engine, engine->shard, arriving, TRUE);
}
