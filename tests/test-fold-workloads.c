/* SPDX-License-Identifier: MIT */
/* Folding changes no result of a shipped workload, whole or with faults; a fault splits only what it touches. */
#include "twins-workloads.h"

/* One communicator of all: alike but for the GPUs that are slower, whatever the links. */
static const TwinsCase cases[] = {
    {"llama2-7b", 3, {"cluster.nodes=2", NULL}, 1},
    {"llama3-8b", 3, {"cluster.nodes=1", NULL}, 1},
    {"gpt2-xl", 1, {"cluster.nodes=1", NULL}, 1},
    {"mistral-7b", 2, {"cluster.nodes=2", "training.gradient_accumulation=2", NULL}, 1},
    {"llama2-70b", 3, {"cluster.nodes=8", "model.layers=2", NULL}, 1},
    {"zero-100b", 3, {"cluster.nodes=4", "model.layers=2", NULL}, 1},
    {"llama2-7b", 0, {"cluster.nodes=32", "model.layers=2", NULL}, 1},
    {"llama2-7b", 3, {"cluster.nodes=2", "model.layers=4", "cluster.slow_gpus=5: 0.8", NULL}, 2},
    {"llama2-7b", 1, {"cluster.nodes=2", "model.layers=4", "cluster.slow_gpus=0: 0.9, 9: 0.8, 15: 0.9", NULL}, 3},
    {"llama2-7b", 2, {"cluster.nodes=2", "model.layers=4", "cluster.slow_links=nic.1.3: 0.5", NULL}, 1},
    {"llama3-8b", 3, {"cluster.nodes=1", "model.layers=4", "cluster.slow_links=gpu.0.6: 0.1", NULL}, 1},
    {"llama2-7b",
     0,
     {"cluster.nodes=4", "model.layers=4", "cluster.slow_links=nic.0.0: 0.3, gpu.2.7: 0.7",
      "cluster.slow_gpus=31: 0.75", NULL},
     2},
    {"llama2-7b",
     3,
     {"cluster.nodes=8", "model.layers=2", "fabric.nodes_per_leaf=2", "fabric.oversubscription=4", NULL},
     1},
    {"llama2-7b",
     3,
     {"cluster.nodes=7", "model.layers=2", "fabric.nodes_per_leaf=2", "fabric.kind=fat-tree",
      "fabric.oversubscription=3", NULL},
     1},
    {"llama2-7b",
     3,
     {"cluster.nodes=4", "model.layers=2", "cluster.topology=aws-p4d", "cluster.slow_gpus=3: 0.5", NULL},
     2},
    {"llama2-7b", 0, {"cluster.nodes=1", "training.precision=fp32", "model.layers=8", NULL}, 1}, /* out of memory? */
};

/* Real frameworks, with groups of nodes and of GPUs alike in each. */
#define SMALL "cluster.nodes=2", "model.layers=2"
static const TwinsCase frameworks[] = {
    {"llama2-7b", 0, {SMALL, "parallel.framework=ddp", NULL}, 1},
    {"gpt2-xl", 0, {SMALL, "parallel.framework=ddp", "cluster.slow_gpus=5: 0.8", NULL}, 2},
    {"llama2-7b", 0, {SMALL, "parallel.framework=deepspeed", NULL}, 1},
    {"llama3-8b", 1, {SMALL, "parallel.framework=deepspeed", "deepspeed.overlap_comm=yes", NULL}, 1},
    {"mistral-7b", 2, {SMALL, "parallel.framework=deepspeed", "cluster.slow_gpus=3: 0.7", NULL}, 2},
    {"llama2-7b", 3, {SMALL, "parallel.framework=deepspeed", NULL}, 1},
    {"llama2-7b", 3, {SMALL, "parallel.framework=deepspeed", "deepspeed.zero_hpz_partition_size=8", NULL}, 1},
    {"llama2-7b", 3, {SMALL, "parallel.framework=deepspeed", "parallel.shard_group=node", NULL}, 1},
    {"llama2-7b", 3, {SMALL, "parallel.framework=deepspeed", "deepspeed.zero_quantized_gradients=yes", NULL}, 1},
    {"llama2-7b", 2, {SMALL, "parallel.framework=deepspeed", "parallel.offload_optimizer=cpu", NULL}, 1},
    {"zero-100b", 3, {SMALL, "parallel.framework=deepspeed", "cluster.slow_links=nic.0.2: 0.4", NULL}, 1},
};

static void folding_changes_no_framework(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(frameworks); i++)
    twins_check(&frameworks[i]);
}

static void folding_changes_nothing(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    twins_check(&cases[i]);
}

/* Every shipped workload under every stage, on 16 or 32 GPUs, cut to few layers. */
static void every_workload_and_stage(void) {
  static const char *const workloads[] = {"llama2-7b", "llama3-8b", "gpt2-xl", "mistral-7b", "llama2-70b", "zero-100b"};
  static const struct {
    const char *set, *other;
    guint32 classes;
  } faults[] = {{NULL, NULL, 1},
                {"cluster.slow_gpus=3: 0.6, 11: 0.7, 12: 0.7", NULL, 3},
                {"cluster.slow_links=nic.0.2: 0.4", "cluster.slow_gpus=4: 0.95", 2},
                {"fabric.oversubscription=8", "fabric.nodes_per_leaf=1", 1}};
  for (gsize w = 0; w < G_N_ELEMENTS(workloads); w++)
    for (guint stage = 0; stage <= 3; stage++)
      for (gsize f = 0; f < G_N_ELEMENTS(faults); f++) {
        const TwinsCase twin = {workloads[w],
                                stage,
                                {"cluster.nodes=2", "model.layers=3", faults[f].set, faults[f].other, NULL},
                                faults[f].classes};
        twins_check(&twin);
      }
}

static void the_comparison_can_fail(void) {
  const TwinsCase one = {"llama2-7b", 3, {"cluster.nodes=1", "model.layers=2", NULL}, 1};
  const TwinsCase other = {
      "llama2-7b", 3, {"cluster.nodes=1", "model.layers=2", "cluster.slow_gpus=7: 0.999", NULL}, 2};
  g_autoptr(RunReport) folded = twins_run(&one, STUDY_OPTIONS_DEFAULT);
  g_autoptr(RunReport) plain = twins_run(&other, (StudyOptions){.timeline = TRUE, .fold = FALSE});
  g_autofree guint32 *classes = twins_classes(folded, 8);
  CU_ASSERT_FALSE(twins_equal(folded, classes, plain, FALSE));
}

static void the_fast_wait_for_the_slow(void) {
  const TwinsCase twin = {"llama2-7b", 3, {"cluster.nodes=8", "cluster.slow_gpus=17: 0.8", NULL}, 2};
  const TwinsCase whole = {"llama2-7b", 3, {"cluster.nodes=8", NULL}, 1};
  /* Waiting for a peer holds SMs, which slows the kernels of those that wait: here they run as if alone. */
  const StudyOptions alone = {.timeline = TRUE, .fold = TRUE, .no_contention = TRUE};
  g_autoptr(RunReport) report = twins_run(&twin, alone);
  g_autoptr(RunReport) before = twins_run(&whole, alone);
  const RunClass *fast = &report->classes[0], *slow = &report->classes[1];
  CU_ASSERT_EQUAL_FATAL(report->n_classes, 2);
  CU_ASSERT_STRING_EQUAL(fast->members, "0-16,18-63");
  CU_ASSERT_STRING_EQUAL(slow->members, "17");
  CU_ASSERT_PTR_NULL(fast->apart);
  CU_ASSERT_STRING_EQUAL(slow->apart, "its GPU runs at 0.8 of its speed");
  /* Kernels of the slow rank take 1 / 0.8 of the time, to half a picosecond each. */
  double ratio = (double)slow->compute / (double)fast->compute;
  CU_ASSERT_DOUBLE_EQUAL(ratio, 1.25, 1e-6);
  /* Whoever waits for it does so with a collective that waits for a peer. */
  CU_ASSERT_TRUE(fast->by_cause[RUN_CAUSE_STRAGGLER] > 0);
  CU_ASSERT_EQUAL(slow->by_cause[RUN_CAUSE_STRAGGLER], 0);
  CU_ASSERT_EQUAL(before->classes[0].by_cause[RUN_CAUSE_STRAGGLER], 0);
  CU_ASSERT_EQUAL(fast->compute, before->classes[0].compute);
  CU_ASSERT_EQUAL(fast->step, slow->step);
  CU_ASSERT_TRUE(slow->step > before->classes[0].step);
}

static const RunLink *link_of(const RunReport *report, const char *link_class) {
  for (guint32 i = 0; i < report->n_links; i++)
    if (strcmp(report->links[i].link_class, link_class) == 0)
      return &report->links[i];
  g_error("no %s", link_class);
}

static void a_slow_link_splits_its_class(void) {
  /* Over two nodes a call's eight rings advance together: at half a NIC the bytes take twice the time, for all. */
  const TwinsCase twin = {"llama2-7b", 3, {"cluster.nodes=2", "cluster.slow_links=nic.1.3: 0.5", NULL}, 1};
  g_autoptr(RunReport) report = twins_run(&twin, STUDY_OPTIONS_DEFAULT);
  CU_ASSERT_EQUAL(report->n_classes, 1);
  CU_ASSERT_STRING_EQUAL(link_of(report, "nic.out")->apart, "15 alike; nic.1.3 at 0.5 of its capacity");
  CU_ASSERT_STRING_EQUAL(link_of(report, "nic.in")->apart, "15 alike; nic.1.3 at 0.5 of its capacity");
  CU_ASSERT_PTR_NULL(link_of(report, "gpu.out")->apart);
  const TwinsCase whole = {"llama2-7b", 3, {"cluster.nodes=2", NULL}, 1};
  g_autoptr(RunReport) before = twins_run(&whole, STUDY_OPTIONS_DEFAULT);
  CU_ASSERT_PTR_NULL(link_of(before, "nic.out")->apart);
  CU_ASSERT_TRUE(report->classes[0].communication > before->classes[0].communication);
  /* The same bytes: each is a rate times a time to the picosecond, some hundred calls on sixteen links of 48 GB/s. */
  CU_ASSERT_DOUBLE_EQUAL(link_of(report, "nic.out")->bytes, link_of(before, "nic.out")->bytes, 100 * 16 * 48e9 / 1e12);
}

int main(void) {
  return harness_run("fold-workloads", (HarnessCase[]){{"folding changes no framework", folding_changes_no_framework},
                                                       {"folding changes nothing", folding_changes_nothing},
                                                       {"every workload and stage", every_workload_and_stage},
                                                       {"the comparison can fail", the_comparison_can_fail},
                                                       {"the fast wait for the slow", the_fast_wait_for_the_slow},
                                                       {"a slow link splits its class", a_slow_link_splits_its_class},
                                                       {NULL, NULL}});
}
