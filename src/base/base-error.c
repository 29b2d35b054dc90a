/* SPDX-License-Identifier: MIT */
/* Wording of errors: one form for every place in every file. */
#include "base-error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

G_DEFINE_QUARK(sim - error - quark, sim_error)

static char *place_text(const BasePlace *place) {
  GString *text = g_string_new(NULL);
  if (place->file != NULL) {
    g_string_append(text, place->file);
    if (place->line > 0)
      g_string_append_printf(text, ":%u", place->line);
    if (place->line > 0 && place->column > 0)
      g_string_append_printf(text, ":%u", place->column);
    g_string_append(text, ": ");
  }
  if (place->key != NULL)
    g_string_append_printf(text, "%s: ", place->key);
  return g_string_free(text, FALSE);
}

#define CHARACTERS_MOST 1200 /* of a message; what is left of a longer one, from its beginning and its end: */
#define HEAD            800
#define TAIL            300

/* A message that quotes a whole file is no message. Takes it. */
static char *cut(char *message) {
  if (strlen(message) <= CHARACTERS_MOST)
    return message;
  g_autofree char *readable = g_utf8_make_valid(message, -1);
  g_free(message);
  glong length = g_utf8_strlen(readable, -1);
  if (length <= CHARACTERS_MOST)
    return g_steal_pointer(&readable);
  g_autofree char *head = g_utf8_substring(readable, 0, HEAD);
  g_autofree char *tail = g_utf8_substring(readable, length - TAIL, length);
  return g_strconcat(head, " … ", tail, NULL);
}

void base_error_set_at(GError **error, const BasePlace *place, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = cut(g_strdup_vprintf(format, arguments));
  va_end(arguments);
  g_autofree char *where = cut(place_text(place));
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s%s", where, message);
}

void base_error_prefix_at(GError **error, const BasePlace *place) {
  g_autofree char *where = cut(place_text(place));
  if (error != NULL && *error != NULL && strchr((*error)->message, '\n') == NULL)
    (*error)->message = cut((*error)->message);
  g_prefix_error(error, "%s", where);
}

void sim_require_failed(const char *file, int line, const char *condition, SimTime now, const char *run_key,
                        const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_autofree char *when = base_format_time(now);
  fprintf(stderr, "foretrain: broken contract at %s:%d: %s: %s (simulated time %s = %" G_GINT64_FORMAT " ps, run %s)\n",
          file, line, condition, message, when, now, run_key != NULL ? run_key : "without a key");
  abort();
}
