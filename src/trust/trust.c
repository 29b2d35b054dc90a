/* SPDX-License-Identifier: MIT */
/* Rows to classes; a case to its peers, its class and its interval. */
#include "trust.h"

#include <math.h>
#include <string.h>

#include "trust-state.h"

gboolean trust_same_class(TrustLevel level, const TrustCase *one, const TrustCase *other) {
  return (level < TRUST_ON_BOUND || strcmp(one->words[TRUST_BOUND], other->words[TRUST_BOUND]) == 0) &&
         (level < TRUST_ON_KIND || strcmp(trust_margin_kind(one), trust_margin_kind(other)) == 0) &&
         (level < TRUST_ON_FRAMEWORK || strcmp(one->words[TRUST_FRAMEWORK], other->words[TRUST_FRAMEWORK]) == 0) &&
         (level < TRUST_EXACT || strcmp(one->words[TRUST_ARCHITECTURE], other->words[TRUST_ARCHITECTURE]) == 0);
}

/* The narrowest class of the case up to a level. NULL: there are too few rows in all. */
static const TrustClass *find_class(const Trust *trust, TrustLevel narrowest, const TrustCase *one) {
  for (guint i = trust->classes->len; i-- > 0;) {
    const TrustClass *found = &g_array_index(trust->classes, TrustClass, i);
    if (found->level <= narrowest && trust_same_class(found->level, found->like, one))
      return found;
  }
  return NULL;
}

static void add_class(Trust *trust, TrustLevel level, const TrustCase *like) {
  g_autofree TrustResidual *residuals = g_new(TrustResidual, trust->rows->len);
  guint n = 0;
  for (guint i = 0; i < trust->rows->len; i++) {
    const TrustRow *row = g_ptr_array_index(trust->rows, i);
    if (trust_same_class(level, &row->one, like))
      residuals[n++] = (TrustResidual){row->source, row->ratio};
  }
  TrustClass fresh = {.level = level, .like = like, .span = trust_span_of(residuals, n, &trust->rule)};
  const TrustClass *around = level > TRUST_ALL ? find_class(trust, level - 1, like) : NULL;
  if (around != NULL)
    fresh.span = n == around->span.rows ? around->span : trust_span_pool(&around->span, &fresh.span, &trust->rule);
  g_array_append_val(trust->classes, fresh);
}

void trust_make_classes(Trust *trust) {
  trust->classes = g_array_new(FALSE, FALSE, sizeof(TrustClass));
  if (trust->rows->len < trust_span_least((guint)trust->rule.coverage))
    return;
  for (TrustLevel level = 0; level < TRUST_LEVELS; level++)
    for (guint i = 0; i < trust->rows->len; i++) {
      const TrustRow *row = g_ptr_array_index(trust->rows, i);
      const TrustClass *known = find_class(trust, level, &row->one);
      if (known == NULL || known->level < level)
        add_class(trust, level, &row->one);
    }
}

gboolean trust_alike_word(const TrustRow *row, const TrustCase *one, TrustWord word) {
  return strcmp(row->one.words[word], one->words[word]) == 0;
}

gboolean trust_alike_number(const Trust *trust, const TrustRow *row, const TrustCase *one, TrustNumber number) {
  double a = row->one.numbers[number], b = one->numbers[number], factor = trust->near[number];
  return a <= factor * b && b <= factor * a;
}

gboolean trust_has_option(const TrustCase *one, const char *option) {
  return one->options != NULL && g_strv_contains((const char *const *)one->options, option);
}

static gboolean holds_all(const TrustCase *one, const TrustCase *other) {
  for (char **option = other->options; option != NULL && *option != NULL; option++)
    if (!trust_has_option(one, *option))
      return FALSE;
  return TRUE;
}

gboolean trust_alike_options(const TrustRow *row, const TrustCase *one) {
  return holds_all(&row->one, one) && holds_all(one, &row->one);
}

static guint differences(const Trust *trust, const TrustRow *row, const TrustCase *one) {
  guint n = !trust_alike_options(row, one);
  for (int w = 0; w < TRUST_WORDS; w++)
    n += !trust_alike_word(row, one, (TrustWord)w);
  for (int f = 0; f < TRUST_NUMBERS; f++)
    n += !trust_alike_number(trust, row, one, (TrustNumber)f);
  return n;
}

/* Rows that share the first words of which `architecture` and `framework` say so. */
static void gather(const Trust *trust, const TrustCase *one, gboolean architecture, gboolean framework,
                   GPtrArray *rows) {
  for (guint i = 0; i < trust->rows->len; i++) {
    TrustRow *row = g_ptr_array_index(trust->rows, i);
    if ((!architecture || trust_alike_word(row, one, TRUST_ARCHITECTURE)) &&
        (!framework || trust_alike_word(row, one, TRUST_FRAMEWORK)))
      g_ptr_array_add(rows, row);
  }
}

void trust_peers(const Trust *trust, const TrustCase *one, TrustPeers *ret) {
  *ret = (TrustPeers){.rows = g_ptr_array_new(), .sources = g_ptr_array_new()};
  for (int less = 0; ret->rows->len == 0 && less < 4; less++)
    gather(trust, one, less == 0 || less == 2, less <= 1, ret->rows);
  guint fewest = G_MAXUINT;
  for (guint i = 0; i < ret->rows->len; i++) {
    const TrustRow *row = g_ptr_array_index(ret->rows, i);
    guint n = differences(trust, row, one);
    if (n < fewest) {
      fewest = n;
      ret->nearest = row;
    }
    if (n > 0)
      continue;
    ret->alike++;
    if (!g_ptr_array_find_with_equal_func(ret->sources, row->source, g_str_equal, NULL))
      g_ptr_array_add(ret->sources, row->source);
  }
}

void trust_peers_clear(TrustPeers *peers) {
  g_ptr_array_unref(peers->rows);
  g_ptr_array_unref(peers->sources);
}

void trust_judge(const Trust *trust, const TrustCase *one, SimTime step, const char *unlike, TrustVerdict *ret) {
  TrustPeers peers;
  trust_peers(trust, one, &peers);
  if (unlike != NULL)
    peers.alike = 0;
  const TrustClass *found = find_class(trust, TRUST_EXACT, one), *around = find_class(trust, TRUST_ON_KIND, one);
  *ret = (TrustVerdict){.alike = peers.alike, .envelope = trust_words(trust, one, &peers, found, around, unlike)};
  if (found != NULL) {
    TrustSpan span = peers.alike > 0 ? found->span : trust_span_join(&found->span, &around->span);
    ret->low = (SimTime)round((double)step * span.low);
    ret->high = (SimTime)round((double)step * span.high);
  }
  trust_peers_clear(&peers);
}

void trust_verdict_clear(TrustVerdict *verdict) {
  g_clear_pointer(&verdict->envelope, g_free);
}

void trust_read(const Trust *trust, const RunReport *report, TrustCase *ret) {
  trust_case_read(report, trust->bound_from, ret);
}

const TrustMargin *trust_margin(const Trust *trust, const TrustCase *one) {
  return trust_margins_find(trust->margins, one);
}

const char *trust_sum(const Trust *trust) {
  return trust->sum;
}

guint trust_coverage(const Trust *trust) {
  return (guint)trust->rule.coverage;
}

gboolean trust_has(const Trust *trust, const char *source, const char *id) {
  for (guint i = 0; i < trust->rows->len; i++) {
    const TrustRow *row = g_ptr_array_index(trust->rows, i);
    if (strcmp(row->id, id) == 0 && strcmp(row->source, source) == 0)
      return TRUE;
  }
  return FALSE;
}
