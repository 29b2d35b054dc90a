/* SPDX-License-Identifier: MIT */
/* Parity: every validated row as a point, measured across, predicted up, on logarithmic axes; on the diagonal both are
 * equal. One panel for each figure that has rows, one colour and shape for each source.
 *
 *   predicted │      / ·      above the line: foretold too high
 *             │   ·/·
 *             │  /·
 *             └────────── measured
 */
#include <string.h>

#include "base-error.h"
#include "report-axis.h"
#include "report-looks.h"
#include "report-picture.h"
#include "report-plot.h"
#include "store-validation.h"

#define HEIGHT      560 /* pixels */
#define ROOM        1.2 /* of the axes beyond the outermost points, as a factor */
#define SHORT_NAMES 34  /* letters of a source in the key */

/* Figures worth a panel, in this order. Tokens per second are step times over again. */
static const StoreMeasureKind panels[] = {STORE_MEASURE_STEP_TIME, STORE_MEASURE_RESERVED, STORE_MEASURE_ALLOCATED,
                                          STORE_MEASURE_STEADY, STORE_MEASURE_TIME};

typedef struct {
  StoreMeasureKind kind;
  ReportPicture *picture;
  GString *plots; /* of the panel so far */
  char *source;   /* whose block it is; NULL: none yet */
  guint sources, *blocks;
  double least, most;
} Panel;

static void begin_source(Panel *panel, const char *source) {
  g_free(panel->source);
  panel->source = g_strdup(source);
  g_autofree char *whole = report_picture_text(source);
  g_autofree char *shortened =
      g_utf8_strlen(whole, -1) > SHORT_NAMES ? g_utf8_substring(whole, 0, SHORT_NAMES) : g_strdup(whole);
  g_autofree char *title = report_picture_quote(shortened);
  guint look = panel->sources % REPORT_SERIES;
  g_string_append_printf(panel->picture->data, "%s# %s of %s: measured, predicted in %s\n",
                         *panel->blocks > 0 ? "\n\n" : "", store_measures[panel->kind].title, whole,
                         store_measures[panel->kind].shown_unit);
  g_string_append_printf(panel->plots, ", \\\n  %s index %u using 1:2 with points pt %d ps %.1f lc rgb '%s' title %s",
                         panel->picture->data_name, *panel->blocks, report_series_looks[look].shape,
                         0.7 * panel->picture->scale,
                         report_picture_colour(panel->picture, report_series_looks[look].colour), title);
  panel->sources++;
  (*panel->blocks)++;
}

/* "github:owner/repository" of "github:owner/repository:path/in/it": who measured. Caller frees. */
static char *publisher_of(const char *source) {
  const char *colon = strchr(source, ':');
  colon = colon != NULL ? strchr(colon + 1, ':') : NULL;
  return colon != NULL ? g_strndup(source, (gsize)(colon - source)) : g_strdup(source);
}

static void add_point(const char *source, double measured_si, double predicted_si, gpointer user) {
  Panel *panel = user;
  g_autofree char *publisher = publisher_of(source);
  if (g_strcmp0(panel->source, publisher) != 0)
    begin_source(panel, publisher);
  double measured = store_measure_shown(panel->kind, measured_si);
  double predicted = store_measure_shown(panel->kind, predicted_si);
  g_string_append_printf(panel->picture->data, "%.9g %.9g\n", measured, predicted);
  panel->least = MIN(panel->least, MIN(measured, predicted));
  panel->most = MAX(panel->most, MAX(measured, predicted));
}

static void print_panel(const Panel *panel, GString *text) {
  const StoreMeasure *measure = &store_measures[panel->kind];
  g_string_append_printf(text,
                         "set title '%s'\n"
                         "set xlabel 'measured, %s'\n"
                         "set ylabel 'predicted, %s'\n"
                         "set xrange [%.9g:%.9g]\n"
                         "set yrange [%.9g:%.9g]\n",
                         measure->title, measure->shown_unit, measure->shown_unit, panel->least / ROOM,
                         panel->most * ROOM, panel->least / ROOM, panel->most * ROOM);
  report_log_tics('x', panel->least / ROOM, panel->most * ROOM, text);
  report_log_tics('y', panel->least / ROOM, panel->most * ROOM, text);
  g_string_append_printf(text, "plot x with lines lc rgb ink lw 1 title 'equal'%s\n", panel->plots->str);
}

static gboolean add_panel(StoreDb *db, Panel *panel, guint *panels_drawn, GString *text, GError **error) {
  if (!store_db_validated(db, panel->kind, add_point, panel, error))
    return FALSE;
  if (panel->sources > 0) {
    print_panel(panel, text);
    (*panels_drawn)++;
  }
  return TRUE;
}

gboolean report_plot_parity(StoreDb *db, const ReportCanvas *canvas, GError **error) {
  g_autoptr(ReportPicture) picture = report_picture_new(canvas, error);
  if (picture == NULL)
    return FALSE;
  g_autoptr(GString) text = g_string_new(NULL);
  guint drawn = 0, blocks = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(panels); i++) {
    g_autoptr(GString) plots = g_string_new(NULL);
    Panel panel = {
        .kind = panels[i], .picture = picture, .plots = plots, .blocks = &blocks, .least = G_MAXDOUBLE, .most = 0};
    gboolean good = add_panel(db, &panel, &drawn, text, error);
    g_free(panel.source);
    if (!good)
      return FALSE;
  }
  if (drawn == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "no validated row has both a measured and a predicted figure; foretrain validate makes them");
    return FALSE;
  }
  guint rows = drawn > 2 ? 2 : 1, columns = (drawn + rows - 1) / rows;
  picture->height = HEIGHT * rows;
  g_string_append_printf(picture->script,
                         "set multiplot layout %u,%u\n"
                         "set logscale xy\n"
                         "set key left top Left reverse samplen 1\n"
                         "set grid lc rgb rule\n"
                         "%sunset multiplot\n",
                         rows, columns, text->str);
  return report_picture_draw(picture, error);
}
