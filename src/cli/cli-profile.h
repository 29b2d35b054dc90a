/* SPDX-License-Identifier: MIT */
/* The layer profile (*.layers.csv): a row per layer and direction, as a measurement would give it.
 *
 *   layer,phase,time_us,flops,bytes,activation_bytes,parameters
 *   embedding,forward,27.107346,0,67141632,33554432,131072000
 *   0,forward,…
 *
 * Layers in the order of the forward pass: embedding, 0 to the last, head; of each forward, then backward. Times are
 * exact: picoseconds in microseconds. */
#pragma once

#include "study-layers.h"

/* Sum of operations. */
typedef struct {
  double flops;
  guint64 bytes, activations;
  SimTime time;
} CliProfileSum;

void cli_profile_add(CliProfileSum *sum, const StudyLayerOp *op);
/* Which of model_unit_names it is. */
ModelUnitKind cli_profile_unit(const char *unit);

/* Errors: SIM_ERROR_INPUT for a path that is a folder or in none, SIM_ERROR_SYSTEM where the disk refuses. */
gboolean cli_profile_write(const StudyLayers *layers, const char *path, GError **error);
