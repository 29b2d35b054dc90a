/* SPDX-License-Identifier: MIT */
/* The timeline: what every stream of the slowest ranks did when, and why compute stood still. */
#include <string.h>

#include "report-boxes.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-scene.h"

#define MOST_BOXES    4000 /* that a viewer of svg still scrolls smoothly */
#define NARROW        100  /* of the width: boxes too narrow for a label and for a seam between them */
#define ROW_HEIGHT    55   /* pixels, as the others */
#define ROOM_AROUND   150
#define LEGEND_HEIGHT 22
#define LABEL_POINTS  8
#define LABEL_LETTERS 150 /* of that size fit beside each other in the width of the plot */

typedef enum { COMPUTE, COMMUNICATION, EXPOSED, IDLE, ELSE } Group;
static const char *const headings[] = {"compute", "communication", "exposed by", "idle by", "else"};

/* How a kind of box looks. Within a row neighbours differ in lightness, so that a grey print tells them apart; pattern
 * -1 is solid, else a gnuplot fill pattern. */
typedef struct {
  Group group;
  const char *kind;
  const char *colour;
  int pattern;
  gboolean dark; /* labels on it are white */
} Look;

static const Look looks[] = {
    {COMPUTE, "setup", "#e6e6e6", -1, FALSE},
    {COMPUTE, "forward", "#a6cee3", -1, FALSE},
    {COMPUTE, "recompute", "#6fa8dc", -1, FALSE},
    {COMPUTE, "backward", "#1f66ad", -1, TRUE},
    {COMPUTE, "reduce", "#7b5ea7", 5, FALSE},
    {COMPUTE, "gather", "#7b5ea7", 4, FALSE},
    {COMPUTE, "optimizer", "#08203f", -1, TRUE},
    {COMMUNICATION, "all-gather", "#fdd0a2", -1, FALSE},
    {COMMUNICATION, "reduce-scatter", "#e6813c", -1, FALSE},
    {COMMUNICATION, "all-reduce", "#8c3a04", -1, TRUE},
    {EXPOSED, "bandwidth", "#650000", -1, TRUE},
    {EXPOSED, "latency", "#f29072", -1, FALSE},
    {EXPOSED, "boundary", "#c2412d", -1, TRUE},
    {EXPOSED, "bucket-fill", "#c2412d", 4, FALSE},
    {EXPOSED, "serialised", "#650000", 5, FALSE},
    {EXPOSED, "straggler", "#000000", 1, FALSE},
    {EXPOSED, "host", "#8a6d00", 2, FALSE},
    {EXPOSED, "tail", "#ead98a", -1, FALSE},
    {IDLE, "host-idle", "#9e9e9e", -1, FALSE},
    {IDLE, "bubble", "#d9d9d9", -1, FALSE},
    {ELSE, "other", "#808080", 1, FALSE}, /* any kind that has no row here */
};

static const Look *look_of(const char *kind) {
  gsize i = 0;
  while (i < G_N_ELEMENTS(looks) - 1 && !g_str_equal(looks[i].kind, kind))
    i++;
  return &looks[i];
}

/* "gate_proj L12", or what of it fits into the box; "": nothing does. Caller frees. */
static char *label_of(const ReportBox *box, const ReportScene *scene) {
  double room = (double)(box->end - box->start) * LABEL_LETTERS / (double)(scene->to - scene->from);
  g_autofree char *layer = box->layer >= 0 ? g_strdup_printf("L%d", box->layer) : g_strdup("");
  g_autofree char *both = box->name != NULL && *layer != '\0' ? g_strdup_printf("%s %s", box->name, layer)
                                                              : g_strdup(box->name != NULL ? box->name : layer);
  const char *label = (double)strlen(both) + 1 < room ? both : (double)strlen(layer) + 1 < room ? layer : "";
  return g_strdelimit(report_picture_text(label), "\"\\", '\'');
}

static void print_labels(const ReportBoxes *boxes, const ReportScene *scene, GString *data) {
  g_string_append(data, "# labels: middle_ms row text colour\n");
  for (guint i = 0; i < boxes->boxes->len; i++) {
    const ReportBox *box = &g_array_index(boxes->boxes, ReportBox, i);
    if (box->row < boxes->n_gap_rows)
      continue;
    g_autofree char *label = label_of(box, scene);
    if (*label != '\0')
      g_string_append_printf(data, "%.9g %u \"%s\" %s\n", base_in_ms(box->start + (box->end - box->start) / 2),
                             box->row, label, look_of(box->kind)->dark ? "0xffffff" : "0x000000");
  }
  g_string_append(data, "NaN 0 \"\" 0\n\n\n");
}

/* The boxes of one look as a block of data; FALSE, and nothing written, where there are none. */
static gboolean print_boxes(const ReportBoxes *boxes, const Look *look, GString *data) {
  gsize before = data->len;
  for (guint i = 0; i < boxes->boxes->len; i++) {
    const ReportBox *box = &g_array_index(boxes->boxes, ReportBox, i);
    if (look_of(box->kind) != look)
      continue;
    if (data->len == before)
      g_string_append_printf(data, "# %s: start_ms end_ms row\n", look->kind);
    g_string_append_printf(data, "%.9g %.9g %u\n", base_in_ms(box->start), base_in_ms(box->end), box->row);
  }
  if (data->len == before)
    return FALSE;
  g_string_append(data, "\n\n");
  return TRUE;
}

/* One plot element per look in the order of their table, under the heading of its group, then the labels. Returns how
 * many lines the legend has. */
static guint print_plot(const ReportBoxes *boxes, const ReportScene *scene, ReportPicture *picture) {
  guint blocks = 0, lines = 0;
  int heading = -1;
  g_string_append(picture->script, "plot \\\n");
  for (gsize i = 0; i < G_N_ELEMENTS(looks); i++) {
    const Look *look = &looks[i];
    if (!print_boxes(boxes, look, picture->data))
      continue;
    if (heading != (int)look->group) {
      g_string_append_printf(picture->script, "  keyentry with dots lc rgb 'white' title '%s', \\\n",
                             headings[look->group]);
      lines++;
    }
    heading = look->group;
    g_autofree char *fill = look->pattern < 0
                                ? g_strdup("solid 1 noborder")
                                : g_strdup_printf("pattern %d border lc rgb '%s'", look->pattern, look->colour);
    g_string_append_printf(picture->script,
                           "  %s index %u using (($1+$2)/2):3:1:2:($3-0.42):($3+0.42) with boxxyerror fs %s "
                           "lc rgb '%s' title '  %s', \\\n",
                           picture->data_name, blocks++, fill, look->colour, look->kind);
    lines++;
  }
  print_labels(boxes, scene, picture->data);
  g_string_append_printf(picture->script,
                         "  %s index %u using 1:2:3:4 with labels font ',%u' textcolor rgb variable notitle\n",
                         picture->data_name, blocks, LABEL_POINTS * picture->scale);
  return lines;
}

static void print_axes(const ReportBoxes *boxes, const ReportScene *scene, GString *script) {
  g_autofree char *ranks =
      g_strdup_printf("%s%s", scene->ranks, boxes->merged ? "; neighbours alike are drawn as one" : "");
  g_autofree char *first = report_picture_quote(scene->title), *second = report_picture_quote(ranks);
  g_string_append_printf(script,
                         "set title %s.\"\\n\".%s\n"
                         "set xlabel 'time since the start of the step, ms'\n"
                         "set xrange [%.9g:%.9g]\n"
                         "set yrange [-0.6:%.1f]\n"
                         "set key outside right top vertical Left reverse samplen 2 spacing 1.1\n"
                         "set tics nomirror out\n"
                         "set border 3\n"
                         "set ytics (",
                         first, second, base_in_ms(scene->from), base_in_ms(scene->to), (double)boxes->rows->len - 0.4);
  for (guint i = 0; i < boxes->rows->len; i++) {
    g_autofree char *row = report_picture_quote(g_ptr_array_index(boxes->rows, i));
    g_string_append_printf(script, "%s%s %u", i > 0 ? ", " : "", row, i);
  }
  g_string_append(script, ")\n");
}

gboolean report_plot_timeline(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const char *path, GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(path, error);
  g_auto(ReportScene) scene = {0};
  if (picture == NULL || !report_scene_load(db, run_id, REPORT_SLOWEST, from, to, &scene, error))
    return FALSE;
  g_autoptr(ReportBoxes) boxes = report_boxes_new(&scene);
  report_boxes_merge(boxes, MOST_BOXES, (scene.to - scene.from) / MOST_BOXES, (scene.to - scene.from) / NARROW);
  print_axes(boxes, &scene, picture->script);
  guint legend = print_plot(boxes, &scene, picture);
  picture->height = ROOM_AROUND + MAX(ROW_HEIGHT * boxes->rows->len, LEGEND_HEIGHT * legend);
  return report_picture_draw(picture, error);
}
