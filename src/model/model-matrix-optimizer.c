/* SPDX-License-Identifier: MIT */
/* Passes of optimizers that see matrices.
 *
 *   Muon, each matrix   momentum ─ to bf16, divided by its norm ─ 5 × (X Xᵀ, its square, X + … X) ─ update
 *
 * Matmuls of one step, of a matrix of m rows and n ≥ m columns (else turned): m·m·n, m·m·m, m·n·m. */
#include "kernel-op.h"
#include "model-optimizer.h"

#define FP32  4
#define BF16  2
#define STEPS 5 /* ns_steps of torch/optim/_muon.py */
#define OPS   (2 + 1 + 3 * STEPS)
/* Adafactor's bytes of an element: decay (parameter in, out), the parameter's mean square, rows and columns (gradient
 * twice), the estimate out, its root (in, out), times the gradient (two in, one out), the update's mean square, the
 * update (two in, one out). */
#define FACTORED_PARAMETERS 5
#define FACTORED_GRADIENTS  3
#define FACTORED_WIDE       7
#define FACTORED_LAUNCHES   9

static ModelUnit *new_unit(guint most) {
  ModelUnit *unit = g_new0(ModelUnit, 1);
  unit->forward = g_new0(ModelOp, most);
  unit->kernels = g_new0(KernelOp, most);
  return unit;
}

static void add(ModelUnit *unit, const char *name, KernelOp kernel) {
  guint i = unit->n_forward++;
  unit->kernels[i] = kernel;
  unit->forward[i] = (ModelOp){.name = name, .kernel = &unit->kernels[i], .gradient_of = -1, .also_gradient_of = -1};
}

static KernelOp memory(guint64 bytes, guint32 launches) {
  return (KernelOp){.kind = KERNEL_OPTIMIZER, .dtype = KERNEL_FP32, .batch = 1, .bytes = bytes, .launches = launches};
}

static KernelOp matmul(guint64 m, guint64 n, guint64 k) {
  return (KernelOp){.kind = KERNEL_MATMUL,
                    .dtype = KERNEL_BF16,
                    .batch = 1,
                    .m = m,
                    .n = n,
                    .k = k,
                    .flops = 2.0 * (double)m * (double)n * (double)k,
                    .bytes = BF16 * (m * k + k * n + m * n)};
}

ModelUnit *model_muon_new(const ModelMuon *what) {
  guint64 m = MIN(what->rows, what->columns), n = MAX(what->rows, what->columns);
  guint64 p = what->element_bytes, g = what->gradient_bytes, own = what->rows * what->columns / what->shards;
  ModelUnit *unit = new_unit(OPS);
  add(unit, "muon.momentum", memory(own * (g + 2 * p + g + p + p), 2));
  add(unit, "muon.normalise", memory(m * n * (FP32 + BF16 + BF16 + BF16 + BF16), 3));
  for (int step = 0; step < STEPS; step++) {
    add(unit, "muon.gram", matmul(m, m, n));
    add(unit, "muon.gram_squared", matmul(m, m, m));
    add(unit, "muon.polynomial", matmul(m, n, m));
  }
  add(unit, "muon.update", memory(own * (2 * p + BF16 + 2 * p), 2));
  return unit;
}

ModelUnit *model_adafactor_new(const ModelOptimizer *what) {
  guint64 bytes = FACTORED_PARAMETERS * (guint64)what->element_bytes +
                  FACTORED_GRADIENTS * (guint64)what->gradient_bytes + FACTORED_WIDE * FP32;
  ModelUnit *unit = new_unit(1);
  add(unit, "adafactor", memory(what->elements * bytes, FACTORED_LAUNCHES * MAX(what->tensors, 1)));
  return unit;
}
