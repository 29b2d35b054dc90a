/* SPDX-License-Identifier: MIT */
/* Memory over time: who holds it, and how near it comes to the capacity. */
#include "report-levels.h"
#include "report-looks.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-scene.h"
#include "report-words.h"

#define HEIGHT 480  /* pixels */
#define ROOM   1.05 /* of the axis above what it must show */
#define WIDE   1.3  /* the same where the capacity is beyond it: for its label */
#define BINS   1000 /* of the width: about one for each pixel of the plot */

/* What the allocator holds of the device beyond tensors fills the stack up to what the device must hold: segments stay
 * until the cache is given back. */
static gboolean cache_is_known(const ReportScene *scene) {
  return scene->of->retries == 0 && scene->device_used > 0;
}

/* A line of data: time, then the edges of the stack. */
static void print_level(const ReportLevel *level, SimTime at, const ReportScene *scene, GString *data) {
  guint64 edge = 0;
  g_string_append_printf(data, "%.9g 0", base_in_ms(at));
  for (guint i = 0; i < RUN_TENANTS; i++) {
    edge += level->held[report_tenant_of(i)];
    g_string_append_printf(data, " %.9g", base_in_gib(edge));
  }
  if (cache_is_known(scene))
    g_string_append_printf(data, " %.9g", base_in_gib(MAX(edge, scene->device_used)));
  g_string_append_c(data, '\n');
}

/* Each level as the two ends of its step. */
static void print_levels(const GArray *levels, const ReportScene *scene, GString *data) {
  g_string_append(data, "# levels: time_ms, then edges of the stack from below in GiB:");
  for (guint i = 0; i < RUN_TENANTS; i++)
    g_string_append_printf(data, " %s", report_tenant_looks[i].tenant);
  g_string_append(data, cache_is_known(scene) ? " cache" : "");
  g_string_append_c(data, '\n');
  for (guint i = 0; i < levels->len; i++) {
    const ReportLevel *level = &g_array_index(levels, ReportLevel, i);
    print_level(level, level->at, scene, data);
    print_level(level, i + 1 < levels->len ? level[1].at : scene->to, scene, data);
  }
  g_string_append(data, "\n\n");
}

static const ReportLevel *highest(const GArray *levels) {
  const ReportLevel *top = &g_array_index(levels, ReportLevel, 0);
  for (guint i = 1; i < levels->len; i++) {
    const ReportLevel *level = &g_array_index(levels, ReportLevel, i);
    if (report_level_total(level) > report_level_total(top))
      top = level;
  }
  return top;
}

/* Where less than half is used, an axis up to the capacity would leave the tenants too flat to tell apart. */
static gboolean capacity_is_beyond(const ReportScene *scene) {
  return scene->device_used > 0 && scene->device_used < scene->capacity / 2;
}

static double axis_end(const ReportScene *scene) {
  return capacity_is_beyond(scene) ? base_in_gib(scene->device_used) * WIDE
                                   : base_in_gib(MAX(scene->capacity, scene->device_used)) * ROOM;
}

static void print_axes(const ReportScene *scene, const ReportLevel *top, GString *script) {
  g_autofree char *title = report_picture_quote(scene->title);
  g_autofree char *when =
      g_strdup_printf("%s; tensors hold at most %.2f GiB, at %.2f ms", scene->ranks,
                      (double)report_centi_gib(report_level_total(top)) / 100, (double)report_centi_ms(top->at) / 100);
  g_autofree char *second = report_picture_quote(when);
  g_string_append_printf(script,
                         "set title %s.\"\\n\".%s\n"
                         "set xlabel 'time since the start of the step as the GPU comes to it, ms'\n"
                         "set ylabel 'memory per GPU, GiB'\n"
                         "set xrange [%.9g:%.9g]\n"
                         "set yrange [0:%.9g]\n"
                         "set key outside right top vertical Left reverse samplen 2 spacing 1.1\n"
                         "set tics nomirror out\n"
                         "set border 3\n",
                         title, second, base_in_ms(scene->from), base_in_ms(scene->to), axis_end(scene));
}

/* A dashed line on the ground's colour, seen on every other. */
static void print_line(GString *script, guint64 bytes, const char *dash, const char *what) {
  g_string_append_printf(script,
                         "  %.9g with lines lc rgb ground lw 4 notitle, \\\n"
                         "  %.9g with lines lc rgb ink lw 2 dt %s title '%s, %.2f', \\\n",
                         base_in_gib(bytes), base_in_gib(bytes), dash, what, (double)report_centi_gib(bytes) / 100);
}

/* An arrow out of the top of the plot, and what lies there. */
static void print_capacity_beyond(const ReportScene *scene, GString *script) {
  g_string_append_printf(
      script,
      "set arrow from graph 0.02, graph 0.90 to graph 0.02, graph 0.995 head filled lw 2 lc rgb ink\n"
      "set label 'capacity %.2f GiB, above' at graph 0.035, graph 0.95 left tc rgb ink\n",
      (double)report_centi_gib(scene->capacity) / 100);
}

static void print_layer(guint layer, ReportPicture *picture) {
  g_string_append_printf(
      picture->script, "  %s index 0 using 1:%u:%u with filledcurves fs solid 1 noborder lc rgb '%s' title '%s', \\\n",
      picture->data_name, layer + 2, layer + 3, report_picture_colour(picture, report_tenant_looks[layer].colour),
      report_tenant_looks[layer].tenant);
}

static void print_plot(const ReportScene *scene, const ReportLevel *top, ReportPicture *picture) {
  GString *script = picture->script;
  g_string_append(script, "plot \\\n");
  if (cache_is_known(scene))
    print_layer(RUN_TENANTS, picture);
  for (guint i = RUN_TENANTS; i-- > 0;)
    print_layer(i, picture);
  if (!capacity_is_beyond(scene))
    print_line(script, scene->capacity, "(12,6)", "capacity");
  if (scene->device_used > 0)
    print_line(script, scene->device_used, "(2,4)", "peak on the device");
  g_string_append_printf(picture->data, "# highest: time_ms GiB\n%.9g %.9g\n", base_in_ms(top->at),
                         base_in_gib(report_level_total(top)));
  g_string_append_printf(script,
                         "  %s index 1 with points pt 7 ps %.1f lc rgb ground notitle, \\\n"
                         "  %s index 1 with points pt 7 ps %.1f lc rgb ink title 'tensors at most, %.2f'\n",
                         picture->data_name, 0.9 * picture->scale, picture->data_name, 0.6 * picture->scale,
                         (double)report_centi_gib(report_level_total(top)) / 100);
}

gboolean report_plot_memory(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const ReportCanvas *canvas,
                            GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(canvas, error);
  g_auto(ReportScene) scene = {0};
  if (picture == NULL || !report_scene_load(db, run_id, REPORT_TIGHTEST, from, to, &scene, error))
    return FALSE;
  g_autoptr(GArray) levels = report_levels(&scene);
  report_levels_thin(levels, &scene, BINS);
  const ReportLevel *top = highest(levels);
  print_levels(levels, &scene, picture->data);
  print_axes(&scene, top, picture->script);
  if (capacity_is_beyond(&scene))
    print_capacity_beyond(&scene, picture->script);
  print_plot(&scene, top, picture);
  picture->height = HEIGHT;
  return report_picture_draw(picture, error);
}
