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
  char *part, *call;  /* Python: the function that is read, or NULL; what it calls */
  guint line, column; /* of the root */
  GPtrArray *nodes;   /* ConfTreeNode */
  GHashTable *index;  /* path → ConfTreeNode, both borrowed from `nodes` */
};

static void node_free(gpointer data) {
  ConfTreeNode *node = data;
  g_free(node->path);
  g_free(node->text);
  g_free(node->shown);
  g_free(node->call);
  g_free(node);
}

/* The colon of FILE.py:FUNCTION; NULL: none. */
static const char *part_of(const char *path) {
  const char *ending = g_strrstr(path, ".py:");
  return ending != NULL ? ending + strlen(".py") : NULL;
}

static ConfTree *tree_new(const char *file) {
  ConfTree *tree = g_new0(ConfTree, 1);
  const char *part = part_of(file);
  tree->file = part != NULL ? g_strndup(file, (gsize)(part - file)) : g_strdup(file);
  tree->part = part != NULL ? g_strdup(part + 1) : NULL;
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
  g_free(tree->part);
  g_free(tree->call);
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
  *node = (ConfTreeNode){g_strdup(path), g_strdup(text), kind, line, column, NULL, NULL};
  g_ptr_array_add(tree->nodes, node);
  g_hash_table_insert(tree->index, node->path, node);
  return TRUE;
}

void conf_tree_show(ConfTree *tree, guint index, const char *shown) {
  ConfTreeNode *node = g_ptr_array_index(tree->nodes, index);
  node->shown = g_strdup(shown);
}

void conf_tree_remove(ConfTree *tree, const char *path) {
  gsize length = strlen(path);
  if (conf_tree_find(tree, path) == NULL)
    return;
  for (guint i = tree->nodes->len; i-- > 0;) {
    const ConfTreeNode *node = conf_tree_at(tree, i);
    if (strncmp(node->path, path, length) == 0 && (node->path[length] == '\0' || node->path[length] == '.')) {
      g_hash_table_remove(tree->index, node->path);
      g_ptr_array_remove_index(tree->nodes, i);
    }
  }
}

void conf_tree_call(ConfTree *tree, const char *path, const char *call) {
  ConfTreeNode *node = *path != '\0' ? g_hash_table_lookup(tree->index, path) : NULL;
  if (node != NULL)
    node->kind = CONF_TREE_MAP;
  char **at = node != NULL ? &node->call : &tree->call;
  g_free(*at);
  *at = g_strdup(call);
}

/* The nearest node above, or the root's "". Caller frees. */
static char *holder_of(const ConfTree *tree, const ConfTreeNode *node) {
  g_autofree char *path = g_strdup(node->path);
  char *dot;
  while ((dot = strrchr(path, '.')) != NULL) {
    *dot = '\0';
    if (conf_tree_find(tree, path) != NULL)
      return g_steal_pointer(&path);
  }
  return g_strdup("");
}

static void order_below(const char *path, GHashTable *held, GPtrArray *ordered) {
  const GPtrArray *nodes = g_hash_table_lookup(held, path);
  for (guint i = 0; nodes != NULL && i < nodes->len; i++) {
    const ConfTreeNode *node = g_ptr_array_index(nodes, i);
    g_ptr_array_add(ordered, (gpointer)node);
    order_below(node->path, held, ordered);
  }
}

void conf_tree_order(ConfTree *tree) {
  g_autoptr(GHashTable) held =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
  GPtrArray *ordered = g_ptr_array_new_with_free_func(node_free);
  for (guint i = 0; i < tree->nodes->len; i++) {
    g_autofree char *holder = holder_of(tree, conf_tree_at(tree, i));
    GPtrArray *nodes = g_hash_table_lookup(held, holder);
    if (nodes == NULL) {
      nodes = g_ptr_array_new();
      g_hash_table_insert(held, g_steal_pointer(&holder), nodes);
    }
    g_ptr_array_add(nodes, g_ptr_array_index(tree->nodes, i));
  }
  order_below("", held, ordered);
  g_ptr_array_set_free_func(tree->nodes, NULL);
  g_ptr_array_unref(tree->nodes);
  tree->nodes = ordered;
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
                 {".toml", CONF_SYNTAX_TOML}, {".sh", CONF_SYNTAX_ARGUMENTS}, {".args", CONF_SYNTAX_ARGUMENTS},
                 {".py", CONF_SYNTAX_PYTHON}};
  g_autofree char *lower = g_ascii_strdown(path, -1);
  if (part_of(path) != NULL)
    return CONF_SYNTAX_PYTHON;
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
                                                   [CONF_SYNTAX_ARGUMENTS] = conf_tree_read_arguments,
                                                   [CONF_SYNTAX_PYTHON] = conf_tree_read_python};
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
  const char *part = part_of(path);
  g_autofree char *file = g_strndup(path, part != NULL ? (gsize)(part - path) : strlen(path));
  g_autofree char *data = conf_file_read(file, &length, error);
  return data != NULL ? read_tree(path, syntax_of(path, data), data, length, error) : NULL;
}

const char *conf_tree_file(const ConfTree *tree) {
  return tree->file;
}

const char *conf_tree_root_call(const ConfTree *tree) {
  return tree->call;
}

const char *conf_tree_part(const ConfTree *tree) {
  return tree->part;
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
  if (node->kind == CONF_TREE_CODE)
    return g_strdup_printf("the expression %s", node->shown);
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
