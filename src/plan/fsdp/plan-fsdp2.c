/* SPDX-License-Identifier: MIT */
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
 * reduction's input is held. Exposed by construction: the first all-gather and copy-in, which wait for the optimizer,
 * and the last reduce-scatter. Source: torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py, _fsdp_collectives.py
 * and _fsdp_state.py of PyTorch 2.6 to 2.9: hybrid sharding holds each unit's reduced output to the end of backward
 * where it is cast (until 2026). */
#include "plan-fsdp.h"

static void start(PlanFsdp *fsdp) {
  fsdp->streams.copies = program_builder_stream(fsdp->builder, "all-gather copy-in");
  fsdp->streams.gathers = program_builder_stream(fsdp->builder, "all-gather");
  fsdp->streams.reduces = program_builder_stream(fsdp->builder, "reduce-scatter");
  gboolean copies = fsdp->data.replicas > 1 || (fsdp->recipe->experts_apart && fsdp->experts.replicas > 1);
  fsdp->streams.all_reduces = copies ? program_builder_stream(fsdp->builder, "all-reduce") : fsdp->streams.reduces;
  fsdp->reduction.holds_output = copies && fsdp->keys->reduce_bytes != fsdp->keys->shard_bytes;
  /* NCCL divides as it reduces, but for fp16, whose sums could overflow. */
  fsdp->reduction.postdivides = fsdp->reduction.fp16;
}

static guint64 shard(const PlanFsdp *fsdp, guint32 unit) {
  return plan_wrap_rows_shard(fsdp->wrap, fsdp->walk, PLAN_WRAP_ALL, unit, fsdp->units[unit].data->shards);
}

static guint64 reduced_shard(const PlanFsdp *fsdp, guint32 unit) {
  return plan_wrap_rows_shard(fsdp->wrap, fsdp->walk, PLAN_WRAP_TRAINED, unit, fsdp->units[unit].data->shards);
}

static void begin_section(PlanFsdp *fsdp) {
  fsdp->second.gathered = fsdp->second.copied = fsdp->second.reducing = PROGRAM_NONE;
}

#define FP32 4

/* Of an element to fp8, by separate kernels: to fp32 where it is not, scaled, clamped (4 bytes in and out each), cast
 * (4 in, 1 out). Source: torchao/float8/float8_utils.py, as FSDP's hook calls it, which is not compiled. */
static guint64 fp8_cast_bytes(const PlanFsdp *fsdp) {
  guint64 widens = fsdp->keys->shard_bytes < FP32 ? fsdp->keys->shard_bytes + FP32 : 0;
  return widens + 2 * FP32 + 2 * FP32 + FP32 + 1;
}

/* My shard into its place in the buffer, cast on the way through a temporary where dtypes differ. */
static guint64 copy_in_bytes(const PlanFsdp *fsdp, const PlanFsdpUnit *state) {
  if (state->is_kept)
    return 2 * state->size.gathered_bytes / fsdp->keys->reshard_ranks;
  guint64 casts =
      fsdp->keys->parameter_bytes != fsdp->keys->shard_bytes ? state->size.shard - state->size.fp8_shard : 0;
  return 2 * state->size.gathered_bytes / state->data->shards +
         casts * (fsdp->keys->shard_bytes + fsdp->keys->parameter_bytes) + state->size.fp8_shard * fp8_cast_bytes(fsdp);
}

/* Forward's last may still be held when backward begins. */
static guint32 buffer_of(const PlanFsdp *fsdp, guint32 unit) {
  return fsdp->now.in_forward ? fsdp->units[unit].tensor.gathering : fsdp->units[unit].tensor.regathering;
}

static void unshard(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  if (state->is_unsharded)
    return;
  state->is_unsharded = TRUE;
  plan_fsdp_context(fsdp, PROGRAM_GATHER, unit);
  gboolean fetches = fsdp->keys->offloads && !state->is_kept;
  guint32 ready = fetches ? plan_fsdp_fetch(fsdp, unit, fsdp->streams.copies, fsdp->now.event) : fsdp->now.event;
  state->gather = plan_fsdp_move(fsdp, fsdp->streams.copies, ready, "copy in", copy_in_bytes(fsdp, state));
  plan_walk_take(fsdp->walk, buffer_of(fsdp, unit));
  if (fetches)
    plan_walk_give(fsdp->walk, state->tensor.fetched, PROGRAM_NONE);
  guint32 group = state->is_kept ? fsdp->keys->reshard_ranks : state->data->shards;
  if (group == 1)
    return;
  state->gather = plan_fsdp_collective(fsdp, fsdp->streams.gathers, state->gather, "all-gather parameters",
                                       state->is_kept ? fsdp->slots.kept : state->data->shard, COLL_ALL_GATHER,
                                       state->size.gathered_bytes);
}

static void drop_gathered(PlanFsdp *fsdp) {
  if (fsdp->second.gathered == PROGRAM_NONE)
    return;
  plan_walk_give(fsdp->walk, fsdp->second.gathered, PROGRAM_NONE);
  fsdp->now.event = fsdp->second.copied;
  fsdp->second.gathered = PROGRAM_NONE;
}

/* In forward the buffer is held until the next unit has been waited for, so that its gather need not wait for this
 * copy-out; in backward it goes at once. */
static void wait_for(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  if (state->gather == PROGRAM_NONE)
    return;
  drop_gathered(fsdp);
  plan_fsdp_context(fsdp, fsdp->now.in_forward ? PROGRAM_FORWARD : PROGRAM_BACKWARD, unit);
  fsdp->second.gathered = buffer_of(fsdp, unit);
  fsdp->second.copied =
      plan_fsdp_move(fsdp, fsdp->streams.compute, state->gather, "copy out", 2 * state->size.gathered_bytes);
  state->gather = PROGRAM_NONE;
  plan_blocks_take(fsdp->walk, &state->tensor.unsharded);
  if (state->is_kept)
    plan_walk_give(fsdp->walk, state->tensor.kept, PROGRAM_NONE);
  state->is_kept = FALSE;
  if (!fsdp->now.in_forward)
    drop_gathered(fsdp);
}

/* Units ahead in the order of forward: what set_modules_to_forward_prefetch names. */
static void prefetch_after(PlanFsdp *fsdp, guint32 unit) {
  guint32 next = unit;
  for (guint64 i = 0; i < fsdp->keys->forward_prefetch && next != PROGRAM_NONE; i++) {
    next = plan_wrap_next(fsdp->wrap, next);
    if (next != PROGRAM_NONE)
      unshard(fsdp, next);
  }
}

/* With experts apart torchtitan names what a block prefetches: the next one and its experts, in backward the one before
 * and its (models/llama4/infra/parallelize.py, apply_fsdp). The host reads row counts within a block, and would issue
 * the gathers late. */
static void prefetch_block(PlanFsdp *fsdp, guint32 unit, int step) {
  const PlanWrap *wrap = fsdp->wrap;
  guint32 block = unit + (guint32)step;
  while (block < wrap->n && wrap->units[block].apart)
    block += (guint32)step;
  if (block >= wrap->n || wrap->units[block].root || wrap->units[block].chunk != wrap->units[unit].chunk)
    return;
  unshard(fsdp, block);
  if (block > 0 && wrap->units[block - 1].apart && wrap->units[block - 1].first == wrap->units[block].first)
    unshard(fsdp, block - 1);
}

static gboolean names_prefetches(const PlanFsdp *fsdp, guint32 unit) {
  return fsdp->recipe->experts_apart && !fsdp->wrap->units[unit].apart && !fsdp->wrap->units[unit].root;
}

static void pre_forward(PlanFsdp *fsdp, guint32 unit) {
  plan_fsdp_hook_cost(fsdp);
  unshard(fsdp, unit);
  wait_for(fsdp, unit);
  if (names_prefetches(fsdp, unit))
    prefetch_block(fsdp, unit, 1);
  else
    prefetch_after(fsdp, unit);
}

static void reshard(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  plan_blocks_give(fsdp->walk, &state->tensor.unsharded, PROGRAM_NONE);
  state->is_unsharded = FALSE;
}

static void post_forward(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  if (!state->reshards)
    return;
  if (fsdp->keys->reshard == PLAN_RESHARD_SMALLER) {
    plan_fsdp_context(fsdp, PROGRAM_FORWARD, unit);
    plan_fsdp_move(fsdp, fsdp->streams.compute, PROGRAM_NONE, "keep a smaller shard",
                   2 * state->size.gathered_bytes / fsdp->keys->reshard_ranks);
    plan_walk_take(fsdp->walk, state->tensor.kept);
    state->is_kept = TRUE;
  }
  reshard(fsdp, unit);
}

/* Experts inside a block that runs again: their own hooks gather them for that, and free them as after forward. */
static void pre_recompute(PlanFsdp *fsdp, guint32 unit) {
  plan_fsdp_hook_cost(fsdp);
  unshard(fsdp, unit);
  wait_for(fsdp, unit);
}

static void post_recompute(PlanFsdp *fsdp, guint32 unit) {
  if (fsdp->units[unit].reshards)
    reshard(fsdp, unit);
}

/* The unit before in the order in which forward ended. */
static void pre_backward(PlanFsdp *fsdp, guint32 unit) {
  plan_fsdp_hook_cost(fsdp);
  unshard(fsdp, unit);
  wait_for(fsdp, unit);
  if (names_prefetches(fsdp, unit))
    prefetch_block(fsdp, unit, -1);
  else if (unit > 0 && fsdp->wrap->units[unit - 1].chunk == fsdp->wrap->units[unit].chunk)
    unshard(fsdp, unit - 1);
  plan_fsdp_context(fsdp, PROGRAM_BACKWARD, unit);
  fsdp->now.adds_in_place = fsdp->keys->reduce_bytes == fsdp->keys->parameter_bytes && fsdp->units[unit].has_gradient;
}

/* Where gradients are not reduced after each micro-batch they stay whole: as they are where they are reduced in that
 * dtype (added as they come), else cast up and added. */
static void accumulate(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  gboolean first = !state->has_gradient;
  state->is_fresh = FALSE;
  if (fsdp->now.syncs && first)
    return;
  if (fsdp->keys->reduce_bytes != fsdp->keys->parameter_bytes) {
    guint64 per_element = fsdp->keys->parameter_bytes + (first ? 1 : 2) * fsdp->keys->reduce_bytes;
    plan_fsdp_move(fsdp, fsdp->streams.compute, PROGRAM_NONE, first ? "cast gradients" : "accumulate gradients",
                   state->size.reduced_padded * per_element);
    plan_blocks_take(fsdp->walk, &state->tensor.accumulated);
    plan_fsdp_give_gradients(fsdp, unit);
  } else if (first) {
    plan_fsdp_give_gradients(fsdp, unit);
    plan_walk_host(fsdp->walk, "keep gradients");
    plan_blocks_take(fsdp->walk, &state->tensor.accumulated);
  }
  state->has_gradient = TRUE;
}

static void drop_reducing(PlanFsdp *fsdp) {
  if (fsdp->second.reducing != PROGRAM_NONE)
    plan_walk_give(fsdp->walk, fsdp->units[fsdp->second.reducing].tensor.reducing, PROGRAM_NONE);
  fsdp->second.reducing = PROGRAM_NONE;
}

static void reduce(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  plan_fsdp2_sum_gradients(fsdp, unit);
  guint64 whole = state->size.reduced_padded * fsdp->keys->reduce_bytes;
  guint64 read = state->has_gradient ? whole : state->size.reduced_padded * fsdp->keys->parameter_bytes;
  plan_fsdp_context(fsdp, PROGRAM_REDUCE, unit);
  drop_reducing(fsdp);
  guint32 row = plan_fsdp_move(fsdp, fsdp->streams.compute, fsdp->second.scattered, "copy gradients in", read + whole);
  plan_walk_take(fsdp->walk, state->tensor.reducing);
  fsdp->second.reducing = unit;
  if (state->has_gradient)
    plan_blocks_give(fsdp->walk, &state->tensor.accumulated, PROGRAM_NONE);
  else
    plan_fsdp_give_gradients(fsdp, unit);
  state->has_gradient = FALSE;
  if (fsdp->reduction.postdivides)
    row = plan_fsdp_move(fsdp, fsdp->streams.reduces, row, "divide gradients", 2 * whole);
  guint32 output = plan_fsdp_reduced(fsdp, unit);
  row = state->data->shards == 1 ? plan_fsdp_move(fsdp, fsdp->streams.reduces, row, "copy gradients", 2 * whole)
                                 : plan_fsdp_collective(fsdp, fsdp->streams.reduces, row, "reduce-scatter gradients",
                                                        state->data->shard, COLL_REDUCE_SCATTER, whole);
  plan_walk_take(fsdp->walk, output);
  fsdp->second.scattered = row;
  state->holds_reduced = fsdp->reduction.holds_output && state->data->replicas > 1 && output == state->tensor.reduced;
  plan_fsdp_finish_gradient(fsdp, unit, row, output);
}

/* After a pass for inputs: what the pass for weights of an earlier micro-batch has left. */
static void post_backward(PlanFsdp *fsdp, guint32 unit, gboolean gradients) {
  gboolean trained = fsdp->units[unit].size.reduced_shard > 0;
  plan_fsdp_context(fsdp, PROGRAM_BACKWARD, unit);
  if (trained && (gradients || fsdp->units[unit].is_fresh))
    accumulate(fsdp, unit);
  if (fsdp->ranks.piped)
    return;
  reshard(fsdp, unit);
  if (fsdp->now.syncs && trained)
    reduce(fsdp, unit);
}

void plan_fsdp2_reduce_unit(PlanFsdp *fsdp, guint32 unit) {
  plan_fsdp_context(fsdp, PROGRAM_BACKWARD, unit);
  if (fsdp->units[unit].is_fresh)
    accumulate(fsdp, unit);
  reshard(fsdp, unit);
  if (fsdp->units[unit].size.reduced_shard > 0)
    reduce(fsdp, unit);
}

/* A unit that had no backward: as forward left it, or gathered for nothing by the unit above, which goes by the order
 * of forward. */
static void drop_unused(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  if (state->is_unsharded && state->gather != PROGRAM_NONE) {
    plan_walk_need(fsdp->walk, state->gather);
    plan_walk_give(fsdp->walk, buffer_of(fsdp, unit), PROGRAM_NONE);
    state->gather = PROGRAM_NONE;
    state->is_unsharded = FALSE;
  }
  if (state->is_unsharded)
    reshard(fsdp, unit);
  if (state->is_kept)
    plan_walk_give(fsdp->walk, state->tensor.kept, PROGRAM_NONE);
  state->is_kept = FALSE;
}

static void end_backward(PlanFsdp *fsdp) {
  drop_gathered(fsdp);
  if (fsdp->second.in_weights)
    plan_fsdp2_weights_ended(fsdp, fsdp->walk->chunk);
  if (fsdp->ranks.piped && !plan_walk_last_micro(fsdp->walk))
    return;
  if (fsdp->ranks.piped)
    plan_fsdp2_reduce_chunk(fsdp, fsdp->walk->chunk);
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    if (!fsdp->units[w].has_backward)
      drop_unused(fsdp, w);
  fsdp->now.event = fsdp->now.last_reduce != PROGRAM_NONE ? fsdp->now.last_reduce : fsdp->walk->last;
  plan_walk_need(fsdp->walk, fsdp->now.last_reduce);
  drop_reducing(fsdp);
  for (guint32 w = 0; w < fsdp->wrap->n; w++) {
    if (fsdp->units[w].holds_reduced)
      plan_walk_give(fsdp->walk, fsdp->units[w].tensor.reduced, PROGRAM_NONE);
    fsdp->units[w].holds_reduced = FALSE;
  }
  fsdp->second.scattered = PROGRAM_NONE;
}

const PlanFsdpSchedule plan_fsdp2_schedule = {
    .shard = shard,
    .reduced_shard = reduced_shard,
    .start = start,
    .begin_section = begin_section,
    .pre_forward = pre_forward,
    .post_forward = post_forward,
    .end_forward = drop_gathered, /* the root's hook */
    .pre_recompute = pre_recompute,
    .post_recompute = post_recompute,
    .pre_backward = pre_backward,
    .post_backward = post_backward,
    .end_inputs = drop_gathered,
    .end_backward = end_backward,
};
