/* SPDX-License-Identifier: MIT */
/* Tools for fine-tuning around Hugging Face's Trainer (axolotl, LLaMA-Factory, TRL), and DeepSpeed files they name. */
#include <glib/gstdio.h>

#include "recipe-harness.h"

typedef struct {
  const char *setting, *value;
} Said;

static void expect(const char *name, const char *text, const Said *said) {
  GError *error = NULL;
  g_autoptr(Recipe) recipe = recipe_of_text(name, text, &error);
  if (recipe == NULL)
    printf("\n    %s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  for (; said->setting != NULL; said++)
    RECIPE_SAYS(recipe, said->setting, said->value);
}

/* PyTorch's checkpoints that are not reentrant end early; Transformers' are by default, axolotl's and TRL's are not,
 * nor is FSDP's wrapper, of which use_reentrant does not speak. */
static void reentrant(void) {
  static const struct {
    const char *text, *stops;
  } rows[] = {
      {"per_device_train_batch_size: 1\ngradient_checkpointing: true\n", "no"},
      {"per_device_train_batch_size: 1\ngradient_checkpointing: true\n"
       "gradient_checkpointing_kwargs: {use_reentrant: false}\n",
       "yes"},
      {"per_device_train_batch_size: 1\ngradient_checkpointing: false\n"
       "gradient_checkpointing_kwargs: {use_reentrant: false}\n",
       NULL},
      {"per_device_train_batch_size: 1\nfsdp: full_shard\nfsdp_config: {activation_checkpointing: true}\n"
       "gradient_checkpointing_kwargs: {use_reentrant: true}\n",
       NULL},
      {"base_model: x\nmicro_batch_size: 1\ngradient_checkpointing: true\n", "yes"},
      {"base_model: x\nmicro_batch_size: 1\ngradient_checkpointing: true\n"
       "gradient_checkpointing_kwargs: {use_reentrant: true}\n",
       "no"},
      {"dataset_name: x\nper_device_train_batch_size: 1\n", "yes"},
      {"finetuning_type: full\nper_device_train_batch_size: 1\n", "no"},
      {"finetuning_type: full\nper_device_train_batch_size: 1\nuse_reentrant_gc: false\n", "yes"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    expect("x.yaml", rows[i].text, (const Said[]){{"training.checkpoint_early_stop", rows[i].stops}, {NULL, NULL}});
}

#define NEOX                                                                                                           \
  "{\n \"pipe-parallel-size\": 2, \"model_parallel_size\": 4,\n \"num_layers\": 24, \"hidden_size\": 1024, "           \
  "\"num_attention_heads\": 16, \"seq_length\": 2048, \"max_position_embeddings\": 2048,\n"

/* GPT-NeoX: Megatron's keys with dashes or underscores beside DeepSpeed's. Pythia's form is the family gpt_neox; the
 * MLP is four times as wide. Its defaults: tied embeddings, eager attention, clipping at 1, stages of as many layers.
 */
static void neox(void) {
  expect("x.yml",
         NEOX "\"pos-emb\": \"rotary\", \"gpt-j-residual\": true, \"no-weight-tying\": true,\n"
              "\"attention-config\": [[[\"flash\"], 24]], \"bias-gelu-fusion\": True,\n"
              "\"checkpoint-activations\": true, \"checkpoint-num-layers\": 1,\n"
              "\"zero_optimization\": {\"stage\": 1, \"reduce_bucket_size\": 500000000,},\n"
              "\"train_micro_batch_size_per_gpu\": 4, \"fp16\": {\"enabled\": true, \"fp16\": true}, # half\n}\n",
         (const Said[]){{"parallel.pipeline", "2"},
                        {"parallel.tensor", "4"},
                        {"parallel.framework", "deepspeed"},
                        {"parallel.zero_stage", "1"},
                        {"model.family", "gpt_neox"},
                        {"model.intermediate_size", "4096"},
                        {"model.tied_embeddings", "no"},
                        {"training.attention", "flash"},
                        {"training.fused_kernels", "yes"},
                        {"training.activation_checkpointing", "full"},
                        {"training.precision", "fp16"},
                        {"training.gradient_clipping", "1.0"},
                        {"training.dropout", "0"},
                        {"deepspeed.partition_method", "type:transformer|mlp"},
                        {"deepspeed.reduce_bucket_size", "500000000"},
                        {NULL, NULL}});
  /* A gated MLP: 8448 × 2/3 / 2 = 2816 a half, a multiple of 256; llama's parts. */
  expect("x.yml",
         NEOX
         "\"pos_emb\": \"rotary\", \"norm\": \"rmsnorm\", \"activation\": \"swiglu\", \"intermediate_size\": 8448, "
         "\"mlp_multiple_of\": 256, \"use_bias_in_norms\": false, \"use_bias_in_attn_linear\": false, "
         "\"use_bias_in_mlp\": false, \"precision\": \"bfloat16\", \"fp32_allreduce\": true}\n",
         (const Said[]){{"model.family", "llama"},
                        {"model.intermediate_size", "2816"},
                        {"model.tied_embeddings", "yes"},
                        {"training.attention", "eager"},
                        {"training.fused_kernels", "no"},
                        {"training.precision", "bf16"},
                        {"training.gradient_communication_dtype", "fp32"},
                        {NULL, NULL}});
  /* Rotary positions with branches one after the other are no family here. */
  expect("x.yml", NEOX "\"pos_emb\": \"rotary\"}\n", (const Said[]){{"model.family", NULL}, {NULL, NULL}});
}

static void neox_refused(void) {
  static const struct {
    const char *more, *why;
  } rows[] = {
      {"\"attention_config\": [[[\"mamba\"], 24]]}", "\"mamba\" is not modelled; flash and global are"},
      {"\"attention_config\": [[[\"flash\", \"global\"], 12]]}", "layers of \"flash\" and of \"global\" in one model"},
      {"\"moe_num_experts\": 8}", "mixtures of experts of GPT-NeoX"},
      {"\"checkpoint_activations\": true, \"checkpoint_num_layers\": 2}",
       "several layers that are checkpointed as one"},
      {"\"hidden_dropout\": 0.1}", "dropout of hidden states 0.1 and of attention 0"},
      {"\"te_mha\": true}", "Transformer Engine's layers"},
      {"\"pip_parallel_size\": 2}", "did you mean \"pipe_parallel_size\"?"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *text = g_strconcat(NEOX, rows[i].more, NULL);
    GError *error = NULL;
    HARNESS_FAILS(recipe_of_text("x.yml", text, &error) != NULL, error, rows[i].why);
  }
}

#define NEMO                                                                                                           \
  "trainer:\n  devices: 8\n  num_nodes: 4\n  precision: bf16-mixed\n  gradient_clip_val: 1.0\nmodel:\n"                \
  "  mcore_gpt: true\n  micro_batch_size: 1\n  global_batch_size: 128\n  tensor_model_parallel_size: 2\n"              \
  "  encoder_seq_length: 4096\n  max_position_embeddings: ${.encoder_seq_length}\n  num_layers: 32\n"                  \
  "  hidden_size: 4096\n  num_attention_heads: 32\n"

/* NeMo: names beside a key and products of them are worked out; a key without a value says nothing. Dropout is 0.1 for
 * both where neither is said; without both fusions norms alone are fused. 4 layers of each of 2 stages' 16: 8 of 32. */
static void nemo(void) {
  expect("x.yaml",
         NEMO "  ffn_hidden_size: ${multiply:4, ${.hidden_size}}\n  num_query_groups: null\n"
              "  transformer_engine: true\n  optim:\n    name: mcore_distributed_optim\n    overlap_grad_sync: true\n"
              "    bucket_cap_mb: 400\n",
         (const Said[]){{"model.max_positions", "4096"},
                        {"model.intermediate_size", "16384"},
                        {"model.kv_heads", NULL},
                        {"model.family", "gpt"},
                        {"model.tied_embeddings", "yes"},
                        {"training.dropout", "0.1"},
                        {"training.precision", "bf16"},
                        {"parallel.framework", "megatron"},
                        {"parallel.zero_stage", "1"},
                        {"megatron.overlap_grad_reduce", "yes"},
                        {"megatron.bucket_size", NULL},
                        {"cluster.nodes", "4"},
                        {NULL, NULL}});
  expect("x.yaml",
         NEMO "  activation: fast-swiglu\n  normalization: rmsnorm\n  position_embedding_type: rope\n  bias: false\n"
              "  bias_activation_fusion: false\n  bias_dropout_add_fusion: false\n  hidden_dropout: 0.0\n"
              "  attention_dropout: 0.0\n  pipeline_model_parallel_size: 2\n"
              "  activations_checkpoint_granularity: full\n  activations_checkpoint_method: block\n"
              "  activations_checkpoint_num_layers: 4\n  share_embeddings_and_output_weights: false\n",
         (const Said[]){{"model.family", "llama"},
                        {"model.tied_embeddings", "no"},
                        {"training.fused_kernels", "norms"},
                        {"training.activation_checkpointing", "fraction:0.25"},
                        {"parallel.zero_stage", "0"},
                        {NULL, NULL}});
}

/* What Megatron-Bridge lays over a recipe: its shape and dropout are the workload's. */
static void bridge(void) {
  expect("x.yaml",
         "model:\n  tensor_model_parallel_size: 2\n  sequence_parallel: true\n  recompute_granularity: selective\n"
         "train:\n  micro_batch_size: 1\n  global_batch_size: 64\n  train_iters: 10\ndataset:\n  seq_length: 8192\n"
         "ddp:\n  grad_reduce_in_fp32: false\n  overlap_param_gather: true\noptimizer:\n  lr: 0.0003\n"
         "mixed_precision: bf16_mixed\n",
         (const Said[]){{"parallel.tensor", "2"},
                        {"parallel.zero_stage", "1"},
                        {"training.global_batch", "64"},
                        {"training.sequence_length", "8192"},
                        {"training.gradient_accumulation_dtype", "bf16"},
                        {"training.activation_checkpointing", "selective"},
                        {"training.dropout", NULL},
                        {"megatron.overlap_param_gather", "yes"},
                        {NULL, NULL}});
}

static void nemo_refused(void) {
  static const struct {
    const char *more, *why;
  } rows[] = {
      {"  fp8: true\n", "Transformer Engine's fp8"},
      {"  bias_activation_fusion: false\n", "kernels that are not fused"},
      {"  optim:\n    name: distributed_fused_adam\n", "Apex's distributed Adam is not modelled"},
      {"  activations_checkpoint_granularity: half\n", "expected selective or full, found \"half\""},
      {"  activations_checkpoint_granularity: full\n  activations_checkpoint_num_layers: 2\n", "several layers"},
      {"  hidden_dropout: 0.0\n", "dropout of hidden states 0.0 and of attention 0.1"},
      {"  ffn_hidden_size: ${multiply:4, ${.width}}\n", "ffn_hidden_size"},
      {"  tensor_model_paralel_size: 2\n", "did you mean \"model.tensor_model_parallel_size\"?"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *text = g_strconcat(NEMO, rows[i].more, NULL);
    GError *error = NULL;
    HARNESS_FAILS(recipe_of_text("x.yaml", text, &error) != NULL, error, rows[i].why);
  }
  GError *error = NULL;
  HARNESS_FAILS(recipe_of_text("x.py", "def config():\n  return Experiment()\n", &error) != NULL, error,
                "builds Experiment");
}

#define AXOLOTL "base_model: x/y\nsequence_len: 512\nmicro_batch_size: 4\n"

static void axolotl(void) {
  expect("x.yml",
         AXOLOTL "adapter: lora\nlora_r: 32\nlora_dropout: 0.05\nlora_target_linear: true\nsample_packing: true\n"
                 "chat_template: llama3\nstrict: false\nload_in_4bit: false\n",
         (const Said[]){{"training.trainable", "lora:32:all-linear"},
                        {"training.lora_dropout", "0.05"},
                        {"training.micro_batch", "4"},
                        {"parallel.framework", "ddp"},
                        {NULL, NULL}});
  expect("x.yml", AXOLOTL "adapter: lora\nlora_r: 8\nlora_target_modules:\n  - self_attn.q_proj\n  - v_proj\n",
         (const Said[]){{"training.trainable", "lora:8:q_proj+v_proj"}, {"training.lora_dropout", NULL}, {NULL, NULL}});
  expect("x.yml", AXOLOTL "lora_dropout: 0.05\n",
         (const Said[]){{"training.trainable", NULL}, {"training.lora_dropout", NULL}, {NULL, NULL}});
  expect(
      "x.yml",
      AXOLOTL "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_rope: true\nliger_rms_norm: true\n"
              "liger_glu_activation: true\nliger_cross_entropy: true\n",
      (const Said[]){
          {"training.fused_kernels", "liger"}, {"training.loss", "fused"}, {"training.trainable", NULL}, {NULL, NULL}});
  expect("x.yml", "base_model: x/y\nsequence_len: 500_000\n",
         (const Said[]){{"training.sequence_length", "500000"}, {NULL, NULL}});
  expect("x.yml", AXOLOTL "attn_implementation: xformers\n",
         (const Said[]){{"training.attention", "flash"}, {NULL, NULL}});
  expect("x.yml", AXOLOTL "bf16: false\nfp16:\n", (const Said[]){{"training.precision", "fp32"}, {NULL, NULL}});
}

/* A base in 4 bits has its maxima quantised too, unless bnb_config_kwargs says no; Cut Cross-Entropy is on with its
 * plugin; a paged optimizer's states are managed memory. */
static void axolotl_qlora(void) {
  expect("x.yml",
         AXOLOTL "adapter: qlora\nload_in_4bit: true\nlora_r: 16\noptimizer: paged_adamw_8bit\n"
                 "lora_target_modules: 'model.language_model.layers.[\\d]+.(mlp|self_attn).(up|down|q|o)_proj'\n"
                 "gptq_groupsize:\nunheard_of:\n"
                 "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n",
         (const Said[]){{"training.trainable", "lora:16:up_proj+down_proj+q_proj+o_proj"},
                        {"training.base_weights", "nf4-double"},
                        {"training.optimizer", "adam8bit"},
                        {"training.paged_states", "yes"},
                        {"training.loss", "cut"},
                        {NULL, NULL}});
  expect("x.yml",
         AXOLOTL "adapter: qlora\nload_in_4bit: true\nlora_r: 16\nbnb_config_kwargs:\n"
                 "  bnb_4bit_use_double_quant: false\nbatch_size: 32\noptimizer: adamw_torch_4bit\n"
                 "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_fused_linear_cross_entropy: true\n",
         (const Said[]){{"training.base_weights", "nf4"},
                        {"training.gradient_accumulation", "8"},
                        {"training.optimizer", "adam4bit"},
                        {"training.loss", "fused-linear"},
                        {NULL, NULL}});
  expect("x.yml",
         AXOLOTL "adapter: lora\nlora_target_modules: [query_key_value, w2]\noptimizer: adamw_bnb_8bit\n"
                 "fsdp: [full_shard, auto_wrap]\n",
         (const Said[]){{"training.trainable", "lora:8:qkv_proj+down_proj"},
                        {"fsdp.sync_every_micro_batch", "no"},
                        {"fsdp.wrap_adapters", "yes"},
                        {NULL, NULL}});
  expect("x.yml", AXOLOTL "adapter: lora\nfsdp: [full_shard, auto_wrap]\nfsdp_config:\n  fsdp_version: 2\n",
         (const Said[]){{"fsdp.wrap_adapters", NULL}, {NULL, NULL}});
  expect("x.yml", AXOLOTL "load_in_4bit: true\n", (const Said[]){{"training.base_weights", NULL}, {NULL, NULL}});
}

/* Liger's kernels come with its fused linear loss; each tool's own keys for 4 bits, of which TRL's maxima are fp32. */
static void kernels_and_bits(void) {
  expect("t.yaml", "per_device_train_batch_size: 1\nbf16: true\nuse_liger_kernel: true\n",
         (const Said[]){{"training.loss", "fused-linear"}, {"training.fused_kernels", "liger"}, {NULL, NULL}});
  expect("t.yaml",
         "per_device_train_batch_size: 1\nuse_liger_kernel: true\nliger_kernel_config:\n"
         "  fused_linear_cross_entropy: false\n  cross_entropy: true\n  swiglu: false\n",
         (const Said[]){{"training.loss", "fused"}, {"training.fused_kernels", "norms"}, {NULL, NULL}});
  expect("t.yaml", "per_device_train_batch_size: 1\nuse_liger_kernel: false\n",
         (const Said[]){{"training.loss", NULL}, {NULL, NULL}});
  expect("f.yaml", "finetuning_type: lora\nquantization_bit: 4\nenable_liger_kernel: true\n",
         (const Said[]){{"training.base_weights", "nf4-double"}, {"training.loss", "fused-linear"}, {NULL, NULL}});
  expect("trl.yaml", "dataset_name: a/b\nuse_peft: true\nload_in_4bit: true\nloss_type: nll\n",
         (const Said[]){{"training.base_weights", "nf4"}, {"training.loss", "eager"}, {NULL, NULL}});
  expect("x.yml", AXOLOTL "adapter: lora\nload_in_8bit: true\n",
         (const Said[]){{"training.base_weights", "int8"}, {NULL, NULL}});
  expect("trl.yaml", "dataset_name: a/b\n", (const Said[]){{"training.loss", "chunked-recompute"}, {NULL, NULL}});
}

#define TUNE                                                                                                           \
  "tokenizer:\n  _component_: torchtune.models.llama3.llama3_tokenizer\n  max_seq_len: 2048\nbatch_size: 2\n"          \
  "optimizer:\n  _component_: %s\n  fused: True\nloss:\n  _component_: "                                               \
  "torchtune.modules.loss.LinearCrossEntropyLoss\n"                                                                    \
  "dtype: bf16\nclip_grad_norm: null\n"

/* FSDP2 around each layer, all of it in bf16; adapters by the model's class and its arguments. */
static void torchtune(void) {
  g_autofree char *full = g_strdup_printf(TUNE "model:\n  _component_: torchtune.models.llama3.llama3_8b\n"
                                               "enable_activation_checkpointing: False\n"
                                               "custom_sharded_layers: ['tok_embeddings', 'output']\n",
                                          "torch.optim.AdamW");
  g_autofree char *qlora = g_strdup_printf(TUNE "model:\n  _component_: torchtune.models.llama3.qlora_llama3_8b\n"
                                                "  lora_attn_modules: ['q_proj', 'output_proj']\n"
                                                "  apply_lora_to_mlp: True\n  lora_rank: 16\n",
                                           "bitsandbytes.optim.PagedAdamW8bit");
  expect("t.yaml", full,
         (const Said[]){{"parallel.framework", "fsdp2"},
                        {"training.precision", "bf16"},
                        {"fsdp.orig_dtype", "bf16"},
                        {"fsdp.wrap", "ends"},
                        {"training.optimizer_style", "fused"},
                        {"training.sequence_length", "2048"},
                        {"training.repeat_kv", "without-context"},
                        {"training.activation_checkpointing", "none"},
                        {"training.trainable", NULL},
                        {NULL, NULL}});
  expect("t.yaml", qlora,
         (const Said[]){{"training.trainable", "lora:16:q_proj+o_proj+gate_proj+up_proj+down_proj"},
                        {"training.base_weights", "nf4-double"},
                        {"training.optimizer", "adam8bit"},
                        {"fsdp.wrap", "block"},
                        {NULL, NULL}});
}

#define FACTORY "finetuning_type: %s\nstage: sft\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n"

/* Layers are recomputed where no key says no; target "all" is every linear layer. */
static void llama_factory(void) {
  g_autofree char *lora = g_strdup_printf(FACTORY "lora_rank: 8\nlora_target: all\n", "lora");
  g_autofree char *full = g_strdup_printf(FACTORY "disable_gradient_checkpointing: true\nflash_attn: fa2\n", "full");
  expect("f.yaml", lora,
         (const Said[]){{"training.trainable", "lora:8:all-linear"},
                        {"training.sequence_length", "2048"},
                        {"training.activation_checkpointing", "full"},
                        {"training.precision", "bf16"},
                        {NULL, NULL}});
  expect("f.yaml", full,
         (const Said[]){{"training.trainable", NULL},
                        {"training.activation_checkpointing", "none"},
                        {"training.attention", "flash"},
                        {NULL, NULL}});
  expect("f.yaml", "finetuning_type: full\nper_device_train_batch_size: 1\n",
         (const Said[]){{"training.sequence_length", "2048"}, {NULL, NULL}}); /* cutoff_len of data_args.py */
}

/* SFTConfig's defaults: bf16, every layer recomputed, 1 024 tokens; ModelConfig's, adapters with dropout. */
static void trl(void) {
  expect("trl.yaml", "dataset_name: a/b\nuse_peft: true\nlora_target_modules: q_proj, v_proj\n",
         (const Said[]){{"training.sequence_length", "1024"},
                        {"training.precision", "bf16"},
                        {"training.activation_checkpointing", "full"},
                        {"training.trainable", "lora:16:q_proj+v_proj"},
                        {"training.lora_dropout", "0.05"},
                        {NULL, NULL}});
  expect("trl.yaml", "dataset_name: a/b\nuse_peft: true\nlora_dropout: 0\n",
         (const Said[]){{"training.lora_dropout", "0"}, {NULL, NULL}});
  expect("trl.yaml", "dataset_name: a/b\nmax_length: 4096\nfp16: true\ngradient_checkpointing: false\n",
         (const Said[]){{"training.sequence_length", "4096"},
                        {"training.precision", "fp16"},
                        {"training.activation_checkpointing", "none"},
                        {NULL, NULL}});
}

/* "auto" of the file below is what the arguments say, whichever comes first; the file is found from a folder above. */
/* What parameters are loaded in. axolotl and TRL's dtype load them in 16 bits: DDP leaves them so, accelerate's FSDP
 * and DeepSpeed do not. LLaMA-Factory makes those that are trained fp32, so that with LoRA, its default, the base alone
 * is in 16 bits. */
static void loaded(void) {
  static const Said half[] = {{"parallel.framework", "ddp"}, {"ddp.autocast", "no"}, {NULL, NULL}},
                    whole[] = {{"ddp.autocast", NULL}, {NULL, NULL}};
  expect("x.yml", "base_model: a/b\nmicro_batch_size: 1\nbf16: true\n", half);
  expect("x.yml", "base_model: a/b\nmicro_batch_size: 1\nbf16: false\n", whole);
  expect("x.yml", "base_model: a/b\nmicro_batch_size: 1\nbf16: true\nfsdp:\n  - full_shard\n  - auto_wrap\n", whole);
  expect("t.yaml", "dataset_mixture:\n  seed: 0\ntorch_dtype: bfloat16\nbf16: true\n", half);
  expect("t.yaml", "dataset_name: a/b\ndtype: float32\n", whole);
  expect("t.yaml", "dataset_name: a/b\ndtype: bfloat16\nfsdp: full_shard auto_wrap\n", whole);
  expect("f.yaml", "cutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n",
         (const Said[]){{"training.trainable", "lora:8:all-linear"}, {"ddp.autocast", "no"}, {NULL, NULL}});
  expect("f.yaml", "finetuning_type: full\nper_device_train_batch_size: 1\nbf16: true\n", whole);
  expect("f.yaml", "finetuning_type: full\nper_device_train_batch_size: 1\npure_bf16: true\n", half);
}

static void ddp_buckets(void) {
  expect("t.yaml", "per_device_train_batch_size: 1\nddp_bucket_cap_mb: 100\n",
         (const Said[]){{"ddp.bucket_cap", "100 MiB"}, {NULL, NULL}});
}

static void names_a_deepspeed_file(void) {
  static const char ds[] = "{\"train_micro_batch_size_per_gpu\": \"auto\", \"gradient_accumulation_steps\": \"auto\", "
                           "\"gradient_clipping\": \"auto\", \"bf16\": {\"enabled\": \"auto\"}, "
                           "\"zero_optimization\": {\"stage\": 3}}";
  static const char *const texts[] = {
      "per_device_train_batch_size: 2\ngradient_accumulation_steps: 3\nmax_grad_norm: 0.5\nbf16: true\n"
      "deepspeed: configs/ds.json\n",
      "deepspeed: configs/ds.json\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 3\n"
      "max_grad_norm: 0.5\nbf16: true\n"};
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *configs = g_build_filename(folder, "configs", NULL);
  g_autofree char *runs = g_build_filename(folder, "runs", NULL);
  g_autofree char *file = g_build_filename(configs, "ds.json", NULL);
  g_autofree char *path = g_build_filename(runs, "t.yaml", NULL);
  g_mkdir(configs, 0700);
  g_mkdir(runs, 0700);
  g_file_set_contents(file, ds, -1, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
    GError *error = NULL;
    g_file_set_contents(path, texts[i], -1, NULL);
    g_autoptr(Recipe) recipe = recipe_load(path, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
    RECIPE_SAYS(recipe, "parallel.framework", "deepspeed");
    RECIPE_SAYS(recipe, "parallel.zero_stage", "3");
    RECIPE_SAYS(recipe, "training.micro_batch", "2");
    RECIPE_SAYS(recipe, "training.gradient_accumulation", "3");
    RECIPE_SAYS(recipe, "training.gradient_clipping", "0.5");
    RECIPE_SAYS(recipe, "training.precision", "bf16");
  }
  g_remove(path);
  g_remove(file);
  g_rmdir(runs);
  g_rmdir(configs);
  g_rmdir(folder);
}

static void refusals(void) {
  static const struct {
    const char *name, *text, *fragment;
  } rows[] = {
      {"x.yml", AXOLOTL "plugins:\n  - axolotl.integrations.diffusion.DiffusionPlugin\n", "DiffusionPlugin\" is not"},
      {"x.yml",
       AXOLOTL "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n"
               "  - axolotl.integrations.liger.LigerPlugin\nliger_fused_linear_cross_entropy: true\n",
       "training.loss = fused-linear"},
      {"x.yml", AXOLOTL "adapter: lora\nlora_target_modules: 'layers.(3|7).q_proj'\n", "names layers by a pattern"},
      {"x.yml", AXOLOTL "adapter: lora\nlora_target_modules: 'mlp.up_proj|self_attn.(q|k)_proj'\n", "by a pattern"},
      {"t.yaml", "tokenizer:\n  _component_: a.b\noptimizer_in_bwd: True\n", "optimizer_in_bwd: is not modelled"},
      {"t.yaml", "model:\n  _component_: a.lora_b\noptimizer:\n  _component_: torch.optim.AdamW\n",
       "lora_attn_modules does not say where"},
      {"t.yaml", "model:\n  _component_: a\noptimizer:\n  _component_: torch.optim.Rprop\n", "is not modelled; torch"},
      {"x.yml", AXOLOTL "adapter: ia3\n", "adapter: is not modelled: this adapter"},
      {"x.yml", "base_model: x/y\nbatch_size: 8\n", "stands without micro_batch_size"},
      {"x.yml", "base_model: x/y\nbatch_size: 1\nmicro_batch_size: 2\n", "less than micro_batch_size"},
      {"trl.yaml", "dataset_name: a/b\nuse_peft: true\nload_in_4bit: true\nbnb_4bit_quant_type: fp4\n", "nf4 is"},
      {"trl.yaml", "dataset_name: a/b\nloss_type: dft\n", "nll and chunked_nll are"},
      {"t.yaml", "per_device_train_batch_size: 1\nuse_liger_kernel: true\nliger_kernel_config:\n  rope: false\n",
       "without its norms or its rotary embedding"},
      {"f.yaml", "model_class: llm\ndist_config:\n  name: fsdp2\n", "LLaMA-Factory's new trainer"},
      {"f.yaml", "finetuning_type: lora\nquantization_bit: 3\n", "quantization_bit: is not modelled"},
      {"x.yml", AXOLOTL "adapter: lora\nlora_modules_to_save:\n  - lm_head\n", "lora_modules_to_save: is not modelled"},
      {"f.yaml", "finetuning_type: freeze\n", "\"freeze\" is not modelled; full and lora are"},
      {"f.yaml", "finetuning_type: full\nstage: dpo\n", "stage: is not modelled"},
      {"t.yaml", "per_device_train_batch_size: 1\ndeepspeed: gone.json\n", "deepspeed: no file"},
      {"t.yaml", "per_device_train_batch_size: 1\nsplit_batches: true\n", "a batch that is split over the ranks"},
      {"t.yaml", "per_device_train_batch_size: 1\naccelerator_config:\n  split_batches: true\n",
       "accelerator_config.split_batches: is not modelled"},
      {"t.yaml", "dataset_mixture:\n  seed: 0\nbeta: 0.1\n", "beta: is not modelled: preferences"},
      {"x.yml", AXOLOTL "gradient_checkpointing: offload\n", "\"offload\" is not modelled: checkpoints outside"},
      {"x.yml", AXOLOTL "flash_attn_rms_norm: true\n", "flash_attn_rms_norm: is not modelled"},
      {"f.yaml", "finetuning_type: full\nuse_asft_loss: true\n", "a reference model beside the model"},
      {"f.yaml", "finetuning_type: full\npure_bf16: true\nfsdp: full_shard\n", "is modelled under DDP alone"},
      {"n.yaml", "general:\n  project: p\nparallelism:\n  dp: 2\n  pp_engine: 1f1b\n", "a file of nanotron"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    GError *error = NULL;
    HARNESS_FAILS(recipe_of_text(rows[i].name, rows[i].text, &error), error, rows[i].fragment);
  }
}

int main(void) {
  return harness_run("recipe-finetune", (HarnessCase[]){{"reentrant", reentrant},
                                                        {"GPT-NeoX", neox},
                                                        {"GPT-NeoX, refused", neox_refused},
                                                        {"NeMo", nemo},
                                                        {"Megatron-Bridge", bridge},
                                                        {"NeMo, refused", nemo_refused},
                                                        {"axolotl", axolotl},
                                                        {"axolotl's QLoRA", axolotl_qlora},
                                                        {"torchtune", torchtune},
                                                        {"kernels and bits", kernels_and_bits},
                                                        {"LLaMA-Factory", llama_factory},
                                                        {"TRL", trl},
                                                        {"what parameters are loaded in", loaded},
                                                        {"DDP's buckets", ddp_buckets},
                                                        {"names a DeepSpeed file", names_a_deepspeed_file},
                                                        {"refusals", refusals},
                                                        {NULL, NULL}});
}
