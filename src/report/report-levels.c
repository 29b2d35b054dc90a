/* SPDX-License-Identifier: MIT */
/* Samples of a rank class, cut to a window and thinned. */
#include "report-levels.h"

guint64 report_level_total(const ReportLevel *level) {
  guint64 total = 0;
  for (guint t = 0; t < RUN_TENANTS; t++)
    total += level->held[t];
  return total;
}

GArray *report_levels(const ReportScene *scene) {
  GArray *levels = g_array_new(FALSE, FALSE, sizeof(ReportLevel));
  for (guint32 i = 0; i < scene->of->n_samples; i++) {
    ReportLevel level = scene->of->samples[i];
    level.at = MAX(level.at, scene->from);
    if (level.at >= scene->to)
      break;
    if (levels->len > 0 && g_array_index(levels, ReportLevel, levels->len - 1).at == level.at)
      g_array_set_size(levels, levels->len - 1);
    g_array_append_val(levels, level);
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
