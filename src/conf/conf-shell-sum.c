/* SPDX-License-Identifier: MIT */
/* Recursive descent: a sum of products of factors. */
#include "conf-shell-sum.h"

#include <string.h>

#define DEPTH_MAX 50 /* of brackets, and of variables that name variables */

typedef struct {
  const char *at;
  ConfShellFind find;
  gpointer user;
  guint depth;
} Sum;

static gboolean read_sum(Sum *sum, gint64 *ret);

static void skip(Sum *sum) {
  while (g_ascii_isspace(*sum->at) || *sum->at == '$' || *sum->at == '{' || *sum->at == '}')
    sum->at++;
}

static gboolean read_name(Sum *sum, gint64 *ret) {
  gsize length = strspn(sum->at, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
  g_autofree char *name = g_strndup(sum->at, length);
  sum->at += length;
  return length > 0 && sum->find != NULL && sum->find(sum->user, name, ret);
}

static gboolean read_factor(Sum *sum, gint64 *ret) {
  skip(sum);
  if (*sum->at == '-') {
    sum->at++;
    return read_factor(sum, ret) && !__builtin_sub_overflow((gint64)0, *ret, ret);
  }
  if (*sum->at == '(') {
    sum->at++;
    gboolean good = ++sum->depth < DEPTH_MAX && read_sum(sum, ret);
    sum->depth--;
    if (!good)
      return FALSE;
    skip(sum);
    if (*sum->at != ')')
      return FALSE;
    sum->at++;
    return TRUE;
  }
  if (!g_ascii_isdigit(*sum->at))
    return read_name(sum, ret);
  char *end = NULL;
  guint64 value = g_ascii_strtoull(sum->at, &end, 10);
  sum->at = end;
  *ret = (gint64)value;
  return value <= G_MAXINT64;
}

static gboolean multiply(char sign, gint64 by, gint64 *value) {
  if (sign == '*')
    return !__builtin_mul_overflow(*value, by, value);
  if (by == 0 || by == -1)
    return FALSE;
  *value = sign == '/' ? *value / by : *value % by;
  return TRUE;
}

static gboolean read_product(Sum *sum, gint64 *ret) {
  if (!read_factor(sum, ret))
    return FALSE;
  for (skip(sum); *sum->at == '*' || *sum->at == '/' || *sum->at == '%'; skip(sum)) {
    gint64 by;
    char sign = *sum->at++;
    if (!read_factor(sum, &by) || !multiply(sign, by, ret))
      return FALSE;
  }
  return TRUE;
}

static gboolean read_sum(Sum *sum, gint64 *ret) {
  if (!read_product(sum, ret))
    return FALSE;
  for (skip(sum); *sum->at == '+' || *sum->at == '-'; skip(sum)) {
    gint64 by;
    char sign = *sum->at++;
    if (!read_product(sum, &by))
      return FALSE;
    if (sign == '+' ? __builtin_add_overflow(*ret, by, ret) : __builtin_sub_overflow(*ret, by, ret))
      return FALSE;
  }
  return TRUE;
}

gboolean conf_shell_sum(const char *text, ConfShellFind find, gpointer user, gint64 *ret) {
  Sum sum = {.at = text, .find = find, .user = user};
  gint64 value;
  if (!read_sum(&sum, &value))
    return FALSE;
  skip(&sum);
  if (*sum.at != '\0')
    return FALSE;
  *ret = value;
  return TRUE;
}
