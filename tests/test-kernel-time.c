/* SPDX-License-Identifier: MIT */
/* The forms of kernel times on a device with round figures, what grows with what, contention, and shipped devices. */
#include <string.h>

#include "harness.h"
#include "kernel-host.h"
#include "kernel-time.h"

/* 100 SMs, 100 TFLOP/s in bf16 (1 TFLOP/s an SM), 1 TB/s, floor 2 us. Tiles of 128 × 256, whole waves, half rate at
 * half size and a tenth at a quarter, so that the large tile is the one to take; sustained clocks are half of a
 * burst's. */
static const HwMatmul matmul = {.name = "round.16bit",
                                .tile_m = 128,
                                .tile_n = 256,
                                .rate = 1,
                                .half = 0.5,
                                .quarter = 0.1,
                                .fill = 64,
                                .quantum = 1,
                                .split = 1,
                                .bandwidth = 1,
                                .serial = 0,
                                .floor = SIM_MICROSECOND,
                                .dgrad = 1,
                                .wgrad = 0.5,
                                .sustained = 0.5};
static const HwAttention attention = {.name = "round.flash2",
                                      .block = 128,
                                      .forward = 0.5,
                                      .backward = 0.25,
                                      .narrow_forward = 0.5,
                                      .narrow_backward = 0.5,
                                      .fill_forward = 128,
                                      .fill_backward = 128,
                                      .first_forward = 0.5,
                                      .first_backward = 0.25,
                                      .bandwidth = 1,
                                      .floor_forward = SIM_MICROSECOND,
                                      .floor_backward = SIM_MICROSECOND,
                                      .sustained = 1};
static const HwMemory memory = {.name = "round.memory",
                                .bandwidth = 1e12,
                                .stream = 1,
                                .norm_forward = 0.5,
                                .norm_backward = 0.25,
                                .rotary = 0.5,
                                .softmax_forward = 0.5,
                                .softmax_backward = 0.5,
                                .loss_forward = 0.5,
                                .loss_backward = 0.5,
                                .gather = 0.5,
                                .optimizer = 0.5,
                                .reduction = 0.5};
static const HwContention contended = {.all_gather = 2, .reduce_scatter = 3, .all_reduce = 2.5, .saturating = 0.5};
static const HwGpu device = {.name = "round",
                             .compute_capability = 80,
                             .sms = 100,
                             .peak_bf16 = 125e12,
                             .matmul_bf16 = 100e12,
                             .memory_bandwidth = 1.2e12,
                             .memory_bandwidth_sustained = 1e12,
                             .kernel_floor = 2 * SIM_MICROSECOND,
                             .matmul = {[HW_MATMUL_16BIT] = &matmul},
                             .attention = {[HW_FLASH_2] = &attention},
                             .memory = &memory,
                             .contention = &contended};

static KernelOp matmul_of(guint64 m, guint64 n, guint64 k) {
  return (KernelOp){.kind = KERNEL_MATMUL, .dtype = KERNEL_BF16, .batch = 1, .m = m, .n = n, .k = k, .bytes = 1};
}

static void tiles_and_waves(void) {
  /* 10 × 10 tiles are one wave on 100 SMs. A tile is 2 × 128 × 256 × (8128 + 64) = 536 870 912 FLOP: 536.870912 us at
   * 1 TFLOP/s, and the floor of 1 us. Traffic of one byte is nothing. */
  KernelOp op = matmul_of(1280, 2560, 8128);
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 537870912);
  /* One row more: 110 tiles, a second wave of 10. Half tiles of 64 × 256 run at half the rate: 21 × 10 of them are
   * three waves of a half tile at half rate, 3 × 536.87; k split in two: 220 parts, 3 waves of 2 × 128 × 256 × (4064 +
   * 64) = 270 532 608 FLOP, 811.597824 us, and 8 × 1281 × 2560 × 2 bytes of parts, 52.46976 us; in four: 440 parts, 5
   * waves of 137.363456 us, and twice the parts, 104.93952 us: the least. */
  op.m = 1281;
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 5 * 137363456 + 104939520 + 1000000);
  /* At half the clocks all arithmetic takes twice as long. */
  op.m = 1280;
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 2 * 536870912 + 1000000);
  /* A wgrad runs at half the rate of a forward. */
  op.pass = KERNEL_WGRAD;
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 2 * 536870912 + 1000000);
}

static void traffic_of_matmuls(void) {
  /* 1e9 bytes at 1 TB/s are 1 ms, longer than the arithmetic of one wave. */
  KernelOp op = matmul_of(1280, 2560, 8128);
  op.bytes = 1000000000;
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), SIM_MILLISECOND + SIM_MICROSECOND);
}

static void blocks_of_attention(void) {
  /* 100 heads of 1024 queries: 800 blocks, eight an SM, against 1024 + 128 keys: 8 × 1152 × 2 × 2 × 128 × 128 FLOP at
   * 0.5 TFLOP/s = 1207.959552 us. */
  KernelOp op = {
      .kind = KERNEL_ATTENTION, .dtype = KERNEL_BF16, .batch = 100, .m = 1024, .n = 1024, .k = 128, .bytes = 1};
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 1207959552 + 1000000);
  /* Causal: (1024 + 128) / 2 keys on average: 8 × (576 + 128) × 65 536 / 0.5e12 = 738.197504 us. */
  op.causal = TRUE;
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 738197504 + 1000000);
  /* Backward: five matmuls for two at half the rate, five times as long; traffic (one byte, 1 ps) adds to it. */
  op.pass = KERNEL_DGRAD;
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 5 * 738197504ll + 1 + 1000000);
  /* The first FlashAttention at a quarter of that, and at half of it forward. */
  op.flash = KERNEL_FLASH_1;
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 4 * 5 * 738197504ll + 1 + 1000000);
  op.pass = KERNEL_FORWARD;
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 2 * 738197504 + 1000000);
  op.flash = KERNEL_FLASH_USUAL;
  /* Head dimension 64: half the FLOP at half the rate. */
  op.pass = KERNEL_FORWARD;
  op.k = 64;
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 738197504 + 1000000);
  /* One head: eight blocks on eight SMs; the longest sees all 1024 keys: 1152 × 65 536 / 0.5e12 = 150.994944 us. */
  op.k = 128;
  op.batch = 1;
  CU_ASSERT_EQUAL(kernel_time_burst(&device, &op), 150994944 + 1000000);
}

/* H100 takes FlashAttention-2 unless told, B200 cuDNN's; an A100 has but the one. */
static void flash_kernels(void) {
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  const struct {
    const char *gpu;
    KernelFlash flash;
    const char *form;
  } cases[] = {{"h100-sxm5-80gb", KERNEL_FLASH_USUAL, "h100-sxm5-80gb.flash2"},
               {"h100-sxm5-80gb", KERNEL_FLASH_3, "h100-sxm5-80gb.flash3"},
               {"b200-sxm-180gb", KERNEL_FLASH_USUAL, "b200-sxm-180gb.flash3"},
               {"a100-sxm4-80gb", KERNEL_FLASH_1, "a100-sxm4-80gb.flash2"},
               {"a100-sxm4-80gb", KERNEL_FLASH_3, "a100-sxm4-80gb.flash2"},
               {"rtx5090", KERNEL_FLASH_USUAL, "sm120.flash2"}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    CU_ASSERT_STRING_EQUAL(
        kernel_attention_form(hw_catalog_gpu(catalog, cases[i].gpu, NULL, NULL), cases[i].flash)->name, cases[i].form);
}

static void memory_operations_go_by_bytes(void) {
  /* 1 MB at 1 TB/s is 1 us; each launch 2 us. Arithmetic is not charged, and fp8 need not have tensor cores. */
  KernelOp op = {.kind = KERNEL_MEMORY, .dtype = KERNEL_FP8, .batch = 1, .flops = 1e15, .bytes = 1000000};
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 3 * SIM_MICROSECOND);
  op.launches = 4;
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 9 * SIM_MICROSECOND);
  /* Norms reach half of the bandwidth forward and a quarter backward. */
  op.launches = 1;
  op.kind = KERNEL_NORM;
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 4 * SIM_MICROSECOND);
  op.pass = KERNEL_DGRAD;
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 6 * SIM_MICROSECOND);
  op.bytes = 0; /* a kernel that does nothing takes the floor */
  CU_ASSERT_EQUAL(kernel_time(&device, &op), 2 * SIM_MICROSECOND);
}

static void borrowed_shares_keep_the_sms_time(void) {
  /* Measured at 1 TB/s, 1 MB of a norm takes 2 us, of which 1 us is its bytes' way. Memory of 2 TB/s makes the way
   * 0.5 us and leaves the other; a copy, and rows of an embedding, go by the share alone: 0.5 and 1 us. Each launch
   * takes 2 us. */
  HwGpu faster = device;
  faster.memory_bandwidth_sustained = 2e12;
  KernelOp op = {.kind = KERNEL_NORM, .dtype = KERNEL_BF16, .batch = 1, .bytes = 1000000};
  CU_ASSERT_EQUAL(kernel_time(&faster, &op), 3500 * SIM_NANOSECOND);
  op.kind = KERNEL_LOSS;
  CU_ASSERT_EQUAL(kernel_time(&faster, &op), 3500 * SIM_NANOSECOND);
  op.kind = KERNEL_MEMORY;
  CU_ASSERT_EQUAL(kernel_time(&faster, &op), 2500 * SIM_NANOSECOND);
  op.kind = KERNEL_GATHER;
  CU_ASSERT_EQUAL(kernel_time(&faster, &op), 3 * SIM_MICROSECOND);
}

static void contention(void) {
  /* 20 of 100 SMs held: 80 free run 100 tiles in two waves. The whole device is {0, 1}. */
  KernelOp op = matmul_of(1280, 2560, 8128);
  CU_ASSERT_EQUAL(kernel_time_shared(&device, &op, (KernelShare){0, 1}), kernel_time(&device, &op));
  SimTime alone = kernel_time(&device, &op), beside = kernel_time_shared(&device, &op, (KernelShare){20, 1});
  CU_ASSERT_TRUE(beside > alone && beside <= 2 * alone);
  /* Half of the bandwidth doubles what is bound by it: 1 MB, 2 us, and the floor. */
  KernelOp copy = {.kind = KERNEL_MEMORY, .batch = 1, .bytes = 1000000};
  CU_ASSERT_EQUAL(kernel_time_shared(&device, &copy, (KernelShare){20, 0.5}), 4 * SIM_MICROSECOND);
  /* 80 held: 20 of the 50 SMs that fill the memory, 0.4 of it: 2.5 us. */
  CU_ASSERT_EQUAL(kernel_time_shared(&device, &copy, (KernelShare){80, 1}), 4500000);
  CU_ASSERT_EQUAL(kernel_memory_traffic(&device, KERNEL_ALL_REDUCE), 2.5);
  CU_ASSERT_EQUAL(kernel_memory_traffic(&device, KERNEL_ALL_GATHER), 2);
  CU_ASSERT_EQUAL(kernel_memory_traffic(&device, KERNEL_REDUCE_SCATTER), 3);
  /* Collectives that move 400 GB/s on 24 channels leave 0.6 of 1 TB/s. */
  KernelShare share = kernel_share_beside(&device, 24, 400e9);
  CU_ASSERT_EQUAL(share.busy_sms, 24);
  CU_ASSERT_DOUBLE_EQUAL(share.bandwidth, 0.6, 1e-12);
  CU_ASSERT_EQUAL(kernel_share_beside(&device, 1000, 1e15).busy_sms, 99);
  CU_ASSERT_EQUAL(kernel_share_beside(&device, 1, 1e15).bandwidth, KERNEL_LEAST_BANDWIDTH);
}

/* Traces of A100 jobs (HolisticTraceAnalysis test data), the same kernels alone and beside NCCL on 24 channels: matmuls
 * 1.53 (send and receive) to 1.94 times as long (all-reduce in LL), elementwise 1.42 to 2.27; on 8 channels matmuls
 * 1.01 to 1.32, elementwise 1.02 to 1.11. An all-reduce of 230 GB/s on the bus (eight A100, aiconfigurator's
 * nccl-tests) on 24 channels. The model stands at or below the low end, and above nothing. */
static void contention_as_measured(void) {
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  const HwGpu *a100 = hw_catalog_gpu(catalog, "a100-sxm4-80gb", NULL, NULL);
  KernelOp op = matmul_of(4096, 4096, 4096), copy = {.kind = KERNEL_MEMORY, .batch = 1, .bytes = 1 << 30};
  op.bytes = 3 * 2 * 4096 * 4096;
  double traffic = kernel_memory_traffic(a100, KERNEL_ALL_REDUCE);
  const struct {
    guint32 channels;
    double bus, matmul_most, copy_least, copy_most;
  } cases[] = {{24, 230e9, 1.94, 1.42, 2.27}, {8, 77e9, 1.32, 1.02, 1.15}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    KernelShare share = kernel_share_beside(a100, cases[i].channels, traffic * cases[i].bus);
    double slower = (double)kernel_time_shared(a100, &op, share) / (double)kernel_time(a100, &op);
    CU_ASSERT_TRUE(slower > 1.01 && slower < cases[i].matmul_most);
    slower = (double)kernel_time_shared(a100, &copy, share) / (double)kernel_time(a100, &copy);
    CU_ASSERT_TRUE(slower > cases[i].copy_least && slower < cases[i].copy_most);
  }
}

/* On every shipped GPU: more work takes no less, and fewer SMs or less bandwidth makes nothing faster. */
static void monotone(void) {
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  for (const char *const *name = hw_catalog_gpu_names(catalog); *name != NULL; name++) {
    const HwGpu *gpu = hw_catalog_gpu(catalog, *name, NULL, NULL);
    for (KernelKind kind = 0; kind < KERNEL_KINDS; kind++)
      for (KernelPass pass = 0; pass < KERNEL_PASSES; pass++) {
        SimTime last = 0;
        for (guint64 m = 64; m <= 65536; m = m * 3 / 2) {
          KernelOp op = {.kind = kind,
                         .dtype = KERNEL_FP16,
                         .batch = 8,
                         .m = m,
                         .n = 2048,
                         .k = 128,
                         .pass = pass,
                         .bytes = 2 * 8 * (m * 128 + 2048 * 128 + m * 2048)};
          SimTime time = kernel_time(gpu, &op);
          CU_ASSERT_TRUE(time >= last && time >= SIM_MICROSECOND);
          last = time;
          SimTime before = time;
          for (double busy = 0; busy <= 64; busy += 8) {
            SimTime shared = kernel_time_shared(gpu, &op, (KernelShare){busy, 1 - busy / 100});
            CU_ASSERT_TRUE(shared >= before);
            before = shared;
          }
        }
      }
  }
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
  for (KernelKind kind = 0; kind < KERNEL_KINDS; kind++)
    CU_ASSERT_PTR_NOT_NULL(kernel_kind_names[kind]);
  CU_ASSERT_PTR_NULL(kernel_kind_names[KERNEL_KINDS]);
}

/* Every dtype that a GPU has has a form; and whose measurements they are is said. */
static void shipped_devices(void) {
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  for (const char *const *name = hw_catalog_gpu_names(catalog); *name != NULL; name++) {
    const HwGpu *gpu = hw_catalog_gpu(catalog, *name, NULL, NULL);
    for (KernelDtype dtype = 0; dtype < KERNEL_DTYPES; dtype++) {
      KernelOp op = {
          .kind = KERNEL_MATMUL, .dtype = dtype, .batch = 1, .m = 8192, .n = 8192, .k = 8192, .bytes = 402653184};
      if (!kernel_supports(gpu, dtype))
        continue;
      /* 2 × 8192^3 FLOP: never faster than the data sheet, never below a third of it (H100 PCIe, NVL and L4: a quarter,
       * their power limits hold them down). */
      double rate = 1099511627776.0 / sim_time_to_seconds(kernel_time(gpu, &op));
      CU_ASSERT_TRUE(rate < kernel_peak(gpu, dtype));
      CU_ASSERT_TRUE(rate > 0.25 * kernel_peak(gpu, dtype));
    }
  }
  KernelOp op = matmul_of(4096, 4096, 4096);
  g_autofree char *own = kernel_basis(hw_catalog_gpu(catalog, "h100-sxm5-80gb", NULL, NULL));
  CU_ASSERT_STRING_EQUAL(own, "kernels measured on h100-sxm5-80gb: matmuls, attention, memory-bound; others as on GPUs "
                              "of compute capability 90");
  CU_ASSERT_TRUE(kernel_is_measured(hw_catalog_gpu(catalog, "h100-sxm5-80gb", NULL, NULL), &op));
  const HwGpu *gh200 = hw_catalog_gpu(catalog, "gh200-96gb", NULL, NULL);
  CU_ASSERT_FALSE(kernel_is_measured(gh200, &op));
  g_autofree char *borrowed = kernel_basis(gh200);
  CU_ASSERT_STRING_EQUAL(borrowed, "kernels measured on gh200-96gb: none; others as on GPUs of compute capability 90");
}

static void host_time(void) {
  const HwHost host = {.forward_kernel = 7, .backward_kernel = 8, .matmul = 15, .compiled_kernel = 5, .collective = 40};
  KernelOp op = {.kind = KERNEL_NORM, .launches = 8};
  CU_ASSERT_EQUAL(kernel_host_time(&host, &op), 8 * 7);
  op.pass = KERNEL_DGRAD;
  CU_ASSERT_EQUAL(kernel_host_time(&host, &op), 8 * 8);
  op.compiled = TRUE;
  op.launches = 0;
  CU_ASSERT_EQUAL(kernel_host_time(&host, &op), 5);
  KernelOp mm = matmul_of(1, 1, 1);
  CU_ASSERT_EQUAL(kernel_host_time(&host, &mm), 15);
  CU_ASSERT_EQUAL(kernel_host_time(NULL, &mm), 0);
  CU_ASSERT_EQUAL(kernel_host_cost(&host, KERNEL_HOST_COLLECTIVE), 40);
  CU_ASSERT_EQUAL(kernel_host_cost(NULL, KERNEL_HOST_COLLECTIVE), 0);
}

int main(void) {
  return harness_run("kernel-time",
                     (HarnessCase[]){{"tiles and waves", tiles_and_waves},
                                     {"traffic of matmuls", traffic_of_matmuls},
                                     {"blocks of attention", blocks_of_attention},
                                     {"flash kernels", flash_kernels},
                                     {"memory operations go by bytes", memory_operations_go_by_bytes},
                                     {"borrowed shares keep the SMs' time", borrowed_shares_keep_the_sms_time},
                                     {"contention", contention},
                                     {"contention as measured", contention_as_measured},
                                     {"monotone", monotone},
                                     {"dtypes", dtypes},
                                     {"shipped devices", shipped_devices},
                                     {"host time", host_time},
                                     {NULL, NULL}});
}
