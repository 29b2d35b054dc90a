/* SPDX-License-Identifier: MIT */
/* DeepSpeed's offload: optimizer states, own gradients, and in stage 3 parameters, in host memory.
 *
 *   own slice of a bucket   a micro-batch but the last: to the host (from the second on: from the host, added, back);
 *                           in stage 3 the last too, and the first comes back at once
 *                           the last: its norm, to fp32, to the host
 *   step                    the norms' sum over ranks ─ host waits ─ CPU: Adam ─ host waits ─ 16-bit parameters back
 *
 * Copies are on the stream that reduces, so that it waits for them. Adam on the host is bound by its memory: every
 * state in and out, the gradient in, 16-bit parameters out. Source: stage_1_and_2.py
 * (async_accumulate_grad_in_cpu_via_gpu, async_inplace_copy_grad_to_fp32_buffer_from_gpu), stage3.py (partition_grads,
 * unscale_and_clip_grads; the last copy was blocking until 0.19.5), csrc/adam/cpu_adam_impl.cpp. */
#include "mem-tenant.h"
#include "plan-deepspeed-engine.h"

#define FP32  4
#define FP64  8                    /* DeepSpeed takes the norm of a double copy */
#define PIECE ((guint64)250000000) /* stage 3: of so many elements at a time: stage3.py, _constant_buffered_norm2 */

gboolean plan_deepspeed_offload_on(const PlanDeepspeedEngine *engine) {
  return engine->recipe->offload_optimizer == PLAN_OFFLOAD_CPU;
}

static ProgramPath path(const PlanDeepspeedEngine *engine) {
  return engine->options->offload_pin_memory ? PROGRAM_PINNED : PROGRAM_PAGEABLE;
}

/* A copy from or to pageable memory has the host wait until it is done, whatever is asked for; so do stage 3's last
 * ones, which asked for it. */
static void copy_own(PlanDeepspeedEngine *engine, const char *name, guint64 bytes, gboolean waits) {
  plan_stream_copy(&engine->streams.reduce, name, bytes, path(engine));
  if (!waits && path(engine) == PROGRAM_PINNED)
    return;
  plan_walk_host(engine->walk, "wait for gradients on their way to or from the host");
  plan_stream_block(&engine->streams.reduce);
}

/* Stage 3 keeps what it adds up in host memory from the first micro-batch on, and goes on with a copy of that. */
static void keep_own(PlanDeepspeedEngine *engine, guint64 elements) {
  guint64 bytes = elements * engine->bytes.kept;
  gboolean third = engine->recipe->zero_stage == 3, last = plan_walk_last_micro(engine->walk);
  gboolean earlier = engine->recipe->zero_stage > 1 && engine->walk->micro > 0; /* stage 1 adds up on the GPU */
  if (earlier) {
    copy_own(engine, "own gradients from host", bytes, FALSE);
    plan_stream_pass(&engine->streams.reduce, "add to own gradients",
                     plan_deepspeed_op(engine, elements, engine->bytes.made + 2 * engine->bytes.kept));
  }
  if (third || !last)
    copy_own(engine, "own gradients to host", bytes, FALSE);
  if (third && !earlier)
    copy_own(engine, "own gradients from host", bytes, FALSE);
}

static guint32 take_copy(PlanDeepspeedEngine *engine, const char *name, MemTenant tenant, guint64 bytes) {
  guint32 copy = program_builder_tensor(engine->builder, name, (guint8)tenant, bytes, 0);
  plan_walk_take(engine->walk, copy);
  return copy;
}

static void to_fp32(PlanDeepspeedEngine *engine, guint64 elements, guint64 largest) {
  gboolean third = engine->recipe->zero_stage == 3, casts = engine->bytes.kept != FP32;
  PlanStream *stream = &engine->streams.reduce;
  guint64 piece = third ? MIN(largest, PIECE) : largest;
  plan_stream_pass(stream, "norm of own gradients", plan_deepspeed_op(engine, elements, engine->bytes.kept + 2 * FP64));
  plan_walk_give(engine->walk, take_copy(engine, "double copy for the norm", MEM_TEMPORARY, piece * FP64),
                 PROGRAM_NONE);
  plan_stream_pass(stream, "own gradients to fp32", plan_deepspeed_op(engine, elements, engine->bytes.kept + FP32));
  guint32 wide = casts ? take_copy(engine, "own gradient in fp32", MEM_TEMPORARY, largest * FP32) : PROGRAM_NONE;
  copy_own(engine, "own fp32 gradients to host", elements * FP32,
           third && engine->recipe->version < PLAN_DEEPSPEED_PINNED);
  if (casts)
    plan_walk_give(engine->walk, wide, PROGRAM_NONE);
}

void plan_deepspeed_offload_own(PlanDeepspeedEngine *engine, guint64 elements, guint64 largest) {
  guint32 own = PROGRAM_NONE;
  keep_own(engine, elements);
  if (engine->recipe->zero_stage == 3)
    own = take_copy(engine, "gradient on its way to the host", MEM_COMMUNICATION, largest * engine->bytes.kept);
  if (plan_walk_last_micro(engine->walk))
    to_fp32(engine, elements, largest);
  if (own != PROGRAM_NONE)
    plan_walk_give(engine->walk, own, PROGRAM_NONE);
}

/* Gradients are scaled first, in a pass of its own; then everything at once. */
static guint64 adam_bytes(const PlanDeepspeedEngine *engine) {
  guint64 momenta = plan_optimizer_bytes(engine->recipe->optimizer, engine->shard, FP32, FALSE);
  return engine->shard * (2 * FP32 + FP32 + 2 * FP32 + engine->walk->element_bytes) + 2 * momenta;
}

/* Parameters come as they are kept on the GPU; before 0.17 as fp32, to be cast there. */
static void copy_back(PlanDeepspeedEngine *engine) {
  gboolean wide = engine->recipe->version < PLAN_DEEPSPEED_HALF_BACK;
  guint32 bytes = wide ? FP32 : engine->walk->element_bytes;
  plan_stream_copy(&engine->streams.compute, "updated parameters from host", engine->shard * bytes, path(engine));
  if (!wide)
    return;
  plan_walk_take(engine->walk, engine->offload.back);
  plan_stream_pass(&engine->streams.compute, "updated parameters to 16 bits",
                   plan_deepspeed_op(engine, engine->shard, FP32 + engine->walk->element_bytes));
  plan_walk_give(engine->walk, engine->offload.back, PROGRAM_NONE);
}

void plan_deepspeed_offload_update(PlanDeepspeedEngine *engine) {
  guint32 row = plan_walk_cpu(engine->walk, engine->offload.cpu, "adam on the host", adam_bytes(engine));
  plan_walk_host(engine->walk, "wait for the host's adam");
  program_builder_need(engine->builder, row);
  if (engine->recipe->offload_parameters == PLAN_OFFLOAD_NO)
    copy_back(engine);
}

/* Own shards of what is to be gathered, from the host. */
void plan_deepspeed_offload_fetch(PlanDeepspeedEngine *engine, PlanStream *stream, guint64 elements) {
  ProgramPath pages = engine->options->offload_param_pin_memory ? PROGRAM_PINNED : PROGRAM_PAGEABLE;
  if (engine->recipe->offload_parameters == PLAN_OFFLOAD_CPU)
    plan_stream_copy(stream, "own shards from host", elements * engine->walk->element_bytes, pages);
}

void plan_deepspeed_offload_init(PlanDeepspeedEngine *engine) {
  guint64 whole = 0;
  for (guint p = 0; p < engine->parameters->n; p++)
    whole = MAX(whole, engine->parameters->list[p].elements);
  engine->offload.largest = MIN(whole, engine->shard);
  engine->offload.cpu = program_builder_stream(engine->builder, "cpu");
  engine->optimizer.master = engine->optimizer.momenta[0] = engine->optimizer.momenta[1] = PROGRAM_NONE;
  engine->grads.own = engine->recipe->zero_stage == 3
                          ? PROGRAM_NONE
                          : program_builder_tensor(engine->builder, "gradient on its way to the host",
                                                   MEM_COMMUNICATION, whole * engine->bytes.kept, 0);
  engine->offload.back =
      program_builder_tensor(engine->builder, "updated parameters in fp32", MEM_TEMPORARY, engine->shard * FP32, 0);
}
