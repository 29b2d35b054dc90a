/* SPDX-License-Identifier: MIT */
/* Two columns: what is given, what it does. */
#include "cli-help.h"

#include <string.h>

#define WIDTH  100
#define COLUMN 34 /* where what an option does begins */

/* Words from here on in lines of WIDTH, each behind `indent` blanks; `at`: columns of the first line that are taken. */
static void wrap(GString *text, const char *words, gsize indent, gsize at) {
  g_auto(GStrv) each = g_strsplit(words, " ", -1);
  gboolean fresh = TRUE;
  for (guint i = 0; each[i] != NULL; i++) {
    gsize length = (gsize)g_utf8_strlen(each[i], -1);
    if (!fresh && at + 1 + length > WIDTH) {
      g_string_append_printf(text, "\n%*s", (int)indent, "");
      at = indent;
      fresh = TRUE;
    }
    g_string_append_printf(text, "%s%s", fresh ? "" : " ", each[i]);
    at += length + !fresh;
    fresh = FALSE;
  }
  g_string_append_c(text, '\n');
}

/* Where what the option does begins in GOption's line: behind the first run of blanks after the option; NULL:
 * nowhere. */
static const char *second_column(const char *line, gsize *ret_first) {
  if (strncmp(line, "  -", 3) != 0)
    return NULL;
  const char *gap = strstr(line + 2, "  ");
  if (gap == NULL)
    return NULL;
  *ret_first = (gsize)(gap - line);
  return gap + strspn(gap, " ");
}

static void lay_line(GString *text, const char *line) {
  gsize first = 0;
  const char *second = second_column(line, &first);
  if (second == NULL) {
    gsize indent = strspn(line, " ");
    g_string_append_printf(text, "%*s", (int)indent, "");
    wrap(text, line + indent, indent + (indent > 0 ? 2 : 0), indent);
    return;
  }
  g_string_append_len(text, line, (gssize)first);
  if (first + 2 > COLUMN)
    g_string_append_printf(text, "\n%*s", COLUMN, "");
  else
    g_string_append_printf(text, "%*s", (int)(COLUMN - first), "");
  wrap(text, second, COLUMN, COLUMN);
}

char *cli_help_laid_out(const char *text) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  GString *laid = g_string_new(NULL);
  for (guint i = 0; lines[i] != NULL && (lines[i + 1] != NULL || *lines[i] != '\0'); i++)
    lay_line(laid, lines[i]);
  return g_string_free(laid, FALSE);
}
