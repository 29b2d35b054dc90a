/* SPDX-License-Identifier: MIT */
/* How much of a step hangs on what: the cluster's figures a tenth smaller and larger, played again, and the step on a
 * network without end.
 *
 *   g_autoptr(StudyTornado) tornado = study_tornado(study, &options, NULL);
 *   for (guint i = 0; i < STUDY_FIGURES; i++)
 *     … study_figure_names[i], tornado->bars[i].low->step of its slowest class …
 *
 * A figure that the cluster has not (NICs on one node, leaves on a single switch) is played all the same and changes
 * nothing. Cost: 15 summary-only runs. */
#pragma once

#include "study-trial.h"

typedef enum {
  STUDY_MATMUL_RATE,
  STUDY_MEMORY_BANDWIDTH,
  STUDY_MEMORY_SIZE,
  STUDY_INTRA_BANDWIDTH,
  STUDY_NIC_BANDWIDTH,
  STUDY_NETWORK_LATENCY,
  STUDY_OVERSUBSCRIPTION,
  STUDY_FIGURES
} StudyFigure;
extern const char *const study_figure_names[]; /* keys of [what_if] */

typedef struct {
  RunReport *low, *high; /* with the figure at 0.9 and at 1.1 of what it is; NULL: refused */
} StudyBar;

typedef struct {
  StudyBar bars[STUDY_FIGURES];
  RunReport *endless; /* links of a thousand times the bandwidth, hops without latency; NULL: refused */
} StudyTornado;

StudyTornado *study_tornado(const Study *study, const StudyOptions *options, StudyWatch *watch);
void study_tornado_free(StudyTornado *tornado);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyTornado, study_tornado_free)
