/* SPDX-License-Identifier: MIT */
/* Issues into rows: their costs, what they wait for, and whom a collective is with. */
#include "import-kineto-program.h"

#include <string.h>

#include "base-error.h"
#include "import-kineto-groups.h"
#include "import-kineto-issue.h"
#include "import-kineto-set.h"
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
  gboolean keep;    /* communication takes the time that it took */
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

/* Of all other lanes the row that ended last by then, after `since`; when that was, `since` where there is none. */
static SimTime need_newest(Writing *writing, const Lane *own, SimTime then, SimTime since, gboolean sent_only) {
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
  return latest;
}

static SimTime last_end(const Lane *lane) {
  return lane->ends->len > 0 ? g_array_index(lane->ends, SimTime, lane->ends->len - 1) : G_MININT64;
}

/* `since`: when the call had asked for it. Returns what the kernel was late beyond all that it may have waited for. */
static SimTime add_needs(Writing *writing, const ImportKinetoIssue *issue, const ImportKinetoKernel *kernel,
                         const Lane *lane, SimTime since) {
  gboolean collective = kernel->what != IMPORT_COLLECTIVES;
  guint32 *asked = collective ? g_hash_table_lookup(writing->last, &issue->thread) : NULL;
  if (asked != NULL) {
    program_builder_need(writing->builder, *asked);
    return 0;
  }
  SimTime ready = MAX(last_end(lane), since), ended = ready;
  if (issue->waits && !collective)
    ended = need_newest(writing, lane, kernel->at.start, G_MININT64, TRUE);
  else if (ready == G_MININT64 ? !issue->known : kernel->at.start - ready > GAP)
    ended = need_newest(writing, lane, kernel->at.start, ready, FALSE);
  return ready != G_MININT64 ? MAX(0, kernel->at.start - MAX(ready, ended)) : 0;
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

static guint32 add_row(Writing *writing, const ImportKinetoKernel *kernel, const Lane *lane) {
  g_autofree char *name = row_name(kernel->name);
  ProgramBuilder *builder = writing->builder;
  guint32 slot = writing->keep ? PROGRAM_NONE : import_kineto_slot(writing->slots, kernel);
  if (slot != PROGRAM_NONE)
    return program_builder_collective(builder, lane->stream, name, slot,
                                      (CollCall){(CollOperation)kernel->operation, kernel->bytes}, PROGRAM_HINT_NONE);
  if (kernel->copies && kernel->bytes > 0)
    return program_builder_copy(builder, lane->stream, name, kernel->bytes,
                                kernel->pageable ? PROGRAM_PAGEABLE : PROGRAM_PINNED);
  KernelOp op = {.kind = KERNEL_MEMORY, .dtype = KERNEL_BF16, .batch = 1};
  guint32 timed = program_builder_timed_op(builder, &op, base_span_length(kernel->at));
  return program_builder_compute(builder, lane->stream, name, timed);
}

/* A copy of pageable memory is staged by the host, which waits for it: what it is late without a reason is staging. */
static void write_kernel(Writing *writing, const ImportKinetoIssue *issue) {
  const ImportKinetoKernel *kernel = &g_array_index(writing->trace->kernels, ImportKinetoKernel, issue->kernel);
  Lane *lane = lane_of(writing, kernel->stream);
  gboolean sent = kernel->what != IMPORT_COLLECTIVES || kernel->copies;
  gboolean blocks = kernel->copies && kernel->pageable && issue->known;
  guint32 row = add_row(writing, kernel, lane);
  SimTime since = !issue->known ? G_MININT64 : blocks ? issue->at.start : issue->at.end;
  SimTime late = add_needs(writing, issue, kernel, lane, since);
  if (issue->known)
    charge(writing, since + (blocks ? late : 0));
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
  writing->free_at = MAX(writing->free_at, MIN(kernel->at.end, issue->at.end));
}

/* What the call takes beyond what it waits for is the host's own, and charged with what comes next. */
static void write_wait(Writing *writing, const ImportKinetoIssue *issue) {
  program_builder_host(writing->builder, issue->name);
  charge(writing, issue->at.start);
  SimTime ended = need_newest(writing, NULL, issue->at.end, G_MININT64, FALSE);
  writing->free_at = MAX(writing->free_at, ended);
}

/* Where no calls are known the step is from the first kernel to the end of the last, and the next begins there. */
static void need_all(Writing *writing) {
  for (guint i = 0; i < writing->lanes->len; i++) {
    const Lane *lane = g_ptr_array_index(writing->lanes, i);
    if (lane->rows->len > 0)
      program_builder_need(writing->builder, g_array_index(lane->rows, guint32, lane->rows->len - 1));
  }
}

static void write_section(Writing *writing, const ImportKinetoStep *step, ProgramSectionKind section) {
  const GArray *issues = step->issues;
  program_builder_section(writing->builder, section);
  g_ptr_array_set_size(writing->lanes, 0);
  g_hash_table_remove_all(writing->last);
  writing->free_at = step->window.start;
  if (step->late > 0) {
    program_builder_host(writing->builder, "later than the first rank");
    program_builder_cost(writing->builder, step->late);
  }
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
    charge(writing, step->window.end);
  else
    need_all(writing);
}

static void write_role(ProgramBuilder *builder, ImportKinetoTrace *trace, const ImportKinetoSlots *slots,
                       const ImportKinetoStep *step, gboolean keep) {
  Writing writing = {.builder = builder,
                     .trace = trace,
                     .slots = slots,
                     .keep = keep,
                     .lanes = g_ptr_array_new_with_free_func(lane_free),
                     .last = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free)};
  for (int section = 0; section < PROGRAM_SECTIONS; section++)
    write_section(&writing, step, (ProgramSectionKind)section);
  g_ptr_array_unref(writing.lanes);
  g_hash_table_unref(writing.last);
}

/* ---- The whole ---- */

static void note(GPtrArray *notes, const char *text) {
  g_ptr_array_add(notes, g_strdup(text));
}

/* Communication that takes the time that it took. */
static void note_kept(const ImportKinetoTrace *trace, GPtrArray *notes) {
  guint silent = 0, before = 0;
  for (guint i = 0; i < trace->kernels->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->what == IMPORT_COLLECTIVES || kernel->foreign || kernel->operation != IMPORT_KINETO_NONE)
      continue;
    before += kernel->before;
    silent += !kernel->before;
  }
  if (trace->foreign > 0)
    g_ptr_array_add(notes, g_strdup_printf("%u kernels of communication that is not NCCL's take the time that was "
                                           "measured, as compute does",
                                           trace->foreign));
  if (silent > 0)
    g_ptr_array_add(notes, g_strdup_printf("%u kernels of NCCL do not say what they send: they take the time that was "
                                           "measured, as compute does",
                                           silent));
  if (before > 0)
    g_ptr_array_add(notes, g_strdup_printf("%u kernels of NCCL were launched before the file begins: those of the "
                                           "step take the time that was measured, as compute does",
                                           before));
}

static void describe(const ImportKinetoSet *set, guint32 world, gboolean keep, ProgramOrigin *ret) {
  const ImportKinetoTrace *first = g_ptr_array_index(set->traces, 0);
  guint32 measured = import_kineto_world(set->traces);
  g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
  note(notes, keep ? "compute and communication take the time that the profiler measured, whatever ran beside them then"
                   : "compute takes the time that the profiler measured, whatever ran beside it then; collectives are "
                     "simulated");
  note(notes, "memory is not in a profiler's trace: none is counted");
  if (set->traces->len < world)
    g_ptr_array_add(notes, g_strdup_printf("all %u ranks do what the one whose trace was read did", world));
  if (world != measured)
    g_ptr_array_add(notes, g_strdup_printf("measured on %u ranks: groups that go around them go around %u, each rank "
                                           "does as much as it did (an optimizer's share is not cut anew)",
                                           measured, world));
  note_kept(first, notes);
  g_ptr_array_add(notes, NULL);
  *ret = (ProgramOrigin){.workload = g_strdup(set->name),
                         .framework = g_strdup("pytorch"),
                         .gpu = import_kineto_gpu(first->device),
                         .notes = (char **)g_ptr_array_steal(notes, NULL)};
}

static gboolean check_ranks(const ImportKinetoSet *set, guint32 measured, guint32 ranks, GError **error) {
  const char *why = set->traces->len > 1       ? "each rank has a file of its own; give the file of one"
                    : ranks % measured != 0    ? "that is no multiple"
                    : ranks / measured > 65536 ? "that is too many"
                                               : NULL;
  if (ranks == measured || why == NULL)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: %u ranks cannot be made of the %u that were measured: %s",
              set->name, ranks, measured, why);
  return FALSE;
}

Program *import_kineto_program(const ImportKinetoSet *set, const ImportKinetoOptions *options,
                               ProgramOrigin *ret_origin, GError **error) {
  guint n = set->traces->len;
  guint32 measured = import_kineto_world(set->traces), world = options->ranks > 0 ? options->ranks : measured;
  if (!check_ranks(set, measured, world, error))
    return NULL;
  g_autoptr(ProgramBuilder) builder = program_builder_new();
  ImportKinetoWorld around = {measured, world, n > 1, options->keep_unsized || options->keep_communication};
  for (guint i = 0; i < n; i++) {
    ImportKinetoTrace *trace = g_ptr_array_index(set->traces, i);
    g_autoptr(ImportKinetoSlots) slots = import_kineto_slots_new(builder, trace, &around, error);
    if (slots == NULL)
      return NULL;
    g_autofree char *name = n > 1 ? g_strdup_printf("rank %u", i) : g_strdup("rank");
    program_builder_role(builder, name, n > 1 ? 1 : world);
    write_role(builder, trace, slots, &g_array_index(set->steps, ImportKinetoStep, i), options->keep_communication);
  }
  program_builder_facts(builder, 0, 0, 0, KERNEL_FP32);
  describe(set, world, options->keep_communication, ret_origin);
  return program_builder_end(g_steal_pointer(&builder));
}
