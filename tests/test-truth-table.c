/* SPDX-License-Identifier: MIT */
/* Tables: what their head means, and mistakes at their cell. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "truth-table.h"

static TruthTable *load(const char *text, GError **error) {
  g_autofree char *path = NULL;
  int file = g_file_open_tmp("foretrain-truth-XXXXXX", &path, NULL);
  CU_ASSERT_TRUE_FATAL(file >= 0);
  g_close(file, NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
  TruthTable *table = truth_table_load(path, error);
  g_unlink(path);
  return table;
}

static void reads_units(void) {
  g_autoptr(TruthTable) table = load("id,source,set,measured.step_time_s,measured.peak_reserved_gib,measured.time_us,"
                                     "measured.bus_bandwidth,measured.fits,measured.tokens_per_second_per_gpu\n"
                                     "a,s,t,1.5,2,2.5,0.5 GB/s,no,\n"
                                     "b,s,t,,,,0.00 GB/s,unknown,7\n",
                                     NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(table);
  CU_ASSERT_FALSE(table->collectives);
  CU_ASSERT_EQUAL(truth_table_measured(table, 0, STORE_MEASURE_STEP_TIME), 1.5);
  CU_ASSERT_EQUAL(truth_table_measured(table, 0, STORE_MEASURE_RESERVED), 2.0 * 1024 * 1024 * 1024);
  CU_ASSERT_EQUAL(truth_table_measured(table, 0, STORE_MEASURE_TIME), 2.5e-6);
  CU_ASSERT_EQUAL(truth_table_measured(table, 0, STORE_MEASURE_BANDWIDTH), 0.5e9);
  CU_ASSERT_EQUAL(truth_table_measured(table, 0, STORE_MEASURE_FITS), 0);
  CU_ASSERT_EQUAL(truth_table_measured(table, 0, STORE_MEASURE_TOKENS), STORE_UNKNOWN);
  CU_ASSERT_EQUAL(truth_table_measured(table, 1, STORE_MEASURE_BANDWIDTH), STORE_UNKNOWN); /* rounded away */
  CU_ASSERT_EQUAL(truth_table_measured(table, 1, STORE_MEASURE_FITS), STORE_UNKNOWN);
  CU_ASSERT_EQUAL(truth_table_measured(table, 1, STORE_MEASURE_TOKENS), 7);
  CU_ASSERT_EQUAL(store_measure_shown(STORE_MEASURE_TIME, 2.5e-6), 2.5);
}

static void settings_are_cells_that_say_something(void) {
  g_autoptr(TruthTable) table = load("id,source,set,note,parallel.zero_stage,cluster.nodes\na,s,t,n,3,\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(table);
  g_autoptr(StudyPoint) point = truth_table_point(table, 0);
  CU_ASSERT_EQUAL(point->settings->len, 1);
  const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, 0);
  CU_ASSERT_STRING_EQUAL(setting->name, "parallel.zero_stage");
  CU_ASSERT_STRING_EQUAL(setting->value, "3");
  CU_ASSERT_EQUAL(setting->line, 2);
  CU_ASSERT_EQUAL(setting->column, 9); /* behind "a,s,t,n," */
  CU_ASSERT_STRING_EQUAL(truth_table_setting(table, 0, "cluster.nodes"), "");
  CU_ASSERT_STRING_EQUAL(truth_table_setting(table, 0, "cluster.gpu"), "");
}

static void refuses(void) {
  GError *error = NULL;
  HARNESS_FAILS(load("id,source\na,s\n", &error), error, ":1: the head lacks the column \"set\"");
  HARNESS_FAILS(load("id,source,set,nodes\na,s,t,1\n", &error), error, ":1:15: the column \"nodes\" is no group.key");
  HARNESS_FAILS(load("id,source,set,measured.step_tim_s\na,s,t,1\n", &error), error,
                "nothing is measured as \"measured.step_tim_s\"; did you mean \"step_time_s\"?");
  HARNESS_FAILS(load("id,source,set\na,s,t\na,s,t\n", &error), error, ":3:1: id: \"a\" stands twice");
  HARNESS_FAILS(load("id,source,set\n,s,t\n", &error), error, ":2:1: id: expected the name of the row");
  HARNESS_FAILS(load("id,source,set,measured.fits\na,s,t,maybe\n", &error), error,
                ":2:7: measured.fits: expected yes, no or unknown, found \"maybe\"");
  HARNESS_FAILS(load("id,source,set,measured.step_time_s\na,s,t,0\n", &error), error,
                "measured.step_time_s: expected more than 0");
  HARNESS_FAILS(load("id,source,set,measured.bus_bandwidth\na,s,t,12\n", &error), error, "measured.bus_bandwidth: ");
}

/* Trainers that log from one rank tell the memory of its stage. */
static void memory_may_be_of_the_first_stage(void) {
  GError *error = NULL;
  g_autoptr(TruthTable) table = load("id,source,set,memory_of\na,s,t,first-stage\nb,s,t,\n", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(table);
  CU_ASSERT_TRUE(truth_table_of_first_stage(table, 0));
  CU_ASSERT_FALSE(truth_table_of_first_stage(table, 1));
  HARNESS_FAILS(load("id,source,set,memory_of\na,s,t,last\n", &error), error,
                ":2:7: memory_of: expected first-stage or nothing, found \"last\"");
}

int main(void) {
  return harness_run("validation tables", (HarnessCase[]){{"measures and their units", reads_units},
                                                          {"settings", settings_are_cells_that_say_something},
                                                          {"memory of a stage", memory_may_be_of_the_first_stage},
                                                          {"mistakes", refuses},
                                                          {NULL, NULL}});
}
