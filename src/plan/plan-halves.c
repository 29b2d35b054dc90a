/* SPDX-License-Identifier: MIT */
/* Deaths of a split backward, and its runs. */
#include "plan-halves.h"

#include "plan-lives.h"
#include "plan-walk.h"

static guint32 *add_ops(ProgramBuilder *builder, const ModelOp *ops, guint n) {
  guint32 *indices = g_new(guint32, n);
  for (guint i = 0; i < n; i++)
    indices[i] = program_builder_op(builder, ops[i].kernel);
  return indices;
}

static gint last_use(const ModelOp *ops, guint n, ModelSet tensor) {
  gint last = -1;
  for (guint i = 0; i < n; i++)
    if (((ops[i].reads | ops[i].writes) & tensor) != 0)
      last = (gint)i;
  return last;
}

static void find_death(PlanHalves *halves, const ModelUnit *unit, ModelSet tensor, ModelSet saved) {
  const ModelHalves *ops = halves->ops;
  gint input = last_use(ops->inputs, ops->n_inputs, tensor);
  gint weight = last_use(ops->weights, ops->n_weights, tensor);
  if ((saved & tensor) != 0 && input >= 0)
    halves->rest |= tensor;
  else if (weight >= 0)
    halves->weights[weight] |= tensor;
  else if (input >= 0)
    halves->inputs[input] |= tensor;
  sim_require((saved & tensor) == 0 || MAX(input, weight) >= 0, 0, NULL, "a tensor of %s is saved but not read",
              model_unit_names[unit->kind]);
}

PlanHalves *plan_halves_new(ProgramBuilder *builder, const PlanCase *what, guint64 micro_batch, const ModelUnit *unit) {
  PlanHalves *halves = g_new0(PlanHalves, 1);
  halves->ops = model_halves_new(what->shape, what->model, micro_batch, unit);
  halves->input_ops = add_ops(builder, halves->ops->inputs, halves->ops->n_inputs);
  halves->weight_ops = add_ops(builder, halves->ops->weights, halves->ops->n_weights);
  halves->inputs = g_new0(ModelSet, halves->ops->n_inputs);
  halves->weights = g_new0(ModelSet, halves->ops->n_weights);
  ModelSet saved = plan_lives_saved(unit);
  for (guint t = 0; t < unit->n_tensors; t++)
    if (unit->tensors[t].role != MODEL_TENSOR_GRAD_INPUT)
      find_death(halves, unit, model_set_of(t), saved);
  return halves;
}

void plan_halves_free(PlanHalves *halves) {
  if (halves == NULL)
    return;
  model_halves_free(halves->ops);
  g_free(halves->input_ops);
  g_free(halves->weight_ops);
  g_free(halves->inputs);
  g_free(halves->weights);
  g_free(halves);
}

static const PlanHalves *of(const PlanWalk *walk, guint32 unit) {
  return walk->halves[walk->units[unit].unit->kind];
}

void plan_halves_inputs(PlanWalk *walk, guint32 unit) {
  const PlanHalves *halves = of(walk, unit);
  plan_walk_run(
      walk, unit,
      &(PlanRun){halves->ops->inputs, halves->ops->n_inputs, halves->input_ops, halves->inputs, PLAN_BACKWARD_INPUTS});
}

void plan_halves_weights(PlanWalk *walk, guint32 unit) {
  const PlanHalves *halves = of(walk, unit);
  plan_walk_run(walk, unit,
                &(PlanRun){halves->ops->weights, halves->ops->n_weights, halves->weight_ops, halves->weights,
                           PLAN_BACKWARD_WEIGHTS});
}

void plan_halves_end(PlanWalk *walk, guint32 unit) {
  plan_walk_give_set(walk, unit, of(walk, unit)->rest);
}
