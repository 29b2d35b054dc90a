/* A recursive walk: each function begins at its token and leaves `at` behind it. */
#include "conf-json-scan.h"

#include <json-glib/json-glib.h>
#include <string.h>

#define DEPTH_MAX 100 /* of nesting: recursion must end before the stack does */

typedef struct {
  const char *file;
  char *data;
  gsize length, at;
  guint line;       /* of `at` */
  gsize line_start; /* offset of that line */
  guint last_line;  /* of the last token */
  guint depth;
  GString *path;
  GHashTable *marks;
  GError **error;
} Scan;

static gboolean scan_value(Scan *scan);

static guint column_of(const Scan *scan, gsize at) {
  return (guint)g_utf8_pointer_to_offset(scan->data + scan->line_start, scan->data + at) + 1;
}

/* At an offset of the current line. */
static gboolean G_GNUC_PRINTF(3, 4) fail_at(Scan *scan, gsize at, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place = {.file = scan->file,
                     .line = scan->line,
                     .column = column_of(scan, at),
                     .key = scan->path->len > 0 ? scan->path->str : NULL};
  base_error_set_at(scan->error, &place, "%s", message);
  return FALSE;
}

/* The letters that stand there, as messages show them: a word, a quoted text or one sign. */
static char *found_text(const Scan *scan) {
  const char *from = scan->data + scan->at;
  if (scan->at == scan->length)
    return g_strdup("the end of the file");
  gsize bytes = strcspn(from, " \t\r\n,:[]{}\"");
  if (*from == '"')
    bytes = 1 + strcspn(from + 1, "\"\r\n");
  else if (g_str_has_prefix(from, "${"))
    bytes = strcspn(from, "}\r\n") + 1;
  g_autofree char *word = g_strndup(from, MAX(bytes, 1));
  g_autofree char *shown = g_utf8_validate(word, -1, NULL) ? g_utf8_substring(word, 0, MIN(g_utf8_strlen(word, -1), 40))
                                                           : g_strndup(from, (gsize)(g_utf8_next_char(from) - from));
  g_strchomp(shown);
  return *from == '"' ? g_strdup_printf("%s\"", shown) : g_strdup_printf("\"%s\"", shown);
}

static void blank(Scan *scan, gsize from, gsize to) {
  for (gsize i = from; i < to; i++)
    if (scan->data[i] != '\n')
      scan->data[i] = ' ';
}

static void new_line(Scan *scan) {
  scan->line++;
  scan->line_start = scan->at + 1;
}

/* A comment at `at`: blanked and passed. */
static gboolean skip_comment(Scan *scan) {
  gsize start = scan->at;
  if (scan->data[start] == '#' || scan->data[start + 1] == '/') {
    scan->at += strcspn(scan->data + start, "\n");
    blank(scan, start, scan->at);
    return TRUE;
  }
  const char *close = strstr(scan->data + start + 2, "*/");
  if (close == NULL)
    return fail_at(scan, start, "the comment that begins here is not closed");
  gsize end = (gsize)(close - scan->data) + 2;
  for (; scan->at < end; scan->at++)
    if (scan->data[scan->at] == '\n')
      new_line(scan);
  blank(scan, start, end);
  return TRUE;
}

/* To the next token or the end. */
static gboolean skip(Scan *scan) {
  scan->last_line = scan->line;
  for (;;) {
    const char *p = scan->data + scan->at;
    if (*p == '\n')
      new_line(scan);
    if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n')
      scan->at++;
    else if (*p != '#' && !(*p == '/' && (p[1] == '/' || p[1] == '*')))
      return TRUE;
    else if (!skip_comment(scan))
      return FALSE;
  }
}

/* Value of four hexadecimal digits, -1 where they are not. */
static int hex4(const char *p) {
  int value = 0;
  for (int i = 0; i < 4; i++) {
    int digit = g_ascii_xdigit_value(p[i]);
    if (digit < 0)
      return -1;
    value = value * 16 + digit;
  }
  return value;
}

/* Bytes of the escape at `p`, a pair of surrogates as one; 0 where it is none. */
static gsize escape_length(const char *p) {
  if (p[1] != 'u')
    return p[1] != '\0' && strchr("\"\\/bfnrt", p[1]) != NULL ? 2 : 0;
  int first = hex4(p + 2);
  if (first <= 0 || (first >= 0xdc00 && first <= 0xdfff))
    return 0;
  if (first < 0xd800 || first > 0xdbff)
    return 6;
  int second = p[6] == '\\' && p[7] == 'u' ? hex4(p + 8) : -1;
  return second >= 0xdc00 && second <= 0xdfff ? 12 : 0;
}

static gboolean scan_string(Scan *scan) {
  gsize start = scan->at++;
  for (;;) {
    const char *p = scan->data + scan->at;
    if (*p == '"') {
      scan->at++;
      return TRUE;
    }
    if (*p == '\0' || *p == '\n' || *p == '\r')
      return fail_at(scan, start, "the quote that opens here is not closed on its line");
    if ((guchar)*p < 0x20)
      return fail_at(scan, scan->at, "a text cannot hold the raw control character 0x%02x", (guchar)*p);
    gsize bytes = *p == '\\' ? escape_length(p) : 1;
    if (bytes == 0)
      return fail_at(scan, scan->at, "\"%.2s\" is no escape of JSON here; write \"\\\\\" for a backslash", p);
    scan->at += bytes;
  }
}

/* Bytes of the number at `p` by JSON's grammar; 0 where it is none. */
static gsize number_length(const char *p) {
  const char *start = p;
  p += *p == '-';
  gsize digits = strspn(p, "0123456789");
  if (digits == 0 || (*p == '0' && digits > 1))
    return 0;
  p += digits;
  if (*p == '.') {
    digits = strspn(p + 1, "0123456789");
    if (digits == 0)
      return 0;
    p += 1 + digits;
  }
  if (*p == 'e' || *p == 'E') {
    p += 1 + (p[1] == '+' || p[1] == '-');
    digits = strspn(p, "0123456789");
    if (digits == 0)
      return 0;
    p += digits;
  }
  return (gsize)(p - start);
}

/* What other languages write in place of JSON. */
static const char *value_advice(const char *p) {
  if (*p == '$' || *p == '<' || *p == '%' || *p == '@')
    return "; fill in the template";
  if (*p == '\'')
    return "; write \" in place of '";
  if (g_str_has_prefix(p, "True") || g_str_has_prefix(p, "False") || g_str_has_prefix(p, "None"))
    return "; JSON writes true, false and null";
  if (*p == '.' || *p == '+' || g_ascii_isdigit(*p))
    return "; JSON writes numbers as 0.5, 10 or 1e9";
  gsize capitals = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
  if (capitals > 1 && strchr(p, '_') != NULL && strchr(p, '_') < p + capitals && !g_ascii_isalpha(p[capitals]))
    return "; fill in the template, or put a text in quotes";
  if (g_ascii_isalpha(*p) || *p == '/' || *p == '~')
    return "; a text needs quotes";
  return "";
}

static gboolean scan_word(Scan *scan) {
  static const char *const literals[] = {"true", "false", "null"};
  static const char *const not_finite[] = {"NaN", "Infinity", "-Infinity"};
  const char *p = scan->data + scan->at;
  gsize word = strcspn(p, " \t\r\n,:[]{}\"#/");
  for (gsize i = 0; i < G_N_ELEMENTS(literals); i++)
    if (word == strlen(literals[i]) && strncmp(p, literals[i], word) == 0) {
      scan->at += word;
      return TRUE;
    }
  for (gsize i = 0; i < G_N_ELEMENTS(not_finite); i++)
    if (word == strlen(not_finite[i]) && strncmp(p, not_finite[i], word) == 0) {
      blank(scan, scan->at, scan->at + word);
      memcpy(scan->data + scan->at, "\"\"", 2);
      scan->at += word;
      return TRUE;
    }
  gsize number = number_length(p);
  if (number > 0 && number == word) {
    scan->at += number;
    return TRUE;
  }
  g_autofree char *found = found_text(scan);
  return fail_at(scan, scan->at, "expected a value, found %s%s", found, value_advice(p));
}

static gboolean fail_end(Scan *scan, char close, guint line) {
  return fail_at(scan, scan->at, "the file ends where \"%c\" should close what begins at line %u", close, line);
}

/* After a value of an object or a list that began at `line`: passes a comma, or stands at the closing sign. */
static gboolean scan_separator(Scan *scan, char close, guint line) {
  if (!skip(scan))
    return FALSE;
  if (scan->at == scan->length)
    return fail_end(scan, close, line);
  char sign = scan->data[scan->at];
  if (sign == close)
    return TRUE;
  if (sign != ',') {
    g_autofree char *found = found_text(scan);
    g_autofree char *advice = strchr("}]", sign) != NULL
                                  ? g_strdup_printf("; \"%c\" closes what begins at line %u", close, line)
                                  : g_strdup_printf("; is a comma missing at the end of line %u?", scan->last_line);
    return fail_at(scan, scan->at, "expected \",\" or \"%c\", found %s%s", close, found, advice);
  }
  gsize comma = scan->at++;
  if (!skip(scan))
    return FALSE;
  if (scan->data[scan->at] == close)
    blank(scan, comma, comma + 1);
  return scan->at < scan->length || fail_end(scan, close, line);
}

/* One value under the path as it stands, which began at line and column. */
static gboolean scan_marked(Scan *scan, guint line, guint column) {
  const ConfJsonMark *first = g_hash_table_lookup(scan->marks, scan->path->str);
  if (first != NULL) {
    BasePlace place = {scan->file, line, column, scan->path->str};
    base_error_set_at(scan->error, &place, "given twice, first at line %u", first->line);
    return FALSE;
  }
  ConfJsonMark *mark = g_new(ConfJsonMark, 1);
  *mark = (ConfJsonMark){.line = line, .column = column, .start = scan->at, .end = scan->at};
  g_hash_table_insert(scan->marks, g_strdup(scan->path->str), mark);
  if (!scan_value(scan))
    return FALSE;
  mark->end = scan->at;
  return TRUE;
}

static char *decode_key(const char *token, gsize length) {
  if (memchr(token, '\\', length) == NULL)
    return g_strndup(token + 1, length - 2);
  g_autofree char *text = g_strndup(token, length);
  g_autoptr(JsonNode) node = json_from_string(text, NULL);
  return node != NULL ? json_node_dup_string(node) : g_strndup(token + 1, length - 2);
}

static gboolean scan_member(Scan *scan) {
  gsize start = scan->at, outer = scan->path->len;
  guint line = scan->line, column = column_of(scan, start);
  if (scan->data[start] != '"') {
    g_autofree char *found = found_text(scan);
    gboolean bare = g_ascii_isalpha(scan->data[start]) || scan->data[start] == '\'';
    const char *advice = bare                       ? "; a key needs double quotes"
                         : scan->data[start] == '{' ? "; fill in the template"
                                                    : "";
    return fail_at(scan, start, "expected a key, found %s%s", found, advice);
  }
  if (!scan_string(scan))
    return FALSE;
  g_autofree char *key = decode_key(scan->data + start, scan->at - start);
  if (*key == '\0')
    return fail_at(scan, start, "expected a key, found an empty one");
  g_string_append_printf(scan->path, "%s%s", outer > 0 ? "." : "", key);
  if (!skip(scan))
    return FALSE;
  if (scan->data[scan->at] != ':') {
    g_autofree char *found = found_text(scan);
    return fail_at(scan, scan->at, "expected \":\" after the key, found %s", found);
  }
  scan->at++;
  if (!skip(scan) || !scan_marked(scan, line, column))
    return FALSE;
  g_string_truncate(scan->path, outer);
  return TRUE;
}

static gboolean scan_element(Scan *scan, guint index) {
  gsize outer = scan->path->len;
  g_string_append_printf(scan->path, "%s%u", outer > 0 ? "." : "", index);
  if (!scan_marked(scan, scan->line, column_of(scan, scan->at)))
    return FALSE;
  g_string_truncate(scan->path, outer);
  return TRUE;
}

static gboolean scan_container(Scan *scan, char close) {
  guint line = scan->line;
  if (++scan->depth > DEPTH_MAX)
    return fail_at(scan, scan->at, "nested deeper than %d", DEPTH_MAX);
  scan->at++;
  if (!skip(scan))
    return FALSE;
  if (scan->at == scan->length)
    return fail_end(scan, close, line);
  for (guint index = 0; scan->data[scan->at] != close; index++)
    if (!(close == '}' ? scan_member(scan) : scan_element(scan, index)) || !scan_separator(scan, close, line))
      return FALSE;
  scan->at++;
  scan->depth--;
  return TRUE;
}

static gboolean scan_value(Scan *scan) {
  switch (scan->data[scan->at]) {
  case '{':
    return scan_container(scan, '}');
  case '[':
    return scan_container(scan, ']');
  case '"':
    return scan_string(scan);
  default:
    return scan_word(scan);
  }
}

static gboolean scan_text(Scan *scan) {
  if (!skip(scan))
    return FALSE;
  if (scan->data[scan->at] != '{') {
    g_autofree char *found = found_text(scan);
    return fail_at(scan, scan->at, "expected \"{\", the beginning of a JSON object, found %s", found);
  }
  if (!scan_marked(scan, scan->line, column_of(scan, scan->at)) || !skip(scan))
    return FALSE;
  if (scan->at < scan->length) {
    g_autofree char *found = found_text(scan);
    return fail_at(scan, scan->at, "expected the end of the file after the object, found %s", found);
  }
  return TRUE;
}

gboolean conf_json_scan(const char *file, char *data, gsize length, GHashTable *marks, GError **error) {
  g_autoptr(GString) path = g_string_new(NULL);
  Scan scan = {.file = file, .data = data, .length = length, .line = 1, .path = path, .marks = marks, .error = error};
  return scan_text(&scan);
}
