/* SPDX-License-Identifier: MIT */
/* What an event of a profiler's is, kept as kernel, call, note, scope or mark; and the whole in order at last. */
#include "import-kineto-keep.h"

#include <string.h>

#include "base-error.h"
#include "import-kineto-layers.h"
#include "import-kineto-notes.h"
#include "import-kineto-shapes.h"

#define MARK      "ProfilerStep#"
#define OPTIMIZER "Optimizer.step#"
#define MODULE    "nn.Module: "

static gboolean is_of(const ImportKinetoEvent *event, const char *const *categories) {
  for (; *categories != NULL; categories++)
    if (g_ascii_strcasecmp(event->cat->str, *categories) == 0)
      return TRUE;
  return FALSE;
}

static gboolean is_of_device(ImportKinetoTrace *trace, const ImportKinetoEvent *event) {
  if (trace->device_id == NULL)
    trace->device_id = g_strdup(event->device->str);
  return event->device->len == 0 || strcmp(trace->device_id, event->device->str) == 0;
}

gint import_kineto_group(ImportKinetoTrace *trace, const char *name, const char *ranks, guint64 size) {
  name = g_string_chunk_insert_const(trace->names, name);
  for (guint i = 0; i < trace->groups->len; i++)
    if (g_array_index(trace->groups, ImportKinetoGroup, i).name == name)
      return (gint)i;
  ImportKinetoGroup group = {name, import_kineto_rank_list(ranks), size};
  g_array_append_val(trace->groups, group);
  return (gint)trace->groups->len - 1;
}

static gint group_of(ImportKinetoTrace *trace, const ImportKinetoEvent *event) {
  if (event->group->len == 0 && event->group_ranks->len == 0)
    return IMPORT_KINETO_NONE;
  g_autofree char *name = g_strconcat(event->group->str, " ", event->group_ranks->str, NULL);
  return import_kineto_group(trace, name, event->group_ranks->str, import_kineto_count(event->group_size));
}

static void keep_kernel(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at) {
  static const char *const kernels[] = {"kernel", "gpu_memset", "memset", NULL};
  static const char *const copies[] = {"gpu_memcpy", "memcpy", NULL};
  gboolean copy = is_of(event, copies);
  if ((!copy && !is_of(event, kernels)) || !is_of_device(trace, event))
    return;
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
    kernel.group = group_of(trace, event);
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

void import_kineto_keep(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at) {
  static const char *const runtime[] = {"cuda_runtime", "cuda_driver", "Runtime", "Driver", NULL};
  if (g_str_has_prefix(event->name->str, MARK)) {
    gboolean of_gpu = strcmp(event->cat->str, "gpu_user_annotation") == 0;
    g_array_append_val(of_gpu ? trace->gpu_marks : trace->marks, at);
    if (!of_gpu && trace->main_thread == IMPORT_KINETO_NONE)
      trace->main_thread = import_kineto_number(event->tid);
    return;
  }
  keep_kernel(trace, event, at);
  trace->stacked |= strcmp(event->cat->str, "python_function") == 0;
  if (is_of(event, runtime))
    keep_call(trace, event, at);
  else if (import_kineto_is_note(event->name->str) && strcmp(event->cat->str, "gpu_user_annotation") != 0)
    import_kineto_note(trace, event, at, group_of(trace, event));
  else if (strcmp(event->cat->str, "gpu_user_annotation") != 0)
    keep_scope(trace, event, at);
  if (event->sequence->len > 0)
    import_kineto_keep_op(trace, event, at);
  if (event->dims->len > 0)
    import_kineto_keep_shaped(trace, event, at);
}

/* ---- The trace ---- */

static void group_clear(gpointer group) {
  g_array_unref(((ImportKinetoGroup *)group)->ranks);
}

ImportKinetoTrace *import_kineto_new(const char *path) {
  ImportKinetoTrace *trace = g_new0(ImportKinetoTrace, 1);
  trace->path = g_strdup(path);
  trace->kernels = g_array_new(FALSE, FALSE, sizeof(ImportKinetoKernel));
  trace->calls = g_array_new(FALSE, FALSE, sizeof(ImportKinetoCall));
  trace->launches = g_hash_table_new(g_int64_hash, g_int64_equal);
  trace->scopes = g_array_new(FALSE, FALSE, sizeof(ImportKinetoScope));
  trace->ops = g_array_new(FALSE, FALSE, sizeof(ImportKinetoOp));
  trace->notes = g_array_new(FALSE, FALSE, sizeof(ImportKinetoNote));
  trace->shaped = g_array_new(FALSE, FALSE, sizeof(ImportKinetoShaped));
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
  g_hash_table_unref(trace->launches);
  g_array_unref(trace->scopes);
  g_array_unref(trace->ops);
  g_array_unref(trace->notes);
  g_array_unref(trace->shaped);
  g_array_unref(trace->gpu_marks);
  g_array_unref(trace->marks);
  g_array_unref(trace->groups);
  g_string_chunk_free(trace->names);
  g_free(trace->device);
  g_free(trace->device_id);
  g_free(trace->nccl_version);
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

static gboolean check_kernels(const ImportKinetoTrace *trace, const char *empty, GError **error) {
  gboolean any = FALSE;
  for (guint i = 0; i < trace->kernels->len; i++)
    any |= !g_array_index(trace->kernels, ImportKinetoKernel, i).copies;
  if (!any)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: %s", trace->path, empty);
  return any;
}

static void find_launches(ImportKinetoTrace *trace) {
  for (guint i = 0; i < trace->calls->len; i++) {
    ImportKinetoCall *call = &g_array_index(trace->calls, ImportKinetoCall, i);
    if (call->kind == IMPORT_KINETO_LAUNCH && call->correlation != IMPORT_KINETO_NONE)
      g_hash_table_insert(trace->launches, &call->correlation, call);
  }
}

gboolean import_kineto_finish(ImportKinetoTrace *trace, const char *empty, GError **error) {
  if (!check_kernels(trace, empty, error))
    return FALSE;
  g_array_sort(trace->kernels, base_span_compare);
  g_array_sort(trace->calls, base_span_compare);
  find_launches(trace);
  g_array_sort(trace->scopes, base_span_compare);
  g_array_sort(trace->notes, base_span_compare);
  g_array_sort(trace->shaped, base_span_compare);
  import_kineto_place_ops(trace);
  drop_empty_marks(trace);
  import_kineto_use_notes(trace);
  return TRUE;
}
