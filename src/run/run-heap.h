/* SPDX-License-Identifier: MIT */
/* The memory of ranks: the ledger says who holds what, the caching allocator what the device must hold for it. Private
 * to this floor.
 *
 *   rank ─ RunMemory ─► RunHeap      when its peak was, how far it    what its moves have made of memory; ranks of one
 *                                    has come in the heap's log       role that move alike share one (run-share.c)
 *
 * A heap knows no time and no rank: all that becomes of it follows from the order of its moves, which are that the host
 * acts on a row, that a stream ends its oldest, and that a step ends. */
#pragma once

#include "mem-allocator.h"
#include "mem-ledger.h"
#include "run-device.h"
#include "run-report.h"

typedef struct {
  guint64 ordinal; /* of the row, on its stream, that must have ended */
  guint32 tensor, block;
} RunFree;

/* Of one stream what memory asks. */
typedef struct {
  guint64 issued, ended;
  BaseVector frees;    /* RunFree, by ordinal */
  guint32 frees_begun; /* of these, so many have been */
} RunPasses;

/* What a move means to the rank that makes it. */
typedef struct {
  SimTime cost;    /* host time to be paid before it goes on */
  guint32 retries; /* of requests, the cache given back */
  guint32 levels;  /* the end of a step: which of the log's */
  guint8 done;     /* FALSE: the host must stop, and act again when it goes on */
  guint8 waits;    /* for all streams, to give the cache back */
  guint8 peak;     /* never was more held */
  guint8 oom;      /* it was the first request that could not be met */
} RunOutcome;

/* What is held when a step ends. */
typedef struct {
  guint64 allocated, reserved, held[MEM_TENANTS];
} RunLevels;

typedef struct RunHeap RunHeap;
struct RunNote;

struct RunHeap {
  const ProgramRole *role;
  guint32 like;  /* a rank whose heap this is, or was at first */
  gboolean told; /* what is held is asked for at every change */
  MemLedger ledger;
  MemAllocator *allocator;
  const MemUse *use; /* the allocator's */
  guint64 outside;   /* of the device's bytes, beside the allocator */
  guint64 managed;   /* of these, what the driver may move out */
  const ProgramTensor *tensors;
  guint32 *blocks;     /* by tensor; PROGRAM_NONE: it is not held */
  gboolean *connected; /* by slot: its communicator has its buffers */
  RunPasses *passes;   /* by stream */
  guint32 busy;        /* streams with rows that were issued and have not ended */
  guint32 acts;        /* of the host's acts on its row: gives, then so many takes, are done */
  gboolean waits;      /* the host, for all streams, to give the cache back */
  guint64 device_peak; /* most that was reserved and outside */
  guint32 device_peak_step;
  SimTime device_time; /* host time that the device's allocator took, had all steps been played */
  guint64 unique[MEM_TENANTS], unique_at_peak[MEM_TENANTS];
  guint32 peak_step, peak_row; /* row being issued when the peak was reached */
  guint32 wait_step, wait_row; /* where the host last waited for all streams, to give the cache back */
  guint32 peak_wait, oom_wait; /* row at which it last did in that step, when the peak was reached, when memory ran out;
                                  PROGRAM_NONE: it had not */
  gboolean has_oom;
  RunOom oom;         /* but for the time */
  RunOutcome outcome; /* of the move that is made */
  struct RunLog *log; /* run-share.c; NULL: no other rank can follow */
};

/* What may be taken and given in a play (run-recall.c). */
typedef struct {
  guint64 program; /* RunOptions.requests */
  guint64 device;  /* sum of what is asked of the device beside it, and of its size */
} RunRequests;

typedef struct {
  RunHeap *heap;
  guint32 moved; /* moves so far; counted where the heap has a log */
  SimTime peak_since_step, oom_since_step;
  RunRequests requests;
  gboolean kept;      /* what becomes of memory may be of use to later plays */
  gboolean foreseen;  /* no move is made: an earlier play has had the same requests */
  gconstpointer past; /* that one, once the first step was as its first; NULL: none */
  BaseVector ends;    /* guint64, of the first step (run-recall.c) */
  GArray *samples;    /* RunMemorySample, absolute times */
} RunMemory;

/* A move as a word. */
typedef enum { RUN_ACTS, RUN_ENDS, RUN_STEP_ENDS, RUN_STOPS } RunMoveKind; /* the last: none */
static inline guint64 run_move_word(RunMoveKind kind, guint32 step, guint32 index) {
  return (guint64)kind << 40 | (guint64)step << 32 | index;
}
static inline RunMoveKind run_move_kind(guint64 word) {
  return (RunMoveKind)(word >> 40);
}
static inline guint32 run_move_step(guint64 word) {
  return word >> 32 & 0xff;
}

/* The oldest row of a stream has ended, but for what it held back. */
static inline void run_heap_stream_ends(RunHeap *heap, RunPasses *passes) {
  passes->ended++;
  heap->busy -= passes->ended == passes->issued;
}

/* run-memory.c: a heap as a rank finds it, context and workspaces taken; and what a move makes of it. */
RunHeap *run_heap_new(RunRank *rank);
void run_heap_free(RunHeap *heap, guint32 n_streams);
void run_heap_move(RunHeap *heap, RunRank *rank, guint64 word);
/* The moves of notes of which none is a border, again, where nothing waits and nobody is told: all, or until one has an
 * outcome. How many were made. */
guint32 run_heap_again(RunHeap *heap, RunRank *rank, guint32 step, const struct RunNote *notes, guint32 n);

/* run-recall.c, of plays of one rank. Before play: whether its memory may be known from an earlier one. */
void run_recall_begin(RunPlay *play);
/* The first step ends. */
void run_recall_step(RunRank *rank, RunStep *step, gboolean at_rest);
/* It is not as foreseen: moves of the step so far are made. If they would cost time, the play is over, to be played
 * again without. */
void run_recall_miss(RunRank *rank, RunStep *step);
/* Of the first steady step all but its memory is known: TRUE where memory is, of all steps. */
gboolean run_recall_rest(RunPlay *play);
/* Memory repeats: keeps what became of it, if it can be of use. */
void run_recall_keep(RunPlay *play);

/* run-share.c: whether a timeline or a trace asks for all that is held. */
gboolean run_memory_told(const RunPlay *play);
/* What the heap holds now. */
RunLevels run_heap_levels(const RunHeap *heap);
/* Every rank gets its heap. */
void run_memory_begin(RunPlay *play);
void run_memory_clear(RunPlay *play);
/* The host has come to a row: its gives, the buffers of its communicator, its takes; then it is issued. FALSE: the host
 * must stop, for all streams or for the device's allocator, and act again when it goes on. */
gboolean run_memory_act(RunRank *rank, RunStep *step, guint32 row);
/* The oldest row of the stream has ended. */
void run_memory_end(RunStream *stream);
/* Both again, as noted, while the rank replays. FALSE: it has to be done note by note. */
gboolean run_memory_again(RunRank *rank, RunStep *step);
/* The rank's step ends. */
RunLevels run_memory_step(RunRank *rank);
/* Play is over: each rank's heap becomes what its own moves made of it, though others that share it have gone on. */
void run_memory_stop(RunPlay *play);
