/* SPDX-License-Identifier: MIT */
/* The tree that an expression is parsed to, of which store-expression-value.c says whether it holds: private to these
 * two. */
#pragma once

#include "store-expression.h"

typedef enum {
  LITERAL,
  TEXT,
  METRIC,
  SETTING,
  ADD,
  SUBTRACT,
  MULTIPLY,
  DIVIDE,
  LESS,
  LESS_OR_EQUAL,
  EQUAL,
  NOT_EQUAL,
  MORE_OR_EQUAL,
  MORE,
  AND,
  OR,
  NOT
} NodeKind;

typedef struct Node {
  NodeKind kind;
  StoreUnit unit; /* of a value; STORE_NUMBER: none */
  double number;
  char *text;       /* of a setting: what it is where nobody gave it; NULL: nothing */
  const char *name; /* of a setting */
  guint index;      /* of a setting, among those of the expression */
  const StoreMetric *metric;
  struct Node *left, *right;
} Node;

struct StoreExpression {
  char *text;
  Node *root;
  GPtrArray *metrics, *settings; /* NULL-terminated once parsed */
};
