/* SPDX-License-Identifier: MIT */
/* Runs as one page of HTML that needs nothing else: no network, no other file.
 *
 *   ReportPageRun runs[] = {{.run_id = 12, .stages = found.reports, .n_stages = found.n}};
 *   report_page(db, runs, 1, html, error);
 *
 * Of several runs first the comparison, their prices too. Of each: the question, the verdict, what the step and the
 * memory are made of, timelines to zoom with values under the pointer, the stages, what it hangs on, what would make it
 * fit or faster, every input and assumption, how far to trust it. Names of models and files are texts wherever they
 * stand: the page's policy (CSP) lets only its own script run, known by its hash. */
#pragma once

#include "store-db.h"
#include "study-tornado.h"

typedef struct {
  gint64 run_id;
  RunReport *const *stages; /* the same step under other ZeRO stages; NULL: not played */
  guint n_stages;
  const char *no_stages;     /* why not; NULL: nothing to say */
  const GPtrArray *remedies; /* of StudyRemedy; NULL: none were tried */
  const GPtrArray *faster;   /* of StudyTrial, as study_faster has them; NULL, as the next: not played */
  const StudyTornado *tornado;
} ReportPageRun;

/* `n` >= 1. Appends. Errors: of the database. A run without a timeline has no pictures, and says so. */
gboolean report_page(StoreDb *db, const ReportPageRun *runs, guint n, GString *html, GError **error);
