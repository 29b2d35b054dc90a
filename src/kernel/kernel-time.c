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
  return kernel_time_shared(gpu, op, (KernelShare){0, 1});
}

KernelShare kernel_share_beside(const HwGpu *gpu, guint32 channels, double memory_rate) {
  double left = 1 - memory_rate / gpu->memory_bandwidth_sustained;
  return (KernelShare){MIN((double)channels, (double)gpu->sms - 1), MAX(left, KERNEL_LEAST_BANDWIDTH)};
}

SimTime kernel_time_shared(const HwGpu *gpu, const KernelOp *op, KernelShare share) {
  double sms = MAX(1, (double)gpu->sms - share.busy_sms) / (double)MAX(gpu->sms, 1);
  double bandwidth = gpu->memory_bandwidth_sustained * MAX(share.bandwidth, KERNEL_LEAST_BANDWIDTH);
  SimTime traffic = sim_time_of_amount((double)op->bytes, bandwidth);
  if (op->kind != KERNEL_MATMUL && op->kind != KERNEL_ATTENTION)
    return sim_time_add(gpu->kernel_floor, traffic);
  sim_require(kernel_supports(gpu, op->dtype), 0, NULL, "%s has no %s arithmetic", gpu->name,
              kernel_dtype_names[op->dtype]);
  SimTime arithmetic = sim_time_of_amount(op->flops, matmul_rate(gpu, op->dtype) * sms);
  return sim_time_add(gpu->kernel_floor, MAX(arithmetic, traffic));
}
