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
  double size = 1.3 * chart->picture->scale;
  g_string_append_printf(chart->picture->data, "%s# %s, ZeRO-%u: gpus parameters_in_billions bounded_by_memory\n",
                         chart->lines > 0 ? "\n\n" : "", plain, stage);
  g_string_append_printf(chart->plots,
                         "%s  %s index %u using 1:2 with lines lw 2 dt %u lc rgb '%s' notitle, \\\n"
                         "  %s index %u using 1:($3==1?$2:NaN) with points pt %d ps %.1f lc rgb '%s' title %s, "
                         "\\\n  %s index %u using 1:($3==0?$2:NaN) with points pt %d ps %.1f lc rgb '%s' notitle",
                         chart->lines > 0 ? ", \\\n" : "", name, chart->lines, chart->frameworks, looks[look].colour,
                         name, chart->lines, looks[look].filled, size, looks[look].colour, title, name, chart->lines,
                         looks[look].open, size, looks[look].colour);
  chart->lines++;
}

/* Columns: framework, zero_stage, gpus, largest that fits, largest that ran out of memory. */
static void add_point(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values,
                      gpointer user) {
  Chart *chart = user;
  guint stage = (guint)g_ascii_strtoull(values[1], NULL, 10);
  guint64 gpus = g_ascii_strtoull(values[2], NULL, 10);
  double largest = g_ascii_strtod(values[3], NULL) / 1e9;
  gboolean bounded = values[4] != NULL && g_ascii_strtod(values[4], NULL) / 1e9 > largest;
  if (g_strcmp0(chart->framework, values[0]) != 0 || chart->stage != (gint)stage)
    begin_line(chart, values[0], stage);
  g_string_append_printf(chart->picture->data, "%" G_GUINT64_FORMAT " %.9g %d\n", gpus, largest, bounded);
  chart->points++;
  chart->least = MIN(chart->least, largest);
  chart->most = MAX(chart->most, largest);
  chart->least_gpus = MIN(chart->least_gpus, (double)gpus);
  chart->most_gpus = MAX(chart->most_gpus, (double)gpus);
}

/* Column: gpus. */
static void add_tic(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values,
                    gpointer user) {
  GString *tics = user;
  g_string_append_printf(tics, "%s%" G_GUINT64_FORMAT, tics->len > 0 ? ", " : "",
                         g_ascii_strtoull(values[0], NULL, 10));
}

static void count_sizes(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values,
                        gpointer user) {
  *(guint64 *)user = g_ascii_strtoull(values[0], NULL, 10);
}

#define POINTS                                                                                                         \
  " FROM run WHERE run_id IN (SELECT max(run_id) FROM run WHERE run_key IN"                                            \
  " (SELECT run_key FROM point WHERE sweep_id = ?1) GROUP BY run_key)"

static gboolean read_points(StoreDb *db, const ReportGrid *grid, Chart *chart, GError **error) {
  guint64 sizes = 0;
  if (!store_db_query(db, "SELECT count(DISTINCT parameters)" POINTS, grid->sweep_id, count_sizes, &sizes, error))
    return FALSE;
  if (sizes < 2) {
    g_set_error(
        error, SIM_ERROR, SIM_ERROR_INPUT,
        "the newest sweep has no models of several sizes: sweep model.layers or model.hidden_size, beside nodes and "
        "zero_stage");
    return FALSE;
  }
  if (!store_db_query(
          db,
          "SELECT framework, zero_stage, gpus, max(CASE verdict WHEN 'fits' THEN parameters END) AS largest,"
          " max(CASE verdict WHEN 'oom' THEN parameters END)" POINTS
          " GROUP BY framework, zero_stage, gpus HAVING largest NOT NULL ORDER BY framework, zero_stage, gpus",
          grid->sweep_id, add_point, chart, error) ||
      !store_db_query(db, "SELECT DISTINCT gpus" POINTS " ORDER BY gpus", grid->sweep_id, add_tic, chart->tics, error))
    return FALSE;
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
      "set key left top Left reverse samplen 2\nset grid lc rgb '#dddddd'\nset border 3\n"
      "set tics nomirror out\nset ytics (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000)\nplot \\\n%s\n",
      title, chart->least_gpus / ROOM, chart->most_gpus * ROOM, chart->least / ROOM, chart->most * ROOM,
      chart->tics->str, chart->plots->str);
  chart->picture->height = HEIGHT;
}

gboolean report_plot_capacity(StoreDb *db, const char *path, GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(path, error);
  g_autoptr(ReportGrid) grid = picture != NULL ? report_grid_load(db, error) : NULL;
  if (grid == NULL)
    return FALSE;
  g_autoptr(GString) plots = g_string_new(NULL);
  g_autoptr(GString) tics = g_string_new(NULL);
  Chart chart = {.picture = picture, .plots = plots, .tics = tics, .least = G_MAXDOUBLE, .least_gpus = G_MAXDOUBLE};
  gboolean good = read_points(db, grid, &chart, error);
  g_free(chart.framework);
  if (!good)
    return FALSE;
  print_chart(&chart, grid);
  return report_picture_draw(picture, error);
}
