/* SPDX-License-Identifier: MIT */
/* Megatron-LM's command line: a shell script that runs pretrain_gpt.py, or its arguments as a list.
 *
 * Source: megatron/training/arguments.py of core 0.12 to 0.15, whose defaults hold where an argument is absent:
 * dropout of 0.1, tied embeddings, gradients in fp32 beside bf16, selective recompute of core attention. */
#include "recipe-megatron.h"

#include <string.h>

#include "recipe-rows.h"

#define USUAL_DROPOUT "0.1"
#define FFN_MULTIPLE  64 /* of the width inside a SwiGLU that is not said */
#define GATED_SHARE   (2.0 / 3)

static const ConfTreeNode *find(const RecipeReading *reading, const char *name) {
  return conf_tree_given(reading->tree, name);
}

/* A count beside others; FALSE where it is absent or none. */
static gboolean count_of(const RecipeReading *reading, const char *name, guint64 *ret) {
  const ConfTreeNode *node = find(reading, name);
  return node != NULL && conf_tree_count(reading->tree, node, ret, NULL) && *ret > 0;
}

/* ---- Flags: there, or not ---- */

gboolean recipe_megatron_check_switch(const RecipeReading *reading, const ConfTreeNode *node, GError **error) {
  g_autofree char *shown = conf_tree_shown(node);
  return node->kind == CONF_TREE_FLAG ||
         conf_tree_fail(reading->tree, node, error, "takes no value, and %s follows it", shown);
}

/* Sets what the row says, "setting=value". */
static gboolean take_switch(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_auto(GStrv) parts = g_strsplit(row->setting, "=", 2);
  return recipe_megatron_check_switch(reading, node, error) &&
         recipe_give(reading, node, parts[0], parts[1], row->remark, error);
}

static gboolean take_value(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *shown = conf_tree_shown(node);
  if (node->text == NULL || node->kind == CONF_TREE_FLAG)
    return conf_tree_fail(reading->tree, node, error, "expected a number, found %s", shown);
  return recipe_give(reading, node, row->setting, node->text, row->remark, error);
}

static gboolean take_optimizer(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  const char *name = node->text != NULL ? node->text : "";
  if (strcmp(name, "adam") != 0 && strcmp(name, "sgd") != 0)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; adam and sgd are", name);
  return recipe_give(reading, node, row->setting, strcmp(name, "adam") == 0 ? "adamw" : name, NULL, error);
}

static gboolean take_backend(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const char *const flash[] = {"auto", "flash", "fused", NULL}, *const eager[] = {"unfused", "local", NULL};
  const char *name = node->text != NULL ? node->text : "";
  if (g_strv_contains(flash, name))
    return recipe_give(reading, node, row->setting, "flash", name, error);
  if (g_strv_contains(eager, name))
    return recipe_give(reading, node, row->setting, "eager", name, error);
  return conf_tree_fail(reading->tree, node, error, "expected auto, flash, fused, unfused or local, found \"%s\"",
                        name);
}

static gboolean take_context_kind(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                  GError **error) {
  static const char *const theirs[] = {"p2p", "allgather", "a2a", NULL};
  static const char *const ours[] = {"p2p", "all-gather", "all-to-all", NULL};
  for (gsize i = 0; theirs[i] != NULL; i++)
    if (g_strcmp0(node->text, theirs[i]) == 0)
      return recipe_give(reading, node, row->setting, ours[i], NULL, error);
  g_autofree char *shown = conf_tree_shown(node);
  return conf_tree_fail(reading->tree, node, error, "%s is not modelled; p2p, allgather and a2a are", shown);
}

/* "copies" of the distributed optimizer. */
static gboolean take_instances(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  guint64 instances;
  if (!conf_tree_count(reading->tree, node, &instances, error))
    return FALSE;
  if (instances == 0)
    return conf_tree_fail(reading->tree, node, error, "expected a number from 1 on");
  guint64 split = 1, degree;
  static const char *const others[] = {"--tensor-model-parallel-size", "--pipeline-model-parallel-size"};
  for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
    split *= count_of(reading, others[i], &degree) ? degree : 1;
  if (instances > 1)
    recipe_give_rule(reading, node, row->setting, &(RecipeWait){RECIPE_RULE_SHARE, instances, .others = split},
                     "data ranks / num_distributed_optimizer_instances");
  return TRUE;
}

/* ---- Recompute ---- */

gboolean recipe_megatron_give_blocks(RecipeReading *reading, const ConfTreeNode *node, double share, GError **error) {
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *fraction = g_strconcat("fraction:", g_ascii_formatd(text, sizeof text, "%.6g", share), NULL);
  return recipe_give(reading, node, "training.activation_checkpointing", share < 1 ? fraction : "full",
                     "blocks of each stage", error);
}

static gboolean take_granularity(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                 GError **error) {
  const char *name = node->text != NULL ? node->text : "";
  if (strcmp(name, "selective") == 0)
    return recipe_give(reading, node, row->setting, name, "core attention", error);
  if (strcmp(name, "full") != 0)
    return conf_tree_fail(reading->tree, node, error, "expected full or selective, found \"%s\"", name);
  g_autofree char *method = recipe_text(reading, "--recompute-method");
  guint64 layers = 1, all, stages, chunks = 1;
  count_of(reading, "--recompute-num-layers", &layers);
  if (strcmp(method, "uniform") == 0)
    return layers == 1 ? recipe_give(reading, node, row->setting, "full", "uniform, layer by layer", error)
                       : conf_tree_fail(reading->tree, find(reading, "--recompute-num-layers"), error,
                                        "several layers that are recomputed as one are not modelled; say 1");
  if (strcmp(method, "block") != 0)
    return conf_tree_fail(reading->tree, node, error, "needs --recompute-method uniform or block");
  if (!count_of(reading, "--num-layers", &all))
    return conf_tree_fail(reading->tree, node, error, "by blocks needs --num-layers");
  if (!count_of(reading, "--pipeline-model-parallel-size", &stages))
    stages = 1;
  count_of(reading, "--num-virtual-stages-per-pipeline-rank", &chunks);
  return recipe_megatron_give_blocks(reading, node, (double)layers * (double)stages * (double)chunks / (double)all,
                                     error);
}

static gboolean take_modules(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  (void)row;
  if (g_strcmp0(node->text, "core_attn") != 0)
    return conf_tree_fail(reading->tree, node, error, "other modules than core_attn are not modelled");
  recipe_leave(reading, node, "core attention is what selective recomputes");
  return TRUE;
}

/* pretrain_gpt.py and one's own; other models have programs of their own. */
static gboolean take_program(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const char *const others[] = {"bert",     "t5",      "vision",    "vlm",        "mamba",
                                       "retro",    "ict",     "inference", "generat",    "server",
                                       "evaluate", "convert", "export",    "preprocess", NULL};
  (void)row;
  for (gsize i = 0; others[i] != NULL; i++)
    if (strstr(node->text, others[i]) != NULL)
      return conf_tree_fail(reading->tree, node, error, "%s trains another kind of model than decoders, or none",
                            node->text);
  recipe_leave(reading, node, "taken to train a decoder as pretrain_gpt.py does");
  return TRUE;
}

/* ---- Rows ---- */

#define FLAG(path, setting, value)                                                                                     \
  { path, RECIPE_TAKE, setting "=" value, take_switch, NULL, NULL }
#define COUNT(path, setting, remark) TAKE(path, setting, recipe_take_count, remark)
#define LATER(path)                                                                                                    \
  { path, RECIPE_TAKE, NULL, recipe_take_later, NULL, NULL }

static const RecipeRow rows[] = {
    TAKE("launcher.program", NULL, take_program, NULL),
    COUNT("launcher.--nproc_per_node", "cluster.gpus_per_node", "processes of a machine"),
    COUNT("launcher.--nproc-per-node", "cluster.gpus_per_node", "processes of a machine"),
    COUNT("launcher.--nnodes", "cluster.nodes", "machines"),

    COUNT("--num-layers", "model.layers", NULL),
    COUNT("--decoder-num-layers", "model.layers", NULL),
    COUNT("--mtp-num-layers", "model.mtp_layers", NULL),
    COUNT("--hidden-size", "model.hidden_size", NULL),
    COUNT("--ffn-hidden-size", "model.intermediate_size", NULL),
    COUNT("--num-attention-heads", "model.heads", NULL),
    COUNT("--kv-channels", "model.head_dim", NULL),
    COUNT("--max-position-embeddings", "model.max_positions", NULL),
    COUNT("--vocab-size", "model.vocab_size", NULL),
    COUNT("--padded-vocab-size", "model.vocab_size", NULL),
    COUNT("--make-vocab-size-divisible-by", "megatron.make_vocab_size_divisible_by", NULL),
    LATER("--group-query-attention"),
    LATER("--num-query-groups"),
    LATER("--swiglu"),
    LATER("--normalization"),
    LATER("--position-embedding-type"),
    LATER("--use-rotary-position-embeddings"),
    LATER("--no-position-embedding"),
    LATER("--disable-bias-linear"),
    FLAG("--untie-embeddings-and-output-weights", "model.tied_embeddings", "no"),

    COUNT("--seq-length", "training.sequence_length", "tokens"),
    COUNT("--encoder-seq-length", "training.sequence_length", "tokens"),
    COUNT("--micro-batch-size", "training.micro_batch", "sequences per data-parallel rank"),
    COUNT("--global-batch-size", "training.global_batch", "sequences per step over all ranks"),
    TAKE("--bf16", "training.precision", recipe_megatron_take_bf16, NULL),
    TAKE("--fp8-format", NULL, recipe_megatron_take_fp8, NULL),
    TAKE("--fp8-recipe", "training.fp8_scaling", recipe_megatron_take_fp8_recipe, NULL),
    TAKE("--fp8-param-gather", "megatron.fp8_param_gather", recipe_megatron_take_fp8_flag, NULL),
    TAKE("--moe-router-padding-for-fp8", "megatron.moe_router_padding_for_fp8", recipe_megatron_take_fp8_flag, NULL),
    FLAG("--fp16", "training.precision", "fp16"),
    LATER("--attention-dropout"),
    LATER("--hidden-dropout"),
    TAKE("--optimizer", "training.optimizer", take_optimizer, NULL),
    TAKE("--clip-grad", "training.gradient_clipping", take_value, NULL),
    FLAG("--accumulate-allreduce-grads-in-fp32", "training.gradient_accumulation_dtype", "fp32"),
    FLAG("--grad-reduce-in-bf16", "training.gradient_accumulation_dtype", "bf16"),
    FLAG("--use-flash-attn", "training.attention", "flash"),
    TAKE("--attention-backend", "training.attention", take_backend, NULL),
    TAKE("--transformer-impl", "megatron.transformer_impl", recipe_take_text, NULL),
    LATER("--cross-entropy-fusion-impl"),

    FLAG("--recompute-activations", "training.activation_checkpointing", "selective"),
    TAKE("--recompute-granularity", "training.activation_checkpointing", take_granularity, NULL),
    LATER("--recompute-method"),
    LATER("--recompute-num-layers"),
    TAKE("--recompute-modules", NULL, take_modules, NULL),
    FLAG("--distribute-saved-activations", "megatron.distribute_saved_activations", "yes"),

    COUNT("--tensor-model-parallel-size", "parallel.tensor", NULL),
    COUNT("--pipeline-model-parallel-size", "parallel.pipeline", NULL),
    COUNT("--num-virtual-stages-per-pipeline-rank", "parallel.interleave", NULL),
    LATER("--num-layers-per-virtual-pipeline-stage"),
    COUNT("--context-parallel-size", "parallel.context", NULL),
    TAKE("--cp-comm-type", "megatron.cp_comm_type", take_context_kind, NULL),
    COUNT("--expert-model-parallel-size", "parallel.expert", NULL),
    COUNT("--expert-tensor-parallel-size", "parallel.expert_tensor", NULL),
    TAKE("--moe-token-dispatcher-type", "megatron.moe_token_dispatcher_type", recipe_take_text, NULL),
    TAKE("--moe-expert-capacity-factor", "training.expert_capacity", recipe_take_text, NULL),
    FLAG("--sequence-parallel", "parallel.sequence_parallel", "yes"),
    FLAG("--use-tp-pp-dp-mapping", "parallel.rank_order", "tp-cp-ep-pp-dp"),
    FLAG("--use-distributed-optimizer", "parallel.zero_stage", "1"),
    TAKE("--num-distributed-optimizer-instances", "parallel.shard_group", take_instances, NULL),
    FLAG("--overlap-grad-reduce", "megatron.overlap_grad_reduce", "yes"),
    FLAG("--overlap-param-gather", "megatron.overlap_param_gather", "yes"),
    FLAG("--no-align-grad-reduce", "megatron.align_grad_reduce", "no"),
    FLAG("--no-align-param-gather", "megatron.align_param_gather", "no"),
    COUNT("--ddp-bucket-size", "megatron.bucket_size", "elements"),
    FLAG("--ddp-pad-buckets-for-high-nccl-busbw", "megatron.pad_buckets_for_high_nccl_busbw", "yes"),
    FLAG("--ddp-average-in-collective", "megatron.ddp_average_in_collective", "yes"),
    FLAG("--no-gradient-accumulation-fusion", "megatron.gradient_accumulation_fusion", "no"),
    FLAG("--no-check-for-nan-in-loss-and-grad", "megatron.check_for_nan_in_grad", "no"),
    FLAG("--tp-comm-overlap", "megatron.tp_comm_overlap", "yes"),
    FLAG("--no-overlap-p2p-communication", "megatron.overlap_p2p_communication", "no"),
    COUNT("--microbatch-group-size-per-virtual-pipeline-stage",
          "megatron.microbatch_group_size_per_virtual_pipeline_stage", "micro-batches"),
    COUNT("--decoder-first-pipeline-num-layers", "megatron.decoder_first_pipeline_num_layers", "layers"),
    COUNT("--decoder-last-pipeline-num-layers", "megatron.decoder_last_pipeline_num_layers", "layers"),
    FLAG("--account-for-embedding-in-pipeline-split", "megatron.account_for_embedding_in_pipeline_split", "yes"),
    FLAG("--account-for-loss-in-pipeline-split", "megatron.account_for_loss_in_pipeline_split", "yes"),
};

/* ---- What follows from several ---- */

/* llama: SwiGLU, RMSNorm, rotary positions, no biases; gpt: none of these. Of what mixes them the workload speaks. */
static gboolean give_family(RecipeReading *reading, GError **error) {
  g_autofree char *norm = recipe_text(reading, "--normalization");
  g_autofree char *positions = recipe_text(reading, "--position-embedding-type");
  const ConfTreeNode *gate = find(reading, "--swiglu");
  gboolean rotary = strcmp(positions, "rope") == 0 || find(reading, "--use-rotary-position-embeddings") != NULL;
  guint signs =
      (gate != NULL) + (strcmp(norm, "rmsnorm") == 0) + rotary + (find(reading, "--disable-bias-linear") != NULL);
  gboolean plain = *positions == '\0' || strcmp(positions, "learned_absolute") == 0;
  if (signs == 4)
    return recipe_give(reading, gate, "model.family", "llama", "SwiGLU, RMSNorm, rotary, no biases", error);
  if (signs == 0 && plain)
    return recipe_give(reading, NULL, "model.family", "gpt", "GELU, LayerNorm, learned positions, biases", error);
  const ConfTreeNode *layers = find(reading, "--num-layers");
  if (layers != NULL)
    recipe_leave(reading, gate != NULL ? gate : layers,
                 "norms, positions, biases and activation are of no family together (llama: --swiglu --normalization "
                 "RMSNorm --position-embedding-type rope --disable-bias-linear; gpt: none): the workload's [model] "
                 "says which it is");
  return TRUE;
}

static gboolean give_shape(RecipeReading *reading, GError **error) {
  guint64 hidden, groups = 1;
  gboolean gated = find(reading, "--swiglu") != NULL;
  const ConfTreeNode *grouped = find(reading, "--group-query-attention");
  if (grouped != NULL) {
    count_of(reading, "--num-query-groups", &groups);
    g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, groups);
    if (!recipe_give(reading, grouped, "model.kv_heads", text, "num_query_groups", error))
      return FALSE;
  }
  if (find(reading, "--untie-embeddings-and-output-weights") == NULL && find(reading, "--num-layers") != NULL &&
      !recipe_give(reading, NULL, "model.tied_embeddings", "yes", "Megatron's default", error))
    return FALSE;
  if (find(reading, "--ffn-hidden-size") != NULL || !count_of(reading, "--hidden-size", &hidden))
    return TRUE;
  guint64 wide = 4 * hidden;
  guint64 inner = gated ? (guint64)((double)wide * GATED_SHARE / FFN_MULTIPLE) * FFN_MULTIPLE : wide;
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, inner);
  return recipe_give(reading, NULL, "model.intermediate_size", text, "Megatron's default", error);
}

static gboolean give_chunks(RecipeReading *reading, GError **error) {
  guint64 layers, stages = 1, per_chunk;
  const ConfTreeNode *node = find(reading, "--num-layers-per-virtual-pipeline-stage");
  if (node == NULL)
    return TRUE;
  if (!conf_tree_count(reading->tree, node, &per_chunk, error))
    return FALSE;
  count_of(reading, "--pipeline-model-parallel-size", &stages);
  if (!count_of(reading, "--num-layers", &layers))
    return conf_tree_fail(reading->tree, node, error, "needs --num-layers");
  layers += (find(reading, "--account-for-embedding-in-pipeline-split") != NULL) +
            (find(reading, "--account-for-loss-in-pipeline-split") != NULL);
  if (per_chunk == 0 || layers % stages != 0 || layers / stages % per_chunk != 0)
    return conf_tree_fail(reading->tree, node, error,
                          "%" G_GUINT64_FORMAT " layers over %" G_GUINT64_FORMAT
                          " stages are no multiple of %" G_GUINT64_FORMAT " layers",
                          layers, stages, per_chunk);
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, layers / stages / per_chunk);
  return recipe_give(reading, node, "parallel.interleave", text, "layers of a stage / layers of a chunk", error);
}

/* Transformer Engine's loss leaves the gradient where the logits were. */
static gboolean give_loss(RecipeReading *reading, GError **error) {
  g_autofree char *kernel = recipe_text(reading, "--cross-entropy-fusion-impl");
  gboolean fused = find(reading, "--cross-entropy-loss-fusion") != NULL && strcmp(kernel, "te") == 0;
  return !fused || recipe_give(reading, find(reading, "--cross-entropy-fusion-impl"), "training.loss", "fused",
                               "Transformer Engine's", error);
}

static gboolean give_attention(RecipeReading *reading, GError **error) {
  g_autofree char *kernels = recipe_text(reading, "--transformer-impl");
  gboolean local = strcmp(kernels, "local") == 0;
  return recipe_give(reading, NULL, "training.attention", local ? "eager" : "flash",
                     local ? "transformer_impl local" : "Transformer Engine's", error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  if (find(reading, "--num-layers") != NULL && (!give_family(reading, error) || !give_shape(reading, error)))
    return FALSE;
  return recipe_give(reading, NULL, "parallel.framework", "megatron", NULL, error) &&
         recipe_give(reading, NULL, "parallel.zero_stage", "0", "no distributed optimizer", error) &&
         recipe_give(reading, NULL, "training.precision", "fp32", "neither --bf16 nor --fp16", error) &&
         (find(reading, "--global-batch-size") != NULL ||
          recipe_give(reading, NULL, "training.gradient_accumulation", "1", "no --global-batch-size", error)) &&
         recipe_give_dropout(reading, find(reading, "--hidden-dropout"), find(reading, "--attention-dropout"),
                             USUAL_DROPOUT, error) &&
         give_chunks(reading, error) && give_loss(reading, error) && give_attention(reading, error);
}

static const char *const marks[] = {"--tensor-model-parallel-size", "--micro-batch-size", "--num-layers",
                                    "--pipeline-model-parallel-size", NULL};
const RecipeTable recipe_megatron = {.tool = "Megatron-LM",
                                     .marks = marks,
                                     .rows = {rows, G_N_ELEMENTS(rows)},
                                     .shared = &recipe_megatron_rest,
                                     .finish = finish};
