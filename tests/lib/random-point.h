/* SPDX-License-Identifier: MIT */
/* Random points of a grid, for properties that must hold at all of them.
 *
 *   static const RandomAxis axes[] = {{"parallel.zero_stage", {"0", "1", "2", "3"}}};
 *   g_autoptr(StudyPoint) point = random_point(axes, G_N_ELEMENTS(axes), harness_random());
 */
#pragma once

#include "study-point.h"

typedef struct {
  const char *name;
  const char *values[8]; /* each as likely; one twice counts twice */
} RandomAxis;

StudyPoint *random_point(const RandomAxis *axes, gsize n_axes, GRand *random);
