/* SPDX-License-Identifier: MIT */
/* The tables that describe records: every byte is described, a copy differs in what was changed and in nothing else. */
#include "run-record.h"

#include <string.h>

#include "harness.h"
#include "report-sample.h"

typedef struct {
  const char *name;
  const RunRecord *record;
  gsize lists; /* bytes of pointers and counts that point to other records */
} Case;

static const Case cases[] = {
    {"setting", &run_record_setting, 0},
    {"task", &run_record_task, 0},
    {"collective", &run_record_collective, 0},
    {"exposure", &run_record_exposure, 0},
    {"sample", &run_record_sample, 0},
    {"link", &run_record_link, 0},
    {"oom", &run_record_oom, 0},
    {"level", &run_record_level, 0},
    {"peak", &run_record_peak, 0},
    {"class", &run_record_class, sizeof(RunOom) + 4 * (sizeof(gpointer) + sizeof(guint32))},
    /* settings, notes, classes, links, names */
    {"report", &run_record_report, 5 * sizeof(gpointer) + 3 * sizeof(guint32)},
};

/* No two fields overlap, and what no field describes is lists and padding: at most 7 bytes before a member of 8. */
static void every_byte_is_described(void) {
  for (gsize c = 0; c < G_N_ELEMENTS(cases); c++) {
    const RunRecord *record = cases[c].record;
    g_autofree guint8 *described = g_malloc0(record->size);
    gsize bytes = 0, padding = 0;
    for (guint i = 0; i < record->n; i++) {
      CU_ASSERT_TRUE_FATAL(record->fields[i].offset + record->fields[i].size <= record->size);
      for (gsize k = 0; k < record->fields[i].size; k++)
        CU_ASSERT_EQUAL(described[record->fields[i].offset + k]++, 0);
      bytes += record->fields[i].size;
      padding += 4 * (record->fields[i].size % 8 == 4);
    }
    if (record->size - bytes - cases[c].lists > padding + 16)
      printf("\n    %s: %zu of %zu bytes are no field's\n", cases[c].name, record->size - bytes, record->size);
    CU_ASSERT_TRUE(record->size >= bytes + cases[c].lists);
    CU_ASSERT_TRUE(record->size - bytes - cases[c].lists <= padding + 16);
  }
}

/* Each element of each field by itself: the planted fault of every comparison that walks the tables. */
static void a_changed_member_is_named(void) {
  for (gsize c = 0; c < G_N_ELEMENTS(cases); c++) {
    const RunRecord *record = cases[c].record;
    g_autofree guint8 *one = g_malloc0(record->size), *other = g_malloc0(record->size);
    CU_ASSERT_PTR_NULL(run_record_differs(record, one, other));
    for (guint i = 0; i < record->n; i++) {
      const RunField *field = &record->fields[i];
      gsize last = field->offset + field->size - (run_field_is_text(field) ? sizeof(char *) : 1);
      if (run_field_is_text(field))
        *run_field_text(field, other) = (char *)"other";
      else
        other[last] = 1;
      const char *differs = run_record_differs(record, one, other);
      CU_ASSERT_TRUE(differs != NULL && strcmp(differs, field->member) == 0);
      memcpy(other, one, record->size);
    }
  }
}

static gboolean set(const RunField *field, gpointer record, gint64 value) {
  return run_field_set(field, record, (RunValue){.kind = RUN_INTEGER, .integer = value}, NULL);
}

/* layer and micro of a task may be none, its times end at 13 days, a verdict has two names. */
static void values_outside_are_refused(void) {
  RunTask task = {.layer = 5};
  RunClass class = {0};
  const RunField *layer = &run_record_task.fields[4], *start = &run_record_task.fields[7];
  const RunField *verdict = &run_fields_class[RUN_CLASS_VERDICT], *used = &run_fields_class[RUN_CLASS_DEVICE_USED];
  CU_ASSERT_FALSE(set(layer, &task, -1));
  CU_ASSERT_FALSE(set(layer, &task, G_MAXINT64));
  CU_ASSERT_FALSE(set(start, &task, G_MAXINT64));
  CU_ASSERT_FALSE(set(used, &class, -1));
  CU_ASSERT_FALSE(set(verdict, &class, 1));
  CU_ASSERT_FALSE(run_field_set(start, &task, (RunValue){.kind = RUN_NULL}, NULL));
  CU_ASSERT_FALSE(run_field_set(start, &task, (RunValue){.kind = RUN_REAL, .real = 1}, NULL));
  CU_ASSERT_FALSE(run_field_set(verdict, &class, (RunValue){.kind = RUN_STRING, .string = "perhaps"}, NULL));
  CU_ASSERT_EQUAL(task.layer, 5);
  CU_ASSERT_TRUE(run_field_set(layer, &task, (RunValue){.kind = RUN_NULL}, NULL));
  CU_ASSERT_EQUAL(task.layer, -1);
  CU_ASSERT_EQUAL(run_field_get(layer, &task).kind, RUN_NULL);
  CU_ASSERT_TRUE(run_field_set(verdict, &class, (RunValue){.kind = RUN_STRING, .string = "oom"}, NULL));
  CU_ASSERT_EQUAL(class.verdict, RUN_OOM);
}

/* 14 ranks and 2; of classes that are equal the first decides. */
static void the_first_of_equals_decides(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  report->slowest = report->tightest = 7;
  run_report_choose(report);
  CU_ASSERT_TRUE(report->slowest == 1 && report->tightest == 0);
  report->classes[0].step = report->classes[1].step;
  report->classes[1].device_used = report->classes[0].device_used + 1;
  run_report_choose(report);
  CU_ASSERT_TRUE(report->slowest == 0 && report->tightest == 1);
}

int main(void) {
  return harness_run("run-record", (HarnessCase[]){{"every byte is described", every_byte_is_described},
                                                   {"a changed member is named", a_changed_member_is_named},
                                                   {"values outside are refused", values_outside_are_refused},
                                                   {"the first of equals decides", the_first_of_equals_decides},
                                                   {NULL, NULL}});
}
