/* SPDX-License-Identifier: MIT */
/* Comparisons of texts and of whole numbers, in three values. */
#include "conf-shell-test.h"

#include <string.h>

ConfShellTruth conf_shell_not(ConfShellTruth truth) {
  return truth == CONF_SHELL_UNKNOWN ? truth : truth == CONF_SHELL_TRUE ? CONF_SHELL_FALSE : CONF_SHELL_TRUE;
}

ConfShellTruth conf_shell_and(ConfShellTruth a, ConfShellTruth b) {
  if (a == CONF_SHELL_FALSE || b == CONF_SHELL_FALSE)
    return CONF_SHELL_FALSE;
  return a == CONF_SHELL_TRUE && b == CONF_SHELL_TRUE ? CONF_SHELL_TRUE : CONF_SHELL_UNKNOWN;
}

ConfShellTruth conf_shell_or(ConfShellTruth a, ConfShellTruth b) {
  return conf_shell_not(conf_shell_and(conf_shell_not(a), conf_shell_not(b)));
}

static ConfShellTruth truth(gboolean holds) {
  return holds ? CONF_SHELL_TRUE : CONF_SHELL_FALSE;
}

static const char *text_at(const GPtrArray *words, guint index) {
  return ((const ConfWord *)g_ptr_array_index(words, index))->text;
}

static gboolean is_known(const char *text) {
  return strstr(text, "${") == NULL && strchr(text, '*') == NULL;
}

static ConfShellTruth compare_numbers(const char *left, const char *sign, const char *right) {
  static const char *const signs[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", NULL};
  gint64 a, b;
  if (!g_strv_contains(signs, sign) || !g_ascii_string_to_signed(left, 10, G_MININT64, G_MAXINT64, &a, NULL) ||
      !g_ascii_string_to_signed(right, 10, G_MININT64, G_MAXINT64, &b, NULL))
    return CONF_SHELL_UNKNOWN;
  gboolean holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
  for (gsize i = 0; i < G_N_ELEMENTS(holds); i++)
    if (strcmp(signs[i], sign) == 0)
      return truth(holds[i]);
  return CONF_SHELL_UNKNOWN;
}

static ConfShellTruth compare(const char *left, const char *sign, const char *right) {
  if (!is_known(left) || !is_known(right))
    return CONF_SHELL_UNKNOWN;
  if (strcmp(sign, "=") == 0 || strcmp(sign, "==") == 0)
    return truth(strcmp(left, right) == 0);
  return strcmp(sign, "!=") == 0 ? truth(strcmp(left, right) != 0) : compare_numbers(left, sign, right);
}

/* The words from `first` up to `end`. */
static ConfShellTruth judge(const GPtrArray *words, guint first, guint end) {
  guint n = end - first;
  if (n > 1 && strcmp(text_at(words, first), "!") == 0)
    return conf_shell_not(judge(words, first + 1, end));
  if (n == 3)
    return compare(text_at(words, first), text_at(words, first + 1), text_at(words, first + 2));
  const char *last = n > 0 ? text_at(words, end - 1) : "";
  if (n == 0 || n > 2 || !is_known(last))
    return CONF_SHELL_UNKNOWN;
  const char *sign = text_at(words, first);
  if (n == 1 || strcmp(sign, "-n") == 0)
    return truth(*last != '\0');
  return strcmp(sign, "-z") == 0 ? truth(*last == '\0') : CONF_SHELL_UNKNOWN;
}

ConfShellTruth conf_shell_test(const GPtrArray *words) {
  static const char *const openings[] = {"[", "[[", "test", NULL}, *const closings[] = {"]", "]]", NULL};
  if (words->len == 0)
    return CONF_SHELL_UNKNOWN;
  const char *name = text_at(words, 0);
  guint first = g_strv_contains(openings, name) ? 1 : 0, end = words->len;
  if (end > first && g_strv_contains(closings, text_at(words, end - 1)))
    end--;
  gboolean bare = first == 0 && end == words->len;
  if (bare && words->len == 1 && (strcmp(name, "true") == 0 || strcmp(name, "false") == 0))
    return truth(strcmp(name, "true") == 0);
  /* "[[ a == b || c == d ]]" comes in two commands, the second without its opening. */
  return bare && end != 3 ? CONF_SHELL_UNKNOWN : judge(words, first, end);
}
