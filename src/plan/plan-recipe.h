/* How training is laid over ranks: batch, accumulation, recompute, framework, ZeRO stage.
 *
 *   PlanRecipe recipe;
 *   if (!plan_recipe_load(settings, hw_cluster_gpus(cluster), &recipe, error)) return FALSE;
 *
 * Batch identity: global_batch = micro_batch × gradient_accumulation × data-parallel ranks. Any two of the three may be
 * given and the third follows; one alone takes 1 for what is missing; three must agree. */
#pragma once

#include "conf-settings.h"

struct HwHost;

typedef enum { PLAN_PAPER, PLAN_FRAMEWORKS } PlanFramework;
extern const char *const plan_framework_names[];
typedef enum { PLAN_CHECKPOINT_NONE, PLAN_CHECKPOINT_FULL } PlanCheckpointing;
extern const char *const plan_checkpointing_names[];

typedef struct {
  guint32 ranks;                                            /* data-parallel: all GPUs */
  guint64 micro_batch, gradient_accumulation, global_batch; /* sequences */
  double total_tokens;                                      /* 0: not stated */
  int framework, checkpointing;
  guint64 zero_stage;
  const struct HwHost *host; /* the cluster's; NULL, as it is loaded: the host never limits */
} PlanRecipe;

/* [training] and [parallel] keys of this floor, and the groups of frameworks and features that are not modelled yet. */
extern const ConfSchema plan_schema;

/* Errors: SIM_ERROR_INPUT at the key that breaks the batch identity. */
gboolean plan_recipe_load(const ConfSettings *settings, guint32 ranks, PlanRecipe *ret, GError **error);
