/* SPDX-License-Identifier: MIT */
/* torch.autocast over fp32 parameters: what of a unit is fp32 although its matmuls are in 16 bits. For this room alone.
 *
 *   embedding ─ fp32 ─┬─ norm ─ fp32 ─ cast ─ linear ─ 16 bits ─┐        each linear layer casts its input for itself
 *                     └──────────────────────────────────────── + ─ fp32
 *
 * Autocast casts what matmuls read, and runs layer_norm in fp32 (ATen/autocast_mode.h: AT_FORALL_LOWER_PRECISION_FP,
 * AT_FORALL_FP32; since PyTorch 2.12 rms_norm too). Embeddings are in neither list, so their fp32 rows begin a residual
 * stream that stays fp32, since fp32 plus 16 bits is fp32, and so is what norms make of it. Casts of parameters are
 * kept until autocast ends, those of activations are not (cached_cast): layers that read one tensor copy it each, and
 * each copy is kept for its layer's backward. Back, the 16-bit gradient of each copy is cast to fp32 and summed there,
 * and the stream's is cast where it enters a branch.
 *
 * torch.compile makes one of equal casts, and fuses it with the norm before it: the norm of a branch's input is then 16
 * bits, and nothing but the stream is fp32.
 *
 * Where ModelRecipe.autocast is not set, no tensor is wide, and nothing here adds an operation. */
#pragma once

#include "model-build.h"

/* Bytes of an element of a tensor: fp32's if it is wide, else the precision's. */
static inline double model_element(const ModelBuild *build, ModelSet tensor) {
  return (tensor & build->wide) != 0 ? build->w : build->e;
}

static inline gboolean model_is_wide(const ModelBuild *build, ModelSet tensor) {
  return (tensor & build->wide) != 0;
}

/* Of the residual stream; a wide one where autocast is in force. */
ModelSet model_stream_tensor(ModelBuild *build, const char *name, ModelTensorRole role, double elements);
ModelSet model_stream_inner(ModelBuild *build, const char *name, double elements);
/* A tensor whose elements are as another's, a gradient as what it is of. */
ModelSet model_inner_like(ModelBuild *build, const char *name, double elements, ModelSet like);
/* A tensor that exists becomes one of the stream. */
ModelSet model_stream_of(ModelBuild *build, ModelSet tensor);

/* Whether one copy of what a norm makes is played for all layers that read it, as part of the norm and with no tensor
 * for what it is a copy of: where layers keep no copy of their own, because they are frozen and their adapters keep
 * what they dropped of it, or because they keep it in fp8. Of layers in few bits the adapters' copies are one too. */
gboolean model_copies_once(const ModelBuild *build);
/* What a matmul reads of x: a 16-bit copy `tensor` of its `elements`, made by `cast`, or x where it is none too wide.
 * Compiled, the copy that the last cast made of the same x. */
ModelSet model_narrow(ModelBuild *build, ModelDirection direction, const char *cast, const char *tensor,
                      double elements, ModelSet x);
/* Back: the copy's gradient to d_x, which is wide; nothing where both are one tensor. */
void model_widen(ModelBuild *build, const char *cast, double elements, ModelSet d_narrow, ModelSet d_x);
