/* SPDX-License-Identifier: MIT */
/* FSDP's units: which parts of the model are gathered, freed and reduced as one.
 *
 *   PlanWrap *wrap = plan_wrap_new(walk, PLAN_WRAP_BLOCK, 0);
 *   for (guint32 w = 0; w < wrap->n; w++) … wrap->units[w].first, .last, .elements …
 *
 *   block      root{embedding, head}   block 0   block 1 …      the usual: what no unit holds is the root's
 *   ends       embedding   block 0   block 1 …   head           torchtitan: the root holds nothing
 *   none       root{everything}
 *   size:N     as size_based_auto_wrap_policy goes: a module of at least N parameters that no unit inside it holds.
 *              Where N is small that makes units inside a block: its attention, its MLP, single linear layers
 *   adapters   of block and ends, as peft's fsdp_auto_wrap_policy goes: each matrix that is trained beside frozen
 *              ones, so that a flat parameter is trained or frozen as a whole
 *   experts    of block and ends, where other ranks hold a rank's experts: those of a block are a unit inside it, over
 *              their own data ranks (torchtitan's models/moe, apply_fsdp)
 *
 * A unit is gathered before the first of its members (parts of the walk) in forward and before the last in backward; a
 * unit inside a block before and after operations of it. The root comes last. Each chunk of a pipeline rank is a model
 * of its own, with a root. Sources: torch/distributed/fsdp/wrap.py; torchtitan's models/llama3/infra/parallelize.py;
 * peft/utils/other.py. */
#pragma once

#include "plan-walk.h"

typedef enum { PLAN_WRAP_BLOCK, PLAN_WRAP_ENDS, PLAN_WRAP_NONE, PLAN_WRAP_SIZE } PlanWrapKind;

/* Operations of one pass over a part of the walk, both ends within. */
typedef struct {
  guint begin, end;
} PlanSpan;

typedef struct {
  gint32 layer;        /* of a block, and of what is inside one; -1: another unit */
  guint32 chunk;       /* of the rank */
  gboolean root;       /* the module that holds all others of its chunk */
  guint32 first, last; /* parts of the walk: a root's may lie around those of other units */
  const char *inside;  /* module inside a block, "mlp"; NULL: it is whole parts of the walk */
  gboolean apart;      /* the experts of a block, which other ranks hold than hold the rest */
  PlanSpan forward;    /* where it is inside a block: from its first operation to its last */
  PlanSpan backward;   /* from the first that uses it to the last that makes a gradient of it */
  guint64 elements;    /* parameters, tied ones once */
  guint32 parameters;  /* tensors that are trained */
} PlanWrapUnit;

/* Units by part of the walk: of part u `list` from `from[u]` up to, but not with, `from[u + 1]`. */
typedef struct {
  guint32 *from, *list;
} PlanWrapIndex;

typedef struct {
  PlanWrapUnit *units; /* chunk by chunk in order of forward's end: the root is last */
  guint32 n;
  guint32 *begun; /* units chunk by chunk in order of forward's beginning: the root is first */
  guint32 *place; /* by unit: where it stands in `begun` */
  guint32 **of;   /* by part of the walk and parameter of it: its unit */
  guint32 n_parts;
  PlanWrapIndex firsts; /* units whose first part it is, as in `units` */
  PlanWrapIndex lasts;  /* whose last part it is */
  PlanWrapIndex begins; /* whose first part it is, as in `begun` */
  gboolean has_inside;  /* some unit is inside a block */
} PlanWrap;

PlanWrap *plan_wrap_new(const PlanWalk *walk, PlanWrapKind kind, guint64 least);
void plan_wrap_free(PlanWrap *wrap);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlanWrap, plan_wrap_free)

/* The unit of the chunk whose forward begins after this one's; `unit` is the last: PROGRAM_NONE. */
guint32 plan_wrap_next(const PlanWrap *wrap, guint32 unit);
/* The unit that is just this part of the walk; PROGRAM_NONE: none is. */
guint32 plan_wrap_around(const PlanWrap *wrap, guint32 part);
/* Whether the unit holds parameters of this part of the walk. */
gboolean plan_wrap_holds(const PlanWrap *wrap, const PlanWalk *walk, guint32 unit, guint32 part);

/* Whether `size:least` would make a unit of a part of a block (its attention, its MLP or a linear layer alone). */
gboolean plan_wrap_splits_blocks(const ModelShape *shape, guint64 least);

/* Modules inside a block that `size:least` makes units of, inner ones first: which parameters (a mask) each holds that
 * none before it does. Returns how many, at most PLAN_WRAP_INSIDE. plan-wrap-size.c. */
#define PLAN_WRAP_INSIDE 16
typedef struct {
  const char *name;
  guint64 parameters; /* of the unit's, a mask */
  guint64 span;       /* parameters of the module, those of units inside it too */
} PlanWrapModule;
guint plan_wrap_inside(const ModelUnit *block, guint64 least, PlanWrapModule *ret);

/* fp8: as ModelParameter; alike: every tensor rank holds the same. */
typedef enum { PLAN_WRAP_ALL, PLAN_WRAP_TRAINED, PLAN_WRAP_FP8, PLAN_WRAP_ALIKE } PlanWrapWhich;

/* Elements of one rank's shard of a unit, or of what of it is trained; all ranks' are as long. A flat parameter (FSDP1)
 * is padded to a multiple of the ranks, its parameters beginning on `aligned` elements (1: anywhere); FSDP2 cuts each
 * parameter by rows, and pads each to whole rows for every rank. Source: _flat_param.py; _fsdp_param.py. */
guint64 plan_wrap_flat_shard(const PlanWrap *wrap, const PlanWalk *walk, PlanWrapWhich which, guint32 unit,
                             guint32 ranks, guint64 aligned);
guint64 plan_wrap_rows_shard(const PlanWrap *wrap, const PlanWalk *walk, PlanWrapWhich which, guint32 unit,
                             guint32 ranks);
