/* SPDX-License-Identifier: MIT */
/* One fit: the rows it is made of, the knobs that are turned, and the search that turns them.
 *
 *   fit.rows = fit_choose(gpu, is_wanted, user);     // then knobs point into fit.matmul or fit.attention
 *   double mean = fit_search(&fit);                  // mean absolute logarithm of predicted over measured
 *   g_autofree char *text = fit_note(&fit);          // residuals of fitted and of held-out rows */
#pragma once

#include "kernel-table.h"

#define FIT_KNOBS_MOST 16
/* Replays of a kernel this long go on for tenths of a second, as long as a power limit takes to act; with operands that
 * are random, so many rows tell what it leaves. */
#define FIT_LASTING_SECONDS 8e-3
#define FIT_LASTING_LEAST   5

typedef struct {
  double *value, least, most;
  gboolean additive; /* else it is scaled */
} FitKnob;

typedef struct {
  HwGpu gpu;
  HwMatmul matmul;
  HwAttention attention;
  double floor_forward, floor_backward; /* us: what the search turns */
  FitKnob knobs[FIT_KNOBS_MOST];
  guint n_knobs;
  GArray *rows; /* KernelSample of the fit */
} Fit;

extern GArray *fit_table; /* KernelSample: all that was measured */
extern HwCatalog *fit_catalog;

/* Of the catalogue, or of the few measured devices that it does not list. */
const HwGpu *fit_gpu(const char *name);

/* Rounds the floors that the search turned into the forms. */
void fit_apply(Fit *fit);

/* Turns the knobs until no step makes the mean error smaller; returns it. */
double fit_search(Fit *fit);

/* Measured over predicted speed, the median of each source (or of `only` one of them), and the mean of those; 0: no row
 * whose extents are all `shortest` at least. */
double fit_speed(const HwGpu *gpu, const GArray *rows, const char *only, guint64 shortest);

/* Residuals, for a section's note; caller frees. */
char *fit_note(Fit *fit);

/* "source, source": of names as in the table, or of rows; caller frees. */
char *fit_cite(const GPtrArray *names);
char *fit_sources(const GArray *rows);

typedef gboolean (*FitWanted)(const KernelSample *row, gpointer user);

/* Copies of the rows of a GPU that are wanted; caller unrefs. */
GArray *fit_choose(const char *gpu, FitWanted wanted, gpointer user);

/* The catalogue files, on stdout. */
void fit_print_matmuls(void);
void fit_print_attentions(void);
void fit_print_memories(void);
