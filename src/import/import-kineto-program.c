/* SPDX-License-Identifier: MIT */
/* Issues into rows: their costs, what they wait for, and whom a collective is with. */
#include "import-kineto-program.h"

#include <string.h>

#include "base-error.h"
#include "import-kineto-groups.h"
#include "import-kineto-issue.h"
#include "kernel-op.h"

/* A stream that stands still longer than this after its next kernel was launched waited for another. */
#define GAP (3 * SIM_MICROSECOND)

/* Rows of one stream, in order of issue and, as measured, of end. */
typedef struct {
  gint64 id;
  guint32 stream; /* the Program's */
  GArray *ends;   /* SimTime */
  GArray *rows;   /* guint32 */
  GArray *sent;   /* gboolean: a collective or a copy */
} Lane;

typedef struct {
  ProgramBuilder *builder;
  ImportKinetoTrace *trace;
  const ImportKinetoSlots *slots;
  GPtrArray *lanes;
  GHashTable *last; /* gint64 thread → guint32 row: its newest kernel of compute */
  SimTime free_at;  /* the host's clock */
} Writing;

static void lane_free(gpointer data) {
  Lane *lane = data;
  g_array_unref(lane->ends);
  g_array_unref(lane->rows);
  g_array_unref(lane->sent);
  g_free(lane);
}

static Lane *lane_of(Writing *writing, gint64 id) {
  for (guint i = 0; i < writing->lanes->len; i++)
    if (((Lane *)g_ptr_array_index(writing->lanes, i))->id == id)
      return g_ptr_array_index(writing->lanes, i);
  Lane *lane = g_new0(Lane, 1);
  g_autofree char *name = g_strdup_printf("stream %" G_GINT64_FORMAT, MAX(id, 0));
  lane->id = id;
  lane->stream = program_builder_stream(writing->builder, name);
  lane->ends = g_array_new(FALSE, FALSE, sizeof(SimTime));
  lane->rows = g_array_new(FALSE, FALSE, sizeof(guint32));
  lane->sent = g_array_new(FALSE, FALSE, sizeof(gboolean));
  g_ptr_array_add(writing->lanes, lane);
  return lane;
}

/* The newest row of the lane that had ended by then; FALSE: none had. */
static gboolean ended_by(const Lane *lane, SimTime then, gboolean sent_only, guint32 *ret_row, SimTime *ret_end) {
  guint low = 0, high = lane->ends->len;
  while (low < high) {
    guint mid = low + (high - low) / 2;
    if (g_array_index(lane->ends, SimTime, mid) <= then)
      low = mid + 1;
    else
      high = mid;
  }
  for (; low > 0; low--) {
    if (sent_only && !g_array_index(lane->sent, gboolean, low - 1))
      continue;
    *ret_row = g_array_index(lane->rows, guint32, low - 1);
    *ret_end = g_array_index(lane->ends, SimTime, low - 1);
    return TRUE;
  }
  return FALSE;
}

/* Of all other lanes the row that ended last by then, after `since`. */
static void need_newest(Writing *writing, const Lane *own, SimTime then, SimTime since, gboolean sent_only) {
  guint32 found = PROGRAM_NONE;
  SimTime latest = since;
  for (guint i = 0; i < writing->lanes->len; i++) {
    const Lane *lane = g_ptr_array_index(writing->lanes, i);
    guint32 row;
    SimTime end;
    if (lane == own || !ended_by(lane, then, sent_only, &row, &end) || end <= latest)
      continue;
    found = row;
    latest = end;
  }
  program_builder_need(writing->builder, found);
}

static SimTime last_end(const Lane *lane) {
  return lane->ends->len > 0 ? g_array_index(lane->ends, SimTime, lane->ends->len - 1) : G_MININT64;
}

static void add_needs(Writing *writing, const ImportKinetoIssue *issue, const ImportKinetoKernel *kernel,
                      const Lane *lane) {
  gboolean collective = kernel->what != IMPORT_COLLECTIVES;
  guint32 *asked = collective ? g_hash_table_lookup(writing->last, &issue->thread) : NULL;
  if (asked != NULL) {
    program_builder_need(writing->builder, *asked);
    return;
  }
  SimTime ready = MAX(last_end(lane), issue->known ? issue->at.end : G_MININT64);
  if (issue->waits && !collective)
    need_newest(writing, lane, kernel->at.start, G_MININT64, TRUE);
  else if (ready != G_MININT64 && kernel->at.start - ready > GAP)
    need_newest(writing, lane, kernel->at.start, ready, FALSE);
}

/* ---- Rows ---- */

static void charge(Writing *writing, SimTime until) {
  program_builder_cost(writing->builder, MAX(0, until - writing->free_at));
  writing->free_at = MAX(writing->free_at, until);
}

#define NAME_MOST 60

/* "void at::native::reduce_kernel<…>(…)" without its type and arguments. */
static char *row_name(const char *name) {
  static const char *const before[] = {"void ", "(anonymous namespace)::", NULL};
  for (gsize i = 0; before[i] != NULL; i++)
    name += g_str_has_prefix(name, before[i]) ? strlen(before[i]) : 0;
  gsize length = MIN(strcspn(name, "<("), NAME_MOST);
  while (length > 0 && ((guchar)name[length] & 0xc0) == 0x80)
    length--;
  return length > 0 ? g_strndup(name, length) : g_strdup("kernel");
}

static guint32 add_row(Writing *writing, const ImportKinetoKernel *kernel, const Lane *lane, gboolean *ret_sent) {
  g_autofree char *name = row_name(kernel->name);
  ProgramBuilder *builder = writing->builder;
  guint32 slot = import_kineto_slot(writing->slots, kernel);
  *ret_sent = TRUE;
  if (slot != PROGRAM_NONE)
    return program_builder_collective(builder, lane->stream, name, slot,
                                      (CollCall){(CollOperation)kernel->operation, kernel->bytes}, PROGRAM_HINT_NONE);
  if (kernel->copies && kernel->bytes > 0)
    return program_builder_copy(builder, lane->stream, name, kernel->bytes,
                                kernel->pageable ? PROGRAM_PAGEABLE : PROGRAM_PINNED);
  *ret_sent = FALSE;
  KernelOp op = {.kind = KERNEL_MEMORY, .dtype = KERNEL_BF16, .batch = 1};
  guint32 timed = program_builder_timed_op(builder, &op, base_span_length(kernel->at));
  return program_builder_compute(builder, lane->stream, name, timed);
}

static void write_kernel(Writing *writing, const ImportKinetoIssue *issue) {
  const ImportKinetoKernel *kernel = &g_array_index(writing->trace->kernels, ImportKinetoKernel, issue->kernel);
  Lane *lane = lane_of(writing, kernel->stream);
  gboolean sent, blocks = kernel->copies && kernel->pageable && issue->known;
  guint32 row = add_row(writing, kernel, lane, &sent);
  if (issue->known)
    charge(writing, blocks ? issue->at.start : issue->at.end);
  add_needs(writing, issue, kernel, lane);
  SimTime end = MAX(kernel->at.end, last_end(lane));
  g_array_append_val(lane->ends, end);
  g_array_append_val(lane->rows, row);
  g_array_append_val(lane->sent, sent);
  if (!sent && issue->known)
    g_hash_table_replace(writing->last, g_memdup2(&issue->thread, sizeof issue->thread), g_memdup2(&row, sizeof row));
  if (!blocks)
    return;
  program_builder_host(writing->builder, "wait for a copy");
  program_builder_need(writing->builder, row);
  writing->free_at = MAX(writing->free_at, issue->at.end);
}

static void write_wait(Writing *writing, const ImportKinetoIssue *issue) {
  program_builder_host(writing->builder, issue->name);
  charge(writing, issue->at.start);
  need_newest(writing, NULL, issue->at.end, G_MININT64, FALSE);
  writing->free_at = MAX(writing->free_at, issue->at.end);
}

static void write_section(Writing *writing, const GArray *issues, BaseSpan window, ProgramSectionKind section) {
  program_builder_section(writing->builder, section);
  g_ptr_array_set_size(writing->lanes, 0);
  g_hash_table_remove_all(writing->last);
  writing->free_at = window.start;
  for (guint i = 0; i < issues->len; i++) {
    const ImportKinetoIssue *issue = &g_array_index(issues, ImportKinetoIssue, i);
    gint32 layer;
    ProgramPhase phase = import_kineto_phase(writing->trace, issue, &layer);
    program_builder_context(writing->builder, phase, layer, -1);
    if (issue->kernel != IMPORT_KINETO_NONE)
      write_kernel(writing, issue);
    else
      write_wait(writing, issue);
  }
  program_builder_context(writing->builder, PROGRAM_SETUP, -1, -1);
  program_builder_host(writing->builder, "end of the step");
  if (issues->len > 0 && g_array_index(issues, ImportKinetoIssue, issues->len - 1).known)
    charge(writing, window.end);
}

static gboolean has_kernels(const GArray *issues) {
  for (guint i = 0; i < issues->len; i++)
    if (g_array_index(issues, ImportKinetoIssue, i).kernel != IMPORT_KINETO_NONE)
      return TRUE;
  return FALSE;
}

static gboolean write_role(ProgramBuilder *builder, ImportKinetoTrace *trace, const ImportKinetoSlots *slots,
                           ImportKineto *ret_measured, GError **error) {
  BaseSpan window;
  *ret_measured = (ImportKineto){0};
  import_kineto_step(trace, &ret_measured->steps, &ret_measured->taken);
  g_autoptr(GArray) issues = import_kineto_issues(trace, &window);
  if (!has_kernels(issues)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: step %u of the %u that are marked launches no kernels",
                trace->path, ret_measured->taken, ret_measured->steps);
    return FALSE;
  }
  import_kineto_sum(trace, import_kineto_on_gpu(trace, issues), ret_measured);
  Writing writing = {.builder = builder,
                     .trace = trace,
                     .slots = slots,
                     .lanes = g_ptr_array_new_with_free_func(lane_free),
                     .last = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free)};
  for (int section = 0; section < PROGRAM_SECTIONS; section++)
    write_section(&writing, issues, window, (ProgramSectionKind)section);
  g_ptr_array_unref(writing.lanes);
  g_hash_table_unref(writing.last);
  return TRUE;
}

/* ---- The whole ---- */

static GPtrArray *read_all(const char *const *paths, guint n, GError **error) {
  g_autoptr(GPtrArray) traces = g_ptr_array_new_with_free_func((GDestroyNotify)import_kineto_free);
  for (guint i = 0; i < n; i++) {
    ImportKinetoTrace *trace = import_kineto_read(paths[i], error);
    if (trace == NULL)
      return NULL;
    g_ptr_array_add(traces, trace);
  }
  return g_steal_pointer(&traces);
}

static void note(GPtrArray *notes, const char *text) {
  g_ptr_array_add(notes, g_strdup(text));
}

static void describe(const GPtrArray *traces, const char *path, guint32 world, ProgramOrigin *ret) {
  const ImportKinetoTrace *first = g_ptr_array_index(traces, 0);
  g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
  note(notes,
       "compute takes the time that the profiler measured, whatever ran beside it then; collectives are simulated");
  note(notes, "memory is not in a profiler's trace: none is counted");
  if (traces->len < world)
    g_ptr_array_add(notes, g_strdup_printf("all %u ranks do what the one whose trace was read did", world));
  if (first->foreign > 0)
    g_ptr_array_add(notes, g_strdup_printf("%u kernels of communication that is not NCCL's take the time that was "
                                           "measured, as compute does",
                                           first->foreign));
  g_ptr_array_add(notes, NULL);
  g_autofree char *base = g_path_get_basename(path);
  *ret = (ProgramOrigin){.workload = g_strdup(base),
                         .framework = g_strdup("pytorch"),
                         .gpu = import_kineto_gpu(first->device),
                         .notes = (char **)g_ptr_array_steal(notes, NULL)};
}

Program *import_kineto_program(const char *const *paths, guint n, ProgramOrigin *ret_origin, ImportKineto *ret_measured,
                               GError **error) {
  g_autoptr(GPtrArray) traces = read_all(paths, n, error);
  if (traces == NULL || !import_kineto_order(traces, error))
    return NULL;
  g_autoptr(ProgramBuilder) builder = program_builder_new();
  guint32 world = import_kineto_world(traces);
  for (guint i = 0; i < traces->len; i++) {
    ImportKinetoTrace *trace = g_ptr_array_index(traces, i);
    g_autoptr(ImportKinetoSlots) slots = import_kineto_slots_new(builder, trace, world, n > 1, error);
    if (slots == NULL)
      return NULL;
    g_autofree char *name = n > 1 ? g_strdup_printf("rank %u", i) : g_strdup("rank");
    program_builder_role(builder, name, n > 1 ? 1 : world);
    if (!write_role(builder, trace, slots, &ret_measured[i], error))
      return NULL;
  }
  program_builder_facts(builder, 0, 0, 0, KERNEL_FP32);
  describe(traces, paths[0], world, ret_origin);
  return program_builder_end(g_steal_pointer(&builder));
}
