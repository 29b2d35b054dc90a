/* SPDX-License-Identifier: MIT */
/* A case to its peers, its class and its interval. */
#include "trust.h"

#include <math.h>
#include <string.h>

#include "trust-state.h"

TrustCase trust_among(const Trust *trust, const TrustCase *one) {
  TrustCase among = *one;
  for (int w = 0; w < TRUST_WORDS; w++) {
    char *known = g_hash_table_lookup(trust->words, one->words[w]);
    among.words[w] = known != NULL ? known : one->words[w];
  }
  return among;
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

/* As far as it is fewer than `most`. */
static guint differences(const Trust *trust, const TrustRow *row, const TrustCase *one, guint most) {
  guint n = 0;
  for (int f = 0; f < TRUST_NUMBERS && n < most; f++)
    n += !trust_alike_number(trust, row, one, (TrustNumber)f);
  for (int w = 0; w < TRUST_WORDS && n < most; w++)
    n += !trust_alike_word(row, one, (TrustWord)w);
  return n < most ? n + !trust_alike_options(row, one) : most;
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
    guint n = differences(trust, row, one, MAX(fewest, 1));
    if (n < fewest) {
      fewest = n;
      ret->nearest = row;
    }
    if (n > 0)
      continue;
    ret->alike++;
    if (!g_ptr_array_find_with_equal_func(ret->sources, row->source, g_str_equal, NULL))
      g_ptr_array_add(ret->sources, (gpointer)row->source);
  }
}

void trust_peers_clear(TrustPeers *peers) {
  g_ptr_array_unref(peers->rows);
  g_ptr_array_unref(peers->sources);
}

void trust_judge(const Trust *trust, const TrustCase *one, SimTime step, const char *unlike, TrustVerdict *ret) {
  TrustPeers peers;
  const TrustCase among = trust_among(trust, one);
  trust_peers(trust, &among, &peers);
  if (unlike != NULL)
    peers.alike = 0;
  const TrustClass *found = trust_class_find(trust, TRUST_EXACT, one);
  const TrustClass *around = trust_class_find(trust, TRUST_ON_KIND, one);
  *ret = (TrustVerdict){.alike = peers.alike, .envelope = trust_words(trust, &among, &peers, found, around, unlike)};
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
