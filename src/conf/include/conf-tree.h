/* SPDX-License-Identifier: MIT */
/* One tree for JSON, YAML, TOML, the arguments of a shell script and a function of Python that writes its values out:
 * each value by its path, with the place it stands at, so that who maps keys need not know the syntax.
 *
 *   g_autoptr(ConfTree) tree = conf_tree_load("ds_config.json", error);
 *   const ConfTreeNode *stage = conf_tree_find(tree, "zero_optimization.stage");   // NULL where it is absent
 *   guint64 value;
 *   if (!conf_tree_count(tree, stage, &value, error)) return FALSE;               // a number, 5e8, or either in quotes
 *
 * Paths have dots, elements of lists their number ("betas.0"). Nodes stand in the order of the file, a map or a list
 * before what it holds. Of TOML what recipes use is read: the rest is an error at its line; so are YAML's tags of other
 * types, merge keys and second documents. Everything is borrowed from the tree. */
#pragma once

#include "base-error.h"

typedef enum {
  CONF_TREE_MAP,
  CONF_TREE_LIST,
  CONF_TREE_TEXT, /* in quotes, or a plain word of YAML that is nothing below */
  CONF_TREE_NUMBER,
  CONF_TREE_FLAG,
  CONF_TREE_NULL,
  CONF_TREE_CODE, /* Python: an expression that is not evaluated, no text */
} ConfTreeKind;

typedef struct {
  char *path;
  char *text; /* as it was written, quotes off; NULL for maps, lists and null */
  ConfTreeKind kind;
  guint line, column; /* of the key; of the value for elements of lists */
  char *shown;        /* JSON, code: the value as it was written, shortened, for messages; NULL for maps */
  char *call;         /* Python, of a map: what was called with its keys, "TrainingConfig"; else NULL */
} ConfTreeNode;

typedef enum {
  CONF_SYNTAX_JSON,
  CONF_SYNTAX_YAML,
  CONF_SYNTAX_TOML,
  CONF_SYNTAX_ARGUMENTS,
  CONF_SYNTAX_PYTHON,
} ConfSyntax;

typedef struct ConfTree ConfTree;

/* By the file's ending: .json, .yaml, .yml, .toml, .sh, .args, .py; one without any of them is JSON where it begins
 * with "{", arguments where it begins with "--" or "#!", else YAML. Of Python with several functions one is named:
 * "configs.py:llama3_8b".
 * Errors (SIM_ERROR_INPUT): no such file, not UTF-8, each mistake of syntax at its line and column, a key given twice,
 * a root that is no map. Cost: one pass. */
ConfTree *conf_tree_load(const char *path, GError **error);
ConfTree *conf_tree_parse(const char *name, ConfSyntax syntax, const char *data, gsize length, GError **error);
void conf_tree_free(ConfTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfTree, conf_tree_free)

const char *conf_tree_file(const ConfTree *tree);
/* Python: what was called to make the whole, "Trainer.Config", or a function of another file that is not followed;
 * NULL in other syntaxes. */
const char *conf_tree_root_call(const ConfTree *tree);
/* Where the root begins. */
void conf_tree_root_place(const ConfTree *tree, guint *ret_line, guint *ret_column);
guint conf_tree_length(const ConfTree *tree);
const ConfTreeNode *conf_tree_at(const ConfTree *tree, guint index);
const ConfTreeNode *conf_tree_find(const ConfTree *tree, const char *path);
/* The same where null counts as absent. */
const ConfTreeNode *conf_tree_given(const ConfTree *tree, const char *path);
/* A map or list that holds nothing. */
gboolean conf_tree_is_empty(const ConfTree *tree, const ConfTreeNode *node);

/* What stands there, for messages: `"cpu"`, `5e8`, `a list`. Caller frees. */
char *conf_tree_shown(const ConfTreeNode *node);
/* SIM_ERROR_INPUT at the node; always FALSE. */
gboolean conf_tree_fail(const ConfTree *tree, const ConfTreeNode *node, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
/* Errors: SIM_ERROR_INPUT with what was expected and found; *ret is then untouched. Flags may be words, or in
 * quotes. */
gboolean conf_tree_count(const ConfTree *tree, const ConfTreeNode *node, guint64 *ret, GError **error);
gboolean conf_tree_flag(const ConfTree *tree, const ConfTreeNode *node, gboolean *ret, GError **error);
