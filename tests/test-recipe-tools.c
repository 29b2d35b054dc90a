/* SPDX-License-Identifier: MIT */
/* accelerate, Trainer, torchtitan, llm-foundry, axolotl: what their files mean, and what is refused. */
#include "recipe-harness.h"
#include "recipe-map.h"

static void accelerate(void) {
  g_autoptr(Recipe) recipe = recipe_of_data("accelerate-fsdp.yaml");
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  CU_ASSERT_STRING_EQUAL(recipe->tool, "accelerate");
  RECIPE_SAYS(recipe, "parallel.framework", "fsdp1");
  RECIPE_SAYS(recipe, "parallel.zero_stage", "3"); /* HYBRID_SHARD */
  RECIPE_SAYS(recipe, "parallel.shard_group", "node");
  RECIPE_SAYS(recipe, "fsdp.wrap", "block");
  RECIPE_SAYS(recipe, "fsdp.backward_prefetch", "post");
  RECIPE_SAYS(recipe, "fsdp.forward_prefetch", "1");
  RECIPE_SAYS(recipe, "fsdp.cpu_offload", "no");
  RECIPE_SAYS(recipe, "cluster.nodes", "2");
  RECIPE_SAYS(recipe, "cluster.gpus_per_node", "8"); /* 16 processes on 2 machines */
  RECIPE_SAYS(recipe, "training.precision", "bf16");
  CU_ASSERT_PTR_NOT_NULL(recipe_reason(recipe, "fsdp_config.fsdp_state_dict_type"));
}

/* accelerate hands FSDP no prefetch where no key says one: utils/dataclasses.py, whatever torch's own default. */
static void accelerate_prefetches_nothing(void) {
  g_autoptr(Recipe) recipe =
      recipe_of_text("a.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "fsdp.backward_prefetch", "none");
  RECIPE_SAYS(recipe, "fsdp.wrap", "none");
}

/* The ds_config.json that it names is read as if it stood in it; places are those of the inner file. */
static void accelerate_names_a_file(void) {
  g_autoptr(Recipe) recipe = recipe_of_data("accelerate-deepspeed.yaml");
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "parallel.framework", "deepspeed");
  RECIPE_SAYS(recipe, "parallel.zero_stage", "3");
  RECIPE_SAYS(recipe, "training.micro_batch", "2");
  RECIPE_SAYS(recipe, "cluster.gpus_per_node", "8");
  const RecipeTaken *taken = g_ptr_array_index(recipe->taken, 0);
  CU_ASSERT_TRUE(g_str_has_suffix(taken->file, "ds-plain.json"));
}

static void accelerate_megatron(void) {
  g_autoptr(Recipe) recipe =
      recipe_of_text("a.yaml",
                     "distributed_type: MEGATRON_LM\nnum_processes: 16\nmixed_precision: bf16\nmegatron_lm_config:\n"
                     "  megatron_lm_tp_degree: 4\n  megatron_lm_pp_degree: 2\n  megatron_lm_num_micro_batches: 8\n"
                     "  megatron_lm_gradient_clipping: 1.0\n  megatron_lm_recompute_activations: true\n"
                     "  megatron_lm_sequence_parallelism: true\n  megatron_lm_use_distributed_optimizer: true\n",
                     NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "parallel.framework", "megatron");
  RECIPE_SAYS(recipe, "parallel.tensor", "4");
  RECIPE_SAYS(recipe, "parallel.pipeline", "2");
  RECIPE_SAYS(recipe, "parallel.sequence_parallel", "yes");
  RECIPE_SAYS(recipe, "parallel.zero_stage", "1");
  RECIPE_SAYS(recipe, "training.gradient_accumulation", "8");
  RECIPE_SAYS(recipe, "training.activation_checkpointing", "selective");
}

static void second_generation(void) {
  g_autoptr(Recipe) recipe = recipe_of_text("a.yaml",
                                            "distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n"
                                            "  fsdp_reshard_after_forward: false\n  fsdp_use_orig_params: true\n",
                                            NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "parallel.framework", "fsdp2");
  RECIPE_SAYS(recipe, "parallel.zero_stage", "2");
  RECIPE_SAYS(recipe, "fsdp.use_orig_params", NULL);
  CU_ASSERT_PTR_NOT_NULL(recipe_reason(recipe, "fsdp_config.fsdp_use_orig_params"));
}

static void trainer(void) {
  g_autoptr(Recipe) recipe = recipe_of_text(
      "t.json",
      "{\"_note\": \"x\", \"fsdp\": \"shard_grad_op auto_wrap\", \"fsdp_config\": {\"fsdp_version\": 1, "
      "\"activation_checkpointing\": true}, \"per_device_train_batch_size\": 4, \"optim\": \"adamw_torch_fused\"}",
      NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "parallel.framework", "fsdp1");
  RECIPE_SAYS(recipe, "parallel.zero_stage", "2");
  RECIPE_SAYS(recipe, "fsdp.wrap", "block");
  RECIPE_SAYS(recipe, "fsdp.backward_prefetch", "none"); /* the Trainer's default is NO_PREFETCH */
  RECIPE_SAYS(recipe, "training.activation_checkpointing", "full");
  RECIPE_SAYS(recipe, "training.micro_batch", "4");
  RECIPE_SAYS(recipe, "training.optimizer_style", "fused");
  CU_ASSERT_STRING_EQUAL(recipe_reason(recipe, "_note"), "a remark");
}

static void torchtitan(void) {
  g_autoptr(Recipe) recipe = recipe_of_data("torchtitan.toml");
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "parallel.framework", "fsdp2");
  RECIPE_SAYS(recipe, "parallel.shard_group", "?"); /* all GPUs / 4 copies */
  RECIPE_SAYS(recipe, "training.sequence_length", "8192");
  RECIPE_SAYS(recipe, "training.micro_batch", "2");
  RECIPE_SAYS(recipe, "training.activation_checkpointing", "every-2nd-matmul");
  RECIPE_SAYS(recipe, "training.gradient_communication_dtype", "fp32");
  RECIPE_SAYS(recipe, "fsdp.wrap", "ends");
  RECIPE_SAYS(recipe, "training.precision", "bf16");
  static const struct {
    const char *toml, *setting, *value;
  } rows[] = {
      {"[training]\nseq_len = 1\nbatch_size = 3\ndata_parallel_degree = -1\n", "training.micro_batch", "3"},
      {"[training]\nseq_len = 1\ndata_parallel_degree = 16\n", "parallel.shard_group", "?"},
      {"[parallelism]\ndata_parallel_shard_degree = 8\ndata_parallel_replicate_degree = 2\n", "parallel.shard_group",
       "8"},
      {"[parallelism]\ndata_parallel_shard_degree = 1\ndata_parallel_replicate_degree = 8\n", "parallel.framework",
       "ddp"},
      {"[parallelism]\nfsdp_reshard_after_forward = \"never\"\n", "parallel.zero_stage", "2"},
      {"[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"2\"\n",
       "training.activation_checkpointing", "layers:2"},
      {"[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = 1\n", "training.activation_checkpointing",
       "full"},
      {"[parallelism]\n[training]\ncompile = true\n", "training.compile", "yes"},
      {"[parallelism]\n[compile]\nenable = true\ncomponents = [\"model\", \"loss\"]\n", "training.compile", "yes"},
      {"[parallelism]\n[compile]\nenable = true\ncomponents = [\"loss\"]\n", "training.compile", "no"},
      {"[parallelism]\n[compile]\nenable = true\ncomponents = [\"loss\"]\n", "training.loss", "fused"},
      {"[parallelism]\n[model]\nconverters = [\"float8\"]\n", "training.precision", "fp8"},
      {"[parallelism]\n[model]\nconverters = [\"float8\"]\n[float8]\nrecipe_name = \"rowwise\"\n",
       "training.fp8_scaling", "rowwise"},
      {"[parallelism]\n[model]\nconverters = [\"quantize.linear.mx\"]\n", "training.fp8_scaling", "mxfp8"},
      {"[parallelism]\n[model]\nconverters = []\n[float8]\nenable_fsdp_float8_all_gather = true\n",
       "training.precision", "bf16"},
      {"[parallelism]\n[model]\nconverters = [\"quantize.linear.float8\"]\n[quantize.linear.float8]\nfilter_fqns = "
       "[\"output\"]\nenable_fsdp_float8_all_gather = true\nprecompute_float8_dynamic_scale_for_fsdp = true\n",
       "fsdp.float8_all_gather", "yes"},
      {"[parallelism]\n[float8]\nenable_float8_linear = true\n", "training.precision", "fp8"},
      {"[training]\nseq_len = 1\nfp8_linear = \"dynamic\"\n", "training.precision", "fp8"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Recipe) each = recipe_of_text("t.toml", rows[i].toml, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(each);
    RECIPE_SAYS(each, rows[i].setting, rows[i].value);
  }
}

/* What changed in torchtitan without a key of its own is told by the keys that a file has. */
static void torchtitan_by_date(void) {
  static const struct {
    const char *toml, *wrap, *loss, *style;
  } rows[] = {
      {"[training]\nseq_len = 1\nbatch_size = 1\ncompile = true\n[model]\nnorm_type = \"rmsnorm\"\n", "block", NULL,
       "foreach"}, /* 2024 */
      {"[training]\nseq_len = 1\nbatch_size = 1\ncompile = true\n[parallelism]\n", "block", "fused",
       "fused"}, /* 2025-05 */
      {"[training]\nseq_len = 1\nlocal_batch_size = 1\n[parallelism]\n[compile]\nenable = true\n", "ends", "fused",
       "fused"}, /* 2025-09 */
      {"[training]\nseq_len = 1\nlocal_batch_size = 1\n[parallelism]\n[compile]\nenable = true\ncomponents = "
       "[\"model\"]\n",
       "ends", NULL, "fused"},
      {"[training]\nseq_len = 1\nlocal_batch_size = 1\n[compile]\nenable = true\n", "ends", "fused",
       "fused"}, /* the same without the block of axes, all of which have defaults */
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Recipe) each = recipe_of_text("t.toml", rows[i].toml, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(each);
    RECIPE_SAYS(each, "fsdp.wrap", rows[i].wrap);
    RECIPE_SAYS(each, "training.loss", rows[i].loss);
    RECIPE_SAYS(each, "training.optimizer_style", rows[i].style);
  }
}

/* One row of taken for each setting, however many keys say it. */
static void says_it_once(void) {
  g_autoptr(Recipe) recipe = recipe_of_text(
      "a.yaml",
      "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n"
      "  fsdp_reshard_after_forward: FULL_SHARD\n  fsdp_backward_prefetch: BACKWARD_PRE\n  fsdp_version: 1\n",
      NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  for (guint i = 0; i < recipe->taken->len; i++)
    for (guint j = 0; j < i; j++) {
      const RecipeTaken *one = g_ptr_array_index(recipe->taken, i), *other = g_ptr_array_index(recipe->taken, j);
      CU_ASSERT_STRING_NOT_EQUAL(one->setting, other->setting);
    }
  CU_ASSERT_TRUE(recipe_reason_has(recipe, "fsdp_config.fsdp_reshard_after_forward",
                                   "says what fsdp_config.fsdp_sharding_strategy says (line 3)"));
  RECIPE_SAYS(recipe, "training.precision", "fp32"); /* accelerate without mixed_precision: "no" */
}

/* A value said beside "auto" is what "auto" becomes, whichever comes first. */
static void auto_yields(void) {
  static const char *const texts[] = {
      "{\"fp16\": {\"enabled\": \"auto\"}, \"zero_optimization\": {\"stage\": 1}}",
      "{\"bf16\": {\"enabled\": \"auto\"}, \"fp16\": {\"enabled\": \"auto\"}, \"zero_optimization\": {\"stage\": 1}}",
  };
  static const char *const precisions[] = {"fp16", "?"};
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autoptr(Recipe) recipe = recipe_of_text("ds.json", texts[i], NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
    RECIPE_SAYS(recipe, "training.precision", precisions[i]);
  }
}

/* Beside other axes: the shard group is of ranks with the same parameters, 64 GPUs / (2 × 2 × 2 copies), context ranks
 * among them; a pipeline cuts the local batch of 8 into micro-batches of 2, four of which are one run, and without a
 * global batch one step; 30 layers and both ends as one each in stages of 8 are 4 stages, 2 chunks on each of 2
 * ranks. */
static void torchtitan_axes(void) {
#define AXES  "[training]\nlocal_batch_size = 8\n[parallelism]\n"
#define PIPED AXES "pipeline_parallel_degree = 2\n"
  static const struct {
    const char *toml, *setting, *value;
  } rows[] = {
      {AXES "tensor_parallel_degree = 2\n", "parallel.tensor", "2"},
      {AXES "tensor_parallel_degree = 2\n", "parallel.sequence_parallel", "yes"},
      {AXES "tensor_parallel_degree = 2\n", "fsdp.loss_parallel", "yes"},
      {AXES "tensor_parallel_degree = 2\ndisable_loss_parallel = true\n", "fsdp.loss_parallel", "no"},
      {"[training]\nseq_len = 1\ntensor_parallel_degree = 2\nenable_loss_parallel = false\n", "fsdp.loss_parallel",
       "no"},
      {AXES "tensor_parallel_degree = 2\nenable_async_tensor_parallel = true\n", "fsdp.async_tensor_parallel", "yes"},
      {AXES "enable_async_tensor_parallel = true\n", "fsdp.async_tensor_parallel", NULL},
      {AXES "context_parallel_degree = 2\n", "fsdp.context_rotate_method", "allgather"},
      {AXES "context_parallel_degree = 2\n", "training.repeat_kv", "without-context"},
      {AXES "context_parallel_degree = 1\n", "training.repeat_kv", "without-context"},
      {AXES, "training.repeat_kv", "without-context"},
      {AXES "context_parallel_degree = 2\ncontext_parallel_rotate_method = \"alltoall\"\n",
       "fsdp.context_rotate_method", "alltoall"},
      {AXES "context_parallel_degree = 2\ndata_parallel_shard_degree = 1\n", "parallel.framework", "fsdp2"},
      {AXES, "training.micro_batch", "8"},
      {PIPED, "parallel.schedule", "1f1b"},
      {PIPED, "training.micro_batch", "1"},
      {PIPED "pipeline_parallel_microbatch_size = 2\n", "training.micro_batch", "2"},
      {PIPED "pipeline_parallel_microbatch_size = 2\n", "fsdp.pipeline_microbatches", "4"},
      {PIPED "pipeline_parallel_microbatch_size = 2\n", "training.gradient_accumulation", "4"},
      {"[training]\nlocal_batch_size = 8\nglobal_batch_size = -1\n[parallelism]\npipeline_parallel_degree = 2\n",
       "training.gradient_accumulation", "8"},
      {"[training]\nlocal_batch_size = 8\nglobal_batch_size = 64\n[parallelism]\npipeline_parallel_degree = 2\n",
       "training.gradient_accumulation", NULL},
      {AXES, "training.gradient_accumulation", NULL},
      {PIPED "pipeline_parallel_schedule = \"Interleaved1F1B\"\n", "parallel.interleave", "2"},
      {PIPED "pipeline_parallel_schedule = \"ZBVZeroBubble\"\n", "parallel.schedule", "zbv"},
      {PIPED "pipeline_parallel_schedule = \"InterleavedZeroBubble\"\n", "parallel.schedule", "zb-h1"},
      {PIPED "pipeline_parallel_schedule = \"InterleavedZeroBubble\"\n", "parallel.interleave", "2"},
      {PIPED "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_split_points = [\"layers.7\", "
             "\"layers.15\", \"layers.23\"]\n",
       "fsdp.pipeline_split", "7 15 23"},
      {PIPED "module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\", \"layers.1\"], [\"layers.2\", "
             "\"norm\", \"output\"]]\n",
       "fsdp.pipeline_split", "2 of 3"},
      {PIPED "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = 8\n",
       "parallel.interleave", "?"},
      {PIPED "pipeline_parallel_last_stage_less_layers = 2\n", "fsdp.pipeline_last_stage_less_layers", "2"},
      {"[training]\nbatch_size = 8\nseq_len = 1\n[experimental]\npipeline_parallel_degree = 2\n",
       "training.micro_batch", "4"}, /* of 2024: one micro-batch for each stage */
      {"[training]\nbatch_size = 8\nseq_len = 1\n[experimental]\npipeline_parallel_degree = 2\n",
       "training.gradient_accumulation", "2"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(Recipe) each = recipe_of_text("t.toml", rows[i].toml, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(each);
    RECIPE_SAYS(each, rows[i].setting, rows[i].value);
  }
}

/* What waits for the model and the cluster. */
static void torchtitan_axes_wait(void) {
  static const struct {
    const char *toml, *setting;
    RecipeFacts facts;
    guint64 value;
    const char *fault;
  } rows[] = {
      {AXES "tensor_parallel_degree = 2\npipeline_parallel_degree = 2\ncontext_parallel_degree = 2\n"
            "data_parallel_replicate_degree = 2\n",
       "parallel.shard_group",
       {.ranks = 64},
       8,
       NULL},
      {AXES "tensor_parallel_degree = 2\ndata_parallel_shard_degree = 8\n",
       "parallel.shard_group",
       {.ranks = 16},
       8,
       NULL},
      {AXES "tensor_parallel_degree = 2\ndata_parallel_shard_degree = 8\n",
       "parallel.shard_group",
       {.ranks = 8},
       0,
       "shards over 16 GPUs without copies, and the cluster has 8"},
      {PIPED "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = 8\n",
       "parallel.interleave",
       {.layers = 30},
       2,
       NULL},
      {PIPED "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_layers_per_stage = 8\n",
       "parallel.interleave",
       {.layers = 32},
       0,
       "makes 5 stages of the model's 32 layers (2 more for its ends), which is no multiple of the 2 pipeline ranks"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Recipe) recipe = recipe_of_text("t.toml", rows[i].toml, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
    const RecipeTaken *taken = NULL;
    for (guint k = 0; k < recipe->taken->len && taken == NULL; k++)
      if (strcmp(((RecipeTaken *)g_ptr_array_index(recipe->taken, k))->setting, rows[i].setting) == 0)
        taken = g_ptr_array_index(recipe->taken, k);
    CU_ASSERT_PTR_NOT_NULL_FATAL(taken);
    GError *error = NULL;
    guint64 value = 0;
    if (rows[i].fault == NULL) {
      CU_ASSERT_TRUE(recipe_resolve(taken, &rows[i].facts, &value, &error));
      CU_ASSERT_EQUAL(value, rows[i].value);
    } else {
      HARNESS_FAILS(recipe_resolve(taken, &rows[i].facts, &value, &error), error, rows[i].fault);
    }
  }
}

static void llm_foundry(void) {
  g_autoptr(Recipe) recipe = recipe_of_data("llm-foundry.yaml");
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "training.sequence_length", "2048"); /* by way of ${variables.max_seq_len} */
  RECIPE_SAYS(recipe, "model.family", "gpt");
  RECIPE_SAYS(recipe, "model.intermediate_size", "3072"); /* 4 × 768 */
  RECIPE_SAYS(recipe, "model.max_positions", "2048");
  RECIPE_SAYS(recipe, "training.global_batch", "256");
  RECIPE_SAYS(recipe, "training.gradient_communication_dtype", "bf16"); /* PURE */
  RECIPE_SAYS(recipe, "fsdp.backward_prefetch", "post");                /* Composer's default */
  RECIPE_SAYS(recipe, "training.gradient_clipping", "1.0");
  RECIPE_SAYS(recipe, "training.loss", "fused"); /* MPT's default */
  RECIPE_SAYS(recipe, "training.loss_metrics", "2");
}

static void composer_full_is_autocast(void) {
  g_autoptr(Recipe) recipe =
      recipe_of_text("f.yaml",
                     "device_train_microbatch_size: 4\nglobal_train_batch_size: 64\nprecision: amp_bf16\n"
                     "fsdp_config:\n  sharding_strategy: FULL_SHARD\n  mixed_precision: FULL\n",
                     NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "training.precision", "bf16");
  RECIPE_SAYS(recipe, "fsdp.param_dtype", "fp32");
  RECIPE_SAYS(recipe, "training.gradient_communication_dtype", "fp32");
}

static void axolotl(void) {
  g_autoptr(Recipe) recipe = recipe_of_text("a.yml",
                                            "base_model: x/y\nsequence_len: 512\nmicro_batch_size: 4\n"
                                            "gradient_accumulation_steps: 2\nbf16: auto\nfsdp:\n  - full_shard\n"
                                            "  - auto_wrap\nwandb_project:\nfsdp_config:\n  offload_params: false\n",
                                            NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  RECIPE_SAYS(recipe, "parallel.framework", "fsdp1");
  RECIPE_SAYS(recipe, "parallel.zero_stage", "3");
  RECIPE_SAYS(recipe, "training.gradient_accumulation", "2");
  RECIPE_SAYS(recipe, "training.precision", "?");
}

#define FLOAT8 "[parallelism]\n[model]\nconverters = [\"float8\"]\n[float8]\n"

static void refusals(void) {
  static const struct {
    const char *name, *text, *fragment;
  } rows[] = {
      {"a.yaml", "distributed_type: FSDP\nnum_machine: 2\n",
       "a.yaml:2:1: num_machine: is no key of accelerate that is known here; did you mean \"num_machines\"?"},
      {"a.yaml", "distributed_type: FSDP\nnum_machines: 3\nnum_processes: 16\n",
       "16 processes are not the same number on each of 3 machines"},
      {"a.yaml", "distributed_type: MULTI_XPU\n", "\"MULTI_XPU\" is not modelled"},
      {"a.yaml", "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHART\n",
       "\"FULL_SHART\" is not known here; did you mean \"FULL_SHARD\"?"},
      {"a.yaml", "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: gone.json\n",
       "a.yaml:3:3: deepspeed_config.deepspeed_config_file: no file"},
      {"t.toml", "[parallelism]\nx = 1\n", "parallelism.x: is no key of torchtitan"},
      {"t.toml", "[training]\nseq_len = \"long\"\n", "training.seq_len: expected a whole number, found \"long\""},
      {"t.toml", "[parallelism]\n[activation_checkpoint]\nmode = \"selective\"\n", "say selective_ac_option"},
      {"t.toml", FLOAT8 "recipe_name = \"rowwise_with_gw_hp\"\n",
       "t.toml:5:1: float8.recipe_name: \"rowwise_with_gw_hp\" is not modelled"},
      {"t.toml", FLOAT8 "enable_fsdp_float8_all_gather = true\n", "without precompute_float8_dynamic_scale_for_fsdp"},
      {"t.toml", FLOAT8 "filter_fqns = []\n", "a head in fp8 is not modelled"},
      {"t.toml", FLOAT8 "filter_fqns = [\"output\", \"attention.wk\"]\n", "layers in 16 bits beside the head"},
      {"t.toml", FLOAT8 "emulate = true\n", "emulated fp8"},
      {"t.toml", "[training]\nseq_len = 1\nfp8_linear = \"delayed\"\n", "delayed scaling is not modelled"},
      {"t.toml", "[training]\nenable_cpu_offload = true\n[parallelism]\ndata_parallel_shard_degree = 1\n",
       "t.toml:2:1: training.enable_cpu_offload: offloads what is sharded"},
      {"t.toml", "[parallelism]\n[model]\nnorm_type = \"np_layernorm\"\n", "\"np_layernorm\" is not modelled"},
      {"a.yaml", "distributed_type: FSDP\nmixed_precision: fp8\n",
       "mixed_precision: is not modelled: Transformer Engine"},
      {"a.yaml", "distributed_type: FSDP\ndynamo_config:\n  dynamo_backend: EAGER\n", "\"EAGER\" is not modelled"},
      {"f.yaml", "device_train_microbatch_size: 4\ncompile_config:\n  mode: max-autotune\n", "\"max-autotune\" is not"},
      {"t.toml", "[parallelism]\ndata_parallel_shard_degree = 0\n", "expected -1 or a number from 1 on"},
      {"t.toml", "[parallelism]\ntensor_parallel_degree = 2\ndata_parallel_shard_degree = 1\n",
       "autocast over fp32 parameters, which is not modelled"},
      {"t.toml", PIPED "pipeline_parallel_schedule = \"DualPipeV\"\n", "\"DualPipeV\" is not modelled; 1F1B, GPipe"},
      {"t.toml", PIPED "pipeline_parallel_schedule_csv = \"a.csv\"\n", "a schedule in a file is not modelled"},
      {"t.toml", PIPED "pipeline_parallel_microbatch_size = 3\n", "3 does not divide the local batch of 8"},
      {"t.toml", PIPED "pipeline_parallel_split_points = [\"layers.2\", \"layers.4\"]\n",
       "3 stages are listed, which is no multiple of it"},
      {"t.toml", PIPED "pipeline_parallel_split_points = [\"norm\"]\n", "expected a layer to split before"},
      {"t.toml", PIPED "module_fqns_per_model_part = [[\"tok_embeddings\"], [\"layers.0\"]]\n",
       "a part without a layer is not modelled"},
      {"t.toml", PIPED "module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\"], [\"layers.2\"]]\n",
       "this one has 1 from layers.2 to layers.2, and should go on from layers.1"},
      {"t.toml", PIPED "module_fqns_per_model_part = [[\"layers.0\", \"layers.2\"], [\"layers.1\"]]\n",
       "this one has 2 from layers.0 to layers.2, and should go on from layers.0"},
      {"f.yaml", "device_train_microbatch_size: 4\nmax_seq_len: ${variables.gone}\n", "names no key of this file"},
      {"f.yaml", "device_train_microbatch_size: 4\nmax_seq_len: ${max_seq_len}\n", "refers to itself"},
      {"x.yml", "base_model: y\nadapter: qlora\n", "adapter: qlora wants load_in_4bit: true"},
      {"x.yaml", "model:\n  _component_: torchtune.models.llama3\n", "is a file of torchtune"},
      {"t.json", "{\"fsdp\": \"full_shart\"}", "\"full_shart\" is none of full_shard"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    GError *error = NULL;
    HARNESS_FAILS(recipe_of_text(rows[i].name, rows[i].text, &error), error, rows[i].fragment);
  }
}

int main(void) {
  return harness_run("recipe-tools",
                     (HarnessCase[]){{"accelerate", accelerate},
                                     {"accelerate prefetches nothing unasked", accelerate_prefetches_nothing},
                                     {"accelerate names a file", accelerate_names_a_file},
                                     {"accelerate with Megatron-LM", accelerate_megatron},
                                     {"second generation", second_generation},
                                     {"Trainer", trainer},
                                     {"torchtitan", torchtitan},
                                     {"torchtitan by date", torchtitan_by_date},
                                     {"says it once", says_it_once},
                                     {"auto yields", auto_yields},
                                     {"torchtitan's axes", torchtitan_axes},
                                     {"torchtitan's axes that wait", torchtitan_axes_wait},
                                     {"llm-foundry", llm_foundry},
                                     {"Composer's FULL is autocast", composer_full_is_autocast},
                                     {"axolotl", axolotl},
                                     {"refusals", refusals},
                                     {NULL, NULL}});
}
