/* SPDX-License-Identifier: MIT */
/* A file of budgets: what recipes must keep to.
 *
 *   [llama-13b-zero3]
 *   workload = ../workloads/llama-13b.ini    ; or config = config.json and settings; paths start at this file
 *   training.micro_batch = 2                 ; any setting, over the workload's
 *   step <= 1.9 s                            ; a budget a line: metrics and operators as in store-expression.h
 *   peak_allocated <= 0.95 * capacity
 *   verdict = fits
 *   baseline = step 2 %, peak_allocated 0.5 GiB, network_bytes_inter either way     ; against what was accepted
 *
 * A baseline fails where its metric gets worse by more than its tolerance: a share, or an amount of its unit; without
 * one, at all. "either way": also where it gets better by so much. Texts, and what is better neither way, must stay as
 * they are. Of a group of a workload alone it is asked that it fits.
 *
 * Of a group that says nothing of `verdict` it is asked that it fits: the times of a run out of memory are those "if it
 * fitted", and a budget that they keep to would mean nothing. */
#pragma once

#include "store-expression.h"
#include "study-point.h"

typedef struct {
  StoreExpression *expression;
  guint line;
} CheckBudget;

typedef struct {
  const StoreMetric *metric;
  double tolerance;    /* a share below 1 */
  double amount;       /* or so much, as the column has it; both 0: none */
  gboolean either_way; /* what is better by more fails too */
  guint line;
} CheckBaseline;

typedef struct {
  char *name;
  guint line;
  char *workload; /* NULL: settings alone */
  guint workload_line;
  GArray *settings;  /* StudyPointSetting */
  GArray *budgets;   /* CheckBudget */
  GArray *baselines; /* CheckBaseline */
} CheckCase;

typedef struct {
  char *file;
  GArray *cases; /* CheckCase, in order of the file */
} CheckBudgets;

/* Errors, at their line: no group, an expression that is none, a metric that does not exist, a tolerance on a
 * text, or one that is neither a share below 100 % nor an amount of the metric's unit. */
CheckBudgets *check_budgets_load(const char *path, GError **error);
void check_budgets_free(CheckBudgets *budgets);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CheckBudgets, check_budgets_free)
