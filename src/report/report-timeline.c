/* SPDX-License-Identifier: MIT */
/* The timeline: what every stream of the slowest ranks did when, and why compute stood still; of a pipeline what all
 * stages did. */
#include <string.h>

#include "report-boxes.h"
#include "report-lanes.h"
#include "report-looks.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-scene.h"
#include "report-shares.h"
#include "report-words.h"

#define COLUMNS       864   /* pixels of the plot's width */
#define LEFT          0.125 /* of the picture's width, where the plot begins: both in whole pixels */
#define RIGHT         0.8
#define NARROW        100 /* of the width: boxes too narrow for a label of their own */
#define ROW_HEIGHT    55  /* pixels, as the others */
#define LANE_HEIGHT   34  /* of a pipeline */
#define ROOM_AROUND   150
#define LEGEND_HEIGHT 22
#define HALF          0.42 /* of a row's distance to the next: how far its boxes reach up and down */
#define SEAM          0.12 /* the same: how high a mark between boxes is */
#define LABEL_PIXELS  9
#define LABEL_LETTERS 155 /* of that size fit beside each other in the width of the plot */

/* "gate_proj L12", "3" of a pass, or what of it fits into the box; "": nothing does. Caller frees. */
static char *label_of(const ReportBox *box, const ReportScene *scene) {
  double room = (double)(box->end - box->start) * LABEL_LETTERS / (double)(scene->to - scene->from);
  g_autofree char *layer = box->micro >= 0   ? g_strdup_printf("%d", box->micro)
                           : box->layer >= 0 ? g_strdup_printf("L%d", box->layer)
                                             : g_strdup("");
  g_autofree char *both = box->name != NULL && *layer != '\0' ? g_strdup_printf("%s %s", box->name, layer)
                                                              : g_strdup(box->name != NULL ? box->name : layer);
  const char *label = (double)strlen(both) + 1 < room ? both : (double)strlen(layer) + 1 < room ? layer : "";
  return g_strdelimit(report_picture_text(label), "\"\\", '\'');
}

static void print_labels(const ReportBoxes *boxes, const ReportScene *scene, gboolean dark, GString *data) {
  g_string_append(data, "# labels: middle_ms row text colour\n");
  for (guint i = 0; i < boxes->boxes->len; i++) {
    const ReportBox *box = &g_array_index(boxes->boxes, ReportBox, i);
    if (box->row < boxes->n_gap_rows)
      continue;
    const ReportLook *look = report_look(box->kind);
    g_autofree char *label = label_of(box, scene);
    if (*label != '\0')
      g_string_append_printf(data, "%.9g %u \"%s\" %s\n", base_in_ms(box->start + (box->end - box->start) / 2),
                             box->row, label,
                             look->dark && !(dark && report_colour_has_other(look->colour)) ? "0xffffff" : "0x000000");
  }
  g_string_append(data, "NaN 0 \"\" 0\n\n\n");
}

/* Where boxes that are wide enough for a name begin, since those of one kind touch. */
static void print_seams(const ReportBoxes *boxes, const ReportScene *scene, GString *data) {
  g_string_append(data, "# seams: at_ms bottom height\n");
  for (guint i = 0; i < boxes->boxes->len; i++) {
    const ReportBox *box = &g_array_index(boxes->boxes, ReportBox, i);
    if (box->row >= boxes->n_gap_rows && box->end - box->start >= (scene->to - scene->from) / NARROW)
      g_string_append_printf(data, "%.9g %.6g %g\n", base_in_ms(box->start), box->row - HALF, SEAM);
  }
  g_string_append(data, "NaN 0 0\n\n\n");
}

/* A look's shares as a block of data; its time, 0 where there are none and nothing is written. */
static SimTime print_shares(const GArray *shares, guint look, GString *data) {
  SimTime time = 0;
  for (guint i = 0; i < shares->len; i++) {
    const ReportShare *share = &g_array_index(shares, ReportShare, i);
    if (share->look != look)
      continue;
    if (time == 0)
      g_string_append_printf(data, "# %s: start_ms end_ms bottom top\n", report_looks[look].kind);
    g_string_append_printf(data, "%.9g %.9g %.6g %.6g\n", base_in_ms(share->start), base_in_ms(share->end),
                           share->row + HALF * (2 * share->bottom - 1), share->row + HALF * (2 * share->top - 1));
    time += share->time;
  }
  g_string_append(data, time > 0 ? "\n\n" : "");
  return time;
}

static void print_look(const ReportLook *look, SimTime time, guint block, const ReportPicture *picture) {
  g_string_append_printf(picture->script,
                         "  %s index %u using (($1+$2)/2):(($3+$4)/2):1:2:3:4 with boxxyerror fs solid 1 noborder lc "
                         "rgb '%s' title '  %s %.2f', "
                         "\\\n",
                         picture->data_name, block, report_picture_colour(picture, look->colour), look->kind,
                         (double)report_centi_ms(time) / 100);
}

/* One plot element per look in the order of their table, under the heading of its group, then the labels. Returns how
 * many lines the legend has. */
static guint print_plot(const GArray *shares, const ReportBoxes *boxes, const ReportScene *scene,
                        ReportPicture *picture) {
  guint blocks = 0, lines = 0;
  int heading = -1;
  g_string_append(picture->script, "plot \\\n");
  for (guint i = 0; i < report_n_looks; i++) {
    const ReportLook *look = &report_looks[i];
    SimTime time = print_shares(shares, i, picture->data);
    if (time == 0)
      continue;
    if (heading != (int)look->group) {
      g_string_append_printf(picture->script, "  keyentry with dots lc rgb ground title '%s%s', \\\n",
                             report_look_headings[look->group], lines == 0 ? ", ms" : "");
      lines++;
    }
    heading = (int)look->group;
    print_look(look, time, blocks++, picture);
    lines++;
  }
  print_seams(boxes, scene, picture->data);
  print_labels(boxes, scene, picture->dark, picture->data);
  g_string_append_printf(picture->script,
                         "  %s index %u using 1:2:(0):3 with vectors nohead lw 0.5 lc rgb 'black' notitle, \\\n"
                         "  %s index %u using 1:2:3:4 with labels font ',%g' textcolor rgb variable notitle\n",
                         picture->data_name, blocks, picture->data_name, blocks + 1,
                         report_picture_points(picture, LABEL_PIXELS));
  return lines;
}

static void print_axes(const ReportBoxes *boxes, const ReportScene *scene, GString *script) {
  g_autofree char *first = report_picture_quote(scene->title), *second = report_picture_quote(scene->ranks);
  g_string_append_printf(script,
                         "set title %s.\"\\n\".%s\n"
                         "set xlabel 'time since the start of the step, ms'\n"
                         "set xrange [%.9g:%.9g]\n"
                         "set yrange [-0.6:%.1f]\n"
                         "set key outside right top vertical Left reverse samplen 2 spacing 1.1\n"
                         "set tics nomirror out\n"
                         "set border 3\n"
                         "set lmargin at screen %g\nset rmargin at screen %g\n"
                         "set ytics (",
                         first, second, base_in_ms(scene->from), base_in_ms(scene->to), (double)boxes->rows->len - 0.4,
                         LEFT, RIGHT);
  for (guint i = 0; i < boxes->rows->len; i++) {
    g_autofree char *row = report_picture_quote(g_ptr_array_index(boxes->rows, i));
    g_string_append_printf(script, "%s%s %u", i > 0 ? ", " : "", row, i);
  }
  g_string_append(script, ")\n");
}

static void say_all_stages(ReportScene *scene) {
  g_free(scene->ranks);
  scene->ranks = g_strdup_printf("all %u stages: passes by micro-batch, what runs again as backward; beneath each lane "
                                 "its collectives",
                                 scene->report->n_classes);
}

/* What is drawn, then what is labelled. */
static ReportBoxes *boxes_of(ReportScene *scene, gboolean lanes, GArray **ret_shares) {
  ReportBoxes *boxes = lanes ? report_lanes_new(scene) : report_boxes_new(scene);
  *ret_shares = report_shares(boxes, scene->from, scene->to, COLUMNS);
  if (!lanes) {
    report_boxes_merge(boxes, (scene->to - scene->from) / COLUMNS, (scene->to - scene->from) / NARROW);
    return boxes;
  }
  report_boxes_free(boxes);
  say_all_stages(scene);
  return report_lanes_passes(scene);
}

gboolean report_plot_timeline_as(StoreDb *db, gint64 run_id, const ReportTimeline *how, const ReportCanvas *canvas,
                                 GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(canvas, error);
  g_auto(ReportScene) scene = {0};
  ReportWhich which = how->stage >= 0 ? REPORT_STAGE(how->stage) : REPORT_SLOWEST;
  if (picture == NULL || !report_scene_load(db, run_id, which, how->from, how->to, &scene, error))
    return FALSE;
  gboolean lanes = how->stage < 0 && report_lanes_has(&scene);
  g_autoptr(GArray) shares = NULL;
  g_autoptr(ReportBoxes) boxes = boxes_of(&scene, lanes, &shares);
  print_axes(boxes, &scene, picture->script);
  guint legend = print_plot(shares, boxes, &scene, picture);
  guint height = lanes ? LANE_HEIGHT : ROW_HEIGHT;
  picture->height = ROOM_AROUND + MAX(height * boxes->rows->len, LEGEND_HEIGHT * legend);
  return report_picture_draw(picture, error);
}

gboolean report_plot_timeline(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const ReportCanvas *canvas,
                              GError **error) {
  return report_plot_timeline_as(db, run_id, &(ReportTimeline){from, to, -1}, canvas, error);
}
