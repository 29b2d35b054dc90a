/* SPDX-License-Identifier: MIT */
/* framework = fsdp1: FullyShardedDataParallel, a flat parameter per unit.
 *
 *   pre-unshard   cast my shard to 16 bits ─┐ (current: the rows are not waited for again)
 *   unshard         [host: a freed unit's end, if two are under way] all-gather(i) ─┐
 *   compute                                                               forward(i) ─ free, once compute has passed
 *
 *   backward      wait for gather(i) · gather(i−1) · backward(i) · free · cat gradients
 *   post-backward   cast, pre-divide, reduce-scatter(i), post-divide, cast, add to my shard        (i−1 computes)
 *
 * Memory of a stream that another reads goes back only when that other has passed (record_stream). The communicator
 * runs what the host issued in that order: gather(i−1) before reduce-scatter(i). Source: torch/distributed/fsdp/
 * _runtime_utils.py, _flat_param.py and _limiter_utils.py of PyTorch 2.1 to 2.7. */
#include "plan-fsdp.h"

#define FREES_UNDER_WAY 2 /* _FreeEventQueue's bound */

/* The larger of the two factors that a mean is split into, powers of two while they may grow. Source: PyTorch's
 * DefaultState._get_gradient_predivide_factor. */
static guint32 predivides_by(guint32 ranks) {
  guint32 factor = 1;
  while (ranks % factor == 0 && ranks / factor > factor)
    factor *= 2;
  return factor;
}

static void start(PlanFsdp *fsdp) {
  fsdp->streams.copies = program_builder_stream(fsdp->builder, "pre-unshard");
  fsdp->streams.gathers = program_builder_stream(fsdp->builder, "unshard");
  fsdp->streams.reduces = program_builder_stream(fsdp->builder, "post-backward");
  gboolean hybrid = fsdp->data.replicas > 1 && fsdp->data.shards > 1;
  fsdp->streams.all_reduces = hybrid ? program_builder_stream(fsdp->builder, "all-reduce") : fsdp->streams.reduces;
  fsdp->reduction.postdivides = fsdp->recipe->ranks / predivides_by(fsdp->recipe->ranks) > 1;
}

#define ALIGNED_BYTES 16 /* where parameters begin under use_orig_params */

static guint64 shard(const PlanFsdp *fsdp, guint32 unit) {
  guint64 aligned = fsdp->keys->use_orig_params ? ALIGNED_BYTES / fsdp->keys->parameter_bytes : 1;
  return plan_wrap_flat_shard(fsdp->wrap, fsdp->walk, PLAN_WRAP_ALL, unit, fsdp->data.shards, aligned);
}

/* A flat gradient is whole, whatever part of it is trained. */
static guint64 reduced_shard(const PlanFsdp *fsdp, guint32 unit) {
  return fsdp->wrap->units[unit].parameters > 0 ? shard(fsdp, unit) : 0;
}

static gboolean casts(const PlanFsdp *fsdp) {
  return fsdp->keys->parameter_bytes != fsdp->keys->shard_bytes;
}

static void begin_section(PlanFsdp *fsdp) {
  g_array_set_size(fsdp->first.frees, 0);
}

/* The host waits for the oldest of the units that were freed, if as many as may be are under way. */
static void limit(PlanFsdp *fsdp) {
  if (!fsdp->keys->limits_gathers || fsdp->first.frees->len < FREES_UNDER_WAY)
    return;
  plan_walk_host(fsdp->walk, "limit all-gathers");
  program_builder_need(fsdp->builder, g_array_index(fsdp->first.frees, guint32, 0));
  g_array_remove_index(fsdp->first.frees, 0);
}

static void unshard(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  gboolean shared = fsdp->data.shards > 1;
  if (state->is_unsharded || !(shared || casts(fsdp)))
    return;
  guint32 cast = PROGRAM_NONE, ready = fsdp->now.event;
  plan_fsdp_context(fsdp, PROGRAM_GATHER, unit);
  if (fsdp->keys->offloads)
    ready = plan_fsdp_fetch(fsdp, unit, fsdp->streams.copies, ready);
  if (casts(fsdp)) {
    cast = plan_fsdp_move(fsdp, fsdp->streams.copies, ready, "cast shard",
                          state->size.shard * (fsdp->keys->shard_bytes + fsdp->keys->parameter_bytes));
    if (shared)
      plan_walk_take(fsdp->walk, state->tensor.gathering);
    else
      plan_blocks_take(fsdp->walk, &state->tensor.unsharded);
  }
  if (cast != PROGRAM_NONE && fsdp->keys->offloads)
    plan_walk_give(fsdp->walk, state->tensor.fetched, PROGRAM_NONE);
  state->gather = cast;
  state->is_unsharded = TRUE;
  if (!shared)
    return;
  limit(fsdp);
  state->gather =
      plan_fsdp_collective(fsdp, fsdp->streams.gathers, cast != PROGRAM_NONE ? cast : ready, "all-gather parameters",
                           fsdp->data.shard, COLL_ALL_GATHER, state->size.padded * fsdp->keys->parameter_bytes);
  plan_blocks_take(fsdp->walk, &state->tensor.unsharded);
  if (cast != PROGRAM_NONE)
    plan_walk_give(fsdp->walk, state->tensor.gathering, fsdp->streams.gathers);
  else if (fsdp->keys->offloads)
    plan_walk_give(fsdp->walk, state->tensor.fetched, fsdp->streams.gathers);
}

static void reshard(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  if (!state->is_unsharded)
    return;
  plan_blocks_give(fsdp->walk, &state->tensor.unsharded, fsdp->streams.compute);
  state->is_unsharded = FALSE;
  if (fsdp->data.shards > 1)
    g_array_append_val(fsdp->first.frees, fsdp->walk->last);
}

/* Compute waits for the whole unshard stream, whatever else was issued there. */
static void wait_for(PlanFsdp *fsdp, guint32 unit) {
  plan_walk_need(fsdp->walk, fsdp->units[unit].gather);
  fsdp->units[unit].gather = PROGRAM_NONE;
}

static void pre_forward(PlanFsdp *fsdp, guint32 unit) {
  plan_fsdp_hook_cost(fsdp);
  unshard(fsdp, unit);
  wait_for(fsdp, unit);
  /* The order of forward is known from the second step on. */
  guint32 next = plan_wrap_next(fsdp->wrap, unit);
  if (fsdp->keys->forward_prefetch > 0 && fsdp->walk->section == PROGRAM_STEADY && next != PROGRAM_NONE)
    unshard(fsdp, next);
}

static void post_forward(PlanFsdp *fsdp, guint32 unit) {
  fsdp->units[unit].is_awaited = fsdp->units[unit].has_backward;
  if (fsdp->units[unit].reshards || fsdp->data.shards == 1)
    reshard(fsdp, unit);
}

/* The unit whose forward ended before, if its backward is still to come: the root's ends last. */
static void prefetch_before(PlanFsdp *fsdp, guint32 unit) {
  if (unit > 0 && fsdp->units[unit - 1].is_awaited)
    unshard(fsdp, unit - 1);
}

/* As forward, on what the unit above has gathered ahead; nothing is gathered ahead from here. */
static void pre_recompute(PlanFsdp *fsdp, guint32 unit) {
  plan_fsdp_hook_cost(fsdp);
  unshard(fsdp, unit);
  wait_for(fsdp, unit);
}

static void post_recompute(PlanFsdp *fsdp, guint32 unit) {
  if (fsdp->units[unit].reshards || fsdp->data.shards == 1)
    reshard(fsdp, unit);
}

static void pre_backward(PlanFsdp *fsdp, guint32 unit) {
  fsdp->units[unit].is_awaited = FALSE;
  plan_fsdp_hook_cost(fsdp);
  unshard(fsdp, unit);
  wait_for(fsdp, unit);
  if (fsdp->keys->backward_prefetch == PLAN_PREFETCH_PRE)
    prefetch_before(fsdp, unit);
}

/* Autograd joins the views' gradients into the flat parameter's: read and written once, twice their bytes at that
 * moment. A flat gradient that is there already takes it in. */
static void join_gradients(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  guint64 bytes = state->size.padded * fsdp->keys->parameter_bytes;
  plan_fsdp_context(fsdp, PROGRAM_BACKWARD, unit);
  plan_fsdp_move(fsdp, fsdp->streams.compute, PROGRAM_NONE, "join gradients", 2 * bytes);
  if (state->has_gradient) {
    plan_walk_take(fsdp->walk, state->tensor.joined);
    plan_fsdp_give_gradients(fsdp, unit);
    plan_fsdp_move(fsdp, fsdp->streams.compute, PROGRAM_NONE, "accumulate gradient", 3 * bytes);
    plan_walk_give(fsdp->walk, state->tensor.joined, PROGRAM_NONE);
  } else {
    plan_walk_take(fsdp->walk, state->tensor.gradient);
    plan_fsdp_give_gradients(fsdp, unit);
  }
  state->has_gradient = TRUE;
}

static void reduce(PlanFsdp *fsdp, guint32 unit) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  guint32 row = fsdp->walk->last, input = state->tensor.gradient;
  guint64 elements = state->size.reduced_padded, whole = elements * fsdp->keys->reduce_bytes;
  plan_fsdp_context(fsdp, PROGRAM_REDUCE, unit);
  if (fsdp->keys->reduce_bytes != fsdp->keys->parameter_bytes) {
    row = plan_fsdp_move(fsdp, fsdp->streams.reduces, row, "cast gradients",
                         whole + elements * fsdp->keys->parameter_bytes);
    input = state->tensor.reducing;
    plan_walk_take(fsdp->walk, input);
    plan_walk_give(fsdp->walk, state->tensor.gradient, fsdp->streams.reduces);
  }
  if (predivides_by(fsdp->recipe->ranks) > 1)
    row = plan_fsdp_move(fsdp, fsdp->streams.reduces, row, "divide gradients", 2 * whole);
  state->has_gradient = FALSE;
  if (fsdp->data.shards == 1) { /* reduced where it lies */
    plan_fsdp_finish_gradient(fsdp, unit, row, input);
    return;
  }
  guint32 output = plan_fsdp_reduced(fsdp, unit);
  row = plan_fsdp_collective(fsdp, fsdp->streams.reduces, row, "reduce-scatter gradients", fsdp->data.shard,
                             COLL_REDUCE_SCATTER, whole);
  plan_walk_take(fsdp->walk, output);
  plan_walk_give(fsdp->walk, input, input == state->tensor.reducing ? PROGRAM_NONE : fsdp->streams.reduces);
  plan_fsdp_finish_gradient(fsdp, unit, row, output);
}

static void post_backward(PlanFsdp *fsdp, guint32 unit, G_GNUC_UNUSED gboolean gradients) {
  gboolean trained = fsdp->units[unit].size.reduced_shard > 0;
  if (trained)
    join_gradients(fsdp, unit);
  if (fsdp->now.syncs || fsdp->recipe->zero_stage != 2)
    reshard(fsdp, unit);
  if (fsdp->keys->backward_prefetch == PLAN_PREFETCH_POST)
    prefetch_before(fsdp, unit);
  if (fsdp->now.syncs && trained)
    reduce(fsdp, unit);
}

/* Compute waits for the reductions, and the streams of gathers for it. Units that had no backward are freed. */
static void end_backward(PlanFsdp *fsdp) {
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    if (!fsdp->units[w].has_backward)
      reshard(fsdp, w);
  fsdp->now.event = fsdp->now.last_reduce != PROGRAM_NONE ? fsdp->now.last_reduce : fsdp->walk->last;
  plan_walk_need(fsdp->walk, fsdp->now.last_reduce);
}

const PlanFsdpSchedule plan_fsdp1_schedule = {
    .shard = shard,
    .reduced_shard = reduced_shard,
    .start = start,
    .begin_section = begin_section,
    .pre_forward = pre_forward,
    .post_forward = post_forward,
    .pre_recompute = pre_recompute,
    .post_recompute = post_recompute,
    .pre_backward = pre_backward,
    .post_backward = post_backward,
    .end_backward = end_backward,
};
