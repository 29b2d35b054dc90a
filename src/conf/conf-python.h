/* SPDX-License-Identifier: MIT */
/* Where a reader of Python stands, for the two files that read it. For this room alone. */
#pragma once

#include "conf-tree-build.h"

typedef struct {
  const char *at;
  guint line;
  const char *line_start;
} ConfPythonPlace;

typedef struct {
  ConfTree *tree;
  ConfPythonPlace here;
  guint brackets;        /* that are open: ends of lines are then blanks */
  const char *ended;     /* behind the last sign of what conf_python_pass has passed */
  guint depth;           /* of values, names and functions in one another */
  guint64 *work;         /* bytes and nodes that were looked at, which names of names multiply */
  GHashTable *functions; /* name → ConfPythonPlace behind it, of the whole file */
  GHashTable *globals;   /* name → ConfPythonPlace of its value */
  GHashTable *names;     /* name → ConfPythonName, of the function that is read */
  GError **error;
} ConfPython;

typedef struct {
  ConfPythonPlace value;
  GArray *edits; /* ConfPythonEdit, in order */
} ConfPythonName;

typedef struct {
  char *path; /* below the name */
  ConfPythonPlace value;
  guint column; /* of the assignment */
} ConfPythonEdit;

guint conf_python_column(const ConfPython *python);
gboolean conf_python_fail(const ConfPython *python, const char *path, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* Over blanks, comments, continued lines and, in brackets, ends of lines. */
void conf_python_skip(ConfPython *python);
/* Bytes of the name that stands there, 0: none. */
gsize conf_python_name(const char *at);
/* Where a string that begins there ends, prefix and quotes with it; NULL: none does, or it is not closed. */
const char *conf_python_string_end(const char *at);
/* Over one expression: to the comma, the bracket or the end of the line that ends it. Errors: it is not closed. */
gboolean conf_python_pass(ConfPython *python);
/* The expression that stands there, as nodes at `path`, the root where it is empty: what is no literal, no call with
 * plain arguments and no name of one becomes CONF_TREE_CODE. */
gboolean conf_python_value(ConfPython *python, const char *path, guint line, guint column);
/* What a function of the file returns. */
gboolean conf_python_function(ConfPython *python, const char *name, const char *path, guint line, guint column);
