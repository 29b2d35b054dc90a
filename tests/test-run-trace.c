/* SPDX-License-Identifier: MIT */
/* Trace points: what each prints, and that a run which prints them is the run that does not. */
#include <string.h>

#include "event-queue.h"
#include "harness.h"
#include "net-system.h"
#include "run-play.h"
#include "study.h"

typedef struct {
  guint lines;
  GHashTable *points; /* name to how many */
} Seen;

/* "<picoseconds> <point> <what>" */
static void take(const char *text, gpointer user) {
  Seen *seen = user;
  g_auto(GStrv) words = g_strsplit(text, " ", 3);
  CU_ASSERT_TRUE_FATAL(g_strv_length(words) == 3);
  CU_ASSERT_TRUE(g_ascii_string_to_signed(words[0], 10, 0, G_MAXINT64, NULL, NULL));
  CU_ASSERT_TRUE(g_str_has_suffix(text, "\n"));
  seen->lines++;
  guint n = GPOINTER_TO_UINT(g_hash_table_lookup(seen->points, words[1]));
  g_hash_table_insert(seen->points, g_strdup(words[1]), GUINT_TO_POINTER(n + 1));
}

static guint count(const Seen *seen, const char *point) {
  return GPOINTER_TO_UINT(g_hash_table_lookup(seen->points, point));
}

/* Two layers, each step played. */
static RunReport *play_of(const char *workload, const char *patterns, gboolean timeline, Seen *seen) {
  g_autoptr(GError) error = NULL;
  const BaseTrace trace = {patterns, take, seen};
  StudyOptions options = {.timeline = timeline, .every_step = TRUE, .trace = patterns != NULL ? &trace : NULL};
  *seen = (Seen){0, g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
  g_autoptr(Study) study = study_open(workload, &error);
  CU_ASSERT_TRUE_FATAL(study != NULL && study_set(study, "model.layers=2", &error));
  RunReport *report = study_run(study, &options, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(report);
  return report;
}

static RunReport *play(const char *patterns, gboolean timeline, Seen *seen) {
  return play_of("llama2-7b", patterns, timeline, seen);
}

static void seen_clear(Seen *seen) {
  g_hash_table_unref(seen->points);
}

/* Every event that is played fires one line. Rows that start end, but for those that the next step has begun when the
 * run is over: of each of the 16 ranks at most one on each of few streams. Flows likewise. */
static void prints_what_is_played(void) {
  Seen seen;
  g_autoptr(RunReport) report = play("*", FALSE, &seen);
  guint rows = count(&seen, "run.start");
  CU_ASSERT_EQUAL(count(&seen, "event.fire"), report->events);
  CU_ASSERT_TRUE(count(&seen, "event.schedule") >= count(&seen, "event.fire"));
  CU_ASSERT_TRUE(rows > 0 && count(&seen, "run.end") <= rows && rows - count(&seen, "run.end") <= 16 * 4);
  CU_ASSERT_TRUE(count(&seen, "net.start") > 0 && count(&seen, "net.end") <= count(&seen, "net.start"));
  CU_ASSERT_TRUE(count(&seen, "net.rate") >= count(&seen, "net.end") && count(&seen, "net.settle") > 0);
  CU_ASSERT_TRUE(count(&seen, "run.memory") > 0);
  CU_ASSERT_EQUAL(count(&seen, "run.step"), 16 * (report->steps_played + 1));
  CU_ASSERT_EQUAL(count(&seen, "run.oom"), 0);
  seen_clear(&seen);
}

static void prints_what_is_asked(void) {
  Seen seen;
  g_autoptr(RunReport) G_GNUC_UNUSED report = play("net.*,run.step", FALSE, &seen);
  guint net =
      count(&seen, "net.start") + count(&seen, "net.rate") + count(&seen, "net.end") + count(&seen, "net.settle");
  CU_ASSERT_TRUE(net > 0 && count(&seen, "run.step") > 0);
  CU_ASSERT_EQUAL(seen.lines, net + count(&seen, "run.step"));
  seen_clear(&seen);
  g_autofree char *unknown =
      base_trace_unknown("net.*,run.strat", (const char *const[]){"net.rate", "run.start", NULL});
  CU_ASSERT_STRING_EQUAL(unknown, "run.strat");
  CU_ASSERT_PTR_NULL(base_trace_unknown("net.*,run.start", (const char *const[]){"net.rate", "run.start", NULL}));
}

/* All that is in a class, the timeline included, to the picosecond and the byte. Where events are traced each is put
 * into the queue; elsewhere a host that is ahead of its device goes on without. */
static void changes_nothing_of(const char *workload) {
  Seen with, without;
  g_autoptr(RunReport) a = play_of(workload, "*", TRUE, &with), b = play_of(workload, NULL, TRUE, &without);
  CU_ASSERT_EQUAL(without.lines, 0);
  CU_ASSERT_TRUE_FATAL(a->n_classes == b->n_classes && a->n_classes > 0);
  CU_ASSERT_EQUAL(a->events, b->events);
  for (guint i = 0; i < a->n_classes; i++) {
    const RunClass *left = &a->classes[i], *right = &b->classes[i];
    CU_ASSERT_EQUAL(left->step, right->step);
    CU_ASSERT_EQUAL(left->peak_reserved, right->peak_reserved);
    CU_ASSERT_EQUAL(left->peak_allocated, right->peak_allocated);
    CU_ASSERT_TRUE_FATAL(left->n_tasks == right->n_tasks && left->n_tasks > 0);
    for (guint t = 0; t < left->n_tasks; t++)
      CU_ASSERT_TRUE(left->tasks[t].start == right->tasks[t].start && left->tasks[t].end == right->tasks[t].end);
  }
  seen_clear(&with);
  seen_clear(&without);
}

static void changes_nothing(void) {
  static const char *const workloads[] = {"llama2-7b", "llama3-8b-fsdp2", "llama2-7b-megatron", "gpt2-xl"};
  for (guint i = 0; i < G_N_ELEMENTS(workloads); i++)
    changes_nothing_of(workloads[i]);
}

int main(void) {
  return harness_run("run-trace", (HarnessCase[]){{"prints what is played", prints_what_is_played},
                                                  {"prints what is asked", prints_what_is_asked},
                                                  {"changes nothing", changes_nothing},
                                                  {NULL, NULL}});
}
