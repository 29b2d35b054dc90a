/* SPDX-License-Identifier: MIT */
/* Properties of every unit, whatever its shape and share: which tensors stand when. */
#pragma once

#include "harness.h"
#include "kernel-op.h"
#include "model-unit.h"

static inline ModelSet masks_saved(const ModelUnit *unit) {
  ModelSet saved = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    saved |= unit->forward[i].saves;
  return saved;
}

static inline ModelSet masks_of_role(const ModelUnit *unit, ModelTensorRole role) {
  ModelSet mask = 0;
  for (guint i = 0; i < unit->n_tensors; i++)
    if (unit->tensors[i].role == role)
      mask |= model_set_of(i);
  return mask;
}

/* Reads come after writes (an op may read what it writes only as its own scratch); each tensor is written once. */
static inline ModelSet masks_play(const ModelUnit *unit, const ModelOp *ops, guint n, ModelSet alive) {
  for (guint i = 0; i < n; i++) {
    ModelSet own = ops[i].reads & ops[i].writes;
    CU_ASSERT_EQUAL(ops[i].reads & ~alive & ~own, 0);
    CU_ASSERT_EQUAL(ops[i].writes & alive, 0);
    for (guint j = 0; j < unit->n_tensors; j++)
      if (own >> j & 1)
        CU_ASSERT_TRUE(unit->tensors[j].scratch);
    alive |= ops[i].writes;
  }
  return alive;
}

/* What other units make: of SIDE what no op here writes, and gradients of SIDE, to which all add. */
static inline ModelSet masks_of_others(const ModelUnit *unit) {
  ModelSet own = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    own |= unit->forward[i].writes;
  return masks_of_role(unit, MODEL_TENSOR_SIDE) & ~own;
}

/* Each tensor is written, those that are kept are read in backward, and the sums over ops are the unit's. */
static inline void masks_check(const ModelUnit *unit) {
  ModelSet all = unit->n_tensors < MODEL_SET_MOST ? model_set_of(unit->n_tensors) - 1 : ~(ModelSet)0;
  ModelSet input = masks_of_role(unit, MODEL_TENSOR_INPUT), saved = masks_saved(unit), by_backward = 0;
  ModelSet after_forward = masks_play(unit, unit->forward, unit->n_forward, input | masks_of_others(unit));
  CU_ASSERT_EQUAL(saved & ~after_forward, 0);
  ModelSet start = saved | masks_of_role(unit, MODEL_TENSOR_GRAD_OUTPUT) | masks_of_role(unit, MODEL_TENSOR_GRAD_SIDE);
  ModelSet after = masks_play(unit, unit->backward, unit->n_backward, start) | after_forward;
  for (guint i = 0; i < unit->n_keeping; i++)
    after |= unit->keeping[i].writes;
  CU_ASSERT_EQUAL(after, all);
  for (guint i = 0; i < unit->n_backward; i++) {
    by_backward |= unit->backward[i].reads;
    CU_ASSERT_EQUAL(unit->backward[i].saves, 0);
    CU_ASSERT_EQUAL(unit->backward[i].writes & after_forward, 0);
  }
  CU_ASSERT_EQUAL(saved & ~by_backward, 0); /* nothing is kept in vain */
  for (guint i = 0; i < unit->n_tensors; i++) {
    CU_ASSERT_TRUE(unit->tensors[i].bytes > 0);
    CU_ASSERT_FALSE(unit->tensors[i].scratch && saved >> i & 1);
  }
  ModelSet parts = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    parts += model_unit_op_saved_bytes(unit, i);
  CU_ASSERT_EQUAL(parts, model_unit_saved_bytes(unit));
}

/* Every parameter is read forward and gets its gradient from one op. */
static inline void masks_check_gradients(const ModelUnit *unit) {
  guint gradients[64] = {0};
  for (guint i = 0; i < unit->n_backward; i++) {
    const int of[] = {unit->backward[i].gradient_of, unit->backward[i].also_gradient_of};
    for (gsize j = 0; j < G_N_ELEMENTS(of); j++)
      if (of[j] >= 0)
        gradients[of[j]]++;
  }
  guint64 used = 0;
  for (guint i = 0; i < unit->n_forward; i++) {
    used |= unit->forward[i].uses;
    CU_ASSERT_EQUAL(unit->forward[i].gradient_of, -1);
    CU_ASSERT_EQUAL(unit->forward[i].also_gradient_of, -1);
  }
  for (guint i = 0; i < unit->n_parameters; i++)
    CU_ASSERT_EQUAL(gradients[i], 1);
  CU_ASSERT_EQUAL(used, ((guint64)1 << unit->n_parameters) - 1);
}
