/* SPDX-License-Identifier: MIT */
/* Whether an expression holds: its tree over a report, or over the row of a run. */
#include <string.h>

#include "store-expression-tree.h"

/* Where values come from: a report, or the columns of a row. */
typedef struct {
  const RunReport *report; /* NULL: `column` */
  StoreColumn column;
  StoreSettingValue setting; /* NULL: settings are not known */
  gpointer user;
} Source;

/* NULL: it has no value. */
static const char *setting_of(const Node *node, const Source *source) {
  const char *value = NULL;
  if (source->report == NULL)
    value = source->setting != NULL ? source->setting(node->index, source->user) : NULL;
  for (guint32 i = 0; source->report != NULL && i < source->report->identity.n_settings; i++)
    if (strcmp(source->report->identity.settings[i].name, node->name) == 0)
      value = source->report->identity.settings[i].value;
  return value != NULL ? value : node->text;
}

/* Canonical texts of settings are in base units: "26214400 B", "5e-06 s". */
static gboolean setting_value(const Node *node, const Source *source, double *ret) {
  const char *text = setting_of(node, source);
  double number = text != NULL ? g_ascii_strtod(text, NULL) : 0;
  *ret = node->unit == STORE_TIME ? (double)sim_time_from_seconds(number) : number;
  return text != NULL;
}

static const char *text_of(const Node *node, const Source *source) {
  if (node->kind == TEXT)
    return node->text;
  if (node->kind == SETTING)
    return setting_of(node, source);
  return source->report != NULL ? store_metric_get(node->metric, source->report).string
                                : source->column(node->metric, source->user);
}

/* FALSE: there is none. */
static gboolean metric_value(const StoreMetric *metric, const Source *source, double *ret) {
  if (source->report == NULL) {
    const char *text = source->column(metric, source->user);
    *ret = text != NULL ? g_ascii_strtod(text, NULL) : 0;
    return text != NULL;
  }
  RunValue value = store_metric_get(metric, source->report);
  *ret = value.kind == RUN_REAL ? value.real : (double)value.integer;
  return value.kind != RUN_NULL;
}

static gboolean value_of(const Node *node, const Source *source, double *ret) {
  double left, right;
  if (node->kind == METRIC)
    return metric_value(node->metric, source, ret);
  if (node->kind == SETTING)
    return setting_value(node, source, ret);
  if (node->kind == LITERAL) {
    *ret = node->number;
    return TRUE;
  }
  if (!value_of(node->left, source, &left) || !value_of(node->right, source, &right) ||
      (node->kind == DIVIDE && right == 0))
    return FALSE;
  *ret = node->kind == ADD        ? left + right
         : node->kind == SUBTRACT ? left - right
         : node->kind == MULTIPLY ? left * right
                                  : left / right;
  return TRUE;
}

static gboolean compare(const Node *node, const Source *source) {
  if (node->left->unit == STORE_TEXT) {
    const char *left = text_of(node->left, source), *right = text_of(node->right, source);
    gboolean same = left != NULL && right != NULL && g_ascii_strcasecmp(left, right) == 0;
    return same == (node->kind == EQUAL);
  }
  double left, right;
  if (!value_of(node->left, source, &left) || !value_of(node->right, source, &right))
    return FALSE;
  switch (node->kind) {
  case LESS:
    return left < right;
  case LESS_OR_EQUAL:
    return left <= right;
  case EQUAL:
    return left == right;
  case NOT_EQUAL:
    return left != right;
  case MORE_OR_EQUAL:
    return left >= right;
  default:
    return left > right;
  }
}

static gboolean holds(const Node *node, const Source *source) {
  switch (node->kind) {
  case AND:
    return holds(node->left, source) && holds(node->right, source);
  case OR:
    return holds(node->left, source) || holds(node->right, source);
  case NOT:
    return !holds(node->left, source);
  default:
    return compare(node, source);
  }
}

gboolean store_expression_holds(const StoreExpression *expression, const RunReport *report) {
  return holds(expression->root, &(Source){.report = report});
}

gboolean store_expression_holds_row(const StoreExpression *expression, StoreColumn column, StoreSettingValue setting,
                                    gpointer user) {
  return holds(expression->root, &(Source){.column = column, .setting = setting, .user = user});
}
