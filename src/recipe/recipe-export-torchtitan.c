/* SPDX-License-Identifier: MIT */
/* torchtitan's TOML (2025) from our settings; its keys as recipe-torchtitan.c and its neighbours read them. */
#include <string.h>

#include "recipe-export-tool.h"

#define PARALLEL "parallelism."

static void say_count(RecipeOut *out, const char *path, guint64 count) {
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, count);
  recipe_out_say(out, path, text);
}

static gboolean is_fp8(const RecipeOut *out) {
  return recipe_out_is(out, "training.precision", "fp8");
}

static void say_training(RecipeOut *out) {
  const char *clipping = conf_settings_get(out->settings, "training.gradient_clipping");
  gboolean piped = recipe_out_count(out, "parallel.pipeline") > 1;
  guint64 runs = recipe_out_count(out, "fsdp.pipeline_microbatches");
  guint64 passes = !piped ? 1 : runs > 0 ? runs : MAX(recipe_out_count(out, "training.gradient_accumulation"), 1);
  say_count(out, "training.local_batch_size", recipe_out_count(out, "training.micro_batch") * passes);
  recipe_out_given(out, "training.global_batch_size", "training.global_batch");
  recipe_out_given(out, "training.seq_len", "training.sequence_length");
  recipe_out_say(out, "training.max_norm", clipping != NULL ? clipping : "0");
  recipe_out_text(out, "training.mixed_precision_param",
                  recipe_out_is(out, "training.precision", "fp32") ? "float32" : "bfloat16");
  recipe_out_text(out, "training.mixed_precision_reduce",
                  recipe_out_is(out, "training.gradient_communication_dtype", "bf16") ||
                          (recipe_out_is(out, "training.gradient_communication_dtype", "default") &&
                           !recipe_out_is(out, "training.precision", "fp32") &&
                           !recipe_out_is(out, "fsdp.reduce_dtype", "fp32"))
                      ? "bfloat16"
                      : "float32");
  recipe_out_given_flag(out, "training.enable_cpu_offload", "fsdp.cpu_offload");
}

/* A number of GPUs, or those of a node, share one copy, and there are so many copies. */
static void say_sharding(const RecipeExport *what, RecipeOut *out) {
  const char *group = conf_settings_get(out->settings, "parallel.shard_group");
  guint64 context = MAX(recipe_out_count(out, "parallel.context"), 1),
          others =
              MAX(recipe_out_count(out, "parallel.tensor"), 1) * MAX(recipe_out_count(out, "parallel.pipeline"), 1);
  guint64 alike = what->facts.ranks / others;
  guint64 shared = g_strcmp0(group, "node") == 0                   ? MAX(what->gpus_per_node / others, 1)
                   : g_strcmp0(group, "all") == 0 || group == NULL ? alike
                                                                   : g_ascii_strtoull(group, NULL, 10);
  if (shared == 0 || shared >= alike || alike % shared != 0 || shared % context != 0) {
    recipe_out_say(out, PARALLEL "data_parallel_shard_degree", "-1");
    return;
  }
  say_count(out, PARALLEL "data_parallel_replicate_degree", alike / shared);
  say_count(out, PARALLEL "data_parallel_shard_degree", shared / context);
}

static void say_axes(RecipeOut *out) {
  static const struct {
    const char *ours, *theirs;
  } schedules[] = {{"1f1b", "1F1B"}, {"gpipe", "GPipe"}, {"interleaved", "Interleaved1F1B"}, {"zbv", "ZBVZeroBubble"}};
  say_count(out, PARALLEL "tensor_parallel_degree", MAX(recipe_out_count(out, "parallel.tensor"), 1));
  say_count(out, PARALLEL "context_parallel_degree", MAX(recipe_out_count(out, "parallel.context"), 1));
  say_count(out, PARALLEL "pipeline_parallel_degree", MAX(recipe_out_count(out, "parallel.pipeline"), 1));
  if (recipe_out_count(out, "parallel.pipeline") > 1) {
    for (gsize i = 0; i < G_N_ELEMENTS(schedules); i++)
      if (recipe_out_is(out, "parallel.schedule", schedules[i].ours))
        recipe_out_text(out, PARALLEL "pipeline_parallel_schedule", schedules[i].theirs);
    recipe_out_given(out, PARALLEL "pipeline_parallel_microbatch_size", "training.micro_batch");
  }
  gboolean resharded = recipe_out_is(out, "fsdp.reshard_after_forward", "yes");
  recipe_out_text(out, PARALLEL "fsdp_reshard_after_forward",
                  resharded                                        ? "always"
                  : recipe_out_is(out, "parallel.zero_stage", "2") ? "never"
                                                                   : "default");
}

static void say_checkpointing(RecipeOut *out) {
  const char *value = conf_settings_get(out->settings, "training.activation_checkpointing");
  gboolean layers = value != NULL && g_str_has_prefix(value, "layers:");
  gboolean op = g_strcmp0(value, "every-2nd-matmul") == 0 || g_strcmp0(value, "selective") == 0;
  recipe_out_text(out, "activation_checkpoint.mode",
                  layers || op                    ? "selective"
                  : g_strcmp0(value, "full") == 0 ? "full"
                                                  : "none");
  if (layers || op)
    recipe_out_text(out, "activation_checkpoint.selective_ac_option", op ? "op" : value + strlen("layers:"));
}

/* The compiled loss is ours by the name fused; no other loss has a key. */
static void say_compile(RecipeOut *out) {
  gboolean on = recipe_out_is(out, "training.compile", "yes");
  recipe_out_say(out, "compile.enable", on ? "true" : "false");
  if (on)
    recipe_out_say(out, "compile.components",
                   recipe_out_is(out, "training.loss", "fused") ? "[\"model\", \"loss\"]" : "[\"model\"]");
}

static void say_float8(RecipeOut *out) {
  gboolean gathers = recipe_out_is(out, "fsdp.float8_all_gather", "yes");
  if (!is_fp8(out) || recipe_out_is(out, "training.fp8_scaling", "mxfp8"))
    return;
  recipe_out_say(out, "quantize.linear.float8.enable_fsdp_float8_all_gather", gathers ? "true" : "false");
  recipe_out_say(out, "quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp", gathers ? "true" : "false");
  if (recipe_out_is(out, "training.fp8_scaling", "rowwise"))
    recipe_out_text(out, "quantize.linear.float8.recipe_name", "rowwise");
  recipe_out_say(out, "quantize.linear.float8.filter_fqns", "[\"output\"]");
}

void recipe_export_torchtitan(const RecipeExport *what, RecipeOut *out) {
  if (is_fp8(out))
    recipe_out_say(out, "model.converters",
                   recipe_out_is(out, "training.fp8_scaling", "mxfp8") ? "[\"quantize.linear.mx\"]"
                                                                       : "[\"quantize.linear.float8\"]");
  if (recipe_out_is(out, "training.optimizer", "adamw") || recipe_out_is(out, "training.optimizer", "adam")) {
    recipe_out_text(out, "optimizer.name", recipe_out_is(out, "training.optimizer", "adamw") ? "AdamW" : "Adam");
    recipe_out_text(out, "optimizer.implementation",
                    recipe_out_is(out, "training.optimizer_style", "fused") ? "fused" : "foreach");
  }
  say_training(out);
  say_sharding(what, out);
  say_axes(out);
  say_checkpointing(out);
  say_compile(out);
  say_float8(out);
}
