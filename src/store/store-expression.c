/* SPDX-License-Identifier: MIT */
/* Recursive descent to a tree, checked for units as it grows. */
#include "store-expression.h"

#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "store-expression-tree.h"

typedef struct {
  const char *text, *at;
  GPtrArray *metrics, *settings;
  StoreFindSetting find; /* NULL: settings have no place here */
  gpointer user;
  guint depth;
  GError **error;
} Parser;

static void node_free(Node *node) {
  if (node == NULL)
    return;
  node_free(node->left);
  node_free(node->right);
  g_free(node->text);
  g_free(node);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Node, node_free)

static Node *node_new(NodeKind kind, StoreUnit unit, Node *left, Node *right) {
  Node *node = g_new0(Node, 1);
  *node = (Node){.kind = kind, .unit = unit, .left = left, .right = right};
  return node;
}

/* Always NULL. */
static Node *fail(Parser *parser, const char *format, ...) G_GNUC_PRINTF(2, 3);
static Node *fail(Parser *parser, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  if (*parser->error == NULL)
    g_set_error(parser->error, SIM_ERROR, SIM_ERROR_INPUT, "\"%.200s%s\", column %u: %s", parser->text,
                strlen(parser->text) > 200 ? "…" : "", (guint)(parser->at - parser->text) + 1, message);
  return NULL;
}

#define DEPTH_MOST 100 /* brackets and "not" within each other */

static gboolean goes_in(Parser *parser) {
  if (++parser->depth <= DEPTH_MOST)
    return TRUE;
  fail(parser, "over %u brackets stand within each other", DEPTH_MOST);
  return FALSE;
}

static void skip_space(Parser *parser) {
  parser->at += strspn(parser->at, " \t");
}

static gsize word_length(const char *at) {
  gsize n = 0;
  while (g_ascii_isalnum(at[n]) || at[n] == '_' || at[n] == '-')
    n++;
  return n;
}

/* Takes the word if it stands next and alone. */
static gboolean take_word(Parser *parser, const char *word) {
  skip_space(parser);
  gsize length = strlen(word);
  if (word_length(parser->at) != length || g_ascii_strncasecmp(parser->at, word, length) != 0)
    return FALSE;
  parser->at += length;
  return TRUE;
}

static gboolean take_sign(Parser *parser, const char *sign) {
  skip_space(parser);
  if (!g_str_has_prefix(parser->at, sign))
    return FALSE;
  parser->at += strlen(sign);
  return TRUE;
}

static gboolean is_keyword(const char *word, gsize length) {
  static const char *const keywords[] = {"and", "or", "not"};
  for (gsize i = 0; i < G_N_ELEMENTS(keywords); i++)
    if (strlen(keywords[i]) == length && g_ascii_strncasecmp(word, keywords[i], length) == 0)
      return TRUE;
  return FALSE;
}

/* A number and the unit behind it, of whichever kind it is. Times in picoseconds. */
static Node *parse_number(Parser *parser) {
  static const struct {
    BaseUnit base;
    StoreUnit unit;
  } kinds[] = {{BASE_UNIT_NONE, STORE_NUMBER},
               {BASE_UNIT_TIME, STORE_TIME},
               {BASE_UNIT_BYTES, STORE_BYTES},
               {BASE_UNIT_BYTE_RATE, STORE_RATE},
               {BASE_UNIT_MONEY, STORE_MONEY}};
  char *end;
  g_ascii_strtod(parser->at, &end);
  g_autofree char *number = g_strndup(parser->at, (gsize)(end - parser->at));
  const char *unit = end + strspn(end, " \t");
  gsize length = *unit == '%' ? 1 : strspn(unit, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  if (length == 0 || is_keyword(unit, length))
    unit = end, length = 0;
  else if (g_str_has_prefix(unit + length, "/s") && !g_ascii_isalpha(unit[length + 2]))
    length += strlen("/s");
  g_autofree char *quantity = g_strdup_printf("%s %.*s", number, (int)length, unit);
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
    double value;
    if (!base_quantity_parse(g_strstrip(quantity), kinds[i].base, &value, NULL))
      continue;
    parser->at = unit + length;
    Node *node = node_new(LITERAL, kinds[i].unit, NULL, NULL);
    node->number = kinds[i].unit == STORE_TIME ? (double)sim_time_from_seconds(value) : value;
    return node;
  }
  return fail(parser,
              "\"%s\" is no quantity; expected a number, a time such as 1.9 s, a size such as 74 GiB, 12 %% or "
              "an amount such as 3 USD",
              quantity);
}

static const char *const *metric_names(void) {
  const char **names = g_new0(const char *, store_n_metrics + 1);
  for (gsize i = 0; i < store_n_metrics; i++)
    names[i] = store_metrics[i].name;
  return names;
}

/* As long as the name of a setting: "fabric.oversubscription". */
static gsize name_length(const char *at) {
  gsize n = word_length(at);
  while (n > 0 && at[n] == '.' && g_ascii_isalpha(at[n + 1]))
    n += 1 + word_length(at + n + 1);
  return n;
}

/* NULL without an error: no setting is called so. */
static Node *parse_setting(Parser *parser) {
  gsize length = name_length(parser->at);
  g_autofree char *word = g_strndup(parser->at, length);
  StoreSettingFound found;
  if (parser->find == NULL || !parser->find(word, &found, parser->user))
    return NULL;
  parser->at += length;
  Node *node = node_new(SETTING, found.unit, NULL, NULL);
  node->name = g_intern_string(found.name);
  node->text = g_strdup(found.usual);
  node->index = parser->settings->len;
  g_ptr_array_add(parser->settings, (gpointer)node->name);
  return node;
}

static Node *parse_text(Parser *parser) {
  char quote = *parser->at;
  const char *end = strchr(parser->at + 1, quote);
  if (end == NULL)
    return fail(parser, "the quote is never closed");
  Node *node = node_new(TEXT, STORE_TEXT, NULL, NULL);
  node->text = g_strndup(parser->at + 1, (gsize)(end - parser->at - 1));
  parser->at = end + 1;
  return node;
}

static Node *parse_sum(Parser *parser);

/* `beside_text`: on the right of a metric of text any word is a text. */
static Node *parse_value(Parser *parser, gboolean beside_text) {
  skip_space(parser);
  if (*parser->at == '"' || *parser->at == '\'')
    return parse_text(parser);
  if (take_sign(parser, "(")) {
    g_autoptr(Node) inner = goes_in(parser) ? parse_sum(parser) : NULL;
    if (inner == NULL)
      return NULL;
    parser->depth--;
    return take_sign(parser, ")") ? g_steal_pointer(&inner) : fail(parser, "expected \")\"");
  }
  gsize length = word_length(parser->at);
  if (beside_text && length > 0) {
    Node *node = node_new(TEXT, STORE_TEXT, NULL, NULL);
    node->text = g_strndup(parser->at, length);
    parser->at += length;
    return node;
  }
  if (g_ascii_isdigit(*parser->at) || *parser->at == '.' || *parser->at == '-')
    return parse_number(parser);
  if (length == 0 || is_keyword(parser->at, length))
    return fail(parser, "expected a metric or a quantity%s", *parser->at == '\0' ? ", found the end" : "");
  g_autofree char *word = g_strndup(parser->at, length);
  const StoreMetric *metric = store_metric_find(word);
  Node *setting = metric == NULL ? parse_setting(parser) : NULL;
  if (setting != NULL)
    return setting;
  if (metric == NULL) {
    g_autofree const char *const *names = metric_names();
    const char *near = base_names_nearest(names, word);
    return fail(parser, "no metric is called \"%s\"%s%s%s", word, near != NULL ? "; did you mean \"" : "",
                near != NULL ? near : "; foretrain schema lists the columns of run", near != NULL ? "\"?" : "");
  }
  parser->at += length;
  g_ptr_array_add(parser->metrics, (gpointer)metric);
  StoreUnit unit = metric->unit == STORE_SHARE || metric->unit == STORE_RATE ? STORE_NUMBER : metric->unit;
  Node *node = node_new(METRIC, unit, NULL, NULL);
  node->metric = metric;
  return node;
}

static const char *unit_name(StoreUnit unit) {
  switch (unit) {
  case STORE_TIME:
    return "a time";
  case STORE_BYTES:
    return "a size in bytes";
  case STORE_MONEY:
    return "an amount of money";
  case STORE_RATE:
    return "a rate in bytes a second";
  case STORE_TEXT:
    return "a text";
  default:
    return "a plain number";
  }
}

/* Takes both sides. */
static Node *join(NodeKind kind, StoreUnit unit, Node **left, Node **right) {

  return node_new(kind, unit, g_steal_pointer(left), g_steal_pointer(right));
}

static Node *parse_product(Parser *parser) {
  g_autoptr(Node) left = parse_value(parser, FALSE);
  while (left != NULL) {
    gboolean times = take_sign(parser, "*");
    if (!times && !take_sign(parser, "/"))
      return g_steal_pointer(&left);
    g_autoptr(Node) right = parse_value(parser, FALSE);
    if (right == NULL)
      return NULL;
    gboolean plain_left = left->unit == STORE_NUMBER, plain_right = right->unit == STORE_NUMBER;
    if (left->unit == STORE_TEXT || right->unit == STORE_TEXT || (times && !plain_left && !plain_right) ||
        (!times && !plain_right && left->unit != right->unit))
      return fail(parser, "%s cannot be %s %s", unit_name(left->unit), times ? "multiplied by" : "divided by",
                  unit_name(right->unit));
    StoreUnit unit = times ? (plain_left ? right->unit : left->unit) : plain_right ? left->unit : STORE_NUMBER;
    left = join(times ? MULTIPLY : DIVIDE, unit, &left, &right);
  }
  return NULL;
}

static Node *parse_sum(Parser *parser) {
  g_autoptr(Node) left = parse_product(parser);
  while (left != NULL) {
    gboolean plus = take_sign(parser, "+");
    if (!plus && !take_sign(parser, "-"))
      return g_steal_pointer(&left);
    g_autoptr(Node) right = parse_product(parser);
    if (right == NULL)
      return NULL;
    if (left->unit != right->unit || left->unit == STORE_TEXT)
      return fail(parser, "%s and %s cannot be added", unit_name(left->unit), unit_name(right->unit));
    left = join(plus ? ADD : SUBTRACT, left->unit, &left, &right);
  }
  return NULL;
}

static Node *parse_comparison(Parser *parser) {
  static const struct {
    const char *sign;
    NodeKind kind;
  } signs[] = {{"<=", LESS_OR_EQUAL}, {">=", MORE_OR_EQUAL}, {"!=", NOT_EQUAL}, {"==", EQUAL},
               {"<", LESS},           {">", MORE},           {"=", EQUAL}};
  g_autoptr(Node) left = parse_sum(parser);
  if (left == NULL)
    return NULL;
  gsize sign = 0;
  while (sign < G_N_ELEMENTS(signs) && !take_sign(parser, signs[sign].sign))
    sign++;
  if (sign == G_N_ELEMENTS(signs))
    return fail(parser, "expected one of <, <=, =, !=, >=, >");
  gboolean text = left->unit == STORE_TEXT;
  g_autoptr(Node) right = text ? parse_value(parser, TRUE) : parse_sum(parser);
  if (right == NULL)
    return NULL;
  if (left->unit != right->unit)
    return fail(parser, "%s cannot be compared with %s", unit_name(left->unit), unit_name(right->unit));
  if (text && signs[sign].kind != EQUAL && signs[sign].kind != NOT_EQUAL)
    return fail(parser, "texts are equal or not: expected = or !=");
  return join(signs[sign].kind, STORE_NUMBER, &left, &right);
}

static Node *parse_or(Parser *parser);

/* Whether the bracket that stands next holds a condition: a comparison, "and" or "or" before it closes. */
static gboolean bracket_is_condition(const Parser *parser) {
  int depth = 0;
  for (const char *at = parser->at; *at != '\0'; at++) {
    depth += (*at == '(') - (*at == ')');
    if (depth == 0)
      return FALSE;
    if (strchr("<>=!", *at) != NULL)
      return TRUE;
  }
  return FALSE;
}

static Node *parse_not(Parser *parser) {
  if (take_word(parser, "not")) {
    Node *inner = goes_in(parser) ? parse_not(parser) : NULL;
    parser->depth--;
    return inner != NULL ? node_new(NOT, STORE_NUMBER, inner, NULL) : NULL;
  }
  skip_space(parser);
  if (*parser->at != '(' || !bracket_is_condition(parser))
    return parse_comparison(parser);
  parser->at++;
  g_autoptr(Node) inner = goes_in(parser) ? parse_or(parser) : NULL;
  if (inner == NULL)
    return NULL;
  parser->depth--;
  return take_sign(parser, ")") ? g_steal_pointer(&inner) : fail(parser, "expected \")\"");
}

static Node *parse_chain(Parser *parser, const char *word, NodeKind kind, Node *(*part)(Parser *parser)) {
  g_autoptr(Node) left = part(parser);
  while (left != NULL && take_word(parser, word)) {
    g_autoptr(Node) right = part(parser);
    if (right == NULL)
      return NULL;
    left = join(kind, STORE_NUMBER, &left, &right);
  }
  return g_steal_pointer(&left);
}

static Node *parse_and(Parser *parser) {
  return parse_chain(parser, "and", AND, parse_not);
}

static Node *parse_or(Parser *parser) {
  return parse_chain(parser, "or", OR, parse_and);
}

#define LENGTH_MOST 16384 /* bytes: what is read goes by the stack */

StoreExpression *store_expression_parse(const char *text, GError **error) {
  return store_expression_parse_over(text, NULL, NULL, error);
}

StoreExpression *store_expression_parse_over(const char *text, StoreFindSetting find, gpointer user, GError **error) {
  if (strlen(text) > LENGTH_MOST) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%.40s…\" has over %d characters", text, LENGTH_MOST);
    return NULL;
  }
  g_autoptr(StoreExpression) expression = g_new0(StoreExpression, 1);
  GError *wrong = NULL;
  expression->text = g_strdup(text);
  expression->metrics = g_ptr_array_new();
  expression->settings = g_ptr_array_new();
  Parser parser = {.text = expression->text,
                   .at = expression->text,
                   .metrics = expression->metrics,
                   .settings = expression->settings,
                   .find = find,
                   .user = user,
                   .error = &wrong};
  expression->root = parse_or(&parser);
  skip_space(&parser);
  if (expression->root != NULL && *parser.at != '\0')
    fail(&parser, "expected \"and\", \"or\" or the end, found \"%s\"", parser.at);
  g_ptr_array_add(expression->metrics, NULL);
  g_ptr_array_add(expression->settings, NULL);
  if (wrong == NULL)
    return g_steal_pointer(&expression);
  g_propagate_error(error, wrong);
  return NULL;
}

void store_expression_free(StoreExpression *expression) {
  if (expression == NULL)
    return;
  node_free(expression->root);
  g_ptr_array_unref(expression->metrics);
  g_ptr_array_unref(expression->settings);
  g_free(expression->text);
  g_free(expression);
}

const char *store_expression_text(const StoreExpression *expression) {
  return expression->text;
}

const StoreMetric *const *store_expression_metrics(const StoreExpression *expression) {
  return (const StoreMetric *const *)expression->metrics->pdata;
}

const char *const *store_expression_settings(const StoreExpression *expression) {
  return (const char *const *)expression->settings->pdata;
}
