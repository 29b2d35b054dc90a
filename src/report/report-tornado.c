/* SPDX-License-Identifier: MIT */
/* What a step hangs on: how much longer or shorter it gets with each figure of the cluster a tenth smaller and larger.
 *
 *   NIC bandwidth     ▓▓▓▓▓▓▓|▒▒▒▒▒▒        the widest on top
 *   matmul rate           ▓▓▓|▒▒▒
 *   memory size              |
 *                     shorter longer, ms
 */
#include <stdlib.h>

#include "report-looks.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-words.h"

#define ROW_HEIGHT 46  /* pixels */
#define AROUND     170 /* pixels above and below the rows */
#define HALF       0.36
#define BESIDE     0.09 /* of the longest bar, from a bar's end to its figure */
#define ROOM       1.25 /* of the axis beyond the longest bar, for what is written there */

typedef struct {
  StudyFigure figure;
  gboolean known;
  SimTime low, high; /* against the step as it is */
} Bar;

static gint by_width(gconstpointer a, gconstpointer b) {
  const Bar *left = a, *right = b;
  SimTime x = MAX(ABS(left->low), ABS(left->high)), y = MAX(ABS(right->low), ABS(right->high));
  return x != y ? (x < y ? 1 : -1) : (left->figure > right->figure) - (left->figure < right->figure);
}

static SimTime longer(const RunReport *report, const RunReport *with) {
  return run_report_slowest(with)->step - run_report_slowest(report)->step;
}

/* From below: the narrowest first. */
static guint make_bars(const RunReport *report, const StudyTornado *tornado, Bar ret[STUDY_FIGURES]) {
  guint n = 0;
  for (StudyFigure figure = 0; figure < STUDY_FIGURES; figure++) {
    const StudyBar *bar = &tornado->bars[figure];
    if (bar->low != NULL && bar->high != NULL)
      ret[n++] = (Bar){figure, TRUE, longer(report, bar->low), longer(report, bar->high)};
  }
  qsort(ret, n, sizeof *ret, by_width);
  for (guint i = 0; i < n / 2; i++) {
    Bar swapped = ret[i];
    ret[i] = ret[n - 1 - i];
    ret[n - 1 - i] = swapped;
  }
  return n;
}

static SimTime longest(const Bar *bars, guint n) {
  SimTime most = 1;
  for (guint i = 0; i < n; i++)
    most = MAX(most, MAX(ABS(bars[i].low), ABS(bars[i].high)));
  return most;
}

static void print_block(const Bar *bars, guint n, gboolean high, GString *data) {
  g_string_append_printf(data, "# figure a tenth %s: row ms text\n", high ? "larger" : "smaller");
  for (guint i = 0; i < n; i++) {
    SimTime time = high ? bars[i].high : bars[i].low;
    double ms = time < 0 ? -base_in_ms(-time) : base_in_ms(time);
    g_string_append_printf(data, "%u %.9g \"%+.2f\"\n", i, ms, ms);
  }
  g_string_append(data, "\n\n");
}

static void print_axes(const RunReport *report, const Bar *bars, guint n, SimTime most, GString *script) {
  const RunIdentity *identity = &report->identity;
  g_autofree char *title =
      g_strdup_printf("%s, ZeRO-%u (%s), %u × %s: what its step of %.2f ms hangs on", identity->model,
                      identity->zero_stage, identity->framework, identity->gpus, identity->gpu,
                      (double)report_centi_ms(run_report_slowest(report)->step) / 100);
  g_autofree char *quoted = report_picture_quote(title);
  g_string_append_printf(script,
                         "set title %s\nset xlabel 'ms that the step gets longer (+) or shorter (-)'\n"
                         "set xrange [%.9g:%.9g]\nset yrange [-0.7:%u.7]\nset tics nomirror out\nset border 1\n"
                         "set key outside right top vertical Left reverse samplen 2\nset lmargin at screen 0.16\n"
                         "set arrow from 0, graph 0 to 0, graph 1 nohead lc rgb ink lw 0.7\nset ytics (",
                         quoted, -ROOM * base_in_ms(most), ROOM * base_in_ms(most), n - 1);
  for (guint i = 0; i < n; i++) {
    g_autofree char *words = g_strdelimit(g_strdup(study_figure_names[bars[i].figure]), "_", ' ');
    g_autofree char *name = report_picture_quote(words);
    g_string_append_printf(script, "%s%s %u", i > 0 ? ", " : "", name, i);
  }
  g_string_append(script, ")\n");
}

static void print_plot(SimTime most, ReportPicture *picture) {
  static const struct {
    const char *title, *colour;
  } sides[] = {{"a tenth less", "#9c2a1c"}, {"a tenth more", "#6fa8dc"}};
  g_string_append(picture->script, "plot \\\n");
  for (guint i = 0; i < G_N_ELEMENTS(sides); i++)
    g_string_append_printf(picture->script,
                           "  %s index %u using ($2/2):1:(0):2:($1-%g):($1+%g) with boxxyerror fs solid 1 noborder lc "
                           "rgb '%s' title '%s', \\\n"
                           "  %s index %u using ($2+($2<0?-1:1)*%.9g):1:3 with labels tc rgb ink notitle%s",
                           picture->data_name, i, HALF, HALF, report_picture_colour(picture, sides[i].colour),
                           sides[i].title, picture->data_name, i, BESIDE * base_in_ms(most), i == 0 ? ", \\\n" : "\n");
}

gboolean report_plot_tornado(const RunReport *report, const StudyTornado *tornado, const ReportCanvas *canvas,
                             GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(canvas, error);
  Bar bars[STUDY_FIGURES];
  if (picture == NULL)
    return FALSE;
  guint n = make_bars(report, tornado, bars);
  print_block(bars, n, FALSE, picture->data);
  print_block(bars, n, TRUE, picture->data);
  SimTime most = longest(bars, n);
  print_axes(report, bars, n, most, picture->script);
  print_plot(most, picture);
  picture->height = AROUND + ROW_HEIGHT * n;
  return report_picture_draw(picture, error);
}
