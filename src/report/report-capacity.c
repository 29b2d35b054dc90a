/* SPDX-License-Identifier: MIT */
/* The largest model that fits, against the number of GPUs: what each stage of ZeRO is for.
 *
 *   parameters │          ▲ ZeRO-3
 *   (log)      │     ▲       ○ ZeRO-2       open: no larger model was tried, the sweep ends there
 *              │ ●─────●────● ZeRO-0        filled: a larger one ran out of memory
 *              └──────────────── GPUs (log)
 */
#include <string.h>

#include "base-error.h"
#include "report-grid.h"
#include "report-picture.h"
#include "report-plot.h"

#define HEIGHT 560  /* pixels */
#define ROOM   1.25 /* of the axes beyond the outermost points, as a factor */

/* By stage; several frameworks have lines of their own, dashed by framework. Points: filled, open. */
static const struct {
  const char *colour;
  int filled, open;
} looks[] = {{"#333333", 7, 6}, {"#e6813c", 5, 4}, {"#2a6db5", 9, 8}, {"#33792c", 11, 10}};

typedef struct {
  ReportPicture *picture;
  GString *plots, *tics;
  char *framework; /* of the line so far; NULL: none yet */
  gint stage;
  guint lines, frameworks, points;
  double least, most, least_gpus, most_gpus;
} Chart;

static void begin_line(Chart *chart, const char *framework, guint stage) {
  if (g_strcmp0(chart->framework, framework) != 0)
    chart->frameworks++;
  g_free(chart->framework);
  chart->framework = g_strdup(framework);
  chart->stage = (gint)stage;
  guint look = stage % G_N_ELEMENTS(looks);
  const char *name = chart->picture->data_name;
  g_autofree char *plain = report_picture_text(framework);
  g_autofree char *line = g_strdup_printf("%s ZeRO-%u", framework, stage);
  g_autofree char *title = report_picture_quote(line);
  const char *colour = report_picture_colour(chart->picture, looks[look].colour);
  double size = 1.3 * chart->picture->scale;
  g_string_append_printf(chart->picture->data, "%s# %s, ZeRO-%u: gpus parameters_in_billions bounded_by_memory\n",
                         chart->lines > 0 ? "\n\n" : "", plain, stage);
  g_string_append_printf(chart->plots,
                         "%s  %s index %u using 1:2 with lines lw 2 dt %u lc rgb '%s' notitle, \\\n"
                         "  %s index %u using 1:($3==1?$2:NaN) with points pt %d ps %.1f lc rgb '%s' title %s, "
                         "\\\n  %s index %u using 1:($3==0?$2:NaN) with points pt %d ps %.1f lc rgb '%s' notitle",
                         chart->lines > 0 ? ", \\\n" : "", name, chart->lines, chart->frameworks, colour, name,
                         chart->lines, looks[look].filled, size, colour, title, name, chart->lines, looks[look].open,
                         size, colour);
  chart->lines++;
}

/* Points of one framework, stage and number of GPUs. */
static void add_point(Chart *chart, const StorePointFound *points, guint n) {
  guint64 fits = 0, fails = 0;
  for (guint i = 0; i < n; i++) {
    guint64 *most = points[i].verdict == RUN_FITS ? &fits : &fails; /* the edge does not count as fitting */
    *most = MAX(*most, points[i].parameters);
  }
  if (fits == 0)
    return;
  double gpus = points->gpus, largest = (double)fits / 1e9;
  if (g_strcmp0(chart->framework, points->framework) != 0 || chart->stage != (gint)points->zero_stage)
    begin_line(chart, points->framework, points->zero_stage);
  g_string_append_printf(chart->picture->data, "%u %.9g %d\n", points->gpus, largest, fails > fits);
  chart->points++;
  chart->least = MIN(chart->least, largest);
  chart->most = MAX(chart->most, largest);
  chart->least_gpus = MIN(chart->least_gpus, gpus);
  chart->most_gpus = MAX(chart->most_gpus, gpus);
}

static gint by_place(gconstpointer a, gconstpointer b) {
  const StorePointFound *left = a, *right = b;
  int order = strcmp(left->framework, right->framework);
  if (order == 0)
    order = (left->zero_stage > right->zero_stage) - (left->zero_stage < right->zero_stage);
  return order != 0 ? order : (left->gpus > right->gpus) - (left->gpus < right->gpus);
}

static gint by_gpus(gconstpointer a, gconstpointer b) {
  const StorePointFound *left = a, *right = b;
  return (left->gpus > right->gpus) - (left->gpus < right->gpus);
}

static void add_tics(GArray *points, GString *tics) {
  g_array_sort(points, by_gpus);
  for (guint i = 0; i < points->len; i++) {
    guint32 gpus = g_array_index(points, StorePointFound, i).gpus;
    if (i == 0 || gpus != g_array_index(points, StorePointFound, i - 1).gpus)
      g_string_append_printf(tics, "%s%u", tics->len > 0 ? ", " : "", gpus);
  }
}

static GArray *points_that_ran(const ReportGrid *grid) {
  GArray *points = g_array_new(FALSE, FALSE, sizeof(StorePointFound));
  for (guint i = 0; i < grid->points->len; i++)
    if (g_array_index(grid->points, StorePointFound, i).ran)
      g_array_append_val(points, g_array_index(grid->points, StorePointFound, i));
  return points;
}

static gboolean of_several_sizes(const GArray *points) {
  for (guint i = 1; i < points->len; i++)
    if (g_array_index(points, StorePointFound, i).parameters != g_array_index(points, StorePointFound, 0).parameters)
      return TRUE;
  return FALSE;
}

static gboolean read_points(const ReportGrid *grid, Chart *chart, GError **error) {
  g_autoptr(GArray) points = points_that_ran(grid);
  if (!of_several_sizes(points)) {
    g_set_error(
        error, SIM_ERROR, SIM_ERROR_INPUT,
        "the newest sweep has no models of several sizes: sweep model.layers or model.hidden_size, beside nodes and "
        "zero_stage");
    return FALSE;
  }
  add_tics(points, chart->tics);
  g_array_sort(points, by_place);
  for (guint first = 0, next; first < points->len; first = next) {
    const StorePointFound *group = &g_array_index(points, StorePointFound, first);
    for (next = first + 1; next < points->len && by_place(group, &g_array_index(points, StorePointFound, next)) == 0;)
      next++;
    add_point(chart, group, next - first);
  }
  if (chart->points == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no model of the newest sweep fits: sweep smaller ones");
  return chart->points > 0;
}

static void print_chart(const Chart *chart, const ReportGrid *grid) {
  g_autofree char *asked =
      g_strdup_printf("%s: the largest model of the sweep that fits (open: no larger one was tried)", grid->workload);
  g_autofree char *title = report_picture_quote(asked);
  g_string_append_printf(
      chart->picture->script,
      "set title %s\nset xlabel 'GPUs'\nset ylabel 'parameters, billions'\nset logscale xy\n"
      "set xrange [%.9g:%.9g]\nset yrange [%.9g:%.9g]\nset xtics (%s)\n"
      "set key left top Left reverse samplen 2\nset grid lc rgb rule\nset border 3\n"
      "set tics nomirror out\nset ytics (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)\nplot \\\n%s\n",
      title, chart->least_gpus / ROOM, chart->most_gpus * ROOM, chart->least / ROOM, chart->most * ROOM,
      chart->tics->str, chart->plots->str);
  chart->picture->height = HEIGHT;
}

gboolean report_plot_capacity(StoreDb *db, const ReportCanvas *canvas, GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(canvas, error);
  g_autoptr(ReportGrid) grid = picture != NULL ? report_grid_load(db, error) : NULL;
  if (grid == NULL)
    return FALSE;
  g_autoptr(GString) plots = g_string_new(NULL);
  g_autoptr(GString) tics = g_string_new(NULL);
  Chart chart = {.picture = picture, .plots = plots, .tics = tics, .least = G_MAXDOUBLE, .least_gpus = G_MAXDOUBLE};
  gboolean good = read_points(grid, &chart, error);
  g_free(chart.framework);
  if (!good)
    return FALSE;
  print_chart(&chart, grid);
  return report_picture_draw(picture, error);
}
