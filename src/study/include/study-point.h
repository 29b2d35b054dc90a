/* SPDX-License-Identifier: MIT */
/* A point: settings that are laid over a study, and what came of them. Sweeps, bisections, budgets and validations are
 * lists of points; what an axis means is theirs to know.
 *
 *   StudyPoint *point = study_point_new("grid.csv");
 *   study_point_add(point, "parallel.zero_stage", "3", 12, 40);
 *   study_point_run(point, study, &options, cache);     // on any thread; the study is only read
 *   if (point->report != NULL) … else … point->reasons …
 *
 * A point that cannot run is a result: all its settings that are refused are among its reasons, or what the run found
 * wrong with them together. */
#pragma once

#include "study-cache.h"
#include "study.h"

typedef struct {
  char *name, *value; /* "group.key" */
  guint line, column; /* in the point's file; 0: unknown */
} StudyPointSetting;

typedef struct {
  char *file;         /* where its settings stand: in errors, and what relative paths start from. NULL: nowhere */
  GArray *settings;   /* StudyPointSetting */
  RunReport *report;  /* NULL until run, and where it cannot run */
  GPtrArray *reasons; /* char *: why not, without the place; never empty where there is no report after a run */
  gboolean faulty;    /* the machine refused, by one of the reasons: of the point itself nothing is known */
  gboolean typed;     /* its settings stand on the command line: above those of files */
  gpointer tag;       /* the owner's; not freed */
  /* In a batch (study-batch.h). */
  const Study *base;
  guint64 number;    /* the owner's */
  char *run_key;     /* the database has this run */
  gboolean unwanted; /* it was not asked for */
} StudyPoint;

StudyPoint *study_point_new(const char *file);
void study_point_free(StudyPoint *point);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyPoint, study_point_free)

void study_point_add(StudyPoint *point, const char *name, const char *value, guint line, guint column);
/* Points that share a study may run at once, each thread with its cache (NULL: none). Settings of the study from the
 * command line stay above the point's. */
void study_point_run(StudyPoint *point, const Study *study, const StudyOptions *options, StudyCache *cache);
/* Error (SIM_ERROR_SYSTEM): it is faulty. Whoever takes points as results asks this first. */
gboolean study_point_check(const StudyPoint *point, GError **error);
/* Why it did not run, its reasons with "; " between. Caller frees. */
char *study_point_status(const StudyPoint *point);
/* Whether a run under `framework` could depend on a setting: another framework's own group says nothing to it. */
gboolean study_point_concerns(const char *name, const char *framework);
/* Where the value of a setting stands: among the point's own, in the study's workload, or in the recipe that these
 * name. FALSE: nowhere, or a file that tells no lines. The caller frees *ret_file. */
gboolean study_point_place(StudyPoint *point, const Study *study, const char *name, char **ret_file, guint *ret_line);
