/* The roofline on a device with round figures, and on shipped ones. */
#include "harness.h"
#include "kernel-time.h"

/* 100 TFLOP/s in bf16, 10 in fp32, 1 TB/s, floor 2 us: the ridge lies at 100 FLOP a byte. */
static const HwGpu device = {.name = "round",
                             .peak_bf16 = 125e12,
                             .matmul_bf16 = 100e12,
                             .peak_fp32 = 12e12,
                             .matmul_fp32 = 10e12,
                             .memory_bandwidth = 1.2e12,
                             .memory_bandwidth_sustained = 1e12,
                             .kernel_floor = 2 * SIM_MICROSECOND};

static void compute_bound(void) {
  /* 2 × 4096^3 = 137 438 953 472 FLOP / 1e14 = 1 374 389 534.7 ps; traffic 3 × 4096^2 × 2 B / 1e12 = 100.7 us is less.
   */
  KernelOp op = {KERNEL_MATMUL, KERNEL_BF16, 1, 4096, 4096, 4096, 137438953472.0, 100663296};
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 1374389535 + 2 * SIM_MICROSECOND);
  op.dtype = KERNEL_FP32; /* ten times slower: 13 743 895 347.2 ps */
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 13743895347 + 2 * SIM_MICROSECOND);
}

static void memory_bound(void) {
  /* One row times a matrix: 2 × 4096^2 FLOP take 0.336 us, 4096^2 × 2 B = 33 554 432 B take 33.554432 us. */
  KernelOp op = {KERNEL_MATMUL, KERNEL_BF16, 1, 1, 4096, 4096, 33554432.0, 33554432};
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 33554432 + 2 * SIM_MICROSECOND);
}

static void ridge_has_no_step(void) {
  /* 1 MB: 1 us of traffic. At 100 FLOP a byte arithmetic takes 1 us too; one part in a million more begins to show. */
  KernelOp op = {KERNEL_ATTENTION, KERNEL_BF16, 1, 1, 1, 1, 1e8, 1000000};
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 3 * SIM_MICROSECOND);
  op.flops = 0.5e8;
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 3 * SIM_MICROSECOND);
  op.flops = 1.000001e8;
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 3 * SIM_MICROSECOND + 1);
}

static void memory_operations_go_by_bytes(void) {
  /* Arithmetic of an elementwise kernel is not charged, and its dtype need not have tensor cores. */
  KernelOp op = {KERNEL_MEMORY, KERNEL_FP8, 1, 0, 0, 0, 1e15, 1000000};
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 3 * SIM_MICROSECOND);
  op.bytes = 0; /* a kernel that does nothing takes the floor */
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 2 * SIM_MICROSECOND);
}

static void dtypes(void) {
  CU_ASSERT_TRUE(kernel_supports(&device, KERNEL_BF16));
  CU_ASSERT_FALSE(kernel_supports(&device, KERNEL_FP16));
  CU_ASSERT_FALSE(kernel_supports(&device, KERNEL_FP8));
  CU_ASSERT_FALSE(kernel_supports(&device, KERNEL_TF32));
  CU_ASSERT_EQUAL(kernel_peak(&device, KERNEL_BF16), 125e12);
  CU_ASSERT_EQUAL(kernel_peak(&device, KERNEL_FP8), 0);
  /* tf32 is a way to multiply, not to store. */
  const guint32 sizes[KERNEL_DTYPES] = {4, 4, 2, 2, 1};
  for (KernelDtype dtype = 0; dtype < KERNEL_DTYPES; dtype++) {
    CU_ASSERT_EQUAL(kernel_dtype_bytes(dtype), sizes[dtype]);
    CU_ASSERT_PTR_NOT_NULL(kernel_dtype_names[dtype]);
  }
  CU_ASSERT_PTR_NULL(kernel_dtype_names[KERNEL_DTYPES]);
  CU_ASSERT_PTR_NULL(kernel_kind_names[KERNEL_KINDS]);
}

static void shipped_devices(void) {
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  const HwGpu *v100 = hw_catalog_gpu(catalog, "v100-sxm2-32gb", NULL, NULL);
  CU_ASSERT_FALSE(kernel_supports(v100, KERNEL_BF16));
  CU_ASSERT_TRUE(kernel_supports(v100, KERNEL_FP16));
  CU_ASSERT_FALSE(kernel_supports(hw_catalog_gpu(catalog, "a100-sxm4-80gb", NULL, NULL), KERNEL_FP8));
  const HwGpu *h100 = hw_catalog_gpu(catalog, "h100-sxm5-80gb", NULL, NULL);
  /* 2 × 8192^3 = 1 099 511 627 776 FLOP at 794.5 TFLOP/s = 1 383 903 873.9 ps, and the floor of 3 us. */
  KernelOp op = {KERNEL_MATMUL, KERNEL_BF16, 1, 8192, 8192, 8192, 1099511627776.0, 402653184};
  CU_ASSERT_EQUAL(kernel_time(h100, &op), 1383903874 + 3 * SIM_MICROSECOND);
}

int main(void) {
  return harness_run("kernel-time", (HarnessCase[]){{"compute bound", compute_bound},
                                                    {"memory bound", memory_bound},
                                                    {"the ridge has no step", ridge_has_no_step},
                                                    {"memory operations go by bytes", memory_operations_go_by_bytes},
                                                    {"dtypes", dtypes},
                                                    {"shipped devices", shipped_devices},
                                                    {NULL, NULL}});
}
