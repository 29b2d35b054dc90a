/* SPDX-License-Identifier: MIT */
/* Chunks from stages, and places for micro-batches. */
#include "plan-chunk.h"

static void add_chunks(PlanHolding *holding, const PlanScheduleShape *shape, const guint32 *bounds) {
  holding->n_chunks = shape->chunks;
  holding->chunks = g_new(PlanChunk, shape->chunks);
  for (guint32 c = 0; c < shape->chunks; c++) {
    guint32 stage = plan_schedule_stage(shape, holding->rank, c), n = bounds[stage + 1] - bounds[stage];
    holding->chunks[c] = (PlanChunk){stage, bounds[stage], holding->n_units, holding->n_units + n - 1, n};
    holding->n_units += n;
  }
}

/* Places that are taken, and those whose micro-batch has ended since the last forward pass. */
typedef struct {
  GArray *taken; /* gboolean */
  GArray *ended; /* guint32 */
} Places;

static guint32 take_place(Places *places) {
  guint32 place = 0;
  while (place < places->taken->len && g_array_index(places->taken, gboolean, place))
    place++;
  if (place == places->taken->len)
    g_array_set_size(places->taken, place + 1);
  g_array_index(places->taken, gboolean, place) = TRUE;
  return place;
}

static void free_places(Places *places) {
  for (guint i = 0; i < places->ended->len; i++)
    g_array_index(places->taken, gboolean, g_array_index(places->ended, guint32, i)) = FALSE;
  g_array_set_size(places->ended, 0);
}

/* Where receives are early, the place of a forward pass is in use since the forward pass before. */
static void find_places(PlanHolding *holding, const PlanScheduleShape *shape) {
  guint32 each = holding->n_passes / shape->micros;
  g_autofree guint32 *left = g_new(guint32, shape->micros), *place = g_new0(guint32, shape->micros);
  g_autoptr(GArray) taken = g_array_new(FALSE, TRUE, sizeof(gboolean));
  g_autoptr(GArray) ended = g_array_new(FALSE, FALSE, sizeof(guint32));
  Places places = {taken, ended};
  for (guint32 m = 0; m < shape->micros; m++)
    left[m] = each;
  holding->places = g_new(guint32, holding->n_passes);
  for (guint32 i = 0; i < holding->n_passes; i++) {
    guint32 micro = holding->passes[i].micro;
    if (left[micro] == each)
      place[micro] = take_place(&places);
    if (holding->passes[i].kind == PLAN_PASS_FORWARD)
      free_places(&places);
    holding->places[i] = place[micro];
    if (--left[micro] == 0)
      g_array_append_val(ended, place[micro]);
    if (!shape->early)
      free_places(&places);
  }
  holding->n_places = taken->len;
}

PlanHolding *plan_holding_new(const PlanScheduleShape *shape, const guint32 *bounds, guint32 rank) {
  PlanHolding *holding = g_new0(PlanHolding, 1);
  holding->rank = rank;
  holding->model_units = bounds[plan_schedule_stages(shape)];
  add_chunks(holding, shape, bounds);
  holding->passes = plan_schedule_passes(shape, rank, &holding->n_passes);
  find_places(holding, shape);
  return holding;
}

void plan_holding_free(PlanHolding *holding) {
  if (holding == NULL)
    return;
  g_free(holding->chunks);
  g_free(holding->passes);
  g_free(holding->places);
  g_free(holding);
}
