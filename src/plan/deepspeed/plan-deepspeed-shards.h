/* SPDX-License-Identifier: MIT */
/* Stage 3's gradients on their way to their shards. Private to this folder. */
#pragma once

#include <glib.h>

typedef struct PlanDeepspeedEngine PlanDeepspeedEngine;
typedef struct PlanDeepspeedShards PlanDeepspeedShards;

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
