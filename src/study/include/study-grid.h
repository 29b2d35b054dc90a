/* SPDX-License-Identifier: MIT */
/* A grid: every combination of the values of some settings, the last axis running fastest.
 *
 *   g_autoptr(StudyGrid) grid = study_grid_new();
 *   if (!study_grid_add(grid, study, "nodes=1..4:1", error)) return FALSE;         // cluster.nodes = 1, 2, 3, 4
 *   if (!study_grid_add(grid, study, "zero_stage=2,3", error)) return FALSE;
 *   for (guint64 i = 0; i < study_grid_size(grid); i++) StudyPoint *point = study_grid_point(grid, i);
 *
 * An axis is KEY=V1,V2,… or KEY=A..B:STEP, or KEY=A..B:xF, each value F times the one before. KEY is "group.key", or
 * the key alone where one group has it. The unit of a range stands behind B ("100..400 Gb/s:100"). Which values make
 * sense is for whoever runs the points to say: a grid knows no setting's meaning. */
#pragma once

#include "study-point.h"

typedef struct {
  char *name;    /* "group.key" */
  char **values; /* NULL-terminated */
  guint n;
} StudyAxis;

typedef struct {
  GArray *axes; /* StudyAxis */
} StudyGrid;

StudyGrid *study_grid_new(void);
void study_grid_free(StudyGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyGrid, study_grid_free)

/* Errors, naming the axis: an unknown or ambiguous key, no value, one twice, a range that never ends, an axis that
 * stands twice, a key that --set gave, more than 10^9 points in all. */
gboolean study_grid_add(StudyGrid *grid, const Study *study, const char *axis, GError **error);
/* Points; 1 where there is no axis. */
guint64 study_grid_size(const StudyGrid *grid);
/* The number's point, its settings above those of files. */
StudyPoint *study_grid_point(const StudyGrid *grid, guint64 number);
