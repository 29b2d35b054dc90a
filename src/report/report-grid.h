/* SPDX-License-Identifier: MIT */
/* The newest sweep of a database as a grid: its axes, and what became of each point.
 *
 *   g_autoptr(ReportGrid) grid = report_grid_load(db, error);
 *   guint across;
 *   if (grid == NULL || !report_grid_find(grid, "micro_batch", &across, error)) return FALSE;
 *   … report_grid_at(grid, number, across) …           // which of the axis' values the point has
 *
 * Points are numbered with the last axis running fastest. Errors: SIM_ERROR_INPUT where no sweep is in the database,
 * or an axis is none of its axes. */
#pragma once

#include "store-points.h"

typedef struct {
  char *name;    /* "group.key" */
  char **values; /* NULL-terminated */
  guint n;
} ReportAxis;

typedef struct {
  gint64 sweep_id;
  char *workload; /* the file's name, without its folders */
  GArray *axes;   /* ReportAxis */
  GArray *points; /* StorePointFound: those that were reached, by number */
  GStringChunk *names;
} ReportGrid;

ReportGrid *report_grid_load(StoreDb *db, GError **error);
void report_grid_free(ReportGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportGrid, report_grid_free)

static inline const ReportAxis *report_grid_axis(const ReportGrid *grid, guint axis) {
  return &g_array_index(grid->axes, ReportAxis, axis);
}
/* "micro_batch" of "training.micro_batch". */
const char *report_axis_short(const ReportAxis *axis);
/* By its name, with or without the group. */
gboolean report_grid_find(const ReportGrid *grid, const char *name, guint *ret_axis, GError **error);
guint report_grid_at(const ReportGrid *grid, guint64 number, guint axis);
