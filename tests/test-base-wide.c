/* SPDX-License-Identifier: MIT */
/* Whole numbers of 128 bits: products and quotients at the ends of their ranges, and over random ones. */
#include "base-wide.h"
#include "harness.h"

static guint64 high_of(BaseWide number) {
  return (guint64)(number >> 64);
}

/* (2^64 − 1)² = 2^128 − 2^65 + 1: high 2^64 − 2, low 1. */
static void products(void) {
  BaseWide largest = base_wide_product(G_MAXUINT64, G_MAXUINT64);
  CU_ASSERT_EQUAL(high_of(largest), G_MAXUINT64 - 1);
  CU_ASSERT_EQUAL((guint64)largest, 1);
  CU_ASSERT_TRUE(base_wide_product(G_MAXUINT64, 0) == 0);
  /* (2^32 + 1)² = 2^64 + 2^33 + 1 */
  BaseWide middle = base_wide_product(((guint64)1 << 32) + 1, ((guint64)1 << 32) + 1);
  CU_ASSERT_EQUAL(high_of(middle), 1);
  CU_ASSERT_EQUAL((guint64)middle, ((guint64)1 << 33) + 1);
}

static void quotients(void) {
  BaseWide rest = 9;
  CU_ASSERT_TRUE(base_wide_divide(0, 7, &rest) == 0);
  CU_ASSERT_TRUE(rest == 0);
  CU_ASSERT_TRUE(base_wide_divide(20, 7, &rest) == 2);
  CU_ASSERT_TRUE(rest == 6);
  /* 2^126 / (2^126 − 1) = 1, rest 1 */
  BaseWide large = (BaseWide)1 << 126;
  CU_ASSERT_TRUE(base_wide_divide(large, large - 1, &rest) == 1);
  CU_ASSERT_TRUE(rest == 1);
}

/* a·b / b is a, and (a·b + c) / b with c < b leaves c. */
static void products_are_divided(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 2000; i++) {
    guint64 a = (guint64)g_rand_int(random) << 32 | g_rand_int(random);
    guint64 b = (((guint64)g_rand_int(random) << 32 | g_rand_int(random)) >> g_rand_int_range(random, 0, 63)) | 1;
    guint64 c = g_rand_int(random) % b;
    BaseWide product = base_wide_product(a, b), rest;
#ifdef __SIZEOF_INT128__
    CU_ASSERT_TRUE(product == (BaseWide)a * b);
#endif
    CU_ASSERT_TRUE(base_wide_divide(product + c, b, &rest) == a);
    CU_ASSERT_TRUE(rest == c);
  }
}

int main(void) {
  return harness_run("base-wide", (HarnessCase[]){{"products", products},
                                                  {"quotients", quotients},
                                                  {"products are divided", products_are_divided},
                                                  {NULL, NULL}});
}
