/* SPDX-License-Identifier: MIT */
/* What a model's layers are made of: one bit for each part that some families have and others have not.
 *
 *   if (model_has(traits, MODEL_GATED)) … down_proj(act(gate_proj) · up_proj) … else … down_proj(act(up_proj)) …
 *
 * A family's row (model-family.h) has its bits; keys of its config.json set and clear some. Bits change operations,
 * bytes or parameters; what changes none of them (the base of rotary positions, epsilons, clipped values) has no bit.
 * Nothing set: RMSNorm with a weight, no positions, no biases, plain causal attention, a plain MLP. */
#pragma once

#include <glib.h>

typedef guint64 ModelTraits;

#define MODEL_TRAIT(n) ((guint64)1 << (n))

/* Norms. */
#define MODEL_LAYER_NORM     MODEL_TRAIT(0) /* LayerNorm, by one kernel each way; else RMSNorm */
#define MODEL_NORM_BIAS      MODEL_TRAIT(1) /* a LayerNorm's */
#define MODEL_NORM_PLAIN     MODEL_TRAIT(2) /* no weight at all */
#define MODEL_PRE_NORM       MODEL_TRAIT(3) /* of what each branch reads */
#define MODEL_BRANCH_NORM    MODEL_TRAIT(4) /* of what each branch ends with, before the sum; beside PRE: both */
#define MODEL_POST_NORM      MODEL_TRAIT(5) /* of the sum: the residual stream itself (bert) */
#define MODEL_QK_NORM        MODEL_TRAIT(6) /* of queries and keys, before rotary positions: of each head */
#define MODEL_QK_NORM_WIDE   MODEL_TRAIT(7) /* … of all heads as one */
#define MODEL_QK_NORM_PLAIN  MODEL_TRAIT(8) /* … of each head, without a weight */
#define MODEL_EMBEDDING_NORM MODEL_TRAIT(9)
#define MODEL_FINAL_NORM     MODEL_TRAIT(10)

/* Positions. */
#define MODEL_ROTARY         MODEL_TRAIT(11)
#define MODEL_LEARNED        MODEL_TRAIT(12) /* a table of max_positions rows, added to the tokens' */
#define MODEL_POSITIONS_PLUS MODEL_TRAIT(13) /* … and two rows more */
#define MODEL_ALIBI          MODEL_TRAIT(14) /* a bias on scores, by distance */
#define MODEL_TOKEN_TYPES    MODEL_TRAIT(15) /* rows for the sentence that a token is of, added too */

/* Biases. */
#define MODEL_QKV_BIAS    MODEL_TRAIT(16)
#define MODEL_O_BIAS      MODEL_TRAIT(17)
#define MODEL_MLP_BIAS    MODEL_TRAIT(18) /* of all its linear layers; of experts' too */
#define MODEL_HEAD_BIAS   MODEL_TRAIT(19)
#define MODEL_ROUTER_BIAS MODEL_TRAIT(20)

/* Attention and MLP. */
#define MODEL_GATED          MODEL_TRAIT(21)
#define MODEL_PARALLEL       MODEL_TRAIT(22) /* both branches read the layer's input, one sum ends them */
#define MODEL_ONE_NORM       MODEL_TRAIT(23) /* … through one norm */
#define MODEL_JOINED         MODEL_TRAIT(24) /* q, k and v are one matrix, whatever the recipe */
#define MODEL_BIDIRECTIONAL  MODEL_TRAIT(25) /* every token sees all */
#define MODEL_SINKS          MODEL_TRAIT(26) /* one learned score per head beside the keys' */
#define MODEL_CHUNKED        MODEL_TRAIT(27) /* the window is a chunk: no token sees an earlier one */
#define MODEL_SHARED_GATE    MODEL_TRAIT(28) /* the shared experts' output is gated per token */
#define MODEL_BRANCH_DROPOUT MODEL_TRAIT(29) /* dropout ends branches and embedding; else of attention weights alone */

/* Ends. */
#define MODEL_SCALED         MODEL_TRAIT(30) /* token embeddings are multiplied by a number */
#define MODEL_CAPPED_SCORES  MODEL_TRAIT(31) /* tanh of attention's scores */
#define MODEL_CAPPED_LOGITS  MODEL_TRAIT(32)
#define MODEL_HEAD_TRANSFORM MODEL_TRAIT(33) /* a linear layer and an activation before the final norm (bert) */
#define MODEL_EXPERT_BIAS                                                                                              \
  MODEL_TRAIT(34)                  /* the router keeps a correction per expert, which no gradient moves (deepseek_v3) */
#define MODEL_TIED MODEL_TRAIT(35) /* where nothing else is said: head and token embedding are one matrix */

#define MODEL_PATCHES MODEL_TRAIT(36) /* tokens are an image's patches, and one more that the head reads (vit) */

#define MODEL_PATCHES_PLAIN MODEL_TRAIT(37) /* … whose matrix has no bias (clip) */

#define MODEL_ONE_TOKEN MODEL_TRAIT(44) /* the head reads one token of each sequence, to `labels` numbers (clip) */

/* A decoder beside an encoder, and what its layers have (t5). */
#define MODEL_ENCODED       MODEL_TRAIT(38) /* layers attend to an encoder's output too, which its own layers make */
#define MODEL_RELATIVE      MODEL_TRAIT(39) /* a learned bias on scores, by distance: a stack's first layer has it */
#define MODEL_RELATIVE_EACH MODEL_TRAIT(40) /* … each layer has its own (umt5) */
#define MODEL_INNER_DROPOUT MODEL_TRAIT(41) /* dropout inside MLPs and after stacks' final norms, too */
#define MODEL_RELU          MODEL_TRAIT(42) /* an activation that is differentiated from its result */
#define MODEL_SCALED_TIED   MODEL_TRAIT(43) /* what a tied head reads is multiplied by a number */

#define MODEL_STATED MODEL_TRAIT(63) /* the bits are all that hold; without it they are beside the family's */

#define MODEL_BIASES   (MODEL_QKV_BIAS | MODEL_O_BIAS | MODEL_MLP_BIAS)
#define MODEL_LAYERED  (MODEL_LAYER_NORM | MODEL_NORM_BIAS | MODEL_PRE_NORM | MODEL_FINAL_NORM)
#define MODEL_LLAMAISH (MODEL_PRE_NORM | MODEL_FINAL_NORM | MODEL_ROTARY | MODEL_GATED)
#define MODEL_T5ISH                                                                                                    \
  (MODEL_PRE_NORM | MODEL_FINAL_NORM | MODEL_ENCODED | MODEL_BRANCH_DROPOUT | MODEL_INNER_DROPOUT | MODEL_SCALED_TIED)
#define MODEL_GPTISH (MODEL_LAYERED | MODEL_LEARNED | MODEL_BIASES | MODEL_BRANCH_DROPOUT)

static inline gboolean model_has(ModelTraits traits, ModelTraits trait) {
  return (traits & trait) != 0;
}
