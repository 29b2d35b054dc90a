/* SPDX-License-Identifier: MIT */
/* DeepSpeed's engine: what its parts share. Private to this folder.
 *
 *   plan-deepspeed.c           setting up, micro-batches, the end of a step
 *   plan-deepspeed-buckets     gradients; stages 0 to 2: into buckets and through the network
 *   plan-deepspeed-optimizer   (plan-deepspeed-step.c) norm, optimizer, the gather after it
 *   plan-deepspeed-fetch       stage 3: which parameters are gathered when
 *   plan-deepspeed-single      stage 3 before 0.6: parameter by parameter, the host in step with the device
 *   plan-deepspeed-shards      stage 3: gradients to their shards
 *   plan-deepspeed-offload     what lies in host memory
 *   plan-deepspeed-axes.c      beside other axes: shares, stages, what goes together
 *   plan-deepspeed-pipe        the pipeline engine: what it does about sends and receives, and at the end of a step */
#pragma once

#include "base-version.h"
#include "plan-deepspeed-buckets.h"
#include "plan-deepspeed-fetch.h"
#include "plan-deepspeed-offload.h"
#include "plan-deepspeed-optimizer.h"
#include "plan-deepspeed-pipe.h"
#include "plan-deepspeed-shards.h"
#include "plan-deepspeed-single.h"
#include "plan-deepspeed.h"
#include "plan-parameters.h"
#include "plan-policy.h"
#include "plan-stream.h"

/* Versions at which something changed; see plan-deepspeed-options.c. */
#define PLAN_DEEPSPEED_LISTS        BASE_VERSION(0, 5, 5)  /* stage 3 gathers into lists of views until then, */
#define PLAN_DEEPSPEED_TOGETHER     BASE_VERSION(0, 6, 0)  /* and one parameter by another */
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

typedef struct {
  PlanStream compute, reduce; /* reduce is compute where nothing overlaps */
  guint32 comm;               /* NCCL's */
} PlanDeepspeedStreams;

/* Of a gradient's element: as made, as sent, as accumulated. */
typedef struct {
  guint32 made, sent, kept;
} PlanDeepspeedBytes;

/* Tensors. In stage 3 parameters that stay gathered, and hpZ's second copy; else PROGRAM_NONE. */
typedef struct {
  guint32 own, small, second;
} PlanDeepspeedWeights;

/* Parameters that the same ranks hold, a group of the optimizer: all, or those that are no experts, and experts that
 * other ranks hold. Source: deepspeed/moe/utils.py, stage_1_and_2.py (real_dp_process_group). */
typedef struct {
  guint32 slot;            /* of these ranks */
  guint32 ranks, owners;   /* in it; that states are spread over */
  guint64 elements, shard; /* trained; of one rank's states */
} PlanDeepspeedData;

struct PlanDeepspeedEngine {
  const PlanRecipe *recipe;
  const PlanDeepspeed *options;
  ProgramBuilder *builder;
  PlanWalk *walk;
  guint32 world;             /* slot of all ranks that hold what is no expert */
  guint32 owners;            /* of these, ranks that states are spread over */
  guint64 shard;             /* elements of one rank's states, of all kinds */
  PlanDeepspeedData data[2]; /* the second: experts apart */
  guint kinds;
  gboolean hybrid;                  /* BF16_Optimizer: fp32 gradients beside 16-bit ones */
  const PlanParameters *parameters; /* those that are trained, of the walk */
  PlanParameters *every;            /* frozen ones too */
  PlanDeepspeedStreams streams;
  PlanDeepspeedBytes bytes;
  PlanDeepspeedWeights weights;
  PlanDeepspeedOptimizer optimizer;
  PlanDeepspeedGradients grads;
  PlanDeepspeedBucket bucket;
  PlanDeepspeedOffload offload;
  PlanDeepspeedPipe pipe;
  PlanDeepspeedFetch *fetch; /* stage 3 */
  PlanDeepspeedShards *shards;
};

/* That of a parameter. */
static inline guint plan_deepspeed_kind(const PlanDeepspeedEngine *engine, guint parameter) {
  return engine->parameters->list[parameter].apart ? 1 : 0;
}

guint32 plan_deepspeed_op(PlanDeepspeedEngine *engine, guint64 elements, guint32 bytes_each);

/* Fills and checks what follows from other axes. */
gboolean plan_deepspeed_axes(const PlanGiven *given, PlanRecipe *recipe, GError **error);
void plan_deepspeed_note_axes(const PlanRecipe *recipe, GPtrArray *notes);
