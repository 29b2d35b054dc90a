/* SPDX-License-Identifier: MIT */
/* Name tables and tables of text. */
#include <string.h>

#include "base-names.h"
#include "base-table.h"
#include "harness.h"

static const char *const names[] = {"micro_batch", "global_batch", "gradient_accumulation", NULL};

static void finds_and_advises(void) {
  CU_ASSERT_EQUAL(base_names_find(names, "Global_Batch"), 1);
  CU_ASSERT_EQUAL(base_names_find(names, "batch"), -1);
  /* One letter is missing. */
  CU_ASSERT_STRING_EQUAL(base_names_nearest(names, "micro_bach"), "micro_batch");
  /* The beginning of a name. */
  CU_ASSERT_STRING_EQUAL(base_names_nearest(names, "gradient"), "gradient_accumulation");
  CU_ASSERT_PTR_NULL(base_names_nearest(names, "zero"));
  /* Its first words, before another whose last word is wrong; but a wrong letter is nearer than a word too many. */
  static const char *const metrics[] = {"step_low", "step_high", "step", NULL};
  CU_ASSERT_STRING_EQUAL(base_names_nearest(metrics, "step_time"), "step");
  CU_ASSERT_STRING_EQUAL(base_names_nearest(metrics, "step_hihg"), "step_high");
  CU_ASSERT_PTR_NULL(base_names_nearest(metrics, "stepping"));
  g_autofree char *near = base_names_advice(names, "micro_bach");
  CU_ASSERT_STRING_EQUAL(near, "; did you mean \"micro_batch\"?");
  g_autofree char *all = base_names_advice(names, "zzz");
  CU_ASSERT_STRING_EQUAL(all, "; expected one of micro_batch, global_batch, gradient_accumulation");
}

static void tables_line_up(void) {
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "stage", BASE_LEFT);
  base_table_head(table, "step", BASE_RIGHT);
  base_table_cell(table, "0");
  base_table_cell(table, "12.5 ms");
  base_table_rule(table);
  base_table_cell(table, "µ");
  base_table_end_row(table);
  g_autoptr(GString) text = g_string_new(NULL);
  base_table_print(table, 1, text);
  CU_ASSERT_STRING_EQUAL(text->str, " stage     step\n 0      12.5 ms\n --------------\n µ\n");
}

int main(void) {
  return harness_run(
      "base-names",
      (HarnessCase[]){{"finds and advises", finds_and_advises}, {"tables line up", tables_line_up}, {NULL, NULL}});
}
