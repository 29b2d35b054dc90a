/* SPDX-License-Identifier: MIT */
/* Values of Python that are written out: literals, products of whole numbers, lists, tuples, dictionaries, and calls
 * with keyword arguments, which become maps that remember what was called. Nothing is evaluated:
 *
 *     TrainingConfig(seq_len=8192)     map "training", "training.seq_len" number 8192
 *     [Float8(rows=True)]              list, map ".0", ".0.rows" flag
 *     model_registry("8B")             map, ".0" text
 *     decoder_vocab_size(spec) + 1     code
 */
#include <string.h>

#include "conf-file.h"
#include "conf-python.h"

#define SHOWN_MAX 40       /* letters of an expression that a message shows */
#define WORK_MAX  20000000 /* bytes: some tenths of a second */

static gboolean is_name_start(char letter) {
  return g_ascii_isalpha(letter) || letter == '_';
}

gsize conf_python_name(const char *at) {
  gsize bytes = 0;
  while (is_name_start(at[bytes]) || (bytes > 0 && g_ascii_isdigit(at[bytes])))
    bytes++;
  return bytes;
}

/* Letters before the quote ("r", "rb"); G_MAXSIZE: no string stands there. */
static gsize string_prefix(const char *at) {
  gsize bytes = strspn(at, "rRbBuUfF");
  return bytes <= 2 && (at[bytes] == '"' || at[bytes] == '\'') ? bytes : G_MAXSIZE;
}

static gsize quote_length(const char *at) {
  return at[1] == at[0] && at[2] == at[0] ? 3 : 1;
}

const char *conf_python_string_end(const char *at) {
  gsize prefix = string_prefix(at);
  if (prefix == G_MAXSIZE)
    return NULL;
  const char *quote = at + prefix;
  gsize length = quote_length(quote);
  for (const char *to = quote + length; *to != '\0' && (length == 3 || *to != '\n'); to++) {
    if (strncmp(to, quote, length) == 0)
      return to + length;
    if (*to == '\\' && to[1] != '\0')
      to++;
  }
  return NULL;
}

/* Over a string, with the lines in it. */
static gboolean pass_string(ConfPython *python) {
  const char *end = conf_python_string_end(python->here.at);
  if (end == NULL)
    return conf_python_fail(python, "", "the quote that opens here is not closed");
  for (; python->here.at < end; python->here.at++)
    if (*python->here.at == '\n') {
      python->here.line++;
      python->here.line_start = python->here.at + 1;
    }
  return TRUE;
}

static gboolean ends_value(char letter) {
  return letter == '\0' || letter == '\n' || letter == '\r' || letter == ',' || strchr(")]}", letter) != NULL;
}

gboolean conf_python_pass(ConfPython *python) {
  guint outer = python->brackets;
  ConfPythonPlace from = python->here;
  python->ended = from.at;
  for (conf_python_skip(python); python->brackets > outer || !ends_value(*python->here.at); conf_python_skip(python)) {
    char letter = *python->here.at;
    gboolean after_name = python->here.at > from.at && is_name_start(python->here.at[-1]);
    if (letter == '\0') {
      python->here = from;
      return conf_python_fail(python, "", "the bracket that opens here is not closed");
    }
    if (strchr("'\"", letter) != NULL || (!after_name && string_prefix(python->here.at) != G_MAXSIZE)) {
      if (!pass_string(python))
        return FALSE;
      python->ended = python->here.at;
      continue;
    }
    python->brackets += strchr("([{", letter) != NULL;
    python->brackets -= strchr(")]}", letter) != NULL;
    python->ended = ++python->here.at;
  }
  return TRUE;
}

static gboolean add(ConfPython *python, const char *path, ConfTreeKind kind, const char *text, guint line,
                    guint column) {
  return *path == '\0' ? kind == CONF_TREE_MAP || conf_python_fail(python, "", "expected a call, found another value")
                       : conf_tree_add(python->tree, path, kind, text, line, column, python->error);
}

/* What no plain value is: as it is written, on one line. */
static gboolean add_code(ConfPython *python, const char *path, const char *from, const char *end, guint line,
                         guint column) {
  g_autofree char *whole = g_strndup(from, (gsize)(end - from));
  gboolean cut = g_utf8_strlen(whole, -1) > SHOWN_MAX;
  g_autofree char *part = g_utf8_substring(whole, 0, MIN(SHOWN_MAX, g_utf8_strlen(whole, -1)));
  g_strdelimit(part, "\r\n", ' ');
  g_autofree char *shown = g_strconcat(g_strstrip(part), cut ? "…" : "", NULL);
  guint index = conf_tree_length(python->tree);
  if (!add(python, path, CONF_TREE_CODE, NULL, line, column))
    return FALSE;
  conf_tree_show(python->tree, index, shown);
  return TRUE;
}

/* ---- Words ---- */

static char escaped(char letter) {
  static const char from[] = "btnfr\"'\\", to[] = "\b\t\n\f\r\"'\\";
  const char *found = letter != '\0' ? strchr(from, letter) : NULL;
  return found != NULL ? to[found - from] : '\0';
}

/* The text of strings that stand side by side up to `end`; NULL: something else does too. Caller frees. */
static char *strings_text(ConfPython *python, const char *end) {
  g_autoptr(GString) text = g_string_new(NULL);
  ConfPythonPlace from = python->here;
  for (; python->here.at < end; conf_python_skip(python)) {
    const char *at = python->here.at, *close = conf_python_string_end(at);
    gsize prefix = string_prefix(at);
    gboolean raw = prefix == 1 && (*at == 'r' || *at == 'R');
    if (close == NULL || close > end || (prefix > 0 && !raw) || !pass_string(python)) {
      python->here = from;
      return NULL;
    }
    gsize quotes = quote_length(at + prefix);
    for (const char *letter = at + prefix + quotes; letter < close - quotes; letter++) {
      char meant = !raw && *letter == '\\' ? escaped(letter[1]) : '\0';
      g_string_append_c(text, meant != '\0' ? meant : *letter);
      letter += meant != '\0';
    }
  }
  return g_string_free(g_steal_pointer(&text), FALSE);
}

/* 8_192, 3e-4 or 8 * 2048; NULL: another expression. Caller frees. */
static char *number_text(const char *from, const char *end) {
  g_autoptr(GString) plain = g_string_new(NULL);
  for (const char *at = from; at < end; at++)
    if (*at != '_' && !g_ascii_isspace(*at))
      g_string_append_c(plain, *at);
  g_auto(GStrv) factors = g_strsplit(plain->str, "*", -1);
  guint64 product = 1, factor;
  char *stop;
  if (factors[0] != NULL && factors[1] == NULL) {
    g_ascii_strtod(plain->str, &stop);
    gboolean good = *stop == '\0' && plain->len > 0 && plain->str[strspn(plain->str, "0123456789+-.eE")] == '\0';
    return good ? g_strdup(plain->str) : NULL;
  }
  for (char **word = factors; *word != NULL; word++)
    if (!g_ascii_string_to_unsigned(*word, 10, 0, G_MAXINT64, &factor, NULL) ||
        !g_uint64_checked_mul(&product, product, factor))
      return NULL;
  return g_strdup_printf("%" G_GUINT64_FORMAT, product);
}

/* True, False, None, torch.bfloat16. */
static gboolean add_word(ConfPython *python, const char *path, const char *word, gboolean *ret_known, guint line,
                         guint column) {
  gboolean flag = strcmp(word, "True") == 0 || strcmp(word, "False") == 0;
  gboolean torch = g_str_has_prefix(word, "torch.") && strchr(word + 6, '.') == NULL;
  *ret_known = flag || torch || strcmp(word, "None") == 0;
  if (!*ret_known)
    return TRUE;
  const char *text = torch ? word + 6 : strcmp(word, "True") == 0 ? "true" : flag ? "false" : NULL;
  return add(python, path, torch ? CONF_TREE_TEXT : flag ? CONF_TREE_FLAG : CONF_TREE_NULL, text, line, column);
}

/* ---- Names ---- */

/* The maps above an assignment's key that are not there yet. What an expression makes is one, with keys unknown. */
static gboolean add_parents(ConfPython *python, const char *path, guint line, guint column) {
  for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
    g_autofree char *parent = g_strndup(path, (gsize)(dot - path));
    const ConfTreeNode *node = conf_tree_find(python->tree, parent);
    if (node == NULL && !add(python, parent, CONF_TREE_MAP, NULL, line, column))
      return FALSE;
    if (node != NULL && node->kind == CONF_TREE_CODE)
      conf_tree_call(python->tree, parent, node->shown);
    else if (node != NULL && node->kind != CONF_TREE_MAP)
      return conf_tree_fail_at(python->tree, line, column, path, python->error, "\"%s\" is a value since line %u",
                               parent, node->line);
  }
  return TRUE;
}

static gboolean apply_edit(ConfPython *python, const ConfPythonEdit *edit, const char *path) {
  g_autofree char *below = conf_tree_join(path, edit->path);
  python->here = edit->value;
  guint line = edit->value.line;
  *python->work += conf_tree_length(python->tree);
  conf_tree_remove(python->tree, below);
  return add_parents(python, below, line, edit->column) && conf_python_value(python, below, line, edit->column);
}

/* The value of a name, then what was assigned below it; *ret_known FALSE: it has none here. */
static gboolean add_name(ConfPython *python, const char *path, const char *word, gboolean *ret_known, guint line,
                         guint column) {
  ConfPythonPlace back = python->here;
  guint brackets = python->brackets;
  const ConfPythonName *name = python->names != NULL ? g_hash_table_lookup(python->names, word) : NULL;
  const ConfPythonPlace *place = name != NULL ? &name->value : g_hash_table_lookup(python->globals, word);
  *ret_known = place != NULL;
  if (place == NULL)
    return TRUE;
  python->here = *place;
  python->brackets = 0;
  gboolean good = conf_python_value(python, path, line, column);
  for (guint i = 0; good && name != NULL && i < name->edits->len; i++)
    good = apply_edit(python, &g_array_index(name->edits, ConfPythonEdit, i), path);
  python->here = back;
  python->brackets = brackets;
  return good;
}

/* ---- Lists, dictionaries and calls ---- */

/* Whether something is unpacked among what the bracket at `from` holds: keys may hide there. */
static gboolean unpacks(const ConfPython *python, const char *from, const char *end) {
  ConfPython look = *python;
  GError *unused = NULL;
  look.error = &unused;
  look.brackets = 1;
  look.here.at = from + 1;
  gboolean found = FALSE, good = TRUE;
  for (conf_python_skip(&look); good && look.here.at < end - 1 && !found; conf_python_skip(&look)) {
    found = *look.here.at == '*';
    good = conf_python_pass(&look);
    look.here.at += *look.here.at == ',';
  }
  g_clear_error(&unused);
  return found;
}

/* `key=` of a call, `"key":` of a dictionary; *ret NULL: neither stands there. Caller frees. */
static gboolean read_key(ConfPython *python, gboolean call, char **ret) {
  ConfPythonPlace from = python->here;
  gsize bytes = call ? conf_python_name(from.at) : 0;
  const char *end = call ? from.at + bytes : conf_python_string_end(from.at);
  *ret = NULL;
  if (end == NULL || end == from.at)
    return call;
  g_autofree char *text = call ? g_strndup(from.at, bytes) : strings_text(python, end);
  python->here.at = end;
  conf_python_skip(python);
  gboolean sign = call ? *python->here.at == '=' && python->here.at[1] != '=' : *python->here.at == ':';
  if (!sign || text == NULL) {
    python->here = from;
    return call;
  }
  python->here.at++;
  *ret = g_steal_pointer(&text);
  return TRUE;
}

/* What stands between brackets, up to the closing one; keys where it is no list. */
static gboolean read_members(ConfPython *python, const char *path, char open) {
  python->brackets++;
  python->here.at++;
  conf_python_skip(python);
  for (guint index = 0; strchr(")]}", *python->here.at) == NULL; index++) {
    guint line = python->here.line, column = conf_python_column(python);
    g_autofree char *key = NULL;
    if (open != '[' && !read_key(python, open == '(', &key))
      return conf_python_fail(python, path, "expected a text and \":\" in this dictionary");
    g_autofree char *below_key = key != NULL ? g_strdup(key) : g_strdup_printf("%u", index);
    g_autofree char *below = conf_tree_join(path, below_key);
    if (!conf_python_value(python, below, line, column))
      return FALSE;
    conf_python_skip(python);
    if (!ends_value(*python->here.at) || *python->here.at == '\0')
      return conf_python_fail(python, path, "expected \",\" or a closing bracket");
    python->here.at += *python->here.at == ',';
    conf_python_skip(python);
  }
  python->here.at++;
  python->brackets--;
  return TRUE;
}

/* A call: of a function of this file what it returns, else a map of its arguments. */
static gboolean read_call(ConfPython *python, const char *path, const char *callee, guint line, guint column) {
  gboolean own = g_hash_table_contains(python->functions, callee);
  if (own) {
    python->here.at++;
    python->brackets++;
    conf_python_skip(python);
    python->brackets--;
    if (*python->here.at != ')')
      return conf_python_fail(python, path, "arguments of %s, a function of this file, are not followed", callee);
    python->here.at++;
    return conf_python_function(python, callee, path, line, column);
  }
  if (!add(python, path, CONF_TREE_MAP, NULL, line, column))
    return FALSE;
  conf_tree_call(python->tree, path, callee);
  return read_members(python, path, '(');
}

/* a.b.c and, behind it, "(": *ret_call. Caller frees; NULL: no name stands there. */
static char *read_chain(ConfPython *python, gboolean *ret_call) {
  const char *from = python->here.at;
  gsize bytes = 0, part;
  while ((part = conf_python_name(from + bytes)) > 0) {
    bytes += part;
    if (from[bytes] != '.')
      break;
    bytes++;
  }
  *ret_call = from[bytes] == '(';
  return bytes > 0 ? g_strndup(from, bytes) : NULL;
}

/* Whether the bracket at `from` closes right before `end`. */
static gboolean closes_at(const ConfPython *python, const char *from, const char *end) {
  ConfPython look = *python;
  GError *unused = NULL;
  look.error = &unused;
  look.here.at = from + 1;
  look.brackets = 1;
  gboolean good = TRUE;
  while (good && look.here.at < end - 1) {
    good = conf_python_pass(&look);
    if (strchr(")]}", *look.here.at) != NULL)
      break;
    look.here.at += good;
  }
  g_clear_error(&unused);
  return good && look.here.at == end - 1 && strchr(")]}", *look.here.at) != NULL;
}

static gboolean read_bracket(ConfPython *python, const char *path, guint line, guint column) {
  char open = *python->here.at;
  return add(python, path, open == '{' ? CONF_TREE_MAP : CONF_TREE_LIST, NULL, line, column) &&
         read_members(python, path, open == '{' ? '{' : '[');
}

/* *ret_known FALSE: what stands there, up to `end`, is no value of those that are read. */
static gboolean read_known(ConfPython *python, const char *path, const char *end, gboolean *ret_known, guint line,
                           guint column) {
  const char *from = python->here.at;
  gboolean call;
  *ret_known = TRUE;
  if (strchr("[({", *from) != NULL) {
    *ret_known = closes_at(python, from, end) && !unpacks(python, from, end) &&
                 (*from != '{' || conf_python_string_end(from + 1 + strspn(from + 1, " \r\n\t")) != NULL);
    return !*ret_known || read_bracket(python, path, line, column);
  }
  g_autofree char *text = strings_text(python, end);
  if (text != NULL)
    return add(python, path, CONF_TREE_TEXT, text, line, column);
  g_autofree char *number = number_text(from, end);
  if (number != NULL)
    return add(python, path, CONF_TREE_NUMBER, number, line, column);
  g_autofree char *chain = read_chain(python, &call);
  const char *behind = chain != NULL ? from + strlen(chain) : from;
  *ret_known =
      chain != NULL && (call ? closes_at(python, behind, end) && !unpacks(python, behind, end) : behind == end);
  if (!*ret_known)
    return TRUE;
  python->here.at = behind;
  if (call)
    return read_call(python, path, chain, line, column);
  return add_word(python, path, chain, ret_known, line, column) &&
         (*ret_known || add_name(python, path, chain, ret_known, line, column));
}

gboolean conf_python_value(ConfPython *python, const char *path, guint line, guint column) {
  conf_python_skip(python);
  ConfPython look = *python;
  ConfPythonPlace from = python->here;
  gboolean known = FALSE;
  if (python->depth >= CONF_TREE_DEPTH_MAX)
    return conf_python_fail(python, path, "nested deeper than %d", CONF_TREE_DEPTH_MAX);
  if (!conf_python_pass(&look))
    return FALSE;
  *python->work += (guint64)(look.here.at - from.at);
  if (*python->work > WORK_MAX)
    return conf_python_fail(python, path, "names refer to names too often to be followed");
  const char *end = look.ended;
  if (end == from.at)
    return conf_python_fail(python, path, "expected a value");
  python->depth++;
  gboolean good = read_known(python, path, end, &known, line, column);
  python->depth--;
  if (good && !known)
    good = add_code(python, path, from.at, end, line, column);
  if (good)
    python->here = look.here;
  return good;
}
