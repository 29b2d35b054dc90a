/* SPDX-License-Identifier: MIT */
/* Units: which builder makes them, and the sums over them. */
#include "model-unit.h"

#include "base-error.h"
#include "model-build.h"

const char *const model_unit_names[] = {"embedding",     "layer",
                                        "head",          "dense layer",
                                        "full layer",    "dense full layer",
                                        "further layer", "first layer",
                                        "decoder layer", "first decoder layer",
                                        "between",       "final_norm",
                                        "lm_head",       "cast",
                                        "loss",          NULL};

gint64 model_unit_layer_of(const ModelShape *shape, guint64 unit) {
  if (!model_unit_is_layer(model_unit_kind_of(shape, unit)))
    return -1;
  return (gint64)unit - 1 - (shape->encoder_layers > 0 && unit > shape->encoder_layers);
}

guint64 model_unit_of_layer(const ModelShape *shape, guint64 layer) {
  return layer + 1 + (shape->encoder_layers > 0 && layer >= shape->encoder_layers);
}

/* Where the stacks have a bias each, their first layers differ. */
static ModelUnitKind kind_of_stacks(const ModelShape *shape, guint64 unit) {
  gboolean of_stack = model_has(model_shape_traits(shape), MODEL_RELATIVE);
  guint64 between = shape->encoder_layers + 1;
  if (unit == between)
    return MODEL_UNIT_BETWEEN;
  if (unit < between)
    return unit == 1 && of_stack ? MODEL_UNIT_LAYER_FIRST : MODEL_UNIT_LAYER;
  return unit == between + 1 && of_stack ? MODEL_UNIT_DECODER_FIRST : MODEL_UNIT_DECODER;
}

ModelUnitKind model_unit_kind_of(const ModelShape *shape, guint64 unit) {
  if (unit == 0 || unit + 1 >= model_units_of(shape, FALSE))
    return unit == 0 ? MODEL_UNIT_EMBEDDING : MODEL_UNIT_HEAD;
  if (shape->encoder_layers > 0)
    return kind_of_stacks(shape, unit);
  if (unit > shape->layers)
    return MODEL_UNIT_LAYER_FURTHER;
  gboolean dense = model_shape_layer_is_dense(shape, unit - 1), full = model_shape_layer_is_full(shape, unit - 1);
  if (dense)
    return full ? MODEL_UNIT_LAYER_DENSE_FULL : MODEL_UNIT_LAYER_DENSE;
  return full ? MODEL_UNIT_LAYER_FULL : MODEL_UNIT_LAYER;
}

guint64 model_units_of(const ModelShape *shape, gboolean head_apart) {
  guint64 encoder = shape->encoder_layers > 0 ? shape->encoder_layers + 1 : 0;
  return 1 + encoder + shape->layers + shape->mtp_layers + (head_apart ? MODEL_HEAD_PARTS : 1);
}

ModelUnitKind model_unit_kind_among(const ModelShape *shape, guint64 unit, guint64 units) {
  guint64 head = model_units_of(shape, FALSE) - 1;
  return units > head + 1 && unit >= head ? (ModelUnitKind)(MODEL_UNIT_NORM + (unit - head))
                                          : model_unit_kind_of(shape, unit);
}

static void build_unit(ModelBuild *build, const ModelShape *shape, const ModelRecipe *recipe, guint64 micro_batch,
                       ModelUnitKind kind) {
  static void (*const builders[MODEL_UNIT_VARIANTS])(ModelBuild *) = {
      [MODEL_UNIT_EMBEDDING] = model_embedding_build, [MODEL_UNIT_LAYER] = model_layer_build,
      [MODEL_UNIT_HEAD] = model_head_build,           [MODEL_UNIT_LAYER_DENSE] = model_layer_build,
      [MODEL_UNIT_LAYER_FULL] = model_layer_build,    [MODEL_UNIT_LAYER_DENSE_FULL] = model_layer_build,
      [MODEL_UNIT_LAYER_FURTHER] = model_layer_build, [MODEL_UNIT_LAYER_FIRST] = model_layer_build,
      [MODEL_UNIT_BETWEEN] = model_between_build,     [MODEL_UNIT_DECODER] = model_layer_build,
      [MODEL_UNIT_DECODER_FIRST] = model_layer_build, [MODEL_UNIT_NORM] = model_head_norm_build,
      [MODEL_UNIT_OUTPUT] = model_head_output_build,  [MODEL_UNIT_CAST] = model_head_cast_build,
      [MODEL_UNIT_LOSS] = model_head_loss_build,
  };
  sim_require(kind < MODEL_UNIT_VARIANTS && micro_batch > 0 && micro_batch <= MODEL_MICRO_BATCH_MOST, 0, NULL,
              "unit %d, micro-batch %" G_GUINT64_FORMAT, (int)kind, micro_batch);
  model_build_begin(build, shape, recipe, micro_batch, kind);
  builders[kind](build);
}

ModelUnit *model_unit_new(const ModelShape *shape, const ModelRecipe *recipe, guint64 micro_batch, ModelUnitKind kind) {
  ModelBuild build;
  build_unit(&build, shape, recipe, micro_batch, kind);
  sim_require(build.too_many == NULL, 0, NULL, "%s is one too many for a set", build.too_many);
  return model_build_end(&build);
}

/* What adapters, further tokens and fp8 make of layers alone may be too much. */
gboolean model_unit_check(const ModelShape *shape, const ModelRecipe *recipe, const ConfSettings *settings,
                          GError **error) {
  gboolean met[MODEL_UNIT_VARIANTS] = {FALSE};
  gboolean small = recipe->lora.rank == 0 && shape->mtp_layers == 0 && recipe->precision != MODEL_FP8;
  for (guint64 unit = 0; unit < model_units_of(shape, FALSE) && !small; unit++) {
    ModelUnitKind kind = model_unit_kind_of(shape, unit);
    ModelBuild build;
    if (met[kind])
      continue;
    met[kind] = TRUE;
    build_unit(&build, shape, recipe, 1, kind);
    const char *key = recipe->lora.rank > 0            ? "training.trainable"
                      : recipe->precision == MODEL_FP8 ? "training.precision"
                                                       : "training.fused_kernels";
    if (build.too_many != NULL)
      return conf_settings_fail(
          settings, key, error,
          "a %s of %s has more than %d tensors or operations so, which is not modelled; norms in "
          "one kernel each (rms-norm), fewer adapters, bf16 in place of fp8, or "
          "model.mtp_layers=0 make fewer%s",
          model_unit_names[kind], shape->name, MODEL_SET_MOST,
          recipe->autocast ? ", and so do parameters in 16 bits (ddp.autocast=no, fsdp.param_dtype=default)" : "");
  }
  return TRUE;
}

void model_unit_free(ModelUnit *unit) {
  if (unit == NULL)
    return;
  g_free(unit->parameters);
  g_free(unit->tensors);
  g_free(unit->forward);
  g_free(unit->backward);
  g_free(unit->keeping);
  g_free(unit->kernels);
  g_free(unit);
}

guint64 model_unit_elements(const ModelUnit *unit) {
  guint64 elements = 0;
  for (guint i = 0; i < unit->n_parameters; i++)
    elements += unit->parameters[i].shared ? 0 : unit->parameters[i].elements;
  return elements;
}

static guint64 cast_elements(const ModelUnit *unit, gboolean frozen_alone) {
  guint64 elements = 0;
  for (guint i = 0; i < unit->n_parameters; i++) {
    const ModelParameter *parameter = &unit->parameters[i];
    if (!parameter->uncast && !parameter->packed && (parameter->frozen || !frozen_alone))
      elements += parameter->elements;
  }
  return elements;
}

guint64 model_unit_cast_elements(const ModelUnit *unit) {
  return cast_elements(unit, FALSE);
}

guint64 model_unit_cast_frozen(const ModelUnit *unit) {
  return cast_elements(unit, TRUE);
}

guint64 model_unit_constants(const ModelUnit *unit) {
  guint64 bytes = 0;
  for (guint i = 0; i < unit->n_parameters; i++)
    bytes += unit->parameters[i].constants;
  return bytes;
}

guint64 model_unit_bytes(const ModelUnit *unit, ModelSet tensors) {
  guint64 bytes = 0;
  for (guint i = 0; i < unit->n_tensors; i++)
    bytes += model_set_has(tensors, i) ? unit->tensors[i].bytes : 0;
  return bytes;
}

static ModelSet saved_before(const ModelUnit *unit, guint op) {
  ModelSet saved = 0;
  for (guint i = 0; i < op; i++)
    saved |= unit->forward[i].saves;
  return saved;
}

guint64 model_unit_saved_bytes(const ModelUnit *unit) {
  return model_unit_bytes(unit, saved_before(unit, unit->n_forward));
}

guint64 model_unit_op_saved_bytes(const ModelUnit *unit, guint op) {
  return model_unit_bytes(unit, unit->forward[op].saves & ~saved_before(unit, op));
}

ModelCost model_op_cost(const ModelOp *op) {
  double pieces = MAX(op->pieces, 1);
  return (ModelCost){.flops = pieces * op->kernel->flops,
                     .nominal_flops = op->nominal_flops,
                     .bytes = pieces * (double)op->kernel->bytes};
}

static gboolean needs_result(const ModelOp *op, const ModelOp *exchange) {
  return (op->reads & (exchange->writes != 0 ? exchange->writes : exchange->reads)) != 0;
}

void model_ops_await(ModelOp *ops, guint n) {
  for (guint i = 0; i < n; i++) {
    guint reader = i + 1;
    while (reader < n && !needs_result(&ops[reader], &ops[i]))
      reader++;
    if (ops[i].exchange.kind != MODEL_EXCHANGE_NONE && ops[i].exchange.asynchronous)
      ops[i].exchange.awaited_by = reader;
    if (ops[i].exchange.chunks == MODEL_CHUNKS_AFTER)
      ops[i].exchange.follows = i - 1;
  }
}

static ModelCost sum(const ModelOp *ops, guint n) {
  ModelCost total = {0};
  for (guint i = 0; i < n; i++) {
    ModelCost cost = model_op_cost(&ops[i]);
    total.flops += cost.flops;
    total.nominal_flops += cost.nominal_flops;
    total.bytes += cost.bytes;
  }
  return total;
}

ModelCost model_unit_forward_cost(const ModelUnit *unit) {
  return sum(unit->forward, unit->n_forward);
}

ModelCost model_unit_backward_cost(const ModelUnit *unit) {
  return sum(unit->backward, unit->n_backward);
}
