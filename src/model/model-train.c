/* SPDX-License-Identifier: MIT */
/* Backward's operations that nobody wants the results of are taken out, last ones first. */
#include "model-train.h"

#include "model-build.h"

static ModelSet role_mask(const ModelUnit *unit, ModelTensorRole role) {
  ModelSet mask = 0;
  for (guint t = 0; t < unit->n_tensors; t++)
    mask |= unit->tensors[t].role == role ? model_set_of(t) : 0;
  return mask;
}

/* Whether it makes the gradient of a parameter that is trained. */
static gboolean makes_gradient(const ModelUnit *unit, const ModelOp *op) {
  return (op->gradient_of >= 0 && !unit->parameters[op->gradient_of].frozen) ||
         (op->also_gradient_of >= 0 && !unit->parameters[op->also_gradient_of].frozen);
}

/* An operation that makes weights' gradients and nothing else, nor hands one down where it lay. */
static gboolean is_gradient_alone(const ModelOp *op) {
  return op->gradient_of >= 0 && op->writes == 0 && op->for_gradient.launches == 0;
}

/* Whether it is wanted: for a weight's gradient, for a tensor that it writes, or that it changes in place. */
static gboolean is_wanted(const ModelUnit *unit, const ModelOp *op, ModelSet wanted) {
  if (makes_gradient(unit, op))
    return TRUE;
  if (is_gradient_alone(op))
    return FALSE;
  return ((op->writes != 0 ? op->writes : op->reads) & wanted) != 0;
}

static ModelSet read_by(const ModelUnit *unit, const ModelOp *op) {
  return makes_gradient(unit, op) ? op->reads : op->reads & ~op->for_gradient.reads;
}

/* Marks by op; returns the tensors that the marked ones read. */
static ModelSet mark_wanted(const ModelUnit *unit, ModelSet wanted, gboolean *ret_marks) {
  ModelSet read = 0;
  for (guint i = unit->n_backward; i-- > 0;) {
    ret_marks[i] = is_wanted(unit, &unit->backward[i], wanted);
    if (!ret_marks[i])
      continue;
    wanted |= read_by(unit, &unit->backward[i]);
    read |= read_by(unit, &unit->backward[i]);
  }
  return read;
}

/* What is left of an op that also hands a gradient down. */
static void drop_gradient(ModelUnit *unit, ModelOp *op) {
  KernelOp *kernel = &unit->kernels[op->kernel - unit->kernels];
  kernel->bytes -= op->for_gradient.bytes;
  kernel->launches -= op->for_gradient.launches;
  op->reads &= ~op->for_gradient.reads;
  op->gradient_of = op->also_gradient_of = -1;
}

static void keep_marked(ModelUnit *unit, const gboolean *marks) {
  guint n = 0;
  for (guint i = 0; i < unit->n_backward; i++) {
    if (!marks[i])
      continue;
    ModelOp op = unit->backward[i];
    if (!makes_gradient(unit, &op))
      drop_gradient(unit, &op);
    unit->backward[n++] = op;
  }
  unit->n_backward = n;
  model_ops_await(unit->backward, n);
}

static gboolean is_all_trained(const ModelUnit *unit) {
  gboolean all = TRUE;
  for (guint p = 0; p < unit->n_parameters; p++)
    all &= !unit->parameters[p].frozen;
  return all;
}

void model_unit_train(ModelUnit *unit, ModelTraining how) {
  for (guint p = 0; p < unit->n_parameters && (how == MODEL_FROZEN || how == MODEL_FROZEN_BELOW); p++)
    unit->parameters[p].frozen = TRUE;
  if (how == MODEL_TRAINED && is_all_trained(unit))
    return;
  gboolean hands_down = how == MODEL_TRAINED || how == MODEL_FROZEN;
  ModelSet wanted = hands_down ? role_mask(unit, MODEL_TENSOR_GRAD_INPUT) : 0;
  g_autofree gboolean *marks = g_new0(gboolean, unit->n_backward + 1);
  ModelSet read = mark_wanted(unit, wanted, marks);
  keep_marked(unit, marks);
  for (guint i = 0; i < unit->n_forward; i++)
    unit->forward[i].saves &= read;
}
