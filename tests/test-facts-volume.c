/* SPDX-License-Identifier: MIT */
/* What moves over the network under each way of sharding: facts from code that anyone can read and from public
 * reports.
 *
 * ψ: parameters. A ring over n ranks moves (n-1)/n of a payload per rank in an all-gather or a reduce-scatter,
 * twice that in an all-reduce; both runs of a row have the same n, so that the factor falls out of the ratio.
 * Rings are asked for where an all-reduce takes part: H100's NVSwitch would reduce on the way (NVLS), which is a
 * fact of its own below. */
#include "facts.h"

#define DEEPSPEED(STAGE) "parallel.framework=deepspeed", "parallel.zero_stage=" STAGE
#define FSDP1(STAGE)     "parallel.framework=fsdp1", "parallel.zero_stage=" STAGE
#define ONE_NODE         "cluster.nodes=1", "nccl.algo=ring"
#define NO_REUSE         "deepspeed.stage3_max_reuse_distance=0", "deepspeed.stage3_prefetch_bucket_size=0"
#define PLAIN            "training.activation_checkpointing=none"
#define FUSED            "training.optimizer_style=fused"
#define PSI              6.738e9 /* parameters of Llama 2 7B */
#define EIGHT_MICRO      "training.gradient_accumulation=8"

/* DeepSpeed's stage 1 all-reduces its buckets whole (2ψ) since 0.12.4 and gathers after the step (ψ): 3ψ, what stage 3
 * moves (a gather forward, one backward, a reduce-scatter). Source: deepspeed/runtime/zero/stage_1_and_2.py
 * (average_tensor, use_multi_rank_bucket_allreduce), pull request deepspeedai/DeepSpeed#4695. */
static const Fact stage1[] = {
    /* Neither reuse nor lookahead keep a parameter at the turn from forward to backward: 3ψ against 3ψ, padding,
     * parameters that persist (norms: 3e-5 of ψ) and the norm's scalar apart. */
    {"DeepSpeed's default ZeRO-1 moves as much as ZeRO-3",
     .a = {"llama2-7b", {DEEPSPEED("3"), ONE_NODE, PLAIN, NO_REUSE}},
     .b = {"llama2-7b", {DEEPSPEED("1"), ONE_NODE, PLAIN}}, .metric = "network_bytes_intra", .least = 0.99,
     .most = 1.01},
    /* By default what is used again within 1e9 elements of the modules' trace stays: with ψ = 6.74e9 up to 1e9 of the
     * gathers backward fall away, (3 × 6.74 - 1) / (3 × 6.74) = 0.951. */
    {"ZeRO-3 spares the turn's 1e9 elements", .a = {"llama2-7b", {DEEPSPEED("3"), ONE_NODE}},
     .b = {"llama2-7b", {DEEPSPEED("1"), ONE_NODE}}, .metric = "network_bytes_intra", .least = 0.945, .most = 0.985},
    /* Stage 1 reduces at the boundary alone, stage 3 in each of k = 8 micro-batches: 8 × 3ψ against 3ψ. Source:
     * engine's allreduce_gradients; issues deepspeedai/DeepSpeed#2252, #373. */
    {"with k micro-batches ZeRO-3 moves k times as much",
     .a = {"llama2-7b", {DEEPSPEED("3"), ONE_NODE, PLAIN, EIGHT_MICRO, NO_REUSE}},
     .b = {"llama2-7b", {DEEPSPEED("1"), ONE_NODE, PLAIN, EIGHT_MICRO}}, .metric = "network_bytes_intra", .least = 7.92,
     .most = 8.08},
    /* Stage 2 all-reduces in each micro-batch, (2k + 1)ψ against 3ψ: 17 / 3 = 5.67 at k = 8. Why throughput collapsed
     * when a cluster went from stage 1 to 2: EleutherAI/gpt-neox#965. */
    {"ZeRO-2 with accumulation costs more network than ZeRO-1",
     .a = {"llama2-7b", {DEEPSPEED("2"), ONE_NODE, EIGHT_MICRO}},
     .b = {"llama2-7b", {DEEPSPEED("1"), ONE_NODE, EIGHT_MICRO}}, .metric = "network_bytes_intra", .least = 5.6,
     .most = 5.75},
    /* The same four bytes a parameter and micro-batch show as time where the network is slow. */
    {"and on slow links more time", .a = {"llama2-7b", {DEEPSPEED("2"), EIGHT_MICRO, "cluster.nic_bandwidth=25 Gb/s"}},
     .b = {"llama2-7b", {DEEPSPEED("1"), EIGHT_MICRO, "cluster.nic_bandwidth=25 Gb/s"}}, .metric = "exposed",
     .least = 4, .most = 6},
    /* The paper's stage 1 reduces to owners (ψ) and gathers (ψ): 2ψ against 3ψ. Source: Rajbhandari et al. 2020,
     * section 7, against the code above. */
    {"the paper's ZeRO-1 moves two thirds of it",
     .a = {"llama2-7b", {"parallel.framework=paper", "parallel.zero_stage=1", ONE_NODE}},
     .b = {"llama2-7b", {DEEPSPEED("1"), ONE_NODE}}, .metric = "network_bytes_intra", .least = 0.66, .most = 0.673},
};

/* FSDP: FULL_SHARD gathers forward and backward and reduce-scatters, 3ψ; SHARD_GRAD_OP keeps what it gathered, 2ψ.
 * Source: PyTorch's documentation of ShardingStrategy and _runtime_utils.py; Zhao et al. 2023 (VLDB). */
static const Fact sharded[] = {
    /* The root's own parameters (embedding, head and norm: 0.262e9 of 6.74e9) stay gathered under both:
     * 2ψ / (3ψ - 0.262e9) = 0.675. */
    {"SHARD_GRAD_OP moves two thirds of FULL_SHARD", .a = {"llama2-7b", {FSDP1("2"), ONE_NODE}},
     .b = {"llama2-7b", {FSDP1("3"), ONE_NODE}}, .metric = "network_bytes_intra", .least = 0.66, .most = 0.69},
    /* 2 + 2 + 4 bytes a parameter against 2 + 2 + 2: 4 / 3; with the root's one gather (2 + 4 against 2 + 2) a little
     * more, (8ψ - 0.52e9) / (6ψ - 0.52e9) = 1.338. */
    {"reducing in fp32 costs a third more", .a = {"llama2-7b", {FSDP1("3"), ONE_NODE, "fsdp.reduce_dtype=fp32"}},
     .b = {"llama2-7b", {FSDP1("3"), ONE_NODE}}, .metric = "network_bytes_intra", .least = 1.32, .most = 1.35},
    /* no_sync reduces once: (2k + 1)ψ against 3kψ, 17 / 24 = 0.708 at k = 8 (the root gathers once a micro-batch:
     * (17 × 6.74 - 8 × 0.262) / (24 × 6.74 - 8 × 0.262) = 0.704). Source: PyTorch's no_sync documentation; tnt#1057. */
    {"no_sync spares the reductions",
     .a = {"llama2-7b", {FSDP1("3"), ONE_NODE, EIGHT_MICRO, "fsdp.sync_every_micro_batch=no"}},
     .b = {"llama2-7b", {FSDP1("3"), ONE_NODE, EIGHT_MICRO}}, .metric = "network_bytes_intra", .least = 0.69,
     .most = 0.72},
    /* and keeps whole gradients in 16 bits, 2ψ, for shards of an eighth in fp32, ψ/2: 1.5ψ more, less what else
     * the peak of the synchronised run holds (a few units' gathered parameters and gradients, 0.2ψ at most). 26B
     * on 16 GPUs went from 3.25 to 52 GB of gradients: pytorch/tnt#1057. */
    {"no_sync keeps whole gradients",
     .a = {"llama2-7b", {FSDP1("3"), ONE_NODE, EIGHT_MICRO, FUSED, "fsdp.sync_every_micro_batch=no"}},
     .b = {"llama2-7b", {FSDP1("3"), ONE_NODE, EIGHT_MICRO, FUSED}}, .metric = "peak_allocated",
     .relation = FACTS_DIFFERENCE, .least = 1.3 * PSI, .most = 1.5 * PSI},
};

/* Sharing within a node: what crosses nodes. Two nodes of eight. */
static const Fact hybrid[] = {
    /* hpZ gathers backward from a copy in the node. A ring of 16 over two nodes sends 15/16 of a payload per rank, an
     * eighth of it between nodes. Stage 3: 3ψ (no reuse kept); with hpZ ψ gathered and ψ reduced: two thirds. Source:
     * Wang et al. 2023, ZeRO++; deepspeedai/DeepSpeed#6889, where it was the cure on eight nodes of A100. */
    {"hpZ spares a third of what crosses nodes",
     .a = {"llama2-7b", {DEEPSPEED("3"), PLAIN, NO_REUSE, "deepspeed.zero_hpz_partition_size=8"}},
     .b = {"llama2-7b", {DEEPSPEED("3"), PLAIN, NO_REUSE}}, .metric = "network_bytes_inter", .least = 0.66,
     .most = 0.68},
    {"and time, where nodes are far apart",
     .a = {"llama2-7b", {DEEPSPEED("3"), "cluster.nic_bandwidth=25 Gb/s", "deepspeed.zero_hpz_partition_size=8"}},
     .b = {"llama2-7b", {DEEPSPEED("3"), "cluster.nic_bandwidth=25 Gb/s"}}, .metric = "step", .least = 0.6,
     .most = 0.97},
    /* In one node the second copy is among the same GPUs as the first: as much moves, and it costs 2ψ / 8 bytes. */
    {"hpZ cannot help in one node",
     .a = {"llama2-7b", {DEEPSPEED("3"), ONE_NODE, "deepspeed.zero_hpz_partition_size=8"}},
     .b = {"llama2-7b", {DEEPSPEED("3"), ONE_NODE}}, .metric = "network_bytes_intra", .least = 0.999, .most = 1.001},
    /* Every step of every rank waits for a stream to write it. */
    {"nor is it faster there", .a = {"llama2-7b", {DEEPSPEED("3"), ONE_NODE, "deepspeed.zero_hpz_partition_size=8"}},
     .b = {"llama2-7b", {DEEPSPEED("3"), ONE_NODE}}, .metric = "step", .least = 1, .most = 1.2},
    /* Sharding among all sends 3ψ through the ring; within nodes only the all-reduce of ψ/8 a rank crosses: for
     * two nodes 2 × ψ/8 × 1/2 = ψ/8 against 3ψ × 15/16 / 8: 1 / 2.81 = 0.356. Source: PyTorch's HYBRID_SHARD;
     * Zhao et al. */
    {"hybrid sharding sends a third of it between nodes", .a = {"llama2-7b", {FSDP1("3"), "parallel.shard_group=node"}},
     .b = {"llama2-7b", {FSDP1("3")}}, .metric = "network_bytes_inter", .least = 0.33, .most = 0.37},
    {"HSDP beats FSDP at 50 Gb/s per GPU",
     .a = {"llama2-7b", {FSDP1("3"), "parallel.shard_group=node", "cluster.nodes=8", "cluster.nic_bandwidth=50 Gb/s"}},
     .b = {"llama2-7b", {FSDP1("3"), "cluster.nodes=8", "cluster.nic_bandwidth=50 Gb/s"}}, .metric = "step",
     .least = 0.3, .most = 0.95},
};

/* Adapters of rank 16 beside a frozen Llama 3 8B: 42e6 of 8.07e9 parameters are trained at most (all seven
 * projections of 32 layers). Stages 1 and 2 shard and reduce what is trained alone; stage 3 gathers everything
 * all the same, 2 × 16e9 bytes a step. Two nodes of eight with one NIC of 10 Gb/s: 90 s a step against 4 in one
 * node, and none of it under ZeRO-0 (hiyouga/LlamaFactory#5014; #3499 saw 60 s against 0.85 s over PCIe). */
#define ADAPTERS                                                                                                       \
  "training.trainable=lora:16", "cluster.topology=h100-eth10", "cluster.nodes=2", "training.sequence_length=2048"

static const Fact adapters[] = {
    /* 3 × 42e6 against 2 × 8.07e9: 0.8 %. */
    {"under ZeRO-2 adapters move almost nothing", .a = {"llama3-8b", {DEEPSPEED("2"), ADAPTERS}},
     .b = {"llama3-8b", {DEEPSPEED("3"), ADAPTERS}}, .metric = "network_bytes_inter", .least = 0, .most = 0.01},
    {"nor under ZeRO-1", .a = {"llama3-8b", {DEEPSPEED("1"), ADAPTERS}}, .b = {"llama3-8b", {DEEPSPEED("3"), ADAPTERS}},
     .metric = "network_bytes_inter", .least = 0, .most = 0.01},
    /* while stage 3 still gathers ψ forward and ψ backward, less the turn's 1e9 elements: 15/16 of 2 × (2 ×
     * 8.03e9 - 1e9) bytes at least, an eighth of it between nodes. */
    {"ZeRO-3 gathers everything", .a = {"llama3-8b", {DEEPSPEED("3"), ADAPTERS}},
     .b = {"llama3-8b",
           {DEEPSPEED("3"), "cluster.topology=h100-eth10", "cluster.nodes=2", "training.sequence_length=2048"}},
     .metric = "network_bytes_inter", .least = 0.6, .most = 0.7},
    {"and is an order of magnitude slower over Ethernet", .a = {"llama3-8b", {DEEPSPEED("3"), ADAPTERS}},
     .b = {"llama3-8b", {DEEPSPEED("2"), ADAPTERS}}, .metric = "step", .least = 10, .most = 200},
};

static void with_adapters(void) {
  facts_check_all(adapters, G_N_ELEMENTS(adapters));
}

static void stage_1_and_its_like(void) {
  facts_check_all(stage1, G_N_ELEMENTS(stage1));
}

static void shards(void) {
  facts_check_all(sharded, G_N_ELEMENTS(sharded));
}

static void hybrids(void) {
  facts_check_all(hybrid, G_N_ELEMENTS(hybrid));
}

int main(void) {
  return harness_run("facts-volume", (HarnessCase[]){{"DeepSpeed's stages", stage_1_and_its_like},
                                                     {"FSDP's strategies", shards},
                                                     {"sharing within a node", hybrids},
                                                     {"adapters", with_adapters},
                                                     {NULL, NULL}});
}
