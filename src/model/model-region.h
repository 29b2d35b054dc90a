/* SPDX-License-Identifier: MIT */
/* Where tensor-parallel regions begin and end, on one rank or on many. For this room alone. */
#pragma once

#include "model-build.h"

/* All tensor ranks' tokens, `width` wide, from this rank's; and sums of all tokens' to this rank's. With the copies
 * that sequence by sequence they take. Return the exchange. */
ModelOp *model_region_gather_tokens(ModelBuild *build, ModelDirection direction, const char *name, double width,
                                    ModelSet own, ModelSet all);
ModelOp *model_region_scatter_tokens(ModelBuild *build, ModelDirection direction, const char *name, double width,
                                     ModelSet all, ModelSet own);

/* The run of column layers that read one tensor, from where they need all of its tokens to where its gradient is summed
 * over the ranks. One rank alone: nothing is added.
 *
 *   ModelSet all = model_region_enter(build, &region, &names, x);            // layers read `all`
 *   model_region_return(build, &region);                                     // backward: layers read region.again
 *   ModelSet d_all = model_region_gradient(build, &region);                  // and write their gradients to d_all
 *   ModelSet d_x = model_region_leave(build, &region, d_all);
 */
typedef struct {
  const char *gather, *whole, *gather_again, *again, *d_x, *d_whole, *reduce;
  ModelFp8Made cast, cast_turned; /* of this rank's tokens, where what is cast is gathered */
} ModelRegionNames;
#define MODEL_REGION_NAMES(x)                                                                                          \
  {                                                                                                                    \
    x ".gather", x "_whole", x ".gather_again", x "_again", "d_" x, "d_" x "_whole", "d_" x ".reduce",                 \
        MODEL_FP8_MADE(x, "own"), MODEL_FP8_MADE(x, "own_turned")                                                      \
  }

typedef struct {
  const ModelRegionNames *names;
  double width; /* of a token of x */
  double e;     /* bytes of an element of x as it is gathered */
  ModelSet x, again;
} ModelRegion;

ModelSet model_region_enter(ModelBuild *build, ModelRegion *region, const ModelRegionNames *names, ModelSet x);
/* The same of an x that is not as wide as the residual stream. */
ModelSet model_region_enter_width(ModelBuild *build, ModelRegion *region, const ModelRegionNames *names, double width,
                                  ModelSet x);
/* For the next layer that reads what `first` entered: the same tokens, or, where the share says so, gathered again for
 * it, by its names. */
ModelSet model_region_enter_next(ModelBuild *build, ModelRegion *region, const ModelRegionNames *names,
                                 const ModelRegion *first);
/* What that layer's weight gradient reads, after model_region_return of the first. */
ModelSet model_region_read_by(const ModelBuild *build, const ModelRegion *next, const ModelRegion *first);
void model_region_return(ModelBuild *build, ModelRegion *region);
ModelSet model_region_gradient(ModelBuild *build, const ModelRegion *region);
ModelSet model_region_leave(ModelBuild *build, const ModelRegion *region, ModelSet d_whole);
/* Of one of several layers that read the region's x: its part of the gradient, scattered by `names` where the share
 * says that each does; else as it is. Parts are summed, by an operation `sum`, and the sum leaves. */
ModelSet model_region_part(ModelBuild *build, const ModelRegion *region, const ModelRegionNames *names,
                           ModelSet d_whole);
void model_region_sum(ModelBuild *build, const ModelRegion *region, const char *sum, ModelSet parts);
ModelSet model_region_leave_sum(ModelBuild *build, const ModelRegion *region, ModelSet sum);
/* Backward of a region of one layer: return, the layer, leave; the reduction beside the weight's gradient where the
 * share says so. Returns d_x. */
ModelSet model_region_backward(ModelBuild *build, ModelRegion *region, const ModelLinear *linear, ModelSet d_y,
                               ModelSet d_whole);

/* A row layer: the tensor of partial sums for y, and y from it; the gradient of all tokens from d_y. */
ModelSet model_row_partial(ModelBuild *build, const ModelLinear *linear, ModelSet y);
void model_row_reduce(ModelBuild *build, const ModelLinear *linear, ModelSet partial, ModelSet y);
ModelSet model_row_gather(ModelBuild *build, const ModelLinear *linear, ModelSet d_y);
/* The input gradient, added last, that reads what model_row_gather made. */
void model_row_in_chunks(ModelBuild *build);
/* The matmul of a column layer, and of its own tokens first where the share says so. */
ModelOp *model_column_matmul(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet y);
/* Whether x is what comes piece by piece, and nobody has multiplied it yet: the caller's matmul is to be cut. */
gboolean model_region_takes_pieces(ModelBuild *build, ModelSet x);
/* What autograd keeps of a linear layer's input. */
ModelSet model_region_kept(const ModelBuild *build, ModelSet x);

/* A layer's part of its input for a second run, and the input from all parts: ModelUnit.keeping, where the share says
 * so. */
void model_keep_part(ModelBuild *build, ModelSet input);
