/* SPDX-License-Identifier: MIT */
/* Decimal text to guint64 without a double in between: digits, point, exponent and ending shift one integer. */
#include "base-count.h"

#include <string.h>

#include "base-error.h"

static const struct {
  char letter;
  int power;
} count_endings[] = {{'k', 3}, {'M', 6}, {'G', 9}, {'B', 9}, {'T', 12}};

/* The text being read, without outer white space, and what messages call a count. */
typedef struct {
  const char *text, *expected;
} Reading;

static gboolean fail(const Reading *reading, GError **error, const char *advice) {
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected %s, found \"%s\"%s", reading->expected, reading->text,
              advice);
  return FALSE;
}

/* What follows the digits is no part of a number: "_000", " tokens". */
static gboolean fail_rest(const Reading *reading, const char *rest, gboolean endings, GError **error) {
  gboolean grouped = strchr("_,' ", *rest) != NULL && strspn(rest + 1, "0123456789") == 3;
  if (grouped) {
    g_autoptr(GString) digits = g_string_new(NULL);
    for (const char *p = reading->text; g_ascii_isdigit(*p) || (*p != '\0' && strchr("_,' ", *p) != NULL); p++)
      if (g_ascii_isdigit(*p))
        g_string_append_c(digits, *p);
    g_autofree char *advice = g_strdup_printf(": write %s", digits->str);
    return fail(reading, error, advice);
  }
  const char *zero = strchr(reading->text, '0');
  gboolean hexadecimal =
      (*rest == 'x' || *rest == 'X') && g_ascii_isxdigit(rest[1]) && zero != NULL && rest == zero + 1;
  if (hexadecimal && rest[1 + strspn(rest + 1, "0123456789abcdefABCDEF")] == '\0') {
    guint64 value;
    gboolean small = g_ascii_string_to_unsigned(rest + 1, 16, 0, BASE_COUNT_MAX, &value, NULL);
    g_autofree char *decimal =
        small ? g_strdup_printf(": write it in decimal, %" G_GUINT64_FORMAT, value) : g_strdup(": write it in decimal");
    return fail(reading, error, decimal);
  }
  rest += strspn(rest, " \t");
  if (endings && g_ascii_strcasecmp(rest, "k") == 0)
    return fail(reading, error, ": write \"k\" for thousands");
  g_autofree char *advice = *rest != '\0' ? g_strdup_printf(": leave out \"%s\"", rest) : g_strdup("");
  return fail(reading, error, advice);
}

/* value × 10^power, exactly. */
static gboolean shift(const Reading *reading, guint64 value, gint64 power, guint64 *ret, GError **error) {
  for (; power < 0 && value != 0; power++) {
    if (value % 10 != 0)
      return fail(reading, error, "");
    value /= 10;
  }
  for (; power > 0 && value != 0; power--)
    if (__builtin_mul_overflow(value, 10, &value))
      value = G_MAXUINT64, power = 1;
  if (value > BASE_COUNT_MAX) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected %s, found \"%s\": more than %" G_GUINT64_FORMAT,
                reading->expected, reading->text, BASE_COUNT_MAX);
    return FALSE;
  }
  *ret = value;
  return TRUE;
}

/* Digits alone, as nearly all texts are. */
static gboolean parse_digits(const char *text, guint64 *ret) {
  guint64 value = 0;
  int digits = 0;
  for (; g_ascii_isdigit(text[digits]) && digits < 18; digits++)
    value = value * 10 + (guint64)(text[digits] - '0');
  if (digits == 0 || text[digits] != '\0')
    return FALSE;
  *ret = value;
  return TRUE;
}

gboolean base_count_parse(const char *text, gboolean endings, const char *expected, guint64 *ret, GError **error) {
  if (parse_digits(text, ret))
    return TRUE;
  g_autofree char *clean = g_strstrip(g_strdup(text));
  Reading reading = {clean, expected != NULL ? expected : "a whole number"};
  const char *p = clean + (*clean == '+');
  if (!g_ascii_isdigit(*p))
    return fail(&reading, error, "");
  guint64 value = 0;
  gint64 power = 0;
  gboolean point = FALSE;
  for (; g_ascii_isdigit(*p) || (*p == '.' && !point && g_ascii_isdigit(p[1])); p++) {
    if (*p == '.') {
      point = TRUE;
      continue;
    }
    /* Zeros at the end of a long fraction must not overflow: they wait in `power`. */
    const char *zeros = p + strspn(p, "0");
    if (point && !g_ascii_isdigit(*zeros)) {
      p = zeros - 1;
      continue;
    }
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (guint64)(*p - '0'), &value))
      value = G_MAXUINT64;
    power -= point;
  }
  gboolean exponent = (*p == 'e' || *p == 'E') && g_ascii_isdigit(p[1 + (p[1] == '+' || p[1] == '-')]);
  if (exponent) {
    char *end;
    gint64 given = g_ascii_strtoll(p + 1, &end, 10);
    power += CLAMP(given, -1000, 1000);
    p = end;
  }
  const char *ending = p + strspn(p, " \t");
  for (gsize i = 0; endings && i < G_N_ELEMENTS(count_endings); i++)
    if (ending[0] == count_endings[i].letter && ending[1] == '\0') {
      power += count_endings[i].power;
      p = ending + 1;
      break;
    }
  if (*p != '\0')
    return fail_rest(&reading, p, endings, error);
  return shift(&reading, value, power, ret, error);
}
