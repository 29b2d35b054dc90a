/* SPDX-License-Identifier: MIT */
/* Times by column and kind, then stacks of them. */
#include "report-shares.h"

typedef struct {
  SimTime from, to;
  guint columns;
  SimTime *times; /* of one row: by column, then by look */
} Grid;

static SimTime edge(const Grid *grid, guint column) {
  SimTime span = grid->to - grid->from, whole = span / grid->columns, rest = span % grid->columns;
  return grid->from + whole * column + rest * column / grid->columns;
}

/* The column that holds an instant of the window. */
static guint column_at(const Grid *grid, SimTime at) {
  guint low = 0, high = grid->columns;
  while (high - low > 1) {
    guint middle = low + (high - low) / 2;
    *(edge(grid, middle) <= at ? &low : &high) = middle;
  }
  return low;
}

static void add_box(const Grid *grid, const ReportBox *box) {
  guint look = report_look_index(report_look(box->kind));
  SimTime start = MAX(box->start, grid->from), end = MIN(box->end, grid->to);
  if (start >= end)
    return;
  for (guint column = column_at(grid, start); start < end; column++) {
    SimTime stop = MIN(end, edge(grid, column + 1));
    grid->times[column * report_n_looks + look] += stop - start;
    start = stop;
  }
}

/* A column that one kind fills goes on with the one before. */
static gboolean goes_on(const GArray *shares, const ReportShare *share) {
  ReportShare *last = shares->len > 0 ? &g_array_index(shares, ReportShare, shares->len - 1) : NULL;
  if (last == NULL || last->row != share->row || last->look != share->look || last->end != share->start ||
      last->time != last->end - last->start || share->time != share->end - share->start)
    return FALSE;
  last->end = share->end;
  last->time += share->time;
  return TRUE;
}

/* From below in the order of looks. Tasks of one stream that overlap fill more than there is: then by their parts. */
static void add_column(const Grid *grid, guint row, guint column, GArray *shares) {
  const SimTime *times = &grid->times[column * report_n_looks];
  SimTime start = edge(grid, column), end = edge(grid, column + 1), sum = 0, below = 0;
  for (guint look = 0; look < report_n_looks; look++)
    sum += times[look];
  double height = (double)MAX(sum, end - start);
  for (guint look = 0; look < report_n_looks; look++) {
    if (times[look] == 0)
      continue;
    ReportShare share = {
        start, end, times[look], row, look, (double)below / height, (double)(below + times[look]) / height};
    below += times[look];
    if (!goes_on(shares, &share))
      g_array_append_val(shares, share);
  }
}

GArray *report_shares(const ReportBoxes *boxes, SimTime from, SimTime to, guint columns) {
  Grid grid = {from, to, (guint)MIN(to - from, columns), NULL};
  GArray *shares = g_array_new(FALSE, FALSE, sizeof(ReportShare));
  gsize cells = (gsize)grid.columns * report_n_looks;
  g_autofree SimTime *times = g_new0(SimTime, cells);
  grid.times = times;
  for (guint row = 0; row < boxes->rows->len; row++) {
    for (gsize i = 0; i < cells; i++)
      times[i] = 0;
    for (guint i = 0; i < boxes->boxes->len; i++)
      if (g_array_index(boxes->boxes, ReportBox, i).row == row)
        add_box(&grid, &g_array_index(boxes->boxes, ReportBox, i));
    for (guint column = 0; column < grid.columns; column++)
      add_column(&grid, row, column, shares);
  }
  return shares;
}
