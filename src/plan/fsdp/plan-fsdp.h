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

#include "plan-optimizer.h"
#include "plan-parameters.h"
#include "plan-policy.h"
#include "plan-walk.h"
#include "plan-wrap.h"

typedef struct {
  guint64 shard, padded;                 /* elements: of one rank, of all that share */
  guint64 reduced_shard, reduced_padded; /* of what is reduced; 0: nothing of the unit is trained */
  guint64 gathered_bytes;                /* of all that share */
  guint64 fp8_shard;                     /* elements of my shard that are cast to fp8 to be gathered */
  guint64 owned;                         /* what this rank's optimizer updates */
  guint64 replicated;                    /* of its elements, those that every tensor rank holds */
  gboolean reshards;                     /* after forward */
  gboolean has_backward;                 /* something of it, or below it, is trained */
  /* Tensors. */
  guint32 unsharded;      /* what the operations read */
  guint32 fetched;        /* offload: my shard, come from the host */
  guint32 gathering;      /* FSDP2: the all-gather's output; FSDP1: my shard, cast */
  guint32 regathering;    /* FSDP2: the output in backward */
  guint32 kept;           /* FSDP2: the smaller shard that reshard_after_forward = N leaves */
  guint32 gradient;       /* FSDP1: the flat gradient; FSDP2: the accumulated one */
  guint32 joined;         /* FSDP1: a flat gradient on its way into the one that is there */
  guint32 reducing;       /* input of the reduction, where it is not the gradient */
  guint32 reduced;        /* its output, until it is cast or added */
  guint32 gradient_shard; /* what the optimizer reads */
  /* While a section is built. */
  gboolean is_awaited;    /* FSDP1: its backward is to come */
  gboolean has_offloaded; /* offload: the host has a gradient shard of this step */
  gboolean is_unsharded, is_kept, has_gradient, has_shard, holds_reduced;
  guint32 gather;                          /* row that compute has still to wait for; PROGRAM_NONE: none */
  guint32 parameters, states, temporaries; /* tensors: this rank's shard, its optimizer's */
} PlanFsdpUnit;

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
  void (*post_backward)(PlanFsdp *fsdp, guint32 unit);
  void (*end_backward)(PlanFsdp *fsdp);
} PlanFsdpSchedule;
extern const PlanFsdpSchedule plan_fsdp1_schedule, plan_fsdp2_schedule;

struct PlanFsdp {
  const PlanRecipe *recipe;
  const PlanFsdpKeys *keys;
  const PlanFsdpSchedule *schedule;
  ProgramBuilder *builder;
  PlanWalk *walk;
  PlanWrap *wrap;
  PlanFsdpUnit *units;                /* by unit of the wrap */
  guint32 shards, replicas;           /* ranks that share one copy; copies */
  guint32 tensors;                    /* ranks that split matmuls */
  gboolean piped;                     /* units stay gathered and gradients whole until a chunk's last backward */
  guint32 tensor_slot, pipeline_slot; /* PROGRAM_NONE: there is one rank */
  guint32 tensor_stream;
  guint32 receive_buffers;                                /* tensor; PROGRAM_NONE: none */
  guint32 shard_slot, replica_slot, kept_slot;            /* communicators */
  guint32 compute, copies, gathers, reduces, all_reduces; /* streams */
  gboolean fp16;                                          /* gradients are reduced in it */
  gboolean postdivides;                                   /* a mean is divided again after the reduction */
  gboolean holds_reduced; /* FSDP2's hybrid sharding: outputs of the reduce-scatter live until backward ends */
  guint32 cpu;            /* offload: stream of the host's cores */
  guint64 owned;          /* elements that this rank's optimizer updates */
  PlanUpdate *update;
  gboolean is_foreach; /* the optimizer: it makes a list of all tensors' temporaries at once */
  GArray *ops;         /* of copies and casts, once each */
  /* While a section is built. */
  gboolean syncs; /* this micro-batch's gradients are reduced */
  gboolean in_forward;
  gboolean adds_in_place; /* parameter by parameter, into gradients that stay */
  guint half_tied;     /* parameter whose head's gradient is there, the embedding's to come; PLAN_NO_PARAMETER: none */
  guint32 last_reduce; /* row after which the newest gradient shard is whole; PROGRAM_NONE: none in this backward */
  guint32 event;       /* what gathers must wait for */
  guint32 gathered;    /* FSDP2: the all-gather's output that is still held; PROGRAM_NONE: none */
  guint32 copied;      /* FSDP2: row that copied it out */
  guint32 reducing;    /* FSDP2: unit whose reduction's input is still held */
  guint32 scattered;   /* FSDP2: row of the newest reduce-scatter of this backward */
  guint32 scales;      /* FSDP2: op that finds the largest value of what is gathered in fp8; PROGRAM_NONE: nothing is */
  guint32 scaled;      /* tensors of it */
  GArray *frees;       /* FSDP1: rows after which freed units' memory is free */
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
