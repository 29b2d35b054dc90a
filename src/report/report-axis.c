/* SPDX-License-Identifier: MIT */
/* Marks at round numbers. */
#include "report-axis.h"

#define ENOUGH 3 /* marks, before those between them are left out */

typedef struct {
  double list[9];
  guint n;
} Marks;

/* Of a decade, the coarsest first. */
static const Marks all[] = {{{1}, 1}, {{1, 2, 5}, 3}, {{1, 1.5, 2, 3, 4, 5, 6, 7, 8}, 9}};

/* The greatest power of ten that is no larger; by steps, so that the same axis has the same marks everywhere. */
static double decade_of(double value) {
  double decade = 1;
  while (decade > value)
    decade /= 10;
  while (decade * 10 <= value)
    decade *= 10;
  return decade;
}

static char *text_of(double value) {
  static const struct {
    double unit;
    const char *letter;
  } units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
    if (value >= units[i].unit)
      return g_strdup_printf("%g%s", value / units[i].unit, units[i].letter);
  return g_strdup_printf("%g", value);
}

static guint add_tics(const Marks *marks, double least, double most, GString *tics) {
  guint n = 0;
  double decade = decade_of(least);
  while (decade <= most) {
    for (guint i = 0; i < marks->n; i++) {
      double mark = marks->list[i] * decade;
      if (mark < least || mark > most)
        continue;
      g_autofree char *text = text_of(mark);
      g_string_append_printf(tics, "%s\"%s\" %.9g", n++ > 0 ? ", " : "", text, mark);
    }
    decade *= 10;
  }
  return n;
}

void report_log_tics(char axis, double least, double most, GString *script) {
  g_autoptr(GString) tics = g_string_new(NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(all); i++) {
    g_string_truncate(tics, 0);
    if (add_tics(&all[i], least, most, tics) >= ENOUGH)
      break;
  }
  g_string_append_printf(script, "set %ctics (%s)\n", axis, tics->str);
}
