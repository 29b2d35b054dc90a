/* SPDX-License-Identifier: MIT */
/* ds_config.json from our settings; its keys as recipe-deepspeed.c reads them. */
#include <string.h>

#include "recipe-export-tool.h"

#define ZERO "zero_optimization."

/* Of [deepspeed], where they do not stand in zero_optimization under their own name. */
static const struct {
  const char *setting, *path;
  gboolean text;
} elsewhere[] = {
    {"deepspeed.immediate_grad_update", "bf16.immediate_grad_update", FALSE},
    {"deepspeed.partition_activations", "activation_checkpointing.partition_activations", FALSE},
    {"deepspeed.partition_method", "pipeline.partition_method", TRUE},
    {"deepspeed.pipe_partitioned", "pipeline.pipe_partitioned", FALSE},
    {"deepspeed.grad_partitioned", "pipeline.grad_partitioned", FALSE},
    {"deepspeed.tp_overlap_comm", NULL, FALSE},
    {"deepspeed.tensor_parallel", NULL, TRUE},
};

static const char *plain(const char *value) {
  return strcmp(value, "yes") == 0 ? "true" : strcmp(value, "no") == 0 ? "false" : value;
}

static void say_zero(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  RecipeOut *out = user;
  if (origin == CONF_ORIGIN_DEFAULT || !g_str_has_prefix(name, "deepspeed.") || strstr(name, "offload_") != NULL)
    return;
  for (gsize i = 0; i < G_N_ELEMENTS(elsewhere); i++)
    if (strcmp(elsewhere[i].setting, name) == 0)
      return;
  g_autofree char *path = g_strconcat(ZERO, name + strlen("deepspeed."), NULL);
  recipe_out_say(out, path, plain(value));
}

static void say_offload(RecipeOut *out, const char *setting, const char *block, const char *pinned) {
  g_autofree char *device = g_strconcat(block, ".device", NULL), *pin = g_strconcat(block, ".pin_memory", NULL);
  if (recipe_out_is(out, setting, "cpu")) {
    recipe_out_text(out, device, "cpu");
    recipe_out_given_flag(out, pin, pinned);
  }
}

/* "default" is what DeepSpeed does where nothing is said. */
static void say_dtype(RecipeOut *out, const char *path, const char *setting) {
  const char *value = conf_settings_get(out->settings, setting);
  if (value != NULL && strcmp(value, "default") != 0)
    recipe_out_text(out, path, value);
}

static void say_optimizer(RecipeOut *out) {
  static const char *const ours[] = {"adamw", "adam", "lion", NULL}, *const theirs[] = {"AdamW", "Adam", "Lion"};
  gboolean torch = recipe_out_is(out, "training.optimizer_style", "foreach");
  for (gsize i = 0; ours[i] != NULL; i++)
    if (recipe_out_is(out, "training.optimizer", ours[i])) {
      recipe_out_text(out, "optimizer.type", theirs[i]);
      if (torch)
        recipe_out_say(out, "optimizer.params.torch_adam", "true");
    }
}

static void say_other_axes(RecipeOut *out) {
  gboolean automatic = recipe_out_is(out, "deepspeed.tensor_parallel", "autotp");
  if (recipe_out_count(out, "parallel.tensor") > 1 && automatic) {
    recipe_out_given(out, "tensor_parallel.autotp_size", "parallel.tensor");
    recipe_out_given_flag(out, "tensor_parallel.tp_overlap_comm", "deepspeed.tp_overlap_comm");
  }
  if (recipe_out_count(out, "parallel.context") > 1)
    recipe_out_given(out, "sequence_parallel_size", "parallel.context");
  gboolean piped = recipe_out_count(out, "parallel.pipeline") > 1;
  if (!piped)
    return;
  recipe_out_given(out, "pipeline.stages", "parallel.pipeline");
  for (gsize i = 0; i < G_N_ELEMENTS(elsewhere); i++) {
    const char *value = conf_settings_get(out->settings, elsewhere[i].setting);
    gboolean here = elsewhere[i].path != NULL && g_str_has_prefix(elsewhere[i].path, "pipeline.");
    if (!here || value == NULL || !conf_settings_given(out->settings, elsewhere[i].setting))
      continue;
    if (elsewhere[i].text)
      recipe_out_text(out, elsewhere[i].path, value);
    else
      recipe_out_say(out, elsewhere[i].path, plain(value));
  }
}

void recipe_export_deepspeed(const RecipeExport *what, RecipeOut *out) {
  (void)what;
  recipe_out_given(out, "train_batch_size", "training.global_batch");
  recipe_out_given(out, "train_micro_batch_size_per_gpu", "training.micro_batch");
  recipe_out_given(out, "gradient_accumulation_steps", "training.gradient_accumulation");
  recipe_out_given(out, "gradient_clipping", "training.gradient_clipping");
  say_dtype(out, "communication_data_type", "training.gradient_communication_dtype");
  say_dtype(out, "data_types.grad_accum_dtype", "training.gradient_accumulation_dtype");
  if (recipe_out_is(out, "training.precision", "bf16")) {
    recipe_out_say(out, "bf16.enabled", "true");
    recipe_out_given_flag(out, "bf16.immediate_grad_update", "deepspeed.immediate_grad_update");
  }
  if (recipe_out_is(out, "training.precision", "fp16"))
    recipe_out_say(out, "fp16.enabled", "true");
  say_optimizer(out);
  recipe_out_say(out, ZERO "stage", conf_settings_get(out->settings, "parallel.zero_stage"));
  conf_settings_visit(out->settings, say_zero, out);
  say_offload(out, "parallel.offload_optimizer", ZERO "offload_optimizer", "deepspeed.offload_optimizer.pin_memory");
  say_offload(out, "parallel.offload_parameters", ZERO "offload_param", "deepspeed.offload_param.pin_memory");
  recipe_out_given_flag(out, "activation_checkpointing.partition_activations", "deepspeed.partition_activations");
  say_other_axes(out);
}
