/* SPDX-License-Identifier: MIT */
/* One pass over the runs, then a sort; of several objectives, a front. */
#include "store-best.h"

#include <stdlib.h>

typedef struct {
  const StoreObjective *objectives;
  guint n;
  const StoreExpression *subject;
  const char *const *values; /* of the row at hand: run_id, then the metrics in order */
  GArray *found;
} Search;

static const char *column(const StoreMetric *metric, gpointer user) {
  const Search *search = user;
  return search->values[1 + (metric - store_metrics)];
}

/* Behind the metrics stand the settings that the subject names. */
static const char *setting(guint n, gpointer user) {
  const Search *search = user;
  return search->values[1 + store_n_metrics + n];
}

static void take(int n, const char *const *names, const char *const *values, gpointer user) {
  (void)n, (void)names;
  Search *search = user;
  search->values = values;
  if (search->subject != NULL && !store_expression_holds_row(search->subject, column, setting, search))
    return;
  StoreBest best = {.run_id = g_ascii_strtoll(values[0], NULL, 10)};
  for (guint i = 0; i < search->n; i++) {
    const char *value = column(search->objectives[i].metric, search);
    if (value == NULL)
      return;
    best.values[i] = g_ascii_strtod(value, NULL);
  }
  g_array_append_val(search->found, best);
}

/* Below 0: `a` is better by the objective. */
static int compare(const StoreObjective *objective, double a, double b) {
  int order = (a > b) - (a < b);
  return objective->more ? -order : order;
}

static int by_objectives(gconstpointer a, gconstpointer b, gpointer user) {
  const Search *search = user;
  const StoreBest *left = a, *right = b;
  for (guint i = 0; i < search->n; i++) {
    int order = compare(&search->objectives[i], left->values[i], right->values[i]);
    if (order != 0)
      return order;
  }
  return (left->run_id > right->run_id) - (left->run_id < right->run_id);
}

static gboolean beats(const Search *search, const StoreBest *a, const StoreBest *b) {
  gboolean somewhere = FALSE;
  for (guint i = 0; i < search->n; i++) {
    int order = compare(&search->objectives[i], a->values[i], b->values[i]);
    if (order > 0)
      return FALSE;
    somewhere = somewhere || order < 0;
  }
  return somewhere;
}

/* Sorted by the first objective, only earlier ones can beat a later. */
GArray *store_best_front(const GArray *candidates, const StoreObjective *objectives, guint n) {
  const Search search = {.objectives = objectives, .n = n};
  GArray *front = g_array_new(FALSE, FALSE, sizeof(StoreBest));
  for (guint i = 0; i < candidates->len; i++) {
    const StoreBest *one = &g_array_index(candidates, StoreBest, i);
    gboolean beaten = FALSE;
    for (guint k = 0; k < front->len && !beaten; k++)
      beaten = beats(&search, &g_array_index(front, StoreBest, k), one);
    if (!beaten)
      g_array_append_val(front, *one);
  }
  return front;
}

GArray *store_db_candidates(StoreDb *db, const StoreObjective *objectives, guint n, const StoreExpression *subject,
                            GError **error) {
  g_autoptr(GString) sql = g_string_new("SELECT run_id");
  for (gsize i = 0; i < store_n_metrics; i++)
    g_string_append_printf(sql, ",%s", store_metrics[i].column);
  for (const char *const *name = subject != NULL ? store_expression_settings(subject) : NULL;
       name != NULL && *name != NULL; name++) /* of a schema's keys: nothing in them needs quoting */
    g_string_append_printf(sql, ",(SELECT value FROM setting WHERE run_id = run.run_id AND name = '%s')", *name);
  g_string_append(sql, " FROM run WHERE run_id IN (SELECT max(run_id) FROM run GROUP BY run_key)");
  g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(StoreBest));
  Search search = {objectives, n, subject, NULL, found};
  if (!store_db_query(db, sql->str, 0, take, &search, error))
    return NULL;
  g_array_sort_with_data(found, by_objectives, &search);
  return g_steal_pointer(&found);
}

GArray *store_db_best(StoreDb *db, const StoreObjective *objectives, guint n, const StoreExpression *subject, guint top,
                      GError **error) {
  g_autoptr(GArray) found = store_db_candidates(db, objectives, n, subject, error);
  if (found == NULL)
    return NULL;
  if (n > 1)
    return store_best_front(found, objectives, n);
  g_array_set_size(found, MIN(found->len, top));
  return g_steal_pointer(&found);
}
