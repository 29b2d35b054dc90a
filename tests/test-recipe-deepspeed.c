/* SPDX-License-Identifier: MIT */
/* ds_config.json key by key: what is taken, what is left and why, what is refused. Units are DeepSpeed's own. */
#include "recipe-harness.h"

static Recipe *parse(const char *text, GError **error) {
  return recipe_of_text("ds.json", text, error);
}

static void takes_a_template(void) {
  g_autoptr(Recipe) recipe = recipe_of_data("ds-auto.json");
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  CU_ASSERT_STRING_EQUAL(recipe->tool, "DeepSpeed");
  RECIPE_SAYS(recipe, "parallel.framework", "deepspeed");
  RECIPE_SAYS(recipe, "parallel.zero_stage", "3");
  RECIPE_SAYS(recipe, "deepspeed.overlap_comm", "yes");
  RECIPE_SAYS(recipe, "deepspeed.stage3_max_live_parameters", "1000000000");
  RECIPE_SAYS(recipe, "deepspeed.stage3_max_reuse_distance", "500000000"); /* without its "stage3_" */
  RECIPE_SAYS(recipe, "deepspeed.reduce_bucket_size", "?");
  RECIPE_SAYS(recipe, "training.precision", "?");
  RECIPE_SAYS(recipe, "training.micro_batch", "?");
  RECIPE_SAYS(recipe, "training.gradient_clipping", "1"); /* max_grad_norm of the Trainer */
  RECIPE_SAYS(recipe, "deepspeed.sub_group_size", NULL);
  CU_ASSERT_TRUE(recipe_reason_has(recipe, "zero_optimization.sub_group_size", "DeepSpeed's default"));
  CU_ASSERT_STRING_EQUAL(recipe_reason(recipe, "steps_per_print"), "logging");
}

/* cpu_offload is 2020's offload_optimizer; "true" for the block was stage 1; no block is stage 0, no switch fp32. */
static void old_spellings(void) {
  g_autoptr(Recipe) recipe =
      parse("{\"zero_optimization\": {\"stage\": 2, \"cpu_offload\": true, "
            "\"stage3_gather_fp16_weights_on_model_save\": true, \"allgather_bucket_size\": 7000000}}",
            NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "parallel.offload_optimizer", "cpu");
  RECIPE_SAYS(recipe, "training.precision", "fp32");
  RECIPE_SAYS(recipe, "deepspeed.allgather_bucket_size", "7000000");
  g_autoptr(Recipe) first = parse("{\"zero_optimization\": true, \"fp16\": {\"enabled\": true}}", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(first);
  RECIPE_SAYS(first, "parallel.zero_stage", "1");
  RECIPE_SAYS(first, "training.precision", "fp16");
  g_autoptr(Recipe) none = parse("{\"train_batch_size\": 64}", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(none);
  RECIPE_SAYS(none, "parallel.zero_stage", "0");
  RECIPE_SAYS(none, "training.global_batch", "64");
}

static void offload_and_optimizer(void) {
  g_autoptr(Recipe) recipe =
      parse("{\"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-5, \"betas\": [0.9, 0.95]}},"
            " \"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true},"
            " \"offload_param\": {\"device\": \"cpu\"}}}",
            NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "training.optimizer", "adamw");
  RECIPE_SAYS(recipe, "parallel.offload_optimizer", "cpu");
  RECIPE_SAYS(recipe, "deepspeed.offload_optimizer.pin_memory", "yes");
  RECIPE_SAYS(recipe, "parallel.offload_parameters", NULL); /* stage 3 only */
  CU_ASSERT_STRING_EQUAL(recipe_reason(recipe, "zero_optimization.offload_param.device"),
                         "DeepSpeed offloads parameters at stage 3 only");
  CU_ASSERT_PTR_NOT_NULL(recipe_reason(recipe, "optimizer.params.lr"));
}

static void other_axes(void) {
  g_autoptr(Recipe) recipe =
      parse("{\"tensor_parallel\": {\"autotp_size\": 4, \"tp_overlap_comm\": true}, \"sequence_parallel_size\": 2, "
            "\"activation_checkpointing\": {\"partition_activations\": true}, \"bf16\": {}, \"pipeline\": "
            "{\"stages\": 8, \"partition\": \"type:transformer\", \"seed_layers\": true, \"grad_partitioned\": false, "
            "\"activation_checkpoint_interval\": 1}}",
            NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "parallel.tensor", "4");
  RECIPE_SAYS(recipe, "deepspeed.tensor_parallel", "autotp");
  RECIPE_SAYS(recipe, "deepspeed.tp_overlap_comm", "yes");
  RECIPE_SAYS(recipe, "deepspeed.partition_activations", "yes");
  RECIPE_SAYS(recipe, "parallel.context", "2");
  RECIPE_SAYS(recipe, "parallel.pipeline", "8");
  RECIPE_SAYS(recipe, "deepspeed.partition_method", "type:transformer");
  RECIPE_SAYS(recipe, "deepspeed.grad_partitioned", "no");
  RECIPE_SAYS(recipe, "training.activation_checkpointing", "full");
  g_autoptr(Recipe) off = parse("{\"tensor_parallel\": {\"autotp_size\": 0, \"tp_overlap_comm\": true}, \"bf16\": {}, "
                                "\"pipeline\": {\"stages\": \"auto\", \"partition\": \"best\"}}",
                                NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(off);
  RECIPE_SAYS(off, "parallel.tensor", "1");
  RECIPE_SAYS(off, "deepspeed.tensor_parallel", NULL);
  RECIPE_SAYS(off, "parallel.pipeline", NULL);
  RECIPE_SAYS(off, "deepspeed.partition_method", NULL);
  CU_ASSERT_STRING_EQUAL(recipe_reason(off, "tensor_parallel.tp_overlap_comm"), "of AutoTP, which is not on");
}

/* A key that DeepSpeed does not know: unread at the top, a stop inside zero_optimization. */
static void unknown_keys(void) {
  g_autoptr(Recipe) recipe =
      parse("{\"zero_optimization\": {\"stage\": 1}, \"_comment\": \"x\", \"overlap_comm\": true}", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  CU_ASSERT_STRING_EQUAL(recipe_reason(recipe, "_comment"), "DeepSpeed does not know it here and leaves it unread");
  CU_ASSERT_TRUE(recipe_reason_has(recipe, "overlap_comm", "did you mean \"zero_optimization.overlap_comm\"?"));
  RECIPE_SAYS(recipe, "deepspeed.overlap_comm", NULL);
  GError *error = NULL;
  HARNESS_FAILS(parse("{\"zero_optimization\": {\"stage\": 1,\n \"overlap_com\": true}}", &error), error,
                "ds.json:2:2: zero_optimization.overlap_com: is no key of DeepSpeed that is known here; did you mean "
                "\"zero_optimization.overlap_comm\"?");
}

static void refusals(void) {
  static const struct {
    const char *text, *fragment;
  } rows[] = {
      {"{\"zero_optimization\": {\"stage\": [0, 1]}}", "stage: is a list for DeepSpeed's autotuner"},
      {"{\"zero_optimization\": {\"stage\": \"auto\"}}", "stage: is \"auto\", which nothing fills in"},
      {"{\"zero_optimization\": {\"stage\": \"two\"}}", "stage: expected a whole number, found \"two\""},
      {"{\"zero_optimization\": {\"zenflow\": {\"topk_ratio\": 0.1}}}", "zenflow: is not modelled: ZenFlow"},
      {"{\"bf16\": {\"enabled\": true}, \"fp16\": {\"enabled\": true}}",
       "fp16.enabled: says training.precision = fp16, and bf16.enabled (line 1) says bf16; keep one of the two"},
      {"{\"zero_optimization\": 3}", "zero_optimization: expected true or false, found 3"},
      {"{\"bf16\": true}", "bf16: expected a group of keys"},
      {"{\"optimizer\": {\"type\": \"OneBitAdam\"}}", "optimizer.type: is not modelled: OneBitAdam compresses"},
      {"{\"sparse_attention\": {\"mode\": \"fixed\"}, \"bf16\": {}}", "sparse_attention: is not modelled"},
      {"{\"train_batch_size\": \"${batch}\"}", "${batch} names no key of this file; fill in the template"},
      {"{\"pipeline\": {\"activation_checkpoint_interval\": 2}, \"bf16\": {}}",
       "activation_checkpoint_interval: several layers that are checkpointed as one"},
      {"{\"tensor_parallel\": {\"autotp_size\": 2, \"partition_config\": {\"layer_specs\": []}}, \"bf16\": {}}",
       "partition_config: is not modelled: layers that are split by rules of one's own"},
      {"{\"answer\": 42}", "is no recipe of a tool that is read"},
      {"{\"answer\": 42}", "Hugging Face's Trainer, DeepSpeed): it has none"},
      {"{\"transformer_layer_cls_to_wrap\": [\"LlamaDecoderLayer\"]}", "is what Trainer's --fsdp_config names"},
      {"{\"fsdp_version\": 2, \"reshard_after_forward\": true}", "is what Trainer's --fsdp_config names"},
      {"{\"pipe-parallel-size\": 1, \"zero_optimization\": {\"stages\": 1}}", "is no key of GPT-NeoX"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    GError *error = NULL;
    HARNESS_FAILS(parse(rows[i].text, &error), error, rows[i].fragment);
  }
}

/* What is switched off is no reason to refuse; each error of a file is a line. */
static void off_and_many(void) {
  g_autoptr(Recipe) recipe = parse("{\"zero_optimization\": {\"stage\": 0}, \"autotuning\": {\"enabled\": false}, "
                                   "\"sparse_gradients\": false, \"compile\": {}, \"amp\": null}",
                                   NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  CU_ASSERT_STRING_EQUAL(recipe_reason(recipe, "autotuning"), "is off");
  CU_ASSERT_STRING_EQUAL(recipe_reason(recipe, "sparse_gradients"), "is off");
  GError *error = NULL;
  CU_ASSERT_PTR_NULL(
      parse("{\"autotuning\": {\"enabled\": true},\n\"sparse_gradients\": true,\n\"fp16\": {}}", &error));
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
  CU_ASSERT_EQUAL(g_strv_length(lines), 2);
  CU_ASSERT_TRUE(strstr(lines[0], ":1:2: autotuning: ") != NULL &&
                 strstr(lines[1], ":2:1: sparse_gradients: ") != NULL);
  g_error_free(error);
}

int main(void) {
  return harness_run("recipe-deepspeed", (HarnessCase[]){{"takes a template", takes_a_template},
                                                         {"old spellings", old_spellings},
                                                         {"offload and optimizer", offload_and_optimizer},
                                                         {"other axes", other_axes},
                                                         {"unknown keys", unknown_keys},
                                                         {"refusals", refusals},
                                                         {"off, and many at once", off_and_many},
                                                         {NULL, NULL}});
}
