/* SPDX-License-Identifier: MIT */
/* Pictures by gnuplot, a function for each kind: a script and its data beside the picture, so that it can be drawn
 * again or changed.
 *
 *   ReportCanvas canvas = {"step.svg", FALSE};
 *   report_plot_timeline(db, run_id, from, to, &canvas, error);    // writes step.gnuplot, step.dat and step.svg
 *   // later, in that folder: gnuplot step.gnuplot
 *
 * The ending chooses svg or png. from < to are picoseconds since the start of the step; both -1: the whole step.
 * Errors: SIM_ERROR_INPUT for another ending, a window outside the step or a run without a timeline, SIM_ERROR_SYSTEM
 * where a file cannot be written or gnuplot is missing or fails (its last line is quoted). */
#pragma once

#include "store-best.h"
#include "store-db.h"
#include "store-expression.h"
#include "study-tornado.h"

/* Where a picture goes, and what it is drawn on. */
typedef struct {
  const char *path;
  gboolean dark; /* light lines and letters on a dark ground */
} ReportCanvas;

/* Whether a picture could be written there, before anything is run for it. Errors: SIM_ERROR_INPUT for another ending,
 * for a folder, or where the folder is missing. */
gboolean report_plot_check(const char *path, GError **error);
/* The picture of that name, which report_plot_check took, its script and its data. Caller frees. */
char **report_plot_files(const char *path);

/* Streams of the slowest rank class as rows over time: compute by phase, collectives by operation, and below them every
 * interval without compute by its cause; above them, where it is waited for, the host. What is thinner than a pixel is
 * drawn by its share of it; the key has the times of each kind in the window. */
gboolean report_plot_timeline(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const ReportCanvas *canvas,
                              GError **error);

/* Of a pipeline: a lane for each stage with its passes, labelled by micro-batch, and its waits (the bubble), and a lane
 * with its collectives; or, as above, the streams of one stage. */
typedef struct {
  SimTime from, to;
  gint stage; /* -1: all, or where there is no pipeline the slowest ranks */
} ReportTimeline;
gboolean report_plot_timeline_as(StoreDb *db, gint64 run_id, const ReportTimeline *how, const ReportCanvas *canvas,
                                 GError **error);

/* Tenants of the tightest rank class stacked over time as the GPU comes to it, with what the allocator holds beyond
 * them up to what the device must hold, against its capacity. */
gboolean report_plot_memory(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const ReportCanvas *canvas,
                            GError **error);

/* Exposed and idle time of the slowest rank class by cause, a bar for each of n runs. Errors also: SIM_ERROR_INPUT for
 * a run without a timeline. */
gboolean report_plot_exposed(StoreDb *db, const gint64 *run_ids, guint n, const ReportCanvas *canvas, GError **error);

/* What the step of a run hangs on: bars for each figure of the cluster, the widest on top. */
gboolean report_plot_tornado(const RunReport *report, const StudyTornado *tornado, const ReportCanvas *canvas,
                             GError **error);

/* The rows of the newest validation: predicted over measured, by source, a panel for each figure. Errors also:
 * SIM_ERROR_INPUT where no row has both. */
gboolean report_plot_parity(StoreDb *db, const ReportCanvas *canvas, GError **error);

/* The database's runs that fulfil the subject (NULL: all) by two metrics, the first across, and those of them that no
 * other beats; these are named where they are few. Errors also: SIM_ERROR_INPUT where no run has both figures. */
gboolean report_plot_pareto(StoreDb *db, const StoreObjective objectives[2], const StoreExpression *subject,
                            const ReportCanvas *canvas, GError **error);

/* Step time, tokens per second and its share per GPU over the GPUs; a line for each recipe on a cluster, in which
 * nothing else is set otherwise, at most ten. Errors also: SIM_ERROR_INPUT where no line has two points. */
gboolean report_plot_scaling(StoreDb *db, const StoreExpression *subject, const ReportCanvas *canvas, GError **error);

/* What fits over two axes of the newest sweep, with what is to spare or missing; a panel for each combination of its
 * other axes, 12 at most. `across` and `up`: axes by name, with or without group; both NULL: the two with the most
 * values. Errors also: SIM_ERROR_INPUT where there is no sweep, or not two axes. */
gboolean report_plot_oom_map(StoreDb *db, const char *across, const char *up, const ReportCanvas *canvas,
                             GError **error);

/* The largest model (parameters) of the newest sweep that fits, against the number of GPUs: a line for each ZeRO stage
 * (and framework). Errors also: SIM_ERROR_INPUT where there is no sweep, its models are of one size, or none fits. */
gboolean report_plot_capacity(StoreDb *db, const ReportCanvas *canvas, GError **error);
