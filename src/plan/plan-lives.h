/* Which tensors of a unit die with which operation, from the masks of its operations.
 *
 *   PlanLives *lives = plan_lives_new(layer, MODEL_RECOMPUTE_ATTENTION);
 *   … after forward op i: the tensors of lives->forward[i] die …
 *
 * Private to this floor. */
#pragma once

#include "model-recompute.h"

typedef struct PlanLives {
  guint64 *forward;  /* per forward op */
  guint64 again;     /* mask of forward ops that run a second time, before the backward op `again_at` */
  guint64 *redone;   /* per forward op, in its second run */
  guint64 *backward; /* per backward op */
  guint again_at;
} PlanLives;

PlanLives *plan_lives_new(const ModelUnit *unit, ModelRecompute how);
void plan_lives_free(PlanLives *lives);
/* Tensors that autograd keeps because of some op of the unit. */
guint64 plan_lives_saved(const ModelUnit *unit);
