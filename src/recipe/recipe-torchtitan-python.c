/* SPDX-License-Identifier: MIT */
/* torchtitan's settings since 2026-02-23 (9810191b): a function of Python that returns Trainer.Config(…). Keys and
 * groups are mostly those of its TOML; this file has what is new, and dates a function by the keys it has:
 *
 *   selective_ac_option         until 2026-03-23 (114151ad); a selective mode without it: each second matmul, as since
 *   ChunkedCELoss               since 2026-04-27 (786e26f8), in eight chunks
 *   FullAC, SelectiveAC         since 2026-06-15 (c5d93d10); the second where no key says more
 *   disable_cuda_graphs         since 2026-08-13 (f84224af): CUDA graphs are on where it is not set
 *   max_context_length          since 2026-08-20 (73aed7f6): batches are counted in tokens
 *
 * Source: torchtitan/config/configs.py, components/loss.py, components/optimizer, components/quantization,
 * distributed/activation_checkpoint.py and models/llama3/config_registry.py, at these commits. */
#include <string.h>

#include "recipe-float8.h"
#include "recipe-rows.h"
#include "recipe-torchtitan.h"

#define MODEL  "the model is the workload's [model]"
#define BUDGET "torch.compile's memory budget"
#define CHUNKS 8

static const ConfTreeNode *given(const RecipeReading *reading, const char *path) {
  return conf_tree_given(reading->tree, path);
}

/* Whether what was called to make the map is `name`, or `name`.Config. */
static gboolean is_made_by(const ConfTreeNode *node, const char *name) {
  g_autofree char *config = g_strconcat(name, ".Config", NULL);
  return g_strcmp0(node->call, name) == 0 || g_strcmp0(node->call, config) == 0;
}

static const char *made_by(const ConfTreeNode *node) {
  return node->call != NULL ? node->call : "this";
}

/* ---- Groups that a class decides ---- */

static gboolean give_checkpointing(RecipeReading *reading, GError **error) {
  const ConfTreeNode *node = given(reading, "activation_checkpoint");
  const char *setting = "training.activation_checkpointing";
  if (node == NULL)
    return recipe_give(reading, NULL, setting, "every-2nd-matmul", "torchtitan's default, selective", error);
  if (is_made_by(node, "FullAC"))
    return recipe_give(reading, node, setting, "full", NULL, error);
  if (is_made_by(node, "SelectiveAC"))
    return recipe_give(reading, node, setting, "every-2nd-matmul", "selective", error);
  if (!is_made_by(node, "ActivationCheckpointConfig") && node->call != NULL)
    return conf_tree_fail(reading->tree, node, error, "%s is not modelled; FullAC and SelectiveAC are", node->call);
  return recipe_torchtitan_has(reading, "activation_checkpoint.mode") ||
         recipe_give(reading, NULL, setting, "every-2nd-matmul", "torchtitan's default, selective", error);
}

static gboolean check_optimizer(RecipeReading *reading, GError **error) {
  const ConfTreeNode *node = given(reading, "optimizer");
  return node == NULL || node->call == NULL || is_made_by(node, "OptimizersContainer") ||
         is_made_by(node, "default_adamw") ||
         conf_tree_fail(reading->tree, node, error,
                        "%s is not modelled: optimizer steps inside backward, or another way of steps", node->call);
}

static gboolean give_chunks(RecipeReading *reading, const ConfTreeNode *loss, GError **error) {
  const ConfTreeNode *chunks = given(reading, "loss.num_chunks");
  guint64 count = CHUNKS;
  if (chunks != NULL && !conf_tree_count(reading->tree, chunks, &count, error))
    return FALSE;
  if (count != CHUNKS)
    return conf_tree_fail(reading->tree, chunks, error, "a loss in another number of chunks than %d is not modelled",
                          CHUNKS);
  return recipe_give(reading, loss, "training.loss", "chunked", "cross-entropy in eight chunks", error);
}

/* Compiled with the model unless compile.components names it not, which the rows have read. */
static gboolean give_loss(RecipeReading *reading, GError **error) {
  const ConfTreeNode *loss = given(reading, "loss");
  if (loss != NULL && (is_made_by(loss, "ChunkedLossWrapper") || is_made_by(loss, "ChunkedCELoss"))) {
    recipe_withdraw(reading, "training.loss");
    return give_chunks(reading, loss, error);
  }
  if (loss != NULL && loss->call != NULL && !is_made_by(loss, "CrossEntropyLoss"))
    return conf_tree_fail(reading->tree, loss, error, "%s is not modelled; CrossEntropyLoss and its chunks are",
                          loss->call);
  return !recipe_is_true(reading, "compile.enable") || recipe_torchtitan_has(reading, "compile.components") ||
         recipe_give(reading, NULL, "training.loss", "fused", "the compiled loss keeps no fp32 copy of the logits",
                     error);
}

/* ---- fp8 ---- */

/* *ret: the path of the one converter, NULL: there is none. Caller frees. */
static gboolean find_converter(RecipeReading *reading, char **ret, GError **error) {
  static const char *const lists[] = {"model_converters.converters", "model_spec.converters"};
  *ret = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
    g_autofree char *first = g_strconcat(lists[i], ".0", NULL);
    g_autofree char *second = g_strconcat(lists[i], ".1", NULL);
    if (given(reading, second) != NULL)
      return conf_tree_fail(reading->tree, given(reading, second), error, "two converters of layers are not modelled");
    if (given(reading, first) != NULL)
      *ret = g_steal_pointer(&first);
  }
  return TRUE;
}

/* Since converters stand in model_spec their scales are by rows where they do not say more. */
static gboolean give_float8(RecipeReading *reading, const char *path, const ConfTreeNode *node, GError **error) {
  g_autofree char *name = g_strconcat(path, ".recipe_name", NULL);
  gboolean rows = g_str_has_prefix(path, "model_spec.") && given(reading, name) == NULL;
  return recipe_give(reading, node, "training.precision", "fp8", "float8 linear layers", error) &&
         (!rows || recipe_give(reading, NULL, "training.fp8_scaling", "rowwise", "torchtitan's default", error)) &&
         recipe_float8_section(reading, path, error);
}

static gboolean give_converters(RecipeReading *reading, GError **error) {
  g_autofree char *path = NULL;
  if (!find_converter(reading, &path, error))
    return FALSE;
  const ConfTreeNode *node = path != NULL ? given(reading, path) : NULL;
  if (node == NULL)
    return TRUE;
  if (is_made_by(node, "Float8LinearConverter"))
    return give_float8(reading, path, node, error);
  if (is_made_by(node, "MXFP8LinearConverter") || is_made_by(node, "MXLinearConverter"))
    return recipe_give(reading, node, "training.precision", "fp8", "torchao's mx linear layers", error) &&
           recipe_give(reading, NULL, "training.fp8_scaling", "mxfp8", "torchao's mx linear layers", error);
  return conf_tree_fail(reading->tree, node, error,
                        "%s is not modelled; Float8LinearConverter and MXFP8LinearConverter are", made_by(node));
}

/* ---- Batches in tokens ---- */

/* Since they are counted so, CUDA graphs are on unless a key says otherwise. */
static gboolean check_graphs(RecipeReading *reading, const ConfTreeNode *tokens, GError **error) {
  return recipe_is_true(reading, "training.disable_cuda_graphs") ||
         conf_tree_fail(reading->tree, tokens, error,
                        "goes with CUDA graphs, which are not modelled; say disable_cuda_graphs=True beside it");
}

static gboolean give_count(RecipeReading *reading, const ConfTreeNode *node, const char *setting, guint64 value,
                           const char *remark, GError **error) {
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, value);
  return recipe_give(reading, node, setting, text, remark, error);
}

static gboolean sequences_of(RecipeReading *reading, const ConfTreeNode *node, guint64 missing, guint64 length,
                             guint64 *ret, GError **error) {
  guint64 tokens = missing;
  if (node != NULL && !conf_tree_count(reading->tree, node, &tokens, error))
    return FALSE;
  *ret = length > 0 ? tokens / length : 0;
  return (length > 0 && tokens > 0 && tokens % length == 0) ||
         conf_tree_fail(reading->tree, node != NULL ? node : given(reading, "training.max_context_length"), error,
                        "%" G_GUINT64_FORMAT " tokens are no whole number of sequences of %" G_GUINT64_FORMAT, tokens,
                        length);
}

gboolean recipe_torchtitan_tokens(RecipeReading *reading, gboolean pipeline, GError **error) {
  const ConfTreeNode *context = given(reading, "training.max_context_length"),
                     *micro = given(reading, "training.num_tokens_per_microbatch_per_dp_rank"),
                     *all = given(reading, "training.num_tokens_per_train_step"),
                     *runs = given(reading, "parallelism.num_pp_microbatches");
  guint64 length = 2048, size, step = 0, count = 1; /* its defaults */
  gboolean has_all = all != NULL && g_strcmp0(all->text, "-1") != 0;
  if (!check_graphs(reading, micro != NULL ? micro : context, error) ||
      (context != NULL && !conf_tree_count(reading->tree, context, &length, error)) ||
      !sequences_of(reading, micro, 16384, length, &size, error) ||
      (has_all && !sequences_of(reading, all, 0, length, &step, error)) ||
      (runs != NULL && !conf_tree_count(reading->tree, runs, &count, error)))
    return FALSE;
  if (runs != NULL && !pipeline)
    recipe_leave(reading, runs, "of pipeline parallelism, which is not on");
  return give_count(reading, context, "training.sequence_length", length, "tokens", error) &&
         give_count(reading, micro, "training.micro_batch", size, "sequences per GPU", error) &&
         (!has_all || give_count(reading, all, "training.global_batch", step, "sequences per step", error)) &&
         (!pipeline || give_count(reading, runs, "fsdp.pipeline_microbatches", count,
                                  "micro-batches of a run through the pipeline", error)) &&
         (!pipeline || has_all ||
          give_count(reading, NULL, "training.gradient_accumulation", count, "no num_tokens_per_train_step", error));
}

#define LATER(path)                                                                                                    \
  { path, RECIPE_TAKE, NULL, recipe_take_later, NULL, NULL }
#define CONVERTER(list)                                                                                                \
  RECIPE_FLOAT8_ROWS(list ".converters.0"), {                                                                          \
    list ".converters.*", RECIPE_TAKE, NULL, recipe_take_later, NULL, NULL                                             \
  }

static const RecipeRow rows[] = {
    LATER("training.num_tokens_per_microbatch_per_dp_rank"),
    LATER("training.num_tokens_per_train_step"),
    LATER("training.max_context_length"),
    SAFE("training.disable_cuda_graphs", "CUDA graphs, which are not modelled"),
    LATER("parallelism.num_pp_microbatches"),
    REFUSE("parallelism.enable_sequence_parallel", "true", "norms without sequence parallelism; set it to True"),
    REFUSE("parallelism.enable_fsdp_symm_mem", "false", "FSDP's collectives in symmetric memory; set it to False"),
    REFUSE("parallelism.context_parallel_load_balancer", "headtail", "another balance of context parallelism"),
    SAFE("parallelism.context_parallel_ptrr_mask_key", "of another balance of context parallelism"),
    SAFE("parallelism.spmd_backend", "how parallel layers are written down"),
    LATER("compile.enable_async_tensor_parallel"),
    SAFE("activation_checkpoint.force_recompute_mm_shapes_by_fqns", "of mixtures of experts"),
    SAFE("activation_checkpoint.visualize_memory_budget_pareto", BUDGET),
    REFUSE("optimizer.param_groups", NULL, "groups of parameters that are stepped apart; say default_adamw"),
    REFUSE("optimizer.optimizers", NULL, "groups of parameters that are stepped apart; say default_adamw"),
    SAFE("optimizer.betas", LEARNING),
    LATER("loss.num_chunks"),
    SAFE("loss.loss_fn.*", "of which eight chunks are made"),
    SAFE("loss.*", LEARNING),
    REFUSE("debug.deterministic", "false", "deterministic kernels; set it to False"),
    REFUSE("debug.detect_anomaly", "false", "autograd's search for bad gradients; set it to False"),
    REFUSE("debug.batch_invariant", "false", "kernels that do not depend on the batch; set it to False"),
    CONVERTER("model_spec"),
    CONVERTER("model_converters"),
    SAFE("model_converters.print_after_conversion", LOGGING),
    SAFE("model_spec.*", MODEL),
    SAFE("hf_assets_path", MODEL),
    SAFE("dump_folder", LOGGING),
    SAFE("tokenizer.*", DATA),
    SAFE("dataloader.*", DATA),
    SAFE("profiler.*", "profiles a few steps of all"),
    SAFE("validator.*", "between training steps"),
};

static gboolean finish(RecipeReading *reading, GError **error) {
  return check_optimizer(reading, error) && give_converters(reading, error) && give_checkpointing(reading, error) &&
         give_loss(reading, error) &&
         recipe_give(reading, NULL, "training.optimizer_style", "fused", "torchtitan's default", error) &&
         recipe_torchtitan_axes(reading, error) &&
         recipe_give(reading, NULL, "training.precision", "bf16", "torchtitan's default", error) &&
         recipe_give(reading, NULL, "training.gradient_clipping", "1", "torchtitan's default", error);
}

static const char *const calls[] = {"Trainer.Config", NULL};
const RecipeTable recipe_torchtitan_python = {.tool = "torchtitan",
                                              .calls = calls,
                                              .rows = {rows, G_N_ELEMENTS(rows)},
                                              .shared = &recipe_torchtitan_rows,
                                              .finish = finish};
