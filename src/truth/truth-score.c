/* SPDX-License-Identifier: MIT */
/* Rows into groups, errors into figures. Few groups: found by walking over them. */
#include "truth-score.h"

#include <string.h>

#define SMALL_BELOW ((guint64)1 << 20)
#define LARGE_FROM  ((guint64)64 << 20)

const char *const truth_band_names[] = {"< 1 MiB", "1 to 64 MiB", ">= 64 MiB", NULL};

static TruthBand band_of(guint64 bytes) {
  return bytes < SMALL_BELOW ? TRUTH_SMALL : bytes < LARGE_FROM ? TRUTH_MEDIUM : TRUTH_LARGE;
}

#define HARD_FROM 0.6 /* of the capacity: by definition of the hard cases */
#define HARD_TO   1.5

gboolean truth_score_is_hard(const TruthRow *row) {
  static const char *const summed[] = {"parameters", "gradients", "optimizer", "activations", NULL};
  double sum = 0, capacity = (double)row->breakdown.capacity;
  for (int tenant = 0; tenant < RUN_TENANTS; tenant++)
    if (g_strv_contains(summed, run_tenant_names[tenant]))
      sum += (double)row->breakdown.held[tenant];
  return sum >= HARD_FROM * capacity && sum <= HARD_TO * capacity;
}

/* The group that a row belongs to, without counts. A collective that did not run has no size of its own: as written. */
static TruthGroup key_of(const TruthRow *row) {
  if (!row->table->collectives)
    return (TruthGroup){.source = row->source, .set = row->set};
  const char *written = truth_table_setting(row->table, row->row, "collective.bytes");
  return (TruthGroup){.collectives = TRUE,
                      .source = truth_table_setting(row->table, row->row, "cluster.topology"),
                      .set = row->set,
                      .band = band_of(row->ran ? row->bytes : g_ascii_strtoull(written, NULL, 10))};
}

static int compare_groups(gconstpointer a, gconstpointer b) {
  const TruthGroup *one = a, *other = b;
  if (one->collectives != other->collectives)
    return one->collectives - other->collectives;
  int source = strcmp(one->source, other->source), set = strcmp(one->set, other->set);
  return source != 0 ? source : set != 0 ? set : (int)one->band - (int)other->band;
}

GArray *truth_score_groups(const TruthResult *result) {
  GArray *groups = g_array_new(FALSE, FALSE, sizeof(TruthGroup));
  for (guint i = 0; i < result->rows->len; i++) {
    const TruthRow *row = truth_row(result, i);
    TruthGroup key = key_of(row);
    guint g = 0;
    while (g < groups->len && compare_groups(&g_array_index(groups, TruthGroup, g), &key) != 0)
      g++;
    if (g == groups->len)
      g_array_append_val(groups, key);
    TruthGroup *group = &g_array_index(groups, TruthGroup, g);
    group->rows++;
    group->ran += row->ran != FALSE;
    double measured = row->measured[STORE_MEASURE_FITS], predicted = row->predicted[STORE_MEASURE_FITS];
    if (measured == STORE_UNKNOWN || predicted == STORE_UNKNOWN)
      continue;
    gboolean hard = truth_score_is_hard(row);
    StoreVerdict was = (StoreVerdict)measured, said = (StoreVerdict)predicted;
    group->verdicts[was][said]++;
    group->hard += hard != FALSE;
    group->hard_right += hard && was == said;
    group->hard_edge += hard && said == STORE_VERDICT_EDGE;
  }
  g_array_sort(groups, compare_groups);
  return groups;
}

static gboolean scored(const TruthRow *row, StoreMeasureKind kind, double *ret) {
  return kind != STORE_MEASURE_FITS &&
         !(kind == STORE_MEASURE_BANDWIDTH && row->measured[STORE_MEASURE_TIME] != STORE_UNKNOWN) &&
         truth_row_error(row, kind, ret);
}

GArray *truth_score_errors(const TruthResult *result, const TruthGroup *group, StoreMeasureKind kind) {
  GArray *errors = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < result->rows->len; i++) {
    const TruthRow *row = truth_row(result, i);
    double error;
    if (!scored(row, kind, &error)) /* most rows say nothing of a kind: asked before their cells are looked up */
      continue;
    TruthGroup key = key_of(row);
    if (compare_groups(&key, group) == 0)
      g_array_append_val(errors, error);
  }
  return errors;
}

static int compare_numbers(gconstpointer a, gconstpointer b) {
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

static double median_of(const GArray *sorted) {
  guint n = sorted->len;
  return (g_array_index(sorted, double, (n - 1) / 2) + g_array_index(sorted, double, n / 2)) / 2;
}

TruthError truth_score_sum(const GArray *errors) {
  TruthError sum = {.n = errors->len};
  if (sum.n == 0)
    return sum;
  g_autoptr(GArray) sorted = g_array_sized_new(FALSE, FALSE, sizeof(double), sum.n);
  for (guint i = 0; i < sum.n; i++) {
    double error = g_array_index(errors, double, i), size = ABS(error);
    sum.bias += error / sum.n;
    sum.mean += size / sum.n;
    g_array_append_val(sorted, size);
  }
  g_array_sort(sorted, compare_numbers);
  sum.median = median_of(sorted);
  sum.p90 = g_array_index(sorted, double, (9 * sum.n + 9) / 10 - 1);
  sum.worst = g_array_index(sorted, double, sum.n - 1);
  return sum;
}

char truth_score_tier(const char *set) {
  gsize n = strlen(set);
  gboolean ends = n > 2 && set[n - 2] == '-' && strchr("ABC", set[n - 1]) != NULL;
  return ends ? set[n - 1] : '\0';
}

/* "data-parallel" of "data-parallel-A"; NULL where the tier is not A or B. Caller frees. */
static char *family_of(const TruthGroup *group) {
  char tier = truth_score_tier(group->set);
  return tier == 'A' || tier == 'B' ? g_strndup(group->set, strlen(group->set) - 2) : NULL;
}

static TruthHeadline headline_of(const TruthResult *result, const GArray *groups, const char *family,
                                 StoreMeasureKind kind) {
  TruthHeadline headline = {.family = g_strdup(family)};
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) medians = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) source = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint g = 0; g < groups->len; g++) {
    const TruthGroup *group = &g_array_index(groups, TruthGroup, g);
    g_autofree char *own = family_of(group);
    if (g_strcmp0(own, family) == 0) {
      g_autoptr(GArray) errors = truth_score_errors(result, group, kind);
      g_array_append_vals(source, errors->data, errors->len);
    }
    gboolean last = g + 1 == groups->len || strcmp(group->source, group[1].source) != 0;
    if (!last || source->len == 0)
      continue;
    TruthError sum = truth_score_sum(source);
    headline.worst_bias = ABS(sum.bias) > ABS(headline.worst_bias) ? sum.bias : headline.worst_bias;
    g_array_append_val(medians, sum.median);
    g_array_append_vals(all, source->data, source->len);
    g_array_set_size(source, 0);
  }
  headline.sources = medians->len;
  headline.all = truth_score_sum(all);
  headline.median_of_medians = medians->len > 0 ? truth_score_sum(medians).median : 0;
  return headline;
}

static void headline_clear(gpointer data) {
  g_free(((TruthHeadline *)data)->family);
}

static int compare_texts(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GArray *truth_score_headlines(const TruthResult *result, StoreMeasureKind kind) {
  GArray *headlines = g_array_new(FALSE, FALSE, sizeof(TruthHeadline));
  g_array_set_clear_func(headlines, headline_clear);
  g_autoptr(GArray) groups = truth_score_groups(result);
  g_autoptr(GPtrArray) families = g_ptr_array_new_with_free_func(g_free);
  for (guint g = 0; g < groups->len; g++) {
    g_autofree char *family = family_of(&g_array_index(groups, TruthGroup, g));
    if (family != NULL && !g_ptr_array_find_with_equal_func(families, family, g_str_equal, NULL))
      g_ptr_array_add(families, g_steal_pointer(&family));
  }
  g_ptr_array_sort(families, compare_texts);
  for (guint f = 0; f < families->len; f++) {
    TruthHeadline headline = headline_of(result, groups, g_ptr_array_index(families, f), kind);
    if (headline.all.n > 0)
      g_array_append_val(headlines, headline);
    else
      headline_clear(&headline);
  }
  return headlines;
}

#define LOOKED " (looked in " /* where this machine has its data is no part of a reason */

/* "tensor: 16 is …" → "tensor: N is …"; digits inside words ("fsdp1") stay. Caller frees. */
static char *without_numbers(const char *text) {
  GString *plain = g_string_new(NULL);
  gboolean in_word = FALSE;
  while (*text != '\0' && !g_str_has_prefix(text, LOOKED)) {
    gsize digits = strspn(text, "0123456789");
    char next = text[digits];
    gboolean whole = digits > 0 && !in_word && !g_ascii_isalpha(next);
    if (whole)
      g_string_append_c(plain, 'N');
    else if (digits > 0)
      g_string_append_len(plain, text, (gssize)digits);
    else
      g_string_append_c(plain, *text);
    in_word = digits > 0 ? !whole : g_ascii_isalpha(*text) || *text == '_' || *text == '-';
    text += MAX(digits, 1);
  }
  return g_string_free(plain, FALSE);
}

static int compare_reasons(gconstpointer a, gconstpointer b) {
  const TruthReason *one = a, *other = b;
  return one->rows != other->rows ? (one->rows < other->rows) - (one->rows > other->rows)
                                  : strcmp(one->text, other->text);
}

static void reason_clear(gpointer data) {
  g_free(((TruthReason *)data)->text);
}

GArray *truth_score_reasons(const TruthResult *result) {
  GArray *reasons = g_array_new(FALSE, FALSE, sizeof(TruthReason));
  g_array_set_clear_func(reasons, reason_clear);
  for (guint i = 0; i < result->rows->len; i++)
    for (char **reason = truth_row(result, i)->reasons; reason != NULL && *reason != NULL; reason++) {
      g_autofree char *text = without_numbers(*reason);
      guint r = 0;
      while (r < reasons->len && strcmp(g_array_index(reasons, TruthReason, r).text, text) != 0)
        r++;
      if (r == reasons->len) {
        TruthReason fresh = {g_steal_pointer(&text), 0};
        g_array_append_val(reasons, fresh);
      }
      g_array_index(reasons, TruthReason, r).rows++;
    }
  g_array_sort(reasons, compare_reasons);
  return reasons;
}
