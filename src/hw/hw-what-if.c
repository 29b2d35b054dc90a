/* SPDX-License-Identifier: MIT */
/* Factors over the figures of a cluster. */
#include "hw-what-if.h"

#include <math.h>

#include "hw-cluster.h"

static void scale_gpu(const HwWhatIf *factors, HwCluster *cluster) {
  HwGpu *gpu = &cluster->other_gpu;
  *gpu = *cluster->gpu;
  double *const rates[] = {&gpu->peak_bf16,   &gpu->peak_fp16,   &gpu->peak_fp8,    &gpu->peak_tf32,
                           &gpu->peak_fp32,   &gpu->matmul_bf16, &gpu->matmul_fp16, &gpu->matmul_fp8,
                           &gpu->matmul_tf32, &gpu->matmul_fp32};
  for (gsize i = 0; i < G_N_ELEMENTS(rates); i++)
    *rates[i] *= factors->matmul_rate;
  gpu->memory_bandwidth *= factors->memory_bandwidth;
  gpu->memory_bandwidth_sustained *= factors->memory_bandwidth;
  gpu->memory_usable = (guint64)((double)gpu->memory_usable * factors->memory_size);
  cluster->gpu = gpu;
}

/* A cluster without what_if keeps the catalogue's GPU: equal pointers, equal kernels. */
static gboolean concerns_gpu(const HwWhatIf *factors) {
  return factors->matmul_rate != 1 || factors->memory_bandwidth != 1 || factors->memory_size != 1;
}

void hw_what_if_apply(const HwWhatIf *factors, HwCluster *cluster) {
  if (concerns_gpu(factors))
    scale_gpu(factors, cluster);
  cluster->intra_bandwidth *= factors->node_bandwidth;
  cluster->nic_bandwidth *= factors->network_bandwidth;
  cluster->network_latency = factors->network_latency;
  cluster->oversubscription = MAX(1, cluster->oversubscription * factors->leaf_oversubscription);
}

void hw_what_if_host(double rate, HwCluster *cluster) {
  HwHost *host = &cluster->other_host;
  if (rate == 1)
    return;
  *host = *cluster->host;
  SimTime *const times[] = {
      &host->forward_kernel,  &host->backward_kernel,  &host->matmul,    &host->layer_function,   &host->checkpoint,
      &host->compiled_kernel, &host->collective,       &host->fsdp_unit, &host->deepspeed_module, &host->gradient_hook,
      &host->optimizer_step,  &host->optimizer_tensor, &host->copy,      &host->listed_rank,      &host->micro_batch};
  for (gsize i = 0; i < G_N_ELEMENTS(times); i++)
    *times[i] = (SimTime)round((double)*times[i] / rate);
  cluster->host = host;
}
