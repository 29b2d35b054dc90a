/* The roofline: the larger of arithmetic and traffic, over the device's floor. */
#include "kernel-time.h"

#include "base-error.h"

static double matmul_rate(const HwGpu *gpu, KernelDtype dtype) {
  const double rates[KERNEL_DTYPES] = {[KERNEL_FP32] = gpu->matmul_fp32,
                                       [KERNEL_TF32] = gpu->matmul_tf32,
                                       [KERNEL_FP16] = gpu->matmul_fp16,
                                       [KERNEL_BF16] = gpu->matmul_bf16,
                                       [KERNEL_FP8] = gpu->matmul_fp8};
  return rates[dtype];
}

gboolean kernel_supports(const HwGpu *gpu, KernelDtype dtype) {
  return matmul_rate(gpu, dtype) > 0;
}

double kernel_peak(const HwGpu *gpu, KernelDtype dtype) {
  const double peaks[KERNEL_DTYPES] = {[KERNEL_FP32] = gpu->peak_fp32,
                                       [KERNEL_TF32] = gpu->peak_tf32,
                                       [KERNEL_FP16] = gpu->peak_fp16,
                                       [KERNEL_BF16] = gpu->peak_bf16,
                                       [KERNEL_FP8] = gpu->peak_fp8};
  return peaks[dtype];
}

SimTime kernel_time(const HwGpu *gpu, const KernelOp *op) {
  SimTime traffic = sim_time_of_amount((double)op->bytes, gpu->memory_bandwidth_sustained);
  if (op->kind == KERNEL_MEMORY)
    return sim_time_add(gpu->kernel_floor, traffic);
  sim_require(kernel_supports(gpu, op->dtype), 0, NULL, "%s has no %s arithmetic", gpu->name,
              kernel_dtype_names[op->dtype]);
  SimTime arithmetic = sim_time_of_amount(op->flops, matmul_rate(gpu, op->dtype));
  return sim_time_add(gpu->kernel_floor, MAX(arithmetic, traffic));
}
