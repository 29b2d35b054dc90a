/* SPDX-License-Identifier: MIT */
/* The memory of a play as an earlier one's.
 *
 *   before   was a Program that takes and gives the same played on such a device? ── no ─► moves are made, as ever
 *   step 1   notes are taken (run-replay.h), no move is made
 *   its end  did streams that memory waits for end where they did then? ── no ─► the moves are made now, by the notes
 *   after    its end is this one's: peaks, levels, how many steps there were
 *
 * A heap knows no time: of one rank alone all that becomes of it follows from what its rows take and give, and from
 * after how many of them streams ended that something given waits for. Kept are plays that never waited for memory, all
 * of whose steps after the first were its notes again. Plain twins: no recall; RunOptions.apart. */
#include "run-recall.h"

#include <string.h>

#include "run-state.h"

#define MOST_PASTS 16   /* Programs that take turns are few */
#define MOST_ENDS  8192 /* of one: they take a megabyte in all */

/* What a play's memory came to. */
typedef struct {
  MemUse use;
  MemLedger ledger;
  guint64 unique_at_peak[MEM_TENANTS], device_peak, managed;
  guint32 device_peak_step, peak_step, peak_row;
  guint64 allocated; /* at its end */
  guint32 steps;
  gboolean repeats;
} Outcome;

typedef struct {
  RunRequests requests;
  BaseVector ends; /* guint64, of streams that memory waits for, in the first step: rows before it, and the stream */
  Outcome outcome;
} Past;

struct RunRecall {
  Past pasts[MOST_PASTS]; /* a ring */
  guint32 next, n;        /* where the next one goes; how many there are */
  guint64 met, missed;
};

RunRecall *run_recall_new(void) {
  return g_new0(RunRecall, 1);
}

void run_recall_free(RunRecall *recall) {
  for (guint32 i = 0; recall != NULL && i < recall->n; i++)
    g_free(recall->pasts[i].ends.data);
  g_free(recall);
}

guint64 run_recall_met(const RunRecall *recall) {
  return recall->met;
}

guint64 run_recall_missed(const RunRecall *recall) {
  return recall->missed;
}

/* ---- What may be taken and given ---- */

/* A sum of 64 bits that each word changes one to one. */
static void add_word(RunRequests *requests, guint64 word) {
  requests->device = (requests->device ^ word) * G_GUINT64_CONSTANT(0x9E3779B97F4A7C15);
  requests->device ^= requests->device >> 32;
}

static void add_device(RunRequests *requests, const RunPlay *play) {
  const RunSystem *system = play->system;
  const Program *program = system->program;
  const HwGpu *gpu = system->gpu;
  add_word(requests, gpu->memory_usable);
  add_word(requests, gpu->context_bytes);
  add_word(requests, gpu->workspace_bytes);
  add_word(requests, play->options->memory.expandable_segments != FALSE);
  add_word(requests, play->options->memory.max_split_size);
  for (guint32 slot = 0; slot < program->n_slots; slot++) {
    guint32 group = program_group(program, 0, slot);
    add_word(requests, group != PROGRAM_NONE ? system->groups[group]->buffer_bytes : 0);
  }
}

/* Of one rank alone, whose steady steps are known to be its first but for what stands ahead; of what is shown moment by
 * moment, or counted for micro-batches, every move is made. */
static gboolean may_recall(const RunPlay *play) {
  const RunOptions *options = play->options;
  return options->recall != NULL && options->requests != 0 && play->n_ranks == 1 && !options->apart &&
         !run_memory_told(play) && options->windows.body == 0 && !options->windows.memory && run_replay_wanted(play) &&
         play->ranks[0].role->ahead > 0;
}

static gboolean same_requests(const Past *past, const RunRequests *requests) {
  return past->requests.program == requests->program && past->requests.device == requests->device;
}

void run_recall_begin(RunPlay *play) {
  if (!may_recall(play))
    return;
  RunMemory *memory = &play->ranks[0].memory;
  memory->requests.program = play->options->requests;
  add_device(&memory->requests, play);
  memory->kept = TRUE;
  for (guint32 i = 0; i < play->options->recall->n && !memory->foreseen; i++)
    memory->foreseen = same_requests(&play->options->recall->pasts[i], &memory->requests);
}

/* ---- The end of the first step ---- */

/* By stream: something that is given waits for it. */
static gboolean *waited_streams(const RunStep *step, guint32 n_streams) {
  const ProgramSection *section = step->table->section;
  gboolean *waited = g_new0(gboolean, n_streams);
  for (guint32 i = 0; i < section->n_rows; i++)
    for (guint32 k = 0; k < section->rows[i].n_gives; k++) {
      guint32 stream = section->gives[section->rows[i].gives + k].stream;
      if (stream != PROGRAM_NONE)
        waited[stream] = TRUE;
    }
  return waited;
}

static void find_ends(RunRank *rank, const RunStep *step, BaseVector *ends) {
  const RunNote *notes = rank->replay.notes.data;
  g_autofree gboolean *waited = waited_streams(step, rank->play->system->program->n_streams);
  guint64 rows = 0;
  for (guint32 i = 0; i < rank->replay.notes.n; i++)
    if (notes[i].row != PROGRAM_NONE)
      rows++;
    else if (waited[notes[i].stream])
      *(guint64 *)base_vector_next(ends, sizeof(guint64)) = rows << 32 | notes[i].stream;
}

static gboolean same_ends(const BaseVector *a, const BaseVector *b) {
  return a->n == b->n && (a->n == 0 || memcmp(a->data, b->data, a->n * sizeof(guint64)) == 0);
}

static const Past *find(const RunRecall *recall, const RunMemory *memory) {
  for (guint32 i = 0; i < recall->n; i++)
    if (same_requests(&recall->pasts[i], &memory->requests) && same_ends(&recall->pasts[i].ends, &memory->ends))
      return &recall->pasts[i];
  return NULL;
}

void run_recall_miss(RunRank *rank, RunStep *step) {
  if (!rank->memory.foreseen)
    return;
  rank->memory.foreseen = FALSE;
  rank->play->options->recall->missed++;
  run_replay_notes(rank, step);
  if (rank->play->again)
    rank->play->over = rank->play->misjudged = TRUE;
}

/* Each row acts once. */
static void know_peak(RunRank *rank, const Outcome *outcome) {
  const RunNote *notes = rank->replay.notes.data;
  for (guint32 i = 0; i < rank->replay.notes.n; i++)
    if (notes[i].row == outcome->peak_row)
      rank->memory.peak_since_step = notes[i].at;
}

void run_recall_step(RunRank *rank, RunStep *step, gboolean at_rest) {
  RunMemory *memory = &rank->memory;
  if (!memory->kept || step->number > 0)
    return;
  memory->kept = at_rest;
  if (at_rest)
    find_ends(rank, step, &memory->ends);
  const Past *past = memory->foreseen && at_rest ? find(rank->play->options->recall, memory) : NULL;
  memory->past = past;
  if (past == NULL)
    run_recall_miss(rank, step);
  else if (past->outcome.peak_step == 0)
    know_peak(rank, &past->outcome);
}

/* ---- Later steps ---- */

static void recall_heap(RunHeap *heap, const Outcome *outcome) {
  heap->use = &outcome->use;
  heap->ledger = outcome->ledger;
  memcpy(heap->unique_at_peak, outcome->unique_at_peak, sizeof heap->unique_at_peak);
  heap->device_peak = outcome->device_peak;
  heap->device_peak_step = outcome->device_peak_step;
  heap->managed = outcome->managed;
  heap->peak_step = outcome->peak_step;
  heap->peak_row = outcome->peak_row;
}

gboolean run_recall_rest(RunPlay *play) {
  RunRank *rank = &play->ranks[0];
  const Past *past = rank->memory.past;
  if (past == NULL)
    return FALSE;
  if (past->outcome.peak_step > 0)
    know_peak(rank, &past->outcome);
  recall_heap(rank->memory.heap, &past->outcome);
  rank->replay.allocated[0] = past->outcome.allocated;
  rank->steps_ended = play->steps_ended = past->outcome.steps;
  play->repeats = past->outcome.repeats;
  play->options->recall->met++;
  return TRUE;
}

static gboolean took_no_time(const RunHeap *heap) {
  return heap->use->flushes == 0 && !heap->has_oom && heap->device_time == 0;
}

void run_recall_keep(RunPlay *play) {
  RunRank *rank = &play->ranks[0];
  RunMemory *memory = &rank->memory;
  const RunHeap *heap = memory->heap;
  RunRecall *recall = play->options->recall;
  if (!memory->kept || play->again || !took_no_time(heap) || memory->ends.n > MOST_ENDS)
    return;
  Past *past = &recall->pasts[recall->next];
  recall->next = (recall->next + 1) % MOST_PASTS;
  recall->n = MIN(recall->n + 1, MOST_PASTS);
  g_free(past->ends.data);
  *past = (Past){.requests = memory->requests, .ends = memory->ends};
  memory->ends = (BaseVector){0};
  Outcome *outcome = &past->outcome;
  *outcome = (Outcome){.use = *heap->use,
                       .ledger = heap->ledger,
                       .device_peak = heap->device_peak,
                       .managed = heap->managed,
                       .device_peak_step = heap->device_peak_step,
                       .peak_step = heap->peak_step,
                       .peak_row = heap->peak_row,
                       .allocated = rank->replay.allocated[0],
                       .steps = play->steps_ended,
                       .repeats = play->repeats};
  memcpy(outcome->unique_at_peak, heap->unique_at_peak, sizeof outcome->unique_at_peak);
}
