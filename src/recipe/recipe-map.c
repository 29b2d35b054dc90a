/* SPDX-License-Identifier: MIT */
/* One walk over a file's keys: each finds its row, or what its tool would make of it. */
#include "recipe-map.h"

#include <string.h>

#include "base-names.h"

#define FOLLOW_MAX 10 /* ${a} that names ${b} and so on */

/* Whether `path` is `head` or stands below it. */
static gboolean is_below(const char *path, const char *head, gsize length) {
  return strncmp(path, head, length) == 0 && (path[length] == '\0' || path[length] == '.');
}

/* The rows of a table one after the other; NULL behind the last. */
static const RecipeRow *row_at(const RecipeTable *table, gsize index) {
  if (index < table->rows.n_rows)
    return &table->rows.rows[index];
  index -= table->rows.n_rows;
  const RecipeRows *rows = table->shared;
  for (; rows != NULL && index >= rows->n_rows; rows = rows->more)
    index -= rows->n_rows;
  return rows != NULL ? &rows->rows[index] : NULL;
}

/* The exact row, else the ".*" that says most of the path. */
static const RecipeRow *find_row(const RecipeTable *table, const char *path) {
  const RecipeRow *best = NULL;
  gsize best_length = 0;
  const RecipeRow *row;
  for (gsize i = 0; (row = row_at(table, i)) != NULL; i++) {
    if (strcmp(row->path, path) == 0)
      return row;
    gsize length = strlen(row->path);
    gboolean wild = g_str_has_suffix(row->path, ".*") && is_below(path, row->path, length - 2);
    if (wild && length > best_length)
      best = row, best_length = length;
  }
  return best;
}

/* Whether rows speak of single keys below `path`. */
static gboolean is_section(const RecipeTable *table, const char *path) {
  gsize length = strlen(path);
  const RecipeRow *row;
  for (gsize i = 0; (row = row_at(table, i)) != NULL; i++)
    if (strncmp(row->path, path, length) == 0 && row->path[length] == '.' && strcmp(row->path + length, ".*") != 0)
      return TRUE;
  return FALSE;
}

static const char *last_part(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot != NULL ? dot + 1 : path;
}

/* The same key of another group, else the name that is nearest as a whole. */
static const char *nearest_row(const RecipeTable *table, const char *path) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  const RecipeRow *row;
  for (gsize i = 0; (row = row_at(table, i)) != NULL; i++) {
    if (strcmp(last_part(row->path), last_part(path)) == 0 && strcmp(last_part(path), "enabled") != 0)
      return row->path;
    if (!g_str_has_suffix(row->path, ".*"))
      g_ptr_array_add(names, (gpointer)row->path);
  }
  g_ptr_array_add(names, NULL);
  return base_names_nearest((const char *const *)names->pdata, path);
}

gboolean recipe_is_auto(const ConfTreeNode *node) {
  return node->kind == CONF_TREE_TEXT && g_ascii_strcasecmp(node->text, "auto") == 0;
}

gboolean recipe_is_true(const RecipeReading *reading, const char *path) {
  const ConfTreeNode *node = conf_tree_find(reading->tree, path);
  gboolean value = FALSE;
  return node != NULL && conf_tree_flag(reading->tree, node, &value, NULL) && value;
}

char *recipe_text(const RecipeReading *reading, const char *path) {
  const ConfTreeNode *node = conf_tree_find(reading->tree, path);
  return node != NULL && node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
}

/* "a.b", or ".b", which stands beside the key. */
static char *named_path(const ConfTreeNode *node, const char *name, gsize length) {
  const char *last = strrchr(node->path, '.');
  g_autofree char *bare = g_strndup(name, length);
  if (*bare != '.')
    return g_steal_pointer(&bare);
  return g_strdup_printf("%.*s%s", last != NULL ? (int)(last - node->path) : 0, node->path,
                         last != NULL ? bare : bare + 1);
}

const ConfTreeNode *recipe_follow(const ConfTree *tree, const ConfTreeNode *node, GError **error) {
  for (int i = 0; i < FOLLOW_MAX; i++) {
    const char *text = node->kind == CONF_TREE_TEXT ? node->text : "";
    if (!g_str_has_prefix(text, "${") || strchr(text, '}') != text + strlen(text) - 1)
      return node;
    g_autofree char *path = named_path(node, text + 2, strlen(text) - 3);
    const ConfTreeNode *named = conf_tree_find(tree, path);
    if (named == NULL) {
      conf_tree_fail(tree, node, error, "%s names no key of this file; fill in the template", text);
      return NULL;
    }
    node = named;
  }
  conf_tree_fail(tree, node, error, "refers to itself");
  return NULL;
}

/* Whether a key that is refused is switched off: null, an empty block, one of the row's harmless values, or a block
 * with "enabled": false where false is one of them. */
static gboolean is_harmless(const RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node) {
  g_auto(GStrv) values = g_strsplit(row->unless != NULL ? row->unless : "", "|", -1);
  if (node->kind == CONF_TREE_NULL || conf_tree_is_empty(reading->tree, node))
    return TRUE;
  if (node->text != NULL)
    return base_names_find((const char *const *)values, node->text) >= 0;
  static const char *const switches[] = {"enabled", "enable"};
  for (gsize i = 0; i < G_N_ELEMENTS(switches); i++) {
    g_autofree char *path = g_strconcat(node->path, ".", switches[i], NULL);
    g_autofree char *text = recipe_text(reading, path);
    if (*text != '\0' && base_names_find((const char *const *)values, text) >= 0)
      return TRUE;
  }
  return FALSE;
}

static gboolean obey_row(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (row->action == RECIPE_SAFE) {
    recipe_leave(reading, node, row->remark);
    return TRUE;
  }
  const ConfTreeNode *meant = recipe_follow(reading->tree, node, error);
  if (meant == NULL)
    return FALSE;
  if (row->action == RECIPE_REFUSE) {
    if (!is_harmless(reading, row, meant))
      return conf_tree_fail(reading->tree, node, error, "is not modelled: %s", row->remark);
    recipe_leave(reading, node, "is off");
    return TRUE;
  }
  if (meant->kind == CONF_TREE_CODE)
    return conf_tree_fail(reading->tree, node, error, "%s is Python, which is not evaluated; write its value",
                          meant->shown);
  ConfTreeNode here = *meant; /* what is meant, standing where it is used */
  here.path = node->path;
  here.line = node->line;
  here.column = node->column;
  return meant->kind == CONF_TREE_NULL || row->convert(reading, row, meant == node ? node : &here, error);
}

static gboolean fail_unknown(const RecipeReading *reading, const ConfTreeNode *node, const char *path, GError **error) {
  const char *near = nearest_row(reading->table, path);
  g_autofree char *advice =
      near != NULL ? g_strdup_printf("; did you mean \"%s\"?", near) : g_strdup("; leave it out if it changes no step");
  return conf_tree_fail(reading->tree, node, error, "is no key of %s that is known here%s", reading->table->tool,
                        advice);
}

/* *ret_whole: what stands below was read with it. */
static gboolean read_node(RecipeReading *reading, const ConfTreeNode *node, gboolean *ret_whole, GError **error) {
  const RecipeTable *table = reading->table;
  g_autofree char *path = table->normal != NULL ? table->normal(node->path) : g_strdup(node->path);
  const RecipeRow *row = find_row(table, path);
  gboolean section = is_section(table, path);
  *ret_whole = !(section && node->kind == CONF_TREE_MAP);
  if (!*ret_whole)
    return TRUE;
  if (row != NULL)
    return obey_row(reading, row, node, error);
  if (section)
    return node->kind == CONF_TREE_NULL || conf_tree_fail(reading->tree, node, error, "expected a group of keys");
  if (node->kind == CONF_TREE_NULL) {
    recipe_leave(reading, node, "says nothing");
    return TRUE;
  }
  const char *left = table->unknown != NULL ? table->unknown(path) : NULL;
  if (left == NULL)
    return fail_unknown(reading, node, path, error);
  const char *near = nearest_row(table, path);
  g_autofree char *reason = near != NULL ? g_strdup_printf("%s; did you mean \"%s\"?", left, near) : g_strdup(left);
  recipe_leave(reading, node, reason);
  return TRUE;
}

void recipe_read(Recipe *recipe, const ConfTree *tree, const RecipeTable *table, BaseErrors *errors) {
  RecipeReading reading = {tree, table, recipe};
  const char *whole = NULL; /* the block that was read as one */
  gboolean good = TRUE;
  for (guint i = 0; i < conf_tree_length(tree); i++) {
    const ConfTreeNode *node = conf_tree_at(tree, i);
    if (whole != NULL && is_below(node->path, whole, strlen(whole)))
      continue;
    gboolean read_whole;
    GError *cause = NULL;
    if (!read_node(&reading, node, &read_whole, &cause))
      good = FALSE;
    base_errors_add(errors, cause);
    whole = read_whole ? node->path : NULL;
  }
  GError *cause = NULL;
  if (good && table->finish != NULL && !table->finish(&reading, &cause))
    base_errors_add(errors, cause);
}
