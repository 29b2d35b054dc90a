/* SPDX-License-Identifier: MIT */
/* Rounding that adds up, and line breaks. */
#include "report-words.h"

#include <string.h>

#include "base-wide.h"

void report_split(const gint64 *parts, guint n, gint64 units, gint64 *ret) {
  BaseWide sum = 0;
  gint64 left = MAX(units, 0);
  g_autofree BaseWide *remainders = g_new0(BaseWide, n);
  for (guint i = 0; i < n; i++)
    sum += (guint64)MAX(parts[i], 0);
  for (guint i = 0; i < n; i++) {
    BaseWide product = base_wide_product((guint64)MAX(parts[i], 0), (guint64)MAX(units, 0));
    ret[i] = sum > 0 ? (gint64)base_wide_divide(product, sum, &remainders[i]) : 0;
    left -= ret[i];
  }
  while (sum > 0 && left-- > 0) {
    guint largest = 0;
    for (guint i = 1; i < n; i++)
      if (remainders[i] > remainders[largest])
        largest = i;
    remainders[largest] = 0;
    ret[largest]++;
  }
}

char *report_row(const char *name, gint32 layer, const char *phase) {
  if (layer < 0)
    return g_strdup_printf("%s (%s)", name, phase);
  return g_strdup_printf("%s (layer %d, %s)", name, layer, phase);
}

const char *report_place(const char *name, gint32 layer, const char *phase) {
  static const struct {
    const char *phase, *place;
  } places[] = {{"setup", "loading the model"},    {"forward", "forward"},
                {"backward", "backward"},          {"recompute", "recomputing a layer"},
                {"reduce", "reducing gradients"},  {"optimizer", "the optimizer's step"},
                {"gather", "gathering parameters"}};
  if (strstr(name, "cross_entropy") != NULL || strstr(name, "loss") != NULL)
    return "the loss";
  if (layer < 0 && strcmp(phase, "forward") == 0)
    return "the ends of forward";
  for (gsize i = 0; i < G_N_ELEMENTS(places); i++)
    if (strcmp(phase, places[i].phase) == 0)
      return places[i].place;
  return phase;
}

char *report_step(guint32 step) {
  return step == 0 ? g_strdup("in the first step") : g_strdup_printf("in steady step %u", step);
}

char *report_interval(SimTime low, SimTime high) {
  double from = base_in_ms(low), to = base_in_ms(high);
  int decimals = from >= 100 ? 0 : from >= 10 ? 1 : 2;
  return low > 0 ? g_strdup_printf("%.*f to %.*f", decimals, from, decimals, to) : NULL;
}

void report_envelopes(const char *const *labels, const char *const *envelopes, guint n, GString *text) {
  for (guint i = 0; i < n; i++) {
    gboolean said = envelopes[i] == NULL;
    for (guint k = 0; !said && k < i; k++)
      said = g_strcmp0(envelopes[k], envelopes[i]) == 0;
    if (said)
      continue;
    g_autoptr(GString) words = g_string_new(labels[i]);
    for (guint k = i + 1; k < n; k++)
      if (g_strcmp0(envelopes[k], envelopes[i]) == 0)
        g_string_append_printf(words, ", %s", labels[k]);
    g_string_append_printf(words, ": %s.", envelopes[i]);
    report_wrap(text, "Interval of ", words->str);
  }
}

gint64 report_centi_ms(SimTime time) {
  SimTime unit = SIM_MILLISECOND / 100;
  return time / unit + (time % unit + unit / 2) / unit;
}

gint64 report_centi_gib(guint64 bytes) {
  return (gint64)(100 * base_in_gib(bytes) + 0.5); /* exact below 2^48 bytes: 100 / 2^30 is 25 / 2^28 */
}

const char *report_level_name(guint level) {
  return level < RUN_TENANTS ? run_tenant_names[level] : "cache, rounding";
}

void report_split_memory(const guint64 held[RUN_TENANTS], guint64 used, gint64 ret[REPORT_LEVELS]) {
  gint64 parts[REPORT_LEVELS], left = (gint64)used;
  for (guint t = 0; t < RUN_TENANTS; t++) {
    parts[t] = (gint64)held[t];
    left -= parts[t];
  }
  parts[RUN_TENANTS] = MAX(left, 0);
  report_split(parts, REPORT_LEVELS, report_centi_gib(used), ret);
}

void report_memory_levels(const RunClass *rank_class, gint64 ret[REPORT_LEVELS]) {
  report_split_memory(rank_class->peak_held, rank_class->device_used, ret);
}

static gboolean ends_in_digit(const char *word) {
  gsize length = strlen(word);
  return length > 0 && g_ascii_isdigit(word[length - 1]);
}

void report_wrap(GString *text, const char *first, const char *words) {
  glong indent = g_utf8_strlen(first, -1), column = indent;
  g_auto(GStrv) each = g_strsplit(words, " ", -1);
  g_string_append(text, first);
  for (guint i = 0; each[i] != NULL; i++) {
    glong width = g_utf8_strlen(each[i], -1);
    glong together = width;
    for (guint j = i; ends_in_digit(each[j]) && each[j + 1] != NULL; j++)
      together += 1 + g_utf8_strlen(each[j + 1], -1);
    gboolean bound = i > 0 && ends_in_digit(each[i - 1]);
    if (i > 0 && !bound && column + 1 + together > REPORT_WIDTH) {
      g_string_append_printf(text, "\n%*s", (int)indent, "");
      column = indent;
    } else if (i > 0) {
      g_string_append_c(text, ' ');
      column++;
    }
    g_string_append(text, each[i]);
    column += width;
  }
  g_string_append_c(text, '\n');
}
