/* SPDX-License-Identifier: MIT */
/* The subset of TOML that recipes use, into a tree: tables, dotted keys, strings on one line, decimal numbers, true and
 * false, lists and inline tables. Everything else of TOML (dates, lists of tables, hexadecimal numbers, strings of
 * several lines) is an error at its line.
 *
 *     [training]            "training"                 map
 *     seq_len = 8_192       "training.seq_len"         number 8192
 *     dirs = ["a",          "training.dirs"            list, then "training.dirs.0", "training.dirs.1"
 *             "b"]  # last
 */
#include <string.h>

#include "conf-file.h"
#include "conf-tree-build.h"

typedef struct {
  ConfTree *tree;
  const char *at;
  guint line;
  const char *line_start;
  guint depth;
  GError **error;
} Scan;

static gboolean read_value(Scan *scan, const char *path, guint line, guint column);

static guint column_of(const Scan *scan) {
  return (guint)g_utf8_pointer_to_offset(scan->line_start, scan->at) + 1;
}

static gboolean G_GNUC_PRINTF(3, 4) fail(const Scan *scan, const char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return conf_tree_fail_at(scan->tree, scan->line, column_of(scan), path, scan->error, "%s", message);
}

/* The rest of the word that stands there, as messages show it. Caller frees. */
static char *found_text(const Scan *scan) {
  if (*scan->at == '\0')
    return g_strdup("the end of the file");
  if (*scan->at == '\n' || *scan->at == '\r')
    return g_strdup("the end of the line");
  gsize bytes = strcspn(scan->at, " \t\r\n,=[]{}#");
  if (bytes == 0)
    return g_strdup_printf("\"%c\"", *scan->at);
  g_autofree char *word = g_strndup(scan->at, bytes);
  g_autofree char *shown = g_utf8_substring(word, 0, MIN(g_utf8_strlen(word, -1), 40));
  return g_strdup_printf("\"%s\"", shown);
}

static void skip_blanks(Scan *scan) {
  scan->at += strspn(scan->at, " \t");
}

/* Over blanks, a comment and, where `lines`, the ends of lines. */
static void skip(Scan *scan, gboolean lines) {
  for (;;) {
    skip_blanks(scan);
    if (*scan->at == '#')
      scan->at += strcspn(scan->at, "\n");
    if (*scan->at == '\r' && scan->at[1] == '\n')
      scan->at++;
    if (*scan->at != '\n' || !lines)
      return;
    scan->at++;
    scan->line++;
    scan->line_start = scan->at;
  }
}

static gboolean take(Scan *scan, char sign) {
  if (*scan->at != sign)
    return FALSE;
  scan->at++;
  return TRUE;
}

/* The letter that an escape of a "…" stands for; 0 where it is none. */
static char escaped(char letter) {
  static const char from[] = "btnfr\"\\", to[] = "\b\t\n\f\r\"\\";
  const char *found = letter != '\0' ? strchr(from, letter) : NULL;
  return found != NULL ? to[found - from] : '\0';
}

/* "text" with escapes, or 'text' as it stands; NULL on error. Caller frees. */
static char *read_string(Scan *scan, const char *path) {
  char quote = *scan->at;
  if (scan->at[1] == quote && scan->at[2] == quote) {
    fail(scan, path, "strings of several lines are not read; write it on one line in single quotes or double");
    return NULL;
  }
  const char *open = scan->at++;
  g_autoptr(GString) text = g_string_new(NULL);
  for (; *scan->at != quote; scan->at++) {
    if (*scan->at == '\0' || *scan->at == '\n' || *scan->at == '\r') {
      scan->at = open;
      fail(scan, path, "the quote that opens here is not closed on its line");
      return NULL;
    }
    char letter = *scan->at;
    if (quote == '"' && letter == '\\') {
      letter = escaped(scan->at[1]);
      if (letter == '\0') {
        fail(scan, path, "this escape is not read; use single quotes for a text with backslashes");
        return NULL;
      }
      scan->at++;
    }
    g_string_append_c(text, letter);
  }
  scan->at++;
  return g_string_free(g_steal_pointer(&text), FALSE);
}

/* a.b."c d" to a path below `parent`; NULL on error. Caller frees. */
static char *read_key(Scan *scan, const char *parent) {
  g_autofree char *path = g_strdup(parent);
  guint parts = 0;
  do {
    skip_blanks(scan);
    if (parts++ == CONF_TREE_DEPTH_MAX) {
      fail(scan, path, "nested deeper than %d", CONF_TREE_DEPTH_MAX);
      return NULL;
    }
    g_autofree char *part = NULL;
    if (*scan->at == '"' || *scan->at == '\'') {
      part = read_string(scan, path);
    } else {
      gsize bytes = 0;
      while (g_ascii_isalnum(scan->at[bytes]) || scan->at[bytes] == '_' || scan->at[bytes] == '-')
        bytes++;
      g_autofree char *found = found_text(scan);
      if (bytes == 0)
        fail(scan, path, "expected a key, found %s", found);
      else
        part = g_strndup(scan->at, bytes);
      scan->at += bytes;
    }
    if (part == NULL)
      return NULL;
    char *longer = conf_tree_join(path, part);
    g_free(path);
    path = longer;
    skip_blanks(scan);
  } while (take(scan, '.'));
  return g_steal_pointer(&path);
}

/* Adds the maps above `path` that are not there yet. Error: one of them is a value. */
static gboolean add_parents(Scan *scan, const char *path, guint line, guint column) {
  for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
    g_autofree char *parent = g_strndup(path, (gsize)(dot - path));
    const ConfTreeNode *node = conf_tree_find(scan->tree, parent);
    if (node != NULL && node->kind != CONF_TREE_MAP)
      return conf_tree_fail_at(scan->tree, line, column, path, scan->error, "\"%s\" is a value since line %u", parent,
                               node->line);
    if (node == NULL && !conf_tree_add(scan->tree, parent, CONF_TREE_MAP, NULL, line, column, scan->error))
      return FALSE;
  }
  return TRUE;
}

/* key = value below `parent`. */
static gboolean read_pair(Scan *scan, const char *parent) {
  guint line = scan->line, column = column_of(scan);
  g_autofree char *path = read_key(scan, parent);
  if (path == NULL)
    return FALSE;
  g_autofree char *found = found_text(scan);
  if (!take(scan, '='))
    return fail(scan, path, "expected \"=\" after the key, found %s", found);
  skip_blanks(scan);
  return add_parents(scan, path, line, column) && read_value(scan, path, line, column);
}

/* To the end of a list or an inline table; *ret_more: another element follows. */
static gboolean read_separator(Scan *scan, const char *path, char close, guint line, gboolean *ret_more) {
  gboolean list = close == ']';
  skip(scan, list);
  gboolean comma = take(scan, ',');
  if (comma)
    skip(scan, list);
  gboolean ends = take(scan, close);
  *ret_more = !ends;
  if (ends || comma)
    return TRUE;
  g_autofree char *found = found_text(scan);
  return fail(scan, path, "expected \",\" or \"%c\" for what begins at line %u, found %s", close, line, found);
}

static gboolean read_list(Scan *scan, const char *path) {
  guint opened = scan->line;
  scan->at++;
  skip(scan, TRUE);
  gboolean more = !take(scan, ']');
  for (guint index = 0; more; index++) {
    g_autofree char *number = g_strdup_printf("%u", index);
    g_autofree char *below = conf_tree_join(path, number);
    if (!read_value(scan, below, scan->line, column_of(scan)) || !read_separator(scan, path, ']', opened, &more))
      return FALSE;
  }
  return TRUE;
}

static gboolean read_inline_table(Scan *scan, const char *path) {
  guint opened = scan->line;
  scan->at++;
  skip_blanks(scan);
  gboolean more = !take(scan, '}');
  while (more)
    if (!read_pair(scan, path) || !read_separator(scan, path, '}', opened, &more))
      return FALSE;
  return TRUE;
}

static gboolean read_container(Scan *scan, const char *path, guint line, guint column) {
  gboolean list = *scan->at == '[';
  if (++scan->depth > CONF_TREE_DEPTH_MAX)
    return fail(scan, path, "nested deeper than %d", CONF_TREE_DEPTH_MAX);
  gboolean good =
      conf_tree_add(scan->tree, path, list ? CONF_TREE_LIST : CONF_TREE_MAP, NULL, line, column, scan->error) &&
      (list ? read_list(scan, path) : read_inline_table(scan, path));
  scan->depth--;
  return good;
}

/* Whether the word is a decimal number of TOML; *ret: without its underscores. */
static gboolean number_text(const char *word, char **ret) {
  g_autofree char *plain = g_strdup(word);
  char *to = plain;
  for (const char *from = word; *from != '\0'; from++) {
    gboolean between = from > word && g_ascii_isdigit(from[-1]) && g_ascii_isdigit(from[1]);
    if (*from == '_' && !between)
      return FALSE;
    if (*from != '_')
      *to++ = *from;
  }
  *to = '\0';
  const char *digits = plain + (*plain == '-' || *plain == '+');
  char *end;
  g_ascii_strtod(plain, &end);
  if (!g_ascii_isdigit(*digits) || plain[strspn(plain, "0123456789+-.eE")] != '\0' || *end != '\0' ||
      (*digits == '0' && g_ascii_isdigit(digits[1])))
    return FALSE;
  *ret = g_steal_pointer(&plain);
  return TRUE;
}

/* What a word that is no value may have been. */
static const char *word_advice(const char *word) {
  if (strlen(word) > 4 && (word[4] == '-' || strchr(word, ':') != NULL) && g_ascii_isdigit(*word))
    return "; dates and times are not read: write them in quotes";
  if (g_ascii_isdigit(*word) || *word == '+' || *word == '-' || *word == '.')
    return "; numbers are read as 10, 1_000, 0.5 or 1e-5";
  if (g_ascii_strcasecmp(word, "true") == 0 || g_ascii_strcasecmp(word, "false") == 0)
    return "; TOML writes true and false";
  return *word == '$' || *word == '<' ? "; fill in the template" : "; a text needs quotes";
}

static gboolean read_word(Scan *scan, const char *path, guint line, guint column) {
  g_autofree char *word = g_strndup(scan->at, strcspn(scan->at, " \t\r\n,]}#"));
  g_autofree char *number = NULL;
  gboolean flag = strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
  if (!flag && !number_text(word, &number)) {
    g_autofree char *found = found_text(scan);
    return fail(scan, path, "expected a value, found %s%s", found, *word != '\0' ? word_advice(word) : "");
  }
  scan->at += strlen(word);
  return conf_tree_add(scan->tree, path, flag ? CONF_TREE_FLAG : CONF_TREE_NUMBER, flag ? word : number, line, column,
                       scan->error);
}

static gboolean read_value(Scan *scan, const char *path, guint line, guint column) {
  if (*scan->at == '[' || *scan->at == '{')
    return read_container(scan, path, line, column);
  if (*scan->at != '"' && *scan->at != '\'')
    return read_word(scan, path, line, column);
  g_autofree char *text = read_string(scan, path);
  return text != NULL && conf_tree_add(scan->tree, path, CONF_TREE_TEXT, text, line, column, scan->error);
}

/* [a.b]: *ret is its path. A table that dotted names have opened may still get its own head, once. */
static gboolean read_head(Scan *scan, GHashTable *heads, char **ret) {
  guint line = scan->line, column = column_of(scan);
  if (g_str_has_prefix(scan->at, "[["))
    return fail(scan, "", "lists of tables ([[…]]) are not read");
  scan->at++;
  g_autofree char *path = read_key(scan, "");
  if (path == NULL)
    return FALSE;
  g_autofree char *found = found_text(scan);
  if (!take(scan, ']'))
    return fail(scan, path, "expected \"]\" after the table's name, found %s", found);
  const ConfTreeNode *node = conf_tree_find(scan->tree, path);
  if (!g_hash_table_add(heads, g_strdup(path)) || (node != NULL && node->kind != CONF_TREE_MAP))
    return conf_tree_fail_at(scan->tree, line, column, path, scan->error,
                             "is given already at line %u; keep one of the two", node->line);
  if (!add_parents(scan, path, line, column) ||
      (node == NULL && !conf_tree_add(scan->tree, path, CONF_TREE_MAP, NULL, line, column, scan->error)))
    return FALSE;
  g_free(*ret);
  *ret = g_steal_pointer(&path);
  return TRUE;
}

gboolean conf_tree_read_toml(ConfTree *tree, char *data, gsize length, GError **error) {
  (void)length;
  Scan scan = {.tree = tree, .at = data, .line = 1, .line_start = data, .error = error};
  g_autofree char *table = g_strdup("");
  g_autoptr(GHashTable) heads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (skip(&scan, TRUE); *scan.at != '\0'; skip(&scan, TRUE)) {
    if (!(*scan.at == '[' ? read_head(&scan, heads, &table) : read_pair(&scan, table)))
      return FALSE;
    skip(&scan, FALSE);
    g_autofree char *found = found_text(&scan);
    if (*scan.at != '\n' && *scan.at != '\0')
      return fail(&scan, table, "expected the end of the line, found %s", found);
  }
  return TRUE;
}
