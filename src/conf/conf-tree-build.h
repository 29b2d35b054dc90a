/* SPDX-License-Identifier: MIT */
/* How the readers of each syntax fill a tree. For this room alone.
 *
 *   static gboolean read(ConfTree *tree, const char *data, gsize length, GError **error) {
 *     return conf_tree_add(tree, "a.b", CONF_TREE_NUMBER, "5e8", 3, 1, error);   // FALSE where "a.b" is there already
 *   }
 */
#pragma once

#include "conf-tree.h"

#define CONF_TREE_DEPTH_MAX 100    /* of nesting: recursion must end before the stack does */
#define CONF_TREE_NODES_MAX 100000 /* YAML's references could make more of a small text */

/* Strings are copied. Errors: the path is there (both lines named), too many nodes. */
gboolean conf_tree_add(ConfTree *tree, const char *path, ConfTreeKind kind, const char *text, guint line, guint column,
                       GError **error);
/* How messages show the value of a node. Copied. */
void conf_tree_show(ConfTree *tree, guint index, const char *shown);
/* Where the root begins, if not at 1:1. */
void conf_tree_begin(ConfTree *tree, guint line, guint column);
/* Takes out a node with all below it. Cost: one pass. */
void conf_tree_remove(ConfTree *tree, const char *path);
/* What was called to make what stands at `path`, a map from then on; "": the whole. Copied. */
void conf_tree_call(ConfTree *tree, const char *path, const char *call);
/* Maps before what they hold again, after nodes were removed and added. */
void conf_tree_order(ConfTree *tree);
/* Of FILE.py:FUNCTION the function; NULL: none was named. */
const char *conf_tree_part(const ConfTree *tree);
/* At a place without a node; always FALSE. */
gboolean conf_tree_fail_at(const ConfTree *tree, guint line, guint column, const char *path, GError **error,
                           const char *format, ...) G_GNUC_PRINTF(6, 7);
/* `parent` and `key` with a dot between them, `key` alone below the root. Caller frees. */
char *conf_tree_join(const char *parent, const char *key);

/* `data` is UTF-8 without NULs and NUL-terminated; it may be changed. */
gboolean conf_tree_read_json(ConfTree *tree, char *data, gsize length, GError **error);
gboolean conf_tree_read_yaml(ConfTree *tree, char *data, gsize length, GError **error);
gboolean conf_tree_read_toml(ConfTree *tree, char *data, gsize length, GError **error);
gboolean conf_tree_read_arguments(ConfTree *tree, char *data, gsize length, GError **error);
gboolean conf_tree_read_python(ConfTree *tree, char *data, gsize length, GError **error);
