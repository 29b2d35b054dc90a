/* SPDX-License-Identifier: MIT */
/* The GPU of a rank: its streams with the rows on them, and what collectives hold of it. Private to this floor. */
#pragma once

#include "base-vector.h"
#include "coll-group.h"
#include "event-queue.h"
#include "run-step.h"

typedef struct RunDurations RunDurations;

typedef struct {
  Event event; /* end of the compute row that runs */
  RunRank *rank;
  RunStep *step;   /* of head */
  guint32 head;    /* the row that runs or is next to run; of meaning while pending > 0 */
  guint32 pending; /* issued and not ended */
  gboolean running;
  SimTime anchor; /* since when the compute row that runs goes at the present rate */
  double left;    /* share of it that was not done then */
} RunStream;

/* What collectives hold of a GPU: whole numbers, so that their order changes no sum. */
typedef struct {
  guint64 channels;
  guint64 memory_rate; /* bytes/s to and from device memory */
} RunHeld;

typedef struct {
  RunDurations *durations; /* on this GPU beside what is settled */
  RunHeld held, settled;   /* now; and what its kernels go by: the same once the instant has settled */
  guint32 filling, shared; /* likewise: kernels that would each fill the device */
  Event contention;
  RunStream *streams;
  guint32 *ended_calls; /* by slot */
  guint32 busy;         /* streams with rows that were issued and have not ended */
} RunDevice;

/* run-task.c */
void run_stream_init(RunStream *stream, RunRank *rank, guint32 index);
void run_task_issue(RunRank *rank, guint32 row);
void run_stream_advance(RunStream *stream);
/* The row at the head of the stream has ended. */
void run_stream_ended(RunStream *stream);
/* Wakes who waits for a row and counts it off its step. */
void run_row_ended(RunStep *step, guint32 row);
/* run-contention.c: kernels beside collectives. */
void run_contention_init(RunPlay *play);
void run_contention_begin(RunRank *rank);
void run_contention_clear(RunPlay *play);
SimTime run_op_duration(RunRank *rank, guint32 op);
RunHeld run_contention_of(const RunPlay *play, guint32 communicator, const CollCall *call, const CollPlan *plan);
void run_contention_take(RunRank *rank, guint64 channels, guint64 memory_rate);
void run_contention_give(RunRank *rank, RunHeld held);
/* The stream's head, a compute row, begins or has ended. */
void run_contention_begins(const RunStream *stream);
void run_contention_ends(const RunStream *stream);
gboolean run_contention_computes(const RunRank *rank);
