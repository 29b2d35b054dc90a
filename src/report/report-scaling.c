/* SPDX-License-Identifier: MIT */
/* Scaling: what more GPUs bring. Three panels over the GPUs, a line for each recipe and cluster, so that along it
 * nothing changes but the nodes; where runs of one line share a number of GPUs, the one of most tokens per second
 * stands.
 *
 *   step time │ ●─●─●─●      tokens/s │     ╱ ● ideal     of the first │ ●─●
 *             │                       │  ╱ ●              per GPU, %   │     ╲●
 *             └────── gpus            └────── gpus                     └────── gpus
 */
#include <string.h>

#include "base-error.h"
#include "report-axis.h"
#include "report-looks.h"
#include "report-names.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-points.h"

#define HEIGHT   440 /* pixels */
#define KEY_LINE 18  /* pixels */
#define BELOW    60  /* pixels below the panels, for their axis */
#define ROOM     1.1 /* of a logarithmic axis beyond its outermost points, as a factor */

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

/* Names that two runs of one number of GPUs have: these differ in what follows from the batch. Borrows. */
static GHashTable *ambiguous(const GArray *runs, const GPtrArray *names) {
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  GHashTable *several = g_hash_table_new(g_str_hash, g_str_equal);
  for (guint i = 0; i < runs->len; i++)
    if (!g_hash_table_add(
            seen, g_strdup_printf("%.0f %s", g_array_index(runs, StoreBest, i).values[0], (char *)names->pdata[i])))
      g_hash_table_add(several, names->pdata[i]);
  return several;
}

/* Lines of one point tell nothing of scaling. */
static void drop_points(GPtrArray *lines) {
  for (guint i = lines->len; i-- > 0;)
    if (((const Line *)lines->pdata[i])->points->len < 2)
      g_ptr_array_remove_index(lines, i);
}

/* A line is one recipe: all that is set is the same, but for the nodes and what a fixed global batch makes of them. */
static GPtrArray *gather(StoreDb *db, const GArray *runs, GError **error) {
  static const char *const nodes[] = {"nodes", "gradient_accumulation", NULL}, *const nodes_alone[] = {"nodes", NULL};
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (guint i = 0; i < runs->len; i++)
    g_array_append_val(ids, g_array_index(runs, StoreBest, i).run_id);
  g_autoptr(GPtrArray) names = report_names(db, ids, nodes, error);
  g_autoptr(GPtrArray) longer = names != NULL ? report_names(db, ids, nodes_alone, error) : NULL;
  if (longer == NULL)
    return NULL;
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(line_free);
  g_autoptr(GHashTable) several = ambiguous(runs, names);
  for (guint i = 0; i < runs->len; i++) {
    const StoreBest *run = &g_array_index(runs, StoreBest, i);
    const char *name = g_hash_table_contains(several, names->pdata[i]) ? longer->pdata[i] : names->pdata[i];
    add_point(line_of(lines, name), (Point){run->values[0], run->values[2], run->values[1]});
  }
  drop_points(lines);
  g_ptr_array_sort(lines, by_most);
  return g_steal_pointer(&lines);
}

static guint drawn_of(const GPtrArray *lines) {
  return MIN(lines->len, REPORT_SERIES);
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
    const Line *line = lines->pdata[i];
    g_autofree char *title = report_picture_quote(*line->name != '\0' ? line->name : "runs");
    const char *colour = report_picture_colour(picture, report_series_looks[i].colour);
    if (ideal)
      g_string_append_printf(picture->script, "%s index %u using 1:4 with lines dt 2 lc rgb '%s' notitle, \\\n  ",
                             picture->data_name, i, colour);
    g_string_append_printf(picture->script,
                           "%s index %u using 1:%u with linespoints pt %d ps %.1f lw 1.5 lc rgb '%s' title %s%s",
                           picture->data_name, i, column, report_series_looks[i].shape, 0.7 * picture->scale, colour,
                           title, i + 1 < drawn_of(lines) ? ", \\\n  " : "\n");
  }
}

static void print_gpus(const GPtrArray *lines, GString *script) {
  g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
  guint least = G_MAXUINT, most = 0;
  g_string_append(script, "set xtics (");
  for (guint i = 0; i < drawn_of(lines); i++) {
    const GArray *points = ((const Line *)lines->pdata[i])->points;
    for (guint k = 0; k < points->len; k++) {
      guint gpus = (guint)g_array_index(points, Point, k).gpus;
      least = MIN(least, gpus);
      most = MAX(most, gpus);
      if (g_hash_table_add(seen, GUINT_TO_POINTER(gpus)))
        g_string_append_printf(script, "%s%u", g_hash_table_size(seen) > 1 ? ", " : "", gpus);
    }
  }
  g_string_append_printf(script, ")\nset xrange [%.9g:%.9g]\n", least / ROOM, most * ROOM);
}

/* Of tokens per second, ideal ones too. */
static void print_tokens_axis(const GPtrArray *lines, GString *script) {
  double least = G_MAXDOUBLE, most = 0;
  for (guint i = 0; i < drawn_of(lines); i++) {
    const Line *line = lines->pdata[i];
    const Point *first = &g_array_index(line->points, Point, 0);
    const Point *last = &g_array_index(line->points, Point, line->points->len - 1);
    least = MIN(least, first->tokens);
    most = MAX(most, MAX(line->most, first->tokens / first->gpus * last->gpus));
  }
  g_string_append_printf(script, "set logscale y\nset yrange [%.9g:%.9g]\n", least / ROOM, most * ROOM);
  report_log_tics('y', least / ROOM, most * ROOM, script);
}

/* The key of all panels stands below them, a line for each. */
static void print_script(const GPtrArray *lines, ReportPicture *picture) {
  guint key = KEY_LINE * (drawn_of(lines) + 1);
  picture->height = HEIGHT + key;
  g_string_append_printf(picture->script,
                         "set multiplot layout 1,3 margins screen 0.07, screen 0.98, screen %.4f, screen 0.96 spacing "
                         "screen 0.085, screen 0\n"
                         "set key at screen 0.06, screen %.4f left top vertical Left reverse samplen 2\n",
                         (double)(key + BELOW) / picture->height, (double)key / picture->height);
  g_string_append(picture->script, "set xlabel 'GPUs'\n"
                                   "set logscale x 2\n"
                                   "set grid lc rgb rule\n"
                                   "set tics nomirror out\n"
                                   "set border 3\n");
  print_gpus(lines, picture->script);
  print_panel(lines, "step, ms", 2, "set yrange [0:*]\n", FALSE, picture);
  g_string_append(picture->script, "unset key\n");
  print_tokens_axis(lines, picture->script);
  print_panel(lines, "tokens per second (dashed: as the first)", 3, "", TRUE, picture);
  print_panel(lines, "tokens per second per GPU, % of the first (line: 100 %)", 5,
              "unset logscale y\nset ytics autofreq\nset yrange [0:*]\n"
              "set arrow from graph 0, first 100 to graph 1, first 100 nohead lc rgb ink lw 0.7\n",
              FALSE, picture);
  g_string_append(picture->script, "unset multiplot\n");
}

gboolean report_plot_scaling(StoreDb *db, const StoreExpression *subject, const ReportCanvas *canvas, GError **error) {
  const StoreObjective figures[] = {{store_metric_find("gpus"), FALSE},
                                    {store_metric_find("tokens_per_second"), TRUE},
                                    {store_metric_find("step"), FALSE}};
  g_autoptr(ReportPicture) picture = report_picture_new(canvas, error);
  g_autoptr(GArray) runs =
      picture != NULL ? store_db_candidates(db, figures, G_N_ELEMENTS(figures), subject, error) : NULL;
  g_autoptr(GPtrArray) lines = runs != NULL ? gather(db, runs, error) : NULL;
  if (lines == NULL)
    return FALSE;
  if (lines->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "no two runs of the database differ in their number of GPUs alone; foretrain sweep --grid nodes=1..8:1 "
                "makes some");
    return FALSE;
  }
  print_data(lines, picture->data);
  print_script(lines, picture);
  return report_picture_draw(picture, error);
}
