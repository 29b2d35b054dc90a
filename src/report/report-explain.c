/* SPDX-License-Identifier: MIT */
/* Which ranks and links were played together, and what kept the others apart. */
#include <string.h>

#include "report-text.h"
#include "report-words.h"

/* Ranges of ranks on one line; the others are counted. */
#define MOST_RANGES 16

static char *readable(const char *members) {
  g_auto(GStrv) ranges = g_strsplit(members, ",", -1);
  guint n = g_strv_length(ranges);
  gboolean one = n == 1 && strchr(ranges[0], '-') == NULL;
  GString *text = g_string_new(one ? "rank " : "ranks ");
  for (guint i = 0; i < MIN(n, MOST_RANGES); i++)
    g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", ranges[i]);
  if (n > MOST_RANGES)
    g_string_append_printf(text, " and %u more ranges", n - MOST_RANGES);
  return g_string_free(text, FALSE);
}

static void explain_class(const RunClass *rank_class, GString *text) {
  g_autofree char *who = readable(rank_class->members);
  const char *alike = rank_class->ranks > 1 ? "alike" : "", *apart = rank_class->apart != NULL ? rank_class->apart : "";
  const char *between = *alike != '\0' && *apart != '\0' ? ", " : *alike == '\0' && *apart == '\0' ? "alone" : "";
  g_autofree char *line = g_strdup_printf("%s: %s%s%s", who, alike, between, apart);
  report_wrap(text, "  ", line);
}

static void explain_link(const RunLink *link, GString *text) {
  g_autofree char *line = link->apart != NULL ? g_strdup_printf("%s: %s", link->link_class, link->apart)
                                              : g_strdup_printf("%s: %u alike", link->link_class, link->links);
  report_wrap(text, "  ", line);
}

/* With folding there is one class, or something that keeps them apart. */
static gboolean is_folded(const RunReport *report) {
  gboolean apart = report->n_classes == 1;
  for (guint32 i = 0; i < report->n_classes; i++)
    apart |= report->classes[i].apart != NULL;
  return apart;
}

static void explain(const RunReport *report, GString *text) {
  if (!is_folded(report)) {
    g_string_append(text, "  Folding is off: every rank and every link is played by itself.\n");
    return;
  }
  for (guint32 i = 0; i < report->n_classes; i++)
    explain_class(&report->classes[i], text);
  g_string_append(text, "Links played together\n");
  for (guint32 i = 0; i < report->n_links; i++)
    explain_link(&report->links[i], text);
}

void report_explain(RunReport *const *reports, guint n, GString *text) {
  g_autoptr(GString) before = g_string_new(NULL);
  for (guint i = 0; i < n; i++) {
    g_autoptr(GString) one = g_string_new(NULL);
    explain(reports[i], one);
    if (g_string_equal(one, before))
      continue;
    g_string_append(text, "\nRanks played together");
    if (i > 0)
      g_string_append_printf(text, " from ZeRO-%u on", reports[i]->identity.zero_stage);
    g_string_append_printf(text, "\n%s", one->str);
    g_string_assign(before, one->str);
  }
}
