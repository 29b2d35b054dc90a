/* SPDX-License-Identifier: MIT */
/* What a whole head and a head in parts have in common. For this room alone. */
#pragma once

#include "model-build.h"

/* The output layer, tied or not, over the tensor ranks' parts of the vocabulary. */
ModelLinear model_head_linear(ModelBuild *build);
/* Forward of the softmax that is written out, and of the loss, from fp32 logits to the softmax, which is kept; `logits`
 * stay until the loss is there. */
void model_head_vocab_parallel(ModelBuild *build, ModelSet logits, ModelSet in_fp32, ModelSet softmax);
