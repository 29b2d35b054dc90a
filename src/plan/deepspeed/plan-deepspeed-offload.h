/* SPDX-License-Identifier: MIT */
/* DeepSpeed's offload to host memory. Private to this folder. */
#pragma once

#include "plan-stream.h"

typedef struct PlanDeepspeedEngine PlanDeepspeedEngine;

typedef struct {
  guint32 cpu;     /* stream of the host's cores */
  guint32 back;    /* tensor: parameters on their way back */
  guint64 largest; /* elements of one parameter that one rank owns, at most */
} PlanDeepspeedOffload;

gboolean plan_deepspeed_offload_on(const PlanDeepspeedEngine *engine);
/* After the states: they are not on the GPU. */
void plan_deepspeed_offload_init(PlanDeepspeedEngine *engine);
/* Own slices of a bucket: elements in all, and of the largest, for they go one by one. */
void plan_deepspeed_offload_own(PlanDeepspeedEngine *engine, guint64 elements, guint64 largest);
void plan_deepspeed_offload_update(PlanDeepspeedEngine *engine);
void plan_deepspeed_offload_fetch(PlanDeepspeedEngine *engine, PlanStream *stream, guint64 elements);
