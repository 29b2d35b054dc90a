/* SPDX-License-Identifier: MIT */
/* A file of budgets: what recipes must keep to.
 *
 *   [llama-13b-zero3]
 *   workload = ../workloads/llama-13b.ini    ; or config = config.json and settings; paths start at this file
 *   training.micro_batch = 2                 ; any setting, over the workload's
 *   step <= 1.9 s                            ; a budget a line: metrics and operators as in store-expression.h
 *   peak_allocated <= 0.95 * capacity
 *   verdict = fits
 *   baseline = step 2 %, peak_allocated      ; against what was accepted: times within a share, all else exactly
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
  double tolerance; /* a share below 1; 0: exact */
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

/* Errors, at their line: no budget at all, an expression that is none, a metric that does not exist, a tolerance on
 * bytes or counts, or one that is no share below 100 %. */
CheckBudgets *check_budgets_load(const char *path, GError **error);
void check_budgets_free(CheckBudgets *budgets);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CheckBudgets, check_budgets_free)
