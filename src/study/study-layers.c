/* SPDX-License-Identifier: MIT */
/* Operations of each kind of unit, timed alone. */
#include "study-layers.h"

#include "kernel-time.h"
#include "model-unit.h"
#include "study-walk.h"

static void add_ops(StudyLayers *layers, GArray *ops, const ModelUnit *unit, gboolean forward, const HwGpu *gpu) {
  const ModelOp *from = forward ? unit->forward : unit->backward;
  for (guint i = 0; i < (forward ? unit->n_forward : unit->n_backward); i++) {
    const ModelOp *op = &from[i];
    guint32 pieces = op->exchange.kind != MODEL_EXCHANGE_NONE ? 0 : MAX(op->pieces, 1);
    StudyLayerOp row = {.unit = model_unit_names[unit->kind],
                        .direction = forward ? "forward" : "backward",
                        .name = g_string_chunk_insert_const(layers->names, op->name),
                        .kind = kernel_kind_names[op->kernel->kind],
                        .flops = op->kernel->flops * pieces,
                        .bytes = op->kernel->bytes * pieces,
                        .activation_bytes = forward ? model_unit_op_saved_bytes(unit, i) : 0,
                        .time = pieces * kernel_time(gpu, op->kernel)};
    g_array_append_val(ops, row);
  }
}

static guint64 layers_in(const ModelShape *shape) {
  return shape->encoder_layers + shape->layers + shape->mtp_layers;
}

static StudyLayers *layers_of(const StudyWalk *walk) {
  StudyLayers *layers = g_new0(StudyLayers, 1);
  layers->names = g_string_chunk_new(1024);
  layers->model = g_strdup(walk->shape.name);
  layers->gpu = g_strdup(walk->cluster->gpu->name);
  layers->basis = kernel_basis(walk->cluster->gpu);
  layers->parameters = model_shape_parameters(&walk->shape);
  layers->layers = layers_in(&walk->shape);
  layers->micro_batch = walk->recipe.micro_batch;
  layers->sequence_length = walk->model_recipe.sequence_length;
  GArray *ops = g_array_new(FALSE, FALSE, sizeof(StudyLayerOp));
  gboolean has[MODEL_UNIT_VARIANTS] = {[MODEL_UNIT_EMBEDDING] = TRUE, [MODEL_UNIT_HEAD] = TRUE};
  layers->kinds = g_new(ModelUnitKind, layers->layers);
  layers->between = has[MODEL_UNIT_BETWEEN] = walk->shape.encoder_layers > 0;
  for (guint64 i = 0; i < layers->layers; i++)
    has[layers->kinds[i] = model_unit_kind_of(&walk->shape, model_unit_of_layer(&walk->shape, i))] = TRUE;
  for (ModelUnitKind kind = 0; kind < MODEL_UNIT_VARIANTS; kind++) {
    if (!has[kind])
      continue;
    g_autoptr(ModelUnit) unit = model_unit_new(&walk->shape, &walk->model_recipe, walk->recipe.micro_batch, kind);
    layers->unit_parameters[kind] = model_unit_elements(unit);
    add_ops(layers, ops, unit, TRUE, walk->cluster->gpu);
    add_ops(layers, ops, unit, FALSE, walk->cluster->gpu);
  }
  layers->n_ops = ops->len;
  layers->ops = (StudyLayerOp *)(gpointer)g_array_free(ops, FALSE);
  return layers;
}

StudyLayers *study_layers(Study *study, GError **error) {
  g_autoptr(StudyCache) cache = study_cache_new();
  StudyWalk walk = {.settings = conf_settings_copy(study->settings), .cache = cache};
  StudyLayers *layers = study_walk_read(&walk, error) ? layers_of(&walk) : NULL;
  study_walk_clear(&walk);
  return layers;
}

void study_layers_free(StudyLayers *layers) {
  if (layers == NULL)
    return;
  g_free(layers->model);
  g_free(layers->gpu);
  g_free(layers->basis);
  g_free(layers->kinds);
  g_free(layers->ops);
  g_string_chunk_free(layers->names);
  g_free(layers);
}
