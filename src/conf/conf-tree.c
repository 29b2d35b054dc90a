/* SPDX-License-Identifier: MIT */
/* The tree that all syntaxes fill: an array of nodes in order, and an index by path. */
#include "conf-tree.h"

#include <string.h>

#include "base-count.h"
#include "base-field.h"
#include "conf-file.h"
#include "conf-tree-build.h"

#define SHOWN_MAX 40 /* letters of a value that a message shows */

struct ConfTree {
  char *file;
  guint line, column; /* of the root */
  GPtrArray *nodes;   /* ConfTreeNode */
  GHashTable *index;  /* path → ConfTreeNode, both borrowed from `nodes` */
};

static void node_free(gpointer data) {
  ConfTreeNode *node = data;
  g_free(node->path);
  g_free(node->text);
  g_free(node->shown);
  g_free(node);
}

static ConfTree *tree_new(const char *file) {
  ConfTree *tree = g_new0(ConfTree, 1);
  tree->file = g_strdup(file);
  tree->line = tree->column = 1;
  tree->nodes = g_ptr_array_new_with_free_func(node_free);
  tree->index = g_hash_table_new(g_str_hash, g_str_equal);
  return tree;
}

void conf_tree_free(ConfTree *tree) {
  if (tree == NULL)
    return;
  g_hash_table_unref(tree->index);
  g_ptr_array_unref(tree->nodes);
  g_free(tree->file);
  g_free(tree);
}

gboolean conf_tree_fail_at(const ConfTree *tree, guint line, guint column, const char *path, GError **error,
                           const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place = {.file = tree->file, .line = line, .column = column, .key = *path != '\0' ? path : NULL};
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}

char *conf_tree_join(const char *parent, const char *key) {
  return *parent == '\0' ? g_strdup(key) : g_strconcat(parent, ".", key, NULL);
}

gboolean conf_tree_add(ConfTree *tree, const char *path, ConfTreeKind kind, const char *text, guint line, guint column,
                       GError **error) {
  const ConfTreeNode *first = conf_tree_find(tree, path);
  if (first != NULL)
    return conf_tree_fail_at(tree, line, column, path, error, "is given already at line %u; keep one of the two",
                             first->line);
  if (tree->nodes->len >= CONF_TREE_NODES_MAX)
    return conf_tree_fail_at(tree, line, column, path, error, "the file holds more than %d values",
                             CONF_TREE_NODES_MAX);
  ConfTreeNode *node = g_new(ConfTreeNode, 1);
  *node = (ConfTreeNode){g_strdup(path), g_strdup(text), kind, line, column, NULL};
  g_ptr_array_add(tree->nodes, node);
  g_hash_table_insert(tree->index, node->path, node);
  return TRUE;
}

void conf_tree_show(ConfTree *tree, guint index, const char *shown) {
  ConfTreeNode *node = g_ptr_array_index(tree->nodes, index);
  node->shown = g_strdup(shown);
}

void conf_tree_begin(ConfTree *tree, guint line, guint column) {
  tree->line = line;
  tree->column = column;
}

void conf_tree_root_place(const ConfTree *tree, guint *ret_line, guint *ret_column) {
  *ret_line = tree->line;
  *ret_column = tree->column;
}

/* What the name or, failing that, the first letter says. */
static ConfSyntax syntax_of(const char *path, const char *data) {
  static const struct {
    const char *ending;
    ConfSyntax syntax;
  } endings[] = {{".json", CONF_SYNTAX_JSON}, {".yaml", CONF_SYNTAX_YAML},    {".yml", CONF_SYNTAX_YAML},
                 {".toml", CONF_SYNTAX_TOML}, {".sh", CONF_SYNTAX_ARGUMENTS}, {".args", CONF_SYNTAX_ARGUMENTS}};
  g_autofree char *lower = g_ascii_strdown(path, -1);
  for (gsize i = 0; i < G_N_ELEMENTS(endings); i++)
    if (g_str_has_suffix(lower, endings[i].ending))
      return endings[i].syntax;
  const char *first = data + strspn(data, " \t\r\n");
  if (g_str_has_prefix(first, "--") || g_str_has_prefix(first, "#!"))
    return g_str_has_prefix(first, "---") ? CONF_SYNTAX_YAML : CONF_SYNTAX_ARGUMENTS;
  return *first == '{' ? CONF_SYNTAX_JSON : CONF_SYNTAX_YAML;
}

/* `data` is checked text, and is changed. */
static ConfTree *read_tree(const char *name, ConfSyntax syntax, char *data, gsize length, GError **error) {
  static gboolean (*const readers[])(ConfTree *, char *, gsize,
                                     GError **) = {[CONF_SYNTAX_JSON] = conf_tree_read_json,
                                                   [CONF_SYNTAX_YAML] = conf_tree_read_yaml,
                                                   [CONF_SYNTAX_TOML] = conf_tree_read_toml,
                                                   [CONF_SYNTAX_ARGUMENTS] = conf_tree_read_arguments};
  g_autoptr(ConfTree) tree = tree_new(name);
  return readers[syntax](tree, data, length, error) ? g_steal_pointer(&tree) : NULL;
}

ConfTree *conf_tree_parse(const char *name, ConfSyntax syntax, const char *data, gsize length, GError **error) {
  gsize taken_length = 0;
  g_autofree char *taken = conf_file_take(name, data, length, &taken_length, error);
  return taken != NULL ? read_tree(name, syntax, taken, taken_length, error) : NULL;
}

ConfTree *conf_tree_load(const char *path, GError **error) {
  gsize length = 0;
  g_autofree char *data = conf_file_read(path, &length, error);
  return data != NULL ? read_tree(path, syntax_of(path, data), data, length, error) : NULL;
}

const char *conf_tree_file(const ConfTree *tree) {
  return tree->file;
}

guint conf_tree_length(const ConfTree *tree) {
  return tree->nodes->len;
}

const ConfTreeNode *conf_tree_at(const ConfTree *tree, guint index) {
  return g_ptr_array_index(tree->nodes, index);
}

const ConfTreeNode *conf_tree_find(const ConfTree *tree, const char *path) {
  return g_hash_table_lookup(tree->index, path);
}

const ConfTreeNode *conf_tree_given(const ConfTree *tree, const char *path) {
  const ConfTreeNode *node = conf_tree_find(tree, path);
  return node != NULL && node->kind != CONF_TREE_NULL ? node : NULL;
}

gboolean conf_tree_is_empty(const ConfTree *tree, const ConfTreeNode *node) {
  if (node->kind != CONF_TREE_MAP && node->kind != CONF_TREE_LIST)
    return FALSE;
  guint next = 0;
  while (conf_tree_at(tree, next++) != node)
    ;
  g_autofree char *below = g_strconcat(node->path, ".", NULL);
  return next == tree->nodes->len || !g_str_has_prefix(conf_tree_at(tree, next)->path, below);
}

char *conf_tree_shown(const ConfTreeNode *node) {
  if (node->kind == CONF_TREE_MAP)
    return g_strdup("a group of keys");
  if (node->kind == CONF_TREE_LIST)
    return g_strdup("a list");
  if (node->kind == CONF_TREE_NULL)
    return g_strdup("null");
  gboolean cut = g_utf8_strlen(node->text, -1) > SHOWN_MAX;
  g_autofree char *part = cut ? g_utf8_substring(node->text, 0, SHOWN_MAX) : g_strdup(node->text);
  g_strdelimit(part, "\r\n", ' ');
  const char *quote = node->kind == CONF_TREE_TEXT ? "\"" : "";
  return g_strconcat(quote, part, cut ? "…" : "", quote, NULL);
}

gboolean conf_tree_fail(const ConfTree *tree, const ConfTreeNode *node, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return conf_tree_fail_at(tree, node->line, node->column, node->path, error, "%s", message);
}

static gboolean fail_found(const ConfTree *tree, const ConfTreeNode *node, const char *expected, GError **error) {
  g_autofree char *shown = conf_tree_shown(node);
  return conf_tree_fail(tree, node, error, "expected %s, found %s", expected, shown);
}

gboolean conf_tree_count(const ConfTree *tree, const ConfTreeNode *node, guint64 *ret, GError **error) {
  if (node->text == NULL || node->kind == CONF_TREE_FLAG)
    return fail_found(tree, node, "a whole number", error);
  if (base_count_parse(node->text, FALSE, NULL, ret, error))
    return TRUE;
  BasePlace place = {.file = tree->file, .line = node->line, .column = node->column, .key = node->path};
  base_error_prefix_at(error, &place);
  return FALSE;
}

gboolean conf_tree_flag(const ConfTree *tree, const ConfTreeNode *node, gboolean *ret, GError **error) {
  return (node->text != NULL && base_flag_parse(node->text, ret)) || fail_found(tree, node, "true or false", error);
}
