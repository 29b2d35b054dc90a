/* SPDX-License-Identifier: MIT */
/* One picture being made: its script and data grow as text, then gnuplot draws them.
 *
 *   ReportCanvas canvas = {"a/step.svg", FALSE};
 *   g_autoptr(ReportPicture) picture = report_picture_new(&canvas, error);
 *   g_string_append(picture->data, "0 1\n");
 *   picture->height = 400;
 *   g_string_append_printf(picture->script, "plot %s with lines\n", picture->data_name);
 *   return report_picture_draw(picture, error);       // writes a/step.dat, a/step.gnuplot, a/step.svg
 *
 * A script finds the variables ink, rule and ground: the colours of letters and lines, of a grid, and of what lies
 * behind. Names inside the script are relative, so that the three files can be moved together. */
#pragma once

#include "report-plot.h"

typedef struct {
  GString *script, *data;
  char *data_name; /* quoted for the script */
  guint height;    /* of a width of 1280 */
  guint scale;     /* of all sizes: a png has twice the points, for print */
  gboolean dark;   /* light lines and letters on a dark ground */
  double points;   /* of a font, for each pixel of its size */
  char *path, *folder, *stem;
  const char *terminal;
} ReportPicture;

/* Errors: SIM_ERROR_INPUT for an ending other than svg and png, a control character in the file's name, a folder, or a
 * folder that is missing. */
ReportPicture *report_picture_new(const ReportCanvas *canvas, GError **error);
void report_picture_free(ReportPicture *picture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportPicture, report_picture_free)

/* What to ask gnuplot for, so that letters are of a size in every kind of picture. */
static inline double report_picture_points(const ReportPicture *picture, double pixels) {
  return pixels * picture->points * picture->scale;
}

/* What stands for this colour on the picture's ground. */
const char *report_picture_colour(const ReportPicture *picture, const char *colour);
/* Errors: SIM_ERROR_SYSTEM, also where gnuplot ends well and has written nothing. A picture that gnuplot could not
 * finish is removed, as is one of before; script and data stay. */
gboolean report_picture_draw(const ReportPicture *picture, GError **error);

/* Text of files, databases and arguments must pass through one of these on its way into a script or a data file:
 * gnuplot executes what stands on a line of its own. Control characters become spaces, what is no UTF-8 a replacement
 * character. Caller frees. */
char *report_picture_text(const char *text);  /* for a comment of the data */
char *report_picture_quote(const char *text); /* 'it''s', for the script */
