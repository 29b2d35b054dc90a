/* SPDX-License-Identifier: MIT */
/* From the state of a finished run to its Report. */
#include <math.h>
#include <string.h>

#include "base-error.h"
#include "kernel-time.h"
#include "run-state.h"

static const char *keep(RunReport *report, const char *text) {
  return g_string_chunk_insert_const(report->names, text);
}

static void fill_memory(RunReport *report, const RunRank *rank, RunClass *ret) {
  const RunHeap *heap = rank->memory.heap;
  const MemLedger *ledger = &heap->ledger;
  ProgramSectionKind kind = heap->peak_step == 0 ? PROGRAM_FIRST : PROGRAM_STEADY;
  const ProgramRow *peak = &rank->role->sections[kind].rows[heap->peak_row];
  const MemUse *use = heap->use;
  ret->capacity = rank->play->system->gpu->memory_usable;
  ret->device_used = heap->device_peak;
  ret->device_used_low = ret->device_used_high = ret->device_used;
  ret->device_used_step = heap->device_peak_step;
  ret->peak_allocated = use->peak_allocated;
  ret->peak_active = use->peak_active;
  ret->peak_reserved = use->peak_reserved;
  ret->managed = heap->managed;
  ret->retries = rank->retries;
  ret->step_retries = rank->last->retries;
  ret->step_stalled = rank->last->stalled;
  ret->steady_allocated = rank->replay.allocated[0];
  for (int tenant = 0; tenant < MEM_TENANTS; tenant++) {
    ret->peak_held[tenant] = ledger->held_at_peak[tenant];
    ret->peak_unique[tenant] = heap->unique_at_peak[tenant];
  }
  ret->peak_at = rank->memory.peak_since_step;
  ret->peak_step = heap->peak_step;
  ret->peak_name = keep(report, peak->name);
  ret->peak_layer = peak->layer;
  ret->peak_phase = program_phase_names[peak->phase];
  ret->has_oom = heap->has_oom;
  ret->verdict = heap->has_oom ? RUN_OOM : RUN_FITS;
  ret->short_by = ret->device_used > ret->capacity ? ret->device_used - ret->capacity : 0;
  if (heap->has_oom) {
    ret->oom = heap->oom;
    ret->oom.at = rank->memory.oom_since_step;
    ret->oom.name = keep(report, heap->oom.name);
    ret->oom.tensor = keep(report, heap->oom.tensor);
  }
}

static void fill_samples(const RunRank *rank, RunClass *ret) {
  SimTime start = rank->before, end = rank->last->end;
  const RunMemorySample *samples = (const RunMemorySample *)(gpointer)rank->memory.samples->data;
  guint first = 0, last = 0;
  for (guint i = 0; i < rank->memory.samples->len; i++) {
    first = samples[i].at <= start ? i : first;
    last = samples[i].at <= end ? i : last;
  }
  ret->n_samples = rank->memory.samples->len > 0 ? last - first + 1 : 0;
  ret->samples = g_memdup2(samples + first, ret->n_samples * sizeof *samples);
  for (guint i = 0; i < ret->n_samples; i++)
    ret->samples[i].at = MAX(ret->samples[i].at, start) - start;
}

static RunTask task_of(RunReport *report, const RunStep *step, guint32 index) {
  const ProgramRow *row = run_row(step, index);
  const RunRank *rank = step->rank;
  return (RunTask){.row = index,
                   .stream = keep(report, rank->play->system->program->streams[row->stream]),
                   .kind = program_kind_names[row->kind],
                   .name = keep(report, row->name),
                   .phase = program_phase_names[row->phase],
                   .layer = row->layer,
                   .micro = row->micro,
                   .issued = *run_row_issue(step, index) - rank->before,
                   .host = row->host,
                   .start = *run_row_start(step, index) - rank->before,
                   .end = run_row_end(step, index) - rank->before,
                   .repeats = 1};
}

static RunCollective collective_of(const RunStep *step, guint32 index) {
  const ProgramRow *row = run_row(step, index);
  const RunRank *rank = step->rank;
  const CollGroup *group =
      rank->play->system->groups[program_group(rank->play->system->program, rank->index, row->group)];
  const RunMove *move = run_collective_move(step, index);
  return (RunCollective){.row = index,
                         .operation = coll_operation_names[row->call.operation],
                         .algorithm = coll_algorithm_names[move->plan.algorithm],
                         .protocol = coll_protocol_names[move->plan.protocol],
                         .channels = move->plan.channels,
                         .group_size = group->size,
                         .bytes = row->call.bytes,
                         .queued = run_row_call(step, index)->ready - rank->before,
                         .start = *run_row_start(step, index) - rank->before,
                         .end = move->end - rank->before,
                         .repeats = 1,
                         .bus_bandwidth = coll_bus_bandwidth(group, &row->call, move->end - move->begun)};
}

static void fill_timeline(RunReport *report, const RunRank *rank, RunClass *ret) {
  const RunStep *step = rank->last;
  guint32 rows = step->table->section->n_rows;
  ret->tasks = g_new0(RunTask, rows);
  ret->collectives = g_new0(RunCollective, rows);
  for (guint32 i = 0; i < rows; i++) {
    if (run_row(step, i)->kind != PROGRAM_HOST)
      ret->tasks[ret->n_tasks++] = task_of(report, step, i);
    if (run_row(step, i)->kind == PROGRAM_COLLECTIVE)
      ret->collectives[ret->n_collectives++] = collective_of(step, i);
  }
}

static void fill_network(const RunRank *rank, RunClass *ret) {
  const RunStep *step = rank->last;
  for (guint32 i = 0; i < step->table->section->n_rows; i++)
    if (run_row(step, i)->kind == PROGRAM_COLLECTIVE) {
      const RunMove *move = run_collective_move(step, i);
      ret->network_bytes_intra += move->plan.sent_intra;
      ret->network_bytes_inter += move->plan.sent_inter;
    }
}

static void fill_class(RunReport *report, RunRank *rank, RunClass *ret) {
  ret->ranks = rank->rank->count;
  ret->first_rank = rank->rank->device;
  ret->watched = rank->last->seen > 0 ? rank->last->watched[rank->last->seen - 1] - rank->before : 0;
  run_exposure(rank, rank->play->options->timeline, ret);
  fill_memory(report, rank, ret);
  fill_network(rank, ret);
  if (!rank->play->options->timeline)
    return;
  fill_timeline(report, rank, ret);
  fill_samples(rank, ret);
}

/* Links of one capacity: counted before they are multiplied, so that folding changes no bit of the sum. */
typedef struct {
  double capacity;
  guint32 links;
} Capacity;

static void add_capacity(GArray *capacities, const HwClusterLink *link) {
  guint i = 0;
  while (i < capacities->len && g_array_index(capacities, Capacity, i).capacity < link->capacity)
    i++;
  if (i < capacities->len && g_array_index(capacities, Capacity, i).capacity == link->capacity) {
    g_array_index(capacities, Capacity, i).links += link->count;
    return;
  }
  Capacity fresh = {link->capacity, link->count};
  g_array_insert_val(capacities, i, fresh);
}

static double sum_capacities(const GArray *capacities) {
  double sum = 0;
  for (guint i = 0; i < capacities->len; i++)
    sum += g_array_index(capacities, Capacity, i).capacity * g_array_index(capacities, Capacity, i).links;
  return sum;
}

/* What is counted of each link, beside what was played. */
typedef struct {
  guint64 more, *bytes;
  SimTime *busy;
} Counted;

/* One class of links; FALSE where the cluster has none. */
static gboolean fill_link(const RunPlay *play, HwLinkClass link_class, const Counted *counted, RunLink *ret) {
  const RunSystem *system = play->system;
  guint32 n = system->n_links;
  g_autoptr(GArray) capacities = g_array_new(FALSE, FALSE, sizeof(Capacity));
  *ret = (RunLink){.link_class = hw_link_class_names[link_class]};
  for (guint32 i = 0; i < n; i++) {
    const HwClusterLink *each = &system->links[i];
    if (each->link_class != link_class)
      continue;
    ret->links += each->count;
    double bytes = round(play->link_bytes[i] - play->link_bytes[i + n]);
    SimTime busy = play->link_busy[i] - play->link_busy[i + n];
    if (counted->more > 0) {
      bytes += (double)(counted->more * counted->bytes[i]);
      busy += (SimTime)counted->more * counted->busy[i];
    }
    ret->bytes += bytes * each->count;
    ret->busy = MAX(ret->busy, busy);
    add_capacity(capacities, each);
  }
  ret->capacity = sum_capacities(capacities);
  return ret->links > 0;
}

static void fill_links(RunReport *report, const RunPlay *play, const Counted *counted) {
  report->links = g_new0(RunLink, HW_LINK_CLASSES);
  for (int link_class = 0; link_class < HW_LINK_CLASSES; link_class++)
    if (fill_link(play, (HwLinkClass)link_class, counted, &report->links[report->n_links]))
      report->n_links++;
}

static void fill_facts(RunReport *report, const RunPlay *play) {
  const Program *program = play->system->program;
  guint64 gpus = 0;
  for (guint32 i = 0; i < program->n_ranks; i++)
    gpus += program->ranks[i].count;
  report->tokens = program->tokens;
  report->model_flops = program->model_flops;
  report->hardware_flops = program->hardware_flops;
  report->peak_flops = kernel_peak(play->system->gpu, (KernelDtype)program->dtype) * (double)gpus;
}

static void count_windows(RunReport *report, RunPlay *play, Counted *ret) {
  report->settled = run_windows_judge(play, &ret->bytes, &ret->busy);
  if (report->settled != RUN_UNSETTLED && !run_windows_memory(play, report->settled))
    report->settled = RUN_UNSETTLED;
  ret->more = report->settled != RUN_UNSETTLED ? play->options->windows.more : 0;
  for (guint32 i = 0; i < play->n_ranks && ret->more > 0; i++)
    run_windows_draw(&play->ranks[i], &report->classes[i]);
}

RunReport *run_results(RunPlay *play) {
  RunReport *report = g_new0(RunReport, 1);
  report->names = g_string_chunk_new(1024);
  run_memory_stop(play);
  run_windows_find(play);
  report->n_classes = play->n_ranks;
  report->classes = g_new0(RunClass, play->n_ranks);
  for (guint32 i = 0; i < play->n_ranks; i++)
    fill_class(report, &play->ranks[i], &report->classes[i]);
  Counted counted = {0};
  if (play->options->windows.memory)
    report->settled = run_windows_levels(play, report->classes) ? RUN_SETTLED : RUN_UNSETTLED;
  else
    count_windows(report, play, &counted);
  run_report_choose(report);
  report->steps_played = play->steps_ended - 1;
  report->repeats = play->repeats;
  report->events = event_queue_played(play->queue);
  fill_facts(report, play);
  fill_links(report, play, &counted);
  g_free(counted.bytes);
  g_free(counted.busy);
  run_report_rates(report);
  return report;
}
