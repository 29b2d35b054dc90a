/* SPDX-License-Identifier: MIT */
/* A walk from the end of the timeline to its beginning. */
#include "report-path.h"

#include <string.h>

typedef struct {
  const RunClass *of;
  GPtrArray *by_end; /* const RunTask *, those that take time */
  GArray *hops;
} Walk;

static gint by_end(gconstpointer a, gconstpointer b) {
  const RunTask *left = *(const RunTask *const *)a, *right = *(const RunTask *const *)b;
  if (left->end != right->end)
    return left->end < right->end ? -1 : 1;
  return (left->row > right->row) - (left->row < right->row);
}

static void take_tasks(Walk *walk) {
  for (guint32 i = 0; i < walk->of->n_tasks; i++)
    if (walk->of->tasks[i].end > walk->of->tasks[i].start)
      g_ptr_array_add(walk->by_end, (gpointer)&walk->of->tasks[i]);
  g_ptr_array_sort(walk->by_end, by_end);
}

/* So many of them end at `at` or before. */
static guint ended(const Walk *walk, SimTime at) {
  guint low = 0, high = walk->by_end->len;
  while (low < high) {
    guint middle = (low + high) / 2;
    if (((const RunTask *)walk->by_end->pdata[middle])->end <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* What ends at this very instant: of several the one on the stream of what it leads to, else the last in the table. */
static const RunTask *ends_at(const Walk *walk, SimTime at, const RunTask *then) {
  const RunTask *found = NULL;
  for (guint i = ended(walk, at); i-- > 0;) {
    const RunTask *task = walk->by_end->pdata[i];
    if (task->end < at)
      break;
    if (found == NULL || (then != NULL && strcmp(task->stream, then->stream) == 0))
      found = task;
  }
  return found;
}

/* The exposure in which the moment before `at` lies; NULL: none. */
static const RunExposure *exposed_before(const RunClass *of, SimTime at) {
  guint32 low = 0, high = of->n_exposures;
  while (low < high) {
    guint32 middle = (low + high) / 2;
    if (of->exposures[middle].end < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low < of->n_exposures && of->exposures[low].start < at ? &of->exposures[low] : NULL;
}

/* Micro-batches that were counted leave a hole in the timeline: an instant in it, in the one that stands for them. */
static SimTime kept(const RunCounted *counted, SimTime at) {
  SimTime beyond = at - counted->end;
  if (counted->more == 0 || beyond <= 0 || beyond > (SimTime)counted->more * counted->period)
    return at;
  return at - (beyond + counted->period - 1) / counted->period * counted->period;
}

/* Time from the step's beginning to `at`, of which what lies in the one that stands for all comes again and again. */
static SimTime reached(const RunCounted *counted, SimTime at) {
  gboolean inside = at > counted->start && at <= counted->end;
  return inside ? at + (at - counted->start) * (SimTime)counted->more : at;
}

static void add(Walk *walk, const RunTask *task, gboolean host, guint64 tasks, SimTime time) {
  const char *name = task != NULL ? task->name : NULL, *phase = task != NULL ? task->phase : NULL;
  for (guint i = 0; i < walk->hops->len; i++) {
    ReportHop *hop = &g_array_index(walk->hops, ReportHop, i);
    if (g_strcmp0(hop->name, name) == 0 && g_strcmp0(hop->phase, phase) == 0 && hop->host == host) {
      hop->tasks += tasks;
      hop->time += time;
      return;
    }
  }
  ReportHop hop = {name, phase, task != NULL && strcmp(task->kind, "compute") != 0, host, tasks, time};
  g_array_append_val(walk->hops, hop);
}

/* A hop from `to` back to `from`; returns where the next ends. */
static SimTime hop(Walk *walk, const RunTask *task, gboolean host, SimTime from, SimTime to) {
  const RunCounted *counted = &walk->of->counted;
  SimTime at = MAX(0, kept(counted, from));
  add(walk, task, host, task != NULL ? task->repeats : 0, reached(counted, to) - reached(counted, at));
  return at;
}

static const RunTask *last_before(const Walk *walk, SimTime at) {
  guint n = ended(walk, at);
  return n > 0 ? walk->by_end->pdata[n - 1] : NULL;
}

/* What goes before a task that nothing's end began: the collective that was awaited, else whatever ended last. */
static const RunTask *awaited_before(const Walk *walk, SimTime at) {
  const RunExposure *piece = exposed_before(walk->of, at);
  const RunTask *task = piece != NULL ? run_class_task(walk->of, piece->row) : NULL;
  return task != NULL && task->end < at && task->end > task->start ? task : last_before(walk, at);
}

static gint by_time(gconstpointer a, gconstpointer b) {
  const ReportHop *left = a, *right = b;
  if (left->time != right->time)
    return left->time > right->time ? -1 : 1;
  return g_strcmp0(left->name, right->name);
}

static SimTime peers(Walk *walk, const RunTask *then, SimTime at) {
  const RunCollective *call = then != NULL ? run_class_collective(walk->of, then->row) : NULL;
  if (call == NULL || call->queued >= at || then->start != at)
    return at;
  return hop(walk, NULL, FALSE, call->queued, at);
}

GArray *report_path(const RunClass *rank_class) {
  GArray *hops = g_array_new(FALSE, FALSE, sizeof(ReportHop));
  if (rank_class->n_tasks == 0)
    return hops;
  g_autoptr(GPtrArray) tasks = g_ptr_array_new();
  Walk walk = {rank_class, tasks, hops};
  take_tasks(&walk);
  const RunTask *then = NULL;
  for (SimTime at = rank_class->step; at > 0;) {
    const RunTask *task = ends_at(&walk, at, then);
    SimTime queued = task == NULL ? peers(&walk, then, at) : at;
    if (queued < at) {
      at = queued;
      then = NULL;
      continue;
    }
    if (task == NULL)
      task = awaited_before(&walk, at);
    if (task == NULL || task->end < at)
      at = hop(&walk, NULL, TRUE, task != NULL ? task->end : 0, at);
    if (task != NULL && task->end >= at)
      at = hop(&walk, task, FALSE, task->start, at);
    then = task;
  }
  g_array_sort(hops, by_time);
  return hops;
}
