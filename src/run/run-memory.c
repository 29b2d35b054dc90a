/* Takes and gives of a rank: the ledger says who holds what, the caching allocator what the device must hold for it, and
 * whether it can. NCCL's buffers and the context lie beside the allocator.
 *
 *   take: a free block? ── no ─► a new segment? ── does not fit ─► the host waits for all streams, the cache goes
 *   back, a new segment? ── does not fit ─► out of memory: play goes on above the limit */
#include <string.h>

#include "run-state.h"

/* The main thread and autograd's each hold a cuBLAS handle: one workspace each on the compute stream. */
#define WORKSPACE_HANDLES 2

/* What is being asked for, and by which row. */
typedef struct {
  MemTenant tenant;
  guint64 bytes, unique;
  const char *tensor;
  const RunStep *step; /* NULL: before all rows */
  guint32 row;
} Request;

static void sample(RunRank *rank) {
  if (BASE_TRACED(rank->play->traced, RUN_TRACE_MEMORY))
    run_trace_memory(rank, RUN_TRACE_MEMORY);
  if (!rank->play->options->timeline || rank->replay.replaying)
    return;
  SimTime now = run_now(rank->play);
  RunMemorySample *last = rank->heap.samples->len > 0
                              ? &g_array_index(rank->heap.samples, RunMemorySample, rank->heap.samples->len - 1)
                              : NULL;
  if (last == NULL || last->at != now) {
    g_array_set_size(rank->heap.samples, rank->heap.samples->len + 1);
    last = &g_array_index(rank->heap.samples, RunMemorySample, rank->heap.samples->len - 1);
    last->at = now;
  }
  memcpy(last->held, rank->heap.ledger.held, sizeof last->held);
}

static SimTime since_step(const RunRank *rank) {
  return run_now(rank->play) - (rank->last != NULL ? rank->last->end : 0) + rank->replay.noted_at;
}

static guint32 step_number(const RunRank *rank, const Request *request) {
  return request->step != NULL ? request->step->number + rank->replay.replayed : 0;
}

static guint64 capacity(const RunRank *rank) {
  return rank->play->system->gpu->memory_usable;
}

static guint64 device_used(const RunRank *rank) {
  return mem_allocator_use(rank->heap.allocator)->reserved + rank->heap.outside;
}

/* The first request that fails, before anything of it is taken. */
static void run_out(RunRank *rank, const Request *request) {
  if (rank->heap.has_oom)
    return;
  const ProgramRow *row = request->step != NULL ? run_row(request->step, request->row) : NULL;
  const MemUse *use = mem_allocator_use(rank->heap.allocator);
  guint64 used = device_used(rank);
  rank->heap.has_oom = TRUE;
  if (BASE_TRACED(rank->play->traced, RUN_TRACE_OOM))
    run_trace_memory(rank, RUN_TRACE_OOM);
  rank->heap.oom = (RunOom){.at = since_step(rank),
                            .step = step_number(rank, request),
                            .row = request->row,
                            .name = row != NULL ? row->name : "start",
                            .layer = row != NULL ? row->layer : -1,
                            .phase = program_phase_names[row != NULL ? row->phase : PROGRAM_SETUP],
                            .tenant = mem_tenant_names[request->tenant],
                            .tensor = request->tensor,
                            .requested = request->bytes,
                            .free = used < capacity(rank) ? capacity(rank) - used : 0,
                            .allocated = use->allocated,
                            .reserved = use->reserved};
  memcpy(rank->heap.oom.held, rank->heap.ledger.held, sizeof rank->heap.oom.held);
}

static void charge(RunRank *rank, const Request *request) {
  rank->heap.unique[request->tenant] += request->unique;
  if (mem_ledger_take(&rank->heap.ledger, request->tenant, request->bytes, run_now(rank->play))) {
    memcpy(rank->heap.unique_at_peak, rank->heap.unique, sizeof rank->heap.unique);
    rank->heap.peak_since_step = since_step(rank);
    rank->heap.peak_step = step_number(rank, request);
    rank->heap.peak_row = request->row;
  }
  if (device_used(rank) > rank->heap.device_peak) {
    rank->heap.device_peak = device_used(rank);
    rank->heap.device_peak_step = step_number(rank, request);
  }
  sample(rank);
}

/* Beside the allocator: its cache does not make way. */
static void take_outside(RunRank *rank, const Request *request) {
  if (device_used(rank) + request->bytes > capacity(rank))
    run_out(rank, request);
  rank->heap.outside += request->bytes;
  mem_allocator_limit(rank->heap.allocator,
                      capacity(rank) > rank->heap.outside ? capacity(rank) - rank->heap.outside : 0);
  charge(rank, request);
}

static void pass(RunRank *rank, const RunFree *free) {
  const ProgramTensor *given = &rank->play->system->program->tensors[free->tensor];
  mem_allocator_pass(rank->heap.allocator, free->block);
  mem_ledger_give(&rank->heap.ledger, given->tenant, given->bytes, run_now(rank->play));
  rank->heap.unique[given->tenant] -= given->unique_bytes;
  sample(rank);
}

void run_memory_pass(RunStream *stream, guint64 ended) {
  const RunFree *frees = stream->frees.data;
  while (stream->frees_begun < stream->frees.n && frees[stream->frees_begun].ordinal <= ended)
    pass(stream->rank, &frees[stream->frees_begun++]);
  if (stream->frees_begun == stream->frees.n)
    stream->frees.n = stream->frees_begun = 0;
}

/* Once memory has run out it has no end: what streams hold back is as if passed, and nothing waits. */
static void pass_all(RunRank *rank) {
  for (guint32 s = 0; s < rank->play->system->program->n_streams; s++)
    run_memory_pass(&rank->device.streams[s], G_MAXUINT64);
}

static guint32 retry(RunRank *rank, guint32 stream, const Request *request) {
  guint32 block;
  pass_all(rank);
  if (!mem_allocator_flush_and_take(rank->heap.allocator, stream, request->bytes, &block)) {
    run_out(rank, request);
    block = mem_allocator_take_beyond(rank->heap.allocator, stream, request->bytes);
  }
  return block;
}

/* Before all streams and rows: nothing is to be waited for. */
static void take_workspaces(RunRank *rank, guint64 bytes) {
  Request request = {MEM_OVERHEAD, bytes, bytes, "cuBLAS workspaces", NULL, 0};
  guint32 block, stream = rank->play->system->program->pools[0];
  if (!mem_allocator_take(rank->heap.allocator, stream, bytes, &block))
    retry(rank, stream, &request);
  charge(rank, &request);
}

void run_memory_begin(RunRank *rank) {
  const RunSystem *system = rank->play->system;
  const Program *program = system->program;
  guint64 context = system->gpu->context_bytes, workspaces = WORKSPACE_HANDLES * system->gpu->workspace_bytes;
  rank->heap.allocator = mem_allocator_new(&rank->play->options->memory, program->n_streams, capacity(rank));
  rank->heap.blocks = g_new(guint32, program->n_tensors);
  for (guint32 t = 0; t < program->n_tensors; t++)
    rank->heap.blocks[t] = PROGRAM_NONE;
  rank->heap.connected = g_new0(gboolean, program->n_slots);
  take_outside(rank, &(Request){MEM_OVERHEAD, context, context, "CUDA context", NULL, 0});
  if (workspaces > 0)
    take_workspaces(rank, workspaces);
}

void run_memory_clear(RunRank *rank) {
  mem_allocator_free(rank->heap.allocator);
  g_free(rank->heap.blocks);
  g_free(rank->heap.connected);
}

void run_memory_connect(RunRank *rank, const RunStep *step, guint32 row) {
  guint32 slot = run_row(step, row)->group;
  if (rank->heap.connected[slot])
    return;
  rank->heap.connected[slot] = TRUE;
  const RunSystem *system = rank->play->system;
  guint64 bytes = system->groups[program_group(system->program, rank->index, slot)]->buffer_bytes;
  take_outside(rank, &(Request){MEM_OVERHEAD, bytes, bytes, "NCCL buffers", step, row});
}

/* The cache goes back only once all streams are done. */
static gboolean must_wait(RunRank *rank) {
  if (rank->heap.has_oom)
    return FALSE;
  if (rank->replay.replaying) {
    rank->play->again = TRUE;
    return FALSE;
  }
  if (!rank->host.waits)
    rank->host.waits_since = run_now(rank->play);
  rank->host.waits = TRUE;
  return rank->device.busy > 0;
}

/* What the device's allocator took of the host's time since `before`; only where the cache was given back, for until then
 * all that is taken is taken once. */
static SimTime device_time(const RunRank *rank, const MemUse *before) {
  const MemUse *use = mem_allocator_use(rank->heap.allocator);
  const RunSystem *system = rank->play->system;
  if (use->flushes == 0 || rank->heap.has_oom || rank->replay.replaying)
    return 0;
  return (SimTime)(use->device_takes - before->device_takes) * system->segment_take +
         (SimTime)(use->device_gives - before->device_gives) * system->segment_give;
}

/* FALSE: the host waits, and comes again. *ret_cost: what it then has to pay. */
static gboolean take(RunRank *rank, guint32 tensor, RunStep *step, guint32 row, SimTime *ret_cost) {
  const Program *program = rank->play->system->program;
  const ProgramTensor *taken = &program->tensors[tensor];
  guint32 stream = program->pools[run_row(step, row)->stream];
  MemUse before = *mem_allocator_use(rank->heap.allocator);
  Request request = {(MemTenant)taken->tenant, taken->bytes, taken->unique_bytes, taken->name, step, row};
  if (rank->host.waits || !mem_allocator_take(rank->heap.allocator, stream, taken->bytes, &rank->heap.blocks[tensor])) {
    if (must_wait(rank))
      return FALSE;
    rank->heap.blocks[tensor] = retry(rank, stream, &request);
  }
  charge(rank, &request);
  *ret_cost = device_time(rank, &before);
  if (rank->host.waits) {
    step->retries++;
    step->stalled += run_now(rank->play) - rank->host.waits_since;
  }
  step->stalled += *ret_cost;
  rank->host.waits = FALSE;
  return TRUE;
}

void run_memory_give(RunRank *rank, guint32 tensor, RunStream *stream) {
  RunFree given = {stream != NULL ? stream->issued : 0, tensor, rank->heap.blocks[tensor]};
  rank->heap.blocks[tensor] = PROGRAM_NONE;
  mem_allocator_hold(rank->heap.allocator, given.block);
  if (stream == NULL || stream->pending == 0)
    pass(rank, &given);
  else
    *(RunFree *)base_vector_next(&stream->frees, sizeof given) = given;
}

static void give_all(RunRank *rank, const RunStep *step, const ProgramRow *row) {
  for (guint32 i = 0; i < row->n_gives; i++) {
    const ProgramGive *give = &step->table->section->gives[row->gives + i];
    run_memory_give(rank, give->tensor, give->stream == PROGRAM_NONE ? NULL : &rank->device.streams[give->stream]);
  }
}

gboolean run_memory_act(RunRank *rank, RunStep *step, guint32 index) {
  const ProgramRow *row = run_row(step, index);
  if (rank->host.acts == 0) {
    give_all(rank, step, row);
    if (row->kind == PROGRAM_COLLECTIVE)
      run_memory_connect(rank, step, index);
    rank->host.acts = 1;
  }
  while (rank->host.acts <= row->n_takes) {
    SimTime cost = 0;
    if (!take(rank, step->table->section->takes[row->takes + rank->host.acts - 1], step, index, &cost))
      return FALSE;
    rank->host.acts++;
    if (cost > 0) {
      run_schedule(rank->play, &rank->host.event, run_now(rank->play), cost);
      return FALSE;
    }
  }
  rank->host.acts = 0;
  return TRUE;
}
