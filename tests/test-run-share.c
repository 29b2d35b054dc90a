/* SPDX-License-Identifier: MIT */
/* Ranks that share what their moves make of memory, against ranks that each have their own: every byte of the Report is
 * the same. Ranks leave each other where GPUs differ, and where the order within an instant is shuffled: so that forks
 * are seen to happen, they are counted by their trace point. */
#include "harness.h"
#include "random-point.h"
#include "report-differs.h"

static const RandomAxis axes[] = {
    {"parallel.framework", {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "megatron", "nanotron"}},
    {"parallel.zero_stage", {"0", "1", "2", "3", "3"}},
    {"parallel.shard_group", {"all", "all", "node", "4"}},
    {"cluster.nodes", {"1", "2"}},
    {"cluster.topology", {"dgx-h100", "dgx-a100", "h100-eth100"}},
    /* One that leaves, two that leave together, some at different places or otherwise. */
    {"cluster.slow_gpus",
     {"", "3: 0.8, 6: 0.8", "3: 0.8", "1: 0.9, 3: 0.8, 5: 0.5, 6: 0.8", "2: 0.99, 4: 0.5, 7: 0.97"}},
    {"model.layers", {"2", "3"}},
    {"training.micro_batch", {"1", "4", "24", "30", "36", "64"}}, /* some retry, the last run out of memory */
    {"training.gradient_accumulation", {"1", "2"}},
    {"training.activation_checkpointing", {"none", "full"}},
    {"training.trainable", {"all", "lora:16"}},
    {"memory.expandable_segments", {"no", "no", "yes"}},
};

/* Stages are roles of their own. */
static const RandomAxis staged[] = {
    {"parallel.framework", {"nanotron", "megatron"}},
    {"parallel.zero_stage", {"0", "1"}},
    {"parallel.tensor", {"1", "2"}},
    {"parallel.pipeline", {"2", "4"}},
    {"cluster.nodes", {"1", "2"}},
    {"cluster.slow_gpus", {"", "3: 0.8", "5: 0.5"}},
    {"model.layers", {"4", "8"}},
    {"training.sequence_length", {"256", "1024"}},
    {"training.gradient_accumulation", {"2", "4", "8"}},
    {"training.activation_checkpointing", {"none", "full"}},
};

static void count(const char *text, gpointer user) {
  (void)text;
  ++*(guint *)user;
}

typedef struct {
  guint played, forked, retried, out;
} Seen;

static RunReport *play(const StudyPoint *point, StudyOptions options) {
  g_autoptr(Study) study = study_open("llama2-7b", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(study);
  for (guint i = 0; i < point->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, i);
    g_autofree char *text = g_strdup_printf("%s=%s", setting->name, setting->value);
    if (setting->value[0] != '\0' && !study_set(study, text, NULL))
      return NULL;
  }
  return study_run(study, &options, NULL);
}

static void compare(const StudyPoint *point, StudyOptions options, Seen *seen) {
  guint forks = 0;
  const BaseTrace trace = {"run.fork", count, &forks};
  StudyOptions apart = options;
  options.trace = &trace;
  apart.apart = TRUE;
  g_autoptr(RunReport) shared = play(point, options), plain = play(point, apart);
  CU_ASSERT_EQUAL(shared != NULL, plain != NULL);
  if (shared == NULL || plain == NULL)
    return;
  const char *differs = report_differs(shared, plain);
  CU_ASSERT_PTR_NULL(differs);
  if (differs != NULL)
    printf("\n  %s differs", differs);
  for (guint s = 0; differs != NULL && s < point->settings->len; s++)
    printf("\n    %s = %s", g_array_index(point->settings, StudyPointSetting, s).name,
           g_array_index(point->settings, StudyPointSetting, s).value);
  seen->played++;
  seen->forked += forks > 0;
  seen->retried += shared->classes[0].retries > 0;
  seen->out += shared->verdict == RUN_OOM;
  shared->classes[shared->n_classes - 1].peak_at++; /* the comparison can fail */
  CU_ASSERT_PTR_NOT_NULL(report_differs(shared, plain));
}

static void compare_some(const RandomAxis *of, gsize n, guint points, StudyOptions options) {
  g_autoptr(GRand) random = harness_random();
  Seen seen = {0};
  for (guint i = 0; i < points; i++) {
    g_autoptr(StudyPoint) point = random_point(of, n, random);
    options.tie_seed = i;
    compare(point, options, &seen);
  }
  printf(" (%u of %u played, %u forked, %u retried, %u ran out) ", seen.played, points, seen.forked, seen.retried,
         seen.out);
  CU_ASSERT_TRUE(seen.played > points / 4);
  CU_ASSERT_TRUE(seen.forked > 0);
}

static void every_rank_played(void) {
  compare_some(axes, G_N_ELEMENTS(axes), 60, (StudyOptions){.fold = FALSE});
}

static void whatever_the_order(void) {
  compare_some(axes, G_N_ELEMENTS(axes), 30, (StudyOptions){.fold = FALSE, .tie = STUDY_TIE_SHUFFLE});
}

static void folded_and_every_step(void) {
  compare_some(axes, G_N_ELEMENTS(axes), 60, (StudyOptions){.fold = TRUE, .every_step = TRUE});
}

static void stages(void) {
  compare_some(staged, G_N_ELEMENTS(staged), 40, (StudyOptions){.fold = FALSE});
}

/* Timelines keep levels over time for each rank: nothing is shared of memory, and all is equal. */
static void timelines(void) {
  g_autoptr(GRand) random = harness_random();
  Seen seen = {0};
  for (guint i = 0; i < 10; i++) {
    g_autoptr(StudyPoint) point = random_point(axes, G_N_ELEMENTS(axes), random);
    compare(point, (StudyOptions){.fold = FALSE, .timeline = TRUE}, &seen);
  }
  CU_ASSERT_EQUAL(seen.forked, 0);
}

int main(void) {
  return harness_run("share", (HarnessCase[]){{"every rank played", every_rank_played},
                                              {"whatever the order", whatever_the_order},
                                              {"folded, every step", folded_and_every_step},
                                              {"stages", stages},
                                              {"timelines", timelines},
                                              {NULL, NULL}});
}
