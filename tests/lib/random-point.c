/* SPDX-License-Identifier: MIT */
/* Random points of a grid. */
#include "random-point.h"

StudyPoint *random_point(const RandomAxis *axes, gsize n_axes, GRand *random) {
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
