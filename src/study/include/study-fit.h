/* SPDX-License-Identifier: MIT */
/* How far one setting goes before memory runs out, per ZeRO stage and layout, by doubling and bisection.
 *
 *   StudyFits fits;
 *   if (!study_fit(study, "micro_batch", NULL, &options, &fits, error)) return FALSE;
 *   … fits.stages[2].value, fits.stages[2].report …
 *   study_fits_clear(&fits);
 *
 * Keys: micro_batch, sequence_length, layers: the largest value that fits; nodes: the least. With or without their
 * group. At the edge is no fit unless options.edge_fits says so. Accumulation stays what it is; the global batch
 * follows. Memory is taken to grow with the first three and not to grow with nodes. Cost: a summary-only run for each
 * value tried, some 10 to 20 per stage or layout. */
#pragma once

#include "study.h"

typedef struct {
  char *title;       /* "ZeRO-2", "tensor=4 pipeline=2" */
  guint64 value;     /* 0: none fits */
  RunReport *report; /* at that value; NULL where none fits */
  char *limit;       /* why no further one was tried: a refusal; NULL: memory */
  char *refused;     /* the stage as a whole; NULL: it runs */
} StudyFit;

typedef struct {
  const char *key; /* without its group */
  StudyFit stages[STUDY_STAGES];
  StudyFit *layouts; /* n_layouts, in the order given */
  guint n_layouts;
} StudyFits;

/* `layouts`: other layouts of the same GPUs (study-layout.h), NULL-terminated or NULL; "auto" stands for all of them
 * that can be played. */
gboolean study_fit(const Study *study, const char *key, const char *const *layouts, const StudyOptions *options,
                   StudyFits *ret, GError **error);
void study_fits_clear(StudyFits *fits);
