/* SPDX-License-Identifier: MIT */
/* Verdicts by hand: what the errors of published peaks make of a class of ranks, and which class decides. */
#include "harness.h"
#include "run-report.h"

#define CAPACITY 1000

/* Of `used`, `reserved` are the allocator's. */
static RunClass class_of(guint64 used, guint64 reserved) {
  return (RunClass){.capacity = CAPACITY,
                    .device_used = used,
                    .peak_reserved = reserved,
                    .has_oom = used > CAPACITY,
                    .verdict = used > CAPACITY ? RUN_OOM : RUN_FITS};
}

static RunVerdict judged(RunClass *one, double low, double high) {
  RunReport report = {.classes = one, .n_classes = 1};
  run_report_judge(&report, low, high);
  CU_ASSERT_EQUAL(report.verdict, one->verdict);
  return one->verdict;
}

/* 100 lie outside the allocator, and have no error: of 900, 800 are reserved and may be 0.9 to 1.1 times as many, 820
 * to 980; from 1.125 on they reach 1 000, and 1.13 is beyond. Of 1 100, 1 000 are reserved: 0.91 is 1 010 and too many,
 * 0.9 is 1 000. */
static void margins_make_the_edge(void) {
  RunClass one = class_of(900, 800);
  CU_ASSERT_EQUAL(judged(&one, 0.9, 1.1), RUN_FITS);
  CU_ASSERT_EQUAL(one.device_used_low, 820);
  CU_ASSERT_EQUAL(one.device_used_high, 980);
  CU_ASSERT_EQUAL(judged(&one, 0.9, 1.125), RUN_FITS);
  CU_ASSERT_EQUAL(judged(&one, 0.9, 1.13), RUN_EDGE);
  one = class_of(1100, 1000);
  CU_ASSERT_EQUAL(judged(&one, 0.91, 1.1), RUN_OOM);
  CU_ASSERT_EQUAL(judged(&one, 0.9, 1.1), RUN_EDGE);
  CU_ASSERT_EQUAL(judged(&one, 1, 1), RUN_OOM);
}

/* Of 900, 800 are reserved and may be 1 040: 240 more. Managed pages of 100 beside them give up the 140 that are too
 * many as far as they go; of 200 no more than those; and of 1 100 as measured, too much, only what is added. */
static void managed_pages_make_way(void) {
  RunClass one = class_of(900, 800);
  one.managed = 100;
  CU_ASSERT_EQUAL(judged(&one, 1, 1.3), RUN_EDGE);
  CU_ASSERT_EQUAL(one.device_used_high, 1040);
  one.managed = 200;
  CU_ASSERT_EQUAL(judged(&one, 1, 1.3), RUN_FITS);
  CU_ASSERT_EQUAL(one.device_used_high, 1000);
  one = class_of(1100, 1000);
  one.managed = 200;
  CU_ASSERT_EQUAL(judged(&one, 1, 1.1), RUN_OOM);
  CU_ASSERT_EQUAL(one.device_used_high, 1100);
}

/* However much is to spare. */
static void a_flushed_cache_is_the_edge(void) {
  RunClass one = class_of(900, 800);
  one.retries = 1;
  CU_ASSERT_EQUAL(judged(&one, 1, 1), RUN_EDGE);
}

/* The class at the edge decides, although the other has less to spare; of equal verdicts the one with least. */
static void the_worst_class_decides(void) {
  RunClass classes[] = {class_of(950, 100), class_of(900, 800), class_of(990, 0)};
  RunReport report = {.classes = classes, .n_classes = 3};
  run_report_judge(&report, 0.9, 1.13);
  CU_ASSERT_EQUAL(report.tightest, 1);
  CU_ASSERT_EQUAL(report.verdict, RUN_EDGE);
  run_report_judge(&report, 0.9, 1);
  CU_ASSERT_EQUAL(report.tightest, 2);
  CU_ASSERT_EQUAL(report.verdict, RUN_FITS);
}

static void host_memory_runs_out(void) {
  RunClass one = class_of(100, 80);
  RunReport report = {.classes = &one, .n_classes = 1, .host_used = 65, .host_capacity = 64};
  run_report_judge(&report, 1, 1);
  CU_ASSERT_EQUAL(report.verdict, RUN_OOM);
  CU_ASSERT_EQUAL(one.verdict, RUN_FITS);
  report.host_capacity = 0; /* not stated */
  run_report_judge(&report, 1, 1);
  CU_ASSERT_EQUAL(report.verdict, RUN_FITS);
}

static void the_edge_fits_when_asked(void) {
  RunReport report = {.verdict = RUN_EDGE};
  CU_ASSERT_FALSE(run_report_fits(&report, FALSE));
  CU_ASSERT_TRUE(run_report_fits(&report, TRUE));
  report.verdict = RUN_OOM;
  CU_ASSERT_FALSE(run_report_fits(&report, TRUE));
  report.verdict = RUN_FITS;
  CU_ASSERT_TRUE(run_report_fits(&report, FALSE));
}

int main(void) {
  return harness_run("verdicts", (HarnessCase[]){{"margins make the edge", margins_make_the_edge},
                                                 {"managed pages make way", managed_pages_make_way},
                                                 {"a flushed cache", a_flushed_cache_is_the_edge},
                                                 {"the worst class", the_worst_class_decides},
                                                 {"host memory", host_memory_runs_out},
                                                 {"when asked", the_edge_fits_when_asked},
                                                 {NULL, NULL}});
}
