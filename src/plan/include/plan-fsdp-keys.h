/* SPDX-License-Identifier: MIT */
/* [fsdp]: PyTorch's fully sharded data parallelism, by the names of its own arguments.
 *
 *   recipe->fsdp.wrap, recipe->fsdp.reshard …      // filled by plan_recipe_load, completed by its policy
 */
#pragma once

#include "conf-schema.h"

typedef enum { PLAN_PREFETCH_PRE, PLAN_PREFETCH_POST, PLAN_PREFETCH_NONE } PlanBackwardPrefetch;

/* Whether a unit's gathered copy outlives forward. */
typedef enum {
  PLAN_RESHARD_DEFAULT, /* as zero_stage says; but the head that wrap = ends makes a unit of stays, as in torchtitan */
  PLAN_RESHARD_YES,
  PLAN_RESHARD_NO,
  PLAN_RESHARD_SMALLER /* FSDP2: into a shard over fewer ranks */
} PlanReshard;

#define PLAN_SPLIT_MOST 256

/* How context ranks see each other's keys and values. */
typedef enum { PLAN_ROTATE_ALLGATHER, PLAN_ROTATE_ALLTOALL } PlanContextRotate;

/* Who brings a rank's column layers their input: the block, once for all that read it (PrepareModuleInput), or each
 * layer for itself (ColwiseParallel's input_layouts). */
typedef enum { PLAN_INPUTS_BLOCK, PLAN_INPUTS_LAYER } PlanTensorInputs;

typedef struct {
  char *wrap_text, *reshard_text; /* as written; NULL once resolved */
  int wrap;                       /* PlanWrapKind */
  guint64 wrap_elements;          /* of size:N */
  int reshard;                    /* PlanReshard */
  guint32 reshard_ranks;          /* of PLAN_RESHARD_SMALLER */
  guint64 forward_prefetch;       /* units gathered ahead of the one that computes, by the host's explicit order */
  int backward_prefetch;          /* PlanBackwardPrefetch */
  gboolean limits_gathers;        /* FSDP1: the host waits while two freed units are under way */
  gboolean syncs_always;          /* gradients are reduced every micro-batch */
  gboolean wraps_adapters;        /* FSDP1: each matrix of adapters is a unit of its own */
  gboolean checkpoints_outside; /* FSDP1: checkpoint(FSDP(block)): a block that runs again is gathered for that alone */
  gboolean gathers_fp8;         /* FSDP2: weights whose layers multiply in fp8 are cast before they are gathered */
  gboolean offloads;            /* shards, gradients and the optimizer lie with the host */
  gboolean use_orig_params;     /* FSDP1: parameters begin on 16 bytes, the optimizer sees each */
  int param_dtype, reduce_dtype, orig_dtype;          /* PlanDtype, as written */
  guint32 parameter_bytes, reduce_bytes, shard_bytes; /* per element: gathered, reduced, kept in shards */
  /* torchtitan's, beside other axes. */
  gboolean loss_parallel, async_tensor_parallel;
  int tensor_inputs;                         /* PlanTensorInputs */
  int context_rotate;                        /* PlanContextRotate */
  char *split_text;                          /* as written; NULL once resolved */
  guint16 split[PLAN_SPLIT_MOST];            /* layers at which a stage of the pipeline begins */
  guint32 n_split;                           /* 0: torchtitan spreads them */
  guint32 split_layers;                      /* that the model must have; 0: not said */
  guint64 first_stage_less, last_stage_less; /* layers that embedding and head count as */
  guint64 pipeline_microbatches;             /* of one run through the pipeline; 0: all of a step */
} PlanFsdpKeys;

extern const ConfSchema plan_fsdp_schema;
