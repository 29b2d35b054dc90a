/* SPDX-License-Identifier: MIT */
/* How fp8 operands are cast: which ways there are, and the casts that experts and gathers share with linear layers. For
 * this room alone.
 *
 *   TURN    torchao, one scale per tensor: a cast, and a turned copy where backward wants the other order; x kept cast,
 *           and gathered so over tensor ranks
 *   AGAIN   torchao, scales along rows (of 32, or all): each matmul's operand is cast along its own summed dimension,
 *           so x is kept in 16 bits
 *   ENGINE  Transformer Engine: one kernel casts both ways (pair); weights come cast
 *
 * Sources: torchao/float8/float8_linear.py and config.py, torchao/prototype/mx_formats/mx_linear.py;
 * transformer_engine/pytorch/module/linear.py, layernorm_linear.py and tensor/float8_tensor.py, mxfp8_tensor.py. */
#pragma once

#include "model-build.h"

typedef enum { MODEL_FP8_TURN, MODEL_FP8_AGAIN, MODEL_FP8_ENGINE } ModelFp8Way;

static inline ModelFp8Way model_fp8_way(const ModelRecipe *recipe) {
  gboolean rows = recipe->fp8_scaling == MODEL_FP8_ROWWISE || recipe->fp8_scaling == MODEL_FP8_MX;
  return recipe->fp8_engine ? MODEL_FP8_ENGINE : rows ? MODEL_FP8_AGAIN : MODEL_FP8_TURN;
}
/* Linear layers keep their inputs cast, whatever is gathered. */
static inline gboolean model_fp8_keeps_cast(const ModelBuild *build) {
  return build->fp8 && model_fp8_way(build->recipe) == MODEL_FP8_TURN;
}
static inline gboolean model_fp8_by_engine(const ModelBuild *build) {
  return build->fp8 && model_fp8_way(build->recipe) == MODEL_FP8_ENGINE;
}
/* Backward reads other bytes than forward: turned, or of other scales. */
static inline gboolean model_fp8_pairs(const ModelBuild *build) {
  return build->recipe->fp8_turns || build->recipe->fp8_scaling == MODEL_FP8_MX;
}
/* Bytes of an element with its part of the scales that are not too few to count. */
double model_fp8_element(const ModelRecipe *recipe);

/* One tensor cast by the engine: what forward (or dgrad) reads, and what backward (or wgrad) does. */
typedef struct {
  ModelSet rows, columns; /* the same where nothing is turned */
} ModelFp8Pair;
ModelFp8Pair model_fp8_pair(ModelBuild *build, ModelDirection direction, const ModelFp8Made *rows,
                            const ModelFp8Made *columns, double elements, ModelSet from);

/* Gathers over tensor ranks of what is cast, the engine's and those of torchao's one scale (Float8ColwiseParallel):
 * casts this rank's tokens, `width` wide, and says what is gathered (rows) and what is kept for backward's gather
 * (columns). */
ModelFp8Pair model_fp8_own(ModelBuild *build, ModelDirection direction, const ModelFp8Made *rows,
                           const ModelFp8Made *columns, double width, ModelSet own);
/* Whether a tensor so wide is gathered cast. */
gboolean model_fp8_gathers(const ModelBuild *build, double width);
