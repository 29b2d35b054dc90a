/* SPDX-License-Identifier: MIT */
/* Two bodies of micro-batches in the middle of a step, seen from each rank, to count many for them. Private to this
 * floor.
 *
 *   rank's rows    fill │ body 0 │ body 1 │ drain        borders: the first rows of the bodies and of what follows
 *   time          ──────┴── P ───┴── P ───┴─────►        starts: P apart, the last where the first compute after
 *                                                        body 1 starts
 *
 * Counted is what a body adds, so often as there are bodies more: where bodies are the same rows, as much is held at
 * their borders with no new peak between them, and they are the same to the picosecond on all ranks and links
 * (SETTLED).
 *
 * In a pipeline whose kernels slow down beside collectives stages that wait go on shifting by less and less, for
 * hundreds of micro-batches, before that is so. There it is enough that some stage, for which the others wait, has
 * found its period, that none waits for its host, and that no part of the time within one, on any rank, changes by
 * more than a hundredth of it; what communication and the busiest link take, waits for peers included, by more than a
 * twentieth (SETTLING).
 *
 * Micro-batches in flight change places in the allocator, which may come to take a segment more later than in any
 * window: so the memory of all bodies is made, by the moves of those that were played (run-window-memory.c). That alone
 * is asked of windows where the time of one stage is counted by three plays (run-count.h). */
#pragma once

#include "mem-ledger.h"
#include "run-heap.h"
#include "run-report.h"
#include "run-step.h"

/* What tensors hold and the most that was held, when the host came to a border. */
typedef struct {
  guint64 held[MEM_TENANTS], peak_allocated, peak_active, peak_reserved, device_peak, has_oom; /* held first */
} RunBorder;

/* Parts of a body's time. */
typedef struct {
  SimTime compute, communication, by_cause[RUN_CAUSES];
} RunShares;

typedef struct {
  gboolean found;
  SimTime starts[RUN_BORDERS]; /* absolute */
  RunBorder borders[RUN_BORDERS];
  RunShares shares[RUN_BODIES];
  guint64 sent_intra, sent_inter;   /* in a body */
  gboolean noted;                   /* the rank's moves are */
  guint32 like;                     /* first rank whose heap began as this one's */
  BaseVector moves;                 /* guint64: words of run-heap.h, in their order */
  RunLevels levels[RUN_MOST_STEPS]; /* when its steps ended */
  RunHeap *counted;                 /* with all bodies; borrowed */
  guint64 ended_with;               /* bytes allocated there when the last step ended */
} RunWindow;

/* Before play: whether to note a rank's moves. A move is made; a step has ended. */
void run_window_begin(RunRank *rank);
void run_window_moved(RunRank *rank, guint64 move);
void run_window_step(RunRank *rank, const RunLevels *levels);
/* The host stands before a watched row of the step that it is in. */
void run_window_seen(RunRank *rank);
/* Of a step whose memory alone is played: the host comes to a border; of one that is as the last in memory too. */
void run_window_replayed(RunRank *rank, guint border);
void run_window_known(RunRank *rank);
/* Of all ranks, once play is over and before anything is made of it: where windows are, if any were asked for. */
void run_windows_find(RunPlay *play);
/* Whether they may be counted, of ranks whose shares are known; what the links carry and for how long they are busy in
 * body 1, by link: callers free both. */
RunSettled run_windows_judge(const RunPlay *play, guint64 **ret_bytes, SimTime **ret_busy);
/* Whether memory asks the same of both rows. */
gboolean run_window_moves_alike(const ProgramRow *x, const ProgramRow *y);
/* Whether host and compute take the same time for both bodies of the last step, to the picosecond. */
gboolean run_window_keeps_step(const RunRank *rank);
/* Of the last step of a rank whose host needs less for a body than its device does: the longest that anything after the
 * bodies waited for the host alone, before the host first waited for the device; 0: counted, it goes as it was played.
 * Cost: O(rows). */
SimTime run_window_late(const RunRank *rank);
/* The row after the bodies at which that is; PROGRAM_NONE: nowhere. When its wait is over in the last step, since that
 * began. */
guint32 run_window_caught(const RunTable *table);
SimTime run_window_caught_at(const RunRank *rank);
/* Makes the memory of all bodies, of windows that are as settled as that. FALSE: steps would wait for memory otherwise
 * than they did, or repeat elsewhere; or a rank gives what waits for a stream that its host gets ahead of, so that what
 * is free when in later bodies is not known. */
gboolean run_windows_memory(RunPlay *play, RunSettled settled);
/* Of windows that are asked for memory alone: makes it, and changes the levels of classes to what it is then. FALSE:
 * they are as they were; as above. */
gboolean run_windows_levels(RunPlay *play, RunClass *played);
/* Makes of a class as it was played one of the longer step. */
void run_windows_draw(const RunRank *rank, RunClass *played);
