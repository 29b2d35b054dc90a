/* SPDX-License-Identifier: MIT */
/* Control characters made visible. */
#include "base-display.h"

#include <string.h>

#define REPLACEMENT 0xfffd

static gboolean is_control(gunichar letter) {
  gboolean stays = letter == '\n' || letter == '\t';
  return (letter < 0x20 && !stays) || (letter >= 0x7f && letter < 0xa0);
}

/* Bytes of the run that `text` begins with and that can be shown as it is. */
static gsize shown_bytes(const char *text) {
  const char *at = text;
  while (*at != '\0') {
    gunichar letter = g_utf8_get_char_validated(at, -1);
    if (letter == (gunichar)-1 || letter == (gunichar)-2 || is_control(letter))
      break;
    at = g_utf8_next_char(at);
  }
  return (gsize)(at - text);
}

char *base_display(const char *text) {
  GString *shown = g_string_sized_new(strlen(text));
  while (*text != '\0') {
    gsize bytes = shown_bytes(text);
    g_string_append_len(shown, text, (gssize)bytes);
    text += bytes;
    if (*text == '\0')
      break;
    gunichar letter = g_utf8_get_char_validated(text, -1);
    gboolean broken = letter == (gunichar)-1 || letter == (gunichar)-2;
    g_string_append_printf(shown, "\\u%04x", broken ? REPLACEMENT : letter);
    text = broken ? text + 1 : g_utf8_next_char(text);
  }
  return g_string_free(shown, FALSE);
}
