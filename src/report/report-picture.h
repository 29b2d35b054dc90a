/* One picture being made: its script and data grow as text, then gnuplot draws them.
 *
 *   g_autoptr(ReportPicture) picture = report_picture_new("a/step.svg", error);
 *   g_string_append(picture->data, "0 1\n");
 *   picture->height = 400;
 *   g_string_append_printf(picture->script, "plot %s with lines\n", picture->data_name);
 *   return report_picture_draw(picture, error);       // writes a/step.dat, a/step.gnuplot, a/step.svg
 *
 * Names inside the script are relative, so that the three files can be moved together. */
#pragma once

#include <glib.h>

typedef struct {
  GString *script, *data;
  char *data_name; /* quoted for the script */
  guint height;    /* of a width of 1280 */
  guint scale;     /* of all sizes: a png has twice the points, for print */
  char *path, *folder, *stem;
  const char *terminal;
} ReportPicture;

/* Errors: SIM_ERROR_INPUT for an ending other than svg and png, a folder, or a folder that is missing. */
ReportPicture *report_picture_new(const char *path, GError **error);
void report_picture_free(ReportPicture *picture);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportPicture, report_picture_free)

/* Errors: SIM_ERROR_SYSTEM. A picture that gnuplot could not finish is removed, script and data stay. */
gboolean report_picture_draw(const ReportPicture *picture, GError **error);

/* 'it''s': text as gnuplot reads it. Caller frees. */
char *report_picture_quote(const char *text);
