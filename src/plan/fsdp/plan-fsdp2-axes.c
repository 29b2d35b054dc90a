/* FSDP2 beside tensor and pipeline parallelism.
 *
 *   tensor     a parameter that every tensor rank holds whole (norms) is a DTensor whose gradient is a partial sum: it is
 *              summed over the ranks when FSDP reads it to reduce it, in the dtype in which it lies
 *   pipeline   a chunk's units are gathered in its first forward and stay so (but for reshard_after_forward); gradients
 *              are added up whole; after its last backward, in the order of forward: reduce-scatter(0), (1), …
 *
 * Source: torch/distributed/fsdp/_fully_shard/_fsdp_param.py (unsharded_grad_data); torch/distributed/pipelining/
 * stage.py (backward_maybe_with_nosync) of PyTorch 2.6 to 2.9. */
#include "plan-fsdp.h"

void plan_fsdp2_sum_gradients(PlanFsdp *fsdp, guint32 unit) {
  const PlanWrapUnit *members = &fsdp->wrap->units[unit];
  guint32 bytes = fsdp->units[unit].has_gradient ? fsdp->keys->reduce_bytes : fsdp->keys->parameter_bytes;
  if (fsdp->tensor_slot == PROGRAM_NONE)
    return;
  for (guint32 u = members->first; u <= members->last; u++) {
    const ModelUnit *part = fsdp->walk->units[u].unit;
    for (guint p = 0; p < part->n_parameters; p++) {
      const ModelParameter *parameter = &part->parameters[p];
      if (fsdp->wrap->of[u][p] != unit || parameter->shared || parameter->frozen ||
          parameter->place != MODEL_PLACE_SUMMED)
        continue;
      guint32 row = plan_fsdp_collective(fsdp, fsdp->tensor_stream, fsdp->walk->last, "sum gradient", fsdp->tensor_slot,
                                         COLL_ALL_REDUCE, parameter->elements * bytes);
      plan_walk_need(fsdp->walk, row);
    }
  }
}

void plan_fsdp2_reduce_chunk(PlanFsdp *fsdp, guint32 chunk) {
  fsdp->last_reduce = fsdp->scattered = PROGRAM_NONE;
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    if (fsdp->wrap->units[w].chunk == chunk && fsdp->units[w].has_backward)
      plan_fsdp2_reduce_unit(fsdp, w);
}
