/* SPDX-License-Identifier: MIT */
/* How training is laid over ranks: batch, accumulation, recompute, framework, ZeRO stage, and the framework's own
 * options.
 *
 *   PlanRecipe recipe;
 *   PlanPlace place = {hw_cluster_gpus(cluster), cluster->gpus_per_node, cluster->host};
 *   if (!plan_recipe_load(settings, &place, &shape, &model_recipe, &recipe, error)) return FALSE;
 *
 * Batch identity: global_batch = micro_batch × gradient_accumulation × data ranks. Any two of the three may be
 * given and the third follows; one alone takes 1 for what is missing; three must agree. A recipe owns nothing. */
#pragma once

#include "conf-settings.h"
#include "layout-load.h"
#include "model-recipe.h"
#include "model-shape.h"
#include "plan-checkpoint.h"
#include "plan-ddp.h"
#include "plan-deepspeed.h"
#include "plan-fsdp-keys.h"
#include "plan-megatron.h"
#include "plan-nanotron.h"
#include "plan-trainable.h"

struct HwHost;

typedef enum {
  PLAN_PAPER,
  PLAN_DDP,
  PLAN_DEEPSPEED,
  PLAN_FSDP1,
  PLAN_FSDP2,
  PLAN_MEGATRON,
  PLAN_NANOTRON,
  PLAN_FRAMEWORKS
} PlanFramework;
extern const char *const plan_framework_names[];

typedef enum { PLAN_DTYPE_DEFAULT, PLAN_DTYPE_BF16, PLAN_DTYPE_FP16, PLAN_DTYPE_FP32 } PlanDtype;
/* Bytes of an element; of DEFAULT: `or`. */
guint32 plan_dtype_bytes(int dtype, guint32 or);

typedef enum { PLAN_OFFLOAD_NO, PLAN_OFFLOAD_CPU } PlanOffload;

/* TORCH_DISTRIBUTED_DEBUG. */
typedef enum { PLAN_DEBUG_OFF, PLAN_DEBUG_DETAIL } PlanDebug;

/* How a framework's pipeline sends and receives; its policy says. */
typedef struct {
  guint32 group;            /* of the interleaved schedule, see plan-schedule.h */
  gboolean batches;         /* what goes to a neighbour and what comes from it between two passes is one exchange, where
                               the neighbour's passes stand so too */
  gboolean in_turn;         /* of which activations go first, and gradients once they have come; else both at once */
  gboolean waits_for_sends; /* compute does, before it goes on: only where neighbours cannot wait for each other */
  gboolean blocks;          /* so does the host, for whatever compute waits for */
  gboolean early;         /* a receive is issued after the pass of its kind before, and compute goes on; no exchanges */
  gboolean keeps_outputs; /* until their backward; else they are freed once they are sent */
  gboolean receives_first; /* what a backward needs, before the forward before it has sent */
  gboolean buffers;        /* what is received lies in buffers that the policy holds: it takes nothing of its own */
  guint32 parts, gradient_parts; /* of an output, and of its gradient, each tensor rank sends one; 0: 1, the whole */
  guint32 headers;               /* small messages ahead of each tensor */
} PlanPipeline;

typedef struct PlanRecipe {
  guint32 ranks; /* that hold the same parameters, and average their gradients: data ranks × context ranks */
  guint32 ranks_per_node;
  LayoutRecipe axes;      /* of no ranks: data parallelism alone */
  gboolean experts_apart; /* other ranks hold a rank's experts than hold its other parameters: their gradients are
                             averaged over LAYOUT_EXPERT_DATA */
  PlanPipeline pipeline;  /* where there is one */
  guint64 micro_batch, gradient_accumulation, global_batch; /* sequences */
  guint64 micro_batches; /* that rows are written for, by which others are counted; 0: all */
  double total_tokens;   /* 0: not stated */
  int framework;
  PlanCheckpointing checkpointing;
  PlanTrainable trainable;
  int optimizer, optimizer_style;              /* PlanOptimizer, PlanOptimizerStyle */
  gboolean paged;                              /* states are managed memory (plan-paged.h) */
  gboolean pages_move;                         /* they have not all room on the GPU; set by who plays */
  guint64 pages_room;                          /* then: bytes that have */
  double gradient_clipping;                    /* largest norm; 0: none */
  int accumulation_dtype, communication_dtype; /* PlanDtype, of gradients */
  guint64 zero_stage;
  guint32 version;       /* of the framework, see plan-version.h; 0: its newest */
  guint32 version_asked; /* where that is older than the oldest known, which is `version`; 0: it is not */
  guint32 shard_ranks;   /* of `ranks`, those that a sharded state is spread over: all, or fewer (hybrid sharding) */
  PlanFsdpKeys fsdp;     /* [fsdp] */
  const struct HwHost *host;                 /* the cluster's; NULL: the host never limits */
  int offload_optimizer, offload_parameters; /* PlanOffload */
  int distributed_debug;                     /* PlanDebug */
  PlanDdp ddp;
  PlanDeepspeed deepspeed;
  PlanMegatron megatron;
  PlanNanotron nanotron;
} PlanRecipe;

/* Micro-batches of a step that rows are written for. */
static inline guint64 plan_recipe_micro_batches(const PlanRecipe *recipe) {
  return recipe->micro_batches > 0 ? recipe->micro_batches : recipe->gradient_accumulation;
}

/* [training] and [parallel] keys of this floor, and the groups of features that are not modelled yet; then one per
 * framework section. Writes at most `room`, returns how many there are. */
gsize plan_schemas(ConfSchema *ret, gsize room);
#define PLAN_SCHEMAS_MOST 10

/* Defaults that the framework in force has for keys of the model's recipe, where nobody gave them. Call it before
 * model_recipe_load. */
gboolean plan_put_defaults(ConfSettings *settings, GError **error);

/* Where training runs, as far as this floor knows. */
typedef struct {
  guint32 ranks, ranks_per_node;
  const struct HwHost *host; /* what rows cost it; NULL: nothing */
  guint32 capability;        /* compute capability of the GPUs, as 90; 0: not known */
} PlanPlace;

/* `model`: as model_recipe_load read it; completed by what depends on the framework and on what is trained (adapters,
 * weights that come cast, the loss where it is left to the framework, the rank's share). Errors: SIM_ERROR_INPUT at the
 * key: the batch identity is broken, or the framework refuses a combination; then neither is written. */
gboolean plan_recipe_load(const ConfSettings *settings, const PlanPlace *place, const ModelShape *shape,
                          ModelRecipe *model, PlanRecipe *ret, GError **error);

/* How much of a recipe can be judged though other files or settings are at fault: what its framework has, how it lays
 * ranks out (of a place that is known), the batch over them too. */
typedef enum { PLAN_JUDGED_FRAMEWORK, PLAN_JUDGED_LAYOUT, PLAN_JUDGED_BATCH } PlanJudged;
/* Adds every reason to refuse that stands by itself, where plan_recipe_load tells the first alone. `shape`: NULL where
 * the model is not known. */
void plan_recipe_judge(const ConfSettings *settings, const PlanPlace *place, const ModelShape *shape, PlanJudged judged,
                       BaseErrors *errors);

typedef struct {
  const char *name, *value;
} PlanSetting;

/* What of the framework's own may make a run need less memory; ends with a name of NULL. */
const PlanSetting *plan_remedies(int framework);
/* Axes other than data that the framework has: of tensor, context, pipeline, expert. Whether its tensor ranks can split
 * the sequence between their matmuls. */
LayoutSet plan_framework_axes(int framework);
gboolean plan_framework_sequence_parallel(int framework);
/* Pipeline schedules that it has, a bit for each LayoutSchedule. */
guint plan_framework_schedules(int framework);
/* Settings, with spaces between, under which another framework shards what this one cannot; ends with NULL. */
const char *const *plan_elsewhere(int framework);

/* Values of plan_knobs that depend on the run: half, twice, ten times what the setting is, the GPUs of a node. */
#define PLAN_KNOB_HALF    "@half"
#define PLAN_KNOB_TWICE   "@twice"
#define PLAN_KNOB_TENFOLD "@tenfold"
#define PLAN_KNOB_NODE    "@node"
/* What of the framework's own may make a step faster, a value that is worth a try a row; ends with a name of NULL. */
const PlanSetting *plan_knobs(int framework);
/* Axes of parallelism beside data's that it has: a LayoutSet. */
guint plan_axes(int framework);
