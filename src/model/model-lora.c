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

static gboolean has_experts(int family) {
  return model_family_row(family)->defaults.experts > 0;
}

/* Of a family's layers; adapters beside experts are not modelled. */
static char *linears_of(int family) {
  const ModelFamilyRow *row = model_family_row(family);
  if (row->defaults.value_dim > 0) /* latent attention */
    return g_strdup("o_proj");
  return g_strconcat(model_has(row->traits, MODEL_JOINED) ? "qkv_proj" : "q_proj k_proj v_proj", " o_proj",
                     has_experts(family)                   ? ""
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

gboolean model_lora_fits(const ModelLora *lora, int family, char **ret_fault) {
  g_autofree char *linears = linears_of(family);
  g_auto(GStrv) own = g_strsplit(linears, " ", -1);
  gboolean any = lora->rank == 0;
  for (int target = 0; model_lora_targets[target] != NULL; target++) {
    gboolean wanted = (lora->targets >> target & 1) != 0;
    gboolean has = g_strv_contains((const char *const *)own, model_lora_targets[target]);
    any |= wanted && has;
    if (!lora->named || !wanted || has)
      continue;
    *ret_fault = g_strdup_printf("%s is no layer of this family, which has %s%s", model_lora_targets[target], linears,
                                 has_experts(family) ? "; adapters in experts are not modelled" : "");
    return FALSE;
  }
  if (!any)
    *ret_fault = g_strdup_printf("none of the usual layers is one of this family, which has %s: name them", linears);
  return any;
}

gboolean model_lora_adapts(const ModelLora *lora, const char *linear) {
  int target = lora->rank > 0 ? base_names_find(model_lora_targets, linear) : -1;
  return target >= 0 && (lora->targets >> target & 1) != 0;
}
