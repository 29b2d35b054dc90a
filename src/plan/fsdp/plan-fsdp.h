/* SPDX-License-Identifier: MIT */
/* PyTorch's FSDP, what its two generations share: units, communicators, the order of hooks, the optimizer's step.
 * Private to this floor.
 *
 *   forward    pre_forward(root)   pre_forward(0) block 0 post_forward(0)   …   post_forward(root)
 *   backward   pre_backward(root)   …   pre_backward(0) block 0 post_backward(0)   post_backward(root)   end_backward
 *
 * Units below all that is trained have no backward hooks: what of them is still gathered is freed when backward ends.
 * plan-fsdp1.c and plan-fsdp2.c say what the hooks issue: those are the policies. Between steps gradients are gone
 * (zero_grad sets them to none), and the host reads the loss, so each step begins when the one before has ended. */
#pragma once

#include "plan-autocast.h"
#include "plan-fsdp-unit.h"
#include "plan-optimizer.h"
#include "plan-paged.h"
#include "plan-parameters.h"
#include "plan-policy.h"
#include "plan-walk.h"
#include "plan-wrap.h"

typedef struct PlanFsdp PlanFsdp;

typedef struct {
  /* Elements of one rank's shard: of a unit, of what of it is reduced, of what of it the optimizer updates. */
  guint64 (*shard)(const PlanFsdp *fsdp, guint32 unit);
  guint64 (*reduced_shard)(const PlanFsdp *fsdp, guint32 unit);
  void (*start)(PlanFsdp *fsdp); /* adds its streams */
  void (*begin_section)(PlanFsdp *fsdp);
  void (*pre_forward)(PlanFsdp *fsdp, guint32 unit);
  void (*post_forward)(PlanFsdp *fsdp, guint32 unit);
  void (*end_forward)(PlanFsdp *fsdp);                 /* NULL: nothing */
  void (*pre_recompute)(PlanFsdp *fsdp, guint32 unit); /* checkpoints_outside; NULL: it has no such */
  void (*post_recompute)(PlanFsdp *fsdp, guint32 unit);
  void (*pre_backward)(PlanFsdp *fsdp, guint32 unit);
  void (*post_backward)(PlanFsdp *fsdp, guint32 unit, gboolean gradients); /* whether those of its weights have come */
  void (*end_inputs)(PlanFsdp *fsdp); /* of a backward in two passes; NULL: it has no such */
  void (*end_backward)(PlanFsdp *fsdp);
} PlanFsdpSchedule;
extern const PlanFsdpSchedule plan_fsdp1_schedule, plan_fsdp2_schedule;

typedef struct {
  guint32 tensors; /* that split matmuls */
  gboolean piped;  /* units stay gathered and gradients whole until a chunk's last backward */
} PlanFsdpRanks;

/* Communicators; of tensor, pipeline and those that hold different experts PROGRAM_NONE: there is one rank. */
typedef struct {
  guint32 kept, tensor, pipeline, expert;
} PlanFsdpSlots;

typedef struct {
  guint32 compute, copies, gathers, reduces, all_reduces, tensor;
  guint32 cpu; /* offload: the host's cores */
} PlanFsdpStreams;

typedef struct {
  gboolean fp16;         /* gradients are reduced in it */
  gboolean postdivides;  /* a mean is divided again after the reduction */
  gboolean holds_output; /* FSDP2's hybrid sharding: outputs of the reduce-scatter live until backward ends */
} PlanFsdpReduction;

typedef struct {
  guint64 elements; /* that this rank updates */
  PlanUpdate *update;
  PlanPaged paged;
  gboolean is_foreach; /* it makes a list of all tensors' temporaries at once */
} PlanFsdpOptimizer;

/* FSDP2: what is gathered in fp8. */
typedef struct {
  guint32 find;    /* op that finds its largest value; PROGRAM_NONE: nothing is */
  guint32 tensors; /* of it */
} PlanFsdpFp8;

/* While a section is built. */
typedef struct {
  gboolean syncs; /* this micro-batch's gradients are reduced */
  gboolean in_forward;
  gboolean adds_in_place; /* parameter by parameter, into gradients that stay */
  guint half_tied;     /* parameter whose head's gradient is there, the embedding's to come; PLAN_NO_PARAMETER: none */
  guint32 last_reduce; /* row after which the newest gradient shard is whole; PROGRAM_NONE: none in this backward */
  guint32 event;       /* what gathers must wait for */
} PlanFsdpMoment;

/* The same, of FSDP1 and of FSDP2 alone. */
typedef struct {
  GArray *frees; /* guint32: rows after which freed units' memory is free */
} PlanFsdp1Moment;

typedef struct {
  guint32 gathered;    /* the all-gather's output that is still held; PROGRAM_NONE: none */
  guint32 copied;      /* row that copied it out */
  guint32 reducing;    /* unit whose reduction's input is still held */
  guint32 scattered;   /* row of the newest reduce-scatter of this backward */
  gboolean in_weights; /* of a backward in two passes: the second */
  guint32 *added;      /* own, by parameter: tensor of a gradient beside a fresh one; PROGRAM_NONE: none yet */
} PlanFsdp2Moment;

struct PlanFsdp {
  const PlanRecipe *recipe;
  const PlanFsdpKeys *keys;
  const PlanFsdpSchedule *schedule;
  ProgramBuilder *builder;
  PlanWalk *walk;
  PlanWrap *wrap;
  PlanFsdpUnit *units;        /* by unit of the wrap */
  GArray *ops;                /* of copies and casts, once each */
  guint32 receive_buffers;    /* tensor; PROGRAM_NONE: none */
  PlanAutocast *autocast;     /* parameters are gathered wider than matmuls read them; NULL: they are alike */
  PlanFsdpData data, experts; /* of all units but those apart; of these, whose ranks are fewer */
  PlanFsdpRanks ranks;
  PlanFsdpSlots slots;
  PlanFsdpStreams streams;
  PlanFsdpReduction reduction;
  PlanFsdpOptimizer optimizer;
  PlanFsdpFp8 fp8;
  PlanFsdpMoment now;
  PlanFsdp1Moment first;
  PlanFsdp2Moment second;
};

/* Before the first step. plan-fsdp-units.c. */
void plan_fsdp_add_communicators(PlanFsdp *fsdp);
void plan_fsdp_add_units(PlanFsdp *fsdp);

/* A row that moves bytes, once `need` (or PROGRAM_NONE) has ended; a collective likewise. */
guint32 plan_fsdp_move(PlanFsdp *fsdp, guint32 stream, guint32 need, const char *name, guint64 bytes);
guint32 plan_fsdp_collective(PlanFsdp *fsdp, guint32 stream, guint32 need, const char *name, guint32 slot,
                             CollOperation operation, guint64 bytes);
/* What the hooks of one unit cost the host. */
void plan_fsdp_hook_cost(PlanFsdp *fsdp);
void plan_fsdp_context(PlanFsdp *fsdp, ProgramPhase phase, guint32 unit);
/* Gives the whole gradients of a unit's parameters. */
void plan_fsdp_give_gradients(PlanFsdp *fsdp, guint32 unit);
/* Tensor that a unit's reduce-scatter writes: the gradient shard itself where that is neither cast nor added to. */
guint32 plan_fsdp_reduced(const PlanFsdp *fsdp, guint32 unit);
/* From `held`, reduced within the shard group by `row`, to the shard that the optimizer reads: all-reduced over copies,
 * divided, cast, added to what earlier micro-batches left. */
void plan_fsdp_finish_gradient(PlanFsdp *fsdp, guint32 unit, guint32 row, guint32 held);

/* What follows from other axes than data: fills and checks; plan-fsdp-axes.c. */
gboolean plan_fsdp2_axes(const PlanGiven *given, PlanRecipe *recipe, GError **error);

/* FSDP2 beside other axes (plan-fsdp2-axes.c): the gradient of parameters that tensor ranks hold whole, summed over
 * them before it is reduced; the end of a chunk's last backward under a pipeline. */
void plan_fsdp2_sum_gradients(PlanFsdp *fsdp, guint32 unit);
void plan_fsdp2_reduce_chunk(PlanFsdp *fsdp, guint32 chunk);
/* A parameter's gradient has come in the pass for weights, which has no hooks. */
void plan_fsdp2_weight_gradient(PlanFsdp *fsdp, guint parameter, guint32 tensor);
/* The pass for weights of a chunk has ended. */
void plan_fsdp2_weights_ended(PlanFsdp *fsdp, guint32 chunk);
/* Tensor of all that other stages send in a step; PROGRAM_NONE: they send nothing. */
guint32 plan_fsdp2_receive_buffers(const PlanFsdp *fsdp);
void plan_fsdp2_reduce_unit(PlanFsdp *fsdp, guint32 unit);

/* Hooks of units inside a block, around the operations of the block `part`. plan-fsdp-inside.c. */
void plan_fsdp_inside_before(PlanFsdp *fsdp, guint32 part, const ModelOp *op, PlanPass pass);
void plan_fsdp_inside_after(PlanFsdp *fsdp, guint32 part, const ModelOp *op, PlanPass pass);

/* Offload. My shard from the host, on `stream` once `need` has ended; a gradient shard to the host, after last_reduce;
 * the optimizer's step. */
guint32 plan_fsdp_fetch(PlanFsdp *fsdp, guint32 unit, guint32 stream, guint32 need);
void plan_fsdp_offload_gradient(PlanFsdp *fsdp, guint32 unit, guint32 stream);
void plan_fsdp_offloaded_step(PlanFsdp *fsdp);
