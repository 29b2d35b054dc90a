/* SPDX-License-Identifier: MIT */
/* One scan for the digits and where the point stands among them; then one rounding, or g_ascii_strtod. */
#include "base-decimal.h"

#include <float.h>

#define DIGITS_MOST   15 /* every integer of so many is a double */
#define EXPONENT_MOST 100000
#define TEN           10

static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

typedef struct {
  gboolean negative;
  guint64 digits;              /* without the point; of the first that count */
  guint n_digits, n_counting;  /* all; from the first that is not 0 on */
  int exponent;                /* of the last digit */
  const char *mantissa, *tail; /* where the number begins, and where what is no digit of it does */
  const char *end;
} Decimal;

static void scan_digits(Decimal *decimal, const char **at, int each) {
  for (; g_ascii_isdigit(**at); (*at)++) {
    decimal->n_digits++;
    decimal->n_counting += decimal->n_counting > 0 || **at != '0';
    if (decimal->n_counting <= DIGITS_MOST)
      decimal->digits = decimal->digits * TEN + (guint64)(**at - '0');
    decimal->exponent += each;
  }
}

static int read_exponent(const char **at) {
  const char *p = *at + 1;
  gboolean negative = *p == '-';
  p += *p == '-' || *p == '+';
  if (!g_ascii_isdigit(*p))
    return 0;
  int exponent = 0;
  for (; g_ascii_isdigit(*p); p++)
    exponent = MIN(exponent * TEN + (*p - '0'), EXPONENT_MOST);
  *at = p;
  return negative ? -exponent : exponent;
}

static Decimal scan(const char *text) {
  while (g_ascii_isspace(*text))
    text++;
  Decimal decimal = {.mantissa = text, .negative = *text == '-'};
  const char *at = text + (*text == '-' || *text == '+');
  scan_digits(&decimal, &at, 0);
  if (*at == '.' && (decimal.n_digits > 0 || g_ascii_isdigit(at[1]))) {
    at++;
    scan_digits(&decimal, &at, -1);
  }
  decimal.tail = at;
  if (decimal.n_digits > 0 && (*at == 'e' || *at == 'E'))
    decimal.exponent += read_exponent(&at);
  decimal.end = at;
  return decimal;
}

static double read_slowly(const Decimal *decimal, int power) {
  const char *at = decimal->tail;
  int exponent = power + (at < decimal->end ? read_exponent(&at) : 0);
  g_autofree char *text =
      g_strdup_printf("%.*se%d", (int)(decimal->tail - decimal->mantissa), decimal->mantissa, exponent);
  return g_ascii_strtod(text, NULL);
}

double base_decimal_read(const char *text, int power, char **ret_end) {
  Decimal decimal = scan(text);
  if (ret_end != NULL)
    *ret_end = (char *)(decimal.n_digits > 0 ? decimal.end : text);
  if (decimal.n_digits == 0)
    return 0;
  int exponent = decimal.exponent + power;
  if (FLT_EVAL_METHOD != 0 || decimal.n_counting > DIGITS_MOST || ABS(exponent) >= (int)G_N_ELEMENTS(powers))
    return read_slowly(&decimal, power);
  double digits = (double)decimal.digits;
  double value = exponent >= 0 ? digits * powers[exponent] : digits / powers[-exponent];
  return decimal.negative ? -value : value;
}
