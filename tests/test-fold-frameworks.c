/* SPDX-License-Identifier: MIT */
/* Folding changes no result under the frameworks, hybrid sharding with its two kinds of communicators among them. */
#include "twins-workloads.h"

#define FOUR_NODES "cluster.nodes=4", "model.layers=2"

static const TwinsCase cases[] = {
    {"llama2-7b", 3, {"parallel.framework=fsdp1", FOUR_NODES, NULL}, 1},
    {"llama2-7b", 2, {"parallel.framework=fsdp1", FOUR_NODES, "training.gradient_accumulation=2", NULL}, 1},
    {"gpt2-xl", 0, {"parallel.framework=fsdp1", FOUR_NODES, NULL}, 1},
    {"llama2-7b", 3, {"parallel.framework=fsdp2", FOUR_NODES, "fsdp.reduce_dtype=fp32", NULL}, 1},
    {"llama3-8b", 3, {"parallel.framework=fsdp2", FOUR_NODES, "fsdp.reshard_after_forward=8", NULL}, 1},
    {"llama2-7b", 1, {"parallel.framework=megatron", FOUR_NODES, "megatron.overlap_grad_reduce=yes", NULL}, 1},
    {"llama2-7b", 1, {"parallel.framework=nanotron", FOUR_NODES, NULL}, 1},
    {"llama2-7b", 3, {"parallel.framework=deepspeed", FOUR_NODES, "training.trainable=lora:8:all-linear", NULL}, 1},
    {"llama2-7b", 3, {"parallel.framework=fsdp2", FOUR_NODES, "training.trainable=lora:8", "fsdp.wrap=ends", NULL}, 1},
    {"llama2-7b", 1, {"parallel.framework=megatron", FOUR_NODES, "training.trainable=1, head", NULL}, 1},
    {"llama2-7b", 3, {"parallel.framework=fsdp1", FOUR_NODES, "cluster.slow_gpus=5: 0.8", NULL}, 2},
};

static void folding_changes_nothing(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    twins_check(&cases[i]);
}

/* Shard groups of 8 side by side, replicas of 4 across: all ranks alike but where a GPU or link is not. Of the ranks of
 * a slow GPU's kind only its own place is apart: its shard group waits for it every unit (which others do at the
 * all-reduce alone), so 7 of its group, its 3 replicas, and the rest are further classes: 4 in all. */
static void shard_groups_fold_too(void) {
  static const TwinsCase hybrid[] = {
      {"llama2-7b", 3, {"parallel.framework=fsdp1", "parallel.shard_group=node", FOUR_NODES, NULL}, 1},
      {"llama2-7b", 3, {"parallel.framework=fsdp2", "parallel.shard_group=node", FOUR_NODES, NULL}, 1},
      {"llama2-7b", 3, {"parallel.framework=fsdp2", "parallel.shard_group=16", FOUR_NODES, NULL}, 1},
      {"llama2-7b", 2, {"parallel.framework=fsdp2", "parallel.shard_group=4", FOUR_NODES, NULL}, 1},
      {"llama2-7b",
       1,
       {"parallel.framework=megatron", "parallel.shard_group=node", FOUR_NODES, "megatron.overlap_grad_reduce=yes",
        NULL},
       1},
      {"llama2-7b",
       3,
       {"parallel.framework=fsdp2", "parallel.shard_group=node", FOUR_NODES, "cluster.slow_gpus=17: 0.8", NULL},
       4},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(hybrid); i++)
    twins_check(&hybrid[i]);
}

/* Every chunk of every call on both kinds of communicators, held to the flows as the contract says: within 5 % (calls
 * of a layer are above 1 MiB). */
static void chunks_play_on_shard_groups(void) {
  const TwinsCase twin = {
      "llama2-7b",
      3,
      {"parallel.framework=fsdp1", "parallel.shard_group=node", "model.layers=2", "cluster.nodes=2", NULL},
      1};
  g_autoptr(RunReport) flow = twins_run(&twin, STUDY_OPTIONS_DEFAULT);
  g_autoptr(RunReport) step = twins_run(&twin, (StudyOptions){.fold = TRUE, .chunks = TRUE});
  double ratio = (double)step->classes[0].step / (double)flow->classes[0].step;
  CU_ASSERT_DOUBLE_EQUAL(ratio, 1, 0.05);
}

int main(void) {
  return harness_run("fold-frameworks", (HarnessCase[]){{"folding changes nothing", folding_changes_nothing},
                                                        {"shard groups fold too", shard_groups_fold_too},
                                                        {"chunks play on shard groups", chunks_play_on_shard_groups},
                                                        {NULL, NULL}});
}
