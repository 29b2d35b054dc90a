/* SPDX-License-Identifier: MIT */
/* Spreads by counting layers: Megatron-Core, torchtitan, a list. */
#include "plan-stages.h"
#include "base-error.h"

#define FAIL(error, ...) (g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, __VA_ARGS__), FALSE)

/* Bounds from layers per stage, which add up. */
static void bounds_of(const guint32 *counts, guint32 stages, guint32 *ret) {
  ret[0] = 0;
  guint32 unit = 1;
  for (guint32 stage = 0; stage < stages; stage++)
    ret[stage + 1] = unit += counts[stage];
  ret[stages]++;
}

gboolean plan_stages_listed(guint32 layers, const guint32 *counts, guint32 stages, guint32 *ret_bounds,
                            GError **error) {
  guint64 sum = 0;
  for (guint32 stage = 0; stage < stages; stage++)
    sum += counts[stage];
  if (sum != layers)
    return FAIL(error, "the stages hold %" G_GUINT64_FORMAT " layers, and the model has %u", sum, layers);
  bounds_of(counts, stages, ret_bounds);
  return TRUE;
}

/* The divisors of `items` next to `parts`, below and above, as ", or 4 or 8 parts"; one part is no pipeline. */
static char *nearest_parts(guint32 items, guint32 parts) {
  guint32 below = MIN(parts, items) - (parts <= items), above = parts < items ? parts + 1 : items;
  while (below > 1 && items % below != 0)
    below--;
  while (above < items && items % above != 0)
    above++;
  gboolean more = parts < items;
  if (below > 1 && more)
    return g_strdup_printf(", or %u or %u parts", below, above);
  return below > 1 || more ? g_strdup_printf(", or %u parts", below > 1 ? below : above) : g_strdup("");
}

/* `items` layers, named so in errors, in `parts` equal parts. */
static gboolean divide(guint32 items, guint32 parts, const char *what, guint32 *ret, GError **error) {
  if (items % parts != 0) {
    guint32 below = items / parts * parts;
    g_autofree char *nearest = nearest_parts(items, parts);
    if (below == 0)
      return FAIL(error, "%u %s do not divide into %u parts; %u do%s", items, what, parts, parts, nearest);
    return FAIL(error, "%u %s do not divide into %u parts; %u or %u do%s", items, what, parts, below, below + parts,
                nearest);
  }
  *ret = items / parts;
  return TRUE;
}

/* Layers of every pipeline rank, where the first or last has a number of its own. */
static gboolean count_ends(guint32 layers, const PlanStagesMegatron *options, guint32 *ret, GError **error) {
  guint32 given = options->first + options->last;
  guint32 ends = (options->first > 0) + (options->last > 0);
  if (options->ranks < ends || given > layers || options->first > layers)
    return FAIL(error, "first and last stage hold %u layers, and the model has %u over %u pipeline ranks", given,
                layers, options->ranks);
  guint32 middle = 0, inner = options->ranks - ends;
  if (inner > 0 && !divide(layers - given, inner, "layers between the first and the last stage", &middle, error))
    return FALSE;
  if (inner == 0 && given != layers)
    return FAIL(error, "first and last stage hold %u layers, and the model has %u", given, layers);
  for (guint32 rank = 0; rank < options->ranks; rank++)
    ret[rank] = middle;
  if (options->first > 0)
    ret[0] = options->first;
  if (options->last > 0)
    ret[options->ranks - 1] = options->last;
  return TRUE;
}

/* Layers of every pipeline rank, the embedding and the loss counted as a layer each where asked. */
static gboolean count_even(guint32 layers, const PlanStagesMegatron *options, guint32 *ret, GError **error) {
  guint32 extra = (options->count_embedding != FALSE) + (options->count_loss != FALSE), each = 0;
  const char *what = extra > 0 ? "layers, with embedding and loss where they count," : "layers";
  if (!divide(layers + extra, options->ranks, what, &each, error))
    return FALSE;
  for (guint32 rank = 0; rank < options->ranks; rank++)
    ret[rank] = each;
  return TRUE;
}

gboolean plan_stages_megatron(guint32 layers, const PlanStagesMegatron *options, guint32 *ret_bounds, GError **error) {
  gboolean ends = options->first > 0 || options->last > 0;
  if (ends && (options->count_embedding || options->count_loss))
    return FAIL(error, "layers of the first or last stage are given, and the embedding or the loss is counted too; "
                       "Megatron-Core takes one or the other");
  guint32 stages = options->ranks * options->chunks, chunk = 0;
  g_autofree guint32 *per_rank = g_new0(guint32, options->ranks), *counts = g_new0(guint32, stages);
  if (!(ends ? count_ends(layers, options, per_rank, error) : count_even(layers, options, per_rank, error)))
    return FALSE;
  for (guint32 stage = 0; stage < stages; stage++) {
    if (!divide(per_rank[stage % options->ranks], options->chunks, "layers of a pipeline rank", &chunk, error))
      return FALSE;
    counts[stage] = chunk;
  }
  counts[0] -= options->count_embedding != FALSE;
  counts[stages - 1] -= options->count_loss != FALSE;
  return plan_stages_listed(layers, counts, stages, ret_bounds, error);
}

gboolean plan_stages_torchtitan(guint32 layers, guint32 stages, guint32 input, guint32 output, guint32 *ret_bounds,
                                GError **error) {
  guint32 parts = layers + input + output, each = parts / stages;
  if (stages == 1) {
    bounds_of(&layers, 1, ret_bounds);
    return TRUE;
  }
  if (each == 0 || input > each || output > each)
    return FAIL(error,
                "%u layers over %u stages are %u each with embedding and head counted as %u and %u; "
                "torchtitan wants at least as many as those count",
                layers, stages, each, input, output);
  g_autofree guint32 *counts = g_new0(guint32, stages);
  for (guint32 stage = 0; stage < stages; stage++)
    counts[stage] = each + (stage < parts % stages);
  counts[0] -= input;
  counts[stages - 1] -= output;
  bounds_of(counts, stages, ret_bounds);
  return TRUE;
}

gboolean plan_stages_torchtitan_count(guint32 layers, guint32 ranks, guint32 per_stage, guint32 input, guint32 output,
                                      guint32 *ret_stages, GError **error) {
  guint32 stages = (layers + input + output + per_stage - 1) / per_stage;
  if (stages % ranks != 0)
    return FAIL(error, "%u layers in stages of %u make %u stages, which are not a multiple of the %u pipeline ranks",
                layers, per_stage, stages, ranks);
  *ret_stages = stages;
  return TRUE;
}
