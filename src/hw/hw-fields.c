/* Which catalogue files there are, and the fields of their sections. */
#include "hw-fields.h"

#include "hw-catalog.h"

#define GPU(key, kind, field, required)                                                                                \
  { key, kind, G_STRUCT_OFFSET(HwGpu, field), required }
#define LINK(key, kind, field)                                                                                         \
  { key, kind, G_STRUCT_OFFSET(HwLink, field), TRUE }
#define PLATFORM(key, kind, field)                                                                                     \
  { key, kind, G_STRUCT_OFFSET(HwPlatform, field), TRUE }
#define HOST(key, field)                                                                                               \
  { key, HW_FIELD_TIME, G_STRUCT_OFFSET(HwHost, field), TRUE }
#define ORIGIN(Type)                                                                                                   \
  {"source", HW_FIELD_TEXT, G_STRUCT_OFFSET(Type, source), TRUE, .about = TRUE},                                       \
      {"trust", HW_FIELD_NAME, G_STRUCT_OFFSET(Type, trust), TRUE, hw_trust_names, .about = TRUE}, {                   \
    "note", HW_FIELD_TEXT, G_STRUCT_OFFSET(Type, note), FALSE, .about = TRUE                                           \
  }

static const HwField gpu_fields[] = {
    GPU("architecture", HW_FIELD_TEXT, architecture, TRUE),
    GPU("compute_capability", HW_FIELD_COUNT, compute_capability, TRUE),
    GPU("peak_bf16", HW_FIELD_FLOP_RATE, peak_bf16, FALSE),
    GPU("matmul_bf16", HW_FIELD_FLOP_RATE, matmul_bf16, FALSE),
    GPU("peak_fp16", HW_FIELD_FLOP_RATE, peak_fp16, FALSE),
    GPU("matmul_fp16", HW_FIELD_FLOP_RATE, matmul_fp16, FALSE),
    GPU("peak_fp8", HW_FIELD_FLOP_RATE, peak_fp8, FALSE),
    GPU("matmul_fp8", HW_FIELD_FLOP_RATE, matmul_fp8, FALSE),
    GPU("peak_tf32", HW_FIELD_FLOP_RATE, peak_tf32, FALSE),
    GPU("matmul_tf32", HW_FIELD_FLOP_RATE, matmul_tf32, FALSE),
    GPU("peak_fp32", HW_FIELD_FLOP_RATE, peak_fp32, TRUE),
    GPU("matmul_fp32", HW_FIELD_FLOP_RATE, matmul_fp32, TRUE),
    GPU("memory_bandwidth", HW_FIELD_BYTE_RATE, memory_bandwidth, TRUE),
    GPU("memory_bandwidth_sustained", HW_FIELD_BYTE_RATE, memory_bandwidth_sustained, TRUE),
    GPU("kernel_floor", HW_FIELD_TIME, kernel_floor, TRUE),
    GPU("memory_nominal", HW_FIELD_BYTES, memory_nominal, TRUE),
    GPU("memory_usable", HW_FIELD_BYTES, memory_usable, TRUE),
    GPU("context", HW_FIELD_BYTES, context_bytes, TRUE),
    GPU("workspace", HW_FIELD_BYTES, workspace_bytes, TRUE),
    GPU("sms", HW_FIELD_COUNT, sms, TRUE),
    GPU("l2", HW_FIELD_BYTES, l2_bytes, TRUE),
    ORIGIN(HwGpu),
};

static const HwField link_fields[] = {
    {"scope", HW_FIELD_NAME, G_STRUCT_OFFSET(HwLink, scope), TRUE, hw_link_scope_names},
    LINK("raw", HW_FIELD_BYTE_RATE, raw),
    LINK("achievable", HW_FIELD_BYTE_RATE, achievable),
    {"pageable", HW_FIELD_BYTE_RATE, G_STRUCT_OFFSET(HwLink, pageable), FALSE, NULL},
    ORIGIN(HwLink),
};

static const char *const nccl_tests_names[] = {"threads", "processes", NULL};
static const char *const no_yes_names[] = {"no", "yes", NULL};

static const HwField platform_fields[] = {
    PLATFORM("nic_latency", HW_FIELD_TIME, nic_latency),
    PLATFORM("hop_latency", HW_FIELD_TIME, hop_latency),
    PLATFORM("launch_floor", HW_FIELD_TIME, launch_floor),
    PLATFORM("launch_per_gpu", HW_FIELD_TIME, launch_per_gpu),
    PLATFORM("graph_floor", HW_FIELD_TIME, graph_floor),
    {"gdr", HW_FIELD_NAME, G_STRUCT_OFFSET(HwPlatform, gdr), TRUE, no_yes_names},
    {"nccl_tests", HW_FIELD_NAME, G_STRUCT_OFFSET(HwPlatform, nccl_tests), TRUE, nccl_tests_names},
    ORIGIN(HwPlatform),
};

#define MATMUL(key, kind, field)                                                                                       \
  { key, kind, G_STRUCT_OFFSET(HwMatmul, field), TRUE }
#define ATTENTION(key, kind, field)                                                                                    \
  { key, kind, G_STRUCT_OFFSET(HwAttention, field), TRUE }
#define MEMORY(key, field)                                                                                             \
  { key, HW_FIELD_NUMBER, G_STRUCT_OFFSET(HwMemory, field), TRUE }

static const HwField host_fields[] = {
    HOST("forward_kernel", forward_kernel),
    HOST("backward_kernel", backward_kernel),
    HOST("matmul", matmul),
    HOST("compiled_kernel", compiled_kernel),
    HOST("collective", collective),
    HOST("fsdp_unit", fsdp_unit),
    HOST("deepspeed_module", deepspeed_module),
    HOST("gradient_hook", gradient_hook),
    HOST("optimizer_step", optimizer_step),
    HOST("optimizer_tensor", optimizer_tensor),
    HOST("copy", copy),
    HOST("micro_batch", micro_batch),
    HOST("segment_take", segment_take),
    HOST("segment_give", segment_give),
    ORIGIN(HwHost),
};

static const HwField matmul_fields[] = {
    MATMUL("tile_m", HW_FIELD_COUNT, tile_m),
    MATMUL("tile_n", HW_FIELD_COUNT, tile_n),
    MATMUL("rate", HW_FIELD_NUMBER, rate),
    MATMUL("half_tile", HW_FIELD_NUMBER, half),
    MATMUL("quarter_tile", HW_FIELD_NUMBER, quarter),
    MATMUL("fill", HW_FIELD_NUMBER, fill),
    MATMUL("quantum", HW_FIELD_NUMBER, quantum),
    MATMUL("split", HW_FIELD_NUMBER, split),
    MATMUL("bandwidth", HW_FIELD_NUMBER, bandwidth),
    MATMUL("serial", HW_FIELD_NUMBER, serial),
    MATMUL("floor", HW_FIELD_TIME, floor),
    MATMUL("dgrad", HW_FIELD_NUMBER, dgrad),
    MATMUL("wgrad", HW_FIELD_NUMBER, wgrad),
    MATMUL("sustained", HW_FIELD_NUMBER, sustained),
    ORIGIN(HwMatmul),
};

static const HwField attention_fields[] = {
    ATTENTION("block", HW_FIELD_COUNT, block),
    ATTENTION("forward", HW_FIELD_NUMBER, forward),
    ATTENTION("backward", HW_FIELD_NUMBER, backward),
    ATTENTION("narrow_forward", HW_FIELD_NUMBER, narrow_forward),
    ATTENTION("narrow_backward", HW_FIELD_NUMBER, narrow_backward),
    ATTENTION("fill_forward", HW_FIELD_NUMBER, fill_forward),
    ATTENTION("fill_backward", HW_FIELD_NUMBER, fill_backward),
    ATTENTION("first_forward", HW_FIELD_NUMBER, first_forward),
    ATTENTION("first_backward", HW_FIELD_NUMBER, first_backward),
    ATTENTION("bandwidth", HW_FIELD_NUMBER, bandwidth),
    ATTENTION("floor_forward", HW_FIELD_TIME, floor_forward),
    ATTENTION("floor_backward", HW_FIELD_TIME, floor_backward),
    ATTENTION("sustained", HW_FIELD_NUMBER, sustained),
    ORIGIN(HwAttention),
};

#define CONTENTION(key, field)                                                                                         \
  { key, HW_FIELD_NUMBER, G_STRUCT_OFFSET(HwContention, field), TRUE }
static const HwField contention_fields[] = {
    CONTENTION("all_gather", all_gather),         CONTENTION("reduce_scatter", reduce_scatter),
    CONTENTION("all_reduce", all_reduce),         CONTENTION("saturating", saturating),
    CONTENTION("beside_compute", beside_compute), ORIGIN(HwContention),
};

static const HwField variation_fields[] = {
    {"spread", HW_FIELD_NUMBER, G_STRUCT_OFFSET(HwVariation, spread), TRUE},
    ORIGIN(HwVariation),
};

static const HwField memory_fields[] = {
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
    [HW_MEMORIES] = SHELF("kernels-memory.ini", "memory", memory_fields, HwMemory),
};
