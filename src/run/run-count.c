/* SPDX-License-Identifier: MIT */
/* Three Reports on a line, and the line drawn on. */
#include "run-count.h"

#include <string.h>

typedef enum { INTEGER, WIDE, REAL } Kind; /* 32 bits, 64 bits (times and counts alike), double */

typedef struct {
  gsize offset;
  Kind kind;
  gboolean level;  /* must not grow */
  guint n;         /* of an array */
  gboolean made;   /* where the third play made the memory of all bodies: as it is there */
  gboolean beyond; /* where memory has run out it is of no consequence: as in the third play */
} Number;

#define NUMBER(type, member, kind, level)                                                                              \
  { G_STRUCT_OFFSET(type, member), kind, level, 1, FALSE, FALSE }
#define GROWS(member) NUMBER(RunClass, member, WIDE, FALSE)
#define LEVEL(member) NUMBER(RunClass, member, WIDE, TRUE)
#define FIXED(member) NUMBER(RunClass, member, INTEGER, TRUE)
#define LEVELS(member, count)                                                                                          \
  { G_STRUCT_OFFSET(RunClass, member), WIDE, TRUE, count, FALSE, FALSE }
#define MADE(member, kind)                                                                                             \
  { G_STRUCT_OFFSET(RunClass, member), kind, TRUE, 1, TRUE, FALSE }
#define BEYOND(member, kind, made)                                                                                     \
  { G_STRUCT_OFFSET(RunClass, member), kind, TRUE, 1, made, TRUE }

static const Number of_class[] = {
    FIXED(ranks),
    FIXED(first_rank),
    GROWS(step),
    GROWS(compute),
    GROWS(communication),
    GROWS(exposed),
    GROWS(idle),
    GROWS(host),
    GROWS(bubble),
    {G_STRUCT_OFFSET(RunClass, by_cause), WIDE, FALSE, RUN_CAUSES, FALSE, FALSE},
    GROWS(network_bytes_intra),
    GROWS(network_bytes_inter),
    GROWS(watched),
    FIXED(verdict),
    LEVEL(capacity),
    BEYOND(short_by, WIDE, FALSE),
    MADE(steady_allocated, WIDE),
    MADE(peak_allocated, WIDE),
    MADE(peak_active, WIDE),
    BEYOND(peak_reserved, WIDE, TRUE),
    BEYOND(device_used, WIDE, TRUE),
    BEYOND(device_used_low, WIDE, TRUE),
    BEYOND(device_used_high, WIDE, TRUE),
    BEYOND(device_used_step, INTEGER, TRUE),
    GROWS(retries),
    GROWS(step_retries),
    GROWS(step_stalled),
    LEVELS(peak_held, RUN_TENANTS),
    LEVELS(peak_unique, RUN_TENANTS),
    GROWS(peak_at),
    FIXED(peak_step),
    FIXED(peak_layer),
    FIXED(has_oom),
    GROWS(oom.at),
    FIXED(oom.step),
    NUMBER(RunClass, oom.row, INTEGER, FALSE),
    FIXED(oom.layer),
    LEVEL(oom.requested),
    LEVEL(oom.free),
    LEVEL(oom.allocated),
    LEVEL(oom.reserved),
    LEVELS(oom.held, RUN_TENANTS),
};

static const Number of_link[] = {
    NUMBER(RunLink, links, INTEGER, TRUE),
    NUMBER(RunLink, capacity, REAL, TRUE),
    NUMBER(RunLink, bytes, REAL, FALSE),
    NUMBER(RunLink, busy, WIDE, FALSE),
};

static gboolean integers_go_on(const Number *number, const char *a, const char *b, const char *c) {
  const guint32 *x = (gconstpointer)a, *y = (gconstpointer)b, *z = (gconstpointer)c;
  return number->level ? *x == *y && *y == *z : *y - *x == *z - *y;
}

/* What shrinks (the time that a device waits for a host that gets ahead) will not go on to. */
static gboolean wide_go_on(const Number *number, const char *a, const char *b, const char *c) {
  const guint64 *x = (gconstpointer)a, *y = (gconstpointer)b, *z = (gconstpointer)c;
  for (guint i = 0; i < number->n; i++)
    if (number->level ? x[i] != y[i] || y[i] != z[i] : y[i] - x[i] != z[i] - y[i] || z[i] < y[i])
      return FALSE;
  return TRUE;
}

static gboolean reals_go_on(const Number *number, const char *a, const char *b, const char *c) {
  const double *x = (gconstpointer)a, *y = (gconstpointer)b, *z = (gconstpointer)c;
  return number->level ? *x == *y && *y == *z : *y - *x == *z - *y;
}

/* Which numbers of a class are as in the third play. */
typedef struct {
  gboolean made, beyond;
} Third;

static gboolean is_of_third(const Number *number, Third third) {
  return (number->made && third.made) || (number->beyond && third.beyond);
}

static gboolean all_go_on(const Number *numbers, gsize n, gconstpointer a, gconstpointer b, gconstpointer c,
                          Third third) {
  static gboolean (*const kinds[])(const Number *, const char *, const char *, const char *) = {
      [INTEGER] = integers_go_on, [WIDE] = wide_go_on, [REAL] = reals_go_on};
  for (gsize i = 0; i < n; i++) {
    gsize at = numbers[i].offset;
    if (is_of_third(&numbers[i], third))
      continue;
    if (!kinds[numbers[i].kind](&numbers[i], (const char *)a + at, (const char *)b + at, (const char *)c + at))
      return FALSE;
  }
  return TRUE;
}

/* Unsigned arithmetic is that of signed times too. Real numbers are whole bytes below 2^53. */
static void draw_on(const Number *numbers, gsize n, gpointer first, gconstpointer second, guint64 more) {
  for (gsize i = 0; i < n; i++) {
    gpointer a = (char *)first + numbers[i].offset;
    gconstpointer b = (const char *)second + numbers[i].offset;
    for (guint k = 0; k < numbers[i].n; k++)
      switch (numbers[i].kind) {
      case INTEGER:
        ((guint32 *)a)[k] += (guint32)more * (((const guint32 *)b)[k] - ((const guint32 *)a)[k]);
        break;
      case WIDE:
        ((guint64 *)a)[k] += more * (((const guint64 *)b)[k] - ((const guint64 *)a)[k]);
        break;
      case REAL:
        ((double *)a)[k] += (double)more * (((const double *)b)[k] - ((const double *)a)[k]);
        break;
      }
  }
}

static void take_third(RunClass *first, const RunClass *third, Third of) {
  for (gsize i = 0; i < G_N_ELEMENTS(of_class); i++)
    if (is_of_third(&of_class[i], of))
      memcpy((char *)first + of_class[i].offset, (const char *)third + of_class[i].offset,
             of_class[i].kind == INTEGER ? sizeof(guint32) : sizeof(guint64));
}

/* The last growth for every body that is left; levels stay. */
static void go_on_growing(const Number *numbers, gsize n, gconstpointer before, gpointer last, guint64 more) {
  for (gsize i = 0; i < n; i++)
    for (guint k = 0; k < numbers[i].n && !numbers[i].level; k++) {
      gconstpointer a = (const char *)before + numbers[i].offset;
      gpointer b = (char *)last + numbers[i].offset;
      if (numbers[i].kind == WIDE && ((guint64 *)b)[k] > ((const guint64 *)a)[k])
        ((guint64 *)b)[k] += more * (((guint64 *)b)[k] - ((const guint64 *)a)[k]);
      else if (numbers[i].kind == REAL)
        ((double *)b)[k] += (double)more * (((double *)b)[k] - ((const double *)a)[k]);
    }
}

static gboolean same_names(const RunClass *a, const RunClass *b) {
  return g_strcmp0(a->peak_name, b->peak_name) == 0 && g_strcmp0(a->peak_phase, b->peak_phase) == 0 &&
         g_strcmp0(a->oom.name, b->oom.name) == 0 && g_strcmp0(a->oom.tensor, b->oom.tensor) == 0 &&
         g_strcmp0(a->oom.tenant, b->oom.tenant) == 0;
}

/* The host of a class takes no longer for a body than its step grows by: what it is ahead does not shrink. */
static gboolean host_keeps_up(const RunClass *first, const RunClass *second) {
  return second->watched - first->watched <= second->step - first->step;
}

/* ---- The timeline ---- */

static gboolean find_body(const RunClass *first, const RunClass *second, const RunBodies *bodies, RunBody *ret) {
  gint32 end_micro = (gint32)(bodies->played - bodies->body), micro = end_micro - (gint32)bodies->body;
  RunBody body = {.row = G_MAXUINT32, .end_row = G_MAXUINT32, .caught_row = G_MAXUINT32, .caught = SIM_TIME_NEVER};
  for (guint32 i = 0; i < first->n_tasks; i++) {
    const RunTask *task = &first->tasks[i];
    if (task->micro >= micro)
      body.row = MIN(body.row, task->row);
    if (task->micro >= end_micro)
      body.end_row = MIN(body.end_row, task->row);
  }
  body.start = body.end = SIM_TIME_NEVER;
  for (guint32 i = 0; i < first->n_tasks; i++) {
    const RunTask *task = &first->tasks[i];
    if (strcmp(task->kind, "compute") != 0)
      continue;
    if (task->row >= body.row)
      body.start = MIN(body.start, task->start);
    if (task->row >= body.end_row)
      body.end = MIN(body.end, task->start);
  }
  body.period = second->step - first->step;
  body.host_period = second->watched - first->watched;
  body.watched = first->watched;
  body.micros = bodies->body;
  *ret = body;
  return body.row < body.end_row && body.end != SIM_TIME_NEVER;
}

/* What is exposed within the body is what each body more adds. */
static gboolean causes_agree(const RunClass *first, const RunClass *second, const RunBody *body) {
  SimTime within[RUN_CAUSES] = {0};
  for (guint32 i = 0; i < first->n_exposures; i++) {
    const RunExposure *exposure = &first->exposures[i];
    if (exposure->start >= body->start && exposure->end <= body->end)
      within[exposure->cause] += exposure->end - exposure->start;
    else if (exposure->start < body->end && exposure->end > body->start)
      return FALSE;
  }
  for (int cause = 0; cause < RUN_CAUSES; cause++)
    if (within[cause] != second->by_cause[cause] - first->by_cause[cause])
      return FALSE;
  return TRUE;
}

static gboolean timeline_goes_on(const RunClass *first, const RunClass *second, const RunBodies *bodies) {
  RunBody body;
  return first->n_tasks == 0 || (find_body(first, second, bodies, &body) && causes_agree(first, second, &body));
}

static void move_tasks(RunClass *kept, const RunBody *body, guint64 more) {
  SimTime later = (SimTime)more * body->period;
  for (guint32 i = 0; i < kept->n_tasks; i++) {
    RunTask *task = &kept->tasks[i];
    if (task->row >= body->row && task->row < body->end_row)
      task->repeats += (guint32)more;
    if (task->row < body->end_row)
      continue;
    task->issued += task->row < body->caught_row ? (SimTime)more * body->host_period : later;
    task->row += (guint32)more * (body->end_row - body->row);
    task->micro += task->micro >= 0 ? (gint32)(more * body->micros) : 0;
    task->start += later;
    task->end += later;
  }
}

static void move_collectives(RunClass *kept, const RunBody *body, guint64 more) {
  SimTime later = (SimTime)more * body->period;
  for (guint32 i = 0; i < kept->n_collectives; i++) {
    RunCollective *collective = &kept->collectives[i];
    if (collective->row >= body->row && collective->row < body->end_row)
      collective->repeats += (guint32)more;
    if (collective->row < body->end_row)
      continue;
    collective->row += (guint32)more * (body->end_row - body->row);
    collective->queued += later;
    collective->start += later;
    collective->end += later;
  }
}

static void move_exposures(RunClass *kept, const RunBody *body, guint64 more) {
  SimTime later = (SimTime)more * body->period;
  for (guint32 i = 0; i < kept->n_exposures; i++) {
    RunExposure *exposure = &kept->exposures[i];
    if (exposure->row != G_MAXUINT32 && exposure->row >= body->end_row)
      exposure->row += (guint32)more * (body->end_row - body->row);
    if (exposure->start >= body->end) {
      exposure->start += later;
      exposure->end += later;
    } else if (exposure->start >= body->start) {
      exposure->repeats += (guint32)more;
    }
  }
}

/* Levels are on the host's clock. */
static void move_samples(RunClass *kept, const RunBody *body, guint64 more) {
  for (guint32 i = 0; i < kept->n_samples; i++)
    if (kept->samples[i].at >= body->watched)
      kept->samples[i].at += (SimTime)more * (kept->samples[i].at < body->caught ? body->host_period : body->period);
}

void run_count_move(RunClass *kept, const RunBody *body, guint64 more) {
  if (kept->n_tasks == 0)
    return;
  move_tasks(kept, body, more);
  move_collectives(kept, body, more);
  move_exposures(kept, body, more);
  move_samples(kept, body, more);
  kept->counted = (RunCounted){.start = body->start, .end = body->end, .period = body->period, .more = more};
}

static void move_timeline(RunClass *first, const RunClass *second, const RunBodies *bodies) {
  RunBody body;
  if (first->n_tasks > 0 && find_body(first, second, bodies, &body))
    run_count_move(first, &body, bodies->more);
}

/* ---- The whole ---- */

static Third of_third(const RunReport *third, const RunClass *of, const RunClass *there) {
  return (Third){third->settled != RUN_UNSETTLED && of->n_tasks == 0, of->has_oom && there->has_oom};
}

static gboolean all_ran_out(const RunReport *report) {
  gboolean out = TRUE;
  for (guint32 i = 0; i < report->n_classes; i++)
    out &= report->classes[i].has_oom;
  return out;
}

gboolean run_count_may(const RunReport *first) {
  return first->repeats || all_ran_out(first);
}

/* Where no rank has memory, steps may differ for ever in what the allocator takes beyond it, and in nothing else. */
static gboolean steps_alike(const RunReport *a, const RunReport *b) {
  return (a->repeats && b->repeats && a->steps_played == b->steps_played) || (all_ran_out(a) && all_ran_out(b));
}

static gboolean played_alike(const RunReport *a, const RunReport *b) {
  return a->n_classes == b->n_classes && a->n_links == b->n_links && a->slowest == b->slowest &&
         a->tightest == b->tightest && steps_alike(a, b);
}

static gboolean goes_on(const RunReport *first, const RunReport *second, const RunReport *third,
                        const RunBodies *bodies) {
  if (!played_alike(first, second) || !played_alike(second, third))
    return FALSE;
  for (guint32 i = 0; i < first->n_classes; i++) {
    const RunClass *a = &first->classes[i], *b = &second->classes[i], *c = &third->classes[i];
    if (!all_go_on(of_class, G_N_ELEMENTS(of_class), a, b, c, of_third(third, a, c)) || !same_names(a, b) ||
        !same_names(b, c) || !host_keeps_up(a, b) || !timeline_goes_on(a, b, bodies))
      return FALSE;
  }
  for (guint32 i = 0; i < first->n_links; i++)
    if (!all_go_on(of_link, G_N_ELEMENTS(of_link), &first->links[i], &second->links[i], &third->links[i],
                   (Third){FALSE, FALSE}))
      return FALSE;
  return TRUE;
}

static void add_cost(RunReport *first, const RunReport *second, const RunReport *third) {
  first->events += second->events + third->events;
  first->wall_seconds += second->wall_seconds + third->wall_seconds;
}

gboolean run_count(RunReport *first, const RunReport *second, const RunReport *third, const RunBodies *bodies) {
  if (!goes_on(first, second, third, bodies))
    return FALSE;
  for (guint32 i = 0; i < first->n_classes; i++) {
    move_timeline(&first->classes[i], &second->classes[i], bodies);
    Third of = of_third(third, &first->classes[i], &third->classes[i]);
    draw_on(of_class, G_N_ELEMENTS(of_class), &first->classes[i], &second->classes[i], bodies->more);
    take_third(&first->classes[i], &third->classes[i], of);
  }
  for (guint32 i = 0; i < first->n_links; i++)
    draw_on(of_link, G_N_ELEMENTS(of_link), &first->links[i], &second->links[i], bodies->more);
  add_cost(first, second, third);
  run_report_choose(first); /* one that was ahead may fall behind */
  run_report_rates(first);
  return TRUE;
}

void run_count_anyway(const RunReport *first, const RunReport *second, RunReport *third, const RunBodies *bodies) {
  guint64 more = bodies->more - 2;
  for (guint32 i = 0; i < third->n_classes && second->n_classes == third->n_classes; i++)
    go_on_growing(of_class, G_N_ELEMENTS(of_class), &second->classes[i], &third->classes[i], more);
  for (guint32 i = 0; i < third->n_links && second->n_links == third->n_links; i++)
    go_on_growing(of_link, G_N_ELEMENTS(of_link), &second->links[i], &third->links[i], more);
  third->repeats = FALSE;
  add_cost(third, first, second);
  run_report_choose(third);
  run_report_rates(third);
}
