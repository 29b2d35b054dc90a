/* SPDX-License-Identifier: MIT */
/* Kineto's JSON, event by event. */
#include "import-kineto-read.h"

#include <string.h>

#include "base-error.h"
#include "conf-data.h"
#include "conf-pull.h"
#include "import-kineto-args.h"
#include "import-kineto-notes.h"
#include "program-ranks.h"

#define PS_DIGITS 6 /* of a microsecond */
/* Microseconds, so that sums of a few such times fit: 26 days. */
#define FAR       (SIM_TIME_NEVER / 4 / SIM_MICROSECOND)
#define MARK      "ProfilerStep#"
#define OPTIMIZER "Optimizer.step#"
#define MODULE    "nn.Module: "

typedef struct {
  ImportKinetoTrace *trace;
  gint64 base;                /* microseconds of the first event: times are from there */
  gboolean has_base, has_far; /* a time too far from it was met */
  gboolean has_nodes;         /* as PyTorch's execution traces */
  GString *device;            /* the first that a kernel names */
} Reading;

/* ---- Times ---- */

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

static gboolean read_span(Reading *reading, const ImportKinetoEvent *event, BaseSpan *ret) {
  SimTime start, duration;
  if (strcmp(event->ph->str, "X") != 0 || !read_time(reading, event->ts->str, FALSE, &start) ||
      !read_time(reading, event->dur->str, TRUE, &duration))
    return FALSE;
  *ret = (BaseSpan){start, start + MAX(0, duration)};
  return TRUE;
}

/* ---- What an event is ---- */

static gboolean is_of(const ImportKinetoEvent *event, const char *const *categories) {
  for (; *categories != NULL; categories++)
    if (g_ascii_strcasecmp(event->cat->str, *categories) == 0)
      return TRUE;
  return FALSE;
}

static gboolean is_of_device(Reading *reading, const ImportKinetoEvent *event) {
  if (reading->device->len == 0)
    g_string_assign(reading->device, event->device->str);
  return event->device->len == 0 || strcmp(reading->device->str, event->device->str) == 0;
}

static gint find_group(ImportKinetoTrace *trace, const ImportKinetoEvent *event) {
  if (event->group->len == 0 && event->group_ranks->len == 0)
    return IMPORT_KINETO_NONE;
  g_autofree char *whole = g_strconcat(event->group->str, " ", event->group_ranks->str, NULL);
  const char *name = g_string_chunk_insert_const(trace->names, whole);
  for (guint i = 0; i < trace->groups->len; i++)
    if (g_array_index(trace->groups, ImportKinetoGroup, i).name == name)
      return (gint)i;
  ImportKinetoGroup group = {name, import_kineto_rank_list(event->group_ranks->str),
                             import_kineto_count(event->group_size)};
  g_array_append_val(trace->groups, group);
  return (gint)trace->groups->len - 1;
}

static void keep_kernel(Reading *reading, const ImportKinetoEvent *event, BaseSpan at) {
  static const char *const kernels[] = {"kernel", "gpu_memset", "memset", NULL};
  static const char *const copies[] = {"gpu_memcpy", "memcpy", NULL};
  gboolean copy = is_of(event, copies);
  if ((!copy && !is_of(event, kernels)) || !is_of_device(reading, event))
    return;
  ImportKinetoTrace *trace = reading->trace;
  ImportKinetoKernel kernel = {.at = at,
                               .what = IMPORT_COLLECTIVES,
                               .copies = copy && strstr(event->name->str, "DtoD") == NULL,
                               .pageable = strstr(event->name->str, "Pageable") != NULL,
                               .name = g_string_chunk_insert_const(trace->names, event->name->str),
                               .stream = import_kineto_number(event->stream->len > 0 ? event->stream : event->tid),
                               .correlation = import_kineto_number(event->correlation),
                               .operation = IMPORT_KINETO_NONE,
                               .group = IMPORT_KINETO_NONE,
                               .bytes = import_kineto_count(event->bytes)};
  if (!copy && import_kineto_communicates(event->name->str, &kernel.foreign)) {
    kernel.what = import_kineto_collective(event);
    trace->foreign += kernel.foreign;
    kernel.bytes = kernel.foreign ? 0 : import_kineto_payload(event, &kernel.operation);
    kernel.group = find_group(trace, event);
  }
  g_array_append_val(trace->kernels, kernel);
}

static void keep_call(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at) {
  static const struct {
    const char *part;
    ImportKinetoCallKind kind;
  } known[] = {{"StreamWaitEvent", IMPORT_KINETO_STREAM_WAIT},
               {"EventSynchronize", IMPORT_KINETO_HOST_WAIT},
               {"StreamSynchronize", IMPORT_KINETO_HOST_WAIT},
               {"DeviceSynchronize", IMPORT_KINETO_HOST_WAIT},
               {"cudaFree", IMPORT_KINETO_HOST_WAIT},
               {"Launch", IMPORT_KINETO_LAUNCH},
               {"Memcpy", IMPORT_KINETO_LAUNCH},
               {"Memset", IMPORT_KINETO_LAUNCH}};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++) {
    if (strstr(event->name->str, known[i].part) == NULL)
      continue;
    ImportKinetoCall call = {at, known[i].kind, g_string_chunk_insert_const(trace->names, event->name->str),
                             import_kineto_number(event->tid), import_kineto_number(event->correlation)};
    g_array_append_val(trace->calls, call);
    return;
  }
}

/* "nn.Module: LlamaDecoderLayer_3" is layer 3. */
static void keep_scope(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at) {
  ImportKinetoScope scope = {at, import_kineto_number(event->tid), IMPORT_KINETO_NONE};
  const char *name = event->name->str, *number = strrchr(name, '_');
  if (g_str_has_prefix(name, MODULE)) {
    gboolean layer = strstr(name, "Layer_") != NULL || strstr(name, "Block_") != NULL;
    if (!layer || number == NULL || !g_ascii_isdigit(number[1]))
      return;
    scope.layer = (gint32)MIN(g_ascii_strtoull(number + 1, NULL, 10), G_MAXINT32);
  } else if (!g_str_has_prefix(name, OPTIMIZER)) {
    return;
  }
  g_array_append_val(trace->scopes, scope);
}

static void keep(Reading *reading, const ImportKinetoEvent *event) {
  static const char *const runtime[] = {"cuda_runtime", "cuda_driver", "Runtime", "Driver", NULL};
  ImportKinetoTrace *trace = reading->trace;
  BaseSpan at;
  if (!read_span(reading, event, &at))
    return;
  if (g_str_has_prefix(event->name->str, MARK)) {
    gboolean of_gpu = strcmp(event->cat->str, "gpu_user_annotation") == 0;
    g_array_append_val(of_gpu ? trace->gpu_marks : trace->marks, at);
    if (!of_gpu && trace->main_thread == IMPORT_KINETO_NONE)
      trace->main_thread = import_kineto_number(event->tid);
    return;
  }
  keep_kernel(reading, event, at);
  if (is_of(event, runtime))
    keep_call(trace, event, at);
  else if (import_kineto_is_note(event->name->str) && strcmp(event->cat->str, "gpu_user_annotation") != 0)
    import_kineto_note(trace, event, at, find_group(trace, event));
  else if (strcmp(event->cat->str, "gpu_user_annotation") != 0)
    keep_scope(trace, event, at);
}

/* ---- The file ---- */

static gboolean check_near(const Reading *reading, const ConfPull *pull, GError **error) {
  if (reading->has_far)
    base_error_set_at(error, &(BasePlace){.file = pull->file, .line = pull->line},
                      "times of events lie more than %d days apart; is this one trace?",
                      (int)(FAR / (SIM_SECOND / SIM_MICROSECOND) / (24 * 3600)));
  return !reading->has_far;
}

static gboolean read_events(ConfPull *pull, Reading *reading, GError **error) {
  ImportKinetoEvent event;
  import_kineto_event_init(&event);
  gboolean more = TRUE, good = conf_pull_enter(pull, '[', error);
  while (good && (good = conf_pull_next(pull, &more, error)) && more) {
    if (conf_pull_peek(pull) == '[') {
      base_error_set_at(error, &(BasePlace){.file = pull->file, .line = pull->line},
                        "events are lists, as in PyTorch's memory timeline; export_chrome_trace writes what is read");
      good = FALSE;
      break;
    }
    good = import_kineto_event_read(pull, &event, error);
    if (good) {
      keep(reading, &event);
      good = check_near(reading, pull, error);
    }
  }
  import_kineto_event_clear(&event);
  return good;
}

/* Of a map one member, of a list of maps that of its first: as text. Whatever else is there is passed. */
static gboolean read_member(ConfPull *pull, const char *const *names, GString *const *into, GError **error) {
  g_autoptr(GString) key = g_string_new(NULL);
  gboolean more, list = conf_pull_peek(pull) == '[', first = TRUE;
  if (list && !conf_pull_enter(pull, '[', error))
    return FALSE;
  do {
    if (list && (!conf_pull_next(pull, &more, error) || !more))
      return !more;
    if (conf_pull_peek(pull) != '{' || !first) {
      if (!conf_pull_value(pull, NULL, error))
        return FALSE;
      continue;
    }
    first = FALSE;
    if (!conf_pull_enter(pull, '{', error))
      return FALSE;
    while (conf_pull_next(pull, &more, error) && more) {
      GString *to = NULL;
      if (!conf_pull_key(pull, key, error))
        return FALSE;
      for (gsize i = 0; names[i] != NULL; i++)
        to = strcmp(key->str, names[i]) == 0 ? into[i] : to;
      if (!conf_pull_value(pull, to, error))
        return FALSE;
    }
  } while (list);
  return *error == NULL;
}

static gboolean read_key(ConfPull *pull, Reading *reading, const char *key, GError **error) {
  static const char *const of_world[] = {"rank", "world_size", NULL}, *const of_device[] = {"name", NULL};
  g_autoptr(GString) one = g_string_new(NULL), other = g_string_new(NULL);
  GString *const into[] = {one, other};
  GError *local = NULL;
  ImportKinetoTrace *trace = reading->trace;
  reading->has_nodes |= strcmp(key, "nodes") == 0;
  gboolean world = strcmp(key, "distributedInfo") == 0, device = strcmp(key, "deviceProperties") == 0;
  if (strcmp(key, "traceEvents") == 0)
    return read_events(pull, reading, error);
  if (!world && !device)
    return conf_pull_value(pull, NULL, error);
  if (!read_member(pull, world ? of_world : of_device, into, &local)) {
    if (local != NULL)
      g_propagate_error(error, local);
    return local == NULL;
  }
  if (world) {
    trace->rank = import_kineto_number(one);
    trace->world = import_kineto_number(other);
  } else if (one->len > 0 && trace->device == NULL) {
    trace->device = g_strdup(one->str);
  }
  return TRUE;
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
    if (!conf_pull_key(pull, key, error) || !read_key(pull, reading, key->str, error))
      return FALSE;
  }
}

static void group_clear(gpointer group) {
  g_array_unref(((ImportKinetoGroup *)group)->ranks);
}

static ImportKinetoTrace *trace_new(const char *path) {
  ImportKinetoTrace *trace = g_new0(ImportKinetoTrace, 1);
  trace->path = g_strdup(path);
  trace->kernels = g_array_new(FALSE, FALSE, sizeof(ImportKinetoKernel));
  trace->calls = g_array_new(FALSE, FALSE, sizeof(ImportKinetoCall));
  trace->scopes = g_array_new(FALSE, FALSE, sizeof(ImportKinetoScope));
  trace->notes = g_array_new(FALSE, FALSE, sizeof(ImportKinetoNote));
  trace->gpu_marks = g_array_new(FALSE, FALSE, sizeof(BaseSpan));
  trace->marks = g_array_new(FALSE, FALSE, sizeof(BaseSpan));
  trace->groups = g_array_new(FALSE, FALSE, sizeof(ImportKinetoGroup));
  g_array_set_clear_func(trace->groups, group_clear);
  trace->names = g_string_chunk_new(4096);
  trace->main_thread = trace->rank = trace->world = IMPORT_KINETO_NONE;
  return trace;
}

void import_kineto_free(ImportKinetoTrace *trace) {
  if (trace == NULL)
    return;
  g_array_unref(trace->kernels);
  g_array_unref(trace->calls);
  g_array_unref(trace->scopes);
  g_array_unref(trace->notes);
  g_array_unref(trace->gpu_marks);
  g_array_unref(trace->marks);
  g_array_unref(trace->groups);
  g_string_chunk_free(trace->names);
  g_free(trace->device);
  g_free(trace->path);
  g_free(trace);
}

/* Marks between which no launch stands are no steps: the profiler's last may hold but its own end. */
static void drop_empty_marks(ImportKinetoTrace *trace) {
  guint kept = 0, next = 0, launches = 0;
  g_array_sort(trace->marks, base_span_compare);
  trace->marked = trace->marks->len;
  if (trace->marked > 0)
    trace->last_mark = g_array_index(trace->marks, BaseSpan, trace->marked - 1).start;
  for (guint i = 0; i < trace->marks->len; i++) {
    BaseSpan mark = g_array_index(trace->marks, BaseSpan, i);
    SimTime end = i + 1 < trace->marks->len ? g_array_index(trace->marks, BaseSpan, i + 1).start : mark.end;
    for (launches = 0; next < trace->calls->len; next++) {
      const ImportKinetoCall *call = &g_array_index(trace->calls, ImportKinetoCall, next);
      if (call->at.start >= end)
        break;
      launches += call->kind == IMPORT_KINETO_LAUNCH && call->at.start >= mark.start;
    }
    if (launches > 0)
      g_array_index(trace->marks, BaseSpan, kept++) = mark;
  }
  if (kept > 0)
    g_array_set_size(trace->marks, kept);
}

static gboolean check_kernels(const ImportKinetoTrace *trace, gboolean has_nodes, GError **error) {
  gboolean any = FALSE;
  for (guint i = 0; i < trace->kernels->len; i++)
    any |= !g_array_index(trace->kernels, ImportKinetoKernel, i).copies;
  if (!any)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: %s", trace->path,
                has_nodes ? "is a PyTorch execution trace, which has no times of kernels; the profiler's "
                            "(export_chrome_trace) is read"
                          : "has no kernels of a GPU; profile with ProfilerActivity.CUDA");
  return any;
}

ImportKinetoTrace *import_kineto_parse(const char *path, GBytes *bytes, GError **error) {
  gsize length;
  const char *data = g_bytes_get_data(bytes, &length);
  if (!import_kineto_check(path, data, length, error))
    return NULL;
  g_autoptr(ImportKinetoTrace) trace = trace_new(path);
  g_autoptr(GString) device = g_string_new(NULL);
  Reading reading = {.trace = trace, .device = device};
  ConfPull pull;
  conf_pull_begin(&pull, path, data, length, NULL);
  if (!read_file(&pull, &reading, error) || !conf_pull_end(&pull, error) ||
      !check_kernels(trace, reading.has_nodes, error))
    return NULL;
  g_array_sort(trace->kernels, base_span_compare);
  g_array_sort(trace->calls, base_span_compare);
  g_array_sort(trace->scopes, base_span_compare);
  g_array_sort(trace->notes, base_span_compare);
  drop_empty_marks(trace);
  import_kineto_use_notes(trace);
  return g_steal_pointer(&trace);
}

ImportKinetoTrace *import_kineto_read(const char *path, GError **error) {
  g_autoptr(GBytes) bytes = conf_data_load(path, error);
  return bytes != NULL ? import_kineto_parse(path, bytes, error) : NULL;
}
