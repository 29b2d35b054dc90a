/* SPDX-License-Identifier: MIT */
/* What power limits leave: round figures by hand, shipped boards against measurements that the figures do not rest on,
 * and that no cap makes a kernel faster. */
#include "harness.h"
#include "kernel-device.h"
#include "kernel-time.h"

/* Draws 20 W of its 100 W whatever it does; voltage falls to half at rest. A matmul that sustains half of a burst's
 * rate at 100 W draws 0.5 × 0.75² = 0.28125 of what it would draw at the boost clock: 80 W, so 284.4 W. */
static const HwPower power = {.name = "round", .fixed = 0.2, .rest_voltage = 0.5};
static const HwMatmul matmul = {.name = "round", .sustained = 0.5};

static HwGpu round_board(double limit) {
  return (HwGpu){
      .name = "round", .power_limit = limit, .power_measured = 100, .power = &power, .matmul = {NULL, &matmul, NULL}};
}

/* At its own limit: what was measured. At 20 + 284.4 × 0.25 × 0.625² = 47.8 W a quarter; at 20 W nothing is left; from
 * 304.4 W on all of it. */
static void by_hand(void) {
  HwGpu board = round_board(100);
  CU_ASSERT_EQUAL(kernel_power_rate(&board, 0.5, 1), 0.5);
  board.power_limit = 20 + 80 / 0.28125 * 0.25 * 0.625 * 0.625;
  CU_ASSERT_DOUBLE_EQUAL(kernel_power_rate(&board, 0.5, 1), 0.25, 1e-9);
  board.power_limit = 20;
  CU_ASSERT_EQUAL(kernel_power_rate(&board, 0.5, 1), 0);
  board.power_limit = 20 + 80 / 0.28125;
  CU_ASSERT_EQUAL(kernel_power_rate(&board, 0.5, 1), 1);
  HwGpu unknown = {.name = "unknown"};
  CU_ASSERT_EQUAL(kernel_power_rate(&unknown, 0.5, 1), 0.5);
}

/* A kernel that met no limit at 100 W draws 80 W at most, and if it does a fifth of a matmul's arithmetic a fifth of
 * its 284.4 W, 56.9: under 80 W it is still not limited, with a half of it, capped at 80, it is. */
static void what_met_no_limit(void) {
  HwGpu board = round_board(80);
  CU_ASSERT_EQUAL(kernel_power_rate(&board, 1, 0.2), 1);
  double half = kernel_power_rate(&board, 1, 0.5);
  CU_ASSERT_DOUBLE_EQUAL(half * (1 + half) * (1 + half) / 4, 60.0 / 80, 1e-9);
}

static const HwGpu *shipped(const HwCatalog *catalog, const char *name) {
  const HwGpu *gpu = hw_catalog_gpu(catalog, name, NULL, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(gpu);
  return gpu;
}

static double rate_at(const HwGpu *gpu, double watts) {
  HwGpu capped = *gpu;
  capped.power_measured = gpu->power_measured > 0 ? gpu->power_measured : gpu->power_limit;
  capped.power_limit = watts;
  return kernel_power_rate(&capped, gpu->matmul[HW_MATMUL_16BIT]->sustained, 1);
}

/* power.ini rests on Hopper alone. A100 at 330 W: 257 TFLOP/s with random operands, 295 with zeros (Horace He,
 * thonking.ai). GB300: 617 at 500 W, 1600 to 2174 at 1400 W (facebookexperimental/triton PR 2023). B200 at 750 W: 1088
 * to 1110 TFLOP/s of cuBLAS (PR 854), of which a tenth is allowed for that board. */
static void other_boards(void) {
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  CU_ASSERT_DOUBLE_EQUAL(rate_at(shipped(catalog, "a100-sxm4-80gb"), 330), 257.0 / 295, 0.03);
  const HwGpu *gb300 = shipped(catalog, "gb300-per-gpu-288gb"), *b200 = shipped(catalog, "b200-sxm-180gb");
  double share = rate_at(gb300, 500) / rate_at(gb300, 1400);
  CU_ASSERT_TRUE(share > 617.0 / 2174 && share < 617.0 / 1600);
  double burst = b200->matmul_bf16 * b200->matmul[HW_MATMUL_16BIT]->rate;
  CU_ASSERT_DOUBLE_EQUAL(rate_at(b200, 750) * burst / 1100e12, 1, 0.1);
}

/* The part of 500 W is the chip of 700 W: its matmuls take longer, and FlashAttention-2, which the larger limit left
 * alone, as long. What only streams does not feel the limit. */
static void the_part_of_500_watts(void) {
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  HwGpu small = *shipped(catalog, "h100-sxm5-96gb-hbm2e");
  const HwGpu *large = shipped(catalog, "h100-sxm5-80gb");
  small.memory_bandwidth_sustained = large->memory_bandwidth_sustained;
  const KernelOp ops[] = {
      {.kind = KERNEL_MATMUL, .dtype = KERNEL_BF16, .batch = 1, .m = 16384, .n = 8192, .k = 8192, .bytes = 671088640},
      {.kind = KERNEL_ATTENTION, .dtype = KERNEL_BF16, .batch = 32, .m = 8192, .n = 8192, .k = 128, .causal = TRUE},
      {.kind = KERNEL_MEMORY, .batch = 1, .bytes = 1000000000},
  };
  CU_ASSERT_TRUE(kernel_time(&small, &ops[0]) > 1.2 * kernel_time(large, &ops[0]));
  CU_ASSERT_EQUAL(kernel_time_burst(&small, &ops[0]), kernel_time_burst(large, &ops[0]));
  CU_ASSERT_EQUAL(kernel_time(&small, &ops[1]), kernel_time(large, &ops[1]));
  CU_ASSERT_EQUAL(kernel_time(&small, &ops[2]), kernel_time(large, &ops[2]));
}

static void lower_caps_are_slower(void) {
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  const char *const *names = hw_catalog_gpu_names(catalog);
  for (guint i = 0; names[i] != NULL; i++) {
    const HwGpu *gpu = shipped(catalog, names[i]);
    double before = 0;
    for (double watts = 0.3; gpu->power_limit > 0 && watts <= 1; watts += 0.05) {
      double rate = rate_at(gpu, watts * gpu->power_limit);
      CU_ASSERT_TRUE(rate >= before && rate <= 1);
      before = rate;
    }
  }
}

int main(void) {
  return harness_run("kernel power", (HarnessCase[]){{"by hand", by_hand},
                                                     {"what met no limit", what_met_no_limit},
                                                     {"other boards", other_boards},
                                                     {"the part of 500 W", the_part_of_500_watts},
                                                     {"lower caps are slower", lower_caps_are_slower},
                                                     {NULL, NULL}});
}
