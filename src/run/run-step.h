/* SPDX-License-Identifier: MIT */
/* A section of a role, prepared, and one step of one rank that plays it: private to this floor.
 *
 *   RunTable (one per role and section): what is the same for every rank and step
 *   RunStep (one per rank and step under way): starts, or met needs, and ends of its rows, on a plane
 *
 * Unfolded runs have many ranks, so what each keeps per row is little: how many needs have ended, and in the same
 * place, once it starts, when that was; and an end. A plane begins as zeros: where a step has not come to yet, the
 * kernel gives it no memory, while the step before still lies on another.
 * These lie on planes: row after row, and in each row rank after rank of one role, for ranks of one role come to a row
 * at about the same time:
 *
 *   starts  row 0: rank 0 1 2 3 … | row 1: rank 0 1 2 3 … | …        rank 2's step points to its place in row 0 */
#pragma once

#include "program.h"
#include "run-play.h"

typedef struct RunPlay RunPlay;
typedef struct RunRank RunRank;
typedef struct RunStep RunStep;

#define RUN_BORDERS    (RUN_BODIES + 1)
#define RUN_UNSET      ((SimTime)-1)
#define RUN_MOST_STEPS 5 /* the first and four steady ones */

/* A section of a role, prepared. */
typedef struct {
  const ProgramSection *section;
  guint32 *needs;                    /* by row: how many */
  guint32 *waiter_offsets, *waiters; /* by row: the rows that need it */
  guint32 *next;                     /* by row: the next on its stream; PROGRAM_NONE: none */
  guint32 *first;                    /* by stream: its first row; PROGRAM_NONE: none */
  guint32 *call;                     /* by row: its number among the collectives of the section */
  guint32 *sequence;                 /* by row: its number among those of its slot */
  guint32 *calls;                    /* by slot: collectives of the section */
  guint32 n_calls;
  guint32 watched[RUN_BORDERS]; /* rows of RunOptions.watched, or of its windows' borders; PROGRAM_NONE: none */
  guint32 n_watched;
} RunTable;

/* A collective's row on one rank. */
typedef struct {
  SimTime issued, ready; /* ready: issued, and needs met */
} RunCall;

/* One step of one rank. */
struct RunStep {
  RunRank *rank;
  const RunTable *table;
  guint32 number;  /* 0: the first */
  guint32 retries; /* of requests for memory, its cache given back */
  SimTime stalled; /* host time that they took: the wait for all streams, and the device's allocator */
  guint32 remaining;
  SimTime end;
  guint32 seen;                 /* rows of RunTable.watched that the host has come to */
  SimTime watched[RUN_BORDERS]; /* when */
  guint32 stride;               /* from row to row on its plane */
  SimTime *starts;              /* by row; before it starts, and of host rows, how many of its needs have ended */
  SimTime *ends;                /* by row; host rows have none, and collectives' stand in their RunMove */
  SimTime *issues;              /* by row, of a timeline; NULL: none is asked for */
  RunCall *calls;               /* by number of call */
};

/* One step of all ranks of a role. */
typedef struct {
  guint32 users;     /* ranks that have not forgotten the step */
  gsize times, some; /* bytes of starts, ends, issues each; of calls */
  SimTime *starts, *ends, *issues;
  RunCall *calls;
} RunPlane;

/* Planes that so many ranks lay their steps on. */
typedef struct {
  guint32 ranks;
  gboolean timeline; /* when rows are issued is kept */
  RunPlane *steps[RUN_MOST_STEPS];
  RunPlane *spare; /* of the steady section, to be used again */
} RunPlanes;

/* run-table.c: what is watched; all else, before a step of the section is played, if it has not been found. */
void run_table_init(RunTable *table, const ProgramSection *section, const RunOptions *options);
void run_table_prepare(RunTable *table, const Program *program);
/* The steady section is the first from row `ahead` on, with all its collectives: which these are is told by the first's
 * table, as long as no step of the steady section is played. */
void run_table_follow(RunTable *table, const RunTable *first, guint32 ahead);
void run_table_clear(RunTable *table);
/* What is kept of earlier plays, before a play; and after it what it has prepared, which is no longer its own. */
void run_tables_lend(RunTables *tables, RunPlay *play);
void run_tables_return(RunTables *tables, RunPlay *play);
/* run-plane.c: planes for all ranks of a role; where RunOptions.apart, for each. */
void run_planes_init(RunPlay *play);
void run_planes_clear(RunPlay *play);
/* Places a rank's step on the plane of its number, and takes it off, if it has not been taken off. */
void run_plane_enter(RunStep *step);
/* The first step's place becomes the second's, whose rows begin with its row `ahead`. */
void run_plane_pass(RunStep *first, RunStep *second, guint32 ahead);
void run_plane_leave(RunStep *step);
/* run-step.c */
RunStep *run_step_begin(RunRank *rank, guint32 number);
/* The second step as the first from row `ahead` on; nothing is left of the first but its end. */
RunStep *run_step_follow(RunRank *rank, RunStep *first, guint32 ahead);
void run_step_ended(RunStep *step);
/* A step that later ones have replaced. */
void run_step_forget(RunRank *rank, RunStep *step);
gboolean run_step_repeats(const RunRank *rank);
void run_steps_clear(RunRank *rank);

static inline const ProgramRow *run_row(const RunStep *step, guint32 row) {
  return &step->table->section->rows[row];
}
/* Of a row that has started. */
static inline SimTime *run_row_start(const RunStep *step, guint32 row) {
  return &step->starts[(gsize)row * step->stride];
}
/* When the host issued it; of a timeline. */
static inline SimTime *run_row_issue(const RunStep *step, guint32 row) {
  return &step->issues[(gsize)row * step->stride];
}
/* Of a row that has not started: whether a need of it has not ended. */
static inline gboolean run_row_waits(const RunStep *step, guint32 row) {
  return step->starts[(gsize)row * step->stride] < step->table->needs[row];
}
/* Another need of it has ended; TRUE where that was the last. */
static inline gboolean run_row_met(const RunStep *step, guint32 row) {
  return ++step->starts[(gsize)row * step->stride] == step->table->needs[row];
}
/* Of a collective's row. */
static inline RunCall *run_row_call(const RunStep *step, guint32 row) {
  return &step->calls[(gsize)step->table->call[row] * step->stride];
}
/* Of a row that is no collective. */
static inline SimTime *run_row_own_end(const RunStep *step, guint32 row) {
  return &step->ends[(gsize)row * step->stride];
}
