/* SPDX-License-Identifier: MIT */
/* What the expected slowest of n GPUs is behind. */
#include "harness.h"
#include "hw-spread.h"

/* Of two normal draws the larger is expected at 1/sqrt(pi) = 0.5642 deviations, of three at 3/(2 sqrt(pi)) = 0.8463;
 * eight span 2 x 1.4236. A spread of 2.8472 makes a deviation one. */
static void by_the_book(void) {
  CU_ASSERT_EQUAL(hw_spread_slowest(2.8472, 1), 0);
  CU_ASSERT_DOUBLE_EQUAL(hw_spread_slowest(2.8472, 2), 0.56419, 1e-5);
  CU_ASSERT_DOUBLE_EQUAL(hw_spread_slowest(2.8472, 3), 0.84628, 1e-5);
  CU_ASSERT_DOUBLE_EQUAL(hw_spread_slowest(0.05, 8), 0.025, 1e-12);
  /* Tables of order statistics: 10: 1.53875, 100: 2.50759, 1000: 3.24144; straight lines stand a little lower. */
  CU_ASSERT_DOUBLE_EQUAL(hw_spread_slowest(2.8472, 10), 1.53875, 0.035);
  CU_ASSERT_DOUBLE_EQUAL(hw_spread_slowest(2.8472, 100), 2.50759, 0.035);
  CU_ASSERT_DOUBLE_EQUAL(hw_spread_slowest(2.8472, 1000), 3.24144, 0.035);
  CU_ASSERT_EQUAL(hw_spread_slowest(0, 1000), 0);
}

static void more_are_slower(void) {
  double before = -1;
  for (guint32 n = 1; n <= 5000; n++) {
    double behind = hw_spread_slowest(0.05, n);
    CU_ASSERT_TRUE(behind > before);
    before = behind;
  }
  for (guint32 n = 8192; n <= 1u << 20; n *= 2) {
    CU_ASSERT_TRUE(hw_spread_slowest(0.05, n) > before);
    before = hw_spread_slowest(0.05, n);
  }
  CU_ASSERT_TRUE(before < 0.1);
}

int main(void) {
  return harness_run("hw-spread",
                     (HarnessCase[]){{"by the book", by_the_book}, {"more are slower", more_are_slower}, {NULL, NULL}});
}
