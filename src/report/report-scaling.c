/* SPDX-License-Identifier: MIT */
/* Scaling: what more GPUs bring. Three panels over the GPUs, a line for each cluster, framework and ZeRO stage; where
 * runs of one line share a number of GPUs, the one of most tokens per second stands.
 *
 *   step time │ ●─●─●─●      tokens/s │     ╱ ● ideal     of the first │ ●─●
 *             │                       │  ╱ ●              per GPU, %   │     ╲●
 *             └────── gpus            └────── gpus                     └────── gpus
 */
#include <string.h>

#include "base-error.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-points.h"

#define HEIGHT     440 /* pixels */
#define LINES_MOST 10

static const struct {
  const char *colour;
  int shape; /* of gnuplot's points */
} looks[LINES_MOST] = {{"#1f66ad", 7}, {"#e6813c", 5}, {"#33792c", 9}, {"#9c2a1c", 11}, {"#7b5ea7", 13},
                       {"#08203f", 6}, {"#c9a400", 4}, {"#6fa8dc", 8}, {"#333333", 2},  {"#d45fa0", 1}};

typedef struct {
  double gpus, step, tokens;
} Point;

typedef struct {
  char *name;
  GArray *points; /* Point, by gpus */
  double most;    /* tokens/s */
} Line;

static void line_free(gpointer data) {
  Line *line = data;
  g_free(line->name);
  g_array_unref(line->points);
  g_free(line);
}

static Line *line_of(GPtrArray *lines, const char *name) {
  for (guint i = 0; i < lines->len; i++) {
    Line *line = g_ptr_array_index(lines, i);
    if (strcmp(line->name, name) == 0)
      return line;
  }
  Line *line = g_new0(Line, 1);
  line->name = g_strdup(name);
  line->points = g_array_new(FALSE, FALSE, sizeof(Point));
  g_ptr_array_add(lines, line);
  return line;
}

static void add_point(Line *line, Point point) {
  guint at = 0;
  while (at < line->points->len && g_array_index(line->points, Point, at).gpus < point.gpus)
    at++;
  line->most = MAX(line->most, point.tokens);
  if (at == line->points->len || g_array_index(line->points, Point, at).gpus != point.gpus)
    g_array_insert_val(line->points, at, point);
  else if (g_array_index(line->points, Point, at).tokens < point.tokens)
    g_array_index(line->points, Point, at) = point;
}

/* Best last line first; ties by name. */
static gint by_most(gconstpointer a, gconstpointer b) {
  const Line *left = *(Line *const *)a, *right = *(Line *const *)b;
  int order = (left->most < right->most) - (left->most > right->most);
  return order != 0 ? order : strcmp(left->name, right->name);
}

static GPtrArray *gather(StoreDb *db, const GArray *runs, GError **error) {
  static const char *const tells[] = {"workload", "topology", "framework", "zero_stage"};
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (guint i = 0; i < runs->len; i++)
    g_array_append_val(ids, g_array_index(runs, StoreBest, i).run_id);
  g_autoptr(GPtrArray) differing = report_differing(db, ids, error), told = g_ptr_array_new();
  if (differing == NULL)
    return NULL;
  for (gsize i = 0; i < G_N_ELEMENTS(tells); i++)
    if (g_ptr_array_find(differing, store_metric_find(tells[i]), NULL))
      g_ptr_array_add(told, (gpointer)store_metric_find(tells[i]));
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(line_free);
  for (guint i = 0; i < runs->len; i++) {
    const StoreBest *run = &g_array_index(runs, StoreBest, i);
    g_autofree char *name = report_run_name(db, run->run_id, told, error);
    if (name == NULL)
      return NULL;
    add_point(line_of(lines, name), (Point){run->values[0], run->values[2], run->values[1]});
  }
  g_ptr_array_sort(lines, by_most);
  return g_steal_pointer(&lines);
}

static guint drawn_of(const GPtrArray *lines) {
  return MIN(lines->len, LINES_MOST);
}

/* gpus, step in ms, tokens/s, tokens/s at the first point's rate per GPU, share of that rate in percent. */
static void print_data(const GPtrArray *lines, GString *data) {
  const StoreMetric *step = store_metric_find("step"), *share = store_metric_find("exposed_share");
  for (guint i = 0; i < drawn_of(lines); i++) {
    const Line *line = g_ptr_array_index(lines, i);
    const Point *first = &g_array_index(line->points, Point, 0);
    g_autofree char *name = report_picture_text(line->name);
    g_string_append_printf(data, "%s# %s: gpus, step ms, tokens/s, ideal tokens/s, of the first per GPU in percent\n",
                           i > 0 ? "\n\n" : "", name);
    for (guint k = 0; k < line->points->len; k++) {
      const Point *point = &g_array_index(line->points, Point, k);
      double ideal = first->tokens / first->gpus * point->gpus;
      g_string_append_printf(data, "%.9g %.9g %.9g %.9g %.9g\n", point->gpus, report_axis_value(step, point->step),
                             point->tokens, ideal, report_axis_value(share, point->tokens / ideal));
    }
  }
}

static void print_panel(const GPtrArray *lines, const char *axis, guint column, const char *before, gboolean ideal,
                        ReportPicture *picture) {
  g_string_append_printf(picture->script, "%sset ylabel '%s'\nplot ", before, axis);
  for (guint i = 0; i < drawn_of(lines); i++) {
    if (ideal)
      g_string_append_printf(picture->script, "%s index %u using 1:4 with lines dt 2 lc rgb '%s', \\\n  ",
                             picture->data_name, i, looks[i].colour);
    g_string_append_printf(picture->script,
                           "%s index %u using 1:%u with linespoints pt %d ps %.1f lw 1.5 lc rgb '%s'%s",
                           picture->data_name, i, column, looks[i].shape, 0.7 * picture->scale, looks[i].colour,
                           i + 1 < drawn_of(lines) ? ", \\\n  " : "\n");
  }
}

/* The key of all panels is a panel of nothing else. */
static void print_key(const GPtrArray *lines, ReportPicture *picture) {
  g_string_append(picture->script, "unset border\nunset tics\nunset grid\nunset xlabel\nunset ylabel\nunset logscale\n"
                                   "set xrange [0:1]\nset yrange [0:1]\n"
                                   "set key at graph -0.1,0.95 left top vertical Left reverse samplen 2\nplot ");
  for (guint i = 0; i < drawn_of(lines); i++) {
    const Line *line = g_ptr_array_index(lines, i);
    g_autofree char *title = report_picture_quote(*line->name != '\0' ? line->name : "runs");
    g_string_append_printf(picture->script, "NaN with linespoints pt %d ps %.1f lw 1.5 lc rgb '%s' title %s%s",
                           looks[i].shape, 0.7 * picture->scale, looks[i].colour, title,
                           i + 1 < drawn_of(lines) ? ", \\\n  " : "\n");
  }
}

static void print_script(const GPtrArray *lines, ReportPicture *picture) {
  g_string_append(picture->script, "set multiplot layout 1,4\n"
                                   "unset key\n"
                                   "set xlabel 'GPUs'\n"
                                   "set logscale x 2\n"
                                   "set grid lc rgb '#dddddd'\n"
                                   "set tics nomirror out\n"
                                   "set border 3\n"
                                   "set xrange [*:*] noextend\n");
  print_panel(lines, "step, ms", 2, "set yrange [0:*]\n", FALSE, picture);
  print_panel(lines, "tokens per second (dashed: as the first)", 3, "set logscale y\nset yrange [*:*]\n", TRUE,
              picture);
  print_panel(lines, "tokens per second per GPU, % of the first", 5, "unset logscale y\nset yrange [0:*]\n", FALSE,
              picture);
  print_key(lines, picture);
  g_string_append(picture->script, "unset multiplot\n");
}

gboolean report_plot_scaling(StoreDb *db, const StoreExpression *subject, const char *path, GError **error) {
  const StoreObjective figures[] = {{store_metric_find("gpus"), FALSE},
                                    {store_metric_find("tokens_per_second"), TRUE},
                                    {store_metric_find("step"), FALSE}};
  g_autoptr(ReportPicture) picture = report_picture_new(path, error);
  g_autoptr(GArray) runs =
      picture != NULL ? store_db_candidates(db, figures, G_N_ELEMENTS(figures), subject, error) : NULL;
  g_autoptr(GPtrArray) lines = runs != NULL ? gather(db, runs, error) : NULL;
  if (lines == NULL)
    return FALSE;
  guint longest = 0;
  for (guint i = 0; i < lines->len; i++)
    longest = MAX(longest, ((const Line *)g_ptr_array_index(lines, i))->points->len);
  if (longest < 2) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "no two runs of the database differ in their number of GPUs alone; foretrain sweep --grid nodes=1..8:1 "
                "makes some");
    return FALSE;
  }
  print_data(lines, picture->data);
  print_script(lines, picture);
  picture->height = HEIGHT;
  return report_picture_draw(picture, error);
}
