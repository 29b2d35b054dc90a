/* SPDX-License-Identifier: MIT */
/* Samples of a rank class, cut to a window and thinned. */
#include "report-levels.h"

#include "report-clock.h"

guint64 report_level_total(const ReportLevel *level) {
  guint64 total = 0;
  for (guint t = 0; t < RUN_TENANTS; t++)
    total += level->held[t];
  return total;
}

static gboolean stands_at(const GArray *levels, guint from_end, SimTime at) {
  return levels->len >= from_end && g_array_index(levels, ReportLevel, levels->len - from_end).at == at;
}

/* Of levels of one moment the highest stays, and the last. */
static void add_level(GArray *levels, const ReportLevel *level) {
  while (stands_at(levels, 1, level->at) &&
         (stands_at(levels, 2, level->at) ||
          report_level_total(&g_array_index(levels, ReportLevel, levels->len - 1)) <= report_level_total(level)))
    g_array_set_size(levels, levels->len - 1);
  g_array_append_val(levels, *level);
}

GArray *report_levels(const ReportScene *scene) {
  GArray *levels = g_array_new(FALSE, FALSE, sizeof(ReportLevel));
  g_autoptr(ReportClock) clock = report_clock_new(scene->of);
  for (guint32 i = 0; i < scene->of->n_samples; i++) {
    ReportLevel level = scene->of->samples[i];
    level.at = report_clock_gpu(clock, level.at);
    if (level.at >= scene->to)
      break;
    if (level.at <= scene->from)
      g_array_set_size(levels, 0);
    level.at = MAX(level.at, scene->from);
    add_level(levels, &level);
  }
  return levels;
}

void report_levels_thin(GArray *levels, const ReportScene *scene, guint bins) {
  if (levels->len <= 2 * bins)
    return;
  SimTime span = MAX((scene->to - scene->from) / bins, 1);
  guint kept = 0, i = 0;
  while (i < levels->len) {
    SimTime bin = (g_array_index(levels, ReportLevel, i).at - scene->from) / span;
    ReportLevel highest = g_array_index(levels, ReportLevel, i), last = highest;
    for (; i < levels->len && (g_array_index(levels, ReportLevel, i).at - scene->from) / span == bin; i++) {
      last = g_array_index(levels, ReportLevel, i);
      if (report_level_total(&last) > report_level_total(&highest))
        highest = last;
    }
    g_array_index(levels, ReportLevel, kept++) = highest;
    if (last.at != highest.at)
      g_array_index(levels, ReportLevel, kept++) = last;
  }
  g_array_set_size(levels, kept);
}
