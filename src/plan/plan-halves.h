/* SPDX-License-Identifier: MIT */
/* A unit's backward in two passes as rows: which tensor dies in which.
 *
 *   PlanHalves *halves = plan_halves_new(builder, &what, micro_batch, unit);
 *   plan_halves_inputs(walk, u) down …   plan_halves_weights(walk, u) up …   plan_halves_end(walk, u)
 *
 *   pass for inputs     a gradient dies after its last reader, unless the pass for weights reads it; what forward saved
 *                       lives on, all of it (retain_graph)
 *   pass for weights    what it alone reads of both dies after its last reader
 *   its end             the rest of what forward saved: the graph that held it goes
 *
 * Source: torch/distributed/pipelining/_backward.py of PyTorch 2.6 to 2.9. Private to this floor. */
#pragma once

#include "model-halves.h"
#include "plan-hooks.h"
#include "program.h"

typedef struct PlanHalves {
  ModelHalves *ops;
  guint32 *input_ops, *weight_ops; /* Program operations */
  ModelSet *inputs, *weights;      /* deaths per op */
  ModelSet rest;
} PlanHalves;

/* `unit`: all of it trained, none of it checkpointed. */
PlanHalves *plan_halves_new(ProgramBuilder *builder, const PlanCase *what, guint64 micro_batch, const ModelUnit *unit);
void plan_halves_free(PlanHalves *halves);

void plan_halves_inputs(PlanWalk *walk, guint32 unit);
void plan_halves_weights(PlanWalk *walk, guint32 unit);
void plan_halves_end(PlanWalk *walk, guint32 unit);
