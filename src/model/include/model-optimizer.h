/* SPDX-License-Identifier: MIT */
/* The optimizer's step on what a rank owns, as operations: Adam (or AdamW) with fp32 momenta.
 *
 *   ModelOptimizer what = {MODEL_OPTIMIZER_FUSED, .elements = shard, .element_bytes = 2, .gradient_bytes = 2, …};
 *   g_autoptr(ModelUnit) step = model_optimizer_new(&what);
 *   for (guint i = 0; i < step->n_forward; i++) … step->forward[i].name, step->forward[i].kernel …
 *
 * fused      one pass: gradient, master (or parameter), momentum and variance in; the last three out, and the 16-bit
 *            copy
 * foreach    PyTorch's default: a pass over all tensors per elementary operation
 * deepspeed  gradients cast to fp32, unscaled and clipped in place, fused Adam on the fp32 partition, cast back to 16
 *            bits; with torch's Adam, which a trainer brings, a pass over the partition per elementary operation in its
 *            place
 *
 * Bytes per element: reference of the passes in PyTorch's torch/optim/_multi_tensor code and DeepSpeed's
 * stage_1_and_2.py. */
#pragma once

#include "model-unit.h"

typedef enum {
  MODEL_OPTIMIZER_FUSED,
  MODEL_OPTIMIZER_FOREACH,
  MODEL_OPTIMIZER_DEEPSPEED,
  MODEL_OPTIMIZER_DEEPSPEED_TORCH
} ModelOptimizerStyle;

typedef struct {
  ModelOptimizerStyle style;
  guint64 elements;        /* that this rank owns */
  guint64 normed_elements; /* that norm and clipping go over; 0: the same */
  guint32 tensors;         /* they come in: 0 or 1, one flat buffer */
  guint32 element_bytes;   /* of a parameter: 2 beside fp32 masters, or 4 */
  guint32 gradient_bytes;  /* of a gradient as it arrives */
  gboolean norm;           /* the gradient-norm pass before it */
  gboolean clip;           /* scaling by the norm as a pass of its own */
} ModelOptimizer;

/* One matrix under Muon (Newton-Schulz in bf16, five steps), of which a rank has a shard: its momentum first, then what
 * is done to the whole, then its update. Source: torch/optim/_muon.py. */
typedef struct {
  guint64 rows, columns, shards;
  guint32 element_bytes, gradient_bytes;
} ModelMuon;
ModelUnit *model_muon_new(const ModelMuon *what);
/* Adafactor over all elements, without a first moment. Source: torch/optim/_adafactor.py. */
ModelUnit *model_adafactor_new(const ModelOptimizer *what);

/* A unit with forward operations alone: names and kernels. Free with model_unit_free. */
ModelUnit *model_optimizer_new(const ModelOptimizer *what);
