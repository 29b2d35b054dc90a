/* SPDX-License-Identifier: MIT */
/* The Pareto front of two objectives: every run as a point, and those that no other beats.
 *
 *   tokens/s │        ·  ┌──● 4 nodes, ZeRO-3
 *            │    ┌──────● ·       a run off the front costs more than needed
 *            │ ┌──●  ·  ·
 *            │ ●  ·
 *            └──────────────── gpus
 */
#include <math.h>

#include "base-error.h"
#include "report-axis.h"
#include "report-names.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-points.h"

#define HEIGHT     640  /* pixels */
#define NAMES_MOST 20   /* points of the front that still can be named */
#define DIGITS     3    /* of points that agree in so many, the first is drawn */
#define WIDE_SPAN  20   /* from this factor on an axis is logarithmic */
#define ROOM       0.06 /* of an axis beyond its outermost points */

typedef struct {
  double least, most;
} Span;

static double value_of(const StoreObjective *objectives, guint i, const StoreBest *point) {
  return report_axis_value(objectives[i].metric, point->values[i]);
}

static Span span_of(const GArray *points, const StoreObjective *objectives, guint i) {
  Span span = {INFINITY, -INFINITY};
  for (guint k = 0; k < points->len; k++) {
    double value = value_of(objectives, i, &g_array_index(points, StoreBest, k));
    span.least = MIN(span.least, value);
    span.most = MAX(span.most, value);
  }
  return span;
}

/* Sorted as they are, the first of those that look alike is the best of them. */
static void print_all(const GArray *points, const StoreObjective *objectives, GString *data) {
  g_autoptr(GHashTable) drawn = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_string_append_printf(data, "# runs: %s, %s\n", objectives[0].metric->name, objectives[1].metric->name);
  for (guint i = 0; i < points->len; i++) {
    const StoreBest *point = &g_array_index(points, StoreBest, i);
    double x = value_of(objectives, 0, point), y = value_of(objectives, 1, point);
    if (g_hash_table_add(drawn, g_strdup_printf("%.*g %.*g", DIGITS, x, DIGITS, y)))
      g_string_append_printf(data, "%.9g %.9g\n", x, y);
  }
}

/* Of runs with the same figures the first. */
static GArray *without_twins(const GArray *front) {
  GArray *apart = g_array_new(FALSE, FALSE, sizeof(StoreBest));
  for (guint i = 0; i < front->len; i++) {
    const StoreBest *one = &g_array_index(front, StoreBest, i);
    const StoreBest *last = apart->len > 0 ? &g_array_index(apart, StoreBest, apart->len - 1) : NULL;
    if (last == NULL || last->values[0] != one->values[0] || last->values[1] != one->values[1])
      g_array_append_val(apart, *one);
  }
  return apart;
}

static guint place_of(const GArray *points, gint64 run_id) {
  guint i = 0;
  while (g_array_index(points, StoreBest, i).run_id != run_id)
    i++;
  return i;
}

/* Each point's number on it, and in the key its name among all that are drawn. */
static gboolean print_names(StoreDb *db, const GArray *points, const GArray *front, ReportPicture *picture,
                            GError **error) {
  g_autoptr(GArray) ids = g_array_new(FALSE, FALSE, sizeof(gint64));
  for (guint i = 0; i < points->len; i++)
    g_array_append_val(ids, g_array_index(points, StoreBest, i).run_id);
  g_autoptr(GPtrArray) names = report_names(db, ids, NULL, error);
  if (names == NULL)
    return FALSE;
  for (guint i = 0; i < front->len; i++) {
    gint64 run_id = g_array_index(front, StoreBest, i).run_id;
    const char *name = names->pdata[place_of(points, run_id)];
    g_autofree char *title =
        g_strdup_printf("%u  %s%srun %" G_GINT64_FORMAT, i + 1, name, *name != '\0' ? ", " : "", run_id);
    g_autofree char *quoted = report_picture_quote(title);
    g_string_append_printf(
        picture->script, ", \\\n  %s index 1 every ::%u::%u using 1:2 with points pt 7 ps %.1f lc rgb '%s' title %s",
        picture->data_name, i, i, 0.9 * picture->scale, report_picture_colour(picture, "#9c2a1c"), quoted);
  }
  g_string_append_printf(picture->script, ", \\\n  %s index 1 using 1:2:3 with labels offset 0,0.9 tc rgb ink notitle",
                         picture->data_name);
  return TRUE;
}

static void print_axis(GString *script, char axis, const StoreObjective *objective, Span span) {
  g_autofree char *words = report_axis(objective->metric);
  g_autofree char *label = g_strdup_printf("%s (%s is better)", words, objective->more ? "more" : "less");
  g_autofree char *quoted = report_picture_quote(label);
  double room = ROOM * (span.most > span.least ? span.most - span.least : span.most);
  g_string_append_printf(script, "set %clabel %s\n", axis, quoted);
  if (span.least > 0 && span.most / span.least >= WIDE_SPAN) {
    g_string_append_printf(script, "set logscale %c\nset %crange [%.9g:%.9g]\n", axis, axis,
                           span.least * (1 - 4 * ROOM), span.most * (1 + 4 * ROOM));
    report_log_tics(axis, span.least * (1 - 4 * ROOM), span.most * (1 + 4 * ROOM), script);
  } else
    g_string_append_printf(script, "set %crange [%.9g:%.9g]\n", axis, span.least - room, span.most + room);
}

static void print_front(const GArray *front, const StoreObjective *objectives, GString *data) {
  g_string_append(data, "\n\n# the front, numbered\n");
  for (guint i = 0; i < front->len; i++)
    g_string_append_printf(data, "%.9g %.9g %u\n", value_of(objectives, 0, &g_array_index(front, StoreBest, i)),
                           value_of(objectives, 1, &g_array_index(front, StoreBest, i)), i + 1);
}

/* Between two points of the front the worse of both is had: a staircase. */
static gboolean print_script(StoreDb *db, const GArray *points, const GArray *front, ReportPicture *picture,
                             GError **error) {
  g_string_append_printf(picture->script,
                         "set title '%u runs, %u on the front'\n"
                         "set grid lc rgb rule\n"
                         "set tics nomirror out\n"
                         "set border 3\n"
                         "set key outside right top vertical Left reverse samplen 1 spacing 1.1\n"
                         "plot %s index 0 using 1:2 with points pt 7 ps %.1f lc rgb '#9db7d2' title 'runs', \\\n"
                         "  %s index 1 using 1:2 with steps lw 1.5 lc rgb '%s' title 'the front'",
                         points->len, front->len, picture->data_name, 0.5 * picture->scale, picture->data_name,
                         report_picture_colour(picture, "#08203f"));
  if (front->len <= NAMES_MOST && !print_names(db, points, front, picture, error))
    return FALSE;
  g_string_append_c(picture->script, '\n');
  return TRUE;
}

gboolean report_plot_pareto(StoreDb *db, const StoreObjective objectives[2], const StoreExpression *subject,
                            const ReportCanvas *canvas, GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(canvas, error);
  g_autoptr(GArray) points = picture != NULL ? store_db_candidates(db, objectives, 2, subject, error) : NULL;
  if (points == NULL)
    return FALSE;
  if (points->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no run of the database has %s and %s, and fulfils what is asked",
                objectives[0].metric->name, objectives[1].metric->name);
    return FALSE;
  }
  g_autoptr(GArray) all = store_best_front(points, objectives, 2), front = without_twins(all);
  print_all(points, objectives, picture->data);
  print_front(front, objectives, picture->data);
  print_axis(picture->script, 'x', &objectives[0], span_of(points, objectives, 0));
  print_axis(picture->script, 'y', &objectives[1], span_of(points, objectives, 1));
  picture->height = HEIGHT;
  return print_script(db, points, front, picture, error) && report_picture_draw(picture, error);
}
