/* SPDX-License-Identifier: MIT */
/* DeepSpeed's pipeline engine. Private to this folder. */
#pragma once

#include "plan-hooks.h"

typedef struct PlanDeepspeedEngine PlanDeepspeedEngine;

typedef struct {
  gboolean on;
  const PlanCase *what;
  guint32 stages;         /* slot of one place in each stage */
  guint32 tensor, stream; /* slot of the tensor ranks, and the stream they exchange on; PROGRAM_NONE: there is one */
  guint32 buffers;        /* tensor: what is received into; PROGRAM_NONE: nothing is */
  guint32 *inputs;        /* tensors by place: as they came, beside the copy that forward works on; NULL */
} PlanDeepspeedPipe;

void plan_deepspeed_pipe_init(PlanDeepspeedEngine *engine, const PlanCase *what);
/* Hooks. */
void plan_deepspeed_pipe_received(gpointer policy, guint32 unit, ModelTensorRole role);
void plan_deepspeed_pipe_sending(gpointer policy, guint32 unit, ModelTensorRole role);
void plan_deepspeed_pipe_sent(gpointer policy, guint32 unit, ModelTensorRole role);
void plan_deepspeed_pipe_forward_begins(PlanDeepspeedEngine *engine);
/* Before and after the optimizer's step. */
void plan_deepspeed_pipe_reduce(PlanDeepspeedEngine *engine);
void plan_deepspeed_pipe_loss(PlanDeepspeedEngine *engine);
