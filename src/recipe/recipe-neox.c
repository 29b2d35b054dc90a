/* SPDX-License-Identifier: MIT */
/* GPT-NeoX's YAML: Megatron's model and parallelism beside DeepSpeed's keys, which stand at the top level.
 *
 * Source: megatron/neox_arguments/neox_args.py and arguments.py, megatron/model/transformer.py, activations.py and
 * training.py of gpt-neox 2.0: names, defaults, the width inside an MLP, which optimizer is built. Keys may be written
 * with dashes. The vocabulary is the tokenizer's, which the file only names. */
#include <string.h>

#include "recipe-rows.h"

#define MODEL     "; take it out and name the model's config.json in the workload"
#define EXPERTS   "mixtures of experts of GPT-NeoX" MODEL
#define TE        "Transformer Engine's layers; set it to false"
#define LAUNCHING "of the launcher"
#define START     "of the start, before the first step"
#define SCALING   "loss scaling changes values, not their sizes"
#define TEXT      "of generating text"

/* A key with underscores, as it is written. */
static const ConfTreeNode *find(const RecipeReading *reading, const char *key) {
  const ConfTreeNode *node = conf_tree_given(reading->tree, key);
  g_autofree char *dashes = g_strdelimit(g_strdup(key), "_", '-');
  return node != NULL ? node : conf_tree_given(reading->tree, dashes);
}

static gboolean is_on(const RecipeReading *reading, const char *key, gboolean initial) {
  const ConfTreeNode *node = find(reading, key);
  gboolean on = initial;
  return node != NULL && conf_tree_flag(reading->tree, node, &on, NULL) ? on : initial;
}

static gboolean says(const RecipeReading *reading, const char *key, const char *value, const char *initial) {
  const ConfTreeNode *node = find(reading, key);
  return g_ascii_strcasecmp(node != NULL && node->text != NULL ? node->text : initial, value) == 0;
}

static char *normal(const char *path) {
  return g_strdelimit(g_strdup(path), "-", '_');
}

/* 0 and 1: no pipeline; with 1 the module is a pipeline's of one stage, whose steps are the same. */
static gboolean take_pipeline(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  guint64 stages;
  if (!conf_tree_count(reading->tree, node, &stages, error))
    return FALSE;
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, MAX(stages, 1));
  return recipe_give(reading, node, row->setting, text, stages == 0 ? "0: none" : NULL, error);
}

/* [[["flash"], 44]]: one kind for all layers. */
static gboolean take_attention(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  const char *kind = NULL;
  gsize length = strlen(node->path);
  for (guint i = 0; i < conf_tree_length(reading->tree); i++) {
    const ConfTreeNode *each = conf_tree_at(reading->tree, i);
    gboolean below = strncmp(each->path, node->path, length) == 0 && each->path[length] != '\0';
    if (!below || each->kind != CONF_TREE_TEXT || g_ascii_isdigit(*each->text) || strcmp(each->text, "all") == 0)
      continue;
    if (kind != NULL && strcmp(kind, each->text) != 0)
      return conf_tree_fail(reading->tree, each, error, "layers of \"%s\" and of \"%s\" in one model are not modelled",
                            kind, each->text);
    kind = each->text;
  }
  if (kind != NULL && strcmp(kind, "flash") != 0 && strcmp(kind, "global") != 0)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; flash and global are", kind);
  return recipe_give(reading, node, row->setting, kind != NULL && strcmp(kind, "flash") == 0 ? "flash" : "eager", kind,
                     error);
}

static gboolean take_checkpoints(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                 GError **error) {
  const ConfTreeNode *several = find(reading, "checkpoint_num_layers");
  guint64 layers = 1;
  if (several != NULL && !conf_tree_count(reading->tree, several, &layers, error))
    return FALSE;
  if (is_on(reading, "checkpoint_activations", FALSE) && layers != 1)
    return conf_tree_fail(reading->tree, several, error,
                          "several layers that are checkpointed as one are not modelled; 1 checkpoints each");
  return recipe_take_checkpointing(reading, row, node, error);
}

static gboolean take_fp32_allreduce(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                    GError **error) {
  return recipe_give_flag(reading, node, row->setting, "fp32", NULL, NULL, error);
}

#define COUNT(path, setting, remark) TAKE(path, setting, recipe_take_count, remark)
#define LATER(path)                  TAKE(path, NULL, recipe_take_later, NULL)

static const RecipeRow rows[] = {
    TAKE("pipe_parallel_size", "parallel.pipeline", take_pipeline, NULL),
    TAKE("pipe_partition_method", "deepspeed.partition_method", recipe_take_text, NULL),
    COUNT("model_parallel_size", "parallel.tensor", NULL),
    TAKE("sequence_parallel", "parallel.sequence_parallel", recipe_take_flag, NULL),
    REFUSE("context_parallel_size", "1", "context parallelism of GPT-NeoX"),
    COUNT("global_num_gpus", "cluster.gpus", NULL),

    COUNT("num_layers", "model.layers", NULL),
    COUNT("hidden_size", "model.hidden_size", NULL),
    COUNT("num_attention_heads", "model.heads", NULL),
    COUNT("num_kv_heads", "model.kv_heads", NULL),
    COUNT("max_position_embeddings", "model.max_positions", NULL),
    LATER("intermediate_size"),
    REFUSE("expansion_factor", NULL, "a width as a multiple; say intermediate_size"),
    LATER("mlp_multiple_of"),
    LATER("no_weight_tying"),
    LATER("norm"),
    LATER("pos_emb"),
    LATER("activation"),
    LATER("gpt_j_residual"),
    LATER("use_bias_in_norms"),
    LATER("use_bias_in_attn_linear"),
    LATER("use_bias_in_mlp"),
    REFUSE("gpt_j_tied", "false", "one norm for both branches" MODEL),
    REFUSE("use_qk_layernorm", "false", "norms of queries and keys" MODEL),
    REFUSE("sliding_window_width", NULL, "sliding-window attention" MODEL),
    REFUSE("moe_num_experts", "1|0", EXPERTS),

    COUNT("seq_length", "training.sequence_length", "tokens"),
    TAKE("precision", "training.precision", recipe_take_precision, NULL),
    TAKE("attention_config", "training.attention", take_attention, NULL),
    TAKE("attention_config.*", NULL, recipe_take_later, NULL),
    LATER("hidden_dropout"),
    LATER("attention_dropout"),
    LATER("scaled_upper_triang_masked_softmax_fusion"),
    LATER("scaled_masked_softmax_fusion"),
    LATER("bias_gelu_fusion"),
    LATER("use_flashattn_swiglu"),
    SAFE("bias_dropout_fusion", "the same passes where nothing is dropped"),
    SAFE("rope_fusion", "taken as the other fused kernels are"),
    SAFE("layernorm_fusion", "a norm is one kernel either way"),
    SAFE("rmsnorm_fusion", "taken as the other fused kernels are"),
    TAKE("checkpoint_activations", "training.activation_checkpointing", take_checkpoints, NULL),
    LATER("checkpoint_num_layers"),
    TAKE("partition_activations", "deepspeed.partition_activations", recipe_take_flag, "over tensor ranks"),
    SAFE("contiguous_checkpointing", "where checkpoints lie"),
    SAFE("checkpoint_in_cpu", "of partition_activations"),
    SAFE("synchronize_each_layer", "DeepSpeed's function waits only where it is asked to; it is taken not to"),
    REFUSE("mlp_type", "regular|none",
           "an MLP of GPT-NeoX of 2023; say activation: swiglu and intermediate_size as its versions since do"),
    REFUSE("param_sharing_style", "grouped|none", "layers that share parameters"),
    REFUSE("log_gradient_noise_scale", "false", "the noise of gradients, which is measured each step; set it to false"),
    REFUSE("serve_model_weights", "false", "weights that are served as they are trained"),
    REFUSE("fp16_lm_cross_entropy", "false", "the loss in fp16"),
    REFUSE("apply_query_key_layer_scaling", "false", "a softmax in fp32; set it to false"),
    REFUSE("use_bnb_optimizer", "false", "bitsandbytes' optimizers here; set it to false"),
    REFUSE("te_columnparallel", "false", TE),
    REFUSE("te_rowparallel", "false", TE),
    REFUSE("te_layernorm_mlp", "false", TE),
    REFUSE("te_mha", "false", TE),
    REFUSE("te_fp8_mha", "false", TE),
    REFUSE("gmlp_attn_dim", NULL, "gMLP"),
    REFUSE("sparsity_config.*", NULL, "sparse attention"),
    REFUSE("soft_prompt_tuning.*", NULL, "a part of the model that is trained"),
    REFUSE("adlr_autoresume", "false", "a job that starts anew"),
    REFUSE("train_impl", "normal", "preferences and reinforcement learning, which run several models"),
    REFUSE("deepspeed_mpi", "false", LAUNCHING),
    SAFE("mamba_selective_scan_fusion", "of Mamba, which no layer is"),
    SAFE("mamba_causal_conv_fusion", "of Mamba, which no layer is"),
    SAFE("mamba_inner_func_fusion", "of Mamba, which no layer is"),

    TAKE("fp32_allreduce", "training.gradient_communication_dtype", take_fp32_allreduce, NULL),
    SAFE("fp16.fp16", "the same as enabled"),
    SAFE("bf16.bf16", "the same as enabled"),
    SAFE("bf16.loss_scale", SCALING),
    SAFE("bf16.loss_scale_window", SCALING),
    SAFE("bf16.initial_scale_power", SCALING),
    SAFE("bf16.hysteresis", SCALING),
    SAFE("bf16.min_loss_scale", SCALING),
    SAFE("output_layer_parallelism", "columns: what its code does today"),
    SAFE("make_vocab_size_divisible_by", "the vocabulary is the workload's: say it padded"),
    SAFE("rotary_pct", LEARNING),
    SAFE("rotary_ndims", LEARNING),
    SAFE("rotary_emb_base", LEARNING),
    SAFE("rotary_save_freqs_buffer", LEARNING),
    SAFE("layernorm_epsilon", LEARNING),
    SAFE("rms_norm_epsilon", LEARNING),
    SAFE("attention_softmax_in_fp32", "of scores that no fused softmax takes"),
    SAFE("init_method", START),
    SAFE("init_method_std", START),
    SAFE("output_layer_init_method", START),
    SAFE("finetune", LOADING),
    SAFE("save", LOADING),
    SAFE("load", LOADING),
    SAFE("checkpoint_factor", LOADING),
    SAFE("checkpoint_scale", LOADING),
    SAFE("checkpoint_validation_with_forward_pass", LOADING),
    SAFE("keep_last_n_checkpoints", LOADING),
    SAFE("extra_save_iters", LOADING),
    SAFE("extra_save_iters.*", LOADING),
    SAFE("save_base_shapes", LOADING),
    SAFE("no_save_optim", LOADING),
    SAFE("no_load_optim", LOADING),
    SAFE("recompute", TEXT),
    SAFE("text_gen_type", TEXT),
    SAFE("maximum_tokens", TEXT),
    SAFE("prompt_end", TEXT),
    SAFE("sample_input_file", TEXT),
    SAFE("sample_output_file", TEXT),
    SAFE("num_samples", TEXT),
    SAFE("temperature", TEXT),
    SAFE("top_p", TEXT),
    SAFE("top_k", TEXT),
    SAFE("launcher", LAUNCHING),
    SAFE("deepspeed_slurm", LAUNCHING),
    SAFE("deepspeed_extra_args.*", LAUNCHING),
    SAFE("hostfile", LAUNCHING),
    SAFE("include", LAUNCHING),
    SAFE("exclude", LAUNCHING),
    SAFE("master_port", LAUNCHING),
    SAFE("distributed_backend", LAUNCHING),
    SAFE("comment", LAUNCHING),
    SAFE("use_cpu_initialization", START),
    SAFE("auto_cast", "of fp16"),
    SAFE("seed", LEARNING),
    SAFE("lr", LEARNING),
    SAFE("min_lr", LEARNING),
    SAFE("lr_decay_style", LEARNING),
    SAFE("lr_decay_iters", LEARNING),
    SAFE("decay_lr_to", LEARNING),
    SAFE("override_lr_scheduler", LEARNING),
    SAFE("weight_decay", LEARNING),
    SAFE("warmup", LEARNING),
    SAFE("warmup_iters", LEARNING),
    SAFE("train_iters", LEARNING),
    SAFE("iterations", LEARNING),
    SAFE("loss_scale", LEARNING),
    SAFE("use_mup", LEARNING),
    SAFE("data_impl", DATA),
    SAFE("data_path", DATA),
    SAFE("train_data_paths.*", DATA),
    SAFE("valid_data_paths.*", DATA),
    SAFE("test_data_paths.*", DATA),
    SAFE("train_data_weights.*", DATA),
    SAFE("valid_data_weights.*", DATA),
    SAFE("test_data_weights.*", DATA),
    SAFE("weight_by_num_documents", DATA),
    SAFE("split", DATA),
    SAFE("vocab_file", DATA),
    SAFE("merge_file", DATA),
    SAFE("tokenizer_type", DATA),
    SAFE("num_workers", DATA),
    SAFE("mmap_warmup", DATA),
    SAFE("eval_interval", EVAL),
    SAFE("eval_iters", EVAL),
    SAFE("eval_tasks.*", EVAL),
    SAFE("eval_results_prefix", EVAL),
    SAFE("log_interval", LOGGING),
    SAFE("log_dir", LOGGING),
    SAFE("log_grad_norm", LOGGING),
    SAFE("tensorboard_dir", LOGGING),
    SAFE("use_wandb", LOGGING),
    SAFE("wandb_group", LOGGING),
    SAFE("wandb_team", LOGGING),
    SAFE("wandb_project", LOGGING),
    SAFE("wandb_host", LOGGING),
    SAFE("use_comet", LOGGING),
    SAFE("comet_project", LOGGING),
    SAFE("comet_experiment_name", LOGGING),
    SAFE("comet_tags.*", LOGGING),
    SAFE("log_batch_size_to_tensorboard", LOGGING),
    SAFE("wandb_init_all_ranks", LOGGING),
    SAFE("wandb_run_name", LOGGING),
    SAFE("log_grad_pct_zeros", LOGGING),
    SAFE("log_param_norm", LOGGING),
    SAFE("log_optimizer_states", LOGGING),
    SAFE("peak_theoretical_tflops", LOGGING),
    SAFE("git_hash", LOGGING),
    SAFE("profile_backward", LOGGING),
    SAFE("comet_workspace", LOGGING),
    SAFE("comet_experiment", LOGGING),
    SAFE("no_save_rng", LOADING),
    SAFE("no_load_rng", LOADING),
    SAFE("s3_path", LOADING),
    SAFE("s3_chunk_size", LOADING),
    SAFE("use_shared_fs", LOADING),
    SAFE("short_seq_prob", DATA),
    SAFE("eod_mask_loss", DATA),
    SAFE("weighted_sampler_alpha", DATA),
    SAFE("pack_impl", DATA),
    SAFE("dataset_impl", DATA),
    SAFE("allow_chopped", DATA),
    SAFE("lr_decay_fraction", LEARNING),
    SAFE("use_checkpoint_lr_scheduler", LEARNING),
    SAFE("train_epochs", LEARNING),
    SAFE("exit_interval", LEARNING),
    SAFE("z_loss", LEARNING),
    SAFE("moe_jitter_eps", LEARNING),
    SAFE("mup_init_scale", LEARNING),
    SAFE("mup_attn_temp", LEARNING),
    SAFE("mup_output_temp", LEARNING),
    SAFE("mup_embedding_mult", LEARNING),
    SAFE("mup_rp_embedding_mult", LEARNING),
    SAFE("mup_width_scale", LEARNING),
    SAFE("coord_check", LEARNING),
    SAFE("base_shapes_file", LEARNING),
    SAFE("hysteresis", SCALING),
    SAFE("loss_scale_window", SCALING),
    SAFE("min_scale", SCALING),
    SAFE("dynamic_loss_scale", SCALING),
    SAFE("num_nodes", LAUNCHING),
    SAFE("num_gpus", LAUNCHING),
    SAFE("force_multi", LAUNCHING),
    SAFE("no_ssh_check", LAUNCHING),
    SAFE("master_addr", LAUNCHING),
    SAFE("account", LAUNCHING),
    SAFE("local_rank", LAUNCHING),
    SAFE("rank", LAUNCHING),
    SAFE("world_size", LAUNCHING),
    SAFE("user_script", LAUNCHING),
    SAFE("lazy_mpu_init", LAUNCHING),
    SAFE("onnx_safe", LAUNCHING),
    SAFE("te_fp8_format", "of te_fp8_mha"),
    SAFE("te_fp8_wgrad", "of te_fp8_mha"),
    SAFE("te_fp8_amax_history_len", "of te_fp8_mha"),
    SAFE("te_fp8_amax_compute_algo", "of te_fp8_mha"),
    SAFE("te_fp8_margin", "of te_fp8_mha"),
    SAFE("dpo_fp32", "of preferences, which train_impl names"),
    SAFE("dpo_reference_free", "of preferences, which train_impl names"),
    SAFE("dpo_beta", "of preferences, which train_impl names"),
    SAFE("kto_fp32", "of preferences, which train_impl names"),
    SAFE("kto_beta", "of preferences, which train_impl names"),
    SAFE("kto_desirable_weight", "of preferences, which train_impl names"),
    SAFE("kto_undesirable_weight", "of preferences, which train_impl names"),
    SAFE("kl_impl", "of preferences, which train_impl names"),
    SAFE("kl_div_beta", "of preferences, which train_impl names"),
    SAFE("fp32_reinforce", "of preferences, which train_impl names"),
    SAFE("reinforce_leave_one_out", "of preferences, which train_impl names"),
    SAFE("char_level_ppl", EVAL),
    SAFE("return_logits", EVAL),
    SAFE("mamba_selective_fp32_params", "of Mamba, which no layer is"),
    SAFE("mamba_use_bias_in_conv", "of Mamba, which no layer is"),
    SAFE("mamba_use_bias_in_linears", "of Mamba, which no layer is"),
    SAFE("rpe_num_buckets", "of other norms and positions"),
    SAFE("rpe_max_distance", "of other norms and positions"),
    SAFE("opt_pos_emb_offset", "of other norms and positions"),
    SAFE("scalenorm_epsilon", "of other norms and positions"),
    SAFE("gas", "gradient_accumulation_steps says it; GPT-NeoX writes over it"),
    SAFE("is_pipe_parallel", "GPT-NeoX works it out"),
    SAFE("deepspeed", "GPT-NeoX runs by it alone"),
    SAFE("comet_others.*", LOGGING),
    SAFE("profile", LOGGING),
    SAFE("profile_step_start", LOGGING),
    SAFE("profile_step_stop", LOGGING),
    SAFE("memory_profiling", LOGGING),
    SAFE("memory_profiling_path", LOGGING),
};

/* ---- What follows from several ---- */

static gboolean is_gated(const RecipeReading *reading) {
  static const char *const gated[] = {"swiglu", "geglu", "reglu", "glu", "bilinear", NULL};
  const ConfTreeNode *node = find(reading, "activation");
  return node != NULL && node->text != NULL && g_strv_contains(gated, node->text);
}

static gboolean has_biases(const RecipeReading *reading) {
  return is_on(reading, "use_bias_in_norms", TRUE) || is_on(reading, "use_bias_in_attn_linear", TRUE) ||
         is_on(reading, "use_bias_in_mlp", TRUE);
}

/* Of what mixes families the workload speaks. */
static gboolean give_family(RecipeReading *reading, GError **error) {
  const ConfTreeNode *layers = find(reading, "num_layers");
  gboolean rotary = says(reading, "pos_emb", "rotary", "learned"), gelu = says(reading, "activation", "gelu", "gelu");
  gboolean layer_norm = says(reading, "norm", "layernorm", "layernorm"),
           parallel = is_on(reading, "gpt_j_residual", FALSE), biases = has_biases(reading);
  if (rotary && parallel && gelu && layer_norm && biases)
    return recipe_give(reading, layers, "model.family", "gpt_neox", "rotary, both branches beside each other", error);
  if (rotary && !parallel && says(reading, "activation", "swiglu", "gelu") &&
      says(reading, "norm", "rmsnorm", "layernorm") && !is_on(reading, "use_bias_in_attn_linear", TRUE))
    return recipe_give(reading, layers, "model.family", "llama", "SwiGLU, RMSNorm, rotary, no biases", error);
  if (says(reading, "pos_emb", "learned", "learned") && !parallel && gelu && layer_norm && biases)
    return recipe_give(reading, layers, "model.family", "gpt", "GELU, LayerNorm, learned positions, biases", error);
  recipe_leave(reading, layers,
               "norms, positions, biases, activation and residual are of no family together (gpt_neox: pos_emb rotary, "
               "gpt_j_residual; llama: rotary, swiglu, rmsnorm, no biases; gpt: learned): the workload's [model] says "
               "which it is");
  return TRUE;
}

/* Both halves of a gated MLP have two thirds of what is said, rounded up. */
static gboolean give_width(RecipeReading *reading, GError **error) {
  const ConfTreeNode *node = find(reading, "intermediate_size"), *multiple = find(reading, "mlp_multiple_of");
  guint64 hidden = 0, width, of = 1;
  if (find(reading, "hidden_size") == NULL ||
      !conf_tree_count(reading->tree, find(reading, "hidden_size"), &hidden, error))
    return find(reading, "hidden_size") == NULL;
  width = 4 * hidden;
  if ((node != NULL && !conf_tree_count(reading->tree, node, &width, error)) ||
      (multiple != NULL && !conf_tree_count(reading->tree, multiple, &of, error)))
    return FALSE;
  if (of == 0 || width > G_MAXUINT32 || of > G_MAXUINT32)
    return conf_tree_fail(reading->tree, multiple != NULL ? multiple : node, error, "is no size of an MLP");
  guint64 inner = is_gated(reading) ? width * 2 / 3 / 2 : width, step = is_gated(reading) ? of : 2 * of;
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, (inner + step - 1) / step * step);
  return recipe_give(reading, node, "model.intermediate_size", text,
                     is_gated(reading) ? "a third of it: of a gated MLP" : NULL, error);
}

/* Its own fused kernels: of the activation and, without flash attention, of the masked softmax. */
static gboolean give_kernels(RecipeReading *reading, GError **error) {
  gboolean flash = recipe_gives(reading, "training.attention", "flash");
  gboolean softmax = flash || is_on(reading, "scaled_upper_triang_masked_softmax_fusion", FALSE);
  gboolean activation = is_on(reading, is_gated(reading) ? "use_flashattn_swiglu" : "bias_gelu_fusion", FALSE);
  const ConfTreeNode *node = find(reading, "bias_gelu_fusion");
  return recipe_give(reading, node, "training.fused_kernels", softmax && activation ? "yes" : "no",
                     "activation and masked softmax", error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  const ConfTreeNode *layers = find(reading, "num_layers");
  gboolean untied = is_on(reading, "no_weight_tying", FALSE);
  if (layers != NULL && (!give_family(reading, error) || !give_width(reading, error) ||
                         !recipe_give(reading, find(reading, "no_weight_tying"), "model.tied_embeddings",
                                      untied ? "no" : "yes", untied ? NULL : "GPT-NeoX's default", error)))
    return FALSE;
  return recipe_give(reading, NULL, "training.attention", "eager", "GPT-NeoX's default, global", error) &&
         recipe_give(reading, NULL, "deepspeed.partition_method", "type:transformer|mlp", "GPT-NeoX's default",
                     error) &&
         recipe_give(reading, NULL, "training.optimizer_style", "fused", "Apex's or DeepSpeed's FusedAdam", error) &&
         recipe_give(reading, NULL, "training.gradient_clipping", "1.0", "GPT-NeoX's default", error) &&
         recipe_give_dropout(reading, find(reading, "hidden_dropout"), find(reading, "attention_dropout"), "0",
                             error) &&
         give_kernels(reading, error) && recipe_deepspeed.finish(reading, error);
}

static const char *const marks[] = {"pipe_parallel_size", "pipe-parallel-size", "model_parallel_size",
                                    "model-parallel-size", NULL};
const RecipeTable recipe_neox = {.tool = "GPT-NeoX",
                                 .marks = marks,
                                 .rows = {rows, G_N_ELEMENTS(rows)},
                                 .shared = &recipe_deepspeed.rows,
                                 .normal = normal,
                                 .finish = finish};
