/* SPDX-License-Identifier: MIT */
/* [megatron]: Megatron-LM's data parallelism, distributed optimizer and pipeline, by the names of its arguments. */
#pragma once

#include "conf-schema.h"

/* Whose layers: they differ in what they hand autograd for a gradient that is in the buffer already. */
typedef enum { PLAN_MEGATRON_ENGINE, PLAN_MEGATRON_LOCAL, PLAN_MEGATRON_IMPLS } PlanMegatronImpl;

typedef struct {
  gboolean overlap_grad_reduce, overlap_param_gather;
  guint64 bucket_size; /* elements; 0: Megatron's default for so many ranks */
  gboolean gradient_accumulation_fusion;
  gboolean checks_gradients;                      /* the host reads each bucket's norm before it is reduced */
  gboolean pad_buckets;                           /* for high bus bandwidth: bucket ends on multiples of 2^16 */
  gboolean averages;                              /* the collective divides, no pass before it */
  gboolean align_grad_reduce, align_param_gather; /* over a pipeline: all stages at one time */
  gboolean overlap_p2p;                           /* interleaved: sends and receives beside compute */
  gboolean deallocates;                           /* outputs, once they are sent */
  guint64 first_layers, last_layers;              /* of the first and last pipeline rank; 0: as the others */
  gboolean counts_embedding, counts_loss;         /* as a layer each, where layers are spread over stages */
  guint64 micro_batch_group;   /* interleaved: micro-batches of a chunk in a row; 0: as many as stages */
  guint64 vocabulary_multiple; /* rows of the vocabulary are a multiple of this × tensor */
  gboolean tp_comm_overlap, distributes_saved;
  int layers_by;      /* PlanMegatronImpl */
  gboolean stands_in; /* a tensor stands for a gradient that is in the buffer; filled by plan_megatron_resolve */
  int context_kind;   /* ModelContext */
  int dispatch;       /* ModelDispatch */
  gboolean fp8_param_gather, router_pads;
  guint32 parameter_bytes, gradient_bytes; /* per element of the two buffers; filled by plan_megatron_resolve */
} PlanMegatron;

extern const ConfSchema plan_megatron_schema;
