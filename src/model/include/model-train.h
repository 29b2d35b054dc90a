/* SPDX-License-Identifier: MIT */
/* Training a part of the model: what is left of a unit's backward when its parameters are frozen.
 *
 *   model_unit_train(layer, MODEL_FROZEN);      // keeps the gradients that flow through, drops those of its weights
 *
 *   embedding ── layer 0 ── layer 1 ── layer 2 ── head        trainable = 1
 *   below        below      first      frozen     frozen      backward ends in layer 1
 *
 * Autograd keeps what the rest of backward reads, and no more. */
#pragma once

#include "model-unit.h"

typedef enum {
  MODEL_TRAINED,
  MODEL_TRAINED_FIRST, /* the lowest that is trained: nobody wants its input's gradient */
  MODEL_FROZEN,        /* above a trained one */
  MODEL_FROZEN_BELOW,  /* no backward at all */
  MODEL_TRAININGS
} ModelTraining;

/* Changes a unit as it was built. MODEL_TRAINED and MODEL_TRAINED_FIRST leave parameters frozen that are (those beside
 * adapters), and drop what only their gradients needed. */
void model_unit_train(ModelUnit *unit, ModelTraining how);
