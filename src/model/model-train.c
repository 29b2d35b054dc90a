/* Backward's operations that nobody wants the results of are taken out, last ones first. */
#include "model-train.h"

static guint64 role_mask(const ModelUnit *unit, ModelTensorRole role) {
  guint64 mask = 0;
  for (guint t = 0; t < unit->n_tensors; t++)
    mask |= unit->tensors[t].role == role ? (guint64)1 << t : 0;
  return mask;
}

/* An operation that makes weights' gradients and nothing else. */
static gboolean is_gradient_alone(const ModelOp *op) {
  return op->gradient_of >= 0 && op->writes == 0;
}

/* Whether it is wanted: for a weight's gradient, for a tensor that it writes, or that it changes in place. */
static gboolean is_wanted(const ModelOp *op, gboolean frozen, guint64 wanted) {
  if (op->gradient_of >= 0 && !frozen)
    return TRUE;
  if (is_gradient_alone(op))
    return FALSE;
  return ((op->writes != 0 ? op->writes : op->reads) & wanted) != 0;
}

/* Marks by op; returns the tensors that the marked ones read. */
static guint64 mark_wanted(const ModelUnit *unit, gboolean frozen, guint64 wanted, gboolean *ret_marks) {
  guint64 read = 0;
  for (guint i = unit->n_backward; i-- > 0;) {
    ret_marks[i] = is_wanted(&unit->backward[i], frozen, wanted);
    if (!ret_marks[i])
      continue;
    wanted |= unit->backward[i].reads;
    read |= unit->backward[i].reads;
  }
  return read;
}

static void keep_marked(ModelUnit *unit, gboolean frozen, const gboolean *marks) {
  guint n = 0;
  for (guint i = 0; i < unit->n_backward; i++) {
    if (!marks[i])
      continue;
    ModelOp op = unit->backward[i];
    if (frozen)
      op.gradient_of = op.also_gradient_of = -1;
    unit->backward[n++] = op;
  }
  unit->n_backward = n;
}

void model_unit_train(ModelUnit *unit, ModelTraining how) {
  if (how == MODEL_TRAINED)
    return;
  gboolean frozen = how != MODEL_TRAINED_FIRST;
  guint64 wanted = how == MODEL_FROZEN ? role_mask(unit, MODEL_TENSOR_GRAD_INPUT) : 0;
  g_autofree gboolean *marks = g_new0(gboolean, unit->n_backward + 1);
  guint64 read = mark_wanted(unit, frozen, wanted, marks);
  keep_marked(unit, frozen, marks);
  for (guint i = 0; i < unit->n_forward; i++)
    unit->forward[i].saves &= read;
  for (guint p = 0; p < unit->n_parameters; p++)
    unit->parameters[p].frozen = frozen;
}
