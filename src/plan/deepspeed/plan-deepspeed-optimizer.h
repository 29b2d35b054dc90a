/* SPDX-License-Identifier: MIT */
/* What of the optimizer a rank of DeepSpeed's engine owns, and its step. Private to this folder. */
#pragma once

#include "plan-optimizer.h"
#include "plan-paged.h"

typedef struct PlanDeepspeedEngine PlanDeepspeedEngine;

typedef struct {
  guint32 master, momenta[2]; /* tensors; the second PROGRAM_NONE where there is but one */
  PlanPaged paged;
  GPtrArray *sizes; /* PlanDeepspeedGroup: of the groups, each size once */
  GArray *groups;   /* guint, places in `sizes`: what is updated one after the other */
  PlanUpdate *norm; /* its norm pass reads all own gradients */
} PlanDeepspeedOptimizer;

/* Own elements that the optimizer updates at a time. */
typedef struct {
  guint64 elements;
  guint32 flat;     /* tensor: the step's copy of their gradients, as accumulated; PROGRAM_NONE: none */
  guint32 cast;     /* tensor: the step's copy of their gradients in fp32 */
  guint32 roots[2]; /* torch's Adam: its temporaries; PROGRAM_NONE: none */
  PlanUpdate *update;
} PlanDeepspeedGroup;

/* Registers; writes the step: a hook. */
void plan_deepspeed_step_init(PlanDeepspeedEngine *engine);
void plan_deepspeed_step(gpointer policy);
