/* SPDX-License-Identifier: MIT */
/* Which catalogue files there are, and the fields of their sections. */
#include "hw-fields.h"

#include <math.h>

#include "hw-catalog.h"

#define KEY(key, kind, Struct, member, ...) BASE_ROW(NULL, key, kind, Struct, member, __VA_ARGS__)
#define NEEDED                              .required = TRUE
/* Of a part that has such a thing at all, more than zero: a part without leaves the key out. */
#define SOME .min = 1
/* From zero on. */
#define ANY .max = INFINITY
#define ORIGIN(Struct)                                                                                                 \
  KEY("source", BASE_TEXT, Struct, source, NEEDED, .marks = HW_ABOUT),                                                 \
      KEY("trust", BASE_NAME, Struct, trust, NEEDED, .names = hw_trust_names, .marks = HW_ABOUT),                      \
      KEY("note", BASE_TEXT, Struct, note, .marks = HW_ABOUT)
#define SIZE(key, field)                 KEY(key, BASE_BYTES, HwGpu, field, .min = 1, .max = 0x1p50, NEEDED)
#define GPU(key, kind, field, ...)       KEY(key, kind, HwGpu, field, SOME, __VA_ARGS__)
#define LINK(key, field, ...)            KEY(key, BASE_BYTE_RATE, HwLink, field, SOME, __VA_ARGS__)
#define PLATFORM(key, field)             KEY(key, BASE_TIME, HwPlatform, field, NEEDED)
#define HOST(key, field)                 KEY(key, BASE_TIME, HwHost, field, NEEDED)
#define MATMUL(key, kind, field, ...)    KEY(key, kind, HwMatmul, field, NEEDED, __VA_ARGS__)
#define ATTENTION(key, kind, field, ...) KEY(key, kind, HwAttention, field, NEEDED, __VA_ARGS__)
#define MEMORY(key, field)               KEY(key, BASE_NUMBER, HwMemory, field, ANY, NEEDED)
#define CONTENTION(key, field)           KEY(key, BASE_NUMBER, HwContention, field, ANY, NEEDED)

static const BaseField gpu_fields[] = {
    GPU("architecture", BASE_TEXT, architecture, NEEDED),
    GPU("compute_capability", BASE_COUNT, compute_capability, NEEDED),
    GPU("peak_bf16", BASE_FLOP_RATE, peak_bf16),
    GPU("matmul_bf16", BASE_FLOP_RATE, matmul_bf16),
    GPU("peak_fp16", BASE_FLOP_RATE, peak_fp16),
    GPU("matmul_fp16", BASE_FLOP_RATE, matmul_fp16),
    GPU("peak_fp8", BASE_FLOP_RATE, peak_fp8),
    GPU("matmul_fp8", BASE_FLOP_RATE, matmul_fp8),
    GPU("peak_tf32", BASE_FLOP_RATE, peak_tf32),
    GPU("matmul_tf32", BASE_FLOP_RATE, matmul_tf32),
    GPU("peak_fp32", BASE_FLOP_RATE, peak_fp32, NEEDED),
    GPU("matmul_fp32", BASE_FLOP_RATE, matmul_fp32, NEEDED),
    GPU("memory_bandwidth", BASE_BYTE_RATE, memory_bandwidth, NEEDED),
    GPU("memory_bandwidth_sustained", BASE_BYTE_RATE, memory_bandwidth_sustained, NEEDED),
    GPU("power_limit", BASE_POWER, power_limit),
    GPU("power_measured", BASE_POWER, power_measured),
    KEY("kernel_floor", BASE_TIME, HwGpu, kernel_floor, NEEDED),
    SIZE("memory_nominal", memory_nominal),
    SIZE("memory_usable", memory_usable),
    SIZE("context", context_bytes),
    SIZE("workspace", workspace_bytes),
    GPU("sms", BASE_COUNT, sms, NEEDED),
    SIZE("l2", l2_bytes),
    ORIGIN(HwGpu),
};

static const BaseField link_fields[] = {
    KEY("scope", BASE_NAME, HwLink, scope, NEEDED, .names = hw_link_scope_names),
    LINK("raw", raw, NEEDED),
    LINK("achievable", achievable, NEEDED),
    LINK("pageable", pageable),
    LINK("managed", managed),
    ORIGIN(HwLink),
};

static const char *const nccl_tests_names[] = {"threads", "processes", NULL};

static const BaseField platform_fields[] = {
    PLATFORM("nic_latency", nic_latency),
    PLATFORM("hop_latency", hop_latency),
    PLATFORM("launch_floor", launch_floor),
    PLATFORM("launch_per_gpu", launch_per_gpu),
    PLATFORM("graph_floor", graph_floor),
    KEY("peer", BASE_TIME, HwPlatform, peer),
    KEY("short_peer", BASE_TIME, HwPlatform, short_peer),
    KEY("short_bytes", BASE_BYTES, HwPlatform, short_bytes, .max = 0x1p30),
    KEY("nvls_chunk", BASE_BYTES, HwPlatform, nvls_chunk, .max = 0x1p30),
    KEY("nvls_tree_chunk", BASE_BYTES, HwPlatform, nvls_tree_chunk, .max = 0x1p30),
    KEY("gdr", BASE_FLAG, HwPlatform, gdr, NEEDED),
    KEY("nccl_tests", BASE_NAME, HwPlatform, nccl_tests, NEEDED, .names = nccl_tests_names),
    ORIGIN(HwPlatform),
};

static const BaseField host_fields[] = {
    HOST("forward_kernel", forward_kernel),
    HOST("backward_kernel", backward_kernel),
    HOST("matmul", matmul),
    HOST("layer_function", layer_function),
    HOST("checkpoint", checkpoint),
    HOST("compiled_kernel", compiled_kernel),
    HOST("collective", collective),
    HOST("check", check),
    HOST("checked_rank", checked_rank),
    HOST("checked_rank_far", checked_rank_far),
    HOST("fsdp_unit", fsdp_unit),
    HOST("deepspeed_module", deepspeed_module),
    HOST("gradient_hook", gradient_hook),
    HOST("optimizer_step", optimizer_step),
    HOST("optimizer_tensor", optimizer_tensor),
    HOST("copy", copy),
    HOST("listed_rank", listed_rank),
    HOST("micro_batch", micro_batch),
    HOST("segment_take", segment_take),
    HOST("segment_give", segment_give),
    ORIGIN(HwHost),
};

static const BaseField matmul_fields[] = {
    MATMUL("tile_m", BASE_COUNT, tile_m, SOME),
    MATMUL("tile_n", BASE_COUNT, tile_n, SOME),
    MATMUL("rate", BASE_NUMBER, rate, ANY),
    MATMUL("half_tile", BASE_NUMBER, half, ANY),
    MATMUL("quarter_tile", BASE_NUMBER, quarter, ANY),
    MATMUL("fill", BASE_NUMBER, fill, ANY),
    MATMUL("quantum", BASE_NUMBER, quantum, ANY),
    MATMUL("split", BASE_NUMBER, split, ANY),
    MATMUL("bandwidth", BASE_NUMBER, bandwidth, ANY),
    MATMUL("serial", BASE_NUMBER, serial, ANY),
    MATMUL("floor", BASE_TIME, floor),
    MATMUL("dgrad", BASE_NUMBER, dgrad, ANY),
    MATMUL("wgrad", BASE_NUMBER, wgrad, ANY),
    MATMUL("sustained", BASE_NUMBER, sustained, ANY),
    ORIGIN(HwMatmul),
};

static const BaseField attention_fields[] = {
    ATTENTION("block", BASE_COUNT, block, SOME),
    ATTENTION("forward", BASE_NUMBER, forward, ANY),
    ATTENTION("backward", BASE_NUMBER, backward, ANY),
    ATTENTION("narrow_forward", BASE_NUMBER, narrow_forward, ANY),
    ATTENTION("narrow_backward", BASE_NUMBER, narrow_backward, ANY),
    ATTENTION("fill_forward", BASE_NUMBER, fill_forward, ANY),
    ATTENTION("fill_backward", BASE_NUMBER, fill_backward, ANY),
    ATTENTION("first_forward", BASE_NUMBER, first_forward, ANY),
    ATTENTION("first_backward", BASE_NUMBER, first_backward, ANY),
    ATTENTION("bandwidth", BASE_NUMBER, bandwidth, ANY),
    ATTENTION("floor_forward", BASE_TIME, floor_forward),
    ATTENTION("floor_backward", BASE_TIME, floor_backward),
    ATTENTION("sustained", BASE_NUMBER, sustained, ANY),
    ORIGIN(HwAttention),
};

static const BaseField contention_fields[] = {
    CONTENTION("all_gather", all_gather),         CONTENTION("reduce_scatter", reduce_scatter),
    CONTENTION("all_reduce", all_reduce),         CONTENTION("saturating", saturating),
    CONTENTION("beside_compute", beside_compute), ORIGIN(HwContention),
};

static const BaseField variation_fields[] = {
    KEY("spread", BASE_NUMBER, HwVariation, spread, ANY, NEEDED),
    ORIGIN(HwVariation),
};

static const BaseField power_fields[] = {
    KEY("static", BASE_NUMBER, HwPower, fixed, .max = 1, NEEDED),
    KEY("rest_voltage", BASE_NUMBER, HwPower, rest_voltage, .max = 1, NEEDED),
    ORIGIN(HwPower),
};

static const BaseField memory_fields[] = {
    KEY("bandwidth", BASE_BYTE_RATE, HwMemory, bandwidth, SOME, NEEDED),
    MEMORY("stream", stream),
    MEMORY("norm_forward", norm_forward),
    MEMORY("norm_backward", norm_backward),
    MEMORY("rotary", rotary),
    MEMORY("softmax_forward", softmax_forward),
    MEMORY("softmax_backward", softmax_backward),
    MEMORY("loss_forward", loss_forward),
    MEMORY("loss_backward", loss_backward),
    MEMORY("gather", gather),
    MEMORY("optimizer", optimizer),
    MEMORY("reduction", reduction),
    ORIGIN(HwMemory),
};

#define SHELF(file, singular, fields, type)                                                                            \
  { file, singular, fields, G_N_ELEMENTS(fields), sizeof(type) }
const HwKindInfo hw_kinds[HW_KINDS] = {
    [HW_GPUS] = SHELF("gpus.ini", "gpu", gpu_fields, HwGpu),
    [HW_LINKS] = SHELF("links.ini", "link", link_fields, HwLink),
    [HW_PLATFORMS] = SHELF("platforms.ini", "platform", platform_fields, HwPlatform),
    [HW_HOSTS] = SHELF("hosts.ini", "host", host_fields, HwHost),
    [HW_MATMULS] = SHELF("kernels-matmul.ini", "matmul", matmul_fields, HwMatmul),
    [HW_ATTENTIONS] = SHELF("kernels-attention.ini", "attention", attention_fields, HwAttention),
    [HW_CONTENTIONS] = SHELF("contention.ini", "contention", contention_fields, HwContention),
    [HW_VARIATIONS] = SHELF("variation.ini", "variation", variation_fields, HwVariation),
    [HW_POWERS] = SHELF("power.ini", "power", power_fields, HwPower),
    [HW_MEMORIES] = SHELF("kernels-memory.ini", "memory", memory_fields, HwMemory),
};
