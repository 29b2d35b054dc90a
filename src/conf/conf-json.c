/* SPDX-License-Identifier: MIT */
/* Typed values of a tree by path. */
#include "conf-json.h"

#include <math.h>
#include <string.h>

#include "base-count.h"
#include "base-field.h"
#include "base-names.h"
#include "conf-file.h"
#include "conf-tree.h"

struct ConfJson {
  ConfTree *tree;
  GPtrArray *keys; /* of the root, borrowed from the tree, NULL-terminated */
};

void conf_json_free(ConfJson *json) {
  if (json == NULL)
    return;
  g_clear_pointer(&json->keys, g_ptr_array_unref);
  conf_tree_free(json->tree);
  g_free(json);
}

/* The part of `node` below `path` where it is a child of that; NULL where it is none. */
static const char *name_below(const ConfTreeNode *node, const char *path) {
  gsize length = strlen(path);
  const char *name = node->path + length + (length > 0);
  if (length > 0 && (strncmp(node->path, path, length) != 0 || node->path[length] != '.'))
    return NULL;
  return name;
}

/* Keys of the map at `path` in order, NULL-terminated, borrowed. A node stands before what it holds. */
static GPtrArray *keys_of(const ConfTree *tree, const char *path) {
  GPtrArray *keys = g_ptr_array_new();
  const ConfTreeNode *holder = NULL;
  for (guint i = 0; i < conf_tree_length(tree); i++) {
    const ConfTreeNode *node = conf_tree_at(tree, i);
    const char *name = name_below(node, path);
    if (name == NULL || (holder != NULL && name_below(node, holder->path) != NULL))
      continue;
    g_ptr_array_add(keys, (gpointer)name);
    holder = node->kind == CONF_TREE_MAP || node->kind == CONF_TREE_LIST ? node : NULL;
  }
  g_ptr_array_add(keys, NULL);
  return keys;
}

static ConfJson *json_of(ConfTree *tree) {
  if (tree == NULL)
    return NULL;
  ConfJson *json = g_new(ConfJson, 1);
  *json = (ConfJson){tree, keys_of(tree, "")};
  return json;
}

ConfJson *conf_json_parse(const char *name, const char *data, gsize length, GError **error) {
  return json_of(conf_tree_parse(name, CONF_SYNTAX_JSON, data, length, error));
}

ConfJson *conf_json_load(const char *path, GError **error) {
  gsize length = 0;
  g_autofree char *data = conf_file_read(path, &length, error);
  return data != NULL ? conf_json_parse(path, data, length, error) : NULL;
}

const char *conf_json_file(const ConfJson *json) {
  return conf_tree_file(json->tree);
}

const char *const *conf_json_keys(const ConfJson *json) {
  return (const char *const *)json->keys->pdata;
}

gboolean conf_json_has(const ConfJson *json, const char *path) {
  return conf_tree_given(json->tree, path) != NULL;
}

/* The length of the part of `path` that is there, and its node: NULL for the root. */
static gsize deepest(const ConfJson *json, const char *path, const ConfTreeNode **ret_node) {
  g_autofree char *part = g_strdup(path);
  while ((*ret_node = conf_tree_find(json->tree, part)) == NULL && *part != '\0') {
    char *dot = strrchr(part, '.');
    *(dot != NULL ? dot : part) = '\0';
  }
  return strlen(part);
}

void conf_json_place(const ConfJson *json, const char *path, BasePlace *ret) {
  const ConfTreeNode *node;
  deepest(json, path, &node);
  *ret = (BasePlace){.file = conf_tree_file(json->tree), .key = path};
  if (node == NULL)
    conf_tree_root_place(json->tree, &ret->line, &ret->column);
  else
    ret->line = node->line, ret->column = node->column;
}

gboolean conf_json_fail(const ConfJson *json, const char *path, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place;
  conf_json_place(json, path, &place);
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}

gboolean conf_json_fail_missing(const ConfJson *json, const char *path, const char *expected, GError **error) {
  const ConfTreeNode *node;
  gsize length = deepest(json, path, &node);
  if (path[length] == '\0')
    return conf_json_fail(json, path, error, "is null: expected %s", expected);
  g_autofree char *there = g_strndup(path, length);
  g_autoptr(GPtrArray) keys = keys_of(json->tree, there);
  const char *near = base_names_nearest((const char *const *)keys->pdata, path + length + (length > 0));
  g_autofree char *advice = near != NULL ? g_strdup_printf("; did you mean \"%s\"?", near) : g_strdup("");
  return conf_json_fail(json, path, error, "is missing: expected %s%s", expected, advice);
}

static gboolean fail_found(const ConfJson *json, const ConfTreeNode *node, const char *path, const char *expected,
                           GError **error) {
  return conf_json_fail(json, path, error, "expected %s, found %s", expected,
                        node->shown != NULL ? node->shown : "an object");
}

/* A number, with or without quotes, a text, true or false; NULL and an error for what is none of them. */
static const ConfTreeNode *scalar(const ConfJson *json, const char *path, const char *expected, GError **error) {
  const ConfTreeNode *node = conf_tree_find(json->tree, path);
  if (node == NULL)
    conf_json_fail_missing(json, path, expected, error);
  else if (node->text == NULL)
    fail_found(json, node, path, expected, error);
  else
    return node;
  return NULL;
}

gboolean conf_json_count(const ConfJson *json, const char *path, guint64 *ret, GError **error) {
  const ConfTreeNode *node = scalar(json, path, "a whole number", error);
  if (node == NULL)
    return FALSE;
  if (base_count_parse(node->text, FALSE, NULL, ret, error))
    return TRUE;
  BasePlace place;
  conf_json_place(json, path, &place);
  base_error_prefix_at(error, &place);
  return FALSE;
}

gboolean conf_json_number(const ConfJson *json, const char *path, double *ret, GError **error) {
  const ConfTreeNode *node = scalar(json, path, "a number", error);
  if (node == NULL)
    return FALSE;
  char *end;
  double value = g_ascii_strtod(node->text, &end);
  if (*node->text == '\0' || node->text[strspn(node->text, "0123456789+-.eE")] != '\0' || *end != '\0' ||
      !isfinite(value))
    return fail_found(json, node, path, "a number", error);
  *ret = value;
  return TRUE;
}

gboolean conf_json_flag(const ConfJson *json, const char *path, gboolean *ret, GError **error) {
  const ConfTreeNode *node = scalar(json, path, "true or false", error);
  return node != NULL && (base_flag_parse(node->text, ret) || fail_found(json, node, path, "true or false", error));
}

gboolean conf_json_string(const ConfJson *json, const char *path, const char **ret, GError **error) {
  const ConfTreeNode *node = scalar(json, path, "a text in quotes", error);
  if (node == NULL)
    return FALSE;
  if (node->kind != CONF_TREE_TEXT)
    return fail_found(json, node, path, "a text in quotes", error);
  *ret = node->text;
  return TRUE;
}
