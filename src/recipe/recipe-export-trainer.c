/* SPDX-License-Identifier: MIT */
/* accelerate's configuration and the Trainer's arguments from our settings; their keys as recipe-accelerate.c,
 * recipe-trainer.c and recipe-fsdp.c read them. */
#include <string.h>

#include "recipe-export-tool.h"

#define DS "deepspeed_config."

static gboolean is_second(const RecipeOut *out) {
  return recipe_out_is(out, "parallel.framework", "fsdp2");
}

static gboolean is_fsdp(const RecipeOut *out) {
  return is_second(out) || recipe_out_is(out, "parallel.framework", "fsdp1");
}

static gboolean is_full(const RecipeOut *out) {
  return recipe_out_is(out, "training.activation_checkpointing", "full");
}

/* By stage, and whether a node shares one copy. */
static const char *strategy(const RecipeOut *out) {
  gboolean node = recipe_out_is(out, "parallel.shard_group", "node");
  if (recipe_out_is(out, "parallel.zero_stage", "3"))
    return node ? "HYBRID_SHARD" : "FULL_SHARD";
  if (recipe_out_is(out, "parallel.zero_stage", "2"))
    return node ? "HYBRID_SHARD_ZERO2" : "SHARD_GRAD_OP";
  return "NO_SHARD";
}

static void say(RecipeOut *out, const char *prefix, const char *key, const char *value) {
  g_autofree char *path = g_strconcat(prefix, key, NULL);
  recipe_out_say(out, path, value);
}

static void say_wrap(RecipeOut *out, const char *prefix) {
  const char *wrap = conf_settings_get(out->settings, "fsdp.wrap");
  if (g_strcmp0(wrap, "block") == 0)
    say(out, prefix, "auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  else if (g_strcmp0(wrap, "none") == 0)
    say(out, prefix, "auto_wrap_policy", "NO_WRAP");
  else if (wrap != NULL && g_str_has_prefix(wrap, "size:")) {
    g_autofree char *least = g_strdup_printf("%.0f", g_ascii_strtod(wrap + strlen("size:"), NULL));
    say(out, prefix, "auto_wrap_policy", "SIZE_BASED_WRAP");
    say(out, prefix, "min_num_params", least);
  }
}

static void say_first(RecipeOut *out, const char *prefix) {
  static const char *const ours[] = {"pre", "post", "none"}, *const theirs[] = {"BACKWARD_PRE", "BACKWARD_POST",
                                                                                "NO_PREFETCH"};
  say(out, prefix, "sharding_strategy", strategy(out));
  for (gsize i = 0; i < G_N_ELEMENTS(ours); i++)
    if (recipe_out_is(out, "fsdp.backward_prefetch", ours[i]))
      say(out, prefix, "backward_prefetch", theirs[i]);
  say(out, prefix, "forward_prefetch", recipe_out_is(out, "fsdp.forward_prefetch", "1") ? "true" : "false");
  say(out, prefix, "use_orig_params", recipe_out_is(out, "fsdp.use_orig_params", "no") ? "false" : "true");
  if (conf_settings_given(out->settings, "fsdp.limit_all_gathers"))
    say(out, prefix, "limit_all_gathers", recipe_out_is(out, "fsdp.limit_all_gathers", "yes") ? "true" : "false");
}

void recipe_export_fsdp(RecipeOut *out, const char *prefix) {
  say(out, prefix, "version", is_second(out) ? "2" : "1");
  if (is_second(out))
    say(out, prefix, "reshard_after_forward", recipe_out_is(out, "parallel.zero_stage", "3") ? "true" : "false");
  else
    say_first(out, prefix);
  say_wrap(out, prefix);
  say(out, prefix, "offload_params", recipe_out_is(out, "fsdp.cpu_offload", "yes") ? "true" : "false");
}

/* ---- accelerate ---- */

static void say_cluster(const RecipeExport *what, RecipeOut *out) {
  g_autofree char *nodes = g_strdup_printf("%" G_GUINT64_FORMAT, what->nodes);
  g_autofree char *processes = g_strdup_printf("%" G_GUINT64_FORMAT, what->nodes * what->gpus_per_node);
  recipe_out_say(out, "num_machines", nodes);
  recipe_out_say(out, "num_processes", processes);
}

static void say_deepspeed(RecipeOut *out) {
  recipe_out_say(out, DS "zero_stage", conf_settings_get(out->settings, "parallel.zero_stage"));
  recipe_out_given(out, DS "gradient_accumulation_steps", "training.gradient_accumulation");
  recipe_out_given(out, DS "gradient_clipping", "training.gradient_clipping");
  recipe_out_text(out, DS "offload_optimizer_device",
                  recipe_out_is(out, "parallel.offload_optimizer", "cpu") ? "cpu" : "none");
  recipe_out_text(out, DS "offload_param_device",
                  recipe_out_is(out, "parallel.offload_parameters", "cpu") ? "cpu" : "none");
  recipe_out_say(out, DS "zero3_init_flag", "true");
}

void recipe_export_accelerate(const RecipeExport *what, RecipeOut *out) {
  gboolean zero = recipe_out_is(out, "parallel.framework", "deepspeed");
  const char *precision = conf_settings_get(out->settings, "training.precision");
  gboolean half = g_strcmp0(precision, "bf16") == 0 || g_strcmp0(precision, "fp16") == 0;
  recipe_out_text(out, "compute_environment", "LOCAL_MACHINE");
  recipe_out_text(out, "distributed_type", zero ? "DEEPSPEED" : is_fsdp(out) ? "FSDP" : "MULTI_GPU");
  recipe_out_text(out, "mixed_precision", half ? precision : "'no'");
  say_cluster(what, out);
  recipe_out_say(out, "machine_rank", "0");
  if (recipe_out_is(out, "training.compile", "yes"))
    recipe_out_text(out, "dynamo_config.dynamo_backend", "INDUCTOR");
  if (zero)
    say_deepspeed(out);
  if (!is_fsdp(out))
    return;
  recipe_export_fsdp(out, "fsdp_config.fsdp_");
  if (is_full(out))
    recipe_out_say(out, "fsdp_config.fsdp_activation_checkpointing", "true");
}

/* ---- The Trainer ---- */

static void say_trainer_optimizer(RecipeOut *out) {
  gboolean fused = recipe_out_is(out, "training.optimizer_style", "fused");
  if (recipe_out_is(out, "training.paged_states", "yes"))
    recipe_out_text(out, "optim",
                    recipe_out_is(out, "training.optimizer", "lion")       ? "paged_lion_32bit"
                    : recipe_out_is(out, "training.optimizer", "adam8bit") ? "paged_adamw_8bit"
                                                                           : "paged_adamw_32bit");
  else if (recipe_out_is(out, "training.optimizer", "adamw"))
    recipe_out_text(out, "optim", fused ? "adamw_torch_fused" : "adamw_torch");
  else if (recipe_out_is(out, "training.optimizer", "adam8bit"))
    recipe_out_text(out, "optim", "adamw_bnb_8bit");
  else if (recipe_out_is(out, "training.optimizer", "adam4bit"))
    recipe_out_text(out, "optim", "adamw_torch_4bit");
  else if (recipe_out_is(out, "training.optimizer", "lion"))
    recipe_out_text(out, "optim", "lion_32bit");
  else if (recipe_out_is(out, "training.optimizer", "sgd"))
    recipe_out_text(out, "optim", "sgd");
}

void recipe_export_trainer(const RecipeExport *what, RecipeOut *out) {
  (void)what;
  gboolean liger =
      recipe_out_is(out, "training.loss", "fused-linear") && recipe_out_is(out, "training.fused_kernels", "liger");
  const char *clipping = conf_settings_get(out->settings, "training.gradient_clipping");
  recipe_out_text(out, "output_dir", "out");
  recipe_out_given(out, "per_device_train_batch_size", "training.micro_batch");
  recipe_out_given(out, "gradient_accumulation_steps", "training.gradient_accumulation");
  if (recipe_out_is(out, "training.precision", "bf16"))
    recipe_out_say(out, "bf16", "true");
  if (recipe_out_is(out, "training.precision", "fp16"))
    recipe_out_say(out, "fp16", "true");
  recipe_out_say(out, "gradient_checkpointing", is_full(out) ? "true" : "false");
  recipe_out_say(out, "max_grad_norm", clipping != NULL ? clipping : "0");
  say_trainer_optimizer(out);
  if (recipe_out_is(out, "training.compile", "yes"))
    recipe_out_say(out, "torch_compile", "true");
  if (liger)
    recipe_out_say(out, "use_liger_kernel", "true");
  if (!is_fsdp(out))
    return;
  if (is_second(out))
    recipe_out_say(out, "fsdp", "true");
  recipe_export_fsdp(out, "fsdp_config.");
}
