/* SPDX-License-Identifier: MIT */
/* Which tensors of a unit die with which operation, from the masks of its operations.
 *
 *   PlanLives *lives = plan_lives_new(layer, MODEL_RECOMPUTE_ATTENTION);
 *   … after forward op i: the tensors of lives->forward[i] die …
 *
 * Private to this floor. */
#pragma once

#include "model-recompute.h"

typedef struct PlanLives {
  ModelSet saved;     /* plan_lives_saved */
  ModelSet *forward;  /* per forward op */
  ModelSet again;     /* mask of forward ops that run a second time, before the backward op `again_at` */
  ModelSet *redone;   /* per forward op, in its second run */
  ModelSet *backward; /* per backward op */
  guint again_at;
} PlanLives;

PlanLives *plan_lives_new(const ModelUnit *unit, ModelRecompute how);
void plan_lives_free(PlanLives *lives);
/* Of the unit's tensors, what backward or a second run reads of forward's. */
ModelSet plan_lives_wanted(const ModelUnit *unit, const PlanLives *lives);
/* Tensors that autograd keeps because of some op of the unit. */
ModelSet plan_lives_saved(const ModelUnit *unit);
