/* SPDX-License-Identifier: MIT */
/* Walking units of a model into rows: which tensor is born and dies with which operation, and what runs again.
 *
 *   PlanWalk *walk = plan_walk_new(builder, &what, holding, compute_stream);      // units of the holding's chunks
 *   plan_walk_section(walk, PROGRAM_STEADY);
 *   … plan_walk_forward(walk, unit) up, plan_walk_backward(walk, unit) down …
 *
 * The step (plan-step.h) walks; what happens around the operations (collectives, buckets, waits) is the policy's, in
 * hooks. Recompute is the walk's: backward runs again what the recipe's activation
 * checkpointing wants. Gives are attached to the next row, whichever that is: the host frees a tensor after it has
 * issued the tensor's last reader. Rows of a policy go through plan_walk_collective, _pass and _host, which settle
 * gives and charge the host; a row added with the builder itself must be followed by plan_walk_settle. */
#pragma once

#include "base-vector.h"
#include "model-recompute.h"
#include "model-train.h"
#include "plan-chunk.h"
#include "plan-exchange.h"
#include "plan-hooks.h"
#include "program.h"

struct HwHost;
struct PlanParameters;
struct PlanHalves;

/* One unit where it stands in the model. */
typedef struct {
  const ModelUnit *unit; /* of PlanWalk.kinds, of this kind */
  ModelUnitKind kind;
  const struct PlanLives *lives; /* own */
  ModelTraining training;
  gboolean keeps_part; /* of its input, for recompute: ModelUnit.keeping */
  ModelSet read_last;  /* SIDE tensors that nobody wants after its forward; */
  ModelSet kept;       /* or that it made and that are kept until its backward begins: plan-sides.h */
  gint32 layer;        /* of the model; -1: embedding, head */
  char name[20];       /* "layer31", "head" */
  guint32 *tensors;    /* own: Program tensors by place and unit tensor, see plan_walk_tensor */
  guint32 *gradients;  /* Program tensor of each parameter's whole gradient; PROGRAM_NONE until the policy makes it */
} PlanUnit;

/* Of what a parameter has beside itself: "layer3.wqkv.grad", "embedding.grad". Caller frees. */
static inline char *plan_unit_tensor_name(const PlanUnit *unit, const char *parameter, const char *what) {
  return unit->layer >= 0 ? g_strconcat(unit->name, ".", parameter, ".", what, NULL)
                          : g_strconcat(parameter, ".", what, NULL);
}

struct PlanWalk {
  ProgramBuilder *builder;
  const PlanRecipe *recipe;
  guint32 stream;        /* of compute */
  guint32 element_bytes; /* of parameters and activations */
  const PlanHolding *holding;
  gboolean unties; /* the head's matrix is none of the rank's embedding */
  PlanUnit *units; /* of all chunks: of one chunk embedding, layers, head */
  guint32 n_units;
  struct PlanParameters *parameters; /* those that are trained */
  const PlanHooks *hooks;            /* of the policy, with its state */
  gpointer policy;
  const struct HwHost *host; /* of the recipe: what each row costs; NULL: nothing */
  gboolean compiled;         /* torch.compile: of the layers no Python is left */
  ProgramSectionKind section;
  guint32 micro;      /* micro-batch of the rows that follow */
  guint32 place;      /* of its tensors */
  guint32 chunk;      /* of the pass */
  guint32 last;       /* the last row of the compute stream in this section; PROGRAM_NONE: none */
  guint32 waited;     /* the last compute row that the host has waited for */
  GArray *reductions; /* guint32: rows of gradients under way, which have still to be waited for */
  gboolean in_step; /* the host waits for each operation before it issues the next: it takes and gives memory as compute
                       goes on, and never limits where it costs nothing */
  /* Own. */
  ModelUnit *kinds[MODEL_TRAININGS][MODEL_UNIT_VARIANTS]; /* those in use */
  struct PlanLives *lives[MODEL_TRAININGS][MODEL_UNIT_VARIANTS][MODEL_RECOMPUTES];
  guint32 *forward_ops[MODEL_TRAININGS][MODEL_UNIT_VARIANTS], *backward_ops[MODEL_TRAININGS][MODEL_UNIT_VARIANTS];
  guint32 *keeping_ops[MODEL_TRAININGS][MODEL_UNIT_VARIANTS];
  struct PlanHalves *halves[MODEL_UNIT_VARIANTS]; /* of units in use, where the schedule splits backward */
  SimTime cost;                                   /* of the host, on the next row */
  GArray *needs;                                  /* guint32: rows for the next compute row */
  BaseVector pending;                             /* ProgramGive: for the next row */
  GByteArray *live;                               /* by Program tensor */
  guint8 *held; /* likewise, at plan_walk_mark; so many, before so many rows; nothing hung over */
  guint n_held;
  guint32 ahead;
  gboolean marked;
  PlanExchanges exchanges;
};

/* `holding` stands as long as the walk. */
PlanWalk *plan_walk_new(ProgramBuilder *builder, const PlanCase *what, const PlanHolding *holding, guint32 stream);
void plan_walk_free(PlanWalk *walk);
/* plan-units.c: a kind of unit at the case's sizes, as the walk has it; caller frees. */
ModelUnit *plan_walk_kind(const PlanWalk *walk, const PlanCase *what, ModelTraining training, ModelUnitKind kind);
/* Whether a unit's tensor is its own in the Program: not a neighbour's, nor that of a maker of sides. */
gboolean plan_walk_owns(const PlanWalk *walk, guint32 unit, guint tensor);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlanWalk, plan_walk_free)

/* A section starts with nothing computed. */
void plan_walk_section(PlanWalk *walk, ProgramSectionKind section);
void plan_walk_forward(PlanWalk *walk, guint32 unit);
void plan_walk_backward(PlanWalk *walk, guint32 unit);
/* A run of a unit's operations: their Program operations, and what dies with each. */
typedef struct {
  const ModelOp *ops;
  guint n;
  const guint32 *program_ops;
  const ModelSet *deaths;
  PlanPass pass;
} PlanRun;
void plan_walk_run(PlanWalk *walk, guint32 unit, const PlanRun *run);
/* The next row on the compute stream waits for this one too; PROGRAM_NONE: nothing. */
void plan_walk_need(PlanWalk *walk, guint32 row);
/* The row just added, of another stream, waits for what compute has issued and for all that it waits for. */
void plan_walk_follow(PlanWalk *walk);
/* The Program tensor at a boundary of a unit, as plan_walk_tensor. */
guint32 *plan_walk_boundary(const PlanWalk *walk, guint32 unit, ModelTensorRole role);

/* Compute waits for all reductions under way, in order. */
void plan_walk_need_reductions(PlanWalk *walk);

/* Rows of the policy; each returns its index. On the compute stream they become `last` and take the pending needs. */
guint32 plan_walk_collective(PlanWalk *walk, guint32 stream, const char *name, guint32 slot, CollCall call,
                             ProgramHint hint);
guint32 plan_walk_pass(PlanWalk *walk, guint32 stream, const char *name, guint32 op);
guint32 plan_walk_pass_costing(PlanWalk *walk, guint32 stream, const char *name, guint32 op, SimTime host);
guint32 plan_walk_copy(PlanWalk *walk, guint32 stream, const char *name, guint64 bytes, ProgramPath path);
guint32 plan_walk_cpu(PlanWalk *walk, guint32 stream, const char *name, guint64 bytes);
guint32 plan_walk_host(PlanWalk *walk, const char *name);

/* Time of the host that the next row is charged. */
void plan_walk_cost(PlanWalk *walk, SimTime cost);

/* A host row that waits for all compute so far; nothing where the host has waited already and no gives are pending. */
void plan_walk_wait(PlanWalk *walk);
/* To be given at the next row, once `stream` (or PROGRAM_NONE) has passed. */
void plan_walk_give(PlanWalk *walk, guint32 tensor, guint32 stream);
/* Of a unit's tensors. */
void plan_walk_give_set(PlanWalk *walk, guint32 unit, ModelSet set);
/* Puts the pending gives on the row just added. */
void plan_walk_settle(PlanWalk *walk);
/* Takes a tensor on the row just added, unless it is held. */
void plan_walk_take(PlanWalk *walk, guint32 tensor);
/* In the first section alone: it lasts. */
void plan_walk_take_once(PlanWalk *walk, guint32 tensor);
/* Remembers what is held and how many rows there are; whether the same is held now, but for what lasts. */
void plan_walk_mark(PlanWalk *walk);
gboolean plan_walk_ends_as_marked(const PlanWalk *walk);

/* FLOPs of one micro-batch, forward and backward. Model: attention in full, nothing twice. Hardware: what is executed
 * (the causal half of flash attention, its longer backward, each operation that runs again). */
void plan_walk_flops(const PlanWalk *walk, double *ret_model, double *ret_hardware);
/* Elements of each unit's own parameters, in unit order; caller frees. */
guint64 *plan_walk_elements(const PlanWalk *walk);
/* Of all units, trained or not, tied ones once. */
guint64 plan_walk_all_elements(const PlanWalk *walk);
/* Of each unit's, those that are trained; caller frees. */
guint64 *plan_walk_trained(const PlanWalk *walk);
/* Whether backward has anything to do in the unit. */
static inline gboolean plan_walk_has_backward(const PlanWalk *walk, guint32 unit) {
  return walk->units[unit].training != MODEL_FROZEN_BELOW;
}
/* The Program tensor of a unit's tensor, of the micro-batch that is walked. */
static inline guint32 *plan_walk_tensor(const PlanWalk *walk, guint32 unit, guint tensor) {
  return &walk->units[unit].tensors[(walk->place * walk->units[unit].unit->n_tensors) + tensor];
}
/* Nobody to share with. */
static inline gboolean plan_walk_alone(const PlanWalk *walk) {
  return walk->recipe->ranks == 1;
}
static inline gboolean plan_walk_last_micro(const PlanWalk *walk) {
  return walk->micro + 1 == plan_recipe_micro_batches(walk->recipe);
}
