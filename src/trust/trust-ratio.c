/* SPDX-License-Identifier: MIT */
/* Pairs of rows as residuals of a ratio. */
#include "trust-ratio.h"

#include <string.h>

#include "trust-state.h"

static GPtrArray *rows_of(const Trust *trust, TrustLevel level, const TrustCase *one) {
  GPtrArray *rows = g_ptr_array_new();
  for (guint i = 0; i < trust->rows->len; i++) {
    TrustRow *row = g_ptr_array_index(trust->rows, i);
    if (trust_same_class(level, &row->one, one))
      g_ptr_array_add(rows, row);
  }
  return rows;
}

static GArray *pairs_of(const Trust *trust, TrustLevel level, const TrustCase *from, const TrustCase *to) {
  g_autoptr(GPtrArray) before = rows_of(trust, level, from);
  g_autoptr(GPtrArray) after = rows_of(trust, level, to);
  GArray *pairs = g_array_new(FALSE, FALSE, sizeof(TrustResidual));
  for (guint i = 0; i < before->len; i++)
    for (guint k = 0; k < after->len; k++) {
      const TrustRow *a = g_ptr_array_index(before, i), *b = g_ptr_array_index(after, k);
      TrustResidual pair = {a->source, b->ratio / a->ratio};
      if (a != b && strcmp(a->source, b->source) == 0)
        g_array_append_val(pairs, pair);
    }
  return pairs;
}

gboolean trust_ratio(const Trust *trust, const TrustCase *from, const TrustCase *to, TrustRatio *ret) {
  for (int level = TRUST_EXACT; level >= TRUST_ALL; level--) {
    g_autoptr(GArray) pairs = pairs_of(trust, (TrustLevel)level, from, to);
    TrustSpan span;
    if (!trust_span((TrustResidual *)(gpointer)pairs->data, pairs->len, &trust->rule, &span))
      continue;
    *ret = (TrustRatio){span.low, span.high, span.rows, span.sources};
    return TRUE;
  }
  return FALSE;
}
