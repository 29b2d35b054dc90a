/* SPDX-License-Identifier: MIT */
/* Modules as torch.nn has them, as far as hooks on them matter: who holds which parameters, in which order they are
 * entered.
 *
 *   g_autoptr(PlanModules) modules = plan_modules_new(walk, parameters, granularity);
 *   guint m = plan_modules_of(modules, walk, unit, op);            // PLAN_NO_MODULE: the op has no parameters
 *
 * A module is what comes before the last dot of a parameter's name ("q_proj" of "q_proj.weight"). Containers (layer,
 * attention, MLP, the activation) hold no parameters of their own; `before` says how many are entered just before a
 * module, on the way up (forward) and down. Private to this floor. */
#pragma once

#include "plan-parameters.h"

#define PLAN_NO_MODULE G_MAXUINT

typedef struct {
  guint *parameters; /* in PlanParameters */
  guint n;
  guint before[2]; /* containers entered before it: forward, backward */
} PlanModule;

typedef struct {
  PlanModule *list;
  guint n;
  guint **of_unit; /* by unit and its parameter */
  guint32 n_units;
} PlanModules;

/* Layers with at most `granularity` elements per module are one module; 0: none is. */
PlanModules *plan_modules_new(const PlanWalk *walk, const PlanParameters *parameters, guint64 granularity);
void plan_modules_free(PlanModules *modules);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlanModules, plan_modules_free)
guint plan_modules_of(const PlanModules *modules, guint32 unit, const ModelOp *op);
/* Whether the operation runs in this pass. */
gboolean plan_modules_runs(const PlanWalk *walk, guint32 unit, const ModelOp *op, PlanPass pass);
/* Whether no later operation of the unit in this pass is of the module of this one. */
gboolean plan_modules_leaves(const PlanModules *modules, const PlanWalk *walk, guint32 unit, const ModelOp *op,
                             PlanPass pass);
/* Modules in the order in which one micro-batch enters them: guint; caller unrefs. */
GArray *plan_modules_trace(const PlanModules *modules, const PlanWalk *walk);
