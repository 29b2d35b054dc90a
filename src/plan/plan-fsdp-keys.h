/* [fsdp]: PyTorch's fully sharded data parallelism, by the names of its own arguments.
 *
 *   PlanFsdpKeys keys;
 *   if (!plan_fsdp_load(settings, &where, &keys, error)) return FALSE;
 */
#pragma once

#include "conf-settings.h"

typedef enum { PLAN_PREFETCH_PRE, PLAN_PREFETCH_POST, PLAN_PREFETCH_NONE } PlanBackwardPrefetch;

/* Whether a unit's gathered copy outlives forward. */
typedef enum {
  PLAN_RESHARD_DEFAULT, /* as zero_stage says, but the last unit of wrap = ends stays, as in torchtitan */
  PLAN_RESHARD_YES,
  PLAN_RESHARD_NO,
  PLAN_RESHARD_SMALLER /* FSDP2: into a shard over fewer ranks */
} PlanReshard;

typedef struct {
  int wrap;              /* PlanWrapKind */
  guint64 wrap_elements; /* size:N */
  int reshard;           /* PlanReshard */
  guint32 reshard_ranks; /* of PLAN_RESHARD_SMALLER */
  guint64 forward_prefetch; /* units gathered ahead of the one that computes, by the host's explicit order */
  int backward_prefetch;
  gboolean limits_gathers; /* FSDP1: at most two units' memory on the way */
  gboolean syncs_always;   /* gradients are reduced every micro-batch */
  gboolean use_orig_params;
  int reduce_dtype; /* ModelPrecision */
  int shard_dtype;  /* ModelPrecision: of parameter shards, gradient shards and optimizer states */
} PlanFsdpKeys;

extern const ConfSchema plan_fsdp_schema;

/* What the keys are checked against. */
typedef struct {
  gboolean second;    /* FSDP2 */
  guint64 zero_stage; /* 3 reshards after forward, 2 does not, 0 (FSDP1) shards nothing */
  guint32 shards;     /* ranks that share one copy */
  int precision;      /* ModelPrecision of the matmuls */
} PlanFsdpWhere;

/* Errors, at the key: one that this generation does not have, values that contradict each other. */
gboolean plan_fsdp_load(const ConfSettings *settings, const PlanFsdpWhere *where, PlanFsdpKeys *ret, GError **error);
