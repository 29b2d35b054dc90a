/* SPDX-License-Identifier: MIT */
/* What an operation, and what else a step is made of, costs the host, for those who may not see kernels or hardware.
 *
 *   program_builder_cost(builder, model_op_host(&unit->forward[i], recipe->host));
 *   program_builder_cost(builder, model_host_cost(recipe->host, MODEL_HOST_COLLECTIVE));
 *
 * `host` is a cluster's (hw-cluster.h). NULL: the host never limits, every cost is 0. */
#pragma once

#include "base-quantity.h"
#include "model-unit.h"

struct HwHost;

typedef enum {
  MODEL_HOST_LAYER_FUNCTION,   /* what an op `in_function` adds to its kernel's launch */
  MODEL_HOST_CHECKPOINT,       /* one region that runs again in backward */
  MODEL_HOST_COLLECTIVE,       /* issue of one */
  MODEL_HOST_CHECK,            /* of one by c10d, before it */
  MODEL_HOST_CHECKED_RANK,     /* what each member adds to that, within a node */
  MODEL_HOST_CHECKED_RANK_FAR, /* and over nodes */
  MODEL_HOST_FSDP_UNIT,        /* FSDP's hooks of one unit, once per direction */
  MODEL_HOST_DEEPSPEED_MODULE, /* ZeRO-3's hooks of one leaf module, once per direction */
  MODEL_HOST_GRADIENT_HOOK,    /* a hook on one parameter's gradient */
  MODEL_HOST_OPTIMIZER_STEP,   /* one step, whatever it holds */
  MODEL_HOST_OPTIMIZER_TENSOR, /* what each parameter tensor adds to it */
  MODEL_HOST_COPY,             /* one of many copies in a loop without autograd */
  MODEL_HOST_LISTED_RANK,      /* what each member adds to a collective over lists of tensors */
  MODEL_HOST_MICRO_BATCH,      /* the training loop around one micro-batch */
  MODEL_HOST_PASS              /* one pass of a framework's own: a copy, a division */
} ModelHostCost;

SimTime model_op_host(const ModelOp *op, const struct HwHost *host);
SimTime model_host_cost(const struct HwHost *host, ModelHostCost what);
