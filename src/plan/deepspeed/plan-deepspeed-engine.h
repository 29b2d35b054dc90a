/* SPDX-License-Identifier: MIT */
/* DeepSpeed's engine: what stages 0 to 3 share. Private to this floor.
 *
 *   plan-deepspeed.c           setting up, micro-batches, the end of a step
 *   plan-deepspeed-buckets.c   stages 0 to 2: gradients into buckets and through the network
 *   plan-deepspeed-step.c      norm, optimizer, the gather after it
 *   plan-deepspeed-fetch.c     stage 3: which parameters are gathered when
 *   plan-deepspeed-shards.c    stage 3: gradients to their shards
 *   plan-deepspeed-axes.c      beside other axes: shares, stages, what goes together
 *   plan-deepspeed-pipe.c      the pipeline engine: what it does about sends and receives, and at the end of a step */
#pragma once

#include "base-version.h"
#include "plan-deepspeed.h"
#include "plan-optimizer.h"
#include "plan-parameters.h"
#include "plan-policy.h"
#include "plan-stream.h"

/* Versions at which something changed; see plan-deepspeed-options.c. */
#define PLAN_DEEPSPEED_MULTI_RANK   BASE_VERSION(0, 12, 4) /* all-reduce of whole buckets */
#define PLAN_DEEPSPEED_ONE_GATHER   BASE_VERSION(0, 12, 5) /* after the step */
#define PLAN_DEEPSPEED_META_KEPT    BASE_VERSION(0, 12, 6) /* of parts that tensor ranks send */
#define PLAN_DEEPSPEED_COMPUTE_WAIT BASE_VERSION(0, 14, 4) /* compute waits for the bucket before */
#define PLAN_DEEPSPEED_HALF_BACK    BASE_VERSION(0, 17, 0) /* offload copies 16-bit parameters back */
#define PLAN_DEEPSPEED_NO_OVERLAP   BASE_VERSION(0, 17, 2) /* compute waits for each bucket as it is reduced … */
#define PLAN_DEEPSPEED_OVERLAPS     BASE_VERSION(0, 18, 6) /* … until then */
#define PLAN_DEEPSPEED_PINNED       BASE_VERSION(0, 19, 5) /* host memory is page-locked by default */

/* Elements of a buffer of DeepSpeed's buffered all-reduce: MEMORY_OPT_ALLREDUCE_SIZE of engine.py. */
#define PLAN_DEEPSPEED_BUFFER ((guint64)500000000)

typedef struct PlanDeepspeedFetch PlanDeepspeedFetch;
typedef struct PlanDeepspeedShards PlanDeepspeedShards;

/* What of the optimizer the rank owns. */
typedef struct {
  guint32 master, momenta[2]; /* tensors; the second PROGRAM_NONE where there is but one */
  guint32 flat;               /* the step's copy of the own gradients, as accumulated */
  GPtrArray *sizes;           /* PlanDeepspeedGroup: of the groups, each size once */
  GArray *groups;             /* guint, places in `sizes`: what is updated one after the other */
  PlanUpdate *norm;           /* its norm pass reads all own gradients */
} PlanDeepspeedOptimizer;

/* Own elements that the optimizer updates at a time. */
typedef struct {
  guint64 elements;
  guint32 cast;     /* tensor: the step's copy of their gradients in fp32 */
  guint32 roots[2]; /* torch's Adam: its temporaries; PROGRAM_NONE: none */
  PlanUpdate *update;
} PlanDeepspeedGroup;

typedef struct {
  guint32 *whole, *fresh; /* by parameter: .grad, and what is added to it */
  guint32 *add_ops, *copy_ops;
  guint32 own, own_new; /* own slices: accumulated, of one micro-batch */
  guint32 full;         /* fp32 gradients of BF16_Optimizer */
  gboolean own_held, own_new_held;
} PlanDeepspeedGradients;

/* The bucket that is filled, while a backward pass is built. */
typedef struct {
  guint32 buffers[2]; /* tensors */
  GArray *members;    /* guint: parameters in it */
  guint64 elements;
  gboolean buffers_held;
  guint index; /* of the buffer that is filled */
} PlanDeepspeedBucket;

typedef struct {
  guint32 cpu;        /* stream of the host's cores */
  guint32 back, wide; /* tensors: parameters on their way back; the norm's copy */
} PlanDeepspeedOffload;

/* Of the pipeline engine. */
typedef struct {
  gboolean on;
  const PlanCase *what;
  guint32 stages;         /* slot of one place in each stage */
  guint32 tensor, stream; /* slot of the tensor ranks, and the stream they exchange on; PROGRAM_NONE: there is one */
  guint32 buffers;        /* tensor: what is received into; PROGRAM_NONE: nothing is */
  guint32 *inputs;        /* tensors by place: as they came, beside the copy that forward works on; NULL */
} PlanDeepspeedPipe;

typedef struct {
  const PlanRecipe *recipe;
  const PlanDeepspeed *options;
  ProgramBuilder *builder;
  PlanWalk *walk;
  guint32 comm;                     /* NCCL's stream */
  PlanStream compute, reduce;       /* reduce is compute where nothing overlaps */
  guint32 world;                    /* slot of all ranks */
  guint32 owners;                   /* ranks that states are spread over */
  guint32 bytes, wire, kept;        /* of a gradient element: as made, as sent, as accumulated */
  gboolean hybrid;                  /* BF16_Optimizer: fp32 gradients beside 16-bit ones */
  const PlanParameters *parameters; /* those that are trained, of the walk */
  PlanParameters *every;            /* frozen ones too */
  guint64 shard;                    /* elements of one rank's states */
  guint32 weights;                  /* tensor */
  guint32 small, second;            /* stage 3: parameters that stay gathered, hpZ's second copy */
  PlanDeepspeedOptimizer optimizer;
  PlanDeepspeedGradients grads;
  PlanDeepspeedBucket bucket; /* stages 0 to 2 */
  PlanDeepspeedOffload offload;
  PlanDeepspeedPipe pipe;
  PlanDeepspeedFetch *fetch; /* stage 3 */
  PlanDeepspeedShards *shards;
} PlanDeepspeedEngine;

guint32 plan_deepspeed_op(PlanDeepspeedEngine *engine, guint64 elements, guint32 bytes_each);

/* Stages 0 to 2. */
void plan_deepspeed_buckets_init(PlanDeepspeedEngine *engine);
void plan_deepspeed_buckets_gradient(PlanDeepspeedEngine *engine, guint parameter, gboolean first_part);
void plan_deepspeed_buckets_backward_ended(PlanDeepspeedEngine *engine);
/* Of all micro-batches, at the end of a step of the pipeline engine. */
void plan_deepspeed_buckets_reduce(PlanDeepspeedEngine *engine);
/* Offload to host memory (plan-deepspeed-offload.c). `plan_deepspeed_offload_init` after the states: they are not on
 * the GPU. */
gboolean plan_deepspeed_offload_on(const PlanDeepspeedEngine *engine);
void plan_deepspeed_offload_init(PlanDeepspeedEngine *engine);
void plan_deepspeed_offload_own(PlanDeepspeedEngine *engine, guint64 elements);
void plan_deepspeed_offload_update(PlanDeepspeedEngine *engine);
void plan_deepspeed_offload_fetch(PlanDeepspeedEngine *engine, PlanStream *stream, guint64 elements);
/* Stage 3: parameters (plan-deepspeed-fetch.c) and gradients (plan-deepspeed-shards.c). `second`:
 * slot of hpZ, PROGRAM_NONE: none. */
PlanDeepspeedFetch *plan_deepspeed_fetch_new(PlanDeepspeedEngine *engine, guint32 stream, guint32 slot, guint32 second);
void plan_deepspeed_fetch_free(PlanDeepspeedFetch *fetch);
void plan_deepspeed_fetch_section(PlanDeepspeedFetch *fetch);
void plan_deepspeed_fetch_micro_batch(PlanDeepspeedFetch *fetch);
void plan_deepspeed_fetch_forward_ended(PlanDeepspeedFetch *fetch);
void plan_deepspeed_fetch_step_ended(PlanDeepspeedFetch *fetch);
void plan_deepspeed_fetch_before(PlanDeepspeedFetch *fetch, guint32 unit, const ModelOp *op, PlanPass pass);
void plan_deepspeed_fetch_after(PlanDeepspeedFetch *fetch, guint32 unit, const ModelOp *op, PlanPass pass);
/* Elements that stay gathered, padding included. */
guint64 plan_deepspeed_fetch_persisting(const PlanDeepspeedFetch *fetch);

typedef struct {
  guint32 owners;         /* slot of ranks that share one copy of the states */
  guint32 copies;         /* of ranks that hold the same shard; PROGRAM_NONE: one copy */
  guint32 inside, across; /* of a node, and of GPUs alike in each node; PROGRAM_NONE: gradients are not quantised */
  guint32 inside_ranks;
} PlanDeepspeedGroups;
PlanDeepspeedShards *plan_deepspeed_shards_new(PlanDeepspeedEngine *engine, const PlanDeepspeedGroups *groups);
void plan_deepspeed_shards_free(PlanDeepspeedShards *shards);
void plan_deepspeed_shards_section(PlanDeepspeedShards *shards);
void plan_deepspeed_shards_gradient(PlanDeepspeedShards *shards, guint parameter, gboolean first_part);
void plan_deepspeed_shards_backward_ended(PlanDeepspeedShards *shards);

/* Fills and checks what follows from other axes. */
gboolean plan_deepspeed_axes(const PlanGiven *given, PlanRecipe *recipe, GError **error);
void plan_deepspeed_note_axes(const PlanRecipe *recipe, GPtrArray *notes);

/* The pipeline engine. */
void plan_deepspeed_pipe_init(PlanDeepspeedEngine *engine, const PlanCase *what);
void plan_deepspeed_pipe_received(gpointer policy, guint32 unit, ModelTensorRole role);
void plan_deepspeed_pipe_sending(gpointer policy, guint32 unit, ModelTensorRole role);
void plan_deepspeed_pipe_sent(gpointer policy, guint32 unit, ModelTensorRole role);
void plan_deepspeed_pipe_forward_begins(PlanDeepspeedEngine *engine);
/* Before and after the optimizer's step. */
void plan_deepspeed_pipe_reduce(PlanDeepspeedEngine *engine);
void plan_deepspeed_pipe_loss(PlanDeepspeedEngine *engine);

/* The step: `plan_deepspeed_step_init` registers, `plan_deepspeed_step` writes it. */
void plan_deepspeed_step_init(PlanDeepspeedEngine *engine);
void plan_deepspeed_step(gpointer policy);
