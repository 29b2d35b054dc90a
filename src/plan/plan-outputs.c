/* SPDX-License-Identifier: MIT */
/* What is held, and when it comes and goes. */
#include "plan-outputs.h"

#include "mem-tenant.h"

static gboolean holds_logits_alone(const ModelRecipe *model) {
  return model->loss == MODEL_LOSS_HALF_KEPT && !model->use_cache;
}

gboolean plan_outputs_check(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  static const LayoutAxis axes[] = {LAYOUT_TENSOR, LAYOUT_PIPELINE, LAYOUT_CONTEXT, LAYOUT_EXPERT};
  gboolean cache = given->model->use_cache;
  const char *key = cache ? "training.use_cache" : "training.loss";
  if (!cache && !holds_logits_alone(given->model))
    return TRUE;
  if (recipe->framework == PLAN_MEGATRON || recipe->framework == PLAN_NANOTRON)
    return conf_settings_fail(given->settings, key, error, "framework %s has models of its own, which return no %s",
                              plan_framework_names[recipe->framework], cache ? "keys and values" : "logits");
  for (gsize i = 0; i < G_N_ELEMENTS(axes); i++)
    if (recipe->axes.layout.degree[axes[i]] > 1)
      return conf_settings_fail(given->settings, key, error, "%s is modelled along data ranks alone",
                                cache ? "it" : "half-kept");
  return !cache || (given->shape->kv_rank == 0 && given->shape->encoder_layers == 0) ||
         conf_settings_fail(given->settings, key, error, "%s caches other things than its layers' keys and values",
                            given->shape->name);
}

static gboolean is_layer(const PlanOutputs *outputs, guint32 unit) {
  return outputs->walk->units[unit].layer >= 0;
}

static gboolean runs_again(const PlanOutputs *outputs, guint32 unit) {
  return plan_checkpointing_whole(&outputs->walk->recipe->checkpointing, (guint32)outputs->walk->units[unit].layer);
}

static guint32 tensor(const PlanOutputs *outputs, const char *name, guint64 bytes) {
  return program_builder_tensor(outputs->walk->builder, name, MEM_ACTIVATIONS, bytes, bytes);
}

static guint64 logits_bytes(const PlanOutputs *outputs, const PlanCase *what, guint64 tokens) {
  const ModelShape *shape = what->shape;
  if (model_loss_in_chunks(what->model->loss))
    return 0;
  return (shape->labels > 0 ? what->recipe->micro_batch * shape->labels : tokens * shape->vocab_size) *
         (outputs->kept && what->model->loss != MODEL_LOSS_HALF_KEPT ? sizeof(float) : outputs->walk->element_bytes);
}

void plan_outputs_init(PlanOutputs *outputs, PlanWalk *walk, const PlanCase *what) {
  *outputs = (PlanOutputs){0};
  if (!what->model->use_cache && !holds_logits_alone(what->model))
    return;
  guint64 tokens = what->recipe->micro_batch * model_recipe_tokens(what->model);
  guint64 cache = 2 * tokens * what->shape->kv_heads * what->shape->head_dim * walk->element_bytes;
  *outputs = (PlanOutputs){.walk = walk,
                           .fresh = g_new(guint32, walk->n_units),
                           .held = g_new(guint32, walk->n_units),
                           .stands = g_new0(gboolean, walk->n_units),
                           .kept = what->model->loss == MODEL_LOSS_KEPT || what->model->loss == MODEL_LOSS_CAUSAL_LM ||
                                   what->model->loss == MODEL_LOSS_HALF_KEPT};
  guint64 logits = logits_bytes(outputs, what, tokens);
  for (guint32 u = 0; u < walk->n_units; u++) {
    gboolean layer = is_layer(outputs, u) && what->model->use_cache, head = u + 1 == walk->n_units;
    outputs->fresh[u] = layer && runs_again(outputs, u) ? tensor(outputs, "keys and values", cache) : PROGRAM_NONE;
    outputs->held[u] = layer                ? tensor(outputs, "keys and values of outputs", cache)
                       : head && logits > 0 ? tensor(outputs, "logits of outputs", logits)
                                            : PROGRAM_NONE;
  }
}

void plan_outputs_clear(PlanOutputs *outputs) {
  g_free(outputs->fresh);
  g_free(outputs->held);
  g_free(outputs->stands);
}

/* Whether the new ones live until backward by themselves. */
static gboolean lives(const PlanOutputs *outputs, guint32 unit) {
  return is_layer(outputs, unit) ? outputs->fresh[unit] == PROGRAM_NONE : outputs->kept;
}

static void hold(PlanOutputs *outputs, guint32 unit) {
  if (outputs->held[unit] == PROGRAM_NONE || outputs->stands[unit])
    return;
  plan_walk_take(outputs->walk, outputs->held[unit]);
  outputs->stands[unit] = TRUE;
}

void plan_outputs_forward(PlanOutputs *outputs, guint32 unit) {
  if (outputs->walk != NULL && outputs->fresh[unit] != PROGRAM_NONE)
    plan_walk_take(outputs->walk, outputs->fresh[unit]);
}

void plan_outputs_returned(PlanOutputs *outputs) {
  for (guint32 u = 0; outputs->walk != NULL && u < outputs->walk->n_units; u++) {
    if (!lives(outputs, u)) {
      hold(outputs, u);
    } else if (outputs->stands[u]) {
      plan_walk_give(outputs->walk, outputs->held[u], PROGRAM_NONE);
      outputs->stands[u] = FALSE;
    }
    if (outputs->fresh[u] != PROGRAM_NONE)
      plan_walk_give(outputs->walk, outputs->fresh[u], PROGRAM_NONE);
  }
}

void plan_outputs_backward(PlanOutputs *outputs, guint32 unit) {
  if (outputs->walk != NULL && lives(outputs, unit))
    hold(outputs, unit);
}
