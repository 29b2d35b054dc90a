/* SPDX-License-Identifier: MIT */
/* Units inside a block, which fsdp.wrap = size:N makes of its attention, its MLP or single linear layers.
 *
 *   forward     pre_forward(mlp)  pre_forward(gate) gate post_forward(gate)  …  down  post_forward(mlp)
 *   recompute   the same, where checkpoint lies around the block: gathered for that alone
 *   backward    pre_backward(mlp)  pre_backward(down) …  post_backward(gate)  post_backward(mlp)
 *
 * Outer units begin first and end last. */
#include "plan-fsdp.h"
#include "plan-lives.h"

/* The first, or last, operation of the span that runs again. */
static guint edge_again(const PlanFsdp *fsdp, guint32 part, PlanSpan span, gboolean last) {
  ModelSet again = fsdp->walk->units[part].lives->again;
  guint edge = last ? span.end : span.begin;
  while (!model_set_has(again, edge) && edge != (last ? span.begin : span.end))
    edge += last ? -1 : 1;
  return edge;
}

static gboolean is_at(const PlanFsdp *fsdp, guint32 unit, guint32 part, const ModelOp *op, PlanPass pass,
                      gboolean end) {
  const PlanWrapUnit *wrapped = &fsdp->wrap->units[unit];
  const ModelUnit *block = fsdp->walk->units[part].unit;
  if (wrapped->inside == NULL || wrapped->first != part)
    return FALSE;
  PlanSpan span = pass == PLAN_BACKWARD ? wrapped->backward : wrapped->forward;
  guint index = (guint)(op - (pass == PLAN_BACKWARD ? block->backward : block->forward));
  guint edge = pass == PLAN_RECOMPUTE ? edge_again(fsdp, part, span, end) : end ? span.end : span.begin;
  return index == edge;
}

void plan_fsdp_inside_before(PlanFsdp *fsdp, guint32 part, const ModelOp *op, PlanPass pass) {
  const PlanWrap *wrap = fsdp->wrap;
  guint32 from = wrap->firsts.from[part], end = wrap->firsts.from[part + 1];
  for (guint32 i = from; i < end; i++) {
    guint32 unit = pass == PLAN_BACKWARD ? wrap->firsts.list[end - 1 - (i - from)] : wrap->begins.list[i];
    if (!is_at(fsdp, unit, part, op, pass, FALSE))
      continue;
    if (pass == PLAN_FORWARD)
      fsdp->schedule->pre_forward(fsdp, unit);
    else if (pass == PLAN_BACKWARD && fsdp->units[unit].has_backward)
      fsdp->schedule->pre_backward(fsdp, unit);
    else if (pass == PLAN_RECOMPUTE && fsdp->units[unit].is_awaited)
      fsdp->schedule->pre_recompute(fsdp, unit);
  }
}

void plan_fsdp_inside_after(PlanFsdp *fsdp, guint32 part, const ModelOp *op, PlanPass pass) {
  const PlanWrap *wrap = fsdp->wrap;
  for (guint32 i = wrap->firsts.from[part]; i < wrap->firsts.from[part + 1] && wrap->has_inside; i++) {
    guint32 unit = wrap->firsts.list[i];
    if (!is_at(fsdp, unit, part, op, pass, TRUE))
      continue;
    if (pass == PLAN_FORWARD)
      fsdp->schedule->post_forward(fsdp, unit);
    else if (pass == PLAN_BACKWARD && fsdp->units[unit].has_backward)
      fsdp->schedule->post_backward(fsdp, unit, TRUE);
    else if (pass == PLAN_RECOMPUTE && fsdp->units[unit].is_awaited)
      fsdp->schedule->post_recompute(fsdp, unit);
  }
}
