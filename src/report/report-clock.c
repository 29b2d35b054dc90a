/* SPDX-License-Identifier: MIT */
/* Issues and starts of one stream, to be looked up. */
#include "report-clock.h"

#include <string.h>

typedef struct {
  SimTime issued, start;
} Tick;

struct ReportClock {
  GArray *ticks; /* Tick, in order of both */
  SimTime end;   /* of the step */
};

/* NULL: nothing computes. */
static const char *busiest_stream(const RunClass *of) {
  g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
  const char *busiest = NULL;
  guint most = 0;
  for (guint32 i = 0; i < of->n_tasks; i++) {
    const RunTask *task = &of->tasks[i];
    if (strcmp(task->kind, "compute") != 0)
      continue;
    guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, task->stream)) + 1;
    g_hash_table_insert(counts, (gpointer)task->stream, GUINT_TO_POINTER(count));
    if (count > most) {
      most = count;
      busiest = task->stream;
    }
  }
  return busiest;
}

ReportClock *report_clock_new(const RunClass *rank_class) {
  ReportClock *clock = g_new(ReportClock, 1);
  const char *stream = busiest_stream(rank_class);
  clock->ticks = g_array_new(FALSE, FALSE, sizeof(Tick));
  clock->end = rank_class->step;
  for (guint32 i = 0; i < rank_class->n_tasks; i++) {
    const RunTask *task = &rank_class->tasks[i];
    Tick tick = {task->issued, task->start};
    if (stream != NULL && strcmp(task->stream, stream) == 0)
      g_array_append_val(clock->ticks, tick);
  }
  return clock;
}

void report_clock_free(ReportClock *clock) {
  if (clock == NULL)
    return;
  g_array_unref(clock->ticks);
  g_free(clock);
}

SimTime report_clock_gpu(const ReportClock *clock, SimTime host) {
  guint low = 0, high = clock->ticks->len;
  if (host <= 0)
    return host;
  while (low < high) {
    guint middle = low + (high - low) / 2;
    if (g_array_index(clock->ticks, Tick, middle).issued < host)
      low = middle + 1;
    else
      high = middle;
  }
  return low < clock->ticks->len ? g_array_index(clock->ticks, Tick, low).start : clock->end;
}
