/* SPDX-License-Identifier: MIT */
/* The best of the runs in a database: the first by one objective, the Pareto front of several.
 *
 *   StoreObjective cheapest = {store_metric_find("price_to_train"), FALSE};
 *   g_autoptr(GArray) best = store_db_best(db, &cheapest, 1, fits, 10, error);    // StoreBest, the best first
 *
 * Of runs with the same key the newest counts; runs without the figure (no price) do not. Ties go to the earlier
 * run. */
#pragma once

#include "store-db.h"
#include "store-expression.h"

#define STORE_OBJECTIVES_MOST 4

typedef struct {
  const StoreMetric *metric; /* a number */
  gboolean more;             /* the larger the better */
} StoreObjective;

typedef struct {
  gint64 run_id;
  double values[STORE_OBJECTIVES_MOST]; /* as the columns have them */
} StoreBest;

/* `subject` NULL: all runs. `top`: of one objective, at most so many. Of several: every run that no other beats or
 * equals in all and beats in one, by the first objective. NULL: an error of the database. */
GArray *store_db_best(StoreDb *db, const StoreObjective *objectives, guint n, const StoreExpression *subject, guint top,
                      GError **error);
/* Every run that fulfils the subject and has the figures, by the objectives in turn. */
GArray *store_db_candidates(StoreDb *db, const StoreObjective *objectives, guint n, const StoreExpression *subject,
                            GError **error);
/* Of candidates, which may be more than fit in any table, those that no other beats. */
GArray *store_best_front(const GArray *candidates, const StoreObjective *objectives, guint n);
