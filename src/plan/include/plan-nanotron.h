/* SPDX-License-Identifier: MIT */
/* [nanotron]: its parallelism section's own keys, by its names. */
#pragma once

#include "conf-schema.h"

typedef struct {
  gboolean async;   /* tp_linear_async_communication */
  gboolean regains; /* tp_recompute_allgather */
} PlanNanotron;

extern const ConfSchema plan_nanotron_schema;
