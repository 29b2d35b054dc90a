/* SPDX-License-Identifier: MIT */
/* The schema of [training] and [parallel], and reading it. */
#include <string.h>

#include "base-names.h"
#include "base-version.h"
#include "plan-axes.h"
#include "plan-batch.h"
#include "plan-matrix-optimizer.h"
#include "plan-outputs.h"
#include "plan-policy.h"

const char *const plan_framework_names[] = {"paper", "ddp",      "deepspeed", "fsdp1",
                                            "fsdp2", "megatron", "nanotron",  NULL};
#define STOPS_EARLY BASE_VERSION(2, 1, 0) /* PyTorch's checkpoints: torch/utils/checkpoint.py */

static const char *const later_optimizers[] = {"lamb", NULL};
static const char *const offload_names[] = {"no", "cpu", NULL};
static const char *const debug_names[] = {"off", "detail", NULL};
static const char *const early_stop_names[] = {"default", "yes", "no", NULL};
static const char *const later_offload[] = {"nvme", NULL};
static const char *const dtype_names[] = {"default", "bf16", "fp16", "fp32", NULL};

typedef struct {
  PlanRecipe recipe; /* first: offsets of PlanRecipe are offsets of Keys */
  int early_stop;    /* PlanEarlyStop */
  char *checkpointing, *trainable, *version, *shard_group;
} Keys;

#define KEY(group_, key_, kind_, member_, ...) BASE_ROW(group_, key_, kind_, PlanRecipe, member_, __VA_ARGS__)

static const BaseField keys[] = {
    KEY("training", "micro_batch", BASE_COUNT, micro_batch, .min = 1, .max = 1e6,
        .help =
            "sequences per GPU and forward pass; with gradient_accumulation and global_batch: any two give the third"),
    KEY("training", "gradient_accumulation", BASE_COUNT, gradient_accumulation, .min = 1, .max = 1e6,
        .help = "micro-batches per optimizer step"),
    KEY("training", "global_batch", BASE_COUNT, global_batch, .min = 1, .max = 1e9,
        .help = "sequences per optimizer step over all GPUs"),
    KEY("training", "total_tokens", BASE_NUMBER, total_tokens, .min = 1, .max = 1e18,
        .help = "tokens of the whole training, as in 2T: gives days and price"),
    KEY("training", "optimizer", BASE_NAME, optimizer, .initial = "adamw", .names = plan_optimizer_names,
        .later = later_optimizers,
        .help = "adamw and adam: two fp32 momenta, and fp32 master weights where precision is 16 bits; sgd (with "
                "momentum) and lion: one; adam8bit: two of a byte each; adam4bit: of half "
                "a byte; adafactor: sums of rows and columns; muon: one for the layers' matrices, which five steps of "
                "Newton-Schulz orthogonalise, adamw for the rest (both under ddp and fsdp2)"),
    KEY("training", "optimizer_style", BASE_NAME, optimizer_style, .initial = "default",
        .names = plan_optimizer_style_names,
        .help = "foreach: a pass over all tensors per elementary operation; fused: one pass; single: foreach's passes "
                "over one tensor after the other, of deepspeed alone; default: the framework's. Of deepspeed foreach "
                "and single are torch's Adam in place of DeepSpeed's own, as trainers bring it"),
    KEY("training", "paged_states", BASE_FLAG, paged, .initial = "no",
        .help =
            "bitsandbytes' paged optimizers: the momenta of tensors of 100 000 elements on are managed memory, which "
            "the driver moves to the host where the GPU has no room, and back in every step"),
    KEY("training", "gradient_clipping", BASE_NUMBER, gradient_clipping, .initial = "0", .min = 0, .max = 1e6,
        .help = "largest norm of the gradients; 0: they are not clipped"),
    BASE_ROW("training", "activation_checkpointing", BASE_TEXT, Keys, checkpointing, .initial = "none",
             .help = "none; full: only the input of each layer is kept, the layer is recomputed in backward; "
                     "attention; every-2nd-matmul; layers:K, every K-th layer in full; fraction:F, that share of the "
                     "layers in full; selective: what the framework means by it"),
    BASE_ROW("training", "checkpoint_early_stop", BASE_NAME, Keys, early_stop, .initial = "default",
             .names = early_stop_names,
             .help = "a recomputed layer's second run ends with the last value that its backward wants, so its last "
                     "matmul does not run again (PyTorch's checkpoints that are not reentrant, since 2.1); no: all of "
                     "it runs; default: yes under fsdp1 and fsdp2, else no. What is compiled ends so whatever is said "
                     "here; checkpoint functions of megatron, nanotron and of DeepSpeed itself never do"),
    KEY("training", "gradient_accumulation_dtype", BASE_NAME, accumulation_dtype, .initial = "default",
        .names = dtype_names, .help = "of accumulated gradients; default: the framework's"),
    KEY("training", "gradient_communication_dtype", BASE_NAME, communication_dtype, .initial = "default",
        .names = dtype_names, .help = "of gradients as they are reduced; default: the framework's"),
    BASE_ROW("training", "trainable", BASE_TEXT, Keys, trainable, .initial = "all",
             .help = "all; what is trained while the rest is frozen, as in \"28-31, head\": layers from 0, embedding, "
                     "head; or lora:RANK, adapters where peft puts them (llama: q_proj and v_proj; gpt: qkv_proj), "
                     "lora:RANK:all-linear, lora:RANK:q_proj+o_proj"),
    KEY("parallel", "framework", BASE_NAME, framework, .initial = "paper", .names = plan_framework_names,
        .help = "paper: the textbook schedule; 25 MB gradient buckets, one layer of prefetch, the host never limits"),
    KEY("parallel", "zero_stage", BASE_COUNT, zero_stage, .max = 3, .initial = "0", .min = 0,
        .help = "0: all copied; 1: optimizer sharded; 2: also gradients; 3: also parameters"),
    BASE_ROW("parallel", "framework_version", BASE_TEXT, Keys, version,
             .help = "decides its defaults and some of its behaviour; the newest that is known where it is not given"),
    BASE_ROW("parallel", "shard_group", BASE_TEXT, Keys, shard_group, .initial = "all",
             .help = "hybrid sharding: all GPUs, node, or how many GPUs share one copy of the states"),
    KEY("parallel", "offload_optimizer", BASE_NAME, offload_optimizer, .initial = "no", .names = offload_names,
        .later = later_offload, .help = "cpu: optimizer states live in host memory and the host's cores update them"),
    KEY("parallel", "offload_parameters", BASE_NAME, offload_parameters, .initial = "no", .names = offload_names,
        .later = later_offload,
        .help = "cpu: sharded parameters live in host memory and are copied before each gather"),
    KEY("parallel", "distributed_debug", BASE_NAME, distributed_debug, .initial = "off", .names = debug_names,
        .help = "TORCH_DISTRIBUTED_DEBUG; detail: before each collective the hosts of its ranks meet over TCP and "
                "compare what they call"),
};
static const ConfSchema plan_schema = {keys, G_N_ELEMENTS(keys)};

guint32 plan_dtype_bytes(int dtype, guint32 or) {
  return dtype == PLAN_DTYPE_DEFAULT ? or : dtype == PLAN_DTYPE_FP32 ? 4 : 2;
}

gsize plan_schemas(ConfSchema *ret, gsize room) {
  const ConfSchema *const own[] = {&plan_schema, &layout_schema};
  gsize n = 0;
  for (; n < G_N_ELEMENTS(own); n++)
    if (n < room)
      ret[n] = *own[n];
  for (int i = 0; i < PLAN_FRAMEWORKS; i++) {
    const ConfSchema *schema = plan_policies[i].schema;
    gboolean listed = schema == NULL;
    for (int k = 0; k < i; k++)
      listed |= plan_policies[k].schema == schema;
    if (listed)
      continue;
    if (n < room)
      ret[n] = *schema;
    n++;
  }
  return n;
}

static gboolean read_checkpointing(const ConfSettings *settings, Keys *read, GError **error) {
  g_autofree char *fault = NULL;
  return plan_checkpointing_parse(read->checkpointing, plan_policies[read->recipe.framework].selective,
                                  &read->recipe.checkpointing, &fault) ||
         conf_settings_fail(settings, "training.activation_checkpointing", error, "%s", fault);
}

/* Why a second run cannot end early; NULL: it can. */
static const char *never_stops(const PlanRecipe *recipe) {
  gboolean torch = plan_policies[recipe->framework].stops == PLAN_STOPS;
  if (plan_policies[recipe->framework].stops == PLAN_STOPS_NEVER)
    return "the framework's own checkpoint function runs all of a layer again";
  if (recipe->framework == PLAN_DEEPSPEED && recipe->deepspeed.partition_activations)
    return "DeepSpeed's own checkpoint function (partition_activations) runs all of a layer again";
  return torch && recipe->fsdp.checkpoints_outside ? "with fsdp.checkpoint_outside it is not modelled" : NULL;
}

/* A compiler drops what nobody reads of what it compiles as one: layers whose checkpoint is PyTorch's. */
static gboolean read_early_stop(const PlanGiven *given, Keys *read, GError **error) {
  const PlanRecipe *recipe = &read->recipe;
  gboolean torch = plan_policies[recipe->framework].stops == PLAN_STOPS;
  gboolean old = torch && recipe->version > 0 && recipe->version < STOPS_EARLY;
  const char *never = never_stops(recipe), *why = never == NULL && old ? "PyTorch has it from 2.1 on" : never;
  if (read->early_stop == PLAN_EARLY_STOP_YES && why != NULL)
    return conf_settings_fail(given->settings, "training.checkpoint_early_stop", error, "%s; set it to no", why);
  gboolean said = read->early_stop == PLAN_EARLY_STOP_DEFAULT ? torch && !old : read->early_stop == PLAN_EARLY_STOP_YES;
  read->recipe.checkpointing.stops = never == NULL && (given->model->compiled || said);
  return TRUE;
}

/* Adapters in 16 bits beside layers that multiply in fp8: Transformer Engine's, as Megatron-Bridge's recipes run them
 * (perf_recipes/llama/h100/llama3.py, llama3_70b_lora_8gpu_h100_fp8cs). torchao's conversion does not reach a layer
 * with an adapter in it (meta-pytorch/torchtune issue 2833). */
static gboolean check_fp8_base(const PlanGiven *given, const Keys *read, GError **error) {
  const char *key = "training.trainable";
  if (read->recipe.trainable.lora.rank == 0 || given->model->precision != MODEL_FP8)
    return TRUE;
  if (read->recipe.framework != PLAN_MEGATRON)
    return conf_settings_fail(given->settings, key, error,
                              "torchao converts no layers with adapters to fp8, so no tool runs them under %s; "
                              "framework megatron does (Transformer Engine), or set training.precision=bf16",
                              plan_framework_names[read->recipe.framework]);
  return given->shape->experts == 0 ||
         conf_settings_fail(given->settings, key, error,
                            "adapters beside experts that multiply in fp8 are not modelled; set "
                            "training.precision=bf16");
}

/* Weights in few bits: beside adapters, under what bitsandbytes works with. */
static gboolean check_base(const PlanGiven *given, const Keys *read, GError **error) {
  const PlanRecipe *recipe = &read->recipe;
  const char *key = "training.base_weights";
  static const LayoutAxis axes[] = {LAYOUT_TENSOR, LAYOUT_PIPELINE, LAYOUT_EXPERT};
  if (given->model->base == MODEL_BASE_FULL)
    return TRUE;
  if (recipe->trainable.lora.rank == 0)
    return conf_settings_fail(given->settings, key, error,
                              "weights in few bits cannot be trained; adapters beside them can: training.trainable = "
                              "lora:16");
  if (recipe->framework == PLAN_MEGATRON || recipe->framework == PLAN_NANOTRON)
    return conf_settings_fail(given->settings, key, error,
                              "framework %s has no weights in few bits; ddp, deepspeed, fsdp1 and fsdp2 have",
                              plan_framework_names[recipe->framework]);
  gboolean sharded = recipe->zero_stage == 3 || recipe->framework == PLAN_FSDP1 || recipe->framework == PLAN_FSDP2;
  if (given->model->base == MODEL_BASE_INT8 && sharded)
    return conf_settings_fail(given->settings, key, error,
                              "weights in 8 bits cannot be sharded (bitsandbytes' Int8Params); nf4 can, or framework = "
                              "ddp, or deepspeed up to stage 2");
  for (gsize i = 0; i < G_N_ELEMENTS(axes); i++)
    if (recipe->axes.layout.degree[axes[i]] > 1)
      return conf_settings_fail(given->settings, key, error,
                                "weights in few bits are not split over other axes than data");
  return TRUE;
}

static gboolean check_lora_dropout(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  return given->model->lora_dropout <= 0 || recipe->trainable.lora.rank > 0 ||
         conf_settings_fail(given->settings, "training.lora_dropout", error,
                            "there are no adapters; they come with training.trainable = lora:16");
}

static gboolean check_further(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  if (given->shape->mtp_layers == 0)
    return TRUE;
  if (recipe->framework != PLAN_MEGATRON)
    return conf_settings_fail(given->settings, "model.mtp_layers", error,
                              "framework %s foretells no further tokens here; megatron does",
                              plan_framework_names[recipe->framework]);
  return !recipe->trainable.part ||
         conf_settings_fail(given->settings, "training.trainable", error,
                            "a part of a model that foretells further tokens is not modelled");
}

/* transformers' classes, under what wraps them. */
static gboolean check_stacks(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  if (given->shape->encoder_layers == 0)
    return TRUE;
  if (recipe->framework == PLAN_MEGATRON || recipe->framework == PLAN_NANOTRON)
    return conf_settings_fail(settings, "parallel.framework", error,
                              "%s trains no decoder beside an encoder here; ddp, deepspeed, fsdp1 and fsdp2 do",
                              plan_framework_names[recipe->framework]);
  if (recipe->axes.layout.degree[LAYOUT_PIPELINE] > 1)
    return conf_settings_fail(settings, "parallel.pipeline", error,
                              "a decoder beside an encoder is not modelled over a pipeline; set it to 1");
  if (recipe->trainable.part)
    return conf_settings_fail(settings, "training.trainable", error,
                              "a part of a model with a decoder beside an encoder is not modelled; set it to all");
  if (recipe->checkpointing.kind == PLAN_CHECKPOINT_ATTENTION ||
      recipe->checkpointing.kind == PLAN_CHECKPOINT_EVERY_2ND_MATMUL)
    return conf_settings_fail(settings, "training.activation_checkpointing", error,
                              "of a decoder beside an encoder whole layers are checkpointed; none, full or layers:K");
  return TRUE;
}

static gboolean read_trainable(const PlanGiven *given, Keys *read, GError **error) {
  const ConfSettings *settings = given->settings;
  const ModelShape *shape = given->shape;
  PlanTrainable *trainable = &read->recipe.trainable;
  g_autofree char *fault = NULL;
  if (!plan_trainable_parse(read->trainable, trainable, &fault))
    return conf_settings_fail(settings, "training.trainable", error, "%s", fault);
  if (!check_lora_dropout(given, &read->recipe, error))
    return FALSE;
  if (!trainable->part)
    return check_base(given, read, error);
  if (plan_trainable_highest(trainable) >= (gint64)shape->layers)
    return conf_settings_fail(settings, "training.trainable", error,
                              "the model has %" G_GUINT64_FORMAT " layers, from 0 on", shape->layers);
  if (shape->tied_embeddings && trainable->lora.rank == 0 && trainable->embedding != trainable->head)
    return conf_settings_fail(settings, "training.trainable", error,
                              "embedding and head are one matrix here: both are trained or neither");
  if (!check_fp8_base(given, read, error) || !check_base(given, read, error))
    return FALSE;
  return model_lora_fits(&trainable->lora, shape, &fault) ||
         conf_settings_fail(settings, "training.trainable", error, "%s", fault);
}

static gboolean read_version(const ConfSettings *settings, Keys *read, GError **error) {
  return read->version == NULL || base_version_parse(read->version, &read->recipe.version) ||
         conf_settings_fail(settings, "parallel.framework_version", error,
                            "\"%s\" is not a version; expected numbers as in 0.16.4", read->version);
}

static gboolean refuse_offload(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  const char *why = "offloads nothing here; deepspeed does";
  return (recipe->offload_optimizer == PLAN_OFFLOAD_NO ||
          plan_policy_refuse(settings, "parallel.offload_optimizer", recipe, why, error)) &&
         (recipe->offload_parameters == PLAN_OFFLOAD_NO ||
          plan_policy_refuse(settings, "parallel.offload_parameters", recipe, why, error));
}

/* Which frameworks and axes have it. Optimizers that see matrices want parameters that keep their shapes. */
static gboolean check_optimizer(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const char *key = "training.optimizer", *name = plan_optimizer_names[recipe->optimizer];
  const LayoutAxis axes[] = {LAYOUT_TENSOR, LAYOUT_PIPELINE, LAYOUT_EXPERT};
  if (recipe->optimizer_style == PLAN_STYLE_SINGLE && recipe->framework != PLAN_DEEPSPEED)
    return conf_settings_fail(given->settings, "training.optimizer_style", error,
                              "single is modelled under deepspeed alone; torch's default is foreach");
  if (!plan_sees_matrices(recipe->optimizer))
    return TRUE;
  if (recipe->framework != PLAN_DDP && recipe->framework != PLAN_FSDP2)
    return conf_settings_fail(given->settings, key, error,
                              "%s is modelled where parameters keep their shapes, under ddp and fsdp2; not under %s",
                              name, plan_framework_names[recipe->framework]);
  if (recipe->optimizer == PLAN_MUON && given->shape->experts > 0)
    return conf_settings_fail(given->settings, key, error, "muon of experts' matrices is not modelled");
  for (gsize i = 0; i < G_N_ELEMENTS(axes); i++)
    if (recipe->axes.layout.degree[axes[i]] > 1)
      return conf_settings_fail(given->settings, key, error, "%s is not modelled over other axes than data", name);
  return TRUE;
}

/* Which of bitsandbytes' optimizers are paged, and beside what they run: not beside DTensors (meta-pytorch/torchtune
 * issue 1856: a CUDA error under FSDP2), nor where a framework brings its own. */
static gboolean check_paged(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  static const LayoutAxis axes[] = {LAYOUT_TENSOR, LAYOUT_PIPELINE, LAYOUT_CONTEXT, LAYOUT_EXPERT};
  const char *key = "training.paged_states";
  int optimizer = recipe->optimizer, framework = recipe->framework;
  if (!recipe->paged)
    return TRUE;
  if (optimizer != PLAN_ADAMW && optimizer != PLAN_ADAM && optimizer != PLAN_LION && optimizer != PLAN_ADAM8BIT)
    return conf_settings_fail(given->settings, key, error,
                              "bitsandbytes has no paged %s; adamw, adam, lion and adam8bit",
                              plan_optimizer_names[optimizer]);
  gboolean alone = framework == PLAN_FSDP2 && recipe->ranks == 1;
  if (framework != PLAN_DDP && framework != PLAN_FSDP1 && framework != PLAN_DEEPSPEED && !alone)
    return conf_settings_fail(given->settings, key, error,
                              "bitsandbytes' paged optimizers do not run under %s; under ddp, fsdp1 and deepspeed, and "
                              "on one GPU under fsdp2",
                              plan_framework_names[framework]);
  if (recipe->offload_optimizer != PLAN_OFFLOAD_NO || recipe->fsdp.offloads)
    return conf_settings_fail(given->settings, key, error, "states that are offloaded are not paged: one or the other");
  for (gsize i = 0; i < G_N_ELEMENTS(axes); i++)
    if (recipe->axes.layout.degree[axes[i]] > 1)
      return conf_settings_fail(given->settings, key, error, "paged states are modelled along data ranks alone");
  return TRUE;
}

/* What of the model's own keys a framework cannot have. */
static gboolean check_model(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const PlanPolicy *policy = &plan_policies[recipe->framework];
  gboolean around = recipe->axes.layout.degree[LAYOUT_CONTEXT] > 1;
  const char *waits = recipe->distributed_debug != PLAN_DEBUG_OFF ? "parallel.distributed_debug"
                      : given->model->attention_waits             ? "training.attention_waits"
                                                                  : NULL;
  if (policy->hostless && waits != NULL)
    return conf_settings_fail(given->settings, waits, error,
                              "framework %s has no host that could wait; the others have", policy->name);
  if (given->model->repeats_kv == MODEL_REPEAT_WITHOUT_CONTEXT)
    given->model->repeats_kv = around ? MODEL_REPEAT_NO : MODEL_REPEAT_YES;
  if (given->model->repeats_kv == MODEL_REPEAT_YES && around)
    return conf_settings_fail(given->settings, "training.repeat_kv", error,
                              "keys and values that context ranks exchange are those of the model's own heads");
  return given->model->graph == MODEL_GRAPH_LAYER || recipe->framework == PLAN_DDP ||
         conf_settings_fail(given->settings, "training.compile_graph", error,
                            "framework %s cuts the model's graph at its hooks; one graph is of framework ddp",
                            policy->name);
}

/* Texts among the framework's own keys are its resolve's to free, so that nothing may be refused between. */
static gboolean read_policy(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const PlanPolicy *policy = &plan_policies[recipe->framework];
  if ((!policy->offloads && !refuse_offload(given->settings, recipe, error)) ||
      !check_optimizer(given, recipe, error) || !check_model(given, recipe, error))
    return FALSE;
  if (policy->schema != NULL &&
      !conf_settings_fill(given->settings, policy->schema, (char *)recipe + policy->options, error))
    return FALSE;
  given->model->lora = recipe->trainable.lora;
  plan_axes_share(recipe, &given->model->share);
  if (given->model->loss == MODEL_LOSS_DEFAULT)
    given->model->loss = policy->loss;
  if (policy->hostless)
    recipe->host = NULL;
  return (policy->resolve == NULL || policy->resolve(given, recipe, error)) && check_paged(given, recipe, error) &&
         plan_outputs_check(given, recipe, error);
}

/* A key of another framework's section: said on the command line, it was meant to do something. In files sections of
 * several frameworks may stand side by side. */
typedef struct {
  int framework; /* in force */
  char *stray;
} Stray;

static void find_stray(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  (void)value;
  Stray *stray = user;
  const ConfSchema *own = plan_policies[stray->framework].schema;
  for (int i = 0; i < PLAN_FRAMEWORKS && origin == CONF_ORIGIN_COMMAND_LINE; i++) {
    const ConfSchema *schema = plan_policies[i].schema;
    if (schema == NULL || schema == own || stray->stray != NULL)
      continue;
    g_autofree char *prefix = g_strconcat(schema->keys[0].group, ".", NULL);
    if (g_str_has_prefix(name, prefix))
      stray->stray = g_strdup(name);
  }
}

static gboolean check_sections(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  Stray stray = {.framework = recipe->framework};
  conf_settings_visit(settings, find_stray, &stray);
  g_autofree char *name = stray.stray;
  return name == NULL || conf_settings_fail(settings, name, error, "framework %s does not read it",
                                            plan_policies[recipe->framework].name);
}

void plan_recipe_judge(const ConfSettings *settings, const PlanPlace *place, const ModelShape *shape, PlanJudged judged,
                       BaseErrors *errors) {
  Keys read = {.recipe = {.ranks_per_node = place->ranks_per_node}};
  ModelShape unknown = {.experts = plan_axes_degree(settings, "parallel.expert") > 1 ||
                                   plan_axes_degree(settings, "parallel.expert_tensor") > 1};
  PlanGiven given = {settings, shape != NULL ? shape : &unknown, NULL};
  GError *cause = NULL;
  if (conf_settings_fill(settings, &plan_schema, &read, &cause)) {
    plan_axes_gather(settings, &read.recipe, errors);
    if (judged >= PLAN_JUDGED_LAYOUT && plan_axes_load(&given, place->ranks, read.shard_group, &read.recipe, &cause) &&
        judged >= PLAN_JUDGED_BATCH)
      plan_batch_complete(settings, &read.recipe, &cause);
    base_errors_add(errors, g_steal_pointer(&cause));
    read_checkpointing(settings, &read, &cause);
    base_errors_add(errors, g_steal_pointer(&cause));
    read_version(settings, &read, &cause);
    base_errors_add(errors, g_steal_pointer(&cause));
    check_sections(settings, &read.recipe, &cause);
  }
  base_errors_add(errors, cause);
  conf_struct_clear(&plan_schema, &read);
}

gboolean plan_recipe_load(const ConfSettings *settings, const PlanPlace *place, const ModelShape *shape,
                          ModelRecipe *model, PlanRecipe *ret, GError **error) {
  Keys read = {.recipe = {.ranks_per_node = place->ranks_per_node, .host = place->host}};
  ModelRecipe completed = *model;
  PlanGiven given = {settings, shape, &completed};
  gboolean good = conf_settings_fill(settings, &plan_schema, &read, error) &&
                  plan_axes_load(&given, place->ranks, read.shard_group, &read.recipe, error) &&
                  plan_batch_complete(settings, &read.recipe, error) && read_checkpointing(settings, &read, error) &&
                  read_trainable(&given, &read, error) && check_further(&given, &read.recipe, error) &&
                  check_stacks(&given, &read.recipe, error) && read_version(settings, &read, error) &&
                  check_sections(settings, &read.recipe, error) &&
                  plan_fp8_resolve(&given, &read.recipe, place->capability, error) &&
                  read_policy(&given, &read.recipe, error) && read_early_stop(&given, &read, error) &&
                  plan_axes_check(&given, &read.recipe, error) && model_unit_check(shape, &completed, settings, error);
  if (good)
    *ret = read.recipe, *model = completed;
  conf_struct_clear(&plan_schema, &read);
  return good;
}
