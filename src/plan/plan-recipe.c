/* The schema of [training] and [parallel], and the batch identity. */
#include "plan-recipe.h"

const char *const plan_framework_names[] = {"paper", NULL};
static const char *const later_frameworks[] = {"ddp", "deepspeed", "fsdp1", "fsdp2", "megatron", "nanotron", NULL};
const char *const plan_checkpointing_names[] = {"none", "full", NULL};
static const char *const later_checkpointing[] = {"attention", "every-2nd-matmul", "selective",
                                                  "layers:",   "fraction:",        NULL};
static const char *const optimizer_names[] = {"adamw", NULL};
static const char *const later_optimizers[] = {"adam", "adam8bit", "sgd", "lamb", "adafactor", "lion", "muon", NULL};

typedef struct {
  PlanRecipe recipe; /* first: offsets of PlanRecipe are offsets of Keys */
  int optimizer;
} Keys;

#define FIELD(field) G_STRUCT_OFFSET(PlanRecipe, field)
#define LATER(group_, key_, initial_, help_)                                                                           \
  { .group = group_, .key = key_, .kind = CONF_LATER, .initial = initial_, .help = help_ }

static const ConfKey keys[] = {
    {.group = "training",
     .key = "micro_batch",
     .kind = CONF_COUNT,
     .offset = FIELD(micro_batch),
     .min = 1,
     .max = 1e6,
     .help = "sequences per GPU and forward pass; with gradient_accumulation and global_batch: any two give the third"},
    {.group = "training",
     .key = "gradient_accumulation",
     .kind = CONF_COUNT,
     .offset = FIELD(gradient_accumulation),
     .min = 1,
     .max = 1e6,
     .help = "micro-batches per optimizer step"},
    {.group = "training",
     .key = "global_batch",
     .kind = CONF_COUNT,
     .offset = FIELD(global_batch),
     .min = 1,
     .max = 1e9,
     .help = "sequences per optimizer step over all GPUs"},
    {.group = "training",
     .key = "total_tokens",
     .kind = CONF_NUMBER,
     .offset = FIELD(total_tokens),
     .min = 1,
     .max = 1e18,
     .help = "tokens of the whole training, as in 2T: gives days and price"},
    {.group = "training",
     .key = "optimizer",
     .kind = CONF_NAME,
     .offset = G_STRUCT_OFFSET(Keys, optimizer),
     .initial = "adamw",
     .names = optimizer_names,
     .later = later_optimizers,
     .help = "adamw: fp32 momenta, and fp32 master weights where precision is 16 bits"},
    {.group = "training",
     .key = "activation_checkpointing",
     .kind = CONF_NAME,
     .offset = FIELD(checkpointing),
     .initial = "none",
     .names = plan_checkpointing_names,
     .later = later_checkpointing,
     .help = "full: only the input of each layer is kept, the layer is recomputed in backward"},
    LATER("training", "gradient_accumulation_dtype", NULL, "another dtype of accumulated gradients"),
    LATER("training", "gradient_communication_dtype", NULL, "another dtype of communicated gradients"),
    LATER("training", "trainable", "all", "training a part of the parameters (LoRA, frozen layers)"),
    {.group = "parallel",
     .key = "framework",
     .kind = CONF_NAME,
     .offset = FIELD(framework),
     .initial = "paper",
     .names = plan_framework_names,
     .later = later_frameworks,
     .help = "paper: the textbook schedule; 25 MB gradient buckets, one layer of prefetch, the host never limits"},
    {.group = "parallel",
     .key = "zero_stage",
     .kind = CONF_COUNT,
     .offset = FIELD(zero_stage),
     .max = 3,
     .initial = "0",
     .min = 0,
     .help = "0: all copied; 1: optimizer sharded; 2: also gradients; 3: also parameters"},
    LATER("parallel", "framework_version", NULL, "a choice of framework version"),
    LATER("parallel", "shard_group", "all", "hybrid sharding"),
    LATER("parallel", "offload_optimizer", "no", "optimizer offload"),
    LATER("parallel", "offload_parameters", "no", "parameter offload"),
    LATER("parallel", "tensor", "1", "tensor parallelism"),
    LATER("parallel", "pipeline", "1", "pipeline parallelism"),
    LATER("parallel", "interleave", "1", "pipeline interleaving"),
    LATER("parallel", "schedule", NULL, "a choice of pipeline schedule"),
    LATER("parallel", "sequence_parallel", "no", "sequence parallelism"),
    LATER("parallel", "context", "1", "context parallelism"),
    LATER("parallel", "expert", "1", "expert parallelism"),
    LATER("parallel", "expert_tensor", "1", "expert tensor parallelism"),
    LATER("parallel", "rank_order", NULL, "another order of ranks"),
    LATER("deepspeed", "*", NULL, "the DeepSpeed policy"),
    LATER("ddp", "*", NULL, "the DDP policy"),
    LATER("fsdp", "*", NULL, "the FSDP policy"),
    LATER("megatron", "*", NULL, "the Megatron policy"),
    LATER("memory", "*", NULL, "configuring the allocator"),
};
const ConfSchema plan_schema = {keys, G_N_ELEMENTS(keys)};

static gboolean complete_batch(const ConfSettings *settings, PlanRecipe *recipe, GError **error) {
  gboolean micro = conf_settings_given(settings, "training.micro_batch");
  gboolean accumulation = conf_settings_given(settings, "training.gradient_accumulation");
  gboolean global = conf_settings_given(settings, "training.global_batch");
  if (!micro && (!global || !accumulation))
    recipe->micro_batch = 1, micro = TRUE;
  if (!accumulation && !global)
    recipe->gradient_accumulation = 1, accumulation = TRUE;
  if (!global) {
    recipe->global_batch = recipe->micro_batch * recipe->gradient_accumulation * recipe->ranks;
    return TRUE;
  }
  if (micro && accumulation) {
    guint64 product = recipe->micro_batch * recipe->gradient_accumulation * recipe->ranks;
    return product == recipe->global_batch ||
           conf_settings_fail(settings, "training.global_batch", error,
                              "%" G_GUINT64_FORMAT " is not micro_batch %" G_GUINT64_FORMAT
                              " x gradient_accumulation %" G_GUINT64_FORMAT " x %u GPUs = %" G_GUINT64_FORMAT
                              "; leave one of the three out and it follows",
                              recipe->global_batch, recipe->micro_batch, recipe->gradient_accumulation, recipe->ranks,
                              product);
  }
  guint64 *missing = micro ? &recipe->gradient_accumulation : &recipe->micro_batch;
  guint64 known = micro ? recipe->micro_batch : recipe->gradient_accumulation;
  *missing = recipe->global_batch / (known * recipe->ranks);
  return *missing * known * recipe->ranks == recipe->global_batch ||
         conf_settings_fail(settings, "training.global_batch", error,
                            "%" G_GUINT64_FORMAT " is not a multiple of %s %" G_GUINT64_FORMAT
                            " x %u GPUs = %" G_GUINT64_FORMAT,
                            recipe->global_batch, micro ? "micro_batch" : "gradient_accumulation", known, recipe->ranks,
                            known * recipe->ranks);
}

gboolean plan_recipe_load(const ConfSettings *settings, guint32 ranks, PlanRecipe *ret, GError **error) {
  Keys read = {.recipe.ranks = ranks};
  if (!conf_settings_fill(settings, &plan_schema, &read, error) || !complete_batch(settings, &read.recipe, error))
    return FALSE;
  *ret = read.recipe;
  return TRUE;
}
