/* SPDX-License-Identifier: MIT */
/* Steps by hand, and random ones: parts and what has no part add up to the step. */
#include "truth-parts.h"

#include "harness.h"

#define MS (SIM_SECOND / 1000)

static RunTask task(const char *kind, const char *phase, SimTime start, SimTime end) {
  return (RunTask){.kind = kind, .phase = phase, .start = start * MS, .end = end * MS};
}

static void check(const double *predicted, double forward, double backward, double reduction, double optimizer) {
  CU_ASSERT_DOUBLE_EQUAL(predicted[STORE_MEASURE_FORWARD], forward / 1000, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(predicted[STORE_MEASURE_BACKWARD], backward / 1000, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(predicted[STORE_MEASURE_REDUCTION], reduction / 1000, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(predicted[STORE_MEASURE_OPTIMIZER], optimizer / 1000, 1e-12);
}

static void by_hand(void) {
  RunTask tasks[] = {task("compute", "forward", 1, 10), /* 0 to 1: waits for its host */
                     task("collective", "gather", 5, 12),  task("compute", "forward", 12, 20), /* waits for a gather */
                     task("compute", "recompute", 20, 30),                                     /* backward */
                     task("collective", "reduce", 31, 45), /* behind a kernel from 33 to 40: hidden from then on */
                     task("compute", "backward", 33, 40),  /* what waits before it is backward's */
                     task("collective", "reduce", 44, 50), /* 40 to 50 are reduction */
                     task("compute", "reduce", 50, 51),    /* so is a copy out of buckets */
                     task("collective", "reduce", 52, 53), /* of a norm */
                     task("compute", "optimizer", 54, 60), /* 51 to 54: one of reduction, two of its own */
                     task("collective", "gather", 60, 70)};
  RunClass of = {.step = 62 * MS, .tasks = tasks, .n_tasks = G_N_ELEMENTS(tasks)};
  double predicted[STORE_MEASURES] = {0};
  truth_parts(&of, predicted);
  check(predicted, 20, 20, 12, 10);
}

static void reduction_ends_a_step(void) {
  RunTask tasks[] = {task("compute", "backward", 0, 5), task("collective", "reduce", 4, 9)};
  RunClass of = {.step = 10 * MS, .tasks = tasks, .n_tasks = G_N_ELEMENTS(tasks)};
  double predicted[STORE_MEASURES] = {0};
  truth_parts(&of, predicted);
  check(predicted, 0, 5, 4, 0); /* the last millisecond is the host's */
}

static void nothing_is_told_twice(void) {
  static const char *const phases[] = {"forward", "backward", "recompute", "reduce", "optimizer"};
  g_autoptr(GRand) random = harness_random();
  for (int round = 0; round < 200; round++) {
    RunTask tasks[40];
    SimTime at = 0, step = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(tasks); i++) {
      at += g_rand_int_range(random, 0, 5);
      SimTime end = at + g_rand_int_range(random, 0, 9);
      tasks[i] = g_rand_boolean(random) ? task("compute", phases[g_rand_int_range(random, 0, 5)], at, end)
                                        : task("collective", "reduce", at, end);
      step = MAX(step, end);
    }
    tasks[G_N_ELEMENTS(tasks) - 1] = task("compute", "optimizer", step, step + 1);
    RunClass of = {.step = (step + 4) * MS, .tasks = tasks, .n_tasks = G_N_ELEMENTS(tasks)};
    double predicted[STORE_MEASURES] = {0}, sum = 0;
    truth_parts(&of, predicted);
    for (StoreMeasureKind kind = STORE_MEASURES_KEPT; kind < STORE_MEASURES; kind++)
      sum += predicted[kind];
    CU_ASSERT_DOUBLE_EQUAL(sum, sim_time_to_seconds(of.step), 1e-12);
  }
}

int main(void) {
  return harness_run("parts of a step", (HarnessCase[]){{"by hand", by_hand},
                                                        {"a reduction ends a step", reduction_ends_a_step},
                                                        {"nothing is told twice", nothing_is_told_twice},
                                                        {NULL, NULL}});
}
