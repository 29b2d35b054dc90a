/* SPDX-License-Identifier: MIT */
/* Where tensor-parallel regions begin and end: the conjugate pairs f, g of arXiv 1909.08053 and their counterparts
 * under sequence parallelism of arXiv 2205.05198.
 *
 *              forward                       backward
 *   column     f   nothing                   all-reduce of d_x
 *              g'  all-gather of x           reduce-scatter of d_x; x kept, or gathered again for weights' gradients
 *   row        g   all-reduce of y           nothing
 *              f'  reduce-scatter of y       all-gather of d_y
 *
 * Chunk by chunk the gather and the scatter are rings of tensor - 1 steps, each of one rank's tokens. */
#include "model-region.h"
#include "model-autocast.h"
#include "model-fp8.h"

static double between_bytes(const ModelBuild *build, double width) {
  return build->e * build->between * width;
}

static double whole_bytes(const ModelBuild *build, double width) {
  return build->e * build->t * width;
}

static gboolean in_chunks(const ModelBuild *build) {
  return build->sequence && build->share->overlap == MODEL_OVERLAP_CHUNKS &&
         (!build->fp8 || model_fp8_way(build->recipe) != MODEL_FP8_AGAIN);
}

static gboolean computes_own_first(const ModelBuild *build, ModelSet x) {
  return build->share->overlap == MODEL_OVERLAP_OWN && !build->fp8 && build->in_chunks && x == build->gathered.to;
}

static gboolean gathers_again(const ModelBuild *build) {
  return build->sequence && build->share->gathers_again && !model_fp8_keeps_cast(build);
}

/* Of what lies in a buffer of the process a unit holds nothing. */
static double of_columns(const ModelBuild *build, double bytes) {
  return gathers_again(build) && build->share->gathers_to_buffers ? 0 : bytes;
}

static double of_rows(const ModelBuild *build, double bytes) {
  return build->share->gathers_to_buffers && build->share->overlap == MODEL_OVERLAP_OWN ? 0 : bytes;
}

/* ---- Tokens ---- */

ModelOp *model_region_gather_tokens(ModelBuild *build, ModelDirection direction, const char *name, double width,
                                    ModelSet own, ModelSet all) {
  double bytes = whole_bytes(build, width);
  gboolean copies = build->share->batch_first && build->b > 1;
  ModelSet parts = copies ? model_build_inner(build, "gathered_parts", bytes) : all;
  ModelOp *op =
      model_build_exchange(build, direction, name, MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_TENSOR, bytes, own, parts);
  if (copies)
    model_build_memory(build, direction, "gathered_parts.join", 2 * bytes, parts, all);
  return op;
}

ModelOp *model_region_scatter_tokens(ModelBuild *build, ModelDirection direction, const char *name, double width,
                                     ModelSet all, ModelSet own) {
  double bytes = whole_bytes(build, width);
  ModelSet parts = all;
  if (build->share->batch_first) {
    parts = model_build_inner(build, "parts_to_scatter", bytes);
    model_build_memory(build, direction, "parts_to_scatter.split", 2 * bytes, all, parts);
  }
  return model_build_exchange(build, direction, name, MODEL_EXCHANGE_REDUCE_SCATTER, MODEL_AXIS_TENSOR, bytes, parts,
                              own);
}

/* `e`: bytes of an element as it crosses. */
static ModelOp *gather(ModelBuild *build, ModelDirection direction, const char *name, double width, double e,
                       ModelSet from, ModelSet to) {
  if (!in_chunks(build))
    return model_region_gather_tokens(build, direction, name, width * e / build->e, from, to);
  ModelOp *op = model_build_exchange(build, direction, name, MODEL_EXCHANGE_RING, MODEL_AXIS_TENSOR,
                                     e * build->between * width, from, to);
  op->exchange.steps = (guint32)build->tensor - 1;
  op->exchange.chunks = MODEL_CHUNKS_BEFORE;
  op->exchange.asynchronous = TRUE;
  return op;
}

/* ---- Columns ---- */

ModelSet model_region_enter_width(ModelBuild *build, ModelRegion *region, const ModelRegionNames *names, double width,
                                  ModelSet x) {
  *region = (ModelRegion){.names = names, .width = width, .e = build->e, .x = x, .again = x};
  if (!build->sequence)
    return x;
  gboolean cast = model_fp8_gathers(build, width);
  ModelFp8Pair own =
      cast ? model_fp8_own(build, MODEL_FORWARD, &names->cast, &names->cast_turned, width, x) : (ModelFp8Pair){x, x};
  region->e = cast ? model_fp8_element(build->recipe) : build->e;
  region->x = own.columns;
  ModelSet whole = region->again =
      model_build_inner(build, names->whole, of_columns(build, region->e * build->t * width));
  ModelOp *op = gather(build, MODEL_FORWARD, names->gather, width, region->e, own.rows, whole);
  build->gathered = (ModelMade){own.columns, whole};
  build->fp8_gathered = cast ? whole : 0;
  build->in_chunks = build->share->overlap != MODEL_OVERLAP_NONE;
  op->exchange.asynchronous |= computes_own_first(build, whole);
  return whole;
}

ModelSet model_region_enter(ModelBuild *build, ModelRegion *region, const ModelRegionNames *names, ModelSet x) {
  return model_region_enter_width(build, region, names, build->h, x);
}

static gboolean gathers_each(const ModelBuild *build) {
  return build->sequence && build->share->gathers_each;
}

ModelSet model_region_enter_next(ModelBuild *build, ModelRegion *region, const ModelRegionNames *names,
                                 const ModelRegion *first) {
  if (gathers_each(build))
    return model_region_enter_width(build, region, names, first->width, first->x);
  *region = *first;
  return first->again;
}

ModelSet model_region_read_by(const ModelBuild *build, const ModelRegion *next, const ModelRegion *first) {
  return gathers_each(build) ? next->again : first->again;
}

ModelSet model_region_kept(const ModelBuild *build, ModelSet x) {
  if (build->copied.to != 0 && x == build->copied.to)
    return build->copied.from;
  return gathers_again(build) && x == build->gathered.to ? build->gathered.from : x;
}

static ModelOp *matmul(ModelBuild *build, const ModelLinear *linear, const char *name, double tokens, ModelSet x,
                       ModelSet y) {
  ModelOp *op = model_build_matmul(build, MODEL_FORWARD, name, 1, tokens, linear->out, linear->in, x, y);
  model_linear_useful(linear, op);
  return op;
}

gboolean model_region_takes_pieces(ModelBuild *build, ModelSet x) {
  gboolean takes = in_chunks(build) && build->in_chunks && x == build->gathered.to;
  if (takes)
    build->in_chunks = FALSE;
  return takes;
}

/* The rank's own tokens are multiplied while the others' come: two kernels that write one output. */
ModelOp *model_column_matmul(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet y) {
  gboolean own = computes_own_first(build, x), chunks = model_region_takes_pieces(build, x);
  if (own)
    build->in_chunks = FALSE;
  if (own) {
    matmul(build, linear, linear->names->own, build->between, build->gathered.from, y)->uses = (guint64)1
                                                                                               << linear->weight;
    return matmul(build, linear, linear->names->forward, build->t - build->between, x | y, 0);
  }
  ModelOp *op = matmul(build, linear, linear->names->forward, build->t, x, y);
  if (chunks)
    model_build_in_pieces(build, MODEL_FORWARD, (guint32)build->tensor);
  return op;
}

void model_region_return(ModelBuild *build, ModelRegion *region) {
  if (!gathers_again(build))
    return;
  double bytes = region->e * build->t * region->width;
  region->again = model_build_inner(build, region->names->again, of_columns(build, bytes));
  model_build_exchange(build, MODEL_BACKWARD, region->names->gather_again, MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_TENSOR,
                       bytes, region->x, region->again)
      ->exchange.asynchronous = TRUE;
}

ModelSet model_region_gradient(ModelBuild *build, const ModelRegion *region) {
  return model_inner_like(build, build->sequence ? region->names->d_whole : region->names->d_x,
                          build->t * region->width, region->x);
}

static ModelSet leave(ModelBuild *build, const ModelRegion *region, ModelSet d_whole, gboolean asynchronous) {
  if (build->tensor == 1 || (build->share->reduces_each && !build->sequence))
    return d_whole;
  if (!build->sequence) {
    model_build_exchange(build, MODEL_BACKWARD, region->names->reduce, MODEL_EXCHANGE_ALL_REDUCE, MODEL_AXIS_TENSOR,
                         whole_bytes(build, region->width), d_whole, 0)
        ->exchange.asynchronous = asynchronous;
    return d_whole;
  }
  ModelSet d_x = model_build_inner(build, region->names->d_x, between_bytes(build, region->width));
  model_region_scatter_tokens(build, MODEL_BACKWARD, region->names->reduce, region->width, d_whole, d_x)
      ->exchange.asynchronous = asynchronous;
  return d_x;
}

ModelSet model_region_leave(ModelBuild *build, const ModelRegion *region, ModelSet d_whole) {
  return leave(build, region, d_whole, FALSE);
}

static gboolean scatters_each(const ModelBuild *build) {
  return build->sequence && build->share->scatters_each;
}

ModelSet model_region_part(ModelBuild *build, const ModelRegion *region, const ModelRegionNames *names,
                           ModelSet d_whole) {
  ModelRegion own = *region;
  own.names = names;
  return scatters_each(build) ? leave(build, &own, d_whole, FALSE) : d_whole;
}

/* Two in, one out. */
void model_region_sum(ModelBuild *build, const ModelRegion *region, const char *sum, ModelSet parts) {
  double tokens = scatters_each(build) ? build->between : build->t;
  model_build_memory(build, MODEL_BACKWARD, sum, 3 * model_element(build, region->x) * tokens * region->width, parts,
                     0);
}

ModelSet model_region_leave_sum(ModelBuild *build, const ModelRegion *region, ModelSet sum) {
  return scatters_each(build) ? sum : leave(build, region, sum, FALSE);
}

ModelSet model_region_backward(ModelBuild *build, ModelRegion *region, const ModelLinear *linear, ModelSet d_y,
                               ModelSet d_whole) {
  model_region_return(build, region);
  if (linear->split == MODEL_UNSPLIT) {
    model_linear_backward(build, linear, region->again, d_y, d_whole);
    return d_whole;
  }
  if (!build->share->async_gradient || linear->adapter.names != NULL || linear->cast != 0) {
    model_linear_backward(build, linear, region->again, d_y, d_whole);
    return leave(build, region, d_whole, FALSE);
  }
  ModelSet read = model_linear_dgrad(build, linear, d_y, d_whole), d_x = leave(build, region, d_whole, TRUE);
  model_linear_wgrad(build, linear, region->again, read);
  model_linear_bgrad(build, linear, d_y);
  return d_x;
}

/* ---- Rows ---- */

static gboolean is_split(const ModelBuild *build, const ModelLinear *linear) {
  return build->tensor > 1 && linear->split == MODEL_ROWS;
}

ModelSet model_row_partial(ModelBuild *build, const ModelLinear *linear, ModelSet y) {
  return is_split(build, linear) && build->sequence
             ? model_build_inner(build, linear->names->partial, whole_bytes(build, linear->out))
             : y;
}

void model_row_reduce(ModelBuild *build, const ModelLinear *linear, ModelSet partial, ModelSet y) {
  if (!is_split(build, linear))
    return;
  if (!build->sequence) {
    model_build_exchange(build, MODEL_FORWARD, linear->names->reduce, MODEL_EXCHANGE_ALL_REDUCE, MODEL_AXIS_TENSOR,
                         whole_bytes(build, linear->out), partial, 0);
    return;
  }
  if (!in_chunks(build)) {
    model_region_scatter_tokens(build, MODEL_FORWARD, linear->names->reduce, linear->out, partial, y);
    return;
  }
  model_build_in_pieces(build, MODEL_FORWARD, (guint32)build->tensor);
  ModelOp *op = model_build_exchange(build, MODEL_FORWARD, linear->names->reduce, MODEL_EXCHANGE_RING,
                                     MODEL_AXIS_TENSOR, between_bytes(build, linear->out), partial, y);
  op->exchange.steps = (guint32)build->tensor - 1;
  op->exchange.chunks = MODEL_CHUNKS_AFTER;
  op->exchange.asynchronous = TRUE;
}

static ModelSet own_gradient(ModelBuild *build, const ModelLinear *linear, ModelSet d_y) {
  const ModelFp8Names *names = linear->fp8.names;
  ModelFp8Pair own = model_fp8_own(build, MODEL_BACKWARD, &names->d_y, &names->d_y_turned, linear->out, d_y);
  return own.rows | own.columns;
}

ModelSet model_row_gather(ModelBuild *build, const ModelLinear *linear, ModelSet d_y) {
  if (!is_split(build, linear) || !build->sequence)
    return d_y;
  gboolean cast = linear->fp8.names != NULL && model_fp8_gathers(build, linear->out);
  if (cast)
    d_y = own_gradient(build, linear, d_y);
  /* Of 32 elements' scales both ways cross together. */
  double ways = cast && build->recipe->fp8_scaling == MODEL_FP8_MX ? 2 : 1;
  double e = cast ? ways * model_fp8_element(build->recipe) : build->e;
  ModelSet whole = model_build_inner(build, linear->names->d_whole, of_rows(build, e * build->t * linear->out));
  gather(build, MODEL_BACKWARD, linear->names->gather, linear->out, e, d_y, whole);
  build->fp8_gathered = cast ? whole : 0;
  return whole;
}

void model_row_in_chunks(ModelBuild *build) {
  if (in_chunks(build))
    model_build_in_pieces(build, MODEL_BACKWARD, (guint32)build->tensor);
}

/* ---- What recompute keeps ---- */

void model_keep_part(ModelBuild *build, ModelSet input) {
  if (build->tensor == 1 || build->sequence || !build->share->distributes_saved)
    return;
  double whole = whole_bytes(build, build->h), part = whole / build->tensor;
  ModelSet kept = model_build_inner(build, "input_part", part);
  model_build_memory(build, MODEL_KEEPING, "input.part", 2 * part, input, kept);
  model_build_exchange(build, MODEL_KEEPING, "input.gather", MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_TENSOR, whole, kept,
                       input);
}
