/* SPDX-License-Identifier: MIT */
/* Stage 3's parameters: which are gathered when. Private to this folder. */
#pragma once

#include "plan-hooks.h"

typedef struct PlanDeepspeedEngine PlanDeepspeedEngine;
typedef struct PlanDeepspeedFetch PlanDeepspeedFetch;

/* `second`: slot of hpZ, PROGRAM_NONE: none. */
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
