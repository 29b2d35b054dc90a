/* SPDX-License-Identifier: MIT */
/* FSDP's CPU offload: shards of parameters, their gradients and the optimizer's states lie in pinned host memory.
 *
 *   gather       my shard from the host ─ cast ─ all-gather …
 *   reduction    … reduce-scatter ─ cast ─ my gradient shard to the host, on the stream that reduced it
 *   step         the host waits for the copies ─ CPU: norm, clip, the optimizer's passes over host memory
 *
 * Under FSDP2 a later micro-batch's gradient is added on the CPU, for which the host waits. PyTorch's optimizer on the
 * CPU makes a pass per elementary operation, as foreach does on a GPU. Source: _flat_param.py (pre_unshard,
 * _local_shard), _runtime_utils.py (_offload_grad, _post_backward_final_callback); _fsdp_collectives.py
 * (foreach_reduce); torch/optim/adam.py (_single_tensor_adam). */
#include "plan-fsdp.h"

guint32 plan_fsdp_fetch(PlanFsdp *fsdp, guint32 unit, guint32 stream, guint32 need) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  guint32 row = plan_walk_copy(fsdp->walk, stream, "my shard from host", state->size.shard * fsdp->keys->shard_bytes,
                               PROGRAM_PINNED);
  program_builder_need(fsdp->builder, need);
  plan_walk_take(fsdp->walk, state->tensor.fetched);
  return row;
}

void plan_fsdp_offload_gradient(PlanFsdp *fsdp, guint32 unit, guint32 stream) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  guint64 bytes = state->size.reduced_shard * fsdp->keys->shard_bytes;
  guint32 before = fsdp->now.last_reduce;
  fsdp->now.last_reduce = plan_walk_copy(fsdp->walk, stream, "gradient shard to host", bytes, PROGRAM_PINNED);
  program_builder_need(fsdp->builder, before);
  gboolean recorded = fsdp->schedule == &plan_fsdp1_schedule && stream != fsdp->streams.reduces;
  plan_walk_give(fsdp->walk, state->tensor.gradient_shard, recorded ? stream : PROGRAM_NONE);
  state->has_shard = FALSE;
  if (!state->has_offloaded) {
    state->has_offloaded = TRUE;
    return;
  }
  plan_walk_host(fsdp->walk, "wait for gradient shard");
  program_builder_need(fsdp->builder, fsdp->now.last_reduce);
  guint32 added = plan_walk_cpu(fsdp->walk, fsdp->streams.cpu, "accumulate gradient shard", 3 * bytes);
  plan_walk_host(fsdp->walk, "wait for gradient shard");
  program_builder_need(fsdp->builder, added);
}

/* Each element: the norm reads gradients, clipping reads and writes them; decay p; momentum g and m; variance v, then g
 * and v; square root and two operations on a temporary; the update of p by m and the temporary. */
static guint64 step_bytes(const PlanFsdp *fsdp) {
  guint64 e = fsdp->keys->shard_bytes, passes = 2 * e + 3 * e + 2 * e + 3 * e + 6 * e + 4 * e;
  return fsdp->optimizer.elements * (passes + (fsdp->recipe->gradient_clipping > 0 ? 3 * e : 0));
}

void plan_fsdp_offloaded_step(PlanFsdp *fsdp) {
  plan_walk_host(fsdp->walk, "wait for gradient shards");
  program_builder_need(fsdp->builder, fsdp->now.last_reduce);
  guint32 row = plan_walk_cpu(fsdp->walk, fsdp->streams.cpu, "optimizer on the host", step_bytes(fsdp));
  plan_walk_host(fsdp->walk, "wait for the host's optimizer");
  program_builder_need(fsdp->builder, row);
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    fsdp->units[w].has_offloaded = FALSE;
}
