/* DeepSpeed's offload: optimizer states, own gradients, and in stage 3 parameters, in host memory.
 *
 *   own slice of a bucket   a micro-batch but the last: to the host (from the second on: from the host, added, back)
 *                           the last: its norm, to fp32, to the host
 *   step                    the norms' sum over ranks ─ host waits ─ CPU: Adam ─ host waits ─ 16-bit parameters to the GPU
 *
 * Copies are on the stream that reduces, so that it waits for them. Adam on the host is bound by its memory: every state
 * in and out, the gradient in, 16-bit parameters out. Source: stage_1_and_2.py (async_accumulate_grad_in_cpu_via_gpu,
 * async_inplace_copy_grad_to_fp32_buffer_from_gpu), stage3.py (partition_grads), csrc/adam/cpu_adam_impl.cpp. */
#include "mem-tenant.h"
#include "plan-zero.h"

#define FP32 4
#define FP64 8 /* DeepSpeed takes the norm of a double copy */

gboolean plan_offload_on(const PlanZero *zero) {
  return zero->recipe->offload_optimizer == PLAN_OFFLOAD_CPU;
}

static ProgramPath path(const PlanZero *zero) {
  return zero->options->offload_pin_memory ? PROGRAM_PINNED : PROGRAM_PAGEABLE;
}

void plan_offload_own(PlanZero *zero, guint64 elements) {
  PlanLane *lane = &zero->reduce;
  gboolean earlier = zero->recipe->zero_stage > 1 && zero->walk->micro > 0; /* stage 1 adds up on the GPU */
  if (earlier) {
    plan_lane_copy(lane, "own gradients from host", elements * zero->kept, path(zero));
    plan_lane_pass(lane, "add to own gradients", plan_zero_op(zero, elements, zero->bytes + 2 * zero->kept));
  }
  if (!plan_zero_last_micro(zero)) {
    plan_lane_copy(lane, "own gradients to host", elements * zero->kept, path(zero));
    return;
  }
  plan_lane_pass(lane, "norm of own gradients", plan_zero_op(zero, elements, zero->kept + 2 * FP64));
  plan_walk_take(zero->walk, zero->wide);
  plan_walk_give(zero->walk, zero->wide, PROGRAM_NONE);
  plan_lane_pass(lane, "own gradients to fp32", plan_zero_op(zero, elements, zero->kept + FP32));
  plan_lane_copy(lane, "own fp32 gradients to host", elements * FP32, path(zero));
}

static guint64 adam_bytes(const PlanZero *zero) {
  guint64 momenta = plan_optimizer_bytes(zero->recipe->optimizer, zero->shard, FP32, FALSE);
  return zero->shard * (FP32 + 2 * FP32 + zero->walk->element_bytes) + 2 * momenta;
}

/* Parameters come as they are kept on the GPU; before 0.17 as fp32, to be cast there. */
static void copy_back(PlanZero *zero) {
  gboolean wide = zero->recipe->version < PLAN_ZERO_HALF_BACK;
  guint32 bytes = wide ? FP32 : zero->walk->element_bytes;
  plan_lane_copy(&zero->compute, "updated parameters from host", zero->shard * bytes, path(zero));
  if (!wide)
    return;
  plan_walk_take(zero->walk, zero->back);
  plan_lane_pass(&zero->compute, "updated parameters to 16 bits",
                 plan_zero_op(zero, zero->shard, FP32 + zero->walk->element_bytes));
  plan_walk_give(zero->walk, zero->back, PROGRAM_NONE);
}

void plan_offload_update(PlanZero *zero) {
  guint32 row = plan_walk_cpu(zero->walk, zero->cpu, "adam on the host", adam_bytes(zero));
  plan_walk_host(zero->walk, "wait for the host's adam");
  program_builder_need(zero->builder, row);
  if (zero->recipe->offload_parameters == PLAN_OFFLOAD_NO)
    copy_back(zero);
}

/* Own shards of what is to be gathered, from the host. */
void plan_offload_fetch(PlanZero *zero, PlanLane *lane, guint64 elements) {
  ProgramPath pages = zero->options->offload_param_pin_memory ? PROGRAM_PINNED : PROGRAM_PAGEABLE;
  if (zero->recipe->offload_parameters == PLAN_OFFLOAD_CPU)
    plan_lane_copy(lane, "own shards from host", elements * zero->walk->element_bytes, pages);
}

void plan_offload_init(PlanZero *zero) {
  guint64 largest = 0;
  for (guint p = 0; p < zero->parameters->n; p++)
    largest = MAX(largest, zero->parameters->list[p].elements);
  zero->cpu = program_builder_stream(zero->builder, "cpu");
  zero->master = zero->momenta = PROGRAM_NONE;
  zero->partition = program_builder_tensor(zero->builder, "gradient on its way to the host", MEM_COMMUNICATION,
                                           largest * zero->kept, 0);
  zero->wide = program_builder_tensor(zero->builder, "double copy for the norm", MEM_TEMPORARY, largest * FP64, 0);
  zero->back =
      program_builder_tensor(zero->builder, "updated parameters in fp32", MEM_TEMPORARY, zero->shard * FP32, 0);
}
