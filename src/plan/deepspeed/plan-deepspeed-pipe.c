/* SPDX-License-Identifier: MIT */
/* DeepSpeed's pipeline engine, around the passes and at the end of a step.
 *
 *   receive   into one buffer, copied to the micro-batch's input, which stays until its gradient is sent; forward works
 *             on a copy of that
 *   tensor    outputs and gradients are cut over the tensor ranks, who send a part each and gather the whole where it
 *             came; backward gathers its own output first, which was given up for the part that was sent. How a part
 *             lies in the whole is said by a small tensor that goes ahead of it: made on the host and copied to the
 *             GPU, for which the host waits until the pass before is done; until 0.12.6 it was read by the host where
 *             it came, which waited there, too (pull request 4360)
 *   forward   begins when the device is done with all before it (utils/timer.py, ThroughputTimer.start)
 *   step      tied gradients over first and last stage ─► all gradients over data ─► norm over all ranks of the model
 *
 * Source: deepspeed/runtime/pipe/engine.py (0.6 to 0.19), runtime/utils.py (PartitionedTensor). */
#include "mem-tenant.h"
#include "plan-deepspeed-engine.h"
#include "plan-groups.h"
#include "plan-model-parallel.h"

#define SCALAR 8 /* bytes: a norm, or a loss and its mean */

static guint64 boundary_bytes(const PlanDeepspeedEngine *engine, guint32 unit, ModelTensorRole role) {
  const ModelUnit *part = engine->walk->units[unit].unit;
  guint64 bytes = 0;
  for (guint t = 0; t < part->n_tensors; t++)
    bytes += part->tensors[t].role == role ? part->tensors[t].bytes : 0;
  return bytes;
}

static guint32 parts_of(const PlanDeepspeedEngine *engine, ModelTensorRole role) {
  gboolean gradient = role == MODEL_TENSOR_GRAD_OUTPUT || role == MODEL_TENSOR_GRAD_INPUT;
  return gradient ? engine->recipe->pipeline.gradient_parts : engine->recipe->pipeline.parts;
}

static void copy(PlanDeepspeedEngine *engine, const char *name, guint64 bytes) {
  plan_stream_pass(&engine->streams.compute, name, plan_deepspeed_op(engine, bytes, 2));
}

static void block(PlanDeepspeedEngine *engine, const char *name) {
  plan_walk_host(engine->walk, name);
  plan_stream_block(&engine->streams.compute);
}

/* Into a buffer that is zeroed first, and copied out of it. */
static void gather(PlanDeepspeedEngine *engine, const char *name, guint64 bytes) {
  guint32 row = plan_walk_collective(engine->walk, engine->pipe.stream, name, engine->pipe.tensor,
                                     (CollCall){COLL_ALL_GATHER, bytes}, PROGRAM_HINT_NONE);
  plan_walk_follow(engine->walk);
  plan_walk_need(engine->walk, row);
  plan_stream_pass(&engine->streams.compute, "copy the whole", plan_deepspeed_op(engine, bytes, 3));
}

void plan_deepspeed_pipe_received(gpointer policy, guint32 unit, ModelTensorRole role) {
  PlanDeepspeedEngine *engine = policy;
  PlanDeepspeedPipe *pipe = &engine->pipe;
  guint64 bytes = boundary_bytes(engine, unit, role);
  guint32 parts = parts_of(engine, role);
  if (parts > 1 && engine->recipe->version < PLAN_DEEPSPEED_META_KEPT)
    block(engine, "read how the part lies");
  if (role == MODEL_TENSOR_INPUT) {
    copy(engine, "copy what came", bytes / parts);
    if (pipe->inputs != NULL) {
      plan_walk_take(engine->walk, pipe->inputs[engine->walk->place]);
      copy(engine, "copy input", bytes);
    }
  } else if (engine->recipe->pipeline.parts > 1) {
    gather(engine, "gather own output", boundary_bytes(engine, unit, MODEL_TENSOR_OUTPUT));
  }
  if (parts > 1)
    gather(engine, role == MODEL_TENSOR_INPUT ? "gather activations" : "gather gradients", bytes);
}

/* Its throughput timer, which runs from the third step on, synchronizes the device. */
void plan_deepspeed_pipe_forward_begins(PlanDeepspeedEngine *engine) {
  if (engine->pipe.on && engine->walk->section == PROGRAM_STEADY)
    block(engine, "synchronize the device");
}

void plan_deepspeed_pipe_sending(gpointer policy, guint32 unit, ModelTensorRole role) {
  PlanDeepspeedEngine *engine = policy;
  guint32 parts = parts_of(engine, role);
  if (parts <= 1)
    return;
  copy(engine, "copy own part", boundary_bytes(engine, unit, role) / parts);
  block(engine, "say how the part lies");
}

void plan_deepspeed_pipe_sent(gpointer policy, guint32 unit, ModelTensorRole role) {
  PlanDeepspeedEngine *engine = policy;
  (void)unit;
  if (role == MODEL_TENSOR_GRAD_INPUT && engine->pipe.inputs != NULL)
    plan_walk_give(engine->walk, engine->pipe.inputs[engine->walk->place], PROGRAM_NONE);
}

/* ---- The end of a step ---- */

void plan_deepspeed_pipe_reduce(PlanDeepspeedEngine *engine) {
  if (!engine->pipe.on)
    return;
  plan_sum_tied(engine->walk, engine->pipe.what, engine->hybrid ? sizeof(float) : engine->bytes.made);
  plan_deepspeed_buckets_reduce(engine);
  program_builder_context(engine->builder, PROGRAM_OPTIMIZER, -1, -1);
}

void plan_deepspeed_pipe_loss(PlanDeepspeedEngine *engine) {
  if (engine->pipe.on)
    plan_stream_collective(&engine->streams.compute, engine->streams.comm, "broadcast loss", engine->pipe.stages,
                           (CollCall){COLL_BROADCAST, SCALAR}, PROGRAM_HINT_PIPELINE);
}

/* ---- Setting up ---- */

static void add_inputs(PlanDeepspeedEngine *engine, guint64 bytes) {
  const PlanHolding *holding = engine->walk->holding;
  engine->pipe.inputs = g_new(guint32, holding->n_places);
  for (guint32 place = 0; place < holding->n_places; place++)
    engine->pipe.inputs[place] = program_builder_tensor(engine->builder, "received input", MEM_ACTIVATIONS, bytes, 0);
}

static void add_buffers(PlanDeepspeedEngine *engine) {
  PlanDeepspeedPipe *pipe = &engine->pipe;
  const PlanHolding *holding = engine->walk->holding;
  guint32 last = engine->recipe->axes.layout.degree[LAYOUT_PIPELINE] - 1;
  guint64 input = holding->rank > 0 ? boundary_bytes(engine, 0, MODEL_TENSOR_INPUT) : 0;
  guint64 gradient = holding->rank < last && engine->recipe->pipeline.gradient_parts > 1
                         ? boundary_bytes(engine, engine->walk->n_units - 1, MODEL_TENSOR_GRAD_OUTPUT)
                         : 0;
  guint64 bytes = input / engine->recipe->pipeline.parts + gradient / engine->recipe->pipeline.gradient_parts;
  if (bytes > 0)
    pipe->buffers = program_builder_tensor(engine->builder, "receive buffers", MEM_COMMUNICATION, bytes, 0);
  if (input > 0 && engine->recipe->pipeline.parts == 1)
    add_inputs(engine, input);
}

void plan_deepspeed_pipe_init(PlanDeepspeedEngine *engine, const PlanCase *what) {
  const PlanRecipe *recipe = engine->recipe;
  Layout layout = plan_groups_layout(recipe);
  guint32 tensor = layout.degree[LAYOUT_TENSOR], stages = layout.degree[LAYOUT_PIPELINE];
  PlanDeepspeedPipe *pipe = &engine->pipe;
  *pipe = (PlanDeepspeedPipe){
      .on = stages > 1, .what = what, .stages = PROGRAM_NONE, .tensor = PROGRAM_NONE, .buffers = PROGRAM_NONE};
  if (!pipe->on)
    return;
  pipe->stages = plan_groups_of(engine->builder, "pipeline", recipe, LAYOUT_BIT(LAYOUT_PIPELINE));
  if (tensor > 1) {
    pipe->tensor = plan_groups_of(engine->builder, "tensor", recipe, LAYOUT_BIT(LAYOUT_TENSOR));
    pipe->stream = program_builder_stream(engine->builder, "tensor");
  }
  add_buffers(engine);
}
