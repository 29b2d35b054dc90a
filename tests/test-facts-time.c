/* SPDX-License-Identifier: MIT */
/* What a step waits for under one setting and under another: facts from public reports and documentation. */
#include "facts.h"

#define DEEPSPEED(STAGE) "parallel.framework=deepspeed", "parallel.zero_stage=" STAGE
#define FSDP1(STAGE)     "parallel.framework=fsdp1", "parallel.zero_stage=" STAGE
#define DDP              "parallel.framework=ddp", "parallel.zero_stage=0"
#define MEGATRON         "parallel.framework=megatron", "parallel.zero_stage=1"
#define ONE_NODE         "cluster.nodes=1"
#define FULL             "training.activation_checkpointing=full"
#define SLOW_NETWORK     "cluster.nic_bandwidth=25 Gb/s"
#define ALONE                                                                                                          \
  DDP, "ddp.autocast=no", "cluster.topology=dgx-b200", "cluster.gpus_per_node=1", "training.optimizer_style=foreach"
#define LLAMA_1B                                                                                                       \
  ALONE, "training.sequence_length=512", "model.layers=16", "model.hidden_size=2048", "model.head_dim=64",             \
      "model.intermediate_size=8192", "model.tied_embeddings=yes"
#define PREFETCH(ELEMENTS)                                                                                             \
  DEEPSPEED("3"), "cluster.nic_bandwidth=100 Gb/s", "deepspeed.reduce_bucket_size=16777216",                           \
      "deepspeed.stage3_max_live_parameters=300000000", "deepspeed.stage3_max_reuse_distance=0",                       \
      "training.sequence_length=512", "deepspeed.stage3_prefetch_bucket_size=" ELEMENTS
#define SMALL_GROUPS "deepspeed.sub_group_size=100000000"
#define TITAN        "cluster.gpu=h100-sxm5-96gb-hbm2e", "training.micro_batch=2", "training.compile=yes"
#define LATE_GATHERS "fsdp.backward_prefetch=none"

#define PCIE_LORA(STAGE)                                                                                               \
  DEEPSPEED(STAGE), "cluster.topology=box-l40s", "cluster.gpus_per_node=4", ONE_NODE, "training.trainable=lora:8",     \
      "training.sequence_length=512", "training.gradient_accumulation=1"
#define NO_P2P_LORA(STAGE)                                                                                             \
  DEEPSPEED(STAGE), "cluster.topology=dgx-a100", "cluster.gpus_per_node=3", ONE_NODE, "nccl.p2p_disable=yes",          \
      "training.trainable=lora:8", "training.sequence_length=1024", "training.gradient_accumulation=2"
#define QWEN_72B                                                                                                       \
  "model.layers=80", "model.hidden_size=8192", "model.intermediate_size=29568", "model.vocab_size=152064",             \
      "cluster.topology=dgx-a100", ONE_NODE, DEEPSPEED("3"), "training.sequence_length=8000", FULL

static const Fact adapters[] = {
    /* Alpaca-LoRA on Llama-7B: almost 10 times as long a step under stage 3 as under stage 2 on four A40, which talk
     * over PCIe (deepspeedai/DeepSpeed#3349). What is trained is next to nothing, what is gathered is everything,
     * twice; how much that weighs depends on the tokens of a step, which the report does not state. */
    {"over PCIe LoRA is several times slower under stage 3", .a = {"llama2-7b", {PCIE_LORA("3")}},
     .b = {"llama2-7b", {PCIE_LORA("2")}}, .metric = "step", .least = 3, .most = 20},
    /* The same over NVLink is mild: with four V100 joined by it the reporter was no longer slower than elsewhere. */
    {"NVLink makes up for most of it",
     .a = {"llama2-7b", {PCIE_LORA("3"), "cluster.topology=dgx1-v100", "training.precision=fp16"}},
     .b = {"llama2-7b", {PCIE_LORA("2"), "cluster.topology=dgx1-v100", "training.precision=fp16"}}, .metric = "step",
     .least = 1, .most = 2},
    /* LoRA on Llama-3-8B, three A100 with NCCL_P2P_DISABLE=1: 60 s against 0.85 (hiyouga/LlamaFactory#3499). Host
     * memory at its best is a tenth of that apart. */
    {"without P2P too", .a = {"llama3-8b", {NO_P2P_LORA("3")}}, .b = {"llama3-8b", {NO_P2P_LORA("2")}},
     .metric = "step", .least = 4, .most = 80},
    /* Qwen2-72B under stage 3: with all but the top three layers frozen 1.05 samples/s on four A100, with LoRA in every
     * layer 0.39 on eight (deepspeedai/DeepSpeed#6507, hiyouga/LlamaFactory#5398): LoRA needs forward, forward again
     * and backward to the bottom, three thirds for one. */
    {"freezing what lies below beats LoRA everywhere", .a = {"llama2-70b", {QWEN_72B, "training.trainable=77-79"}},
     .b = {"llama2-70b", {QWEN_72B, "training.trainable=lora:8"}}, .metric = "step", .least = 0.15, .most = 0.45},
};

static const Fact overlap[] = {
    /* Stage 1 without overlap_comm (its default) reduces after the last backward, and its gather after the step
     * is on the compute stream whatever is set: nothing hides. Source: deepspeed/runtime/zero/stage_1_and_2.py;
     * config.py's validator. */
    {"overlap_comm off exposes all of stage 1's communication", .a = {"llama2-7b", {DEEPSPEED("1")}},
     .metric = "exposed", .against = "communication", .least = 0.95, .most = 1},
    /* With it the reductions, two of three parts of 3ψ, hide but for the last bucket; the gather stays (issue
     * deepspeedai/DeepSpeed#3338; #6876, where the maintainers say that stage 2 cannot hide it). */
    {"overlap_comm hides the reductions, not the gather",
     .a = {"llama2-7b", {DEEPSPEED("1"), "deepspeed.overlap_comm=yes"}}, .b = {"llama2-7b", {DEEPSPEED("1")}},
     .metric = "exposed", .least = 0.25, .most = 0.6},
    /* From 0.17.2 on compute also waited for the bucket that it had just sent, until that was taken back in January
     * 2026: an overlap of 0.0 % in profiles of 0.18.2 (deepspeedai/DeepSpeed#7804; NVlabs/alpamayo-recipes#24). What
     * still runs beside a reduction then is nothing. */
    {"from 0.17.2 to 0.18.5 overlap_comm hides nothing",
     .a = {"llama2-7b", {DEEPSPEED("2"), "deepspeed.overlap_comm=yes", "parallel.framework_version=0.18.2"}},
     .metric = "exposed", .against = "communication", .least = 0.95, .most = 1.01},
    {"0.19 hides most of the reductions again",
     .a = {"llama2-7b", {DEEPSPEED("2"), "deepspeed.overlap_comm=yes", "parallel.framework_version=0.19.1"}},
     .b = {"llama2-7b", {DEEPSPEED("2"), "deepspeed.overlap_comm=yes", "parallel.framework_version=0.18.2"}},
     .metric = "exposed", .least = 0.1, .most = 0.7},
    /* Buckets that are not contiguous, and reductions to owners, go through allreduce_and_copy, which
     * synchronises the whole device first: the host stands still until backward so far is computed and the bucket
     * before is reduced (#6685: overlap_comm = true, contiguous_gradients = false, and no overlap in the
     * profile). */
    {"without contiguous gradients the host waits for the device",
     .a = {"llama2-7b", {DEEPSPEED("1"), "deepspeed.overlap_comm=yes", "deepspeed.contiguous_gradients=no"}},
     .b = {"llama2-7b", {DEEPSPEED("1"), "deepspeed.overlap_comm=yes"}}, .metric = "host", .relation = FACTS_DIFFERENCE,
     .least = 1, .most = 1e12},
    {"and so it does before reductions to owners",
     .a = {"llama2-7b", {DEEPSPEED("1"), "deepspeed.overlap_comm=yes", "deepspeed.use_multi_rank_bucket_allreduce=no"}},
     .b = {"llama2-7b", {DEEPSPEED("1"), "deepspeed.overlap_comm=yes"}}, .metric = "host", .relation = FACTS_DIFFERENCE,
     .least = 1, .most = 1e12},
    /* Stage 3 gathers ahead by default; without prefetch each gather waits for its module. On two nodes with 25
     * Gb/s a GPU the gathers are most of the step. */
    {"prefetch hides stage 3's gathers",
     .a = {"llama2-7b", {DEEPSPEED("3"), "deepspeed.stage3_prefetch_bucket_size=0"}},
     .b = {"llama2-7b", {DEEPSPEED("3")}}, .metric = "exposed", .least = 2, .most = 1000},
    /* A larger prefetch bucket hides more and holds more: the knob of issues deepspeedai/DeepSpeed#8193, #6420,
     * #2864. What is held counts until the stream that reads it is done (active): for the host it is freed at once. */
    {"a larger prefetch bucket exposes less", .a = {"llama2-7b", {PREFETCH("200000000")}},
     .b = {"llama2-7b", {PREFETCH("1000000")}}, .metric = "exposed", .least = 0.3, .most = 0.999},
    {"and holds more, where the optimizer's groups are small",
     .a = {"llama2-7b", {PREFETCH("200000000"), SMALL_GROUPS}}, .b = {"llama2-7b", {PREFETCH("1000000"), SMALL_GROUPS}},
     .metric = "peak_active", .least = 1.005, .most = 2},
    /* reduce_bucket_size: small buckets hold less and pay each collective's latency, here of 16 ranks on
     * Ethernet. Hugging Face's "auto" (hidden size squared, 16.8e6) is small on purpose. */
    {"smaller buckets hold less",
     .a = {"llama2-7b", {DEEPSPEED("2"), "deepspeed.overlap_comm=yes", "deepspeed.reduce_bucket_size=50000000"}},
     .b = {"llama2-7b", {DEEPSPEED("2"), "deepspeed.overlap_comm=yes"}}, .metric = "peak_allocated", .least = 0.5,
     .most = 0.97},
    {"and communicate longer",
     .a = {"llama2-7b", {DEEPSPEED("3"), "cluster.nodes=8", "deepspeed.reduce_bucket_size=2000000"}},
     .b = {"llama2-7b", {DEEPSPEED("3"), "cluster.nodes=8"}}, .metric = "communication", .least = 1.01, .most = 3},
    /* DDP's first iteration has one bucket, which is full when backward is over: nothing hides. Buckets of 25 MiB
     * from then on hide most of it. Source: torch/csrc/distributed/c10d/reducer.cpp (rebuild_buckets); Li et al.
     * 2020 (VLDB). A cap that holds all gradients plays that first iteration for ever. */
    {"DDP with one bucket hides nothing", .a = {"gpt2-xl", {DDP, "cluster.nodes=2", "ddp.bucket_cap=100 GB"}},
     .metric = "exposed", .against = "communication", .least = 0.99, .most = 1},
    {"and with its own buckets most of it", .a = {"gpt2-xl", {DDP, "cluster.nodes=2"}}, .metric = "exposed",
     .against = "communication", .least = 0, .most = 0.65},
    /* The paper's sweep: 25 MB is better than 1 MB, whose latency is not hidden (NCCL, figure 7: 10 to 25 MB best). */
    {"buckets of 1 MB communicate longer than buckets of 25",
     .a = {"gpt2-xl", {DDP, "cluster.nodes=4", "ddp.bucket_cap=1 MiB"}},
     .b = {"gpt2-xl", {DDP, "cluster.nodes=4", "ddp.bucket_cap=25 MiB", "ddp.first_bucket_cap=25 MiB"}},
     .metric = "communication", .least = 1.02, .most = 6},
    /* The gather is issued when the unit is reached: it waits for no one and everyone waits for it. Source: PyTorch's
     * BackwardPrefetch documentation: BACKWARD_PRE "enables the most overlap", None "disables overlap altogether". */
    {"without backward_prefetch FSDP exposes more",
     .a = {"llama2-7b", {FSDP1("3"), "cluster.nic_bandwidth=100 Gb/s", LATE_GATHERS}},
     .b = {"llama2-7b", {FSDP1("3"), "cluster.nic_bandwidth=100 Gb/s"}}, .metric = "exposed", .least = 1.05,
     .most = 100},
    /* Megatron-LM's overlaps are off by default: one reduce-scatter after backward and one all-gather after the
     * step, all of it exposed. Source: megatron/training/arguments.py; NVIDIA/Megatron-LM#827 shows a timeline
     * without. */
    {"Megatron's default hides nothing", .a = {"llama2-7b", {MEGATRON}}, .metric = "exposed",
     .against = "communication", .least = 0.97, .most = 1},
    {"its two overlaps hide most", .a = {"llama2-7b-megatron", {"training.gradient_accumulation=1"}},
     .b = {"llama2-7b", {MEGATRON}}, .metric = "exposed", .least = 0, .most = 0.5},
};

static const Fact machines[] = {
    /* Llama-3.2-1B, 512 tokens, full recomputation, AdamW (foreach) on one B200: 58.8 ms eager, 18.7 compiled, the GPU
     * being faster than its host (stas00/ml-engineering, torch-compile-bench.py): 0.32; within a factor of two, as the
     * host is not stated. */
    {"compiled beats eager where the host is the limit", .a = {"llama3-8b", {LLAMA_1B, "training.compile=yes"}},
     .b = {"llama3-8b", {LLAMA_1B}}, .metric = "step", .least = 0.16, .most = 0.64},
    /* 17.6 ms in a CUDA graph: the eager step's GPU is idle most of the time, the compiled one's hardly. */
    {"and the GPU waits less for it", .a = {"llama3-8b", {LLAMA_1B, "training.compile=yes"}},
     .b = {"llama3-8b", {LLAMA_1B}}, .metric = "idle", .least = 0, .most = 0.5},
    /* torchtitan on 128 H100 of 96 GB, Llama-3-8B, two sequences of 8192: 6514 tokens/s a GPU compiled, 8380 with
     * float8 linear layers and all-gathers (its benchmarks/llama3_h100_202412_torchtitan.md): 0.78 of the time. Layers'
     * matmuls at the 2 to 1 of the data sheet would leave 0.62; casts, attention and all else stay as they were. */
    {"fp8 saves a fifth of a compiled step",
     .a = {"llama3-8b-fsdp2", {TITAN, "training.precision=fp8", "fsdp.float8_all_gather=yes"}},
     .b = {"llama3-8b-fsdp2", {TITAN}}, .metric = "step", .least = 0.73, .most = 0.88},
    /* Its casts are meant to be fused: eager it is slower than bf16 (torchao/float8/README.md: compile is required for
     * competitive performance). */
    {"eager fp8 is no faster than bf16",
     .a = {"llama3-8b-fsdp2", {TITAN, "training.compile=no", "training.precision=fp8"}},
     .b = {"llama3-8b-fsdp2", {TITAN, "training.compile=no"}}, .metric = "step", .least = 1, .most = 1.5},
    /* A ring of 512 ranks on 64 nodes: 8.4 + 448 × 3.4 + 63 × (14 + NIC) µs, 2.4 ms, of latency under Simple, 1.1
     * under LL128, for 1.05 ms of a 7B layer's bytes (NCCL's own tuning table, src/graph/tuning.cc). Doubling the
     * NICs gains less than a third of an all-gather, wherever the table's choice lands. */
    {"at 512 ranks doubling the NICs gains less than a third",
     .a = {"llama2-7b", {FSDP1("3"), "cluster.nodes=64", "cluster.nic_bandwidth=400 Gb/s"}},
     .b = {"llama2-7b", {FSDP1("3"), "cluster.nodes=64", "cluster.nic_bandwidth=200 Gb/s"}}, .metric = "communication",
     .least = 0.667, .most = 0.97},
    /* What ZeRO-3 sends per second needs fast links: 100 Gb/s a node was not enough for 64 and more V100, 200 to
     * 400 were, 800 to 1000 ideal (maintainers in deepspeedai/DeepSpeed#2928). One sequence of 1024 tokens on 64
     * GPUs: about 6ψ × 1024 × 4/3 FLOPs at 60 TFLOP/s are 0.9 s; 40 GB around a ring whose way out of a node is
     * 12.5 GB/s, over all its 16 GPUs' channels, take 3.2 s, and 0.4 at 800 Gb/s. */
    {"100 Gb/s a node starve ZeRO-3 on V100",
     .a = {"llama2-7b",
           {DEEPSPEED("3"), "cluster.topology=dgx2-v100", "cluster.nodes=4", "training.precision=fp16",
            "training.attention=eager", "training.sequence_length=1024", "cluster.nic_bandwidth=12.5 Gb/s"}},
     .metric = "exposed", .against = "step", .least = 0.3, .most = 1},
    {"800 do not",
     .a = {"llama2-7b",
           {DEEPSPEED("3"), "cluster.topology=dgx2-v100", "cluster.nodes=4", "training.precision=fp16",
            "training.attention=eager", "training.sequence_length=1024", "cluster.nic_bandwidth=100 Gb/s"}},
     .metric = "exposed", .against = "step", .least = 0, .most = 0.15},
    /* InternLM-7B reached 188 TFLOP/s a GPU with NVLink and 93.5 with NVLink off, over the host's PCIe
     * (InternLM/InternLM#22, which its maintainers reproduced): 2.0 times. ZeRO-1, four micro-batches of 2048
     * tokens. */
    {"without NVLink an A100 node trains at half the speed",
     .a = {"llama2-7b",
           {DEEPSPEED("1"), "cluster.topology=dgx-a100", ONE_NODE, "training.gradient_accumulation=4",
            "training.sequence_length=2048", "nccl.p2p_disable=yes", "deepspeed.overlap_comm=yes"}},
     .b = {"llama2-7b",
           {DEEPSPEED("1"), "cluster.topology=dgx-a100", ONE_NODE, "training.gradient_accumulation=4",
            "training.sequence_length=2048", "deepspeed.overlap_comm=yes"}},
     .metric = "step", .least = 1.5, .most = 2.7},
    /* One slow GPU: all others wait for it in every collective. A GPU at 0.8 makes kernels 1.25 times as long. */
    {"a straggler slows all", .a = {"llama2-7b", {FSDP1("3"), "cluster.slow_gpus=5: 0.8"}},
     .b = {"llama2-7b", {FSDP1("3")}}, .metric = "step", .least = 1.2, .most = 1.26},
    /* ZeRO-Offload moves 16-bit gradients down and parameters up and runs Adam on the host: a step at one
     * micro-batch is dominated by it, and with 16 of them it is a small part (Ren et al. 2021, section 6). */
    {"offload slows the step", .a = {"llama2-7b", {DEEPSPEED("2"), ONE_NODE, "parallel.offload_optimizer=cpu"}},
     .b = {"llama2-7b", {DEEPSPEED("2"), ONE_NODE}}, .metric = "step", .least = 1.3, .most = 4},
    {"less where it is rare",
     .a = {"llama2-7b", {DEEPSPEED("2"), ONE_NODE, "training.micro_batch=8", "parallel.offload_optimizer=cpu"}},
     .b = {"llama2-7b", {DEEPSPEED("2"), ONE_NODE, "training.micro_batch=8"}}, .metric = "step", .least = 1.01,
     .most = 1.3},
    /* Pageable memory goes through a staging buffer: copies 4 to 6 times slower (deepspeedai/DeepSpeed#5301).
     * What stage 3 brings from the host before each gather is 2 × 2ψ / 8 bytes each way. */
    {"pageable memory slows it further",
     .a = {"llama2-7b",
           {DEEPSPEED("3"), ONE_NODE, "parallel.offload_optimizer=cpu", "parallel.offload_parameters=cpu",
            "deepspeed.offload_param.pin_memory=no", "deepspeed.offload_optimizer.pin_memory=no"}},
     .b = {"llama2-7b",
           {DEEPSPEED("3"), ONE_NODE, "parallel.offload_optimizer=cpu", "parallel.offload_parameters=cpu"}},
     .metric = "step", .least = 1.1, .most = 6},
    /* On 2 TITAN RTX BLOOM-560M went at 8.5 batches/s under stage 1, 6.8 under stage 2 and 2.6 under stage 3
     * (LianjiaTech/BELLE#402): a model that needs no sharding pays for it. Our stand-in: 0.35e9 parameters on two
     * RTX 4090. */
    {"a small model is slower under stage 3 than under stage 1",
     .a = {"gpt2-xl",
           {DEEPSPEED("3"), "cluster.topology=box-rtx4090", "cluster.gpus_per_node=2", "model.layers=24",
            "model.hidden_size=1024", "model.heads=16", "training.micro_batch=1", "training.sequence_length=512"}},
     .b = {"gpt2-xl",
           {DEEPSPEED("1"), "cluster.topology=box-rtx4090", "cluster.gpus_per_node=2", "model.layers=24",
            "model.hidden_size=1024", "model.heads=16", "training.micro_batch=1", "training.sequence_length=512"}},
     .metric = "step", .least = 1.1, .most = 4},
    /* GPT-2 in DDP on two GPUs: 65.8 s with NVLink, 152.2 without, 98.6 on one GPU for the same samples
     * (huggingface/transformers#9371): two GPUs over PCIe are slower than one. GPT-2 large at 128 tokens. */
    {"two GPUs over host memory are slower than one",
     .a = {"gpt2-xl",
           {DDP, "cluster.topology=box-rtx4090", "cluster.gpus_per_node=2", "training.micro_batch=1",
            "training.sequence_length=128", "model.layers=36", "model.hidden_size=1280", "model.heads=20",
            "training.precision=fp32"}},
     .b = {"gpt2-xl",
           {DDP, "cluster.topology=box-rtx4090", "cluster.gpus_per_node=1", "training.micro_batch=1",
            "training.sequence_length=128", "model.layers=36", "model.hidden_size=1280", "model.heads=20",
            "training.precision=fp32"}},
     .metric = "tokens_per_second_per_gpu", .least = 0.2, .most = 0.6},
};

static void overlaps(void) {
  facts_check_all(overlap, G_N_ELEMENTS(overlap));
}

static void of_adapters(void) {
  facts_check_all(adapters, G_N_ELEMENTS(adapters));
}

static void of_machines(void) {
  facts_check_all(machines, G_N_ELEMENTS(machines));
}

int main(void) {
  return harness_run(
      "facts-time",
      (HarnessCase[]){{"overlap", overlaps}, {"adapters", of_adapters}, {"machines", of_machines}, {NULL, NULL}});
}
