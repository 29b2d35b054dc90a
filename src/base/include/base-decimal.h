/* SPDX-License-Identifier: MIT */
/* Decimal numbers in text, read fast where they are short.
 *
 *   char *end;
 *   double rate = base_decimal_read("2.5 us", -6, &end);    // 2.5e-6; end is " us"
 *
 * The double nearest to the number times 10^power, as one reading rounds it: what g_ascii_strtod makes of the digits
 * with the power joined to their exponent. Up to 15 digits and powers of ten up to 22 are doubles exactly, so one
 * multiplication or division of them rounds once (Clinger, How to Read Floating Point Numbers Accurately, 1990);
 * others go to g_ascii_strtod. `ret_end` stands behind the number, at `text` if there is none; it may be NULL. Decimal
 * alone: of "0x10" the 0 is read, "inf" and "nan" are no numbers. Cost: some 50 instructions. */
#pragma once

#include <glib.h>

double base_decimal_read(const char *text, int power, char **ret_end);
