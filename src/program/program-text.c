/* SPDX-License-Identifier: MIT */
/* Escapes and quotes. */
#include "program-text.h"

#include <string.h>

static gboolean is_plain(char letter) {
  return (guchar)letter > ' ' && letter != 0x7f && strchr("%:,;@+=#\"'|", letter) == NULL;
}

void program_text_word(const char *name, GString *text) {
  for (; *name != '\0'; name++)
    if (is_plain(*name))
      g_string_append_c(text, *name);
    else
      g_string_append_printf(text, "%%%02X", (guchar)*name);
}

gboolean program_text_unword(char *word) {
  char *to = word;
  for (const char *from = word; *from != '\0'; from++, to++) {
    *to = *from;
    if (*from != '%')
      continue;
    if (!g_ascii_isxdigit(from[1]) || !g_ascii_isxdigit(from[2]))
      return FALSE;
    *to = (char)(g_ascii_xdigit_value(from[1]) * 16 + g_ascii_xdigit_value(from[2]));
    if (*to == '\0')
      return FALSE;
    from += 2;
  }
  *to = '\0';
  return g_utf8_validate(word, -1, NULL);
}

void program_text_field(const char *value, GString *text) {
  if (strpbrk(value, ",\"") == NULL) {
    g_string_append(text, value);
    return;
  }
  g_string_append_c(text, '"');
  for (; *value != '\0'; value++) {
    if (*value == '"')
      g_string_append_c(text, '"');
    g_string_append_c(text, *value);
  }
  g_string_append_c(text, '"');
}

/* One quoted field in place, *at behind its closing quote. */
static gboolean unquote(char **at) {
  char *to = *at;
  for (char *from = *at + 1; *from != '\0'; from++) {
    if (*from == '"' && *++from != '"') {
      *at = from;
      *to = '\0';
      return TRUE;
    }
    *to++ = *from;
  }
  return FALSE;
}

gint program_text_split(char *line, char **ret_fields, guint most) {
  guint n = 0;
  for (char *at = line;; n++) {
    char *field = at;
    if (*at == '"' && (!unquote(&at) || (*at != ',' && *at != '\0')))
      return -1;
    at += strcspn(at, ",");
    gboolean more = *at == ',';
    *at = '\0';
    if (n < most)
      ret_fields[n] = field;
    if (!more)
      return (gint)n + 1;
    at++;
  }
}
