/* SPDX-License-Identifier: MIT */
/* JSON into a tree: what the pull reader finds, value by value. */
#include <string.h>

#include "conf-pull.h"
#include "conf-tree-build.h"

#define SHOWN_MAX 40 /* letters of a value that a message shows */

typedef struct {
  ConfTree *tree;
  ConfPull pull;
  GString *text;
} Walk;

static gboolean read_value(Walk *walk, GError **error);

/* The last key or element as a node; given twice it is an error. */
static gboolean add(Walk *walk, ConfTreeKind kind, const char *text, GError **error) {
  const char *path = walk->pull.path->str;
  guint line, column;
  conf_pull_place(&walk->pull, &line, &column);
  const ConfTreeNode *first = conf_tree_find(walk->tree, path);
  if (first != NULL)
    return conf_tree_fail_at(walk->tree, line, column, path, error, "given twice, first at line %u", first->line);
  return conf_tree_add(walk->tree, path, kind, text, line, column, error);
}

/* As it was written, where that is short and of one line. */
static void show(Walk *walk, guint index, const char *from) {
  g_autofree char *whole = g_strndup(from, (gsize)(walk->pull.at - from));
  gboolean list = *from == '[';
  if (g_utf8_strlen(whole, -1) <= SHOWN_MAX && strchr(whole, '\n') == NULL) {
    conf_tree_show(walk->tree, index, whole);
    return;
  }
  g_autofree char *part = g_utf8_substring(whole, 0, MIN(SHOWN_MAX, g_utf8_strlen(whole, -1)));
  g_autofree char *cut = g_strconcat(part, "…", NULL);
  conf_tree_show(walk->tree, index, list ? "a list" : cut);
}

static gboolean read_members(Walk *walk, char open, GError **error) {
  gboolean more;
  if (!conf_pull_enter(&walk->pull, open, error))
    return FALSE;
  while (conf_pull_next(&walk->pull, &more, error)) {
    if (!more)
      return TRUE;
    if ((open == '{' && !conf_pull_key(&walk->pull, walk->text, error)) || !read_value(walk, error))
      return FALSE;
  }
  return FALSE;
}

static gboolean read_value(Walk *walk, GError **error) {
  char sign = conf_pull_peek(&walk->pull);
  const char *from = walk->pull.at;
  guint index = conf_tree_length(walk->tree);
  if (sign == '{')
    return add(walk, CONF_TREE_MAP, NULL, error) && read_members(walk, sign, error);
  if (sign == '[') {
    if (!add(walk, CONF_TREE_LIST, NULL, error) || !read_members(walk, sign, error))
      return FALSE;
  } else {
    if (!conf_pull_value(&walk->pull, walk->text, error))
      return FALSE;
    ConfTreeKind kind = sign == '"'                  ? CONF_TREE_TEXT
                        : sign == 'n'                ? CONF_TREE_NULL
                        : sign == 't' || sign == 'f' ? CONF_TREE_FLAG
                                                     : CONF_TREE_NUMBER;
    if (!add(walk, kind, kind != CONF_TREE_NULL ? walk->text->str : NULL, error))
      return FALSE;
  }
  show(walk, index, from);
  return TRUE;
}

gboolean conf_tree_read_json(ConfTree *tree, char *data, gsize length, GError **error) {
  g_autoptr(GString) path = g_string_new(NULL), text = g_string_new(NULL);
  Walk walk = {.tree = tree, .text = text};
  conf_pull_begin(&walk.pull, conf_tree_file(tree), data, length, path);
  conf_pull_peek(&walk.pull);
  conf_tree_begin(tree, walk.pull.line, (guint)g_utf8_pointer_to_offset(walk.pull.line_start, walk.pull.at) + 1);
  return read_members(&walk, '{', error) && conf_pull_end(&walk.pull, error);
}
