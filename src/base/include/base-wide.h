/* SPDX-License-Identifier: MIT */
/* Whole numbers of 128 bits: products of two of 64, sets of up to 128 members, keys of two fields compared at once.
 *
 *   BaseWide product = base_wide_product(total, part);          // exact
 *   guint64 share = (guint64)base_wide_divide(product, whole, NULL);
 *
 * Sums, shifts and comparisons are the language's. Machines of 32 bits have no instructions or library calls for
 * products and quotients: these are here. Such a machine needs a compiler that knows _BitInt. */
#pragma once

#include <glib.h>

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 BaseWide;
#else
__extension__ typedef unsigned _BitInt(128) BaseWide;
#endif

static inline BaseWide base_wide_product(guint64 a, guint64 b) {
  guint64 a_low = a & G_MAXUINT32, a_high = a >> 32, b_low = b & G_MAXUINT32, b_high = b >> 32;
  return (BaseWide)(a_low * b_low) + ((BaseWide)(a_low * b_high) << 32) + ((BaseWide)(a_high * b_low) << 32) +
         ((BaseWide)(a_high * b_high) << 64);
}

/* Rounded down; `by` is not 0 and below 2^127. `ret_rest` may be NULL. Costs 128 steps. */
static inline BaseWide base_wide_divide(BaseWide number, BaseWide by, BaseWide *ret_rest) {
  BaseWide quotient = 0, rest = 0;
  for (int bit = 127; bit >= 0; bit--) {
    rest = rest << 1 | (number >> bit & 1);
    quotient <<= 1;
    if (rest >= by) {
      rest -= by;
      quotient |= 1;
    }
  }
  if (ret_rest != NULL)
    *ret_rest = rest;
  return quotient;
}
