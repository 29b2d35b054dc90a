/* SPDX-License-Identifier: MIT */
/* YAML into a tree, by libyaml: its node graph is walked, so a reference (*name) stands for a copy of what it names.
 * Plain words mean what YAML 1.1 and Python's reader make of them: yes, no, on and off are flags, ~ and nothing are
 * null. */
#include <string.h>
#include <yaml.h>

#include "base-field.h"
#include "conf-tree-build.h"

typedef struct {
  ConfTree *tree;
  yaml_document_t *document;
  guint depth;
  GError **error;
} Walk;

static guint line_of(yaml_mark_t mark) {
  return (guint)mark.line + 1;
}

static guint column_of(yaml_mark_t mark) {
  return (guint)mark.column + 1;
}

static gboolean is_number(const char *text) {
  char *end;
  g_ascii_strtod(text, &end);
  return *end == '\0' && strpbrk(text, "0123456789") != NULL && g_ascii_strcasecmp(text, "nan") != 0;
}

static ConfTreeKind kind_of(const yaml_node_t *node) {
  static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
  const char *text = (const char *)node->data.scalar.value;
  gboolean flag;
  if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
    return CONF_TREE_TEXT;
  if (g_strv_contains(nulls, text))
    return CONF_TREE_NULL;
  if (is_number(text))
    return CONF_TREE_NUMBER;
  return base_flag_parse(text, &flag) ? CONF_TREE_FLAG : CONF_TREE_TEXT;
}

/* "500_000" without quotes is a whole number of YAML 1.1, which PyYAML reads; its digits, else NULL. Caller frees. */
static char *grouped_digits(const yaml_node_t *node) {
  const char *text = (const char *)node->data.scalar.value;
  gsize length = strlen(text);
  gboolean grouped = strchr(text, '_') != NULL && g_ascii_isdigit(*text) && *text != '0' &&
                     g_ascii_isdigit(text[length - 1]) && text[strspn(text, "0123456789_")] == '\0';
  if (!grouped || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
    return NULL;
  GString *digits = g_string_new(text);
  g_string_replace(digits, "_", "", 0);
  return g_string_free(digits, FALSE);
}

static gboolean add_below(Walk *walk, const char *path, const yaml_node_t *node);

/* A tag that says another type than what is written ("!!python/tuple") is nothing that a recipe holds. */
static gboolean check_tag(const Walk *walk, const char *path, const yaml_node_t *node) {
  static const char *const taken[] = {YAML_STR_TAG, YAML_MAP_TAG, YAML_SEQ_TAG, NULL};
  const char *tag = (const char *)node->tag;
  return g_strv_contains(taken, tag) ||
         conf_tree_fail_at(walk->tree, line_of(node->start_mark), column_of(node->start_mark), path, walk->error,
                           "the tag \"%s\" is not read; write the value without it", tag);
}

/* `mark`: where the key, or the element, stands. */
static gboolean add_node(Walk *walk, const char *path, const yaml_node_t *node, yaml_mark_t mark) {
  if (!check_tag(walk, path, node))
    return FALSE;
  guint line = line_of(mark), column = column_of(mark);
  if (node->type == YAML_SCALAR_NODE) {
    const char *text = (const char *)node->data.scalar.value;
    if (strlen(text) != node->data.scalar.length)
      return conf_tree_fail_at(walk->tree, line, column, path, walk->error, "a text cannot hold the character 0");
    g_autofree char *digits = grouped_digits(node);
    if (digits != NULL)
      return conf_tree_add(walk->tree, path, CONF_TREE_NUMBER, digits, line, column, walk->error);
    ConfTreeKind kind = kind_of(node);
    return conf_tree_add(walk->tree, path, kind, kind == CONF_TREE_NULL ? NULL : text, line, column, walk->error);
  }
  if (++walk->depth > CONF_TREE_DEPTH_MAX)
    return conf_tree_fail_at(walk->tree, line, column, "", walk->error,
                             "nested deeper than %d; does a reference (*) name what it stands in?",
                             CONF_TREE_DEPTH_MAX);
  gboolean map = node->type == YAML_MAPPING_NODE;
  gboolean added =
      conf_tree_add(walk->tree, path, map ? CONF_TREE_MAP : CONF_TREE_LIST, NULL, line, column, walk->error) &&
      add_below(walk, path, node);
  walk->depth--;
  return added;
}

static gboolean add_pair(Walk *walk, const char *path, const yaml_node_pair_t *pair) {
  const yaml_node_t *key = yaml_document_get_node(walk->document, pair->key);
  const yaml_node_t *value = yaml_document_get_node(walk->document, pair->value);
  guint line = line_of(key->start_mark), column = column_of(key->start_mark);
  if (key->type != YAML_SCALAR_NODE)
    return conf_tree_fail_at(walk->tree, line, column, path, walk->error,
                             "expected a word as key; is a template (\"{…}\") not filled in?");
  const char *word = (const char *)key->data.scalar.value;
  if (*word == '\0' || strlen(word) != key->data.scalar.length)
    return conf_tree_fail_at(walk->tree, line, column, path, walk->error, "expected a key, found an empty one");
  if (strcmp(word, "<<") == 0)
    return conf_tree_fail_at(walk->tree, line, column, path, walk->error,
                             "merge keys (<<) are not read; write the merged keys out");
  g_autofree char *below = conf_tree_join(path, word);
  return add_node(walk, below, value, key->start_mark);
}

static gboolean add_below(Walk *walk, const char *path, const yaml_node_t *node) {
  if (node->type == YAML_MAPPING_NODE) {
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++)
      if (!add_pair(walk, path, pair))
        return FALSE;
    return TRUE;
  }
  guint number = 0;
  for (const yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
    const yaml_node_t *element = yaml_document_get_node(walk->document, *item);
    g_autofree char *word = g_strdup_printf("%u", number++);
    g_autofree char *below = conf_tree_join(path, word);
    if (!add_node(walk, below, element, element->start_mark))
      return FALSE;
  }
  return TRUE;
}

static gboolean add_document(ConfTree *tree, yaml_document_t *document, GError **error) {
  const yaml_node_t *root = yaml_document_get_root_node(document);
  if (root == NULL)
    return conf_tree_fail_at(tree, 1, 1, "", error, "is empty; expected lines of \"key: value\"");
  if (root->type != YAML_MAPPING_NODE)
    return conf_tree_fail_at(tree, line_of(root->start_mark), column_of(root->start_mark), "", error,
                             "expected lines of \"key: value\", found %s",
                             root->type == YAML_SEQUENCE_NODE ? "a list" : "a text");
  Walk walk = {tree, document, 0, error};
  return check_tag(&walk, "", root) && add_below(&walk, "", root);
}

/* libyaml's own words, with what it was reading and since which line. */
static gboolean fail_parser(const ConfTree *tree, const yaml_parser_t *parser, GError **error) {
  const char *problem = parser->problem != NULL ? parser->problem : "cannot be read as YAML";
  yaml_mark_t at = parser->error == YAML_READER_ERROR ? parser->mark : parser->problem_mark;
  if (parser->context == NULL)
    return conf_tree_fail_at(tree, line_of(at), column_of(at), "", error, "%s", problem);
  return conf_tree_fail_at(tree, line_of(at), column_of(at), "", error, "%s, %s that begins at line %u", problem,
                           parser->context, line_of(parser->context_mark));
}

/* Nothing but comments may follow the first document. */
static gboolean check_end(ConfTree *tree, yaml_parser_t *parser, GError **error) {
  yaml_document_t next;
  if (!yaml_parser_load(parser, &next))
    return fail_parser(tree, parser, error);
  const yaml_node_t *root = yaml_document_get_root_node(&next);
  guint line = root != NULL ? line_of(root->start_mark) : 0;
  yaml_document_delete(&next);
  return root == NULL ||
         conf_tree_fail_at(tree, line, 1, "", error, "a second document begins here; put each in a file of its own");
}

static int depth_change(yaml_event_type_t type) {
  gboolean begins = type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT;
  gboolean ends = type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT;
  return begins - ends;
}

/* libyaml takes quadratic time for lists within lists, so they are counted before it makes a graph of them. What else
 * is wrong is left to it. */
static gboolean check_depth(ConfTree *tree, const char *data, gsize length, GError **error) {
  yaml_parser_t parser;
  yaml_event_t event;
  gboolean more = yaml_parser_initialize(&parser) != 0;
  guint line = 0;
  int depth = 0;
  if (more)
    yaml_parser_set_input_string(&parser, (const unsigned char *)data, length);
  while (more && depth <= CONF_TREE_DEPTH_MAX && yaml_parser_parse(&parser, &event)) {
    more = event.type != YAML_STREAM_END_EVENT;
    depth += depth_change(event.type);
    line = line_of(event.start_mark);
    yaml_event_delete(&event);
  }
  yaml_parser_delete(&parser);
  return depth <= CONF_TREE_DEPTH_MAX ||
         conf_tree_fail_at(tree, line, 1, "", error, "nested deeper than %d", CONF_TREE_DEPTH_MAX);
}

gboolean conf_tree_read_yaml(ConfTree *tree, char *data, gsize length, GError **error) {
  yaml_parser_t parser;
  yaml_document_t document;
  if (!check_depth(tree, data, length, error))
    return FALSE;
  if (!yaml_parser_initialize(&parser))
    return conf_tree_fail_at(tree, 1, 1, "", error, "cannot be read: out of memory");
  yaml_parser_set_input_string(&parser, (const unsigned char *)data, length);
  gboolean loaded = yaml_parser_load(&parser, &document);
  gboolean good = loaded ? add_document(tree, &document, error) : fail_parser(tree, &parser, error);
  if (loaded)
    yaml_document_delete(&document);
  good = good && check_end(tree, &parser, error);
  yaml_parser_delete(&parser);
  return good;
}
