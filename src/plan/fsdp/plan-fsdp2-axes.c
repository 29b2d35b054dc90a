/* SPDX-License-Identifier: MIT */
/* FSDP2 beside tensor and pipeline parallelism.
 *
 *   tensor     a parameter that every tensor rank holds whole (norms) is a DTensor whose gradient is a partial sum: it
 *              is summed over the ranks when FSDP reads it to reduce it, in the dtype in which it lies
 *   pipeline   a chunk's units are gathered in its first forward and stay so (but for reshard_after_forward); gradients
 *              are added up whole; after its last backward, in the order of forward: reduce-scatter(0), (1), …
 *              Each micro-batch has buffers of its own for what comes, made before the first step and kept
 *   in two     a pass for weights has no hooks: gradients lie as they came until the chunk's next pass for inputs, or
 *              the end of its last backward, adds them up
 *
 * Source: torch/distributed/fsdp/_fully_shard/_fsdp_param.py (unsharded_grad_data); torch/distributed/pipelining/
 * stage.py (backward_maybe_with_nosync, args_recv_info, grad_recv_info), _backward.py (stage_backward_weight) of
 * PyTorch 2.6 to 2.9. */
#include "mem-tenant.h"
#include "plan-fsdp.h"
#include "plan-parameters.h"

void plan_fsdp2_sum_gradients(PlanFsdp *fsdp, guint32 unit) {
  const PlanWrapUnit *members = &fsdp->wrap->units[unit];
  guint32 bytes = fsdp->units[unit].has_gradient ? fsdp->keys->reduce_bytes : fsdp->keys->parameter_bytes;
  if (fsdp->slots.tensor == PROGRAM_NONE || members->apart)
    return;
  for (guint32 u = members->first; u <= members->last; u++) {
    const ModelUnit *part = fsdp->walk->units[u].unit;
    for (guint p = 0; p < part->n_parameters; p++) {
      const ModelParameter *parameter = &part->parameters[p];
      if (fsdp->wrap->of[u][p] != unit || parameter->shared || parameter->frozen ||
          parameter->place != MODEL_PLACE_SUMMED)
        continue;
      guint32 row = plan_fsdp_collective(fsdp, fsdp->streams.tensor, fsdp->walk->last, "sum gradient",
                                         fsdp->slots.tensor, COLL_ALL_REDUCE, parameter->elements * bytes);
      plan_walk_need(fsdp->walk, row);
    }
  }
}

void plan_fsdp2_reduce_chunk(PlanFsdp *fsdp, guint32 chunk) {
  fsdp->now.last_reduce = fsdp->second.scattered = PROGRAM_NONE;
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    if (fsdp->wrap->units[w].chunk == chunk && fsdp->units[w].has_backward)
      plan_fsdp2_reduce_unit(fsdp, w);
}

/* The tensor that a second gradient comes in, where the first is still there. */
static guint32 beside(PlanFsdp *fsdp, guint p) {
  const PlanParameters *parameters = fsdp->walk->parameters;
  if (fsdp->second.added == NULL) {
    fsdp->second.added = g_new(guint32, parameters->n);
    for (guint i = 0; i < parameters->n; i++)
      fsdp->second.added[i] = PROGRAM_NONE;
  }
  if (fsdp->second.added[p] == PROGRAM_NONE) {
    const PlanParameter *parameter = &parameters->list[p];
    const PlanUnit *part = &fsdp->walk->units[parameter->unit];
    g_autofree char *name = g_strdup_printf("%s.%s.grad added", part->name, parameter->name);
    fsdp->second.added[p] = program_builder_tensor(fsdp->builder, name, MEM_COMMUNICATION,
                                                   parameter->elements * fsdp->keys->parameter_bytes, 0);
  }
  return fsdp->second.added[p];
}

void plan_fsdp2_weight_gradient(PlanFsdp *fsdp, guint p, guint32 tensor) {
  const PlanParameter *parameter = &fsdp->walk->parameters->list[p];
  const PlanFsdpUnit *state = &fsdp->units[fsdp->wrap->of[parameter->unit][parameter->index]];
  gboolean kept = state->has_gradient && fsdp->keys->reduce_bytes == fsdp->keys->parameter_bytes;
  if (!state->is_fresh && !kept) {
    plan_walk_take(fsdp->walk, tensor);
    return;
  }
  guint32 second = state->is_fresh ? beside(fsdp, p) : tensor;
  plan_walk_take(fsdp->walk, second);
  plan_fsdp_move(fsdp, fsdp->streams.compute, PROGRAM_NONE, "accumulate gradient",
                 3 * parameter->elements * fsdp->keys->parameter_bytes);
  plan_walk_give(fsdp->walk, second, PROGRAM_NONE);
}

void plan_fsdp2_weights_ended(PlanFsdp *fsdp, guint32 chunk) {
  gboolean adds = fsdp->keys->reduce_bytes != fsdp->keys->parameter_bytes;
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    if (fsdp->wrap->units[w].chunk == chunk && fsdp->units[w].size.reduced_shard > 0)
      fsdp->units[w].is_fresh = adds || !fsdp->units[w].has_gradient;
}

static guint64 boundary_bytes(const PlanWalk *walk, guint32 unit, ModelTensorRole role) {
  const ModelUnit *part = walk->units[unit].unit;
  guint64 bytes = 0;
  for (guint t = 0; t < part->n_tensors; t++)
    bytes += part->tensors[t].role == role ? part->tensors[t].bytes : 0;
  return bytes;
}

guint32 plan_fsdp2_receive_buffers(const PlanFsdp *fsdp) {
  const PlanHolding *holding = fsdp->walk->holding;
  guint64 bytes = 0;
  for (guint32 c = 0; c < holding->n_chunks && fsdp->ranks.piped; c++) {
    const PlanChunk *chunk = &holding->chunks[c];
    gboolean first = fsdp->walk->units[chunk->first].unit->kind == MODEL_UNIT_EMBEDDING;
    bytes += first ? 0 : boundary_bytes(fsdp->walk, chunk->first, MODEL_TENSOR_INPUT);
    bytes += boundary_bytes(fsdp->walk, chunk->last, MODEL_TENSOR_GRAD_OUTPUT);
  }
  bytes *= fsdp->recipe->gradient_accumulation;
  return bytes > 0 ? program_builder_tensor(fsdp->builder, "receive buffers", MEM_COMMUNICATION, bytes, 0)
                   : PROGRAM_NONE;
}
