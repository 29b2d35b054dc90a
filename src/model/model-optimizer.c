/* SPDX-License-Identifier: MIT */
/* Passes of an optimizer's step, by style. */
#include "model-optimizer.h"

#include "kernel-op.h"

#define FP32          4
#define OPS_MOST      10
#define CHUNK_TENSORS 110 /* tensors that one multi-tensor launch takes: depth 1 of PyTorch's multi_tensor_apply */

typedef struct {
  const char *name;
  KernelKind kind;
  guint64 bytes;  /* per element */
  guint32 passes; /* kernels over all elements */
} Pass;

/* _multi_tensor_adamw: weight decay (2 of parameter), lerp of the momentum (gradient, momentum in; out), mul and
 * addcmul of the variance (in, out; gradient and in, out), sqrt, division by the bias correction, add of epsilon (each
 * in, out of a temporary; the first reads the variance), addcdiv (momentum, temporary, parameter in; out). */
static guint foreach_passes(guint64 p, guint64 g, Pass *passes) {
  passes[0] = (Pass){"adam.decay", KERNEL_OPTIMIZER, 2 * p, 1};
  passes[1] = (Pass){"adam.momentum", KERNEL_OPTIMIZER, g + 2 * p, 1};
  passes[2] = (Pass){"adam.variance", KERNEL_OPTIMIZER, 2 * p + g + 2 * p, 2};
  passes[3] = (Pass){"adam.denominator", KERNEL_OPTIMIZER, 6 * p, 3};
  passes[4] = (Pass){"adam.update", KERNEL_OPTIMIZER, 4 * p, 1};
  return 5;
}

static guint64 fused_bytes(const ModelOptimizer *what, guint64 gradient) {
  gboolean mixed = what->element_bytes < FP32;
  return gradient + 6 * FP32 + (mixed ? what->element_bytes : 0);
}

static guint style_passes(const ModelOptimizer *what, Pass *passes) {
  gboolean mixed = what->element_bytes < FP32;
  switch (what->style) {
  case MODEL_OPTIMIZER_FOREACH:
    return foreach_passes(what->element_bytes, what->gradient_bytes, passes);
  case MODEL_OPTIMIZER_DEEPSPEED:
  case MODEL_OPTIMIZER_DEEPSPEED_TORCH: {
    guint n = 0;
    if (what->gradient_bytes < FP32)
      passes[n++] = (Pass){"gradients_fp32", KERNEL_OPTIMIZER, what->gradient_bytes + FP32, 1};
    passes[n++] = (Pass){"unscale", KERNEL_OPTIMIZER, 2 * FP32, 1};
    if (what->style == MODEL_OPTIMIZER_DEEPSPEED)
      passes[n++] = (Pass){"adam", KERNEL_OPTIMIZER, FP32 + 6 * FP32, 1};
    else
      n += foreach_passes(FP32, FP32, passes + n);
    if (mixed)
      passes[n++] = (Pass){"parameters_16bit", KERNEL_OPTIMIZER, FP32 + what->element_bytes, 1};
    return n;
  }
  default:
    passes[0] = (Pass){"adam", KERNEL_OPTIMIZER, fused_bytes(what, what->gradient_bytes), 1};
    return 1;
  }
}

ModelUnit *model_optimizer_new(const ModelOptimizer *what) {
  Pass passes[OPS_MOST];
  guint n = 0;
  if (what->norm)
    passes[n++] = (Pass){"gradient_norm", KERNEL_REDUCTION, what->gradient_bytes, 1};
  if (what->clip && what->style < MODEL_OPTIMIZER_DEEPSPEED)
    passes[n++] = (Pass){"clip", KERNEL_OPTIMIZER, 2 * what->gradient_bytes, 1};
  guint n_normed = n;
  guint64 normed = what->normed_elements > 0 ? what->normed_elements : what->elements;
  n += style_passes(what, passes + n);
  ModelUnit *unit = g_new0(ModelUnit, 1);
  unit->n_forward = n;
  unit->forward = g_new0(ModelOp, n);
  unit->kernels = g_new0(KernelOp, n);
  guint32 chunks = MAX(1, (what->tensors + CHUNK_TENSORS - 1) / CHUNK_TENSORS);
  for (guint i = 0; i < n; i++) {
    unit->kernels[i] = (KernelOp){.kind = passes[i].kind,
                                  .dtype = KERNEL_FP32,
                                  .batch = 1,
                                  .bytes = passes[i].bytes * (i < n_normed ? normed : what->elements),
                                  .launches = passes[i].passes * chunks};
    unit->forward[i] =
        (ModelOp){.name = passes[i].name, .kernel = &unit->kernels[i], .gradient_of = -1, .also_gradient_of = -1};
  }
  return unit;
}
