/* SPDX-License-Identifier: MIT */
/* Low-rank adapters: of which rank, beside which linear layers.
 *
 *   ModelLora lora;
 *   if (!model_lora_parse("lora:16:q_proj+v_proj", &lora, &fault)) …
 *   model_lora_adapts(&lora, "q_proj");      // TRUE
 *
 * "lora:RANK" adapts what peft does by itself: q_proj and v_proj of the llama family, the one qkv_proj of gpt (GPT-2's
 * c_attn). "lora:RANK:all-linear" every linear layer but the head and routers, experts' too; "lora:RANK:NAME+NAME"
 * those. Adapters are in the precision of the other parameters, their dropout is 0. Source: peft/utils/constants.py
 * (TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING), peft/tuners/tuners_utils.py (all-linear). */
#pragma once

#include <glib.h>

extern const char *const model_lora_targets[]; /* "q_proj" … NULL */

typedef struct ModelLora {
  guint32 rank;    /* 0: no adapters */
  guint32 targets; /* mask of model_lora_targets */
  gboolean named;  /* each target was named by the user */
} ModelLora;

/* FALSE: *ret_fault says what is wrong; caller frees. */
gboolean model_lora_parse(const char *text, ModelLora *ret, char **ret_fault);
/* Whether every target that was named is a layer of the shape's. FALSE: *ret_fault; caller frees. */
struct ModelShape;
gboolean model_lora_fits(const ModelLora *lora, const struct ModelShape *shape, char **ret_fault);
gboolean model_lora_adapts(const ModelLora *lora, const char *linear);
/* Whether each expert's layer of the name has an adapter: where experts are linear layers (not one tensor of all, as in
 * gpt_oss, dbrx and llama4) and there are none that all tokens go through. */
gboolean model_lora_adapts_experts(const ModelLora *lora, const struct ModelShape *shape, const char *linear);
