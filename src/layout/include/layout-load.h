/* SPDX-License-Identifier: MIT */
/* The axes as a person writes them: the keys of [parallel] that lay ranks out and choose a pipeline schedule.
 *
 *   LayoutRecipe recipe;
 *   if (!layout_load(settings, ranks, "megatron", FALSE, &recipe, error)) ...
 *   recipe.layout.degree[LAYOUT_TENSOR]
 *
 * Keys that nobody gave are 1, no, or the framework's, so pure data parallelism is a layout like any other. */
#pragma once

#include "conf-settings.h"
#include "layout.h"

/* DEFAULT never comes out of layout_load: it becomes single, 1f1b or interleaved by pipeline and interleave. */
typedef enum {
  LAYOUT_SCHEDULE_DEFAULT,
  LAYOUT_SCHEDULE_SINGLE, /* no pipeline: each micro-batch forward, then backward */
  LAYOUT_SCHEDULE_GPIPE,
  LAYOUT_SCHEDULE_1F1B,
  LAYOUT_SCHEDULE_INTERLEAVED,
  LAYOUT_SCHEDULE_ZB_H1,
  LAYOUT_SCHEDULE_ZBV,
  LAYOUT_SCHEDULES
} LayoutSchedule;
extern const char *const layout_schedule_names[]; /* "default", "single", "gpipe", "1f1b", "interleaved", ... */

extern const ConfSchema layout_schema; /* tensor to rank_order of [parallel] */

typedef struct {
  Layout layout;
  LayoutSchedule schedule;
  guint32 chunks;             /* model chunks of a pipeline rank: interleave, 2 of zbv */
  gboolean sequence_parallel; /* FALSE where tensor is 1: there is nothing to split, as in Megatron-Core */
} LayoutRecipe;

/* Whether what leaves the last pipeline rank goes on to the first one's next chunk. */
static inline gboolean layout_goes_around(const LayoutRecipe *recipe) {
  return recipe->chunks > 1 && recipe->schedule != LAYOUT_SCHEDULE_ZBV;
}

/* `experts`: the model has them (see layout_default_order). Errors name the key: degrees that do not divide the ranks,
 * a schedule that does not go with pipeline and interleave, experts' degrees for a model without. */
gboolean layout_load(const ConfSettings *settings, guint32 ranks, const char *framework, gboolean experts,
                     LayoutRecipe *ret, GError **error);
