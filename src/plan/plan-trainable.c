/* SPDX-License-Identifier: MIT */
/* Reading and asking what is trained. */
#include "plan-trainable.h"

#include <string.h>

static gboolean parse_range(const char *text, PlanTrainable *trainable) {
  if (trainable->n_ranges == PLAN_TRAINABLE_RANGES)
    return FALSE;
  g_auto(GStrv) ends = g_strsplit(text, "-", 2);
  guint64 first, last;
  if (ends[0] == NULL || !g_ascii_string_to_unsigned(g_strstrip(ends[0]), 10, 0, G_MAXUINT32, &first, NULL))
    return FALSE;
  last = first;
  if (ends[1] != NULL && !g_ascii_string_to_unsigned(g_strstrip(ends[1]), 10, first, G_MAXUINT32, &last, NULL))
    return FALSE;
  trainable->ranges[trainable->n_ranges].first = first;
  trainable->ranges[trainable->n_ranges++].last = last;
  return TRUE;
}

gboolean plan_trainable_parse(const char *text, PlanTrainable *ret, char **ret_fault) {
  PlanTrainable trainable = {.part = TRUE};
  if (g_ascii_strcasecmp(text, "all") == 0) {
    *ret = (PlanTrainable){0};
    return TRUE;
  }
  if (g_str_has_prefix(text, "lora")) {
    if (!model_lora_parse(text, &trainable.lora, ret_fault))
      return FALSE;
    *ret = trainable;
    return TRUE;
  }
  g_auto(GStrv) parts = g_strsplit(text, ",", -1);
  for (char **part = parts; *part != NULL; part++) {
    g_strstrip(*part);
    if (g_ascii_strcasecmp(*part, "embedding") == 0)
      trainable.embedding = TRUE;
    else if (g_ascii_strcasecmp(*part, "head") == 0)
      trainable.head = TRUE;
    else if (!parse_range(*part, &trainable)) {
      *ret_fault = g_strdup_printf("\"%s\" is not embedding, head, a layer or a range of at most %d; \"28-31, head\"",
                                   *part, PLAN_TRAINABLE_RANGES);
      return FALSE;
    }
  }
  if (!trainable.embedding && !trainable.head && trainable.n_ranges == 0) {
    *ret_fault = g_strdup("nothing is trained; all, or units as in \"28-31, head\"");
    return FALSE;
  }
  *ret = trainable;
  return TRUE;
}

gint64 plan_trainable_highest(const PlanTrainable *trainable) {
  gint64 highest = -1;
  for (guint i = 0; i < trainable->n_ranges; i++)
    highest = MAX(highest, (gint64)trainable->ranges[i].last);
  return highest;
}

static gboolean is_trained(const PlanTrainable *trainable, guint32 index, guint32 n_units) {
  if (trainable->lora.rank > 0)
    return index > 0 && index + 1 < n_units;
  if (index == 0 || index + 1 == n_units)
    return index == 0 ? trainable->embedding : trainable->head;
  gboolean trained = FALSE;
  for (guint i = 0; i < trainable->n_ranges; i++)
    trained |= index - 1 >= trainable->ranges[i].first && index - 1 <= trainable->ranges[i].last;
  return trained;
}

ModelTraining plan_trainable_of(const PlanTrainable *trainable, guint32 index, guint32 n_units) {
  if (!trainable->part)
    return MODEL_TRAINED;
  gboolean below = FALSE;
  for (guint32 lower = 0; lower < index; lower++)
    below |= is_trained(trainable, lower, n_units);
  if (is_trained(trainable, index, n_units))
    return below || index == 0 ? MODEL_TRAINED : MODEL_TRAINED_FIRST;
  return below ? MODEL_FROZEN : MODEL_FROZEN_BELOW;
}
