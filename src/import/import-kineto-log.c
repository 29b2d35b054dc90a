/* SPDX-License-Identifier: MIT */
/* Kernels to calls, calls to rows of runs. */
#include "import-kineto-log.h"

#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "import-kineto-groups.h"
#include "import-kineto-set.h"
#include "import-log.h"

/* One call: the kernel of its fastest rank. Equal in all but `time`: another rank's of the same. */
typedef struct {
  int operation;
  guint members, nodes;
  guint64 bytes;
  const char *group; /* of the trace: not to be kept */
  guint index;       /* among those of its rank that are equal so far */
  SimTime time;
} Call;

typedef struct {
  const ImportKinetoSet *set;
  guint world, nodes;
  GArray *calls; /* Call */
} Calls;

static gint compare(gconstpointer a, gconstpointer b) {
  const Call *one = a, *other = b;
  if (one->operation != other->operation)
    return one->operation < other->operation ? -1 : 1;
  if (one->members != other->members)
    return one->members < other->members ? -1 : 1;
  if (one->nodes != other->nodes)
    return one->nodes < other->nodes ? -1 : 1;
  if (one->bytes != other->bytes)
    return one->bytes < other->bytes ? -1 : 1;
  gint names = strcmp(one->group, other->group);
  if (names != 0 || one->index != other->index)
    return names != 0 ? names : one->index < other->index ? -1 : 1;
  return (one->time > other->time) - (one->time < other->time);
}

static guint nodes_of(const Calls *calls, const ImportKinetoGroup *group) {
  guint per_node = calls->world / calls->nodes, nodes = 0, last = G_MAXUINT;
  for (guint i = 0; i < group->ranks->len; i++) {
    guint node = g_array_index(group->ranks, guint32, i) / per_node;
    nodes += node != last;
    last = node;
  }
  return group->ranks->len > 0 ? nodes : calls->nodes;
}

static void add_rank(Calls *calls, const ImportKinetoTrace *trace) {
  g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < trace->kernels->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->operation == IMPORT_KINETO_NONE || kernel->group == IMPORT_KINETO_NONE)
      continue;
    const ImportKinetoGroup *group = &g_array_index(trace->groups, ImportKinetoGroup, kernel->group);
    Call call = {.operation = kernel->operation,
                 .members = group->ranks->len > 0 ? group->ranks->len : calls->world,
                 .nodes = nodes_of(calls, group),
                 .bytes = kernel->bytes,
                 .group = group->name,
                 .time = base_span_length(kernel->at)};
    g_autofree char *key = g_strdup_printf("%d %" G_GUINT64_FORMAT " %s", call.operation, call.bytes, call.group);
    call.index = GPOINTER_TO_UINT(g_hash_table_lookup(seen, key));
    g_hash_table_insert(seen, g_steal_pointer(&key), GUINT_TO_POINTER(call.index + 1));
    if (call.time > 0 && call.members > 1)
      g_array_append_val(calls->calls, call);
  }
}

static gboolean is_same(const Call *one, const Call *other) {
  return one->operation == other->operation && one->members == other->members && one->nodes == other->nodes;
}

/* Of sorted times: those of all ranks' calls are true, of which the middle one; with one rank's file the least. */
static SimTime time_of(const Calls *calls, const GArray *times) {
  gboolean all = calls->set->traces->len == calls->world;
  return g_array_index(times, SimTime, all ? (times->len - 1) / 2 : 0);
}

/* The row of the calls from `first` on that are of one size; returns the next call's place. */
static guint add_row(const Calls *calls, guint first, ImportRun *run) {
  const Call *head = &g_array_index(calls->calls, Call, first);
  g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(SimTime));
  const Call *last = NULL;
  guint i = first;
  for (; i < calls->calls->len; i++) {
    const Call *call = &g_array_index(calls->calls, Call, i);
    if (!is_same(call, head) || call->bytes != head->bytes)
      break;
    if (last == NULL || strcmp(last->group, call->group) != 0 || last->index != call->index)
      g_array_append_val(times, call->time);
    last = call;
  }
  g_array_sort(times, import_kineto_by_time);
  ImportRow row = {.bytes = head->bytes,
                   .out_of_place = {.time = SIM_TIME_NEVER, .wrong = -1},
                   .in_place = {.time = time_of(calls, times), .wrong = -1}};
  g_array_append_val(run->rows, row);
  return i;
}

static gboolean is_rccl(const ImportKinetoTrace *trace) {
  for (guint i = 0; i < trace->calls->len; i++)
    if (g_str_has_prefix(g_array_index(trace->calls, ImportKinetoCall, i).name, "hip"))
      return TRUE;
  return FALSE;
}

static void add_runs(const Calls *calls, ImportLog *log) {
  const ImportKinetoTrace *first = g_ptr_array_index(calls->set->traces, 0);
  for (guint i = 0; i < calls->calls->len;) {
    const Call *head = &g_array_index(calls->calls, Call, i);
    ImportRun *run = import_run_add(log, 0);
    run->operation =
        (ImportOperation)MAX(0, base_names_find(import_operation_names, coll_operation_names[head->operation]));
    run->ranks = head->members;
    run->nodes = head->nodes;
    run->rccl = is_rccl(first);
    run->gpu = g_strdup(first->device);
    run->nccl_version = g_strdup(first->nccl_version);
    while (i < calls->calls->len && is_same(&g_array_index(calls->calls, Call, i), head))
      i = add_row(calls, i, run);
  }
}

ImportLog *import_kineto_log(const ImportKinetoSet *set, guint nodes, GError **error) {
  Calls calls = {.set = set, .world = import_kineto_world(set->traces), .nodes = MAX(nodes, 1)};
  if (calls.world % calls.nodes != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: %u ranks do not go evenly on %u nodes", set->name, calls.world,
                calls.nodes);
    return NULL;
  }
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Call));
  calls.calls = all;
  for (guint i = 0; i < set->traces->len; i++)
    add_rank(&calls, g_ptr_array_index(set->traces, i));
  if (all->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: nothing to learn: no collective of more than one rank says what it sends", set->name);
    return NULL;
  }
  g_array_sort(all, compare);
  g_autoptr(ImportLog) log = import_log_new();
  g_ptr_array_add(log->files, g_strdup(set->name));
  add_runs(&calls, log);
  return g_steal_pointer(&log);
}
