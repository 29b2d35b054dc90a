/* SPDX-License-Identifier: MIT */
/* Three Reports by hand and what is drawn from them: a line that goes on, and where bodies are not alike the last
 * growth. Whole steps against their plain twin: study-repeat. */
#include "harness.h"
#include "run-count.h"

#define CLASSES 2

typedef struct {
  RunClass classes[CLASSES];
  RunLink link;
  RunReport report;
} Play;

/* Two classes whose steps are 100 + 5n and 90 + 6n with n bodies; of a link they move 10 + 2n bytes; on each of two
 * causes they wait 3n and 7n; a peak of 500 that stays. */
static void play(Play *ret, guint n) {
  *ret = (Play){.link = {.links = 1, .capacity = 4, .bytes = 10 + 2 * n, .busy = 20 + n}};
  for (guint i = 0; i < CLASSES; i++) {
    RunClass *of = &ret->classes[i];
    *of = (RunClass){.ranks = 1, .capacity = 1000, .peak_allocated = 500, .device_used = 600, .watched = 40 + n};
    of->step = i == 0 ? 100 + 5 * (SimTime)n : 90 + 6 * (SimTime)n;
    of->by_cause[0] = 3 * (SimTime)n;
    of->by_cause[RUN_CAUSES - 1] = 7 * (SimTime)n;
  }
  ret->report = (RunReport){.classes = ret->classes,
                            .n_classes = CLASSES,
                            .links = &ret->link,
                            .n_links = 1,
                            .tokens = 1000,
                            .peak_flops = 1,
                            .repeats = TRUE,
                            .steps_played = 2,
                            .events = 10 + n};
  run_report_choose(&ret->report);
}

/* The first play, and 100 bodies more. */
static const RunBodies bodies = {.played = 3, .body = 1, .more = 100};

/* 3 bodies and 100 more: 100 + 5 x 103 and 90 + 6 x 103, so that the second class, ahead in all three, is the slowest;
 * its 708 ps are what rates are of. */
static void a_line_goes_on(void) {
  Play first, second, third;
  play(&first, 3);
  play(&second, 4);
  play(&third, 5);
  CU_ASSERT_TRUE(first.report.slowest == 0 && third.report.slowest == 0);
  CU_ASSERT_TRUE(run_count(&first.report, &second.report, &third.report, &bodies));
  CU_ASSERT_TRUE(first.classes[0].step == 615 && first.classes[1].step == 708);
  CU_ASSERT_EQUAL(first.report.slowest, 1);
  CU_ASSERT_DOUBLE_EQUAL(first.report.tokens_per_second, 1000 / 708e-12, 1);
  CU_ASSERT_TRUE(first.classes[1].by_cause[0] == 309 && first.classes[1].by_cause[RUN_CAUSES - 1] == 721);
  CU_ASSERT_TRUE(first.link.bytes == 216 && first.link.busy == 123 && first.link.capacity == 4);
  CU_ASSERT_DOUBLE_EQUAL(first.link.utilisation, 216 / (4 * 708e-12), 1);
  CU_ASSERT_TRUE(first.classes[0].peak_allocated == 500 && first.classes[0].device_used == 600);
  CU_ASSERT_EQUAL(first.report.events, 13 + 14 + 15);
  CU_ASSERT_TRUE(first.report.repeats);
}

/* What is no line in one number of one class, or a level that grows, is not counted, and the first is as it was. */
static void no_line_is_not_counted(void) {
  Play first, second, third;
  SimTime *const bent[] = {&third.classes[1].step, &third.classes[0].by_cause[RUN_CAUSES - 1], &third.link.busy};
  for (gsize i = 0; i < G_N_ELEMENTS(bent); i++) {
    play(&first, 3);
    play(&second, 4);
    play(&third, 5);
    ++*bent[i];
    CU_ASSERT_FALSE(run_count(&first.report, &second.report, &third.report, &bodies));
    CU_ASSERT_TRUE(first.classes[0].step == 115 && first.report.events == 13);
  }
  guint64 *const levels[] = {&second.classes[1].peak_allocated, &third.classes[0].device_used};
  for (gsize i = 0; i < G_N_ELEMENTS(levels); i++) {
    play(&first, 3);
    play(&second, 4);
    play(&third, 5);
    ++*levels[i];
    CU_ASSERT_FALSE(run_count(&first.report, &second.report, &third.report, &bodies));
  }
  play(&first, 3);
  play(&second, 4);
  play(&third, 5);
  first.classes[0].by_cause[0] = 11; /* a line down: below nothing after eleven bodies more */
  second.classes[0].by_cause[0] = 10;
  third.classes[0].by_cause[0] = 9;
  CU_ASSERT_FALSE(run_count(&first.report, &second.report, &third.report, &bodies));
  play(&first, 3);
  play(&second, 4);
  play(&third, 5);
  first.classes[1].watched = 30; /* the host falls behind by 14 - 6 a body */
  second.classes[1].watched = 44;
  third.classes[1].watched = 58;
  CU_ASSERT_FALSE(run_count(&first.report, &second.report, &third.report, &bodies));
}

/* The third's Report with its last growth for the 98 bodies that are left: 125 + 10 x 98 where it last grew by 10, and
 * 120 + 6 x 98. A level stays at its last value, though it grew; what shrank stays. */
static void what_is_no_line_goes_on_by_its_last_growth(void) {
  Play first, second, third;
  play(&first, 3);
  play(&second, 4);
  play(&third, 5);
  third.classes[0].step = second.classes[0].step + 10;
  third.classes[0].peak_allocated = 501;
  third.classes[1].by_cause[0] = second.classes[1].by_cause[0] - 1;
  run_count_anyway(&first.report, &second.report, &third.report, &bodies);
  CU_ASSERT_TRUE(third.classes[0].step == 130 + 980 && third.classes[1].step == 120 + 588);
  CU_ASSERT_EQUAL(third.report.slowest, 0);
  CU_ASSERT_EQUAL(third.classes[0].peak_allocated, 501);
  CU_ASSERT_EQUAL(third.classes[1].by_cause[0], 11);
  CU_ASSERT_EQUAL(third.classes[1].by_cause[RUN_CAUSES - 1], 721);
  CU_ASSERT_TRUE(third.link.bytes == 216 && third.link.busy == 123);
  CU_ASSERT_DOUBLE_EQUAL(third.report.tokens_per_second, 1000 / 1110e-12, 1);
  CU_ASSERT_EQUAL(third.report.events, 42);
  CU_ASSERT_FALSE(third.report.repeats);
}

/* One level that grows, one time off the line, a host that falls behind: nothing is counted, and nothing is changed. */
static void what_is_off_the_line_is_not_counted(void) {
  static const gsize spoilt[] = {G_STRUCT_OFFSET(RunClass, peak_allocated), G_STRUCT_OFFSET(RunClass, exposed),
                                 G_STRUCT_OFFSET(RunClass, watched)};
  RunBodies ten = {.played = 3, .body = 1, .more = 10};
  for (gsize i = 0; i <= G_N_ELEMENTS(spoilt); i++) {
    RunClass classes[3] = {{.step = 100, .compute = 90, .exposed = 10, .watched = 20, .ranks = 1},
                           {.step = 130, .compute = 117, .exposed = 13, .watched = 50, .ranks = 1},
                           {.step = 160, .compute = 144, .exposed = 16, .watched = 80, .ranks = 1}};
    if (i < G_N_ELEMENTS(spoilt))
      for (guint c = 1; c < 3; c++) /* the host: a line of its own, but steeper than the step's */
        *(guint64 *)(gpointer)((char *)&classes[c] + spoilt[i]) += i == 2 ? c : c / 2;
    RunReport reports[3];
    for (guint c = 0; c < 3; c++)
      reports[c] = (RunReport){.classes = &classes[c], .n_classes = 1, .repeats = TRUE, .peak_flops = 1};
    gboolean counted = run_count(&reports[0], &reports[1], &reports[2], &ten);
    CU_ASSERT_EQUAL(counted, i == G_N_ELEMENTS(spoilt));
    CU_ASSERT_EQUAL(classes[0].step, counted ? 400 : 100);
    CU_ASSERT_EQUAL(classes[0].exposed, counted ? 40 : 10);
  }
}

/* Classes that came or went are not drawn on: as the third play has them. */
static void other_classes_stay(void) {
  Play first, second, third;
  play(&first, 3);
  play(&second, 4);
  play(&third, 5);
  second.report.n_classes = 1;
  CU_ASSERT_FALSE(run_count(&first.report, &second.report, &third.report, &bodies));
  run_count_anyway(&first.report, &second.report, &third.report, &bodies);
  CU_ASSERT_TRUE(third.classes[0].step == 125 && third.link.bytes == 216);
}

/* Steps that repeat after another number of them, or not at all, are alike only where no rank has memory: then they
 * differ in what the allocator takes beyond it, and in nothing else. */
static void without_memory_steps_need_not_repeat(void) {
  for (guint out = 0; out <= CLASSES; out++) {
    Play plays[3];
    for (guint i = 0; i < 3; i++) {
      play(&plays[i], 3 + i);
      for (guint c = 0; c < out; c++)
        plays[i].classes[c].has_oom = TRUE;
    }
    plays[1].report.steps_played = 4;
    plays[1].report.repeats = FALSE;
    CU_ASSERT_EQUAL(run_count(&plays[0].report, &plays[1].report, &plays[2].report, &bodies), out == CLASSES);
    CU_ASSERT_EQUAL(plays[0].classes[0].step, out == CLASSES ? 615 : 115);
  }
}

/* Steps of the first play that did not come to repeat are known not to be counted before longer ones are played; where
 * no rank has memory they need not repeat. */
static void what_does_not_repeat_is_not_counted(void) {
  for (guint way = 0; way < 3; way++) {
    Play first, second, third, *all[] = {&first, &second, &third};
    for (guint i = 0; i < 3; i++) {
      play(all[i], 3 + i);
      for (guint c = 0; way == 2 && c < all[i]->report.n_classes; c++)
        all[i]->classes[c].has_oom = TRUE;
    }
    first.report.repeats = way == 0;
    gboolean may = run_count_may(&first.report);
    CU_ASSERT_EQUAL(may, way != 1);
    CU_ASSERT_EQUAL(run_count(&first.report, &second.report, &third.report, &bodies), may);
  }
}

int main(void) {
  return harness_run("run-count", (HarnessCase[]){{"a line goes on", a_line_goes_on},
                                                  {"no line", no_line_is_not_counted},
                                                  {"by its last growth", what_is_no_line_goes_on_by_its_last_growth},
                                                  {"other classes", other_classes_stay},
                                                  {"without memory", without_memory_steps_need_not_repeat},
                                                  {"no repetition", what_does_not_repeat_is_not_counted},
                                                  {"off the line", what_is_off_the_line_is_not_counted},
                                                  {NULL, NULL}});
}
