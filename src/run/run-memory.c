/* SPDX-License-Identifier: MIT */
/* What moves make of a heap: takes and gives as the ledger says who holds what, the caching allocator what the device
 * must hold for it, and whether it can. NCCL's buffers and the context lie beside the allocator.
 *
 *   take: a free block? ── no ─► a new segment? ── does not fit ─► the host waits for all streams, the cache goes
 *   back, a new segment? ── does not fit ─► out of memory: play goes on above the limit */
#include <string.h>

#include "run-state.h"

/* The main thread and autograd's each hold a cuBLAS handle: one workspace each on the compute stream. */
#define WORKSPACE_HANDLES 2

/* A heap, the rank that makes a move there, and the row that it acts on. */
typedef struct {
  RunHeap *heap;
  RunRank *rank;
  const ProgramSection *section; /* NULL: before all rows */
  guint32 step, index;
} Move;

/* What is being asked for. */
typedef struct {
  MemTenant tenant;
  guint64 bytes, unique;
  const char *tensor;
} Request;

/* Of heaps that one rank has alone, where a timeline or a trace asks for it. */
static void tell(const Move *move) {
  RunRank *rank = move->rank;
  if (BASE_TRACED(rank->play->traced, RUN_TRACE_MEMORY))
    run_trace_memory(rank, move->heap, RUN_TRACE_MEMORY);
  if (!rank->play->options->timeline || rank->replay.replaying)
    return;
  SimTime now = run_now(rank->play);
  GArray *samples = rank->memory.samples;
  RunMemorySample *last = samples->len > 0 ? &g_array_index(samples, RunMemorySample, samples->len - 1) : NULL;
  if (last == NULL || last->at != now) {
    g_array_set_size(samples, samples->len + 1);
    last = &g_array_index(samples, RunMemorySample, samples->len - 1);
    last->at = now;
  }
  memcpy(last->held, move->heap->ledger.held, sizeof last->held);
}

static inline void sample(const Move *move) {
  if (G_UNLIKELY(move->heap->told))
    tell(move);
}

static guint32 step_number(const Move *move) {
  return move->section != NULL ? move->step + move->rank->replay.replayed : 0;
}

static const RunSystem *system_of(const Move *move) {
  return move->rank->play->system;
}

static guint64 capacity(const Move *move) {
  return system_of(move)->gpu->memory_usable;
}

static guint64 device_used(const RunHeap *heap) {
  return heap->use->reserved + heap->outside;
}

static guint32 waited_at(const Move *move) {
  return move->heap->wait_step == step_number(move) ? move->heap->wait_row : PROGRAM_NONE;
}

/* The first request that fails, before anything of it is taken. */
static void run_out(const Move *move, const Request *request) {
  RunHeap *heap = move->heap;
  if (heap->has_oom)
    return;
  const ProgramRow *row = move->section != NULL ? &move->section->rows[move->index] : NULL;
  guint64 used = device_used(heap);
  heap->has_oom = heap->outcome.oom = TRUE;
  heap->oom_wait = waited_at(move);
  if (BASE_TRACED(move->rank->play->traced, RUN_TRACE_OOM))
    run_trace_memory(move->rank, heap, RUN_TRACE_OOM);
  heap->oom = (RunOom){.step = step_number(move),
                       .row = move->index,
                       .name = row != NULL ? row->name : "start",
                       .layer = row != NULL ? row->layer : -1,
                       .phase = program_phase_names[row != NULL ? row->phase : PROGRAM_SETUP],
                       .tenant = mem_tenant_names[request->tenant],
                       .tensor = request->tensor,
                       .requested = request->bytes,
                       .free = used < capacity(move) ? capacity(move) - used : 0,
                       .allocated = heap->use->allocated,
                       .reserved = heap->use->reserved};
  memcpy(heap->oom.held, heap->ledger.held, sizeof heap->oom.held);
}

static inline void charge(const Move *move, MemTenant tenant, guint64 bytes, guint64 unique) {
  RunHeap *heap = move->heap;
  heap->unique[tenant] += unique;
  if (mem_ledger_take(&heap->ledger, tenant, bytes)) {
    memcpy(heap->unique_at_peak, heap->unique, sizeof heap->unique);
    heap->outcome.peak = TRUE;
    heap->peak_step = step_number(move);
    heap->peak_row = move->index;
    heap->peak_wait = waited_at(move);
  }
  guint64 used = device_used(heap);
  if (used > heap->device_peak) {
    heap->device_peak = used;
    heap->device_peak_step = step_number(move);
  }
  sample(move);
}

static void set_outside(const Move *move, guint64 bytes) {
  move->heap->outside = bytes;
  mem_allocator_limit(move->heap->allocator, capacity(move) > bytes ? capacity(move) - bytes : 0);
}

/* Beside the allocator: its cache does not make way. */
static void take_outside(const Move *move, const Request *request) {
  RunHeap *heap = move->heap;
  if (device_used(heap) + request->bytes > capacity(move))
    run_out(move, request);
  set_outside(move, heap->outside + request->bytes);
  charge(move, request->tenant, request->bytes, request->unique);
}

/* Nobody holds the tensor any more. */
static inline void discharge(const Move *move, const ProgramTensor *given) {
  RunHeap *heap = move->heap;
  mem_ledger_give(&heap->ledger, given->tenant, given->bytes);
  heap->unique[given->tenant] -= given->unique_bytes;
  sample(move);
}

static inline void pass(const Move *move, guint32 tensor, guint32 block) {
  const ProgramTensor *given = &move->heap->tensors[tensor];
  if (given->managed) {
    set_outside(move, move->heap->outside - given->bytes);
    move->heap->managed -= given->bytes;
  } else {
    mem_allocator_pass(move->heap->allocator, block);
  }
  discharge(move, given);
}

/* So many rows of the stream have ended. */
static void pass_until(const Move *move, RunPasses *passes, guint64 ended) {
  const RunFree *frees = passes->frees.data;
  while (passes->frees_begun < passes->frees.n && frees[passes->frees_begun].ordinal <= ended) {
    const RunFree *free = &frees[passes->frees_begun++];
    pass(move, free->tensor, free->block);
  }
  if (passes->frees_begun == passes->frees.n)
    passes->frees.n = passes->frees_begun = 0;
}

static void stream_ends(RunHeap *heap, RunRank *rank, RunPasses *passes) {
  run_heap_stream_ends(heap, passes);
  if (passes->frees.n > 0)
    pass_until(&(Move){.heap = heap, .rank = rank}, passes, passes->ended);
}

/* Once memory has run out it has no end: what streams hold back is as if passed, and nothing waits. */
static void pass_all(const Move *move) {
  for (guint32 s = 0; s < system_of(move)->program->n_streams; s++)
    pass_until(move, &move->heap->passes[s], G_MAXUINT64);
}

static guint32 retry(const Move *move, guint32 stream, const Request *request) {
  guint32 block;
  if (!move->heap->has_oom) {
    move->heap->wait_step = step_number(move);
    move->heap->wait_row = move->index;
  }
  pass_all(move);
  if (!mem_allocator_flush_and_take(move->heap->allocator, stream, request->bytes, &block)) {
    run_out(move, request);
    block = mem_allocator_take_beyond(move->heap->allocator, stream, request->bytes);
  }
  return block;
}

/* Before all streams and rows: nothing is to be waited for. */
static void take_workspaces(const Move *move, guint64 bytes) {
  Request request = {MEM_OVERHEAD, bytes, bytes, "cuBLAS workspaces"};
  guint32 block, stream = system_of(move)->program->pools[0];
  if (!mem_allocator_take(move->heap->allocator, stream, bytes, &block))
    retry(move, stream, &request);
  charge(move, request.tenant, request.bytes, request.unique);
}

RunHeap *run_heap_new(RunRank *rank) {
  const RunSystem *system = rank->play->system;
  const Program *program = system->program;
  guint64 context = system->gpu->context_bytes, workspaces = WORKSPACE_HANDLES * system->gpu->workspace_bytes;
  RunHeap *heap = g_new0(RunHeap, 1);
  Move move = {.heap = heap, .rank = rank};
  heap->role = rank->role;
  heap->like = rank->index;
  heap->told = run_memory_told(rank->play);
  heap->allocator = mem_allocator_new(&rank->play->options->memory, program->n_streams, capacity(&move));
  heap->use = mem_allocator_use(heap->allocator);
  heap->passes = g_new0(RunPasses, program->n_streams);
  heap->tensors = program->tensors;
  heap->blocks = g_new(guint32, program->n_tensors);
  for (guint32 t = 0; t < program->n_tensors; t++)
    heap->blocks[t] = PROGRAM_NONE;
  heap->connected = g_new0(gboolean, program->n_slots);
  take_outside(&move, &(Request){MEM_OVERHEAD, context, context, "CUDA context"});
  if (workspaces > 0)
    take_workspaces(&move, workspaces);
  return heap;
}

void run_heap_free(RunHeap *heap, guint32 n_streams) {
  for (guint32 s = 0; s < n_streams; s++)
    g_free(heap->passes[s].frees.data);
  mem_allocator_free(heap->allocator);
  g_free(heap->passes);
  g_free(heap->blocks);
  g_free(heap->connected);
  g_free(heap);
}

/* NCCL's buffers of a collective's communicator: allocated with the first call. */
static void connect(const Move *move, guint32 slot) {
  RunHeap *heap = move->heap;
  if (heap->connected[slot])
    return;
  heap->connected[slot] = TRUE;
  const RunSystem *system = system_of(move);
  guint64 bytes = system->groups[program_group(system->program, heap->like, slot)]->buffer_bytes;
  take_outside(move, &(Request){MEM_OVERHEAD, bytes, bytes, "NCCL buffers"});
}

/* The cache goes back only once all streams are done. */
static gboolean must_wait(const Move *move) {
  if (move->heap->has_oom)
    return FALSE;
  if (move->rank->replay.replaying) {
    move->rank->play->again = TRUE;
    return FALSE;
  }
  move->heap->waits = TRUE;
  return move->heap->busy > 0;
}

/* What the device's allocator took of the host's time since it had made so many calls; only where the cache was given
 * back, for until then all that is taken is taken once. */
static SimTime device_time(const Move *move, guint64 takes, guint64 gives) {
  const MemUse *use = move->heap->use;
  if (use->flushes == 0 || move->heap->has_oom)
    return 0;
  return (SimTime)(use->device_takes - takes) * system_of(move)->segment_take +
         (SimTime)(use->device_gives - gives) * system_of(move)->segment_give;
}

/* FALSE: the host waits, and comes again. */
static gboolean take_after_wait(const Move *move, guint32 tensor, guint32 stream, guint32 *ret_block) {
  RunHeap *heap = move->heap;
  const ProgramTensor *taken = &heap->tensors[tensor];
  if (must_wait(move))
    return FALSE;
  *ret_block = retry(move, stream, &(Request){taken->tenant, taken->bytes, taken->unique_bytes, taken->name});
  heap->outcome.retries += heap->waits;
  heap->waits = FALSE;
  return TRUE;
}

/* FALSE: the host waits, and comes again. */
static inline gboolean take(const Move *move, guint32 tensor, guint32 stream) {
  RunHeap *heap = move->heap;
  const ProgramTensor *taken = &heap->tensors[tensor];
  if (taken->managed) {
    heap->managed += taken->bytes;
    take_outside(move, &(Request){taken->tenant, taken->bytes, taken->unique_bytes, taken->name});
    return TRUE;
  }
  guint64 takes = heap->use->device_takes, gives = heap->use->device_gives;
  guint32 block;
  if ((heap->waits || !mem_allocator_take(heap->allocator, stream, taken->bytes, &block)) &&
      !take_after_wait(move, tensor, stream, &block))
    return FALSE;
  heap->blocks[tensor] = block;
  charge(move, taken->tenant, taken->bytes, taken->unique_bytes);
  SimTime cost = device_time(move, takes, gives);
  if (cost > 0) {
    heap->device_time += cost;
    heap->outcome.cost = move->rank->replay.replaying ? 0 : cost;
  }
  return TRUE;
}

/* Of use again once what was issued on the stream so far has ended; NULL: at once. */
static inline void give(const Move *move, guint32 tensor, RunPasses *passes) {
  RunHeap *heap = move->heap;
  guint32 block = heap->blocks[tensor];
  gboolean at_once = passes == NULL || passes->issued == passes->ended;
  heap->blocks[tensor] = PROGRAM_NONE;
  if (at_once && block != PROGRAM_NONE) {
    mem_allocator_give(heap->allocator, block);
    discharge(move, &heap->tensors[tensor]);
    return;
  }
  if (block != PROGRAM_NONE)
    mem_allocator_hold(heap->allocator, block);
  if (at_once)
    pass(move, tensor, block);
  else
    *(RunFree *)base_vector_next(&passes->frees, sizeof(RunFree)) = (RunFree){passes->issued, tensor, block};
}

static void give_all(const Move *move, const ProgramRow *row) {
  const ProgramGive *what = move->section->gives + row->gives;
  for (guint32 left = row->n_gives; left > 0; left--, what++)
    give(move, what->tensor, what->stream == PROGRAM_NONE ? NULL : &move->heap->passes[what->stream]);
}

static inline void issue(RunHeap *heap, const ProgramRow *row) {
  if (row->kind == PROGRAM_HOST)
    return;
  RunPasses *passes = &heap->passes[row->stream];
  heap->busy += passes->issued == passes->ended;
  passes->issued++;
}

/* FALSE: the host stops at the row. */
static gboolean act(const Move *move, const ProgramRow *row) {
  RunHeap *heap = move->heap;
  if (heap->acts == 0) {
    give_all(move, row);
    if (row->kind == PROGRAM_COLLECTIVE)
      connect(move, row->group);
    heap->acts = 1;
  }
  guint32 stream = system_of(move)->program->pools[row->stream];
  const guint32 *takes = move->section->takes + row->takes;
  for (guint32 taken = heap->acts - 1; taken < row->n_takes; taken++) {
    heap->acts = taken + 1;
    if (!take(move, takes[taken], stream))
      return FALSE;
    heap->acts++;
    if (heap->outcome.cost > 0)
      return FALSE;
  }
  heap->acts = 0;
  issue(heap, row);
  return TRUE;
}

/* Of most rows nothing is taken, given or to be connected. */
static void host_acts(RunHeap *heap, RunRank *rank, guint32 step, guint32 index) {
  const ProgramSection *section = &heap->role->sections[step == 0 ? PROGRAM_FIRST : PROGRAM_STEADY];
  const ProgramRow *row = &section->rows[index];
  if (row->n_takes == 0 && row->n_gives == 0 && (row->kind != PROGRAM_COLLECTIVE || heap->connected[row->group])) {
    issue(heap, row);
    return;
  }
  Move move = {heap, rank, section, step, index};
  heap->outcome.done = act(&move, row) ? 1 : 0;
}

/* As act, where nothing waits. */
static inline void act_again(const Move *move, const ProgramRow *row) {
  RunHeap *heap = move->heap;
  if (row->n_gives > 0)
    give_all(move, row);
  if (row->kind == PROGRAM_COLLECTIVE)
    connect(move, row->group);
  guint32 stream = system_of(move)->program->pools[row->stream];
  const guint32 *takes = move->section->takes + row->takes;
  for (guint32 taken = 0; taken < row->n_takes; taken++)
    take(move, takes[taken], stream);
  issue(heap, row);
}

guint32 run_heap_again(RunHeap *heap, RunRank *rank, guint32 step, const RunNote *notes, guint32 n) {
  const ProgramSection *section = &heap->role->sections[step == 0 ? PROGRAM_FIRST : PROGRAM_STEADY];
  Move move = {heap, rank, section, step, 0};
  heap->outcome = (RunOutcome){.done = TRUE};
  for (guint32 i = 0; i < n; i++) {
    move.index = notes[i].row;
    if (move.index == PROGRAM_NONE) {
      stream_ends(heap, rank, &heap->passes[notes[i].stream]);
      continue;
    }
    act_again(&move, &section->rows[move.index]);
    if (G_UNLIKELY(heap->outcome.peak || heap->outcome.oom || heap->outcome.retries > 0))
      return i + 1;
  }
  return n;
}

void run_heap_move(RunHeap *heap, RunRank *rank, guint64 word) {
  heap->outcome = (RunOutcome){.done = TRUE};
  switch (run_move_kind(word)) {
  case RUN_ACTS:
    host_acts(heap, rank, run_move_step(word), (guint32)word);
    break;
  case RUN_ENDS:
    stream_ends(heap, rank, &heap->passes[(guint32)word]);
    break;
  default:
    break;
  }
  heap->outcome.waits = heap->waits != FALSE;
}
