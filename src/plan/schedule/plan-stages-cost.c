/* SPDX-License-Identifier: MIT */
/* Spreads by weight: nanotron's thresholds, DeepSpeed's partitions. */
#include <string.h>

#include "base-error.h"
#include "model-unit.h"
#include "plan-stages.h"

void plan_stages_nanotron_costs(guint32 layers, guint64 hidden, guint64 heads, guint64 head_dim, guint64 intermediate,
                                guint64 vocabulary, double *ret) {
  ret[0] = 0;
  for (guint32 layer = 1; layer <= layers; layer++)
    ret[layer] = (double)((4 * heads * head_dim * hidden) + (3 * intermediate * hidden));
  memset(&ret[layers + 1], 0, MODEL_HEAD_PARTS * sizeof *ret);
  ret[layers + 2] = (double)(vocabulary * hidden);
}

void plan_stages_nanotron(const double *costs, guint32 n_blocks, guint32 stages, guint32 *ret_bounds) {
  double whole = 0, so_far = 0;
  for (guint32 block = 0; block < n_blocks; block++)
    whole += costs[block];
  guint32 stage = 0;
  ret_bounds[0] = 0;
  for (guint32 block = 0; block + 1 < n_blocks; block++) {
    so_far += costs[block];
    if (stage + 1 < stages && so_far > whole * ((double)(stage + 1) / stages))
      ret_bounds[++stage] = block + 1;
  }
  while (stage < stages)
    ret_bounds[++stage] = n_blocks;
}

void plan_stages_whole_head(guint32 layers, guint32 stages, guint32 *bounds) {
  guint32 head = layers + 1;
  guint32 ends = bounds[stages];
  for (guint32 stage = 0; stage < stages; stage++)
    if (bounds[stage] > head && bounds[stage] < ends)
      return;
  for (guint32 stage = 0; stage <= stages; stage++)
    bounds[stage] = MIN(bounds[stage], head + 1);
}

void plan_stages_uniform(guint32 n_units, guint32 stages, guint32 *ret_bounds) {
  ret_bounds[0] = 0;
  for (guint32 stage = 0; stage < stages; stage++)
    ret_bounds[stage + 1] = ret_bounds[stage] + (n_units / stages) + (stage < n_units % stages);
}

/* Of the first `end` units in so many stages: the heaviest and the lightest stage of the best spread, and its last cut.
 * */
typedef struct {
  guint64 heaviest, lightest;
  guint32 cut;
  gboolean known;
} Best;

static void try_cut(const Best *before, guint64 weight, guint32 cut, gboolean alone, Best *best) {
  guint64 heaviest = alone ? weight : MAX(before->heaviest, weight);
  guint64 lightest = alone ? weight : MIN(before->lightest, weight);
  if (best->known && best->heaviest - best->lightest < heaviest - lightest)
    return;
  *best = (Best){heaviest, lightest, cut, TRUE};
}

void plan_stages_balanced(const guint64 *weights, guint32 n_units, guint32 stages, guint32 *ret_bounds) {
  if (n_units <= stages) {
    plan_stages_uniform(n_units, stages, ret_bounds);
    return;
  }
  g_autofree guint64 *sums = g_new0(guint64, n_units + 1);
  for (guint32 unit = 0; unit < n_units; unit++)
    sums[unit + 1] = sums[unit] + weights[unit];
  g_autofree Best *best = g_new0(Best, ((gsize)stages + 1) * (n_units + 1));
  best[0].known = TRUE;
  for (guint32 n = 1; n <= stages; n++) {
    const Best *before = &best[(gsize)(n - 1) * (n_units + 1)];
    for (guint32 end = n; end <= n_units; end++)
      for (guint32 cut = 0; cut < end; cut++)
        if (before[cut].known)
          try_cut(&before[cut], sums[end] - sums[cut], cut, n == 1, &best[((gsize)n * (n_units + 1)) + end]);
  }
  ret_bounds[stages] = n_units;
  for (guint32 n = stages; n > 0; n--)
    ret_bounds[n - 1] = best[((gsize)n * (n_units + 1)) + ret_bounds[n]].cut;
}
