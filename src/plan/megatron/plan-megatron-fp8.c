/* SPDX-License-Identifier: MIT */
/* Transformer Engine's fp8 over micro-batches: copies of the weights, and largest values that ranks share.
 *
 *   first micro-batch   C: … cast W ─ W's matmul …          (is_first_microbatch: kept for those that follow)
 *   before a pass       all-reduce of largest values of the pass before, C: scales from them (delayed scaling)
 *   fp8_param_gather    the parameter buffer is fp8 itself: half is gathered, and W is turned, or nothing, in place of
 *                       being cast; mxfp8 gathers 16 bits, of which each rank casts both ways
 *
 * Sources: transformer_engine/pytorch/module/base.py (get_weight_workspace), fp8.py (reduce_and_update_fp8_tensors);
 * megatron/core/extensions/transformer_engine.py, core/fp8_utils.py, core/distributed/param_and_grad_buffer.py. */
#include "mem-tenant.h"
#include "plan-groups.h"
#include "plan-megatron-state.h"

#define FP8             1.0
#define MX_SCALE        (1.0 / 32) /* bytes of scales for an element of mxfp8 */
#define AMAXES          3          /* largest values that a weight's layer takes: of input, weight, output's gradient */
#define PARAMETER_BYTES 2.0

struct MegatronFp8 {
  gboolean gathers, mx, turns, largest; /* largest: a scale is found as a tensor is cast, by a pass of its own */
  gboolean shares;                      /* delayed scaling */
  guint32 copies;                       /* tensor; PROGRAM_NONE: the parameter buffer is all there is */
  PlanParameters *all;                  /* frozen ones beside adapters too */
  guint32 *casts;                       /* of them: op; PROGRAM_NONE: nothing is to be done for it */
  guint64 *of_bucket;                   /* elements */
  guint64 weights;                      /* how many */
  guint32 slot, update, unit;           /* unit: at which the pass that was begun last begins */
};

/* Copies of an element, both ways. */
static double copy_bytes(const MegatronFp8 *fp8) {
  double one = FP8 + (fp8->mx ? MX_SCALE : 0);
  return fp8->mx || fp8->turns ? 2 * one : one;
}

/* What is moved for an element before its first matmul: read for the largest value, read, and written both ways.
 * Weights that came in fp8 are turned. */
static double cast_bytes(const MegatronFp8 *fp8) {
  if (fp8->gathers && !fp8->mx)
    return fp8->turns ? 2 * FP8 : 0;
  return (fp8->largest ? 2 : 1) * PARAMETER_BYTES + copy_bytes(fp8);
}

/* Of memory that an element takes beside the parameter buffer (below 0: of which the buffer needs less). */
static double more_bytes(const MegatronFp8 *fp8) {
  return fp8->gathers ? copy_bytes(fp8) - PARAMETER_BYTES : copy_bytes(fp8);
}

static guint32 op_of(Megatron *megatron, guint64 elements, double bytes) {
  return bytes > 0 ? program_builder_memory_op(megatron->builder, (guint64)(bytes * (double)elements)) : PROGRAM_NONE;
}

static guint64 count(Megatron *megatron, MegatronFp8 *fp8) {
  guint64 elements = 0;
  fp8->all = plan_parameters_all(megatron->walk);
  fp8->casts = g_new(guint32, fp8->all->n);
  fp8->of_bucket = g_new0(guint64, megatron->layout->buckets->n);
  for (guint i = 0; i < fp8->all->n; i++) {
    guint64 of_one = fp8->all->list[i].elements;
    gboolean casts = plan_parameters_model(fp8->all, megatron->walk, i)->fp8;
    fp8->casts[i] = casts ? op_of(megatron, of_one, cast_bytes(fp8)) : PROGRAM_NONE;
    if (!casts)
      continue;
    guint p = plan_parameters_find(megatron->parameters, fp8->all->list[i].unit, fp8->all->list[i].index);
    if (p != PLAN_NO_PARAMETER)
      fp8->of_bucket[megatron->layout->buckets->of[p]] += of_one;
    fp8->weights++;
    elements += of_one;
  }
  return elements;
}

/* Tensor, context and data ranks of a stage share their largest values. */
static void share_largest(Megatron *megatron, MegatronFp8 *fp8) {
  LayoutSet all = LAYOUT_BIT(LAYOUT_TENSOR) | LAYOUT_BIT(LAYOUT_CONTEXT) | LAYOUT_DATA;
  Layout layout = plan_groups_layout(megatron->recipe);
  fp8->shares = layout_group_size(&layout, all) > 1;
  if (!fp8->shares)
    return;
  fp8->slot = plan_groups_of(megatron->builder, "largest values", megatron->recipe, all);
  fp8->update = program_builder_memory_op(megatron->builder, AMAXES * fp8->weights * sizeof(float));
}

void megatron_fp8_new(Megatron *megatron, const ModelRecipe *model) {
  if (model->precision != MODEL_FP8)
    return;
  MegatronFp8 *fp8 = megatron->fp8 = g_new0(MegatronFp8, 1);
  fp8->gathers = megatron->options->fp8_param_gather;
  fp8->mx = model->fp8_scaling == MODEL_FP8_MX;
  fp8->turns = model->fp8_turns;
  fp8->largest = model->fp8_scaling == MODEL_FP8_TENSORWISE;
  fp8->unit = G_MAXUINT32;
  guint64 elements = count(megatron, fp8);
  double more = more_bytes(fp8) * (double)elements;
  if (model->fp8_scaling == MODEL_FP8_DELAYED)
    share_largest(megatron, fp8);
  fp8->copies = more > 0 ? program_builder_tensor(megatron->builder, "weights in fp8", MEM_PARAMETERS, (guint64)more, 0)
                         : PROGRAM_NONE;
  megatron->less_weights = more < 0 ? (guint64)-more : 0;
}

void megatron_fp8_free(MegatronFp8 *fp8) {
  if (fp8 == NULL)
    return;
  plan_parameters_free(fp8->all);
  g_free(fp8->casts);
  g_free(fp8->of_bucket);
  g_free(fp8);
}

void megatron_fp8_load(Megatron *megatron) {
  if (megatron->fp8 != NULL && megatron->fp8->copies != PROGRAM_NONE)
    plan_walk_take(megatron->walk, megatron->fp8->copies);
}

guint64 megatron_gather_bytes(const Megatron *megatron, guint b) {
  const MegatronFp8 *fp8 = megatron->fp8;
  guint64 bytes = megatron->layout->buckets->list[b].elements * megatron->options->parameter_bytes;
  gboolean fewer = fp8 != NULL && fp8->gathers && !fp8->mx;
  return fewer ? bytes - fp8->of_bucket[b] * (megatron->options->parameter_bytes - 1) : bytes;
}

/* Largest values of the pass before, all of this stage's in one call on compute's stream. */
static void update_scales(Megatron *megatron) {
  const MegatronFp8 *fp8 = megatron->fp8;
  PlanWalk *walk = megatron->walk;
  guint32 before = walk->last;
  guint32 row =
      plan_walk_collective(walk, walk->stream, "all-reduce largest values", fp8->slot,
                           (CollCall){COLL_ALL_REDUCE, AMAXES * fp8->weights * sizeof(float)}, PROGRAM_HINT_BOUNDARY);
  if (before != PROGRAM_NONE)
    program_builder_need(megatron->builder, before);
  plan_walk_pass(walk, walk->stream, "scales", fp8->update);
  program_builder_need(megatron->builder, row);
}

void megatron_fp8_before_unit(Megatron *megatron, guint32 unit, PlanPass pass) {
  const PlanHolding *holding = megatron->walk->holding;
  const MegatronFp8 *fp8 = megatron->fp8;
  if (fp8 == NULL || !fp8->shares || fp8->weights == 0 || (pass != PLAN_FORWARD && pass != PLAN_BACKWARD))
    return;
  const PlanChunk *chunk = &holding->chunks[megatron->walk->chunk];
  if (unit == (pass == PLAN_FORWARD ? chunk->first : chunk->last))
    update_scales(megatron);
}

void megatron_fp8_before_op(Megatron *megatron, guint32 unit, const ModelOp *op, PlanPass pass) {
  const PlanWalk *walk = megatron->walk;
  const MegatronFp8 *fp8 = megatron->fp8;
  if (fp8 == NULL || pass != PLAN_FORWARD || walk->micro > 0)
    return;
  for (guint i = 0; i < walk->units[unit].unit->n_parameters; i++) {
    guint p = plan_parameters_find(fp8->all, unit, i);
    if ((op->uses >> i & 1) != 0 && p != PLAN_NO_PARAMETER && fp8->casts[p] != PROGRAM_NONE)
      plan_walk_pass(megatron->walk, walk->stream, "weight to fp8", fp8->casts[p]);
  }
}
