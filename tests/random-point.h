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

static inline StudyPoint *random_point(const RandomAxis *axes, gsize n_axes, GRand *random) {
  StudyPoint *point = study_point_new("--grid");
  point->typed = TRUE;
  for (gsize i = 0; i < n_axes; i++) {
    gint32 n = 0;
    while (n < (gint32)G_N_ELEMENTS(axes[i].values) && axes[i].values[n] != NULL)
      n++;
    study_point_add(point, axes[i].name, axes[i].values[g_rand_int_range(random, 0, n)], 0, 0);
  }
  return point;
}
