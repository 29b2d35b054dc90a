/* SPDX-License-Identifier: MIT */
/* Events into spans of one step, and these into sums. */
#include "import-kineto.h"

#include <string.h>

#include "base-error.h"
#include "base-span.h"
#include "conf-data.h"
#include "conf-pull.h"

#define PS_DIGITS 6 /* of a microsecond */
/* Microseconds, so that sums of a few such times fit: 26 days. */
#define FAR  (SIM_TIME_NEVER / 4 / SIM_MICROSECOND)
#define MARK "ProfilerStep#"

typedef struct {
  BaseSpan at;
  ImportCollective what; /* IMPORT_COLLECTIVES: compute */
} Span;

typedef struct {
  GArray *spans;              /* Span, of kernels */
  GArray *gpu_marks, *marks;  /* BaseSpan, of steps */
  gint64 base;                /* microseconds of the first event: times are from there */
  gboolean has_base, has_far; /* a time too far from it was met */
  GString *device;            /* the first that a kernel names */
} Reading;

typedef struct {
  GString *ph, *cat, *name, *ts, *dur, *collective, *device;
} Event;

/* ---- Reading ---- */

/* "1712.25" microseconds after the first event, in picoseconds. FALSE: no number. */
static gboolean read_time(Reading *reading, const char *text, gboolean is_duration, SimTime *ret) {
  char *end;
  gint64 whole = g_ascii_strtoll(text, &end, 10), part = 0;
  if (end == text)
    return FALSE;
  int digits = 0;
  if (*end == '.')
    for (end++; g_ascii_isdigit(*end) && digits < PS_DIGITS; end++, digits++)
      part = part * 10 + (*end - '0');
  for (; digits < PS_DIGITS; digits++)
    part *= 10;
  if (!is_duration && !reading->has_base) {
    reading->base = whole;
    reading->has_base = TRUE;
  }
  gint64 since;
  if (__builtin_sub_overflow(whole, is_duration ? 0 : reading->base, &since) || since > FAR || since < -FAR) {
    reading->has_far = TRUE;
    return FALSE;
  }
  *ret = since * SIM_MICROSECOND + (*text == '-' ? -part : part);
  return TRUE;
}

static gboolean has(const char *text, const char *part) {
  g_autofree char *small = g_ascii_strdown(text, -1);
  return strstr(small, part) != NULL;
}

/* By the name that PyTorch wrote with it ("_allgather_base"), else by the kernel's
 * ("ncclDevKernel_AllGather_RING_LL"). */
static ImportCollective collective_of(const Event *event) {
  static const struct {
    const char *part;
    ImportCollective what;
  } known[] = {{"reduce_scatter", IMPORT_REDUCE_SCATTER}, {"reducescatter", IMPORT_REDUCE_SCATTER},
               {"allreduce", IMPORT_ALL_REDUCE},          {"all_reduce", IMPORT_ALL_REDUCE},
               {"allgather", IMPORT_ALL_GATHER},          {"all_gather", IMPORT_ALL_GATHER}};
  const char *const texts[] = {event->collective->str, event->name->str};
  for (gsize t = 0; t < G_N_ELEMENTS(texts); t++)
    for (gsize k = 0; k < G_N_ELEMENTS(known); k++)
      if (has(texts[t], known[k].part))
        return known[k].what;
  return IMPORT_OTHER_COLLECTIVE;
}

static gboolean is_compute(const Event *event) {
  if (g_ascii_strcasecmp(event->cat->str, "kernel") == 0 || g_ascii_strcasecmp(event->cat->str, "gpu_memset") == 0 ||
      g_ascii_strcasecmp(event->cat->str, "memset") == 0)
    return TRUE;
  gboolean copy =
      g_ascii_strcasecmp(event->cat->str, "gpu_memcpy") == 0 || g_ascii_strcasecmp(event->cat->str, "memcpy") == 0;
  return copy && strstr(event->name->str, "DtoD") != NULL;
}

static gboolean is_of_device(Reading *reading, const Event *event) {
  if (reading->device->len == 0)
    g_string_assign(reading->device, event->device->str);
  return event->device->len == 0 || strcmp(reading->device->str, event->device->str) == 0;
}

static void keep(Reading *reading, const Event *event) {
  SimTime start, duration;
  if (strcmp(event->ph->str, "X") != 0 || !read_time(reading, event->ts->str, FALSE, &start) ||
      !read_time(reading, event->dur->str, TRUE, &duration))
    return;
  Span span = {{start, start + MAX(0, duration)}, IMPORT_COLLECTIVES};
  if (g_str_has_prefix(event->name->str, MARK)) {
    g_array_append_val(strcmp(event->cat->str, "gpu_user_annotation") == 0 ? reading->gpu_marks : reading->marks,
                       span.at);
    return;
  }
  if (!is_compute(event) || !is_of_device(reading, event))
    return;
  if (has(event->name->str, "nccl"))
    span.what = collective_of(event);
  g_array_append_val(reading->spans, span);
}

static gboolean read_arguments(ConfPull *pull, Event *event, GString *key, GError **error) {
  gboolean more;
  if (conf_pull_peek(pull) != '{')
    return conf_pull_value(pull, NULL, error);
  if (!conf_pull_enter(pull, '{', error))
    return FALSE;
  for (;;) {
    if (!conf_pull_next(pull, &more, error))
      return FALSE;
    if (!more)
      return TRUE;
    if (!conf_pull_key(pull, key, error))
      return FALSE;
    GString *into = strcmp(key->str, "Collective name") == 0 ? event->collective
                    : strcmp(key->str, "device") == 0        ? event->device
                                                             : NULL;
    if (!conf_pull_value(pull, into, error))
      return FALSE;
  }
}

static gboolean read_event(ConfPull *pull, Event *event, GString *key, GError **error) {
  struct {
    const char *name;
    GString *into;
  } fields[] = {{"ph", event->ph}, {"cat", event->cat}, {"name", event->name}, {"ts", event->ts}, {"dur", event->dur}};
  gboolean more;
  for (gsize f = 0; f < G_N_ELEMENTS(fields); f++)
    g_string_truncate(fields[f].into, 0);
  g_string_truncate(event->collective, 0);
  g_string_truncate(event->device, 0);
  if (!conf_pull_enter(pull, '{', error))
    return FALSE;
  for (;;) {
    if (!conf_pull_next(pull, &more, error))
      return FALSE;
    if (!more)
      return TRUE;
    if (!conf_pull_key(pull, key, error))
      return FALSE;
    GString *into = NULL;
    for (gsize f = 0; f < G_N_ELEMENTS(fields); f++)
      if (strcmp(key->str, fields[f].name) == 0)
        into = fields[f].into;
    gboolean good =
        strcmp(key->str, "args") == 0 ? read_arguments(pull, event, key, error) : conf_pull_value(pull, into, error);
    if (!good)
      return FALSE;
  }
}

static gboolean check_near(const Reading *reading, const ConfPull *pull, GError **error) {
  if (reading->has_far)
    base_error_set_at(error, &(BasePlace){.file = pull->file, .line = pull->line},
                      "times of events lie more than %d days apart; is this one trace?",
                      (int)(FAR / (SIM_SECOND / SIM_MICROSECOND) / (24 * 3600)));
  return !reading->has_far;
}

static gboolean read_events(ConfPull *pull, Reading *reading, GError **error) {
  Event event = {g_string_new(NULL), g_string_new(NULL), g_string_new(NULL), g_string_new(NULL),
                 g_string_new(NULL), g_string_new(NULL), g_string_new(NULL)};
  g_autoptr(GString) key = g_string_new(NULL);
  gboolean more = TRUE, good = conf_pull_enter(pull, '[', error);
  while (good && (good = conf_pull_next(pull, &more, error)) && more) {
    good = read_event(pull, &event, key, error);
    if (good) {
      keep(reading, &event);
      good = check_near(reading, pull, error);
    }
  }
  GString *const texts[] = {event.ph, event.cat, event.name, event.ts, event.dur, event.collective, event.device};
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    g_string_free(texts[i], TRUE);
  return good;
}

/* A list of events, or a map that has it as "traceEvents". */
static gboolean read_file(ConfPull *pull, Reading *reading, GError **error) {
  gboolean more;
  if (conf_pull_peek(pull) == '[')
    return read_events(pull, reading, error);
  g_autoptr(GString) key = g_string_new(NULL);
  if (!conf_pull_enter(pull, '{', error))
    return FALSE;
  for (;;) {
    if (!conf_pull_next(pull, &more, error))
      return FALSE;
    if (!more)
      return TRUE;
    if (!conf_pull_key(pull, key, error))
      return FALSE;
    if (!(strcmp(key->str, "traceEvents") == 0 ? read_events(pull, reading, error)
                                               : conf_pull_value(pull, NULL, error)))
      return FALSE;
  }
}

/* ---- Summing ---- */

static gint by_length(gconstpointer a, gconstpointer b) {
  SimTime of_a = base_span_length(*(const BaseSpan *)a), of_b = base_span_length(*(const BaseSpan *)b);
  return of_a == of_b ? base_span_compare(a, b) : of_a < of_b ? -1 : 1;
}

/* From one mark to the next. The host's: the GPU lags behind, but by as much; the last ends with itself. The GPU's
 * may hold but the kernels of one stream: the last ends with the last kernel. */
static void stretch(GArray *marks, SimTime end) {
  g_array_sort(marks, base_span_compare);
  for (guint i = 0; i < marks->len; i++) {
    BaseSpan *mark = &g_array_index(marks, BaseSpan, i);
    mark->end = i + 1 < marks->len ? g_array_index(marks, BaseSpan, i + 1).start : MAX(mark->end, end);
  }
}

static BaseSpan choose_step(Reading *reading, ImportKineto *ret) {
  GArray *marks = reading->gpu_marks->len > 0 ? reading->gpu_marks : reading->marks;
  BaseSpan all = {G_MAXINT64, G_MININT64};
  for (guint i = 0; i < reading->spans->len; i++) {
    all.start = MIN(all.start, g_array_index(reading->spans, Span, i).at.start);
    all.end = MAX(all.end, g_array_index(reading->spans, Span, i).at.end);
  }
  ret->steps = marks->len;
  if (marks->len == 0)
    return all;
  stretch(marks, marks == reading->marks ? G_MININT64 : all.end);
  g_autoptr(GArray) sorted = g_array_copy(marks);
  g_array_sort(sorted, by_length);
  BaseSpan middle = g_array_index(sorted, BaseSpan, (sorted->len - 1) / 2);
  for (guint i = 0; i < marks->len; i++)
    if (g_array_index(marks, BaseSpan, i).start == middle.start)
      ret->taken = i + 1;
  return middle;
}

/* What of the kernels lies within the step, in order of start: compute as BaseSpan, collectives as Span. */
static void divide(const Reading *reading, BaseSpan step, GArray *compute, GArray *sent) {
  for (guint i = 0; i < reading->spans->len; i++) {
    Span span = g_array_index(reading->spans, Span, i);
    span.at = base_span_within(span.at, step);
    if (base_span_length(span.at) == 0)
      continue;
    if (span.what == IMPORT_COLLECTIVES)
      g_array_append_val(compute, span.at);
    else
      g_array_append_val(sent, span);
  }
  g_array_sort(compute, base_span_compare);
  g_array_sort(sent, base_span_compare);
}

static void sum(const Reading *reading, BaseSpan step, ImportKineto *ret) {
  g_autoptr(GArray) compute = g_array_new(FALSE, FALSE, sizeof(BaseSpan));
  g_autoptr(GArray) sent = g_array_new(FALSE, FALSE, sizeof(Span));
  divide(reading, step, compute, sent);
  ret->step = step.end - step.start;
  ret->compute = base_spans_join(compute);
  BaseCover communication = base_cover(step);
  for (guint i = 0; i < sent->len; i++) {
    const Span *span = &g_array_index(sent, Span, i);
    ImportTraffic *of = &ret->of[span->what];
    SimTime exposed = base_spans_outside(compute, base_cover_add(&communication, span->at));
    of->calls++;
    of->busy = sim_time_add(of->busy, base_span_length(span->at));
    of->exposed += exposed;
    ret->exposed += exposed;
  }
  ret->communication = communication.length;
  ret->idle = ret->step - ret->compute - ret->exposed;
}

gboolean import_kineto_load(const char *path, ImportKineto *ret, GError **error) {
  g_autoptr(GBytes) bytes = conf_data_load(path, error);
  if (bytes == NULL)
    return FALSE;
  gsize length;
  const char *data = g_bytes_get_data(bytes, &length);
  Reading reading = {.spans = g_array_new(FALSE, FALSE, sizeof(Span)),
                     .gpu_marks = g_array_new(FALSE, FALSE, sizeof(BaseSpan)),
                     .marks = g_array_new(FALSE, FALSE, sizeof(BaseSpan)),
                     .device = g_string_new(NULL)};
  ConfPull pull;
  conf_pull_begin(&pull, path, data, length, NULL);
  gboolean good = read_file(&pull, &reading, error) && conf_pull_end(&pull, error);
  if (good && reading.spans->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: has no kernels of a GPU; profile with ProfilerActivity.CUDA",
                path);
    good = FALSE;
  }
  if (good) {
    *ret = (ImportKineto){0};
    sum(&reading, choose_step(&reading, ret), ret);
  }
  g_array_unref(reading.spans);
  g_array_unref(reading.gpu_marks);
  g_array_unref(reading.marks);
  g_string_free(reading.device, TRUE);
  return good;
}
