/* framework = fsdp2: fully_shard, every parameter cut by rows.
 *
 *   copy-in      cast and copy my shard(i)     (waits for the copy-out of i−2 in forward, of i+1 in backward)
 *   all-gather   all-gather(i)
 *   compute      copy-out(i)  forward(i)  free                     the gathered buffer goes after the copy-out of i+1
 *
 *   backward     copy-out(i) · gather(i−1) · backward(i) · free · wait reduce-scatter(i+1) · copy gradients in(i)
 *   reduce-scatter   reduce-scatter(i), cast, add to my shard       (backward(i−1) computes)
 *
 * Lifetimes are events that the host knows of, so memory goes back in host order (no record_stream). At most one
 * reduction's input is held. Exposed by construction: the first all-gather and copy-in, which wait for the optimizer, and
 * the last reduce-scatter. Source: torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py and
 * _fsdp_state.py of PyTorch 2.6 to 2.9: hybrid sharding holds each unit's reduced output to the end of backward where it
 * is cast (until 2026). */
#include "plan-fsdp.h"

#include "model-recipe.h"

static void start(PlanFsdp *fsdp) {
  fsdp->copies = program_builder_stream(fsdp->builder, "all-gather copy-in");
  fsdp->gathers = program_builder_stream(fsdp->builder, "all-gather");
  fsdp->reduces = program_builder_stream(fsdp->builder, "reduce-scatter");
  fsdp->all_reduces = fsdp->replicas > 1 ? program_builder_stream(fsdp->builder, "all-reduce") : fsdp->reduces;
  fsdp->holds_reduced = fsdp->replicas > 1 && fsdp->reduce_bytes != fsdp->shard_bytes;
  /* NCCL divides as it reduces, but for fp16, whose sums could overflow. */
  fsdp->postdivides = fsdp->keys->reduce_dtype == MODEL_FP16;
}

static guint64 shard(const PlanFsdp *fsdp, guint32 unit) {
  return plan_wrap_rows_shard(fsdp->wrap, fsdp->walk, unit, fsdp->shards);
}

static void begin_section(PlanFsdp *fsdp) {
  fsdp->gathered = fsdp->copied = fsdp->reducing = fsdp->scattered = PROGRAM_NONE;
}

static void begin_forward(PlanFsdp *fsdp) {
  fsdp->event = fsdp->walk->need != PROGRAM_NONE ? fsdp->walk->need : fsdp->walk->last;
}

/* My shard into its place in the buffer, cast on the way through a temporary where dtypes differ. */
static guint64 copy_in_bytes(const PlanFsdp *fsdp, const PlanFsdpUnit *state) {
  if (state->is_kept)
    return 2 * state->padded / fsdp->keys->reshard_ranks * fsdp->parameter_bytes;
  gboolean casts = fsdp->parameter_bytes != fsdp->shard_bytes;
  return state->shard * (2 * fsdp->parameter_bytes + (casts ? fsdp->shard_bytes + fsdp->parameter_bytes : 0));
}

static void unshard(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  if (state->is_unsharded)
    return;
  state->is_unsharded = TRUE;
  plan_fsdp_context(fsdp, PROGRAM_GATHER, unit);
  state->gather = plan_fsdp_move(fsdp, fsdp->copies, "copy in", copy_in_bytes(fsdp, state));
  program_builder_need(fsdp->builder, fsdp->event);
  plan_walk_take(fsdp->walk, state->gathering);
  guint32 group = state->is_kept ? fsdp->keys->reshard_ranks : fsdp->shards;
  if (group == 1)
    return;
  guint32 copied = state->gather;
  state->gather = plan_fsdp_collective(fsdp, fsdp->gathers, "all-gather parameters",
                                       state->is_kept ? fsdp->kept_slot : fsdp->shard_slot, COLL_ALL_GATHER,
                                       state->padded * fsdp->parameter_bytes);
  program_builder_need(fsdp->builder, copied);
}

static void drop_gathered(PlanFsdp *fsdp) {
  if (fsdp->gathered == PROGRAM_NONE)
    return;
  plan_walk_give(fsdp->walk, fsdp->units[fsdp->gathered].gathering, PROGRAM_NONE);
  fsdp->event = fsdp->copied;
  fsdp->gathered = PROGRAM_NONE;
}

/* In forward the buffer is held until the next unit has been waited for, so that its gather need not wait for this
 * copy-out; in backward it goes at once. */
static void wait_for(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  if (state->gather == PROGRAM_NONE)
    return;
  drop_gathered(fsdp);
  plan_fsdp_context(fsdp, fsdp->in_forward ? PROGRAM_FORWARD : PROGRAM_BACKWARD, unit);
  fsdp->walk->need = state->gather;
  state->gather = PROGRAM_NONE;
  fsdp->gathered = unit;
  fsdp->copied = plan_fsdp_move(fsdp, fsdp->compute, "copy out", 2 * state->padded * fsdp->parameter_bytes);
  plan_walk_take(fsdp->walk, state->unsharded);
  if (state->is_kept)
    plan_walk_give(fsdp->walk, state->kept, PROGRAM_NONE);
  state->is_kept = FALSE;
  if (!fsdp->in_forward)
    drop_gathered(fsdp);
}

/* Units ahead in the order of forward: what set_modules_to_forward_prefetch names. */
static void prefetch_after(PlanFsdp *fsdp, guint32 unit) {
  guint32 next = fsdp->wrap->units[unit].root ? 0 : unit + 1;
  for (guint64 i = 0; i < fsdp->keys->forward_prefetch && next + i < fsdp->wrap->n; i++)
    if (!fsdp->wrap->units[next + i].root)
      unshard(fsdp, next + (guint32)i);
}

static void pre_forward(PlanFsdp *fsdp, guint32 unit) {
  plan_fsdp_hooks(fsdp);
  unshard(fsdp, unit);
  wait_for(fsdp, unit);
  prefetch_after(fsdp, unit);
}

static void reshard(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  plan_walk_give(fsdp->walk, state->unsharded, PROGRAM_NONE);
  state->is_unsharded = FALSE;
}

static void post_forward(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  if (!state->reshards)
    return;
  if (fsdp->keys->reshard == PLAN_RESHARD_SMALLER) {
    plan_fsdp_context(fsdp, PROGRAM_FORWARD, unit);
    plan_fsdp_move(fsdp, fsdp->compute, "keep a smaller shard",
                   2 * state->padded / fsdp->keys->reshard_ranks * fsdp->parameter_bytes);
    plan_walk_take(fsdp->walk, state->kept);
    state->is_kept = TRUE;
  }
  reshard(fsdp, unit);
}

/* The unit before in the order in which forward ended. */
static void pre_backward(PlanFsdp *fsdp, guint32 unit) {
  plan_fsdp_hooks(fsdp);
  unshard(fsdp, unit);
  wait_for(fsdp, unit);
  if (unit > 0)
    unshard(fsdp, unit - 1);
  plan_fsdp_context(fsdp, PROGRAM_BACKWARD, unit);
  fsdp->adds_in_place = fsdp->reduce_bytes == fsdp->parameter_bytes && fsdp->units[unit].has_gradient;
}

/* Where gradients are not reduced after each micro-batch they stay whole: as they are where they are reduced in that
 * dtype, else cast up and added. */
static void accumulate(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  gboolean casts = fsdp->reduce_bytes != fsdp->parameter_bytes;
  if ((fsdp->syncs && !state->has_gradient) || (state->has_gradient && !casts))
    return;
  if (casts)
    plan_fsdp_move(fsdp, fsdp->compute, state->has_gradient ? "accumulate gradients" : "cast gradients",
                   state->padded * (fsdp->parameter_bytes + (state->has_gradient ? 2 : 1) * fsdp->reduce_bytes));
  else
    program_builder_host(fsdp->builder, "keep gradients");
  if (!casts)
    plan_fsdp_give_gradients(fsdp, unit), plan_walk_settle(fsdp->walk);
  plan_walk_take(fsdp->walk, state->gradient);
  if (casts)
    plan_fsdp_give_gradients(fsdp, unit);
  state->has_gradient = TRUE;
}

static void drop_reducing(PlanFsdp *fsdp) {
  if (fsdp->reducing != PROGRAM_NONE)
    plan_walk_give(fsdp->walk, fsdp->units[fsdp->reducing].reducing, PROGRAM_NONE);
  fsdp->reducing = PROGRAM_NONE;
}

static void reduce(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  guint64 whole = state->padded * fsdp->reduce_bytes;
  guint64 read = state->has_gradient ? whole : state->padded * fsdp->parameter_bytes;
  plan_fsdp_context(fsdp, PROGRAM_REDUCE, unit);
  fsdp->walk->need = fsdp->scattered;
  drop_reducing(fsdp);
  guint32 row = plan_fsdp_move(fsdp, fsdp->compute, "copy gradients in", read + whole);
  plan_walk_take(fsdp->walk, state->reducing);
  fsdp->reducing = unit;
  if (state->has_gradient)
    plan_walk_give(fsdp->walk, state->gradient, PROGRAM_NONE);
  else
    plan_fsdp_give_gradients(fsdp, unit);
  state->has_gradient = FALSE;
  if (fsdp->postdivides) {
    guint32 before = row;
    row = plan_fsdp_move(fsdp, fsdp->reduces, "divide gradients", 2 * whole);
    program_builder_need(fsdp->builder, before);
  }
  guint32 output = plan_fsdp_reduced(fsdp, unit), before = row;
  if (fsdp->shards > 1)
    row = plan_fsdp_collective(fsdp, fsdp->reduces, "reduce-scatter gradients", fsdp->shard_slot, COLL_REDUCE_SCATTER,
                               whole);
  else
    row = plan_fsdp_move(fsdp, fsdp->reduces, "copy gradients", 2 * whole);
  program_builder_need(fsdp->builder, before);
  plan_walk_take(fsdp->walk, output);
  fsdp->scattered = row;
  state->holds_reduced = fsdp->holds_reduced && output == state->reduced;
  plan_fsdp_finish_gradient(fsdp, unit, row, output);
}

static void post_backward(PlanFsdp *fsdp, guint32 unit) {
  accumulate(fsdp, unit);
  reshard(fsdp, unit);
  if (fsdp->syncs)
    reduce(fsdp, unit);
}

static void end_backward(PlanFsdp *fsdp) {
  if (!fsdp->syncs)
    return;
  fsdp->walk->need = fsdp->last_reduce;
  drop_reducing(fsdp);
  for (guint32 w = 0; w < fsdp->wrap->n; w++) {
    if (fsdp->units[w].holds_reduced)
      plan_walk_give(fsdp->walk, fsdp->units[w].reduced, PROGRAM_NONE);
    fsdp->units[w].holds_reduced = FALSE;
  }
  fsdp->scattered = PROGRAM_NONE;
}

const PlanFsdpSchedule plan_fsdp2_schedule = {
    .shard = shard,
    .start = start,
    .begin_section = begin_section,
    .begin_forward = begin_forward,
    .pre_forward = pre_forward,
    .post_forward = post_forward,
    .pre_backward = pre_backward,
    .post_backward = post_backward,
    .end_backward = end_backward,
};
