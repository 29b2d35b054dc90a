/* SPDX-License-Identifier: MIT */
/* Heaps that ranks share: ranks of one role whose communicators have equal buffers begin with one heap, and keep it as
 * long as they make the same moves in the same order, whenever they make them.
 *
 *   log    a0 a1 e2 a2 e1 …          the first rank to come to the log's end makes the move and writes it down,
 *             │      └ rank 7        the others find it there and take its outcome
 *             └ rank 3: e1           one that moves otherwise forks: the moves before are made again in a heap of its
 *                                    own, which those that follow it join
 *
 * What a rank alone knows of its memory is when things happened. Plain twin: RunOptions.apart. */
#include <string.h>

#include "run-state.h"

/* Forks at which others may join, for each heap; those of a later fork are alone and write nothing down. */
#define MOST_JOINED 64

typedef struct {
  guint64 word;
  guint32 outcome; /* 0: it is done, and that is all; else from 1 */
} Moved;

typedef struct {
  guint64 word; /* of the rank that left */
  guint32 at;
  RunHeap *heap;
} Fork;

struct RunLog {
  RunHeap *before; /* NULL: none; its log up to `first` is this one's too */
  guint32 first;
  BaseVector moved;    /* Moved, from `first` on */
  BaseVector outcomes; /* RunOutcome */
  BaseVector levels;   /* RunLevels: when steps ended */
  BaseVector forks;    /* Fork */
};

typedef struct RunLog RunLog;

static void log_free(RunLog *log) {
  if (log == NULL)
    return;
  g_free(log->moved.data);
  g_free(log->outcomes.data);
  g_free(log->levels.data);
  g_free(log->forks.data);
  g_free(log);
}

static guint32 end_of(const RunLog *log) {
  return log->first + log->moved.n;
}

static gboolean is_plain(const RunOutcome *outcome) {
  return outcome->done && outcome->cost == 0 && outcome->retries == 0 && !outcome->peak && !outcome->oom;
}

RunLevels run_heap_levels(const RunHeap *heap) {
  const MemUse *use = heap->use;
  RunLevels levels = {.allocated = use->allocated, .reserved = use->reserved};
  memcpy(levels.held, heap->ledger.held, sizeof levels.held);
  return levels;
}

static void write_down(RunHeap *heap, guint64 word) {
  RunLog *log = heap->log;
  Moved moved = {.word = word};
  if (run_move_kind(word) == RUN_STEP_ENDS) {
    heap->outcome.levels = log->levels.n;
    *(RunLevels *)base_vector_next(&log->levels, sizeof(RunLevels)) = run_heap_levels(heap);
  }
  if (!is_plain(&heap->outcome) || run_move_kind(word) == RUN_STEP_ENDS) {
    *(RunOutcome *)base_vector_next(&log->outcomes, sizeof(RunOutcome)) = heap->outcome;
    moved.outcome = log->outcomes.n;
  }
  *(Moved *)base_vector_next(&log->moved, sizeof moved) = moved;
}

/* All moves of a heap's log before `end`. */
static void move_again(RunHeap *heap, RunRank *rank, const RunHeap *from, guint32 end) {
  const RunLog *log = from->log;
  if (log->before != NULL)
    move_again(heap, rank, log->before, log->first);
  for (guint32 i = log->first; i < end; i++)
    run_heap_move(heap, rank, ((const Moved *)log->moved.data)[i - log->first].word);
}

/* A heap that has made the rank's moves so far and is about to make another than its own: one that is there, or new. */
static RunHeap *fork_heap(RunRank *rank, guint64 word) {
  RunHeap *from = rank->memory.heap;
  if (BASE_TRACED(rank->play->traced, RUN_TRACE_FORK) && run_move_kind(word) != RUN_STOPS)
    run_trace_fork(rank);
  BaseVector *forks = &from->log->forks;
  for (guint32 i = 0; i < forks->n; i++) {
    const Fork *fork = &((const Fork *)forks->data)[i];
    if (fork->at == rank->memory.moved && fork->word == word)
      return fork->heap;
  }
  RunHeap *heap = run_heap_new(rank);
  g_ptr_array_add(rank->play->heaps, heap);
  move_again(heap, rank, from, rank->memory.moved);
  if (forks->n >= MOST_JOINED && run_move_kind(word) != RUN_STOPS)
    return heap;
  heap->log = g_new0(RunLog, 1);
  heap->log->before = from;
  heap->log->first = rank->memory.moved;
  *(Fork *)base_vector_next(forks, sizeof(Fork)) = (Fork){word, rank->memory.moved, heap};
  return heap;
}

static const RunOutcome plain_outcome = {.done = TRUE};

/* Borrowed until the next move. */
static const RunOutcome *make_logged_move(RunRank *rank, guint64 word) {
  RunMemory *memory = &rank->memory;
  RunLog *log;
  while ((log = memory->heap->log) != NULL && memory->moved < end_of(log)) {
    const Moved *moved = &((const Moved *)log->moved.data)[memory->moved - log->first];
    if (moved->word != word) {
      memory->heap = fork_heap(rank, word);
      continue;
    }
    memory->moved++;
    return moved->outcome == 0 ? &plain_outcome : &((const RunOutcome *)log->outcomes.data)[moved->outcome - 1];
  }
  run_heap_move(memory->heap, rank, word);
  if (log == NULL)
    return &memory->heap->outcome;
  memory->moved++;
  write_down(memory->heap, word);
  return &memory->heap->outcome;
}

static inline const RunOutcome *make_move(RunRank *rank, guint64 word) {
  RunHeap *heap = rank->memory.heap;
  if (heap->log != NULL)
    return make_logged_move(rank, word);
  run_heap_move(heap, rank, word);
  return &heap->outcome;
}

static SimTime since_step(const RunRank *rank) {
  if (rank->replay.replaying)
    return rank->replay.noted_at;
  return run_now(rank->play) - (rank->last != NULL ? rank->last->end : 0);
}

/* The wait for all streams, and what the device's allocator took. */
static void stall(RunRank *rank, RunStep *step, const RunOutcome *outcome) {
  SimTime now = run_now(rank->play);
  if (!rank->host.waits && (outcome->waits || outcome->retries > 0))
    rank->host.waits_since = now;
  if (outcome->retries > 0)
    step->stalled += now - rank->host.waits_since;
  step->retries += outcome->retries;
  step->stalled += outcome->cost;
  rank->host.waits = outcome->waits;
  if (outcome->cost > 0)
    run_schedule(rank->play, &rank->host.event, now, outcome->cost);
}

/* Rows of hosts that only wait, and ends of streams that hold nothing back, are most moves: where nobody else follows
 * the heap, they are made without a word. The plain twin makes them all. */
static inline gboolean is_alone(const RunRank *rank) {
  return rank->memory.heap->log == NULL && !rank->window.noted && !rank->play->options->apart;
}

static gboolean moves_nothing(const RunRank *rank, const ProgramRow *row) {
  return row->kind == PROGRAM_HOST && row->n_takes == 0 && row->n_gives == 0 && is_alone(rank) && !rank->host.waits;
}

static void note_outcome(RunRank *rank, RunStep *step, const RunOutcome *outcome) {
  if (outcome->peak)
    rank->memory.peak_since_step = since_step(rank);
  if (outcome->oom)
    rank->memory.oom_since_step = since_step(rank);
  stall(rank, step, outcome);
}

gboolean run_memory_act(RunRank *rank, RunStep *step, guint32 row) {
  if (rank->memory.foreseen || moves_nothing(rank, run_row(step, row)))
    return TRUE;
  guint64 move = run_move_word(RUN_ACTS, step->number, row);
  const RunOutcome *outcome = make_move(rank, move);
  if (rank->window.noted && outcome->done)
    run_window_moved(rank, move);
  if (is_plain(outcome) && !rank->host.waits)
    return TRUE;
  note_outcome(rank, step, outcome);
  return outcome->done;
}

gboolean run_memory_again(RunRank *rank, RunStep *step) {
  RunHeap *heap = rank->memory.heap;
  const BaseVector *notes = &rank->replay.notes;
  if (!is_alone(rank) || heap->told || rank->memory.foreseen || rank->host.waits ||
      rank->play->options->windows.body > 0)
    return FALSE;
  for (guint32 made = 0; made < notes->n;) {
    const RunNote *next = &((const RunNote *)notes->data)[made];
    made += run_heap_again(heap, rank, step->number, next, notes->n - made);
    rank->replay.noted_at = ((const RunNote *)notes->data)[made - 1].at;
    if (!is_plain(&heap->outcome))
      note_outcome(rank, step, &heap->outcome);
  }
  return TRUE;
}

void run_memory_end(RunStream *stream) {
  if (stream->rank->memory.foreseen)
    return;
  RunPasses *passes = &stream->rank->memory.heap->passes[stream - stream->rank->device.streams];
  if (passes->frees.n == 0 && is_alone(stream->rank)) {
    run_heap_stream_ends(stream->rank->memory.heap, passes);
    return;
  }
  guint64 move = run_move_word(RUN_ENDS, 0, (guint32)(stream - stream->rank->device.streams));
  make_move(stream->rank, move);
  if (stream->rank->window.noted)
    run_window_moved(stream->rank, move);
}

RunLevels run_memory_step(RunRank *rank) {
  const RunHeap *heap = rank->memory.heap;
  if (heap->log == NULL)
    return run_heap_levels(heap);
  const RunOutcome *outcome = make_move(rank, run_move_word(RUN_STEP_ENDS, 0, 0));
  return ((const RunLevels *)rank->memory.heap->log->levels.data)[outcome->levels];
}

void run_memory_stop(RunPlay *play) {
  for (guint32 i = 0; i < play->n_ranks; i++) {
    RunMemory *memory = &play->ranks[i].memory;
    if (memory->heap->log != NULL && memory->moved < end_of(memory->heap->log))
      memory->heap = fork_heap(&play->ranks[i], run_move_word(RUN_STOPS, 0, 0));
  }
}

gboolean run_memory_told(const RunPlay *play) {
  const guint32 points = 1U << RUN_TRACE_MEMORY | 1U << RUN_TRACE_OOM;
  return play->options->timeline || (play->traced & points) != 0;
}

/* What is told is of ranks one by one. */
static gboolean may_share(const RunPlay *play) {
  return !play->options->apart && !run_memory_told(play);
}

/* Of a slot by which the rank means no communicator: none. */
static guint64 buffers_of(const RunPlay *play, guint32 rank, guint32 slot) {
  guint32 group = program_group(play->system->program, rank, slot);
  return group != PROGRAM_NONE ? play->system->groups[group]->buffer_bytes : 0;
}

static gboolean may_follow(const RunRank *rank, const RunHeap *heap) {
  gboolean may = rank->role == heap->role;
  for (guint32 slot = 0; may && slot < rank->play->system->program->n_slots; slot++)
    may = buffers_of(rank->play, rank->index, slot) == buffers_of(rank->play, heap->like, slot);
  return may;
}

static RunHeap *heap_for(RunRank *rank) {
  GPtrArray *heaps = rank->play->heaps;
  for (guint i = 0; may_share(rank->play) && i < heaps->len; i++) {
    RunHeap *heap = heaps->pdata[i];
    if (!may_follow(rank, heap))
      continue;
    if (heap->log == NULL)
      heap->log = g_new0(RunLog, 1);
    return heap;
  }
  RunHeap *heap = run_heap_new(rank);
  g_ptr_array_add(heaps, heap);
  return heap;
}

void run_memory_begin(RunPlay *play) {
  play->heaps = g_ptr_array_new();
  for (guint32 i = 0; i < play->n_ranks; i++) {
    RunRank *rank = &play->ranks[i];
    rank->memory.samples = g_array_new(FALSE, FALSE, sizeof(RunMemorySample));
    rank->memory.heap = heap_for(rank);
    run_window_begin(rank);
  }
  run_recall_begin(play);
}

void run_memory_clear(RunPlay *play) {
  for (guint i = 0; i < play->heaps->len; i++) {
    RunHeap *heap = play->heaps->pdata[i];
    log_free(heap->log);
    run_heap_free(heap, play->system->program->n_streams);
  }
  g_ptr_array_unref(play->heaps);
  for (guint32 i = 0; i < play->n_ranks; i++) {
    g_array_unref(play->ranks[i].memory.samples);
    g_free(play->ranks[i].memory.ends.data);
  }
}
