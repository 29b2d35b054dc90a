/* SPDX-License-Identifier: MIT */
/* Megatron in groups of keys: NeMo's YAML (trainer, model, model.optim) and the one that Megatron-Bridge lays over its
 * recipes (model, train, ddp, optimizer).
 *
 * Source: NeMo 1.23 examples/nlp/language_modeling/conf/megatron_gpt_config.yaml, megatron_base_model.py and
 * megatron_gpt_model.py (setup_mcore_distributed_parallel: buckets are counted in parameters, so bucket_cap_mb is not
 * read); Megatron-Bridge src/megatron/bridge/training/config.py. "${multiply:4, ${.hidden_size}}" is worked out. */
#include <string.h>

#include "recipe-megatron.h"
#include "recipe-rows.h"

#define M "model."

#define USUAL_DROPOUT "0.1"
#define FUSION        "kernels that are not fused; take it out, or say training.fused_kernels in the workload"
#define SHAPE         "; take it out and name the model's config.json in the workload"
#define FSDP          "FSDP under Megatron; say framework = fsdp2 in a workload"
#define FP8           "Transformer Engine's fp8; set it to false here and say training.precision = fp8 in the workload"
#define OF_FP8        "of fp8, which is not on"
#define START         "of the start, before the first step"
#define LAUNCHING     "of the launcher"

static gboolean is_bridge(const RecipeReading *reading) {
  return conf_tree_find(reading->tree, "trainer") == NULL;
}

static const ConfTreeNode *find(const RecipeReading *reading, const char *path) {
  return conf_tree_given(reading->tree, path);
}

/* ---- Values ---- */

/* One factor: a number, or what "${.other}" names beside the key. */
static gboolean factor_of(const RecipeReading *reading, const ConfTreeNode *node, char *text, guint64 *ret) {
  ConfTreeNode factor = *node;
  factor.kind = CONF_TREE_TEXT;
  factor.text = g_strstrip(text);
  const ConfTreeNode *meant = recipe_follow(reading->tree, &factor, NULL);
  return meant != NULL && conf_tree_count(reading->tree, meant, ret, NULL);
}

/* "4096", or "${multiply:4, ${.hidden_size}}", as NeMo's own resolver works it out. */
static gboolean count_of(const RecipeReading *reading, const ConfTreeNode *node, guint64 *ret) {
  static const char head[] = "${multiply:";
  g_autofree char *text = g_strdup(node->text != NULL ? node->text : "");
  gsize length = strlen(text);
  if (!g_str_has_prefix(text, head) || !g_str_has_suffix(text, "}"))
    return factor_of(reading, node, text, ret);
  text[length - 1] = '\0';
  g_auto(GStrv) factors = g_strsplit(text + strlen(head), ",", 2);
  guint64 a, b;
  return factors[0] != NULL && factors[1] != NULL && factor_of(reading, node, factors[0], &a) &&
         factor_of(reading, node, factors[1], &b) && g_uint64_checked_mul(ret, a, b);
}

static gboolean take_count(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  guint64 count;
  if (!count_of(reading, node, &count))
    return recipe_take_count(reading, row, node, error);
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, count);
  return recipe_give(reading, node, row->setting, text, row->remark, error);
}

static gboolean take_precision(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const char *const names[][2] = {{"bf16", "bf16"},     {"bf16-mixed", "bf16"}, {"bf16_mixed", "bf16"},
                                         {"16", "fp16"},       {"16-mixed", "fp16"},   {"fp16_mixed", "fp16"},
                                         {"16_mixed", "fp16"}, {"32", "fp32"},         {"32-true", "fp32"}};
  const ConfTreeNode *named = find(reading, "mixed_precision.0"); /* Python: get_mixed_precision_config("bf16_mixed") */
  const char *said = node->kind == CONF_TREE_MAP ? node->call : node->text; /* Python: bf16_mixed() */
  if (g_strcmp0(said, "get_mixed_precision_config") == 0 && named != NULL)
    said = named->text;
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    if (g_strcmp0(said, names[i][0]) == 0)
      return recipe_give(reading, node, row->setting, names[i][1], NULL, error);
  return conf_tree_fail(reading->tree, node, error, "expected bf16, bf16-mixed, 16-mixed or 32, found \"%s\"",
                        said != NULL ? said : "a group");
}

/* Which Adam, and whether its states are sharded. */
static gboolean take_optimizer(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const struct {
    const char *name, *stage;
  } names[] = {{"mcore_distributed_optim", "1"}, {"fused_adam", "0"}, {"adamw", "0"}, {"adam", NULL}};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    if (g_strcmp0(node->text, names[i].name) == 0)
      return recipe_give(reading, node, row->setting, "adamw", NULL, error) &&
             (names[i].stage == NULL || recipe_give(reading, node, "parallel.zero_stage", names[i].stage, NULL, error));
  if (g_strcmp0(node->text, "distributed_fused_adam") == 0)
    return conf_tree_fail(reading->tree, node, error,
                          "Apex's distributed Adam is not modelled; mcore_distributed_optim is Megatron's");
  return conf_tree_fail(reading->tree, node, error,
                        "\"%s\" is not modelled; mcore_distributed_optim, fused_adam, adamw and adam are",
                        node->text != NULL ? node->text : "");
}

static gboolean take_sharded(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "1", "0", NULL, error);
}

static gboolean take_reduction(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "fp32", "bf16", NULL, error);
}

static gboolean take_engine(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "transformer_engine", "local", NULL, error);
}

static gboolean take_mapping(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "tp-cp-ep-pp-dp", NULL, NULL, error);
}

#define COUNT(path, setting) TAKE(path, setting, take_count, NULL)
#define FLAG(path, setting)  TAKE(path, setting, recipe_take_flag, NULL)
#define LATER(path)          TAKE(path, NULL, recipe_take_later, NULL)

/* Transformer Engine's is one kernel, where the fusion is on; Megatron's own is the framework's usual loss. */
static gboolean take_fused_loss(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                GError **error) {
  gboolean engine = g_strcmp0(node->text, "te") == 0 && recipe_is_true(reading, M "cross_entropy_loss_fusion");
  if (engine)
    return recipe_give(reading, node, row->setting, "fused", "Transformer Engine's", error);
  recipe_leave(reading, node, "Megatron's own loss");
  return g_strcmp0(node->text, "te") == 0 || g_strcmp0(node->text, "native") == 0 ||
         conf_tree_fail(reading->tree, node, error, "expected native or te");
}

static const RecipeRow rows[] = {
    COUNT("trainer.devices", "cluster.gpus_per_node"),
    COUNT("trainer.num_nodes", "cluster.nodes"),
    TAKE("trainer.precision", "training.precision", take_precision, NULL),
    TAKE("trainer.gradient_clip_val", "training.gradient_clipping", recipe_take_clipping, NULL),
    REFUSE("trainer.accumulate_grad_batches", "1", "another number of micro-batches than global_batch_size says"),
    SAFE("trainer.*", "of Lightning, around the steps"),
    SAFE("exp_manager.*", LOGGING),
    SAFE("run.*", LAUNCHING),
    SAFE("hydra.*", LAUNCHING),
    SAFE("defaults.*", LAUNCHING),
    SAFE("name", LOGGING),
    SAFE("restore_from_path", LOADING),

    COUNT(M "micro_batch_size", "training.micro_batch"),
    COUNT(M "global_batch_size", "training.global_batch"),
    COUNT("train.micro_batch_size", "training.micro_batch"),
    COUNT("train.global_batch_size", "training.global_batch"),
    SAFE("train.*", "of the loop around the steps"),
    REFUSE(M "rampup_batch_size", NULL, "batches that grow"),
    COUNT(M "encoder_seq_length", "training.sequence_length"),
    COUNT(M "seq_length", "training.sequence_length"),
    COUNT("dataset.sequence_length", "training.sequence_length"),
    COUNT("dataset.seq_length", "training.sequence_length"),
    SAFE("dataset.*", DATA),

    COUNT(M "tensor_model_parallel_size", "parallel.tensor"),
    COUNT(M "pipeline_model_parallel_size", "parallel.pipeline"),
    COUNT(M "virtual_pipeline_model_parallel_size", "parallel.interleave"),
    COUNT(M "context_parallel_size", "parallel.context"),
    COUNT(M "expert_model_parallel_size", "parallel.expert"),
    COUNT(M "expert_tensor_parallel_size", "parallel.expert_tensor"),
    FLAG(M "sequence_parallel", "parallel.sequence_parallel"),
    REFUSE(M "pipeline_model_parallel_split_rank", "0", "encoders beside decoders"),

    COUNT(M "num_layers", "model.layers"),
    COUNT(M "mtp_num_layers", "model.mtp_layers"),
    COUNT(M "hidden_size", "model.hidden_size"),
    COUNT(M "ffn_hidden_size", "model.intermediate_size"),
    COUNT(M "num_attention_heads", "model.heads"),
    COUNT(M "num_query_groups", "model.kv_heads"),
    COUNT(M "kv_channels", "model.head_dim"),
    COUNT(M "max_position_embeddings", "model.max_positions"),
    COUNT(M "vocab_size", "model.vocab_size"),
    COUNT(M "make_vocab_size_divisible_by", "megatron.make_vocab_size_divisible_by"),
    LATER(M "activation"),
    LATER(M "normalization"),
    LATER(M "position_embedding_type"),
    LATER(M "bias"),
    FLAG(M "share_embeddings_and_output_weights", "model.tied_embeddings"),
    LATER(M "hidden_dropout"),
    LATER(M "attention_dropout"),
    REFUSE(M "ffn_dropout", "0.0|0", "dropout inside the MLP"),
    REFUSE(M "num_moe_experts", NULL, "mixtures of experts by these keys" SHAPE),
    REFUSE(M "window_size.*", NULL, "sliding-window attention" SHAPE),
    REFUSE(M "transformer_block_type", "pre_ln", "norms behind the branches"),
    REFUSE(M "openai_gelu", "false", "another activation" SHAPE),
    REFUSE(M "headscale", "false", "scaled heads"),
    REFUSE(M "qk_layernorm", "false", "norms of queries and keys" SHAPE),
    REFUSE(M "teacher.*", NULL, "distillation, which runs several models"),
    REFUSE(M "kd_config.*", NULL, "distillation, which runs several models"),
    REFUSE(M "peft.*", NULL, "adapters of NeMo; say training.trainable in the workload"),
    REFUSE("peft.*", NULL, "adapters of Megatron-Bridge; say training.trainable in the workload"),

    LATER(M "activations_checkpoint_granularity"),
    LATER(M "activations_checkpoint_method"),
    LATER(M "activations_checkpoint_num_layers"),
    LATER(M "recompute_granularity"),
    LATER(M "recompute_method"),
    LATER(M "recompute_num_layers"),
    REFUSE(M "num_micro_batches_with_partial_activation_checkpoints", "0", "micro-batches that recompute less"),
    REFUSE(M "activations_checkpoint_layers_per_pipeline", "0", "stages that recompute less"),
    REFUSE(M "cpu_offloading", "false", "activations in host memory"),
    SAFE(M "cpu_offloading_num_layers", "of offload, which is not on"),
    SAFE(M "cpu_offloading_weights", "of offload, which is not on"),
    SAFE(M "cpu_offloading_activations", "of offload, which is not on"),
    SAFE(M "cpu_offloading_double_buffering", "of offload, which is not on"),

    TAKE(M "transformer_engine", "megatron.transformer_impl", take_engine, NULL),
    FLAG(M "gradient_accumulation_fusion", "megatron.gradient_accumulation_fusion"),
    FLAG(M "ub_tp_comm_overlap", "megatron.tp_comm_overlap"),
    SAFE(M "ub_tp_comm_overlap_cfg.*", "methods of overlap by layer, which are taken as usual"),
    FLAG("comm_overlap.tp_comm_overlap", "megatron.tp_comm_overlap"),
    SAFE("comm_overlap.tp_comm_overlap_cfg", "methods of overlap by layer, which are taken as usual"),
    FLAG(M "overlap_p2p_comm", "megatron.overlap_p2p_communication"),
    LATER(M "bias_activation_fusion"),
    LATER(M "bias_gelu_fusion"),
    LATER(M "bias_dropout_add_fusion"),
    LATER(M "bias_dropout_fusion"),
    REFUSE(M "masked_softmax_fusion", "true", FUSION),
    SAFE(M "apply_rope_fusion", "taken as the other fused kernels are"),
    REFUSE(M "fp8", "false", FP8),
    SAFE(M "fp8_e4m3", OF_FP8),
    SAFE(M "fp8_hybrid", OF_FP8),
    SAFE(M "fp8_margin", OF_FP8),
    SAFE(M "fp8_interval", OF_FP8),
    SAFE(M "fp8_amax_history_len", OF_FP8),
    SAFE(M "fp8_amax_compute_algo", OF_FP8),
    SAFE(M "fp8_wgrad", OF_FP8),
    SAFE(M "fp8_params", OF_FP8),
    SAFE(M "reduce_amax", OF_FP8),
    REFUSE(M "fsdp", "false", FSDP),
    SAFE(M "fsdp_sharding_strategy", "of FSDP, which is not on"),
    SAFE(M "fsdp_grad_reduce_dtype", "of FSDP, which is not on"),
    SAFE(M "fsdp_sharded_checkpoint", "of FSDP, which is not on"),
    SAFE(M "fsdp_use_orig_params", "of FSDP, which is not on"),
    REFUSE(M "megatron_amp_O2", "true", "parameters in fp32 under autocast; set it to true"),
    REFUSE(M "fp32_residual_connection", "false", "a residual stream in fp32"),
    REFUSE(M "fp16_lm_cross_entropy", "false", "the loss in 16 bits"),
    REFUSE(M "sharp", "false", "a choice of collectives; say nccl.algo in the workload"),
    REFUSE(M "enable_cuda_graph", "false", "CUDA graphs; take it out"),
    REFUSE(M "cuda_graph_impl", "none", "CUDA graphs; say \"none\""),
    REFUSE(M "cuda_graph_scope", "full", "CUDA graphs of parts; take it out"),
    SAFE(M "cuda_graph_warmup_steps", START),
    TAKE(M "transformer_impl", "megatron.transformer_impl", recipe_take_text, NULL),
    TAKE(M "cross_entropy_fusion_impl", "training.loss", take_fused_loss, NULL),
    FLAG(M "account_for_embedding_in_pipeline_split", "megatron.account_for_embedding_in_pipeline_split"),
    FLAG(M "account_for_loss_in_pipeline_split", "megatron.account_for_loss_in_pipeline_split"),
    REFUSE(M "fine_grained_activation_offloading", "false", "activations that are offloaded; set it to false"),
    REFUSE(M "pipeline_dtype", "bfloat16|torch.bfloat16|bf16", "another dtype between stages than bfloat16"),
    SAFE(M "use_transformer_engine_full_layer_spec", "the same kernels, wrapped at once"),
    REFUSE(M "nccl_communicator_config_path", NULL, "NCCL's settings by group; say those of [nccl] in the workload"),
    REFUSE(M "defer_embedding_wgrad_compute", "false", "the head's weight gradients after the pipeline"),
    SAFE(M "use_flash_attention", "Transformer Engine's attention is flash"),
    SAFE(M "cross_entropy_loss_fusion", "which one, cross_entropy_fusion_impl says"),

    TAKE(M "optim.name", "training.optimizer", take_optimizer, NULL),
    FLAG(M "optim.overlap_grad_sync", "megatron.overlap_grad_reduce"),
    FLAG(M "optim.overlap_param_sync", "megatron.overlap_param_gather"),
    COUNT(M "optim.ddp_bucket_size", "megatron.bucket_size"),
    FLAG(M "optim.average_in_collective", "megatron.ddp_average_in_collective"),
    TAKE(M "optim.grad_sync_dtype", "training.gradient_accumulation_dtype", recipe_take_text, NULL),
    SAFE(M "optim.bucket_cap_mb", "of Apex's distributed Adam: Megatron's buckets are counted in parameters"),
    SAFE(M "optim.*", LEARNING),
    TAKE("optimizer.optimizer", "training.optimizer", take_optimizer, NULL),
    TAKE("optimizer.clip_grad", "training.gradient_clipping", recipe_take_clipping, NULL),
    TAKE("optimizer.use_distributed_optimizer", "parallel.zero_stage", take_sharded, NULL),
    REFUSE("optimizer.use_precision_aware_optimizer", "false", "optimizer states of less than 32 bits"),
    REFUSE("optimizer.optimizer_cpu_offload", "false", "the optimizer on the host under Megatron"),
    SAFE("optimizer.*", LEARNING),
    TAKE("ddp.use_distributed_optimizer", "parallel.zero_stage", take_sharded, NULL),
    FLAG("ddp.overlap_grad_reduce", "megatron.overlap_grad_reduce"),
    FLAG("ddp.overlap_param_gather", "megatron.overlap_param_gather"),
    FLAG("ddp.average_in_collective", "megatron.ddp_average_in_collective"),
    TAKE("ddp.grad_reduce_in_fp32", "training.gradient_accumulation_dtype", take_reduction, NULL),
    COUNT("ddp.bucket_size", "megatron.bucket_size"),
    FLAG("ddp.check_for_nan_in_grad", "megatron.check_for_nan_in_grad"),
    REFUSE("ddp.use_megatron_fsdp", "false", FSDP),
    SAFE("ddp.data_parallel_sharding_strategy", "of FSDP under Megatron, which is not on"),
    REFUSE("ddp.use_custom_fsdp", "false", FSDP),
    REFUSE("dist.use_megatron_fsdp", "false", FSDP),
    REFUSE("dist.use_torch_fsdp2", "false", FSDP),
    SAFE("dist.*", LAUNCHING),
    TAKE("mixed_precision", "training.precision", take_precision, NULL),
    SAFE("scheduler.*", LEARNING),
    SAFE("checkpoint.*", LOADING),
    SAFE("logger.*", LOGGING),
    SAFE("profiling.*", LOGGING),
    SAFE("tokenizer.*", DATA),
    SAFE("rng.*", START),
    SAFE("validation.*", EVAL),

    SAFE(M "data.*", DATA),
    SAFE(M "tokenizer.*", DATA),
    SAFE(M "nsys_profile.*", LOGGING),
    SAFE(M "gc_interval", "a pause of Python's between steps"),
    SAFE(M "mcore_gpt", "the same operations"),
    SAFE(M "name", "the same operations"),
    SAFE(M "normalize_attention_scores", LEARNING),
    REFUSE(M "use_emha", "false", "embeddings by heads"),
    REFUSE(M "deterministic_mode", "false", "deterministic kernels; take it out"),
    REFUSE(M "tp_comm_overlap_ag", "true", "a part of tp_comm_overlap that is switched by itself; take it out"),
    REFUSE(M "tp_comm_overlap_rs", "true", "a part of tp_comm_overlap that is switched by itself; take it out"),
    TAKE(M "use_tp_pp_dp_mapping", "parallel.rank_order", take_mapping, NULL),
    SAFE(M "layernorm_zero_centered_gamma", "the same norm around 1"),
    SAFE(M "wgrad_deferral_limit", "of deferred weight gradients, which are not on"),
    SAFE(M "get_attention_mask_from_fusion", DATA),
    SAFE(M "validation_param_sync_overlap", EVAL),
    SAFE(M "use_te_rng_tracker", START),
    SAFE(M "enable_megatron_timers", LOGGING),
    SAFE(M "megatron_timer_kwargs.*", LOGGING),
    SAFE(M "dist_ckpt_format", LOADING),
    SAFE(M "dist_ckpt_load_on_device", LOADING),
    SAFE(M "dist_ckpt_parallel_save", LOADING),
    SAFE("s3_checkpointing.*", LOADING),
    SAFE("env_vars.*", LAUNCHING),
    SAFE(M "resume_from_checkpoint", LOADING),
    SAFE(M "restore_from_path", LOADING),
    SAFE(M "init_method_std", START),
    SAFE(M "use_scaled_init_method", START),
    SAFE(M "use_cpu_initialization", START),
    SAFE(M "apply_query_key_layer_scaling", LEARNING),
    SAFE(M "layernorm_epsilon", LEARNING),
    SAFE(M "do_layer_norm_weight_decay", LEARNING),
    SAFE(M "rotary_percentage", LEARNING),
    SAFE(M "rotary_base", LEARNING),
    SAFE(M "seq_len_interpolation_factor", LEARNING),
    SAFE(M "scale_positional_embedding", LEARNING),
    SAFE(M "attention_type", "multihead, the one kind"),
    SAFE(M "share_token_embeddings", "of encoders"),
    SAFE(M "pre_process", "the embedding is always there"),
    SAFE(M "post_process", "the head is always there"),
    SAFE(M "persist_layer_norm", "another kernel of the same norm"),
    SAFE(M "gradient_as_bucket_view", "of O1"),
    SAFE(M "grad_div_ar_fusion", "divides before the reduction or after it: the same bytes"),
    SAFE(M "grad_allreduce_chunk_size_mb", "of Apex's distributed Adam"),
    SAFE(M "batch_p2p_comm", "how sends and receives are issued"),
    SAFE(M "native_amp_init_scale", LEARNING),
    SAFE(M "native_amp_growth_interval", LEARNING),
    SAFE(M "hysteresis", LEARNING),
    SAFE(M "seed", LEARNING),
    SAFE(M "sync_batch_comm", "of pipelines: waits that the pipeline has anyway"),
    SAFE(M "onnx_safe", "another formula of the same activation"),
    SAFE(M "apex_transformer_log_level", LOGGING),
};

/* ---- What follows from several ---- */

static char *text_of(const RecipeReading *reading, const char *path, const char *initial) {
  const ConfTreeNode *node = find(reading, path);
  return g_ascii_strdown(node != NULL && node->text != NULL ? node->text : initial, -1);
}

/* llama: SwiGLU, RMSNorm, rotary, no biases; gpt: none of these. */
static gboolean give_family(RecipeReading *reading, GError **error) {
  const ConfTreeNode *layers = find(reading, M "num_layers");
  g_autofree char *activation = text_of(reading, M "activation", "gelu"),
                  *norm = text_of(reading, M "normalization", "layernorm"),
                  *positions = text_of(reading, M "position_embedding_type", "learned_absolute"),
                  *bias = text_of(reading, M "bias", "true");
  guint signs = (guint)(g_str_has_suffix(activation, "swiglu") + (strcmp(norm, "rmsnorm") == 0) +
                        (strcmp(positions, "rope") == 0) + (strcmp(bias, "false") == 0));
  if (layers == NULL)
    return TRUE;
  if (signs == 4)
    return recipe_give(reading, layers, "model.family", "llama", "SwiGLU, RMSNorm, rotary, no biases", error);
  if (signs == 0 && strcmp(positions, "learned_absolute") == 0)
    return recipe_give(reading, layers, "model.family", "gpt", "GELU, LayerNorm, learned positions, biases", error);
  recipe_leave(reading, layers,
               "norms, positions, biases and activation are of no family together (llama: fast-swiglu, rmsnorm, rope, "
               "bias false; gpt: none of them): the workload's [model] says which it is");
  return TRUE;
}

static const ConfTreeNode *either(const RecipeReading *reading, const char *nemo, const char *bridge) {
  const ConfTreeNode *node = find(reading, nemo);
  return node != NULL ? node : find(reading, bridge);
}

/* What a function of Python begins from is told, since it says more than is seen. */
static void leave_base(RecipeReading *reading) {
  const char *call = conf_tree_root_call(reading->tree);
  ConfTreeNode base = {.path = (char *)call, .line = 1};
  if (call != NULL && !g_str_has_suffix(call, "ConfigContainer"))
    recipe_leave(reading, &base, "a function of another file, which is not read: say in the workload what it sets");
}

/* As Megatron's arguments of these names. */
static gboolean give_recompute(RecipeReading *reading, GError **error) {
  static const char setting[] = "training.activation_checkpointing";
  const ConfTreeNode *grain = either(reading, M "activations_checkpoint_granularity", M "recompute_granularity");
  const ConfTreeNode *method = either(reading, M "activations_checkpoint_method", M "recompute_method");
  const ConfTreeNode *some = either(reading, M "activations_checkpoint_num_layers", M "recompute_num_layers");
  guint64 layers = 1, all = 0, stages = 1, chunks = 1;
  if (grain == NULL)
    return TRUE;
  if (g_strcmp0(grain->text, "selective") == 0)
    return recipe_give(reading, grain, setting, "selective", NULL, error);
  if (g_strcmp0(grain->text, "full") != 0)
    return conf_tree_fail(reading->tree, grain, error, "expected selective or full, found \"%s\"",
                          grain->text != NULL ? grain->text : "");
  if (some != NULL && !conf_tree_count(reading->tree, some, &layers, error))
    return FALSE;
  if (method == NULL || g_strcmp0(method->text, "uniform") == 0)
    return layers == 1 ? recipe_give(reading, grain, setting, "full", NULL, error)
                       : conf_tree_fail(reading->tree, some, error,
                                        "several layers that are recomputed as one are not modelled; say 1");
  const ConfTreeNode *depth = find(reading, M "num_layers"),
                     *pipeline = find(reading, M "pipeline_model_parallel_size"),
                     *virtual = find(reading, M "virtual_pipeline_model_parallel_size");
  if (g_strcmp0(method->text, "block") != 0 || depth == NULL || !count_of(reading, depth, &all) || all == 0)
    return conf_tree_fail(reading->tree, method, error, "expected uniform, or block beside num_layers");
  if ((pipeline != NULL && !conf_tree_count(reading->tree, pipeline, &stages, error)) ||
      (virtual != NULL && !conf_tree_count(reading->tree, virtual, &chunks, error)))
    return FALSE;
  return recipe_megatron_give_blocks(reading, grain, (double)layers * (double)stages * (double)chunks / (double)all,
                                     error);
}

/* Without both fusions norms alone are fused, by Transformer Engine. */
static gboolean give_kernels(RecipeReading *reading, GError **error) {
  const ConfTreeNode *activation = either(reading, M "bias_activation_fusion", M "bias_gelu_fusion"),
                     *addition = either(reading, M "bias_dropout_add_fusion", M "bias_dropout_fusion");
  gboolean first = TRUE, second = TRUE;
  if ((activation != NULL && !conf_tree_flag(reading->tree, activation, &first, error)) ||
      (addition != NULL && !conf_tree_flag(reading->tree, addition, &second, error)))
    return FALSE;
  if (first != second)
    return conf_tree_fail(reading->tree, !first ? activation : addition, error, "is not modelled: " FUSION);
  return first || recipe_give(reading, activation, "training.fused_kernels", "norms", "Transformer Engine's", error);
}

/* Megatron-Bridge's recipes say it; NeMo's default is 0.1 for both. */
static gboolean give_dropout(RecipeReading *reading, GError **error) {
  const ConfTreeNode *hidden = find(reading, M "hidden_dropout"), *attention = find(reading, M "attention_dropout");
  if (is_bridge(reading) && hidden == NULL && attention == NULL)
    return TRUE;
  return recipe_give_dropout(reading, hidden, attention, is_bridge(reading) ? "0" : USUAL_DROPOUT, error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  gboolean bridge = is_bridge(reading);
  leave_base(reading);
  if (!give_family(reading, error) || !give_recompute(reading, error) || !give_kernels(reading, error) ||
      !give_dropout(reading, error) || !recipe_give(reading, NULL, "parallel.framework", "megatron", NULL, error) ||
      !recipe_give(reading, NULL, "training.attention", "flash", "Transformer Engine's", error))
    return FALSE;
  if (bridge)
    return recipe_give(reading, NULL, "parallel.zero_stage", "1", "as Megatron-Bridge's recipes have it", error) &&
           recipe_give(reading, NULL, "training.precision", "bf16", "as Megatron-Bridge's recipes have it", error);
  return (find(reading, M "num_layers") == NULL ||
          recipe_give(reading, NULL, "model.tied_embeddings", "yes", "NeMo's default", error)) &&
         recipe_give(reading, NULL, "parallel.zero_stage", "0", "no distributed optimizer", error) &&
         recipe_give(reading, NULL, "training.precision", "fp32", "NeMo's default", error);
}

static const char *const marks[] = {"model.tensor_model_parallel_size", "model.pipeline_model_parallel_size",
                                    "model.encoder_seq_length", NULL};
static const char *const calls[] = {"ConfigContainer", "_common", "_config", NULL}; /* Bridge's names for its bases */
const RecipeTable recipe_nemo = {.tool = "NeMo and Megatron-Bridge",
                                 .marks = marks,
                                 .calls = calls,
                                 .rows = {rows, G_N_ELEMENTS(rows)},
                                 .finish = finish};
