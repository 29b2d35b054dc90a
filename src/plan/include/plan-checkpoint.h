/* SPDX-License-Identifier: MIT */
/* Activation checkpointing: what [training] activation_checkpointing says, and which layers it touches.
 *
 *   PlanCheckpointing checkpointing;
 *   if (!plan_checkpointing_parse("layers:2", framework, &checkpointing, &fault)) …
 *   ModelRecompute how = plan_checkpointing_of(&checkpointing, layer);      // of layer 0, 1, …
 *
 * none · full · attention · every-2nd-matmul · layers:K, every K-th layer in full (the K-th, the 2K-th, …) ·
 * fraction:F, that share of the layers in full, evenly spread. "selective" means another thing in each framework. */
#pragma once

#include "model-recompute.h"

/* Whether a layer's second run ends with the last value that its backward wants (model-recompute.h). */
typedef enum { PLAN_EARLY_STOP_DEFAULT, PLAN_EARLY_STOP_YES, PLAN_EARLY_STOP_NO } PlanEarlyStop;

typedef enum {
  PLAN_CHECKPOINT_NONE,
  PLAN_CHECKPOINT_FULL,
  PLAN_CHECKPOINT_ATTENTION,
  PLAN_CHECKPOINT_EVERY_2ND_MATMUL,
  PLAN_CHECKPOINT_LAYERS,
  PLAN_CHECKPOINT_FRACTION
} PlanCheckpointKind;

typedef struct {
  int kind;           /* PlanCheckpointKind */
  guint64 every;      /* LAYERS: K */
  double fraction;    /* FRACTION: F, 0 to 1 */
  gboolean selective; /* was written as "selective" */
  gboolean stops;     /* early: as PlanEarlyStop says, and the framework, or a compiler */
} PlanCheckpointing;

/* `selective`: what this framework means by it. FALSE: *ret_fault says what is wrong; caller frees. */
gboolean plan_checkpointing_parse(const char *text, PlanCheckpointKind selective, PlanCheckpointing *ret,
                                  char **ret_fault);
/* Whether layer 0, 1, … is recomputed as a whole. */
gboolean plan_checkpointing_whole(const PlanCheckpointing *checkpointing, guint32 layer);
ModelRecompute plan_checkpointing_of(const PlanCheckpointing *checkpointing, guint32 layer);
/* "full", "layers:2", "selective (attention)"; caller frees. */
char *plan_checkpointing_text(const PlanCheckpointing *checkpointing);
