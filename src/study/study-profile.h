/* SPDX-License-Identifier: MIT */
/* The layer profile as input: measured times per layer and direction, replayed instead of the model's.
 *
 *   layer,phase,time_us,flops,bytes,activation_bytes,parameters
 *   embedding,forward,27.107346,0,67141632,33554432,131072000
 *   0,forward,4140.2,1795296059392,…
 *
 * A row for the embedding, for each layer from 0 and for the head, forward and backward, in any order; `foretrain
 * layers -o` writes one. A layer's time is spread over its operations as their analytic times are, to the picosecond.
 * flops, bytes and activation_bytes may be left empty; parameters and flops that are given must be the model's: they
 * tell a profile of another model, sequence length or micro-batch. Where tensor or context ranks split the layers it is
 * of one rank's part, without what ranks exchange.
 *
 *   StudyProfile *profile = study_profile_load(path, &shape, &recipe, micro_batch, error);
 *   study_profile_apply(profile, gpu, program);
 */
#pragma once

#include "hw-catalog.h"
#include "model-recipe.h"
#include "model-shape.h"
#include "program.h"

typedef struct StudyProfile StudyProfile;

/* Errors: SIM_ERROR_INPUT at the line: a row that is no row, a layer that the model lacks, one that stands twice,
 * totals that are not the model's; at the file: which layer and phase is missing. */
StudyProfile *study_profile_load(const char *path, const ModelShape *shape, const ModelRecipe *recipe,
                                 guint64 micro_batch, GError **error);
void study_profile_free(StudyProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyProfile, study_profile_free)

/* Gives every operation of a layer's forward, recompute and backward its share of the measured time. */
void study_profile_apply(const StudyProfile *profile, const HwGpu *gpu, Program *program);
