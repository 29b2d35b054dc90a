/* SPDX-License-Identifier: MIT */
/* Budgets played and judged.
 *
 *   CheckOptions options = {.db = db, .study = STUDY_OPTIONS_DEFAULT};
 *   g_autoptr(CheckResult) result = check_run(budgets, &options, error);
 *   if (result->failed > 0) …
 *
 * A baseline was a value, and the recipe that gave it. The recipe is played again by this version, so that what moved
 * has one of two causes:
 *
 *   accepted value ──tool drift──► its recipe, now ──recipe drift──► the recipe as it is, now
 *
 * Only what the recipe moved fails, where it made a metric worse by more than its tolerance. What it made better is
 * "moved": accept it, and the saving is kept. */
#pragma once

#include "check-budgets.h"
#include "store-baseline.h"

typedef enum { CHECK_PASSED, CHECK_FAILED, CHECK_MOVED, CHECK_ACCEPTED } CheckVerdict;
extern const char *const check_verdict_names[]; /* "passed", "failed", "moved", "accepted" */

typedef struct {
  const CheckCase *of;
  guint line;
  char *what; /* "step <= 1.9 s", "step within 2 %" */
  CheckVerdict verdict;
  char *now;                 /* the figures */
  char *was, *tool, *recipe; /* of a baseline: accepted, and by what each moved it; else NULL */
  char *why;                 /* of what moved; "" */
  char *file;                /* where what moved it stands, in a workload or a recipe; NULL: `line` of the budgets */
  guint file_line;
  double seconds; /* that its run took, at the first line of a case */
} CheckLine;

typedef struct {
  const CheckBudgets *budgets;
  GArray *lines; /* CheckLine */
  guint failed;
} CheckResult;

typedef struct {
  StoreDb *db;          /* where baselines are; written to only by `accept`. NULL: there is none */
  const char *database; /* its name, for messages */
  StudyOptions study;
  guint threads;      /* 0: one for each core */
  const char *accept; /* the reason for taking what is there as the new baselines; NULL: they are compared */
} CheckOptions;

/* Errors (SIM_ERROR_INPUT): a workload that cannot be played, a baseline that is missing, of a metric that is no more,
 * or whose recipe this version cannot play. The budgets must outlive the result. */
CheckResult *check_run(const CheckBudgets *budgets, const CheckOptions *options, GError **error);
void check_result_free(CheckResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CheckResult, check_result_free)
