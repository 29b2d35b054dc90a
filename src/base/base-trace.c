/* SPDX-License-Identifier: MIT */
/* Which points patterns ask for, and the line that a point prints. */
#include "base-trace.h"

static gboolean asks_for_any(const char *pattern, const char *const *names) {
  for (; *names != NULL; names++)
    if (g_pattern_match_simple(pattern, *names))
      return TRUE;
  return FALSE;
}

guint32 base_trace_points(const BaseTrace *trace, const char *const *names) {
  guint32 bits = 0;
  if (trace == NULL)
    return 0;
  g_auto(GStrv) patterns = g_strsplit(trace->patterns, ",", -1);
  for (char **pattern = patterns; *pattern != NULL; pattern++)
    for (guint i = 0; names[i] != NULL; i++)
      if (g_pattern_match_simple(*pattern, names[i]))
        bits |= 1u << i;
  return bits;
}

char *base_trace_unknown(const char *patterns, const char *const *names) {
  g_auto(GStrv) all = g_strsplit(*patterns != '\0' ? patterns : ",", ",", -1);
  for (char **pattern = all; *pattern != NULL; pattern++)
    if (!asks_for_any(*pattern, names))
      return g_strdup(*pattern);
  return NULL;
}

void base_trace_line(const BaseTrace *trace, const char *point, SimTime at, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *what = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT " %s %s\n", at, point, what);
  trace->line(text, trace->user);
}
