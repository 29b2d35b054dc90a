/* What `trainable = lora:…` says. */
#include "model-lora.h"

#include <string.h>

#include "base-names.h"
#include "model-shape.h"

#define PREFIX    "lora:"
#define RANK_MOST 65536
#define USUAL     "q_proj+v_proj+qkv_proj" /* of whichever family has them */

const char *const model_lora_targets[] = {"q_proj",    "k_proj",  "v_proj",    "qkv_proj", "o_proj",
                                          "gate_proj", "up_proj", "down_proj", NULL};

/* By family: who has them. */
static const char *const llama_linears = "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj";
static const char *const gpt_linears = "qkv_proj o_proj up_proj down_proj";

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
  const char *linears = family == MODEL_GPT ? gpt_linears : llama_linears;
  g_auto(GStrv) own = g_strsplit(linears, " ", -1);
  for (int target = 0; lora->named && model_lora_targets[target] != NULL; target++)
    if ((lora->targets >> target & 1) && !g_strv_contains((const char *const *)own, model_lora_targets[target])) {
      *ret_fault = g_strdup_printf("%s is no layer of this family, which has %s", model_lora_targets[target], linears);
      return FALSE;
    }
  return TRUE;
}

gboolean model_lora_adapts(const ModelLora *lora, const char *linear) {
  int target = lora->rank > 0 ? base_names_find(model_lora_targets, linear) : -1;
  return target >= 0 && (lora->targets >> target & 1) != 0;
}
