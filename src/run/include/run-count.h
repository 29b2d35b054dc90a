/* SPDX-License-Identifier: MIT */
/* Micro-batches that are alike are counted: the Report of a step with many from the Reports of three with few.
 *
 *   played     0 1 2 3      0 1 2 2'3      0 1 2 2'2"3        each a body of micro-batches longer than the one before
 *   counted    0 1 2 2 2 2 2 … 2 3
 *
 * A number that grows by as much from the first play to the second as from the second to the third grows by as much
 * with every further body; none may shrink, for that would end below nothing; a level (a peak, what is held between
 * steps) must not grow at all. Times follow from each other by sums and by the later of two, so a step's time is convex
 * in the number of bodies, and three points on a line go on as that line unless something slower than the body has been
 * gaining on it: that could only be the host, which therefore must not take longer for a body than the step grows by.
 * Where any of this fails nothing is counted, and all is played.
 *
 * Peaks of the allocator do not follow from this: tensors of later micro-batches may go on changing places in it, and
 * take larger blocks than in any of the three plays. Seen: gpt2-xl, paper, ZeRO-2, 4 sequences of 64 tokens, where
 * allocated bytes have a higher peak again between 20 and 30 micro-batches. So the third play makes the memory of all
 * bodies (RunWindows.memory); its `settled` says that it did, and then its levels are those of the counted step. Where
 * a timeline shows levels, they must be those that all three plays found; where memory has run out, but for what the
 * allocator would reserve beyond the device, which may grow from step to step and from play to play: that is the third
 * play's.
 *
 *   if (run_count(first, second, third, &(RunBodies){.played = 4, .body = 1, .more = 996}))
 *     … `first` is the Report of 1 000 micro-batches …
 *
 * A timeline that was kept keeps its length: what comes after the body moves to where it is in the counted step, and
 * rows of the body say for how many they stand. Cost: O(classes + rows kept). */
#pragma once

#include "run-report.h"

typedef struct {
  guint32 played; /* micro-batches of the first play */
  guint32 body;   /* that the second and third play more than the one before */
  guint64 more;   /* bodies that the counted step has more than the first play */
} RunBodies;

/* Of a pipeline's micro-batches some stand for many: two bodies of them, one after the other, the first from
 * micro-batch `first` on. If nothing changes from the one to the other, the Report is that of a step with `more` bodies
 * more: RunReport.settled says so. With `memory` that holds of the allocator's levels alone, and all else is as it was
 * played. */
#define RUN_BODIES 2
typedef struct {
  guint32 first, body; /* micro-batches; body 0: all are played */
  guint64 more;
  gboolean memory;
} RunWindows;

/* Of a counted step, so that its interval is a SimTime too: 26 days. A pipeline's that lasts longer ends here, and
 * nothing else of its class is counted. */
#define RUN_LONGEST ((SimTime)1 << 61)

/* Where the body of a class stands in the play of which the timeline was kept; times since the step's start. */
typedef struct {
  guint32 row, end_row; /* its rows, and the first after them */
  guint32 micros;       /* micro-batches */
  SimTime start, end;   /* from its first compute to the first after it */
  SimTime period;       /* that a body more puts off what follows */
  SimTime host_period;  /* that it puts off the host */
  SimTime watched;      /* when the host came to the end of it */
  guint32 caught_row;   /* from here on a body more puts off the host by `period`; G_MAXUINT32: not known */
  SimTime caught;       /* when it came there */
} RunBody;

/* Moves what comes after the body in a kept timeline, if any, by so many bodies more. */
void run_count_move(RunClass *kept, const RunBody *body, guint64 more);

/* FALSE: whatever longer plays give, it will not be counted from this one: its steps did not come to repeat. */
gboolean run_count_may(const RunReport *first);
/* Changes `first`; FALSE: it is as it was. All three are of one system and one recipe but for the micro-batches, and
 * played with RunOptions.watched at `played` - `body` and as many more. */
gboolean run_count(RunReport *first, const RunReport *second, const RunReport *third, const RunBodies *bodies);
/* Where bodies are not alike (the allocator has not settled) and all are too many to be played: the third's Report,
 * with what it grew by last for every body that is left. Says so: `repeats` is FALSE. Without a timeline. */
void run_count_anyway(const RunReport *first, const RunReport *second, RunReport *third, const RunBodies *bodies);
