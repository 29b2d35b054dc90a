/* SPDX-License-Identifier: MIT */
/* Metrics of training, summed over all ranks after each step (training.loss_metrics): each has two numbers, a sum of
 * losses and a count, and each number goes its own way:
 *
 *   barrier │ zeros, one for each rank │ all-gather into them │ copy out, one by one │ next number
 *   └ the host waits                                            └ the host's time of each rank
 *
 *   PlanMetrics metrics;
 *   plan_metrics_init(&metrics, walk, model->loss_metrics);      // none, or a rank alone: does nothing below
 *   plan_metrics_end_step(&metrics);                             // after the step's own rows, in each section
 *
 * Sources: Composer's trainer.py (_compute_and_log_metrics, after each batch) and metrics/nlp.py of 2023 and 2024;
 * torchmetrics' metric.py (_sync_dist) and utilities/distributed.py (gather_all_tensors), 0.10 to 1.1; the list's cost
 * as in hosts.ini (`copy` a zero, `listed_rank` an element). Not played: the mean of the loss and the counts of
 * samples, which Composer reduces before. Private to this floor. */
#pragma once

#include "plan-walk.h"

typedef struct {
  PlanWalk *walk;
  guint64 numbers;            /* of all metrics */
  guint32 slot;               /* all ranks */
  guint32 zeros, copies, sum; /* operations */
} PlanMetrics;

/* Adds operations, and a communicator where none of all ranks is there; once the policy has its own. */
void plan_metrics_init(PlanMetrics *metrics, PlanWalk *walk, guint64 count);
void plan_metrics_end_step(const PlanMetrics *metrics);
