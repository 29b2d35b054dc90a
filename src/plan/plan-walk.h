/* Walking units of a model into rows: which tensor is born and dies with which operation.
 *
 *   PlanWalk *walk = plan_walk_new(builder, shape, model_recipe, micro_batch, ranks, compute_stream);
 *   plan_walk_forward(walk, unit, PLAN_KEEP);          // or PLAN_DISCARD under recompute
 *   plan_walk_recompute(walk, unit); plan_walk_backward(walk, unit);
 *
 * Every policy walks with this; what happens around the operations (collectives, buckets, waits) is the policy's. Gives
 * are attached to the next row, whichever that is: the host frees a tensor after it has issued the tensor's last
 * reader. */
#pragma once

#include "model-recipe.h"
#include "model-shape.h"
#include "model-unit.h"
#include "program.h"

/* One unit where it stands in the model. */
typedef struct {
  const ModelUnit *unit;
  gint32 layer;       /* -1: embedding, head */
  guint32 *tensors;   /* Program tensor of each unit tensor */
  guint32 *gradients; /* Program tensor of each parameter's whole gradient; PROGRAM_NONE until the policy makes it */
} PlanUnit;

typedef struct PlanWalk PlanWalk;

/* Called after the row that completes a parameter's gradient was added: the row may still be given takes. */
typedef void (*PlanGradient)(PlanWalk *walk, guint32 unit, guint parameter, guint32 row, gpointer user);

struct PlanWalk {
  ProgramBuilder *builder;
  guint32 stream;  /* of compute */
  PlanUnit *units; /* embedding, layers, head */
  guint32 n_units;
  PlanGradient gradient; /* set by the policy; NULL: nothing */
  gpointer user;
  const struct HwHost *host; /* what each row costs; NULL: nothing */
  guint32 last;              /* the last compute row of this section; PROGRAM_NONE: none */
  guint32 waited;            /* the last compute row that the host has waited for */
  guint32 need;              /* a row that the next compute row must wait for; PROGRAM_NONE: none */
  gboolean in_step; /* the host waits for each operation before it issues the next: it takes and gives memory as compute
                       goes on, and never limits where it costs nothing */
  /* Own. */
  ModelUnit *kinds[MODEL_UNIT_KINDS];
  struct PlanLives *lives[MODEL_UNIT_KINDS];
  guint32 *forward_ops[MODEL_UNIT_KINDS], *backward_ops[MODEL_UNIT_KINDS];
  GArray *pending;  /* ProgramGive: for the next row */
  GByteArray *live; /* by Program tensor */
};

typedef enum {
  PLAN_KEEP,      /* autograd keeps what backward needs */
  PLAN_DISCARD,   /* only the unit's input is kept: backward recomputes */
  PLAN_RECOMPUTE, /* the second forward */
} PlanForward;

PlanWalk *plan_walk_new(ProgramBuilder *builder, const ModelShape *shape, const ModelRecipe *recipe,
                        guint64 micro_batch, guint32 stream);
void plan_walk_free(PlanWalk *walk);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlanWalk, plan_walk_free)

/* A section starts with nothing computed. */
void plan_walk_section(PlanWalk *walk, ProgramSectionKind section);
void plan_walk_forward(PlanWalk *walk, guint32 unit, PlanForward mode, gint32 micro);
void plan_walk_backward(PlanWalk *walk, guint32 unit, gboolean recomputed, gint32 micro);

/* A host row that waits for all compute so far; nothing where the host has waited already and no gives are pending. */
void plan_walk_wait(PlanWalk *walk);
/* To be given at the next row, once `stream` (or PROGRAM_NONE) has passed. */
void plan_walk_give(PlanWalk *walk, guint32 tensor, guint32 stream);
/* Puts the pending gives on the row just added: every policy calls it after each row of its own. */
void plan_walk_settle(PlanWalk *walk);
/* Takes a tensor on the row just added, unless it is held. */
void plan_walk_take(PlanWalk *walk, guint32 tensor);

/* FLOPs of one micro-batch, forward and backward. Model: attention in full, nothing twice. Hardware: what is executed (the
 * causal half of flash attention, its longer backward, each layer's forward again where it is recomputed). */
void plan_walk_flops(const PlanWalk *walk, gboolean recomputes, double *ret_model, double *ret_hardware);
/* Elements of each unit's own parameters, in unit order; caller frees. */
guint64 *plan_walk_elements(const PlanWalk *walk);
