/* SPDX-License-Identifier: MIT */
/* The layout in words, and a table of stages. */
#include "report-classes.h"

#include <string.h>

#include "base-table.h"
#include "report-words.h"

static guint64 degree_of(const RunIdentity *identity, const char *name) {
  for (guint32 i = 0; i < identity->n_settings; i++)
    if (strcmp(identity->settings[i].name, name) == 0)
      return MAX(1, g_ascii_strtoull(identity->settings[i].value, NULL, 10));
  return 1;
}

char *report_layout(const RunIdentity *identity) {
  static const char *const axes[] = {"tensor", "context", "pipeline"};
  g_autoptr(GString) text = g_string_new(NULL);
  guint64 others = 1;
  for (gsize i = 0; i < G_N_ELEMENTS(axes); i++) {
    g_autofree char *name = g_strconcat("parallel.", axes[i], NULL);
    guint64 degree = degree_of(identity, name);
    others *= MAX(degree, 1);
    if (degree > 1)
      g_string_append_printf(text, "%s %" G_GUINT64_FORMAT " × ", axes[i], degree);
  }
  guint64 expert = degree_of(identity, "parallel.expert");
  if (others == 1 && expert == 1)
    return NULL;
  g_string_append_printf(text, "data %" G_GUINT64_FORMAT, identity->gpus / others);
  if (expert > 1)
    g_string_append_printf(text, "; experts over %" G_GUINT64_FORMAT, expert);
  return g_string_free(g_steal_pointer(&text), FALSE);
}

enum { TIMES = 4, FIGURES = TIMES + 2 };

/* What a line shows of a class behind its ranks, in hundredths. */
static void figures_of(const RunClass *of, gint64 ret[FIGURES]) {
  const SimTime times[TIMES] = {of->compute, of->exposed, of->bubble, of->host};
  for (gsize i = 0; i < TIMES; i++)
    ret[i] = report_centi_ms(times[i]);
  ret[TIMES] = report_centi_gib(of->peak_allocated);
  ret[TIMES + 1] = report_centi_gib(of->device_used);
}

/* Ranks of one stage may be apart in what no line shows, as in the way to their NICs. */
static gboolean reads_the_same(const RunClass *one, const RunClass *other) {
  gint64 ours[FIGURES], theirs[FIGURES];
  figures_of(one, ours);
  figures_of(other, theirs);
  return g_strcmp0(one->role, other->role) == 0 && memcmp(ours, theirs, sizeof ours) == 0;
}

/* A line for all classes that read as this one does, at the first of them. */
static void print_class(BaseTable *table, const RunReport *report, guint32 at) {
  const RunClass *of = &report->classes[at];
  guint32 ranks = 0;
  for (guint32 i = 0; i < report->n_classes; i++) {
    if (!reads_the_same(&report->classes[i], of))
      continue;
    if (i < at)
      return;
    ranks += report->classes[i].ranks;
  }
  gint64 figures[FIGURES];
  figures_of(of, figures);
  base_table_cell(table, "%s", of->role);
  base_table_cell(table, "%u", ranks);
  for (gsize i = 0; i < FIGURES; i++)
    base_table_cell(table, "%.2f", (double)figures[i] / 100);
}

#define MOST_LINES 64 /* beyond, each rank is told apart */

void report_classes(const RunReport *report, GString *text) {
  static const char *const heads[] = {"ranks",         "compute, ms",    "exposed, ms", "bubble, ms",
                                      "host-idle, ms", "allocated, GiB", "needs, GiB"};
  if (report->n_classes < 2 || report->n_classes > MOST_LINES || report->classes[0].role == NULL)
    return;
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "", BASE_LEFT);
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], BASE_RIGHT);
  for (guint32 i = 0; i < report->n_classes; i++)
    print_class(table, report, i);
  g_string_append_c(text, '\n');
  base_table_print(table, 0, text);
}
