/* SPDX-License-Identifier: MIT */
/* Plays whose memory is an earlier one's, against plays that make every move: every byte of the Report is the same. By
 * hand where a stream ends before or after something it holds back is asked for again, which the earlier play does not
 * tell; and over frameworks, whose Programs meet slower and faster networks. That plays are recalled, and that some are
 * taken to be and are not, is counted. */
#include "hand.h"
#include "harness.h"
#include "mem-tenant.h"
#include "random-point.h"
#include "report-differs.h"
#include "study-cache.h"

#define MS  SIM_MILLISECOND
#define GIB (G_GUINT64_CONSTANT(1) << 30)

static void expect_equal(RunReport *a, RunReport *b) {
  const char *differs = report_differs(a, b);
  CU_ASSERT_PTR_NULL(differs);
  if (differs != NULL)
    printf("\n  %s differs", differs);
}

/*  compute  A─►  B─►     D─►         1 ms each; A takes x, D takes y
 *  comm        C──…                  B's host gives x, of use again once C has ended; the host waits for B before D
 * Of 8 GiB each y lies where x lay, if C ends before B does; else there must be room for both, or the host waits. */
static Hand written(guint64 usable, guint32 *ret_c) {
  Hand hand = hand_new();
  ProgramBuilder *builder = hand.builder;
  guint32 op = hand_op(&hand, MS), c = hand_op(&hand, MS / 2);
  guint32 x = program_builder_tensor(builder, "x", MEM_ACTIVATIONS, 8 * GIB, GIB);
  guint32 y = program_builder_tensor(builder, "y", MEM_GRADIENTS, 8 * GIB, 2 * GIB);
  hand.gpu.memory_usable = usable;
  program_builder_section(builder, PROGRAM_FIRST);
  program_builder_context(builder, PROGRAM_FORWARD, 0, 0);
  program_builder_host(builder, "load");
  guint32 a = program_builder_compute(builder, hand.compute, "A", op);
  program_builder_take(builder, x);
  guint32 side = program_builder_compute(builder, hand.comm, "C", c);
  program_builder_need(builder, a);
  guint32 b = program_builder_compute(builder, hand.compute, "B", op);
  program_builder_give(builder, x, hand.comm);
  program_builder_host(builder, "wait for B");
  program_builder_need(builder, b);
  guint32 d = program_builder_compute(builder, hand.compute, "D", op);
  program_builder_take(builder, y);
  program_builder_host(builder, "end");
  program_builder_need(builder, d);
  program_builder_need(builder, side);
  program_builder_give(builder, y, PROGRAM_NONE);
  program_builder_repeat(builder, 1);
  *ret_c = c;
  return hand;
}

static void play(Hand *hand, RunRecall *recall, guint64 met, guint64 missed, guint64 retries) {
  g_autoptr(RunReport) report = hand_play(hand, &(RunOptions){.recall = recall, .requests = 1});
  g_autoptr(RunReport) plain = hand_play(hand, &(RunOptions){0});
  expect_equal(report, plain);
  CU_ASSERT_EQUAL(plain->classes[0].retries > 0, retries > 0);
  CU_ASSERT_EQUAL(run_recall_met(recall), met);
  CU_ASSERT_EQUAL(run_recall_missed(recall), missed);
}

/* C takes half a millisecond, then three, then a quarter: the second play finds out that x is still held, the third is
 * the first's, the fourth is on another device; the last, with C of 3 ms, is the second's, where that had room. */
static void streams_end_otherwise(void) {
  for (guint roomy = 0; roomy < 2; roomy++) {
    guint32 c;
    Hand hand = written(roomy ? 20 * GIB : 14 * GIB, &c);
    g_autoptr(RunRecall) recall = run_recall_new();
    play(&hand, recall, 0, 0, 0);
    hand.program->durations[c] = 3 * MS;
    play(&hand, recall, 0, 1, !roomy);
    hand.program->durations[c] = MS / 4;
    play(&hand, recall, 1, 1, 0);
    hand.gpu.context_bytes += GIB;
    play(&hand, recall, 1, 1, 0);
    hand.gpu.context_bytes -= GIB;
    hand.program->durations[c] = 3 * MS;
    play(&hand, recall, 1 + roomy, 1 + !roomy, !roomy);
    hand_clear(&hand);
  }
}

/* Nothing is recalled of ranks apart, timelines, every step, requests of which nothing is known, or others. */
static void only_what_may_be(void) {
  guint32 c;
  Hand hand = written(20 * GIB, &c);
  g_autoptr(RunRecall) recall = run_recall_new();
  const RunOptions options[] = {{.recall = recall, .requests = 1, .apart = TRUE},
                                {.recall = recall, .requests = 1, .timeline = TRUE},
                                {.recall = recall, .requests = 1, .every_step = TRUE},
                                {.recall = recall},
                                {.recall = recall},
                                {.recall = recall, .requests = 1},
                                {.recall = recall, .requests = 2},
                                {.recall = recall, .requests = 1, .memory.expandable_segments = TRUE},
                                {.recall = recall, .requests = 1, .apart = TRUE},
                                {.recall = recall, .requests = 1, .timeline = TRUE}};
  for (gsize i = 0; i < G_N_ELEMENTS(options); i++) {
    run_report_free(hand_play(&hand, &options[i]));
    CU_ASSERT_EQUAL(run_recall_met(recall), 0);
  }
  g_autoptr(RunReport) recalled = hand_play(&hand, &options[5]), plain = hand_play(&hand, &(RunOptions){0});
  CU_ASSERT_EQUAL(run_recall_met(recall), 1);
  expect_equal(recalled, plain);
  recalled->classes[0].peak_at++; /* the comparison can fail */
  CU_ASSERT_STRING_EQUAL(report_differs(recalled, plain), "peak_at");
  hand_clear(&hand);
}

static const RandomAxis axes[] = {
    {"parallel.framework", {"paper", "ddp", "deepspeed", "fsdp1", "fsdp2", "fsdp1"}},
    {"parallel.zero_stage", {"1", "2", "3", "3"}},
    {"cluster.nodes", {"2", "3"}},
    {"model.layers", {"2", "3"}},
    {"training.micro_batch", {"1", "2", "4", "24", "36"}}, /* some retry, some run out of memory */
    {"training.activation_checkpointing", {"none", "full"}},
    {"memory.expandable_segments", {"no", "no", "yes"}},
};
static const char *const rates[] = {"400 Gb/s", "25 Gb/s", "100 Gb/s", "350 Gb/s", "5 Gb/s"};

static StudyPoint *at_rate(const StudyPoint *like, guint i) {
  StudyPoint *point = study_point_new("test");
  for (guint s = 0; s < like->settings->len; s++) {
    const StudyPointSetting *setting = &g_array_index(like->settings, StudyPointSetting, s);
    study_point_add(point, setting->name, setting->value, 0, 0);
  }
  study_point_add(point, "cluster.nic_bandwidth", rates[i], 0, 0);
  return point;
}

static void networks_change_no_memory(void) {
  g_autoptr(GRand) random = harness_random();
  g_autoptr(Study) base = study_open("llama2-7b", NULL);
  g_autoptr(StudyCache) cache = study_cache_new();
  CU_ASSERT_PTR_NOT_NULL_FATAL(base);
  guint played = 0;
  guint64 missed = 0;
  for (guint i = 0; i < 40; i++) {
    g_autoptr(StudyPoint) like = random_point(axes, G_N_ELEMENTS(axes), random);
    for (guint r = 0; r < G_N_ELEMENTS(rates); r++) {
      g_autoptr(StudyPoint) point = at_rate(like, r), plain = at_rate(like, r);
      study_point_run(point, base, &(StudyOptions){.fold = TRUE}, cache);
      study_point_run(plain, base, &(StudyOptions){.fold = TRUE}, NULL);
      CU_ASSERT_EQUAL(point->report != NULL, plain->report != NULL);
      if (point->report == NULL || plain->report == NULL)
        continue;
      played++;
      expect_equal(point->report, plain->report);
    }
  }
  guint64 met = study_cache_recalled(cache, &missed);
  printf(" (%u played, %" G_GUINT64_FORMAT " recalled, %" G_GUINT64_FORMAT " not as foreseen) ", played, met, missed);
  CU_ASSERT_TRUE(played >= 60 && met >= 6);
}

int main(void) {
  return harness_run("run-recall", (HarnessCase[]){{"streams end otherwise", streams_end_otherwise},
                                                   {"only what may be", only_what_may_be},
                                                   {"networks change no memory", networks_change_no_memory},
                                                   {NULL, NULL}});
}
