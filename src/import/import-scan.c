/* A cursor over JSON. Escapes of names that matter here are letters; others are kept as they are written. */
#include "import-scan.h"

#include <string.h>

#define DEPTH_MAX 64

void import_scan_begin(ImportScan *scan, const char *file, const char *data, gsize length) {
  *scan = (ImportScan){.file = file, .data = data, .at = data, .end = data + length};
}

gboolean import_scan_fail(const ImportScan *scan, GError **error, const char *what) {
  guint line = 1;
  for (const char *c = scan->data; c < scan->at; c++)
    line += *c == '\n';
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s:%u: %s", scan->file, line, what);
  return FALSE;
}

char import_scan_peek(ImportScan *scan) {
  while (scan->at < scan->end && g_ascii_isspace(*scan->at))
    scan->at++;
  return scan->at < scan->end ? *scan->at : '\0';
}

gboolean import_scan_enter(ImportScan *scan, char open, GError **error) {
  if (import_scan_peek(scan) != open)
    return import_scan_fail(scan, error, open == '{' ? "expected \"{\"" : "expected \"[\"");
  if (++scan->depth > DEPTH_MAX)
    return import_scan_fail(scan, error, "maps and lists within each other, too deep to be a trace");
  scan->at++;
  return TRUE;
}

gboolean import_scan_next(ImportScan *scan, char close, gboolean *first, gboolean *ret_more, GError **error) {
  char c = import_scan_peek(scan);
  if (c == close) {
    scan->at++;
    scan->depth--;
    *ret_more = FALSE;
    return TRUE;
  }
  if (!*first && c != ',')
    return import_scan_fail(scan, error, c == '\0' ? "the file ends within a map or a list" : "expected a comma");
  scan->at += *first ? 0 : 1;
  *first = FALSE;
  *ret_more = TRUE;
  return TRUE;
}

/* Behind the opening quote: to the closing one, which is passed. */
static gboolean quoted(ImportScan *scan, GString *text, GError **error) {
  const char *from = scan->at;
  for (; scan->at < scan->end && *scan->at != '"'; scan->at++)
    if (*scan->at == '\\')
      scan->at++;
  if (scan->at >= scan->end)
    return import_scan_fail(scan, error, "a text without its closing quote");
  if (text != NULL)
    g_string_append_len(text, from, scan->at - from);
  scan->at++;
  return TRUE;
}

gboolean import_scan_key(ImportScan *scan, GString *text, GError **error) {
  g_string_truncate(text, 0);
  if (import_scan_peek(scan) != '"')
    return import_scan_fail(scan, error, "expected a name in quotes");
  scan->at++;
  if (!quoted(scan, text, error))
    return FALSE;
  if (import_scan_peek(scan) != ':')
    return import_scan_fail(scan, error, "expected a colon");
  scan->at++;
  return TRUE;
}

gboolean import_scan_member(ImportScan *scan, GString *key, gboolean *first, gboolean *ret_more, GError **error) {
  return import_scan_next(scan, '}', first, ret_more, error) && (!*ret_more || import_scan_key(scan, key, error));
}

static gboolean is_word(char c) {
  return g_ascii_isalnum(c) || c == '-' || c == '+' || c == '.';
}

static gboolean plain(ImportScan *scan, GString *text, GError **error) {
  const char *from = scan->at;
  while (scan->at < scan->end && is_word(*scan->at))
    scan->at++;
  if (scan->at == from)
    return import_scan_fail(scan, error, "expected a value");
  if (text != NULL)
    g_string_append_len(text, from, scan->at - from);
  return TRUE;
}

/* Members of a map or a list, over and done with. */
static gboolean skip_members(ImportScan *scan, char open, GError **error) {
  gboolean first = TRUE, more;
  if (!import_scan_enter(scan, open, error))
    return FALSE;
  for (;;) {
    if (!import_scan_next(scan, open == '{' ? '}' : ']', &first, &more, error))
      return FALSE;
    if (!more)
      return TRUE;
    if (open == '{') {
      g_autoptr(GString) name = g_string_new(NULL);
      if (!import_scan_key(scan, name, error))
        return FALSE;
    }
    if (!import_scan_skip(scan, error))
      return FALSE;
  }
}

gboolean import_scan_text(ImportScan *scan, GString *text, GError **error) {
  if (text != NULL)
    g_string_truncate(text, 0);
  char c = import_scan_peek(scan);
  if (c == '{' || c == '[')
    return skip_members(scan, c, error);
  if (c != '"')
    return plain(scan, text, error);
  scan->at++;
  return quoted(scan, text, error);
}

gboolean import_scan_skip(ImportScan *scan, GError **error) {
  return import_scan_text(scan, NULL, error);
}
