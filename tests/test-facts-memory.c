/* SPDX-License-Identifier: MIT */
/* What fills memory under one setting and under another: facts from public reports, most of them measured to the
 * MiB. */
#include "facts.h"

#define DEEPSPEED(STAGE) "parallel.framework=deepspeed", "parallel.zero_stage=" STAGE
#define FSDP1(STAGE)     "parallel.framework=fsdp1", "parallel.zero_stage=" STAGE
#define DDP              "parallel.framework=ddp", "parallel.zero_stage=0"
#define ONE_NODE         "cluster.nodes=1"
#define PLAIN            "training.activation_checkpointing=none"
#define FULL             "training.activation_checkpointing=full"
#define FP32             FUSED, FULL, "training.precision=fp32", "training.micro_batch=1", SHORT
#define SHORT            "training.sequence_length=128"
#define FUSED            "training.optimizer_style=fused"
#define MIB              1048576.0

/* A vision transformer of 1.8e9 parameters under ZeRO-2 with gradients as they come (deepspeedai/DeepSpeed#1302):
 * MB of memory 21 152 with two buckets of 5e8 elements, 20 198 without overlap_comm (one bucket), 19 625 with two
 * of 1e8, 19 284 with two of 1e7. A bucket of 5e8 elements of 2 bytes is 953.7 MiB: 954 MB is its difference. Our
 * stand-in is a GPT of 1.48e9 parameters with 1000 classes to tell apart as there and no matrix above 1e7
 * elements (a larger one is reduced alone), on 64 GPUs: the own slices of gradients, taken at the first flush,
 * are 46 MB of what small buckets save. The report does not say which memory it is; differences to the MB are those of
 * what is allocated. */
#define VIT(OVERLAP, BUCKET)                                                                                           \
  {                                                                                                                    \
    "gpt2-xl", {                                                                                                       \
      DEEPSPEED("2"), "model.vocab_size=1000", "model.layers=75", "model.hidden_size=1280", "model.heads=20",          \
          "cluster.nodes=8", "deepspeed.overlap_comm=" OVERLAP, "deepspeed.reduce_bucket_size=" BUCKET                 \
    }                                                                                                                  \
  }

static const Fact buckets[] = {
    {"overlap_comm holds a bucket more", .a = VIT("yes", "500000000"), .b = VIT("no", "500000000"),
     .metric = "peak_allocated", .relation = FACTS_DIFFERENCE, .least = 950 * MIB, .most = 958 * MIB},
    /* 2 × 4e8 × 2 bytes = 1525.9 MiB: 21 152 - 19 625 = 1527 MB. */
    {"reduce_bucket_size is held twice", .a = VIT("yes", "500000000"), .b = VIT("yes", "100000000"),
     .metric = "peak_allocated", .relation = FACTS_DIFFERENCE, .least = 1500 * MIB, .most = 1550 * MIB},
    /* 2 × 9e7 × 2 bytes = 343.3 MiB: 19 625 - 19 284 = 341 MB. */
    {"down to small buckets", .a = VIT("yes", "100000000"), .b = VIT("yes", "10000000"), .metric = "peak_allocated",
     .relation = FACTS_DIFFERENCE, .least = 290 * MIB, .most = 345 * MIB},
    /* BERT-large, 0.34e9 parameters, on 32 V100: 9600 MB under stage 2, 8900 under stage 1 (the same report).
     * Stage 2 shards 2ψ × 31/32 = 0.66e9 bytes of gradients and holds its buckets while activations are at their
     * most; stage 1 without overlap takes its own after backward, when they are gone. BERT's loss is over the
     * masked tokens alone: a fused loss stands for it. 0.7e9 bytes: a bucket, of which ψ fills 0.68e9, or less. */
    {"ZeRO-2 needs more memory than ZeRO-1",
     .a = {"gpt2-xl",
           {DEEPSPEED("2"), "cluster.topology=dgx2-v100", "cluster.nodes=2", "training.precision=fp16",
            "training.attention=eager", "training.sequence_length=128", "training.micro_batch=32", "model.layers=24",
            "model.hidden_size=1024", "model.heads=16", "model.vocab_size=30528", "training.loss=fused"}},
     .b = {"gpt2-xl",
           {DEEPSPEED("1"), "cluster.topology=dgx2-v100", "cluster.nodes=2", "training.precision=fp16",
            "training.attention=eager", "training.sequence_length=128", "training.micro_batch=32", "model.layers=24",
            "model.hidden_size=1024", "model.heads=16", "model.vocab_size=30528", "training.loss=fused"}},
     .metric = "peak_allocated", .relation = FACTS_DIFFERENCE, .least = 1, .most = 1000 * MIB},
};

static const Fact settings[] = {
    /* Gradients of fp32 that alias the buckets: 4ψ bytes less. Source: PyTorch's DistributedDataParallel
     * documentation (gradient_as_bucket_view "saves peak memory equal to the total gradients size"). GPT-2 XL:
     * 1.5576e9 parameters; 128 tokens recomputed in full, whose activations weigh nothing. A gradient on its way
     * into its bucket, 80e6 × 4 bytes at most, is beside both. */
    {"gradient_as_bucket_view spares the gradients' size", .a = {"gpt2-xl", {DDP, FP32}},
     .b = {"gpt2-xl", {DDP, FP32, "ddp.gradient_as_bucket_view=yes"}}, .metric = "peak_allocated",
     .relation = FACTS_DIFFERENCE, .least = 4 * 1.557e9 - 0.4e9, .most = 4 * 1.558e9},
    /* BF16_Optimizer: whole gradients in fp32, 4ψ, and 16-bit ones that stay, 2ψ; without it gradients are freed
     * after the step. Source: deepspeed/runtime/bf16_optimizer.py; engine's _do_optimizer_sanity_check chooses it
     * for stage 1 with grad_accum_dtype fp32. */
    {"fp32 accumulation under ZeRO-1 keeps 6 bytes a parameter",
     .a = {"llama2-7b", {DEEPSPEED("1"), ONE_NODE, "training.gradient_accumulation_dtype=fp32"}},
     .b = {"llama2-7b", {DEEPSPEED("1"), ONE_NODE}}, .metric = "steady_allocated", .relation = FACTS_DIFFERENCE,
     .least = 6 * 6.738e9, .most = 6 * 6.739e9},
    /* hpZ's second copy: 2ψ / 8 bytes. Source: Wang et al. 2023, ZeRO++, section 3. */
    {"hpZ costs 2 bytes a parameter over the group",
     .a = {"llama2-7b", {DEEPSPEED("3"), "deepspeed.zero_hpz_partition_size=8"}}, .b = {"llama2-7b", {DEEPSPEED("3")}},
     .metric = "steady_allocated", .relation = FACTS_DIFFERENCE, .least = 2 * 6.738e9 / 8 * 0.95,
     .most = 2 * 6.738e9 / 8 * 1.05},
    /* Without its limit FSDP's host runs ahead and allocates many units: 38.8 GB reserved against 8.0 in a
     * compute-bound test (pytorch/pytorch#98354); the default since 2.1 (#104900). Each unit of Llama 2 7B is
     * 0.405e9 bytes. Whole parameters are 13.5e9: at least half of them, in a run that otherwise holds three
     * units. */
    {"limit_all_gathers bounds memory", .a = {"llama2-7b", {FSDP1("3"), ONE_NODE, "fsdp.limit_all_gathers=no"}},
     .b = {"llama2-7b", {FSDP1("3"), ONE_NODE}}, .metric = "device_used", .least = 1.3, .most = 5},
    /* Llama-shaped 3B with a vocabulary of 151 936 at 4096 tokens runs out of 80 GB in the loss; a fused loss
     * cures it (NVIDIA-NeMo/Automodel#2336). Logits in fp32 and their gradient are 2 × 4 × 4096 × 151 936 bytes a
     * sequence, 4.6 GiB; of the rest some is in 16 bits. */
    {"an fp32 copy of the logits fills memory, a fused loss does not",
     .a = {"llama3-8b", {"parallel.framework=fsdp2", "model.vocab_size=151936", "training.sequence_length=8192"}},
     .b = {"llama3-8b",
           {"parallel.framework=fsdp2", "model.vocab_size=151936", "training.sequence_length=8192",
            "training.loss=fused"}},
     .metric = "peak_allocated", .relation = FACTS_DIFFERENCE, .least = 4.0 * 8192 * 151936,
     .most = 16.0 * 8192 * 151936},
    /* Full recomputation keeps the input of each layer, 2 × 4096 × 4096 bytes, instead of its inside: with flash
     * attention, no dropout and separate RMSNorm sbh(12 + 4 + 8f/h) = 37.5 sbh bytes at least (Korthikanti et al.
     * 2022 with gated MLPs), of which 32 layers are 18.6 GiB; eager norms keep more. */
    {"checkpointing trades activations", .a = {"llama2-7b", {FSDP1("3"), ONE_NODE, FUSED, PLAIN}},
     .b = {"llama2-7b", {FSDP1("3"), ONE_NODE, FUSED, FULL}}, .metric = "peak_allocated", .relation = FACTS_DIFFERENCE,
     .least = 32 * 35.5 * 4096.0 * 4096, .most = 32 * 60 * 4096.0 * 4096},
    /* for one more forward pass: 4/3 of the matmuls; the optimizer and attention's own proportions (backward 2.5 times
     * forward) keep it below. */
    {"for a third more compute", .a = {"llama2-7b", {FSDP1("3"), ONE_NODE, FUSED, FULL}},
     .b = {"llama2-7b", {FSDP1("3"), ONE_NODE, FUSED, PLAIN}}, .metric = "compute", .least = 1.24, .most = 1.3334},
    /* A user of 2x TITAN RTX saw stage 3 use most memory with BLOOM-560M (LianjiaTech/BELLE#402): 12.8 + 12.9 GB
     * against 12.6 + 10.9 of stage 1 and 12 + 10.9 of stage 2. With ψ below a bucket every parameter is alive and
     * the buckets outweigh what is sharded. */
    {"of a small model stage 3 holds no less than stage 2",
     .a = {"gpt2-xl",
           {DEEPSPEED("3"), "model.layers=24", "model.hidden_size=1024", "model.heads=16", "cluster.gpus_per_node=2",
            "training.micro_batch=1", "training.sequence_length=512"}},
     .b = {"gpt2-xl",
           {DEEPSPEED("2"), "model.layers=24", "model.hidden_size=1024", "model.heads=16", "cluster.gpus_per_node=2",
            "training.micro_batch=1", "training.sequence_length=512"}},
     .metric = "device_used", .least = 0.97, .most = 1.6},
    /* Host memory takes the optimizer's 12ψ / 8 bytes; a buffer of the largest parameter, 131e6 × 2 bytes, stays
     * for gradients on their way. Source: Ren et al. 2021, ZeRO-Offload; stage_1_and_2.py
     * (temp_grad_buffer_for_gpu_offload). */
    {"offloading the optimizer frees 12 bytes a parameter over the GPUs",
     .a = {"llama2-7b", {DEEPSPEED("2"), ONE_NODE}},
     .b = {"llama2-7b", {DEEPSPEED("2"), ONE_NODE, "parallel.offload_optimizer=cpu"}}, .metric = "steady_allocated",
     .relation = FACTS_DIFFERENCE, .least = 12 * 6.738e9 / 8 - 2 * 132e6, .most = 12 * 6.739e9 / 8},
};

#define WIDE (8192 * 128256 * 4.0) /* fp32 logits of Llama 3's vocabulary */
#define LLAMA3_FULL(loss)                                                                                              \
  {                                                                                                                    \
    "llama3-8b-fsdp2", {                                                                                               \
      FULL, "training.loss=" loss                                                                                      \
    }                                                                                                                  \
  }
#define STEP_PEAK(style)                                                                                               \
  {                                                                                                                    \
    "llama2-7b", {                                                                                                     \
      DEEPSPEED("2"), ONE_NODE, FULL, "training.sequence_length=256", "training.optimizer_style=" style                \
    }                                                                                                                  \
  }

static const Fact losses[] = {
    /* A trainer that holds its output: the logits in fp32 stay while backward makes as large matrices of them
     * (pytorch/torchtitan issue 165 saw 1.95 GiB of fp32 logits more). */
    {"kept logits cost their fp32 size", .a = LLAMA3_FULL("kept"), .b = LLAMA3_FULL("eager"),
     .metric = "peak_allocated", .relation = FACTS_DIFFERENCE, .least = 0.99 * WIDE, .most = 1.01 * WIDE},
    /* At the loss's backward: log-softmax and its gradient in half the size, and no fp32 gradient of the logits beside
     * the 16-bit one that both have: 2 + 2 + 2 of 4 bytes each. */
    {"a loss in 16 bits spares half of three matrices", .a = LLAMA3_FULL("eager"), .b = LLAMA3_FULL("half"),
     .metric = "peak_allocated", .relation = FACTS_DIFFERENCE, .least = 1.49 * WIDE, .most = 1.51 * WIDE},
    /* The logits themselves, in 16 bits. */
    {"kept 16-bit logits cost their size", .a = LLAMA3_FULL("half-kept"), .b = LLAMA3_FULL("half"),
     .metric = "peak_allocated", .relation = FACTS_DIFFERENCE, .least = 0.49 * WIDE, .most = 0.51 * WIDE},
    /* torch/optim/adam.py: the root of the variance and the quotient are two tensors where foreach has one list: a
     * partition of fp32 more, in segments of whole 2 MiB. */
    {"torch's Adam tensor by tensor holds a partition more than foreach", .a = STEP_PEAK("single"),
     .b = STEP_PEAK("foreach"), .metric = "peak_allocated", .relation = FACTS_DIFFERENCE, .least = 4 * 6.738e9 / 8,
     .most = 4 * 6.739e9 / 8 + 2097152},
};

static void losses_and_optimizers(void) {
  facts_check_all(losses, G_N_ELEMENTS(losses));
}

static void bucket_sizes(void) {
  facts_check_all(buckets, G_N_ELEMENTS(buckets));
}

static void other_settings(void) {
  facts_check_all(settings, G_N_ELEMENTS(settings));
}

int main(void) {
  return harness_run("facts-memory", (HarnessCase[]){{"DeepSpeed's buckets", bucket_sizes},
                                                     {"losses and optimizers", losses_and_optimizers},
                                                     {"settings", other_settings},
                                                     {NULL, NULL}});
}
