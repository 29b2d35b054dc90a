/* SPDX-License-Identifier: MIT */
/* Control characters made visible. */
#include "base-display.h"

#include <string.h>

#define REPLACEMENT 0xfffd

/* Unicode's Bidi_Control (PropList.txt): what follows is shown from right to left, or in another order than it is
 * written in. And its ends of lines and paragraphs. */
static gboolean is_turn(gunichar letter) {
  return letter == 0x061c || letter == 0x200e || letter == 0x200f || (letter >= 0x2028 && letter <= 0x202e) ||
         (letter >= 0x2066 && letter <= 0x2069);
}

static gboolean is_control(gunichar letter, gboolean lines) {
  gboolean stays = lines && (letter == '\n' || letter == '\t');
  return (letter < 0x20 && !stays) || (letter >= 0x7f && letter < 0xa0) || is_turn(letter);
}

/* Bytes of the run that `text` begins with and that can be shown as it is. */
static gsize shown_bytes(const char *text, gboolean lines) {
  const char *at = text;
  while (*at != '\0') {
    gunichar letter = g_utf8_get_char_validated(at, -1);
    if (letter == (gunichar)-1 || letter == (gunichar)-2 || is_control(letter, lines))
      break;
    at = g_utf8_next_char(at);
  }
  return (gsize)(at - text);
}

static char *display(const char *text, gboolean lines) {
  GString *shown = g_string_sized_new(strlen(text));
  while (*text != '\0') {
    gsize bytes = shown_bytes(text, lines);
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

/* At the beginning of a line, behind blanks, or anywhere: what CI runners take for commands. GitHub's ::error and
 * ##[group], Azure's ##vso[, TeamCity's ##teamcity[. */
static gboolean is_command(const char *line, const char *at) {
  if (g_str_has_prefix(at, "##")) {
    const char *after = at + 2;
    while (g_ascii_isalpha(*after))
      after++;
    return *after == '[';
  }
  return g_str_has_prefix(at, "::") && line + strspn(line, " \t\r") == at;
}

static char *disarm(const char *text) {
  GString *plain = g_string_sized_new(strlen(text));
  const char *line = text;
  for (const char *at = text; *at != '\0'; at++) {
    if (is_command(line, at))
      g_string_append_printf(plain, "\\u%04x", (guint)*at);
    else
      g_string_append_c(plain, *at);
    if (*at == '\n')
      line = at + 1;
  }
  return g_string_free(plain, FALSE);
}

char *base_display(const char *text) {
  g_autofree char *shown = display(text, TRUE);
  gboolean armed = strstr(shown, "::") != NULL || strstr(shown, "##") != NULL;
  return armed ? disarm(shown) : g_steal_pointer(&shown);
}

char *base_display_commands(const char *text) {
  return display(text, TRUE);
}

char *base_display_line(const char *text) {
  return display(text, FALSE);
}

void base_display_append(GString *text, const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_autofree char *line = g_strdup_vprintf(format, values);
  va_end(values);
  g_autofree char *shown = base_display_line(line);
  g_string_append_printf(text, "%s\n", shown);
}
