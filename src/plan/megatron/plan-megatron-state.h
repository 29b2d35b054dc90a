/* SPDX-License-Identifier: MIT */
/* What the parts of framework = megatron share: a rank's buffers, communicators and bookkeeping. Private to this
 * folder.
 *
 *   plan-megatron.c          the hooks, and setting up
 *   plan-megatron-layout.c   where parameters lie in the buffers
 *   plan-megatron-reduce.c   gradients: into the buffer, over data ranks, over tensor ranks, over first and last stage
 *   plan-megatron-gather.c   parameters, after the step or in the next forward
 *   plan-megatron-fp8.c      weights cast, scales
 *   plan-megatron-step.c     norm, optimizer, what ranks agree on
 */
#pragma once

#include "plan-megatron-layout.h"
#include "plan-optimizer.h"
#include "plan-step.h"

/* What is done to one bucket. */
typedef struct {
  guint32 norm, scale; /* ops */
  guint32 gather;      /* row; PROGRAM_NONE: not dispatched */
} MegatronWork;

/* Ranks that hold the same parameters of a kind, and what they share. */
typedef struct {
  guint32 shards, replicas;         /* ranks of an instance of the distributed optimizer; instances */
  guint32 shard_slot, replica_slot; /* where there are several */
  guint32 comm, comm_across;        /* streams */
  guint32 stats_slot;               /* over which norms are summed; PROGRAM_NONE: this rank alone */
  guint64 elements;                 /* of its buckets */
  guint tensors;                    /* parameters */
  PlanUpdate *update;               /* NULL: this stage has no such parameters */
} MegatronData;

typedef struct MegatronFp8 MegatronFp8;

typedef struct {
  const PlanRecipe *recipe;
  const PlanMegatron *options;
  ProgramBuilder *builder;
  PlanWalk *walk;
  const PlanParameters *parameters;
  MegatronData data[MEGATRON_KINDS];
  int kinds;                                       /* 2 where experts are apart, on every stage */
  guint32 model_slot;                              /* of one copy of the model; PROGRAM_NONE: this rank alone */
  guint32 zero, cast, unscale;                     /* ops; unscale PROGRAM_NONE: no loss scale */
  guint32 weights, buffer, states, fp32_gradients; /* tensors */
  guint32 *new_gradients, *add_ops;                /* by parameter: where its gradient is not added by a matmul */
  guint32 *dummies; /* by parameter: what stands for its gradient; PROGRAM_NONE: nothing */
  MegatronLayout *layout;
  MegatronWork *work;          /* by bucket */
  guint64 summed;              /* elements whose gradients are summed over tensor ranks */
  guint32 sum_copy;            /* op: these put together, and back */
  guint64 tied;                /* elements of the matrix that another stage holds too; 0: none */
  guint32 forwards, backwards; /* passes of the step so far */
  gboolean *reduced;           /* by chunk: its reductions are under way */
  MegatronFp8 *fp8;            /* NULL: matmuls are of the parameters' own precision */
  guint64 less_weights;        /* bytes that fp8 spares the parameter buffer */
} Megatron;

static inline gboolean megatron_shards(const Megatron *megatron, MegatronKind kind) {
  return megatron->recipe->zero_stage == 1 && megatron->data[kind].shards > 1;
}
static inline gboolean megatron_shards_any(const Megatron *megatron) {
  return megatron_shards(megatron, MEGATRON_DENSE) ||
         (megatron->kinds > 1 && megatron_shards(megatron, MEGATRON_EXPERTS));
}
static inline MegatronData *megatron_data(Megatron *megatron, guint bucket) {
  return &megatron->data[megatron->layout->kinds[bucket]];
}
static inline guint32 megatron_chunks(const Megatron *megatron) {
  return megatron->walk->holding->n_chunks;
}
static inline guint32 megatron_stages(const Megatron *megatron) {
  return MAX(megatron->recipe->axes.layout.degree[LAYOUT_PIPELINE], 1);
}
static inline gboolean megatron_gathers_after(const Megatron *megatron) {
  return megatron_shards_any(megatron) &&
         (!megatron->options->overlap_param_gather || megatron->walk->section == PROGRAM_FIRST);
}
/* The first step counts gradients, and overlaps nothing. */
static inline gboolean megatron_overlaps(const Megatron *megatron) {
  return megatron->options->overlap_grad_reduce && megatron->walk->section == PROGRAM_STEADY;
}

/* Hooks. */
void megatron_gradient(gpointer policy, const PlanGradient *gradient);
void megatron_backward_ended(gpointer policy);
void megatron_before_unit(gpointer policy, guint32 unit, PlanPass pass);
void megatron_before_op(gpointer policy, guint32 unit, const ModelOp *op, PlanPass pass);
void megatron_optimizer(gpointer policy);

/* fp8: what it needs, before the parameter buffer's size is known; then what it does at each hook. */
void megatron_fp8_new(Megatron *megatron, const ModelRecipe *model);
void megatron_fp8_free(MegatronFp8 *fp8);
void megatron_fp8_load(Megatron *megatron);
void megatron_fp8_before_unit(Megatron *megatron, guint32 unit, PlanPass pass);
void megatron_fp8_before_op(Megatron *megatron, guint32 unit, const ModelOp *op, PlanPass pass);
/* Of a bucket's parameters, as they are gathered. */
guint64 megatron_gather_bytes(const Megatron *megatron, guint b);

/* What is left to reduce once all passes are over. */
void megatron_finish_reductions(Megatron *megatron);
/* Begin of a step: what the schedule gathers before its first pass. */
void megatron_begin_gathers(Megatron *megatron);
/* After the step, where the next forward does not do it. */
void megatron_gather_all(Megatron *megatron);
