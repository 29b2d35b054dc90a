/* SPDX-License-Identifier: MIT */
/* What is trained: [training] trainable.
 *
 *   "all" · "28-31, head" · "embedding, 0-3": the embedding, the head with its norm, layers from 0 on
 *   "lora:16" · "lora:8:all-linear" · "lora:8:q_proj+o_proj": adapters in every layer, and nothing else (model-lora.h)
 *
 * Private to this floor but for PlanRecipe, which holds one. */
#pragma once

#include "model-lora.h"
#include "model-train.h"

#define PLAN_TRAINABLE_RANGES 16

typedef struct {
  gboolean part;  /* not all of the model */
  ModelLora lora; /* rank 0: none */
  gboolean embedding, head;
  guint n_ranges;
  struct {
    guint64 first, last;
  } ranges[PLAN_TRAINABLE_RANGES]; /* of layers */
} PlanTrainable;

/* FALSE: *ret_fault says what is wrong; caller frees. */
gboolean plan_trainable_parse(const char *text, PlanTrainable *ret, char **ret_fault);
/* The highest layer that is named; -1: none. */
gint64 plan_trainable_highest(const PlanTrainable *trainable);
/* Of unit `index` among `n_units`: embedding, layers, head. */
ModelTraining plan_trainable_of(const PlanTrainable *trainable, guint32 index, guint32 n_units);
