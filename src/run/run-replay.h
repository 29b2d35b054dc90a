/* SPDX-License-Identifier: MIT */
/* What a rank notes of the steps it has played, to know the next without playing it. Private to this floor. */
#pragma once

#include "base-vector.h"
#include "mem-ledger.h"
#include "run-step.h"

/* What moved memory, in its order: the host acted on a row, or a stream ended its oldest; and when the host came to a
 * border of windows. */
typedef struct RunNote {
  SimTime at;     /* since the step's start */
  guint32 row;    /* PROGRAM_NONE: the stream's end */
  guint32 stream; /* without a row, PROGRAM_NONE: the border */
} RunNote;

typedef struct {
  BaseVector notes;     /* RunNote: of this step so far */
  guint32 replayed;     /* steps of which the memory alone was played, or nothing */
  gboolean replaying;   /* one of them is being */
  SimTime noted_at;     /* of its present note; else 0 */
  BaseVector layout[2]; /* guint64: where the last two steps left memory, if the rank rests */
  gboolean rested[2];   /* at their ends nothing was under way or issued ahead */
  guint64 level[2][MEM_TENANTS];
  guint64 allocated[2], reserved[2]; /* when they ended */
} RunReplay;

/* run-replay.c: steps that can differ in memory alone. Makes room for a step's notes. */
void run_replay_make_room(RunRank *rank);
/* Makes the moves of a step again, as noted so far, in memory alone. */
void run_replay_notes(RunRank *rank, RunStep *step);
/* Takes down where a step that ends at rest leaves memory. */
void run_replay_mark(RunRank *rank);
/* Plays their memory, once a step has ended, until it repeats or the most steps are reached. FALSE: the next must be
 * played. */
gboolean run_replay(RunPlay *play);
/* run-copy.c: once the first step has ended at rest. Makes the first steady step all ranks' last, ended at this moment,
 * but for its memory. FALSE: it must be played. */
gboolean run_copy_first(RunPlay *play);
