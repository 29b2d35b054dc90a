/* SPDX-License-Identifier: MIT */
/* The optimizer's step: what ranks have to agree on before and after it. Source: megatron/core/optimizer/optimizer.py,
 * clip_grads.py, megatron/training/training.py (train_step). */
#include "plan-megatron-state.h"

#define FP32 4

static ProgramHint hint_of(const Megatron *megatron) {
  return megatron_stages(megatron) > 1 ? PROGRAM_HINT_PIPELINE : PROGRAM_HINT_BOUNDARY;
}

/* One number is summed over the ranks of a slot on compute's stream: PyTorch from 2.8 on runs such a call on the
 * caller's stream (pull request 150398), before that on one that the caller's waits for at once, which takes as long.
 * Then the host reads it. */
static void agree(Megatron *megatron, guint32 slot, const char *sum, const char *read, guint32 row) {
  PlanWalk *walk = megatron->walk;
  if (slot != PROGRAM_NONE) {
    guint32 before = row;
    row = plan_walk_collective(walk, walk->stream, sum, slot, (CollCall){COLL_ALL_REDUCE, sizeof(float)},
                               hint_of(megatron));
    program_builder_need(megatron->builder, before);
  }
  plan_walk_host(walk, read);
  program_builder_need(megatron->builder, row);
}

/* fp16: gradients are divided by the loss scale, and the step is left out where one is infinite. */
static void unscale(Megatron *megatron) {
  if (megatron->unscale == PROGRAM_NONE)
    return;
  guint32 row = plan_walk_pass(megatron->walk, megatron->walk->stream, "unscale gradients", megatron->unscale);
  agree(megatron, megatron->data[MEGATRON_DENSE].stats_slot, "all-reduce overflow", "read overflow", row);
}

/* The host reads the norm to know what to scale by. Without the distributed optimizer a data rank has all gradients,
 * and the sum is over tensor and pipeline ranks alone. Experts that are apart have an optimizer of their own
 * (ChainedOptimizer), whose norm is read by itself; a stage without any has its part in the sum. */
static void read_norms(Megatron *megatron) {
  for (int kind = 0; kind < megatron->kinds && megatron->recipe->gradient_clipping > 0; kind++) {
    const MegatronData *data = &megatron->data[kind];
    guint32 row = data->update != NULL ? plan_update_norm(megatron->walk, data->update) : megatron->walk->last;
    agree(megatron, data->stats_slot, "all-reduce norm", "read norm", row);
  }
}

static void update(Megatron *megatron) {
  for (int kind = 0; kind < megatron->kinds; kind++)
    if (megatron->data[kind].update != NULL)
      plan_update_run(megatron->walk, megatron->data[kind].update, NULL);
}

/* Whether the step was done, and its norm, are made known to all ranks of the model. */
static void make_known(Megatron *megatron) {
  static const char *const what[][2] = {{"all-reduce success", "read success"},
                                        {"all-reduce largest norm", "read largest norm"}};
  for (gsize i = 0; i < G_N_ELEMENTS(what) && megatron->model_slot != PROGRAM_NONE; i++)
    agree(megatron, megatron->model_slot, what[i][0], what[i][1], megatron->walk->last);
}

void megatron_optimizer(gpointer policy) {
  Megatron *megatron = policy;
  PlanWalk *walk = megatron->walk;
  gboolean casts = megatron->options->gradient_bytes < FP32;
  megatron_finish_reductions(megatron);
  program_builder_context(megatron->builder, PROGRAM_OPTIMIZER, -1, -1);
  if (casts) {
    plan_walk_pass(walk, walk->stream, "gradients to fp32", megatron->cast);
    plan_walk_take(walk, megatron->fp32_gradients);
  }
  unscale(megatron);
  read_norms(megatron);
  update(megatron);
  if (megatron->walk->section == PROGRAM_FIRST)
    plan_walk_take(walk, megatron->states);
  if (casts)
    plan_walk_give(walk, megatron->fp32_gradients, PROGRAM_NONE);
  megatron_gather_all(megatron);
  program_builder_context(megatron->builder, PROGRAM_OPTIMIZER, -1, -1);
  make_known(megatron);
}
