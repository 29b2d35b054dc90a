/* SPDX-License-Identifier: MIT */
/* The pass for inputs is the backward of the unit frozen; the pass for weights is what that leaves out. */
#include "model-halves.h"

#include "model-build.h"
#include "model-train.h"

/* Equal units have their kernels in equal places. */
static const ModelOp *same_op(const ModelUnit *frozen, gsize kernel) {
  for (guint i = 0; i < frozen->n_backward; i++)
    if ((gsize)(frozen->backward[i].kernel - frozen->kernels) == kernel)
      return &frozen->backward[i];
  return NULL;
}

static void add(ModelOp *ops, guint *n, KernelOp *kernel, const ModelOp *op, const KernelOp *what) {
  *kernel = *what;
  ops[*n] = *op;
  ops[*n].kernel = kernel;
  ++*n;
}

/* Of an op that hands a gradient down, what it does for its weight's. */
static void add_sums(ModelHalves *halves, KernelOp *kernel, const ModelOp *op) {
  KernelOp sums = *op->kernel;
  sums.bytes = op->for_gradient.bytes;
  sums.launches = op->for_gradient.launches;
  ModelOp part = *op;
  part.nominal_flops = 0;
  part.reads = op->reads & ~op->writes;
  part.writes = 0;
  add(halves->weights, &halves->n_weights, kernel, &part, &sums);
}

ModelHalves *model_halves_new(const ModelShape *shape, const ModelRecipe *recipe, guint64 micro_batch,
                              const ModelUnit *unit) {
  g_autoptr(ModelUnit) frozen = model_unit_new(shape, recipe, micro_batch, unit->kind);
  model_unit_train(frozen, MODEL_FROZEN);
  ModelHalves *halves = g_new0(ModelHalves, 1);
  halves->inputs = g_new(ModelOp, unit->n_backward);
  halves->weights = g_new(ModelOp, unit->n_backward);
  halves->kernels = g_new(KernelOp, 2 * (gsize)unit->n_backward);
  KernelOp *of_inputs = halves->kernels, *of_weights = halves->kernels + unit->n_backward;
  for (guint i = 0; i < unit->n_backward; i++) {
    const ModelOp *op = &unit->backward[i], *rest = same_op(frozen, (gsize)(op->kernel - unit->kernels));
    if (rest != NULL)
      add(halves->inputs, &halves->n_inputs, of_inputs++, rest, rest->kernel);
    if (rest == NULL)
      add(halves->weights, &halves->n_weights, of_weights++, op, op->kernel);
    else if (op->gradient_of >= 0)
      add_sums(halves, of_weights++, op);
  }
  model_ops_await(halves->inputs, halves->n_inputs);
  model_ops_await(halves->weights, halves->n_weights);
  return halves;
}

void model_halves_free(ModelHalves *halves) {
  if (halves == NULL)
    return;
  g_free(halves->inputs);
  g_free(halves->weights);
  g_free(halves->kernels);
  g_free(halves);
}
