/* SPDX-License-Identifier: MIT */
/* Kineto's JSON, event by event. */
#include "import-kineto-read.h"

#include <string.h>

#include "base-error.h"
#include "conf-data.h"
#include "conf-pull.h"
#include "import-execution.h"
#include "import-kineto-args.h"
#include "import-kineto-keep.h"
#include "import-nsys.h"

#define PS_DIGITS 6 /* of a microsecond */
/* Microseconds, so that sums of a few such times fit: 26 days. */
#define FAR (SIM_TIME_NEVER / 4 / SIM_MICROSECOND)

typedef struct {
  ImportKinetoTrace *trace;
  ImportExecution *execution; /* NULL: none was given */
  gint64 base;                /* microseconds of the first event: times are from there */
  gboolean has_base, has_far; /* a time too far from it was met */
  gboolean has_nodes;         /* as PyTorch's execution traces */
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

/* ---- The file ---- */

static gboolean check_near(const Reading *reading, const ConfPull *pull, GError **error) {
  if (reading->has_far)
    base_error_set_at(error, &(BasePlace){.file = pull->file, .line = pull->line},
                      "times of events lie more than %d days apart; is this one trace?",
                      (int)(FAR / (SIM_SECOND / SIM_MICROSECOND) / (24 * 3600)));
  return !reading->has_far;
}

/* What a trace of two million kernels makes takes 1.8 GB and 17 s; one of a few steps has some hundred thousand. */
#define KERNELS_MOST ((guint)1 << 21)
#define OTHERS_MOST  ((guint)1 << 22) /* calls, and operators */

static gboolean check_size(const ImportKinetoTrace *trace, const ConfPull *pull, GError **error) {
  gboolean good =
      trace->kernels->len <= KERNELS_MOST && trace->calls->len <= OTHERS_MOST && trace->ops->len <= OTHERS_MOST;
  if (!good)
    base_error_set_at(error, &(BasePlace){.file = pull->file, .line = pull->line},
                      "has more than %u kernels, or twice as many calls or operators; profile fewer steps "
                      "(torch.profiler.schedule(active=2))",
                      KERNELS_MOST);
  return good;
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
      BaseSpan at;
      if (reading->execution != NULL)
        import_execution_link(reading->execution, &event);
      if (read_span(reading, &event, &at))
        import_kineto_keep(reading->trace, &event, at);
      good = check_near(reading, pull, error) && check_size(reading->trace, pull, error);
    }
  }
  import_kineto_event_clear(&event);
  return good;
}

/* Members of a map, or of a list of maps from its first; whatever else is there is passed. */
static gboolean read_first(ConfPull *pull, const char *const *names, GString *const *into, GError **error) {
  gboolean more, found = FALSE;
  if (conf_pull_peek(pull) == '{')
    return import_kineto_read_members(pull, names, into, error);
  if (conf_pull_peek(pull) != '[')
    return conf_pull_value(pull, NULL, error);
  gboolean good = conf_pull_enter(pull, '[', error);
  while (good && (good = conf_pull_next(pull, &more, error)) && more) {
    gboolean map = !found && conf_pull_peek(pull) == '{';
    good = map ? import_kineto_read_members(pull, names, into, error) : conf_pull_value(pull, NULL, error);
    found |= map;
  }
  return good;
}

static gboolean read_key(ConfPull *pull, const char *key, gpointer data, GError **error) {
  Reading *reading = data;
  static const char *const of_world[] = {"rank", "world_size", "nccl_version", NULL}, *const of_device[] = {"name",
                                                                                                            NULL};
  g_autoptr(GString) one = g_string_new(NULL), other = g_string_new(NULL);
  g_autoptr(GString) version = g_string_new(NULL);
  GString *const into[] = {one, other, version};
  ImportKinetoTrace *trace = reading->trace;
  reading->has_nodes |= strcmp(key, "nodes") == 0;
  gboolean world = strcmp(key, "distributedInfo") == 0, device = strcmp(key, "deviceProperties") == 0;
  if (strcmp(key, "traceEvents") == 0)
    return read_events(pull, reading, error);
  if (!world && !device)
    return conf_pull_value(pull, NULL, error);
  if (!read_first(pull, world ? of_world : of_device, into, error))
    return FALSE;
  if (world) {
    trace->rank = import_kineto_number(one);
    trace->world = import_kineto_number(other);
    if (version->len > 0 && trace->nccl_version == NULL)
      trace->nccl_version = g_strdup(version->str);
  } else if (one->len > 0 && trace->device == NULL) {
    trace->device = g_strdup(one->str);
  }
  return TRUE;
}

/* A list of events, or a map that has it as "traceEvents". */
static gboolean read_file(ConfPull *pull, Reading *reading, GError **error) {
  g_autoptr(GString) key = g_string_new(NULL);
  return conf_pull_peek(pull) == '[' ? read_events(pull, reading, error)
                                     : conf_pull_map(pull, key, read_key, reading, error);
}

ImportKinetoTrace *import_kineto_parse(const char *path, GBytes *bytes, ImportExecution *execution, GError **error) {
  gsize length;
  const char *data = g_bytes_get_data(bytes, &length);
  if (!import_kineto_check(path, data, length, error))
    return NULL;
  g_autoptr(ImportKinetoTrace) trace = import_kineto_new(path);
  Reading reading = {.trace = trace, .execution = execution};
  ConfPull pull;
  conf_pull_begin(&pull, path, data, length, NULL);
  if (!read_file(&pull, &reading, error) || !conf_pull_end(&pull, error))
    return NULL;
  const char *empty = reading.has_nodes ? "is a PyTorch execution trace, which has no times of kernels; give the "
                                          "profiler's (export_chrome_trace), and this beside it with --execution"
                                        : "has no kernels of a GPU; profile with ProfilerActivity.CUDA";
  return import_kineto_finish(trace, empty, error) ? g_steal_pointer(&trace) : NULL;
}

ImportKinetoTrace *import_kineto_read(const char *path, GError **error) {
  g_autoptr(GBytes) bytes = conf_data_load(path, error);
  gsize length;
  const char *data = bytes != NULL ? g_bytes_get_data(bytes, &length) : NULL;
  if (bytes == NULL || !import_nsys_is(data, length))
    return bytes != NULL ? import_kineto_parse(path, bytes, NULL, error) : NULL;
  g_autoptr(GPtrArray) traces = g_ptr_array_new_with_free_func((GDestroyNotify)import_kineto_free);
  return import_nsys_read(path, traces, error) ? g_ptr_array_steal_index(traces, 0) : NULL;
}
