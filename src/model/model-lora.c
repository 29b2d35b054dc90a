/* SPDX-License-Identifier: MIT */
/* What `trainable = lora:…` says. */
#include "model-lora.h"

#include <string.h>

#include "base-names.h"
#include "model-family.h"

#define PREFIX    "lora:"
#define RANK_MOST 65536
#define USUAL     "q_proj+v_proj+qkv_proj" /* of whichever family has them */

const char *const model_lora_targets[] = {"q_proj",    "k_proj",  "v_proj",    "qkv_proj", "o_proj",
                                          "gate_proj", "up_proj", "down_proj", NULL};

/* Whether some layers are experts that have no adapters, and why. */
static const char *obstacle(const ModelShape *shape) {
  if (shape->experts == 0)
    return NULL;
  if (model_family_row(shape->family)->experts_fused)
    return "; its experts are one tensor, of which peft's target_parameters makes adapters, which is not modelled";
  return shape->shared_intermediate_size > 0 ? "; adapters of experts beside shared ones are not modelled" : NULL;
}

/* Of the shape's layers, what may have adapters. */
static char *linears_of(const ModelShape *shape) {
  int family = shape->family;
  const ModelFamilyRow *row = model_family_row(family);
  if (row->defaults.value_dim > 0) /* latent attention */
    return g_strdup("o_proj");
  return g_strconcat(model_has(row->traits, MODEL_JOINED) ? "qkv_proj" : "q_proj k_proj v_proj", " o_proj",
                     obstacle(shape) != NULL               ? ""
                     : model_has(row->traits, MODEL_GATED) ? " gate_proj up_proj down_proj"
                                                           : " up_proj down_proj",
                     NULL);
}

static gboolean parse_targets(const char *text, ModelLora *lora, char **ret_fault) {
  g_auto(GStrv) parts = g_strsplit(text, "+", -1);
  for (char **part = parts; *part != NULL; part++) {
    int target = base_names_find(model_lora_targets, g_strstrip(*part));
    if (target < 0) {
      g_autofree char *advice = base_names_advice(model_lora_targets, *part);
      *ret_fault = g_strdup_printf("\"%s\" is no linear layer%s", *part, advice);
      return FALSE;
    }
    lora->targets |= 1u << target;
  }
  if (lora->targets == 0)
    *ret_fault = g_strdup("no linear layer is named; all-linear, or names as in q_proj+v_proj");
  return lora->targets != 0;
}

gboolean model_lora_parse(const char *text, ModelLora *ret, char **ret_fault) {
  g_auto(GStrv) parts = g_strsplit(g_str_has_prefix(text, PREFIX) ? text + strlen(PREFIX) : "", ":", 2);
  ModelLora lora = {0};
  guint64 rank;
  if (parts[0] == NULL || !g_ascii_string_to_unsigned(g_strstrip(parts[0]), 10, 1, RANK_MOST, &rank, NULL)) {
    *ret_fault = g_strdup_printf("\"%s\" is not lora:RANK with a rank from 1 to %d, as in lora:16", text, RANK_MOST);
    return FALSE;
  }
  lora.rank = (guint32)rank;
  if (parts[1] != NULL && strcmp(parts[1], "all-linear") == 0) {
    lora.targets = (1u << (G_N_ELEMENTS(model_lora_targets) - 1)) - 1;
  } else {
    lora.named = parts[1] != NULL;
    if (!parse_targets(lora.named ? parts[1] : USUAL, &lora, ret_fault))
      return FALSE;
  }
  *ret = lora;
  return TRUE;
}

gboolean model_lora_fits(const ModelLora *lora, const ModelShape *shape, char **ret_fault) {
  g_autofree char *linears = linears_of(shape);
  const char *why = obstacle(shape);
  g_auto(GStrv) own = g_strsplit(linears, " ", -1);
  gboolean any = lora->rank == 0;
  for (int target = 0; model_lora_targets[target] != NULL; target++) {
    gboolean wanted = (lora->targets >> target & 1) != 0;
    gboolean has = g_strv_contains((const char *const *)own, model_lora_targets[target]);
    any |= wanted && has;
    if (!lora->named || !wanted || has)
      continue;
    *ret_fault = g_strdup_printf("%s is no layer of this family, which has %s%s", model_lora_targets[target], linears,
                                 why != NULL ? why : "");
    return FALSE;
  }
  if (!any)
    *ret_fault = g_strdup_printf("none of the usual layers is one of this family, which has %s: name them", linears);
  return any;
}

gboolean model_lora_adapts_experts(const ModelLora *lora, const ModelShape *shape, const char *linear) {
  return lora->rank > 0 && shape->kv_rank == 0 && obstacle(shape) == NULL && model_lora_adapts(lora, linear);
}

gboolean model_lora_adapts(const ModelLora *lora, const char *linear) {
  int target = lora->rank > 0 ? base_names_find(model_lora_targets, linear) : -1;
  return target >= 0 && (lora->targets >> target & 1) != 0;
}
