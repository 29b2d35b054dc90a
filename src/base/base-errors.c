/* SPDX-License-Identifier: MIT */
/* Errors that are gathered, a line each. */
#include "base-errors.h"

#include <string.h>

#define LINES_MOST 20

/* Whether `text` has `line` as one of its lines. */
static gboolean has_line(const GString *text, const char *line) {
  g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);
  return g_strv_contains((const char *const *)lines, line);
}

static void add_line(BaseErrors *errors, const char *line) {
  if (errors->lines > 0 && has_line(errors->text, line))
    return;
  if (errors->lines++ < LINES_MOST)
    g_string_append_printf(errors->text, "%s%s", errors->text->len > 0 ? "\n" : "", line);
}

void base_errors_add(BaseErrors *errors, GError *cause) {
  if (cause == NULL)
    return;
  if (errors->text == NULL)
    errors->text = g_string_new(NULL), errors->code = SIM_ERROR_INPUT;
  if (!g_error_matches(cause, SIM_ERROR, SIM_ERROR_INPUT))
    errors->code = SIM_ERROR_SYSTEM;
  g_auto(GStrv) lines = g_strsplit(cause->message, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    add_line(errors, *line);
  g_error_free(cause);
}

gboolean base_errors_end(BaseErrors *errors, GError **error) {
  if (errors->text == NULL)
    return TRUE;
  if (errors->lines > LINES_MOST)
    g_string_append_printf(errors->text, "\n… and %u more", errors->lines - LINES_MOST);
  g_set_error_literal(error, SIM_ERROR, errors->code, errors->text->str);
  g_string_free(errors->text, TRUE);
  *errors = (BaseErrors){0};
  return FALSE;
}
