/* SPDX-License-Identifier: MIT */
/* The state of a run in play: private to this floor.
 *
 *   RunPlay ─┬─ RunTable (one per role and section)                      run-step.h
 *            ├─ RunRank (one per class of ranks) ─┬─ RunHost             run-host.h
 *            │                                    ├─ RunDevice           run-device.h: streams, contention
 *            │                                    ├─ RunMemory           run-heap.h: ledger, allocator
 *            │                                    ├─ RunReplay           run-replay.h
 *            │                                    ├─ RunWindow           run-window.h
 *            │                                    └─ RunStep             run-step.h: one for each step under way
 *            └─ RunCommunicator                                          run-collective.h */
#pragma once

#include "run-collective.h"
#include "run-heap.h"
#include "run-host.h"
#include "run-play.h"
#include "run-replay.h"
#include "run-window.h"

struct RunRank {
  RunPlay *play;
  const ProgramRank *rank;
  const ProgramRole *role;
  guint32 index; /* in Program.ranks */
  guint32 steps_ended;
  RunHost host;
  RunDevice device;
  RunPlanes *planes; /* for its role's steps, of which this is so manieth */
  guint32 place;
  RunStep *steps[RUN_MOST_STEPS]; /* by number; NULL: not begun, or no longer of interest */
  RunStep *spare;                 /* to be used again */
  RunStep *last;                  /* last step that has ended */
  SimTime before;                 /* end of the one before it */
  SimTime period[2];              /* of the last two steps */
  guint64 retries;                /* of all steps that have ended */
  RunMemory memory;
  RunReplay replay;
  RunWindow window;
};

struct RunPlay {
  const RunSystem *system;
  const RunOptions *options;
  const char *run_key;
  EventQueue *queue;
  NetSystem *net;
  RunRank *ranks;
  guint32 n_ranks;
  RunTable (*tables)[PROGRAM_SECTIONS]; /* by role */
  GPtrArray *heaps;                     /* RunHeap: all that ranks have or had */
  RunPlanes *planes;                    /* by role, or by rank */
  guint32 n_planes;
  RunCommunicator *communicators;
  const NetRoute *nowhere; /* of scalars, which share no link */
  GHashTable *durations;   /* RunDurations, each its own key */
  guint8 *fills;           /* by operation: whether it would fill the device; NULL: nothing is in its way */
  Event hosts_event;
  RunRank **hosts, **hosts_playing; /* that go on at this instant; room for all ranks */
  guint32 n_hosts, n_hosts_playing; /* of the latter those that have not yet gone on */
  guint32 steps_ended;              /* on all ranks */
  guint32 ranks_ended;              /* that have ended one more */
  guint32 traced;                   /* bits of RunTracePoint */
  gboolean repeats, over;
  gboolean misjudged; /* likewise, where it was taken for an earlier play's: to be played without */
  gboolean again;     /* memory cost time in a step that was taken to cost none: to be played with every step */
  gboolean endless;   /* something would happen beyond SimTime */
  double *link_bytes; /* at the end of the last step and the one before */
  SimTime *link_busy;
};

/* run-exposure.c: fills times, causes and, if kept, exposures of a class from its last step; what of them lies in the
 * rank's windows too, if it has any. */
void run_exposure(RunRank *rank, gboolean keep, RunClass *ret);
/* run-trace.c: what a point that is asked for prints. */
void BASE_TRACE_COLD run_trace_row(const RunStream *stream, RunTracePoint point);
void BASE_TRACE_COLD run_trace_memory(const RunRank *rank, const RunHeap *heap, RunTracePoint point);
void BASE_TRACE_COLD run_trace_step(const RunRank *rank);
void BASE_TRACE_COLD run_trace_fork(const RunRank *rank);
/* run-step.c: takes down what is held at the end of a step. */
void run_step_note_memory(RunRank *rank, const RunLevels *levels);
/* run-results.c */
RunReport *run_results(RunPlay *play);

/* Notes of all ranks are kept, so they must be few. Ranks that wait for each other between steps would show in a
 * timeline's levels: there one alone. */
#define RUN_MOST_NOTED 64
static inline gboolean run_replay_wanted(const RunPlay *play) {
  guint32 most = play->options->timeline ? 1 : RUN_MOST_NOTED;
  return play->n_ranks <= most && !play->options->every_step;
}
static inline SimTime run_now(const RunPlay *play) {
  return event_now(play->queue);
}
/* Takes a note, where it may be wanted. */
static inline void run_replay_note(RunRank *rank, guint32 row, guint32 stream) {
  BaseVector *notes = &rank->replay.notes;
  SimTime start = rank->last != NULL ? rank->last->end : 0;
  if (G_UNLIKELY(notes->n == notes->size))
    run_replay_make_room(rank);
  RunNote *note = &((RunNote *)notes->data)[notes->n++];
  note->at = run_now(rank->play) - start;
  note->row = row;
  note->stream = stream;
}
static inline void run_schedule(RunPlay *play, Event *event, SimTime from, SimTime after) {
  SimTime at = sim_time_add(from, after);
  if (at == SIM_TIME_NEVER)
    play->endless = TRUE;
  else
    event_schedule(play->queue, event, at);
}
