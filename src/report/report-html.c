/* SPDX-License-Identifier: MIT */
/* Escaping. */
#include "report-html.h"

#include <string.h>

void report_html_text(GString *html, const char *text) {
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  for (const char *at = valid; *at != '\0'; at = g_utf8_next_char(at)) {
    gunichar letter = g_utf8_get_char(at);
    switch (letter) {
    case '<':
      g_string_append(html, "&lt;");
      break;
    case '>':
      g_string_append(html, "&gt;");
      break;
    case '&':
      g_string_append(html, "&amp;");
      break;
    case '"':
      g_string_append(html, "&quot;");
      break;
    case '\'':
      g_string_append(html, "&#39;");
      break;
    default:
      g_string_append_unichar(html, letter != '\n' && g_unichar_iscntrl(letter) ? ' ' : letter);
    }
  }
}

void report_html_element(GString *html, const char *tag, const char *class, const char *text) {
  if (class != NULL)
    g_string_append_printf(html, "<%s class=\"%s\">", tag, class);
  else
    g_string_append_printf(html, "<%s>", tag);
  report_html_text(html, text);
  g_string_append_printf(html, "</%s>", tag);
}

void report_html_cell(GString *html, const char *tag, const char *class, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *text = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  report_html_element(html, tag, class, text);
}

void report_html_json(GString *html, const char *json) {
  for (; *json != '\0'; json++)
    if (*json == '<')
      g_string_append(html, "\\u003c");
    else
      g_string_append_c(html, *json);
}
