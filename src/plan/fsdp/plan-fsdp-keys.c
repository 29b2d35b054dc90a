/* SPDX-License-Identifier: MIT */
/* The schema of [fsdp], and what its values mean together. */
#include "plan-fsdp-keys.h"

#include <string.h>

#include "base-names.h"
#include "base-version.h"
#include "model-recipe.h"
#include "plan-fsdp.h"
#include "plan-optimizer.h"
#include "plan-policy.h"

#define OLDEST         BASE_VERSION(2, 0, 0) /* of PyTorch */
#define SECOND_OLDEST  BASE_VERSION(2, 6, 0)
#define SECOND_UNKNOWN BASE_VERSION(2, 10, 0)
#define LIMITS_GATHERS BASE_VERSION(2, 1, 0) /* by default: PyTorch pull request 104900 */

static const char *const prefetch_names[] = {"pre", "post", "none", NULL};
static const char *const inputs_names[] = {"block", "layer", NULL};
static const char *const rotate_names[] = {"allgather", "alltoall", NULL};
static const char *const dtype_names[] = {"default", "bf16", "fp16", "fp32", NULL};

#define KEY(key_, kind_, member_, ...) BASE_ROW("fsdp", key_, kind_, PlanFsdpKeys, member_, __VA_ARGS__)

static const BaseField keys[] = {
    KEY("wrap", BASE_TEXT, wrap_text, .initial = "block",
        .help = "units that are gathered as one: block (each transformer block; embedding and head are the root's), "
                "ends (also embedding and head each), none (all is one), size:N (a module of at least N parameters)"),
    KEY("reshard_after_forward", BASE_TEXT, reshard_text, .initial = "default",
        .help = "default (yes at zero_stage 3; the unit of the head stays gathered), yes, no, or over how many GPUs a "
                "smaller shard is kept for backward (fsdp2)"),
    KEY("forward_prefetch", BASE_COUNT, forward_prefetch, .initial = "0", .max = 1000,
        .help = "units gathered ahead in forward by explicit order; fsdp1 knows 0 and 1"),
    KEY("backward_prefetch", BASE_NAME, backward_prefetch, .initial = "pre", .names = prefetch_names,
        .help = "the next all-gather of backward is issued before the unit computes, after it, or when it is needed "
                "(fsdp1)"),
    KEY("limit_all_gathers", BASE_FLAG, limits_gathers, .initial = "yes",
        .help = "the host waits until at most two freed units' memory is under way (fsdp1; no by default before "
                "PyTorch 2.1, framework_version = 2.0)"),
    KEY("sync_every_micro_batch", BASE_FLAG, syncs_always, .initial = "yes",
        .help = "gradients are reduced every micro-batch; no: under no_sync they stay whole until the last"),
    KEY("use_orig_params", BASE_FLAG, use_orig_params, .initial = "yes",
        .help = "parameters of a flat one begin on 16 bytes and are the optimizer's each (fsdp1; fsdp2 always has its "
                "own)"),
    KEY("param_dtype", BASE_NAME, param_dtype, .initial = "default", .names = dtype_names,
        .help = "of gathered parameters: that of training.precision; fp32 beside bf16 or fp16 is torch.autocast over "
                "fp32 parameters (Lightning's bf16-mixed until 2.5, Composer's FULL, FSDP without MixedPrecision)"),
    KEY("reduce_dtype", BASE_NAME, reduce_dtype, .initial = "default", .names = dtype_names,
        .help = "of gradients as they are reduced; default: param_dtype (as training.gradient_communication_dtype)"),
    KEY("orig_dtype", BASE_NAME, orig_dtype, .initial = "fp32", .names = dtype_names,
        .help = "in which the model was made: of parameter and gradient shards and the optimizer's states"),
    KEY("checkpoint_outside", BASE_FLAG, checkpoints_outside, .initial = "no",
        .help = "activation checkpointing lies around FSDP's units, checkpoint(FSDP(block)), not inside: a block that "
                "runs again is gathered for that, freed, and gathered once more for its backward (fsdp1)"),
    KEY("wrap_adapters", BASE_FLAG, wraps_adapters, .initial = "no",
        .help = "each matrix of adapters is a unit of its own beside the blocks, so that what is frozen has no "
                "gradients (fsdp1 with training.trainable = lora:RANK, else there is nothing to wrap; peft's "
                "fsdp_auto_wrap_policy, which Transformers' Trainer sets)"),
    KEY("float8_all_gather", BASE_FLAG, gathers_fp8, .initial = "no",
        .help = "weights of layers that multiply in fp8 are cast before they are gathered, with scales that one "
                "all-reduce finds after each step (fsdp2 with training.precision = fp8; torchao's "
                "enable_fsdp_float8_all_gather and precompute_float8_dynamic_scale_for_fsdp)"),
    {.group = "fsdp", .key = "buffer_dtype", .kind = BASE_LATER, .help = "buffers (rotary tables and the like)"},
    KEY("cpu_offload", BASE_FLAG, offloads, .initial = "no",
        .help = "parameter shards, gradients and optimizer states lie in pinned host memory, and PyTorch's optimizer "
                "runs there"),
    KEY("loss_parallel", BASE_FLAG, loss_parallel, .initial = "yes",
        .help = "beside parallel.tensor: logits stay split over the ranks, which compute the loss together (fsdp2, as "
                "torchtitan)"),
    KEY("async_tensor_parallel", BASE_FLAG, async_tensor_parallel, .initial = "no",
        .help = "beside parallel.tensor: matmuls and their exchanges hide each other chunk by chunk (fsdp2; needs "
                "training.compile)"),
    KEY("tensor_inputs", BASE_NAME, tensor_inputs, .initial = "block", .names = inputs_names,
        .help = "beside parallel.tensor: attention and MLP gather their tokens once each and scatter one gradient "
                "(block, torchtitan's PrepareModuleInput), or q, k, v, gate and up each by itself (layer, "
                "ColwiseParallel's input_layouts; training.compile makes one of equal gathers, not of scatters) "
                "(fsdp2)"),
    KEY("context_rotate_method", BASE_NAME, context_rotate, .initial = "allgather", .names = rotate_names,
        .help = "beside parallel.context: keys and values of other ranks come in one all-gather, or from rank to rank "
                "(fsdp2)"),
    KEY("pipeline_split", BASE_TEXT, split_text,
        .help = "layers, from 0, at which a stage of the pipeline begins, as \"8 16 24\" or, which checks the "
                "model's layers, \"8 16 24 of 32\"; else spread evenly (fsdp2)"),
    KEY("pipeline_first_stage_less_layers", BASE_COUNT, first_stage_less, .initial = "1", .max = 1000,
        .help = "layers that the embedding counts as where layers are spread over stages (fsdp2, as torchtitan)"),
    KEY("pipeline_last_stage_less_layers", BASE_COUNT, last_stage_less, .initial = "1", .max = 1000,
        .help = "layers that the head counts as"),
    KEY("pipeline_microbatches", BASE_COUNT, pipeline_microbatches, .initial = "0", .max = 1e6,
        .help = "micro-batches that go through the pipeline before it is drained; 0: all of a step (fsdp2; torchtitan: "
                "local_batch_size / pipeline_parallel_microbatch_size)"),
};
const ConfSchema plan_fsdp_schema = {keys, G_N_ELEMENTS(keys)};

static gboolean read_count(const char *text, guint64 most, guint64 *ret) {
  return g_ascii_string_to_unsigned(text, 10, 1, most, ret, NULL);
}

/* "size:1e8", "size:20000": whole. */
static gboolean read_size(const char *text, guint64 *ret) {
  char *end;
  double value = g_ascii_strtod(text, &end);
  if (end == text || *end != '\0' || value < 1 || value > 1e15 || value != (double)(guint64)value)
    return FALSE;
  *ret = (guint64)value;
  return TRUE;
}

static gboolean read_wrap(const ConfSettings *settings, PlanFsdpKeys *keys_, GError **error) {
  static const char *const names[] = {"block", "ends", "none", NULL};
  int known = base_names_find(names, keys_->wrap_text);
  if (known >= 0) {
    keys_->wrap = known;
    return TRUE;
  }
  keys_->wrap = PLAN_WRAP_SIZE;
  return (g_str_has_prefix(keys_->wrap_text, "size:") &&
          read_size(keys_->wrap_text + strlen("size:"), &keys_->wrap_elements)) ||
         conf_settings_fail(settings, "fsdp.wrap", error, "\"%s\" is not block, ends, none or size:N, as in size:1e8",
                            keys_->wrap_text);
}

/* What the model's shape rules out. */
static gboolean check_wrap(const PlanGiven *given, const PlanRecipe *recipe, gboolean second, GError **error) {
  const PlanFsdpKeys *keys_ = &recipe->fsdp;
  gboolean parts = keys_->wrap == PLAN_WRAP_ENDS || keys_->wrap == PLAN_WRAP_SIZE;
  if (parts && given->shape->encoder_layers > 0)
    return conf_settings_fail(given->settings, "fsdp.wrap", error,
                              "the embedding that encoder and decoder share is modelled in the root alone; set it to "
                              "block");
  if (parts && given->shape->tied_embeddings)
    return conf_settings_fail(
        given->settings, "fsdp.wrap", error,
        "tied embedding and head must be in one unit, and %s makes two of them; use block or none",
        keys_->wrap == PLAN_WRAP_ENDS ? "ends" : "size:N");
  gboolean again = recipe->checkpointing.kind != PLAN_CHECKPOINT_NONE;
  return keys_->wrap != PLAN_WRAP_SIZE || !second || !again ||
         !plan_wrap_splits_blocks(given->shape, keys_->wrap_elements) ||
         conf_settings_fail(given->settings, "fsdp.wrap", error,
                            "%" G_GUINT64_FORMAT
                            " parameters make units of the parts of a block; checkpointing around fully_shard's units "
                            "is not modelled (fsdp1, or activation_checkpointing = none)",
                            keys_->wrap_elements);
}

static gboolean read_reshard(const ConfSettings *settings, const PlanRecipe *recipe, gboolean second,
                             PlanFsdpKeys *keys_, GError **error) {
  static const char *const names[] = {"default", "yes", "no", "true", "false", "on", "off", NULL};
  static const PlanReshard values[] = {PLAN_RESHARD_DEFAULT, PLAN_RESHARD_YES, PLAN_RESHARD_NO, PLAN_RESHARD_YES,
                                       PLAN_RESHARD_NO,      PLAN_RESHARD_YES, PLAN_RESHARD_NO};
  const char *text = keys_->reshard_text;
  int known = base_names_find(names, text);
  guint64 ranks = 0;
  if (known >= 0)
    keys_->reshard = values[known];
  else if (second && read_count(text, recipe->shard_ranks, &ranks) && recipe->shard_ranks % ranks == 0)
    keys_->reshard = PLAN_RESHARD_SMALLER, keys_->reshard_ranks = (guint32)ranks;
  else
    return conf_settings_fail(settings, "fsdp.reshard_after_forward", error,
                              second
                                  ? "\"%s\" is not default, yes, no, or a number that divides the %u GPUs of a shard "
                                    "group"
                                  : "\"%s\" is not default, yes or no (over fewer GPUs, of which a shard group has "
                                    "%u: framework = fsdp2)",
                              text, recipe->shard_ranks);
  if (keys_->reshard_ranks == recipe->shard_ranks)
    keys_->reshard = PLAN_RESHARD_YES;
  if (keys_->reshard_ranks == 1)
    return conf_settings_fail(settings, "fsdp.reshard_after_forward", error,
                              "a shard over 1 GPU is no shard; say no to keep the gathered copy");
  gboolean stays = keys_->reshard == PLAN_RESHARD_NO;
  return keys_->reshard == PLAN_RESHARD_DEFAULT || stays == (recipe->zero_stage != 3) ||
         conf_settings_fail(settings, "fsdp.reshard_after_forward", error,
                            "\"%s\" contradicts zero_stage %" G_GUINT64_FORMAT ": 3 reshards after forward, 2 does not",
                            text, recipe->zero_stage);
}

static gboolean read_dtypes(const PlanGiven *given, const PlanRecipe *recipe, PlanFsdpKeys *keys_, GError **error) {
  const ConfSettings *settings = given->settings;
  const char *precision = model_precision_names[given->model->precision];
  guint32 computed = model_precision_bytes(given->model->precision);
  int reduce = keys_->reduce_dtype != PLAN_DTYPE_DEFAULT ? keys_->reduce_dtype : recipe->communication_dtype;
  keys_->parameter_bytes = plan_dtype_bytes(keys_->param_dtype, computed);
  keys_->shard_bytes = plan_dtype_bytes(keys_->orig_dtype, computed);
  if (given->model->base != MODEL_BASE_FULL && !conf_settings_given(settings, "fsdp.orig_dtype"))
    keys_->shard_bytes = computed;
  if (given->model->base != MODEL_BASE_FULL && keys_->shard_bytes != computed)
    return conf_settings_fail(settings, "fsdp.orig_dtype", error,
                              "weights in 4 bits are gathered as they are stored, and so are adapters: leave it out");
  keys_->reduce_bytes = plan_dtype_bytes(reduce, keys_->parameter_bytes);
  keys_->reduce_dtype = reduce;
  if (given->model->base != MODEL_BASE_FULL && keys_->parameter_bytes != computed)
    return conf_settings_fail(settings, "fsdp.param_dtype", error,
                              "autocast over fp32 parameters is not modelled beside weights in few bits");
  if (keys_->parameter_bytes < computed)
    return conf_settings_fail(settings, "fsdp.param_dtype", error, "%s is narrower than training.precision = %s",
                              dtype_names[keys_->param_dtype], precision);
  if (recipe->communication_dtype != PLAN_DTYPE_DEFAULT && reduce != recipe->communication_dtype)
    return conf_settings_fail(settings, "fsdp.reduce_dtype", error,
                              "%s contradicts training.gradient_communication_dtype = %s", dtype_names[reduce],
                              dtype_names[recipe->communication_dtype]);
  if (keys_->shard_bytes < keys_->parameter_bytes)
    return conf_settings_fail(settings, "fsdp.orig_dtype", error, "%s is narrower than %s",
                              dtype_names[keys_->orig_dtype],
                              keys_->parameter_bytes > computed ? "fsdp.param_dtype = fp32" : precision);
  return plan_dtype_bytes(recipe->accumulation_dtype, keys_->shard_bytes) == keys_->shard_bytes ||
         conf_settings_fail(settings, "training.gradient_accumulation_dtype", error,
                            "FSDP keeps gradient shards in the dtype of its parameter shards; set fsdp.orig_dtype");
}

/* Autocast over fp32 parameters, where the model's and the units' parts of it are modelled. */
static gboolean check_autocast(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  static const LayoutAxis others[] = {LAYOUT_TENSOR, LAYOUT_CONTEXT, LAYOUT_PIPELINE, LAYOUT_EXPERT};
  const PlanFsdpKeys *keys_ = &recipe->fsdp;
  const char *why = NULL;
  given->model->autocast = keys_->parameter_bytes > model_precision_bytes(given->model->precision);
  if (!given->model->autocast)
    return TRUE;
  for (gsize a = 0; a < G_N_ELEMENTS(others); a++)
    if (recipe->axes.layout.degree[others[a]] > 1)
      why = "other axes than data";
  if (keys_->wrap == PLAN_WRAP_SIZE && plan_wrap_splits_blocks(given->shape, keys_->wrap_elements))
    why = "units inside a block (fsdp.wrap)";
  if (given->model->precision == MODEL_FP8)
    why = "training.precision = fp8";
  return why == NULL || conf_settings_fail(given->settings, "fsdp.param_dtype", error,
                                           "autocast over fp32 parameters is not modelled beside %s", why);
}

static gboolean refuse_stage(const ConfSettings *settings, const PlanRecipe *recipe, gboolean second, GError **error) {
  if (recipe->zero_stage == 1)
    return conf_settings_fail(settings, "parallel.zero_stage", error,
                              "FSDP has no stage 1: it shards gradients with the optimizer (2, SHARD_GRAD_OP) or "
                              "parameters too (3, FULL_SHARD)");
  if (second && recipe->zero_stage == 0)
    return conf_settings_fail(settings, "parallel.zero_stage", error,
                              "fully_shard has no stage 0; use framework = ddp, or fsdp1 (NO_SHARD)");
  return recipe->zero_stage != 0 || recipe->shard_ranks == recipe->ranks ||
         conf_settings_fail(settings, "parallel.shard_group", error, "stage 0 shards nothing");
}

static gboolean refuse_other_generation(const ConfSettings *settings, const PlanFsdpKeys *keys_, gboolean second,
                                        GError **error) {
  static const struct {
    const char *key, *why;
  } first_only[] = {
      {"fsdp.limit_all_gathers", "fully_shard has no rate limiter: it frees memory in host order"},
      {"fsdp.use_orig_params", "fully_shard always has its own parameters"},
      {"fsdp.checkpoint_outside", "checkpointing around fully_shard is not modelled"},
      {"fsdp.wrap_adapters", "fully_shard's parameters are trained or frozen one by one"},
  };
  static const char *const second_only[] = {"fsdp.loss_parallel",
                                            "fsdp.async_tensor_parallel",
                                            "fsdp.tensor_inputs",
                                            "fsdp.context_rotate_method",
                                            "fsdp.pipeline_split",
                                            "fsdp.pipeline_first_stage_less_layers",
                                            "fsdp.pipeline_last_stage_less_layers",
                                            "fsdp.pipeline_microbatches"};
  for (guint i = 0; !second && i < G_N_ELEMENTS(second_only); i++)
    if (conf_settings_given(settings, second_only[i]))
      return conf_settings_fail(settings, second_only[i], error, "fsdp1 has no other axes; framework = fsdp2");
  for (guint i = 0; second && i < G_N_ELEMENTS(first_only); i++)
    if (conf_settings_given(settings, first_only[i].key))
      return conf_settings_fail(settings, first_only[i].key, error, "%s; it is a key of framework = fsdp1",
                                first_only[i].why);
  if (second && keys_->backward_prefetch != PLAN_PREFETCH_PRE)
    return conf_settings_fail(settings, "fsdp.backward_prefetch", error,
                              "fully_shard always prefetches before a unit computes (pre)");
  if (!second && keys_->forward_prefetch > 1)
    return conf_settings_fail(settings, "fsdp.forward_prefetch", error, "fsdp1 prefetches one unit (1) or none (0)");
  return TRUE;
}

/* Only whole blocks are checkpointed from outside, and only blocks that are units. */
static gboolean check_checkpointing(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  int kind = recipe->checkpointing.kind;
  gboolean whole = kind == PLAN_CHECKPOINT_FULL || kind == PLAN_CHECKPOINT_LAYERS || kind == PLAN_CHECKPOINT_FRACTION;
  if (!recipe->fsdp.checkpoints_outside)
    return TRUE;
  if (!whole)
    return conf_settings_fail(
        settings, "fsdp.checkpoint_outside", error,
        "no whole block is checkpointed; activation_checkpointing = full, layers:K or fraction:F");
  return recipe->fsdp.wrap == PLAN_WRAP_BLOCK || recipe->fsdp.wrap == PLAN_WRAP_ENDS ||
         conf_settings_fail(settings, "fsdp.checkpoint_outside", error,
                            "blocks are no units; fsdp.wrap = block or ends");
}

/* Adapters are units beside whole blocks alone. */
static gboolean check_adapters(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  if (!recipe->fsdp.wraps_adapters || recipe->trainable.lora.rank == 0)
    return TRUE;
  return recipe->fsdp.wrap == PLAN_WRAP_BLOCK || recipe->fsdp.wrap == PLAN_WRAP_ENDS ||
         conf_settings_fail(settings, "fsdp.wrap_adapters", error, "blocks are no units; fsdp.wrap = block or ends");
}

/* A flat parameter is trained or frozen as one, unless its parts stay parameters. */
static gboolean check_trainable(const ConfSettings *settings, const PlanRecipe *recipe, gboolean second,
                                GError **error) {
  const PlanTrainable *trainable = &recipe->trainable;
  int wrap = recipe->fsdp.wrap;
  gboolean ends_alike = trainable->embedding == trainable->head;
  gboolean blocks = trainable->lora.rank == 0 || recipe->fsdp.wraps_adapters;
  gboolean whole = blocks && (wrap == PLAN_WRAP_ENDS || (wrap == PLAN_WRAP_BLOCK && ends_alike));
  return second || !trainable->part || recipe->fsdp.use_orig_params || whole ||
         conf_settings_fail(settings, "training.trainable", error,
                            "a flat parameter of fsdp1 is trained or frozen as one; set fsdp.use_orig_params=yes%s",
                            trainable->lora.rank > 0 ? " or fsdp.wrap_adapters=yes" : "");
}

static gboolean check_version(const ConfSettings *settings, PlanRecipe *recipe, gboolean second, GError **error) {
  if (second && recipe->version >= SECOND_UNKNOWN)
    return conf_settings_fail(settings, "parallel.framework_version", error,
                              "fsdp2 is modelled as PyTorch 2.6 to 2.9 have it");
  plan_policy_oldest(recipe, second ? SECOND_OLDEST : OLDEST);
  if (!second && recipe->version > 0 && recipe->version < LIMITS_GATHERS &&
      !conf_settings_given(settings, "fsdp.limit_all_gathers"))
    recipe->fsdp.limits_gathers = FALSE;
  return TRUE;
}

static gboolean check_fp8(const PlanGiven *given, const PlanRecipe *recipe, gboolean second, GError **error) {
  const ConfSettings *settings = given->settings;
  if (!recipe->fsdp.gathers_fp8)
    return TRUE;
  if (given->model->precision != MODEL_FP8)
    return conf_settings_fail(settings, "fsdp.float8_all_gather", error,
                              "only layers that multiply in fp8 can have their weights gathered so; set "
                              "training.precision=fp8");
  if (given->model->fp8_scaling != MODEL_FP8_TENSORWISE)
    return conf_settings_fail(given->settings, "fsdp.float8_all_gather", error,
                              "weights are gathered in fp8 with one scale each; set training.fp8_scaling=tensorwise");
  if (recipe->fsdp.offloads)
    return conf_settings_fail(settings, "fsdp.float8_all_gather", error, "with cpu_offload it is not modelled");
  return second || conf_settings_fail(settings, "fsdp.float8_all_gather", error,
                                      "a flat parameter of fsdp1 has one dtype; framework = fsdp2 has one for each");
}

static gboolean check_offload(const ConfSettings *settings, const PlanRecipe *recipe, gboolean second, GError **error) {
  if (!recipe->fsdp.offloads)
    return TRUE;
  if (recipe->zero_stage == 0)
    return conf_settings_fail(settings, "fsdp.cpu_offload", error, "offload of what is not sharded is not modelled");
  if (!second && recipe->gradient_accumulation > 1 && recipe->fsdp.syncs_always)
    return conf_settings_fail(settings, "fsdp.cpu_offload", error,
                              "fsdp1 cannot accumulate gradients that it offloads; set fsdp.sync_every_micro_batch=no");
  return recipe->optimizer == PLAN_ADAMW ||
         conf_settings_fail(settings, "fsdp.cpu_offload", error,
                            "of optimizers on the host only adamw is modelled for FSDP");
}

static gboolean resolve(const PlanGiven *given, PlanRecipe *recipe, gboolean second, GError **error) {
  const ConfSettings *settings = given->settings;
  PlanFsdpKeys *keys_ = &recipe->fsdp;
  gboolean good = refuse_stage(settings, recipe, second, error) &&
                  refuse_other_generation(settings, keys_, second, error) && read_wrap(settings, keys_, error) &&
                  check_wrap(given, recipe, second, error) && read_reshard(settings, recipe, second, keys_, error) &&
                  read_dtypes(given, recipe, keys_, error) && check_autocast(given, recipe, error) &&
                  check_fp8(given, recipe, second, error) && check_offload(settings, recipe, second, error) &&
                  check_checkpointing(settings, recipe, error) && check_adapters(settings, recipe, error) &&
                  check_trainable(settings, recipe, second, error) && check_version(settings, recipe, second, error) &&
                  (!second || plan_fsdp2_axes(given, recipe, error));
  if (second)
    keys_->use_orig_params = TRUE;
  given->model->fp8_weights = keys_->gathers_fp8;
  g_clear_pointer(&keys_->wrap_text, g_free);
  g_clear_pointer(&keys_->reshard_text, g_free);
  g_clear_pointer(&keys_->split_text, g_free);
  return good;
}

static void note_axes(const PlanRecipe *recipe, GPtrArray *notes) {
  const Layout *layout = &recipe->axes.layout;
  if (layout->degree[LAYOUT_PIPELINE] > 1 && recipe->fsdp.reshard == PLAN_RESHARD_DEFAULT)
    g_ptr_array_add(notes,
                    g_strdup("fsdp: over a pipeline gathered parameters stay for all micro-batches, and gradients "
                             "are reduced after the last (fsdp.reshard_after_forward = yes gathers them for "
                             "each pass)"));
  if (layout->degree[LAYOUT_TENSOR] > 1)
    g_ptr_array_add(notes,
                    g_strdup(recipe->axes.sequence_parallel
                                 ? "fsdp: tensor ranks split the sequence between their matmuls, as torchtitan's "
                                   "plan does (parallel.sequence_parallel = no: they do not)"
                                 : "fsdp: tensor ranks each have all tokens between their matmuls"));
  if (layout->degree[LAYOUT_CONTEXT] > 1)
    g_ptr_array_add(notes, g_strdup_printf("fsdp: context ranks share out parameters as data ranks do, over %u ranks",
                                           recipe->shard_ranks));
  if (recipe->experts_apart)
    g_ptr_array_add(notes, g_strdup_printf("fsdp: a block's experts are a unit inside it, over the %u ranks that hold "
                                           "the same ones; the block before gathers both, as torchtitan has it",
                                           layout_group_size(layout, LAYOUT_EXPERT_DATA)));
}

void plan_fsdp_note(const PlanRecipe *recipe, GPtrArray *notes) {
  const PlanFsdpKeys *keys_ = &recipe->fsdp;
  g_ptr_array_add(notes,
                  g_strdup_printf("fsdp: %u bytes an element gathered, %u reduced, %u kept in shards; the loss is "
                                  "read after each step, gradients are set to none after it",
                                  keys_->parameter_bytes, keys_->reduce_bytes, keys_->shard_bytes));
  note_axes(recipe, notes);
  if (recipe->gradient_accumulation > 1 && recipe->axes.layout.degree[LAYOUT_PIPELINE] <= 1)
    g_ptr_array_add(notes,
                    g_strdup(keys_->syncs_always ? "fsdp: gradients are reduced in every micro-batch"
                                                 : "fsdp: gradients stay whole until the last micro-batch (no_sync)"));
}

gboolean plan_fsdp1_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  return resolve(given, recipe, FALSE, error);
}

gboolean plan_fsdp2_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  return resolve(given, recipe, TRUE, error);
}
