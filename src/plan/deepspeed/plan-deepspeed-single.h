/* SPDX-License-Identifier: MIT */
/* Stage 3 before DeepSpeed 0.6: each parameter is gathered and reduced by itself. Private to this folder. */
#pragma once

#include "plan-stream.h"

typedef struct PlanDeepspeedEngine PlanDeepspeedEngine;

/* Whether the version plays so. */
gboolean plan_deepspeed_single(const PlanDeepspeedEngine *engine);
/* The same, and gathers go into a list of views, one of each rank, from which c10d's own buffer is copied out. */
gboolean plan_deepspeed_single_lists(const PlanDeepspeedEngine *engine);
/* The host waits for all that the device has, `gathers` among it; `gather`: the last one, PROGRAM_NONE for none. */
void plan_deepspeed_single_wait(PlanDeepspeedEngine *engine, const PlanStream *gathers, guint32 gather);
/* Before a parameter is gathered: its room is filled with zeros, and the host waits. */
void plan_deepspeed_single_before(PlanDeepspeedEngine *engine, const PlanStream *gathers, guint32 gather,
                                  guint64 elements);
/* After it: out of c10d's buffer, view by view; `gather` is its row, and what is returned the row that has it all. */
guint32 plan_deepspeed_single_after(PlanDeepspeedEngine *engine, PlanStream *gathers, guint32 gather, guint64 elements);
/* Gradients of the open bucket, each through the network from a list of views. */
void plan_deepspeed_single_reduce(PlanDeepspeedEngine *engine, guint32 slot);
