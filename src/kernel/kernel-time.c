/* SPDX-License-Identifier: MIT */
/* Which form an operation takes, and what of the device it has. */
#include "kernel-time.h"

#include <math.h>
#include <string.h>

#include "base-error.h"
#include "kernel-device.h"

static double matmul_rate(const HwGpu *gpu, KernelDtype dtype) {
  const double rates[KERNEL_DTYPES] = {[KERNEL_FP32] = gpu->matmul_fp32,
                                       [KERNEL_TF32] = gpu->matmul_tf32,
                                       [KERNEL_FP16] = gpu->matmul_fp16,
                                       [KERNEL_BF16] = gpu->matmul_bf16,
                                       [KERNEL_FP8] = gpu->matmul_fp8};
  return rates[dtype];
}

/* tf32 runs on tensor cores as 16-bit formats do, at its own rate. */
static const HwMatmul *matmul_form(const HwGpu *gpu, KernelDtype dtype) {
  static const HwMatmulDtype forms[KERNEL_DTYPES] = {[KERNEL_FP32] = HW_MATMUL_FP32,
                                                     [KERNEL_TF32] = HW_MATMUL_16BIT,
                                                     [KERNEL_FP16] = HW_MATMUL_16BIT,
                                                     [KERNEL_BF16] = HW_MATMUL_16BIT,
                                                     [KERNEL_FP8] = HW_MATMUL_FP8};
  return gpu->matmul[forms[dtype]];
}

KernelDraw kernel_power_matmul(const HwGpu *gpu, KernelDtype dtype) {
  double sustained = matmul_form(gpu, dtype)->sustained;
  return (KernelDraw){MIN(matmul_rate(gpu, dtype), kernel_peak(gpu, dtype)) * kernel_power_rate(gpu, sustained, 1),
                      kernel_power_draw(gpu, sustained, 1)};
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

static double stream_share(const HwMemory *memory, const KernelOp *op) {
  gboolean forward = op->pass == KERNEL_FORWARD;
  switch (op->kind) {
  case KERNEL_NORM:
    return forward ? memory->norm_forward : memory->norm_backward;
  case KERNEL_ROTARY:
    return memory->rotary;
  case KERNEL_SOFTMAX:
    return forward ? memory->softmax_forward : memory->softmax_backward;
  case KERNEL_LOSS:
    return forward ? memory->loss_forward : memory->loss_backward;
  case KERNEL_GATHER:
    return memory->gather;
  case KERNEL_OPTIMIZER:
    return memory->optimizer;
  case KERNEL_REDUCTION:
    return memory->reduction;
  default:
    return memory->stream;
  }
}

/* What such a kernel takes beyond its bytes' way is its SMs' time, which another memory beside the same SMs leaves
 * alone: on A100, H100 (SXM, NVL) and L40S, whose memories bring 1.8 to 13 bytes a clock and SM, norms' own time says
 * 23 to 28 of them. */
static double share_here(const HwGpu *gpu, const KernelOp *op) {
  double share = stream_share(gpu->memory, op);
  gboolean computes = op->kind == KERNEL_NORM || op->kind == KERNEL_ROTARY || op->kind == KERNEL_LOSS;
  if (!computes || share >= 1)
    return share;
  return 1 / (1 + (1 / share - 1) * gpu->memory_bandwidth_sustained / gpu->memory->bandwidth);
}

const HwAttention *kernel_attention_form(const HwGpu *gpu, KernelFlash flash) {
  gboolean newer =
      flash == KERNEL_FLASH_3 || (flash == KERNEL_FLASH_USUAL && gpu->compute_capability >= KERNEL_FLASH_3_SINCE);
  const HwAttention *wanted = gpu->attention[newer ? HW_FLASH_3 : HW_FLASH_2];
  return wanted != NULL ? wanted : gpu->attention[newer ? HW_FLASH_2 : HW_FLASH_3];
}

static double seconds(const HwGpu *gpu, const KernelOp *op, const KernelDevice *device) {
  if (op->kind == KERNEL_MATMUL)
    return kernel_matmul_seconds(matmul_form(gpu, op->dtype), device, op);
  if (op->kind == KERNEL_ATTENTION)
    return kernel_attention_seconds(kernel_attention_form(gpu, op->flash), device, op);
  double floors = sim_time_to_seconds(gpu->kernel_floor) * kernel_launches(op);
  return floors + (double)op->bytes / (device->bandwidth * share_here(gpu, op));
}

/* What is left of the bandwidth, and of it what the free SMs can ask for. */
static double bandwidth_left(const HwGpu *gpu, KernelShare share) {
  double sms = (double)gpu->sms, asked = MAX(1, sms - share.busy_sms) / (sms * gpu->contention->saturating);
  return MIN(MAX(share.bandwidth, KERNEL_LEAST_BANDWIDTH), MIN(asked, 1));
}

static SimTime time_on(const HwGpu *gpu, const KernelOp *op, KernelShare share, gboolean burst) {
  gboolean arithmetic = op->kind == KERNEL_MATMUL || op->kind == KERNEL_ATTENTION;
  sim_require(!arithmetic || kernel_supports(gpu, op->dtype), 0, NULL, "%s has no %s arithmetic", gpu->name,
              kernel_dtype_names[op->dtype]);
  KernelDevice device = {
      .sms = (double)gpu->sms,
      .free_sms = MAX(1, (double)gpu->sms - share.busy_sms),
      .bandwidth = gpu->memory_bandwidth_sustained * bandwidth_left(gpu, share),
      .rate = arithmetic ? matmul_rate(gpu, op->dtype) : 0,
      .peak = kernel_peak(gpu, op->dtype),
      .burst = burst,
      .gpu = gpu,
  };
  return sim_time_from_seconds(seconds(gpu, op, &device));
}

/* A measured operation slows down beside others as its form does. */
static SimTime measured_beside(const HwGpu *gpu, const KernelOp *op, KernelShare share) {
  SimTime alone = time_on(gpu, op, (KernelShare){0, 1}, FALSE), beside = time_on(gpu, op, share, FALSE);
  return (SimTime)round((double)op->measured_ps * (double)beside / (double)alone);
}

SimTime kernel_time(const HwGpu *gpu, const KernelOp *op) {
  return op->is_measured ? op->measured_ps : time_on(gpu, op, (KernelShare){0, 1}, FALSE);
}

SimTime kernel_time_burst(const HwGpu *gpu, const KernelOp *op) {
  return time_on(gpu, op, (KernelShare){0, 1}, TRUE);
}

SimTime kernel_time_shared(const HwGpu *gpu, const KernelOp *op, KernelShare share) {
  return op->is_measured ? measured_beside(gpu, op, share) : time_on(gpu, op, share, FALSE);
}

KernelShare kernel_share_beside(const HwGpu *gpu, guint32 channels, double memory_rate) {
  double left = 1 - memory_rate / gpu->memory_bandwidth_sustained;
  return (KernelShare){MIN((double)channels, (double)gpu->sms - 1), CLAMP(left, KERNEL_LEAST_BANDWIDTH, 1)};
}

gboolean kernel_fills(const HwGpu *gpu, const KernelOp *op) {
  gboolean arithmetic = op->kind == KERNEL_MATMUL || op->kind == KERNEL_ATTENTION;
  if (arithmetic && !op->is_measured && !kernel_supports(gpu, op->dtype))
    return TRUE;
  return kernel_time(gpu, op) > 2 * gpu->kernel_floor * (SimTime)kernel_launches(op);
}

double kernel_memory_traffic(const HwGpu *gpu, KernelBeside collective) {
  const double traffic[] = {[KERNEL_ALL_GATHER] = gpu->contention->all_gather,
                            [KERNEL_REDUCE_SCATTER] = gpu->contention->reduce_scatter,
                            [KERNEL_ALL_REDUCE] = gpu->contention->all_reduce};
  return traffic[collective];
}

/* "sm90.16bit" */
static gboolean is_shared(const char *form) {
  return g_str_has_prefix(form, "sm");
}

gboolean kernel_is_measured(const HwGpu *gpu, const KernelOp *op) {
  const char *form = op->kind == KERNEL_MATMUL      ? matmul_form(gpu, op->dtype)->name
                     : op->kind == KERNEL_ATTENTION ? kernel_attention_form(gpu, op->flash)->name
                                                    : gpu->memory->name;
  return !is_shared(form);
}

char *kernel_measured(const HwGpu *gpu) {
  const struct {
    const char *kind, *form;
  } kinds[] = {{"matmuls", gpu->matmul[HW_MATMUL_16BIT]->name},
               {"attention", kernel_attention_form(gpu, KERNEL_FLASH_USUAL)->name},
               {"memory-bound", gpu->memory->name}};
  GString *text = g_string_new(NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (!is_shared(kinds[i].form))
      g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", kinds[i].kind);
  return g_string_free(text->len > 0 ? text : g_string_append(text, "none"), FALSE);
}

char *kernel_basis(const HwGpu *gpu) {
  g_autofree char *measured = kernel_measured(gpu);
  return g_strdup_printf("kernels measured on %s: %s; others as on GPUs of compute capability %" G_GUINT64_FORMAT,
                         gpu->name, measured, gpu->compute_capability);
}
