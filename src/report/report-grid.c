/* SPDX-License-Identifier: MIT */
/* A sweep's row and its axes. */
#include "report-grid.h"

#include <string.h>

#include "base-error.h"
#include "base-names.h"

static void axis_clear(gpointer data) {
  ReportAxis *axis = data;
  g_free(axis->name);
  g_strfreev(axis->values);
}

void report_grid_free(ReportGrid *grid) {
  if (grid == NULL)
    return;
  g_free(grid->workload);
  g_array_unref(grid->axes);
  g_clear_pointer(&grid->points, g_array_unref);
  g_string_chunk_free(grid->names);
  g_free(grid);
}

static void add_value(ReportGrid *grid, const StoreAxisValue *found) {
  ReportAxis *last = grid->axes->len > 0 ? &g_array_index(grid->axes, ReportAxis, grid->axes->len - 1) : NULL;
  if (last == NULL || strcmp(last->name, found->axis) != 0) {
    ReportAxis axis = {g_strdup(found->axis), g_new0(char *, 1), 0};
    g_array_append_val(grid->axes, axis);
    last = &g_array_index(grid->axes, ReportAxis, grid->axes->len - 1);
  }
  last->values = g_renew(char *, last->values, last->n + 2);
  last->values[last->n++] = g_strdup(found->value);
  last->values[last->n] = NULL;
}

ReportGrid *report_grid_load(StoreDb *db, GError **error) {
  g_autoptr(ReportGrid) grid = g_new0(ReportGrid, 1);
  grid->axes = g_array_new(FALSE, FALSE, sizeof(ReportAxis));
  g_array_set_clear_func(grid->axes, axis_clear);
  grid->names = g_string_chunk_new(64);
  StoreSweepFound sweep;
  GError *cause = NULL;
  if (!store_db_newest_sweep(db, &sweep, &cause)) {
    if (cause == NULL)
      g_set_error(&cause, SIM_ERROR, SIM_ERROR_INPUT,
                  "there is no sweep in the database; foretrain sweep WORKLOAD --grid KEY=V1,V2,... makes one");
    g_propagate_error(error, cause);
    return NULL;
  }
  grid->sweep_id = sweep.sweep_id;
  grid->workload = g_path_get_basename(sweep.workload);
  g_free(sweep.workload);
  g_autoptr(GArray) values = store_db_axes(db, grid->sweep_id, grid->names, error);
  if (values == NULL)
    return NULL;
  for (guint i = 0; i < values->len; i++)
    add_value(grid, &g_array_index(values, StoreAxisValue, i));
  grid->points = store_db_points(db, grid->sweep_id, grid->names, error);
  if (grid->points == NULL)
    return NULL;
  return g_steal_pointer(&grid);
}

const char *report_axis_short(const ReportAxis *axis) {
  const char *dot = strrchr(axis->name, '.');
  return dot != NULL ? dot + 1 : axis->name;
}

gboolean report_grid_find(const ReportGrid *grid, const char *name, guint *ret_axis, GError **error) {
  g_autofree const char **names = g_new0(const char *, grid->axes->len + 1);
  for (guint i = 0; i < grid->axes->len; i++) {
    const ReportAxis *axis = report_grid_axis(grid, i);
    names[i] = strchr(name, '.') != NULL ? axis->name : report_axis_short(axis);
    if (strcmp(names[i], name) == 0) {
      *ret_axis = i;
      return TRUE;
    }
  }
  g_autofree char *advice = base_names_advice(names, name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" is no axis of the newest sweep%s", name, advice);
  return FALSE;
}

guint report_grid_at(const ReportGrid *grid, guint64 number, guint axis) {
  for (guint i = grid->axes->len - 1; i > axis; i--)
    number /= report_grid_axis(grid, i)->n;
  return (guint)(number % report_grid_axis(grid, axis)->n);
}
