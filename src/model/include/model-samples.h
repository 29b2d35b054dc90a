/* SPDX-License-Identifier: MIT */
/* Samples that are shorter than the sequences they are trained in: what attention sees of them, and what is padding.
 *
 *   full      one sample, or several that see each other:  every token sees the sequence
 *   packed    ▒▒▒▒▒▒▒▒│▓▓▓│░░░░░│▒▒▒▒▒▒▒                    each sample sees itself (variable-length flash attention)
 *   padded    ▒▒▒▒▒▒▒▒············                          one sample, filled up to sequence_length and worked on
 *
 * Of their lengths a mean m and a longest x are stated. Between them lengths are taken as x B, with B from the beta
 * distribution with parameters 1 and x / m - 1: exponential where x is far off, even where x is twice m, all alike
 * where x is m. Its second moment gives the length of the sample that a token is in, on average:
 *   l = E[L²] / E[L] = 2 m x / (m + x)
 * (N. L. Johnson, S. Kotz, N. Balakrishnan, Continuous Univariate Distributions 2, chapter 25: E[B²] of parameters 1
 * and b is 2 / ((1 + b) (2 + b))). */
#pragma once

#include "model-recipe.h"

/* Tokens of the sample that a token is in, on average, whole ones; full: sequence_length. Attention is played as if
 * all samples were as long. */
double model_samples_length(const ModelRecipe *recipe);

/* Of the tokens that are worked on, those that are no padding: from above 0 to 1. */
double model_samples_share(const ModelRecipe *recipe);

/* Errors, at the key: a mean without `packing` or the other way around, a longest beyond the sequence or below the
 * mean, images. */
gboolean model_samples_check(const ModelShape *shape, const ModelRecipe *recipe, const ConfSettings *settings,
                             GError **error);

/* A sentence for people on what was taken, or NULL where sequences are full; caller frees. */
char *model_samples_note(const ModelRecipe *recipe);
