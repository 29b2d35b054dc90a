/* SPDX-License-Identifier: MIT */
/* A run of the database as events, each row once. */
#include "report-chrome.h"

#include <stdlib.h>
#include <string.h>

#include "base-error.h"
#include "base-json.h"
#include "base-names.h"
#include "report-clock.h"
#include "report-flows.h"
#include "store-metric.h"

/* Threads of a process beside its streams, which are numbered from above them on. */
enum { HOST_THREAD, EXPOSED_THREAD, IDLE_THREAD, FIRST_STREAM };

typedef struct {
  BaseJson *json;
  GHashTable *streams; /* their numbers */
  guint64 flows;       /* begun so far */
} Writer;

/* Picoseconds as microseconds, exactly. */
static void add_time(BaseJson *json, const char *key, gint64 time) {
  g_autofree char *digits =
      g_strdup_printf("%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT, time / SIM_MICROSECOND, time % SIM_MICROSECOND);
  base_json_digits(json, key, digits);
}

/* An event a line. */
static BaseJson *begin(Writer *writer, const char *kind, guint32 pid, const char *name) {
  BaseJson *json = writer->json;
  base_json_break(json);
  base_json_map(json, NULL);
  base_json_text(json, "ph", kind);
  base_json_integer(json, "pid", pid);
  base_json_text(json, "name", name);
  return json;
}

static gint by_name(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Streams are threads: a number for each, in order of name over all classes. Caller frees. */
static GHashTable *number_streams(const RunReport *report) {
  GHashTable *numbers = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(GPtrArray) streams = g_ptr_array_new();
  for (guint32 c = 0; c < report->n_classes; c++)
    for (guint32 i = 0; i < report->classes[c].n_tasks; i++)
      if (g_hash_table_add(numbers, (gpointer)report->classes[c].tasks[i].stream))
        g_ptr_array_add(streams, (gpointer)report->classes[c].tasks[i].stream);
  g_ptr_array_sort(streams, by_name);
  for (guint i = 0; i < streams->len; i++)
    g_hash_table_insert(numbers, streams->pdata[i], GUINT_TO_POINTER(i + FIRST_STREAM));
  return numbers;
}

static guint number_of(const Writer *writer, const char *stream) {
  return GPOINTER_TO_UINT(g_hash_table_lookup(writer->streams, stream));
}

static void add_value(BaseJson *json, const char *key, RunValue value) {
  if (value.kind == RUN_NULL)
    return;
  if (value.kind == RUN_STRING) {
    base_json_text(json, key, value.string);
    return;
  }
  g_autofree char *number = store_value_text(value);
  base_json_digits(json, key, number);
}

/* Those fields of the record that are named, in this order. */
static void add_values(BaseJson *json, const char *const *keys, const RunRecord *record, gconstpointer of) {
  for (; *keys != NULL; keys++)
    for (guint i = 0; i < record->n; i++)
      if (g_strcmp0(record->fields[i].key, *keys) == 0)
        add_value(json, *keys, run_field_get(&record->fields[i], of));
}

static void add_task(Writer *writer, guint32 index, const RunClass *of, const RunTask *task) {
  static const char *const task_keys[] = {"task_id", "layer", "micro", NULL};
  static const char *const call_keys[] = {"operation", "algorithm",     "protocol", "bytes",
                                          "channels",  "bus_bandwidth", NULL};
  const RunCollective *call = run_class_collective(of, task->row);
  BaseJson *json = begin(writer, "X", index, task->name);
  base_json_text(json, "cat", task->phase);
  base_json_integer(json, "tid", number_of(writer, task->stream));
  add_time(json, "ts", task->start);
  add_time(json, "dur", task->end - task->start);
  base_json_map(json, "args");
  base_json_text(json, "phase", task->phase);
  add_values(json, task_keys, &run_record_task, task);
  if (call != NULL)
    add_values(json, call_keys, &run_record_collective, call);
  base_json_end(json);
  base_json_end(json);
}

static void add_tasks(Writer *writer, guint32 index, const RunClass *of) {
  g_autoptr(GPtrArray) tasks = run_class_by_start(of);
  for (guint i = 0; i < tasks->len; i++)
    add_task(writer, index, of, tasks->pdata[i]);
}

/* What the host spent on each task. */
static void add_host(Writer *writer, guint32 index, const RunClass *of) {
  for (guint32 i = 0; i < of->n_tasks; i++) {
    const RunTask *task = &of->tasks[i];
    if (task->host == 0)
      continue;
    BaseJson *json = begin(writer, "X", index, task->name);
    base_json_text(json, "cat", "host");
    base_json_integer(json, "tid", HOST_THREAD);
    add_time(json, "ts", task->issued - task->host);
    add_time(json, "dur", task->host);
    base_json_map(json, "args");
    base_json_integer(json, "task_id", task->row);
    base_json_end(json);
    base_json_end(json);
  }
}

static void add_exposures(Writer *writer, guint32 index, const RunClass *of) {
  for (guint32 i = 0; i < of->n_exposures; i++) {
    const RunExposure *piece = &of->exposures[i];
    const RunTask *task = run_class_task(of, piece->row);
    gboolean idle = run_cause_is_idle(piece->cause);
    BaseJson *json = begin(writer, "X", index, run_cause_names[piece->cause]);
    base_json_text(json, "cat", idle ? "idle" : "exposed");
    base_json_integer(json, "tid", idle ? IDLE_THREAD : EXPOSED_THREAD);
    add_time(json, "ts", piece->start);
    add_time(json, "dur", piece->end - piece->start);
    if (task != NULL) {
      base_json_map(json, "args");
      base_json_text(json, "waits_for", task->name);
      base_json_end(json);
    }
    base_json_end(json);
  }
}

/* An end of an arrow, inside the slice that it belongs to. */
static void add_flow_end(Writer *writer, guint32 index, const char *kind, const RunTask *task, SimTime at) {
  BaseJson *json = begin(writer, kind, index, "waits for");
  base_json_text(json, "cat", "wait");
  if (*kind == 'f')
    base_json_text(json, "bp", "e");
  base_json_integer(json, "id", (gint64)writer->flows);
  base_json_integer(json, "tid", number_of(writer, task->stream));
  add_time(json, "ts", at);
  base_json_end(json);
}

static void add_flows(Writer *writer, guint32 index, const RunClass *of) {
  g_autoptr(GArray) flows = report_flows(of);
  for (guint i = 0; i < flows->len; i++) {
    const ReportFlow *flow = &g_array_index(flows, ReportFlow, i);
    writer->flows++;
    add_flow_end(writer, index, "s", flow->from, MAX(flow->from->start, flow->from->end - 1));
    add_flow_end(writer, index, "f", flow->to, flow->to->start);
  }
}

/* What stands for more than itself: where the rest of it would be. */
static void add_counted(Writer *writer, guint32 index, const RunClass *of) {
  const RunCounted *counted = &of->counted;
  if (counted->more == 0)
    return;
  g_autofree char *name =
      g_strdup_printf("micro-batches like those before, %" G_GUINT64_FORMAT " times", counted->more);
  BaseJson *json = begin(writer, "X", index, name);
  base_json_text(json, "cat", "counted");
  base_json_integer(json, "tid", EXPOSED_THREAD);
  add_time(json, "ts", counted->end);
  add_time(json, "dur", (SimTime)counted->more * counted->period);
  base_json_end(json);
}

/* Levels that changed, when the GPU comes to them; those of one moment in order of name. */
static void add_levels(Writer *writer, guint32 index, const RunClass *of) {
  g_autoptr(ReportClock) clock = report_clock_new(of);
  const char *tenants[RUN_TENANTS];
  memcpy(tenants, run_tenant_names, sizeof tenants);
  qsort(tenants, RUN_TENANTS, sizeof *tenants, by_name);
  for (guint32 i = 0; i < of->n_samples; i++)
    for (guint k = 0; k < RUN_TENANTS; k++) {
      guint tenant = (guint)base_names_find(run_tenant_names, tenants[k]);
      if (!run_sample_changes(of, i, tenant))
        continue;
      g_autofree char *name = g_strconcat("memory: ", tenants[k], NULL);
      BaseJson *json = begin(writer, "C", index, name);
      add_time(json, "ts", report_clock_gpu(clock, of->samples[i].at));
      base_json_map(json, "args");
      base_json_integer(json, "bytes", (gint64)of->samples[i].held[tenant]);
      base_json_end(json);
      base_json_end(json);
    }
}

static void add_meta(Writer *writer, const char *kind, guint32 index, guint thread, const char *name) {
  BaseJson *json = begin(writer, "M", index, kind);
  base_json_integer(json, "tid", thread);
  base_json_map(json, "args");
  base_json_text(json, "name", name);
  base_json_end(json);
  base_json_end(json);
}

/* What keeps processes and threads in their order. */
static void add_place(Writer *writer, const char *kind, guint32 index, guint thread, guint place) {
  BaseJson *json = begin(writer, "M", index, kind);
  base_json_integer(json, "tid", thread);
  base_json_map(json, "args");
  base_json_integer(json, "sort_index", place);
  base_json_end(json);
  base_json_end(json);
}

static void add_process(Writer *writer, guint32 index, const RunClass *of) {
  g_autofree char *role = of->role != NULL ? g_strdup_printf(", %s", of->role) : g_strdup("");
  g_autofree char *name = g_strdup_printf("rank class %u: %u rank%s from %u on%s", index, of->ranks,
                                          of->ranks == 1 ? "" : "s", of->first_rank, role);
  add_meta(writer, "process_name", index, 0, name);
  add_place(writer, "process_sort_index", index, 0, index);
}

static void add_thread(Writer *writer, guint32 index, guint thread, const char *name) {
  add_meta(writer, "thread_name", index, thread, name);
  add_place(writer, "thread_sort_index", index, thread, thread);
}

static void add_threads(Writer *writer, guint32 index, const RunClass *of) {
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(GPtrArray) streams = g_ptr_array_new();
  for (guint32 i = 0; i < of->n_tasks; i++)
    if (g_hash_table_add(seen, (gpointer)of->tasks[i].stream))
      g_ptr_array_add(streams, (gpointer)of->tasks[i].stream);
  g_ptr_array_sort(streams, by_name);
  add_thread(writer, index, HOST_THREAD, "host");
  add_thread(writer, index, EXPOSED_THREAD, "exposed");
  add_thread(writer, index, IDLE_THREAD, "idle");
  for (guint i = 0; i < streams->len; i++)
    add_thread(writer, index, number_of(writer, streams->pdata[i]), streams->pdata[i]);
}

gboolean report_chrome(StoreDb *db, gint64 run_id, GString *text, GError **error) {
  static void (*const parts[])(Writer *, guint32, const RunClass *) = {
      add_process, add_threads, add_host, add_tasks, add_exposures, add_counted, add_flows, add_levels};
  g_autoptr(RunReport) report = store_db_load(db, run_id, TRUE, error);
  if (report == NULL)
    return FALSE;
  if ((report->missing & RUN_MISSING_TIMELINE) != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "run %" G_GINT64_FORMAT
                " has no timeline: it is a point of a sweep, or was run with --timeline=no. foretrain run keeps one, "
                "and so does foretrain sweep --timeline=yes",
                run_id);
    return FALSE;
  }
  g_autoptr(GHashTable) streams = number_streams(report);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_COMPACT);
  Writer writer = {json, streams, 0};
  base_json_map(json, NULL);
  base_json_text(json, "displayTimeUnit", "ms");
  base_json_list(json, "traceEvents");
  for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    for (guint32 c = 0; c < report->n_classes; c++)
      parts[i](&writer, c, &report->classes[c]);
  base_json_break(json);
  base_json_end(json);
  base_json_end(json);
  g_string_append_c(text, '\n');
  return TRUE;
}
