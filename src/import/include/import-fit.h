/* SPDX-License-Identifier: MIT */
/* Finds the figures of a topology that make coll's own model foretell a log's times.
 *
 *   ImportFit fit;
 *   if (!import_fit_run(log, &(ImportFitOptions){.topology = "dgx-h100"}, &fit, error)) return FALSE;
 *   fit.figures[IMPORT_LAUNCH_FLOOR].value       // 17.3e-6
 *   import_fit_clear(&fit);
 *
 * Four figures, each from the rows that it decides: calls of at most 4 KiB ask for the launch floor (inside a node,
 * where a process drives one GPU) and a network hop's latency (over several), calls of at least 128 MiB for the
 * bandwidths. A latency is the median of what its rows ask for, found by bisection on "half of them are foretold slower
 * than measured"; a bandwidth, which moves NCCL's choices too, has the least sum of absolute relative errors on a grid
 * that is made finer around the best. A figure with which the log as a whole would be foretold worse is left as it was.
 * Two rounds, as the figures lean on each other. NCCL's constants are those of the
 * version that the log names; times are in-place where it has them. The same log and topology give the same figures.
 * Cost: some hundred clusters built.
 */
#pragma once

#include "import-nccl-tests.h"

typedef enum {
  IMPORT_INTRA_ACHIEVABLE,
  IMPORT_LAUNCH_FLOOR,
  IMPORT_NIC_ACHIEVABLE,
  IMPORT_HOP_LATENCY,
  IMPORT_FIGURES
} ImportFigureKind;
extern const char *const import_figure_keys[]; /* "node.intra_achievable", …: settings of a topology */

typedef struct {
  const char *topology;      /* as --topology takes it */
  guint nodes;               /* 0: as the log's host names say */
  ImportOperation operation; /* of runs that do not say; IMPORT_UNKNOWN: none */
  guint64 small, large;      /* bytes up to which calls decide a latency, and from which a bandwidth; 0: see above */
} ImportFitOptions;

typedef struct {
  gboolean fitted;
  gboolean at_limit;    /* the rows ask for more than the figure can give */
  gboolean refuted;     /* they ask for `value`, but with it the log as a whole is foretold worse: not fitted */
  double value, before; /* SI: seconds or bytes/s; before: the topology's own */
  guint rows;
} ImportFigure;

typedef struct {
  const ImportRun *run;
  char *unused;         /* why nothing of it was used; NULL: it was */
  gboolean other_gpu;   /* the log's GPUs have another name than the topology's */
  guint nodes;          /* as it was taken */
  guint rows;           /* compared */
  double before, after; /* median of |foretold / measured - 1| over its rows */
} ImportFitRun;

typedef struct {
  char *topology, *gpu; /* bare name; its GPUs */
  guint64 small, large; /* as they were taken */
  ImportFigure figures[IMPORT_FIGURES];
  GArray *runs; /* ImportFitRun, one per run of the log */
} ImportFit;

/* The options that a log needs and lacks: "the log does not say which operation it measures: say so with --operation";
 * NULL: none. Of its first run that can be used. Caller frees. */
char *import_fit_missing(const ImportLog *log, const ImportFitOptions *options);
/* Errors (SIM_ERROR_INPUT): no run can be used (the first one's reason), none decides a figure, and what building the
 * cluster finds. */
gboolean import_fit_run(const ImportLog *log, const ImportFitOptions *options, ImportFit *ret, GError **error);
void import_fit_clear(ImportFit *fit);
