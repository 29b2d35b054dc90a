/* SPDX-License-Identifier: MIT */
/* Muon's and Adafactor's states and passes. */
#include "plan-matrix-optimizer.h"

#include "model-host.h"
#include "plan-parameters.h"

#define BF16 2

static const ModelParameter *parameter_of(const PlanWalk *walk, guint p) {
  return plan_parameters_model(walk->parameters, walk, p);
}

static guint64 columns_of(const ModelParameter *parameter) {
  return parameter->elements / MAX(parameter->rows, 1);
}

/* Muon's: of layers, of more than one column. */
static gboolean is_moved(const PlanWalk *walk, guint p) {
  return model_unit_is_layer(walk->units[walk->parameters->list[p].unit].unit->kind) &&
         columns_of(parameter_of(walk, p)) > 1;
}

static guint64 moved_elements(const PlanWalk *walk) {
  guint64 elements = 0;
  for (guint p = 0; p < walk->parameters->n; p++)
    elements += is_moved(walk, p) ? walk->parameters->list[p].elements : 0;
  return elements;
}

/* Numbers that Adafactor keeps of the whole model. */
static guint64 factored_numbers(const PlanWalk *walk) {
  guint64 numbers = 0;
  for (guint p = 0; p < walk->parameters->n; p++) {
    const ModelParameter *parameter = parameter_of(walk, p);
    guint64 columns = columns_of(parameter);
    numbers += columns > 1 ? parameter->rows + columns : parameter->elements;
  }
  return numbers;
}

guint64 plan_matrix_states(const PlanWalk *walk, guint64 elements, guint32 element_bytes) {
  double all = (double)MAX(walk->parameters->elements, 1), moved = (double)moved_elements(walk);
  double numbers = walk->recipe->optimizer == PLAN_MUON ? moved + 2 * (all - moved) : (double)factored_numbers(walk);
  return (guint64)((double)elements * element_bytes * numbers / all);
}

static void add_op(PlanWalk *walk, GArray *passes, const ModelOp *op) {
  PlanUpdatePass pass = {op->name, program_builder_op(walk->builder, op->kernel), model_op_host(op, walk->host), 0};
  g_array_append_val(passes, pass);
}

/* The update is gathered between the momentum's pass and those over the whole. */
static void move_matrix(PlanWalk *walk, GArray *passes, const ModelParameter *of, const ModelOptimizer *what,
                        guint64 shards) {
  ModelMuon muon = {of->rows, columns_of(of), shards, what->element_bytes, what->gradient_bytes};
  g_autoptr(ModelUnit) unit = model_muon_new(&muon);
  PlanUpdatePass gather = {"gather updates", PROGRAM_NONE, 0, of->elements * BF16};
  for (guint i = 0; i < unit->n_forward; i++) {
    add_op(walk, passes, &unit->forward[i]);
    if (i == 0 && shards > 1)
      g_array_append_val(passes, gather);
  }
}

static guint64 muon_passes(PlanWalk *walk, ModelOptimizer *what, GArray *passes) {
  guint64 shards = MAX((walk->parameters->elements + what->elements / 2) / MAX(what->elements, 1), 1), most = 0;
  for (guint p = 0; p < walk->parameters->n; p++) {
    if (!is_moved(walk, p))
      continue;
    move_matrix(walk, passes, parameter_of(walk, p), what, shards);
    most = MAX(most, walk->parameters->list[p].elements);
    what->tensors -= what->tensors > 0;
  }
  guint64 moved = moved_elements(walk) / shards;
  what->elements -= MIN(moved, what->elements);
  return most * (BF16 + BF16); /* the matrix, and what comes of it */
}

static guint64 adafactor_passes(PlanWalk *walk, ModelOptimizer *what, GArray *passes) {
  g_autoptr(ModelUnit) unit = model_adafactor_new(what);
  add_op(walk, passes, &unit->forward[0]);
  what->elements = 0;
  return 0;
}

guint64 plan_matrix_passes(PlanWalk *walk, ModelOptimizer *what, GArray *passes) {
  return (walk->recipe->optimizer == PLAN_MUON ? muon_passes : adafactor_passes)(walk, what, passes);
}
