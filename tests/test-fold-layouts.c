/* SPDX-License-Identifier: MIT */
/* Layouts of tensor and pipeline ranks, folded and rank by rank: one class for each stage, equal in all that is a
 * result. */
#include "twins-workloads.h"

#define NANOTRON(pipeline, tensor)                                                                                     \
  "parallel.framework=nanotron", "parallel.pipeline=" pipeline, "parallel.tensor=" tensor,                             \
      "training.sequence_length=512"

#define MEGATRON(pipeline, tensor)                                                                                     \
  "parallel.framework=megatron", "parallel.zero_stage=1", "parallel.pipeline=" pipeline, "parallel.tensor=" tensor,    \
      "training.sequence_length=512", "training.gradient_accumulation=8"

static void a_class_is_a_stage(void) {
  static const TwinsCase cases[] = {
      {"llama2-7b", 1, {NANOTRON("2", "1"), "training.gradient_accumulation=3"}, 2},
      {"llama2-7b", 1, {NANOTRON("2", "2"), "training.gradient_accumulation=4", "parallel.sequence_parallel=yes"}, 2},
      {"llama2-7b", 0, {NANOTRON("4", "2"), "training.gradient_accumulation=5"}, 4},
      {"llama2-7b", 0, {NANOTRON("4", "1"), "training.gradient_accumulation=5", "parallel.schedule=gpipe"}, 4},
      {"llama2-7b", 1, {NANOTRON("3", "1"), "training.gradient_accumulation=4", "cluster.nodes=3"}, 3},
      {"llama2-7b", 1, {NANOTRON("8", "2"), "training.gradient_accumulation=8"}, 8},
      /* Two layers, one, output layer, cast, loss, and three that hold nothing. */
      {"llama2-7b",
       1,
       {NANOTRON("8", "1"), "training.gradient_accumulation=8", "model.layers=3", "model.vocab_size=300000"},
       8},
      {"llama2-7b",
       1,
       {NANOTRON("1", "8"), "nanotron.tp_linear_async_communication=yes", "parallel.sequence_parallel=yes"},
       1},
      {"llama2-7b", 1, {MEGATRON("2", "2"), "parallel.sequence_parallel=yes", "parallel.context=2"}, 2},
      {"llama2-7b", 1, {MEGATRON("4", "2"), "parallel.interleave=2", "megatron.overlap_grad_reduce=yes"}, 4},
      {"gpt2-xl", 1, {MEGATRON("4", "1")}, 4},
      /* The norm of gradients goes through a tree over all nodes, whose ends load their NICs half: a scalar loads
       * none. */
      {"llama2-7b", 1, {MEGATRON("4", "2"), "cluster.nodes=8"}, 4},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    twins_check(&cases[i]);
}

#define EXPERTS(framework, expert)                                                                                     \
  "parallel.framework=" framework, "parallel.expert=" expert, "cluster.nodes=2", "training.sequence_length=512",       \
      "parallel.interleave=1", "training.global_batch=16"

/* Experts of other ranks: their groups lie across those of dense layers, and ranks stay alike. */
static void ranks_that_share_experts_are_alike(void) {
  static const TwinsCase cases[] = {
      {"mixtral-8x7b", 1, {EXPERTS("megatron", "4"), "parallel.pipeline=2"}, 2},
      {"mixtral-8x7b",
       1,
       {EXPERTS("megatron", "8"), "parallel.pipeline=1", "parallel.tensor=2", "parallel.expert_tensor=1",
        "parallel.sequence_parallel=yes"},
       1},
      {"mixtral-8x7b", 3, {EXPERTS("fsdp2", "8"), "parallel.pipeline=1"}, 1},
      {"mixtral-8x7b", 1, {EXPERTS("deepspeed", "8"), "parallel.pipeline=1"}, 1},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    twins_check(&cases[i]);
}

/* A slow GPU is its tensor group's, its stage's and, through the pipeline, everybody's: only those that stand to it
 * alike stay together. */
static void a_slow_gpu_splits_what_it_touches(void) {
  const TwinsCase slow = {
      "llama2-7b", 1, {NANOTRON("2", "2"), "training.gradient_accumulation=3", "cluster.slow_gpus=1: 0.8"}, 0};
  g_autoptr(RunReport) folded = twins_run(&slow, STUDY_OPTIONS_DEFAULT);
  g_autoptr(RunReport) plain = twins_run(&slow, (StudyOptions){.timeline = TRUE, .fold = FALSE});
  g_autofree guint32 *classes = twins_classes(folded, folded->identity.gpus);
  CU_ASSERT_TRUE(twins_equal(folded, classes, plain, TRUE));
  CU_ASSERT_TRUE(folded->n_classes > 2);
  CU_ASSERT_TRUE(folded->n_classes < folded->identity.gpus);
}

int main(void) {
  return harness_run("fold layouts", (HarnessCase[]){{"stages", a_class_is_a_stage},
                                                     {"experts", ranks_that_share_experts_are_alike},
                                                     {"slow", a_slow_gpu_splits_what_it_touches},
                                                     {NULL, NULL}});
}
