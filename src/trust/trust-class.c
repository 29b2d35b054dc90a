/* SPDX-License-Identifier: MIT */
/* Classes of rows, made as they are asked for: a case asks for at most five, of some seventy that there are. */
#include <string.h>

#include "trust-state.h"

struct TrustClasses {
  GMutex lock;
  GHashTable *known; /* level and words → TrustClass, or NULL where no row is of it */
};

TrustClasses *trust_classes_new(void) {
  TrustClasses *classes = g_new(TrustClasses, 1);
  g_mutex_init(&classes->lock);
  classes->known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  return classes;
}

void trust_classes_free(TrustClasses *classes) {
  g_mutex_clear(&classes->lock);
  g_hash_table_unref(classes->known);
  g_free(classes);
}

/* Told apart: how far off the waits of checks are says nothing of runs without. */
static gboolean is_checked(const TrustCase *one) {
  return trust_has_option(one, "parallel.distributed_debug=detail");
}

gboolean trust_same_class(TrustLevel level, const TrustCase *one, const TrustCase *other) {
  return (level < TRUST_ON_BOUND ||
          (strcmp(one->words[TRUST_BOUND], other->words[TRUST_BOUND]) == 0 && is_checked(one) == is_checked(other))) &&
         (level < TRUST_ON_KIND || strcmp(trust_margin_kind(one), trust_margin_kind(other)) == 0) &&
         (level < TRUST_ON_FRAMEWORK || strcmp(one->words[TRUST_FRAMEWORK], other->words[TRUST_FRAMEWORK]) == 0) &&
         (level < TRUST_EXACT || strcmp(one->words[TRUST_ARCHITECTURE], other->words[TRUST_ARCHITECTURE]) == 0);
}

/* Equal where trust_same_class is. */
static char *key_of(TrustLevel level, const TrustCase *one) {
  const char *const words[] = {one->words[TRUST_BOUND], trust_margin_kind(one), one->words[TRUST_FRAMEWORK],
                               one->words[TRUST_ARCHITECTURE]};
  const char *kept[G_N_ELEMENTS(words)];
  for (int i = 0; i < (int)G_N_ELEMENTS(words); i++)
    kept[i] = i < (int)level ? words[i] : "";
  const char *checked = level >= TRUST_ON_BOUND && is_checked(one) ? "checked" : "";
  return g_strjoin("\n", checked, kept[0], kept[1], kept[2], kept[3], NULL);
}

static TrustClass *class_of(const Trust *trust, TrustLevel level, const TrustCase *one);

/* NULL: no row is of it. */
static TrustClass *class_new(const Trust *trust, TrustLevel level, const TrustCase *one) {
  g_autofree TrustResidual *residuals = g_new(TrustResidual, trust->rows->len);
  const TrustRow *like = NULL;
  guint n = 0;
  for (guint i = 0; i < trust->rows->len; i++) {
    const TrustRow *row = g_ptr_array_index(trust->rows, i);
    if (!trust_same_class(level, &row->one, one))
      continue;
    like = like != NULL ? like : row;
    residuals[n++] = (TrustResidual){row->source, row->ratio};
  }
  if (like == NULL)
    return NULL;
  TrustClass *fresh = g_new(TrustClass, 1);
  *fresh = (TrustClass){.level = level, .like = &like->one, .span = trust_span_of(residuals, n, &trust->rule)};
  const TrustClass *around = level > TRUST_ALL ? class_of(trust, level - 1, one) : NULL;
  if (around != NULL)
    fresh->span = n == around->span.rows ? around->span : trust_span_pool(&around->span, &fresh->span, &trust->rule);
  return fresh;
}

static TrustClass *class_of(const Trust *trust, TrustLevel level, const TrustCase *one) {
  g_autofree char *key = key_of(level, one);
  gpointer class = NULL;
  if (g_hash_table_lookup_extended(trust->classes->known, key, NULL, &class))
    return class;
  TrustClass *fresh = class_new(trust, level, one);
  g_hash_table_insert(trust->classes->known, g_steal_pointer(&key), fresh);
  return fresh;
}

const TrustClass *trust_class_find(const Trust *trust, TrustLevel narrowest, const TrustCase *one) {
  if (trust->rows->len < trust_span_least((guint)trust->rule.coverage))
    return NULL;
  G_GNUC_UNUSED g_autoptr(GMutexLocker) locker = g_mutex_locker_new(&trust->classes->lock);
  const TrustClass *found = NULL;
  for (int level = (int)narrowest; found == NULL && level >= TRUST_ALL; level--)
    found = class_of(trust, (TrustLevel)level, one);
  return found;
}
