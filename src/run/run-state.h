/* The state of a run in play: private to this floor.
 *
 *   RunPlay ─┬─ RunRank (one per class of ranks) ─┬─ RunStream: a queue of RunInstance, in the order of issue
 *            │                                    ├─ RunStep: the instances of one step's rows
 *            │                                    └─ MemLedger
 *            └─ RunCommunicator: the RunTransfer that its members gather for
 */
#pragma once

#include "mem-ledger.h"
#include "run-play.h"

typedef struct RunPlay RunPlay;
typedef struct RunRank RunRank;
typedef struct RunStep RunStep;
typedef struct RunInstance RunInstance;
typedef struct RunTransfer RunTransfer;
typedef struct RunChunks RunChunks;

#define RUN_UNSET      ((SimTime)-1)
#define RUN_MOST_STEPS 5 /* the first and four steady ones */

/* One row of one step on one rank. */
struct RunInstance {
  Event event; /* end of a compute row */
  const ProgramRow *row;
  RunStep *step;
  RunInstance *next; /* on its stream */
  RunTransfer *transfer;
  GArray *frees;    /* guint32 tensors given when this ends; NULL: none */
  guint32 unmet;    /* needs that have not ended */
  guint32 sequence; /* of a collective on its communicator */
  gboolean done;
  SimTime issued, ready, start, end; /* RUN_UNSET until then; ready: issued and needs met */
};

struct RunStep {
  RunRank *rank;
  guint32 number; /* 0: the first */
  ProgramSectionKind section;
  guint32 remaining; /* rows that have not ended */
  SimTime end;
  RunInstance *instances;
};

typedef struct {
  RunInstance *head, *tail;
} RunStream;

/* Order of issue and of play of one communicator on one rank. */
typedef struct {
  guint32 issued, ended;
} RunOrder;

struct RunRank {
  RunPlay *play;
  guint32 index; /* in Program.ranks */
  const ProgramRank *rank;
  const ProgramRole *role;
  Event host;
  RunStep *step; /* that the host is in */
  guint32 row;   /* that it stands before */
  gboolean paid; /* its host time has passed */
  RunStream *streams;
  RunOrder *orders;               /* by communicator */
  RunStep *steps[RUN_MOST_STEPS]; /* by number; NULL: not begun, or no longer of interest */
  RunStep *last;                  /* last step that has ended */
  RunStep *before;                /* the one before it */
  guint32 steps_ended;
  SimTime period[2]; /* of the last two steps */
  guint64 level[2][MEM_TENANTS];
  MemLedger ledger;
  guint64 unique[MEM_TENANTS], unique_at_peak[MEM_TENANTS];
  guint32 peak_step, peak_row; /* row being issued when the peak was reached */
  ProgramSectionKind peak_section;
  SimTime peak_since_step;
  gboolean has_oom;
  RunOom oom;
  GArray *samples; /* RunMemorySample, absolute times */
};

/* A collective that members gather for, then move together. */
struct RunTransfer {
  Event latency;
  NetFlow flow;
  RunPlay *play;
  guint32 communicator, sequence, arrived;
  CollCall call;
  CollPlan plan;
  RunChunks *chunks;     /* step fidelity, while it plays */
  SimTime begun, moving; /* all arrived; latency over */
  RunInstance **members;
  RunTransfer *next; /* in the communicator's list */
};

typedef struct {
  const NetRoute *routes[COLL_ALGORITHMS];
  NetRoute **hops[COLL_ALGORITHMS]; /* step fidelity: by lane and connection, once used */
  RunTransfer *open; /* gathering or moving */
} RunCommunicator;

/* Who waits for a row: reverse of needs, as offsets into one array. */
typedef struct {
  guint32 *offsets, *rows;
} RunWaiters;

struct RunPlay {
  const RunSystem *system;
  const RunOptions *options;
  const char *run_key;
  EventQueue *queue;
  NetSystem *net;
  RunRank *ranks;
  guint32 n_ranks;
  RunCommunicator *communicators;
  GPtrArray *transfers;                    /* all, for the results */
  RunWaiters (*waiters)[PROGRAM_SECTIONS]; /* by role */
  SimTime *durations;                      /* by Program op */
  guint64 most_rows;                       /* of any section: identities are step, rank, row */
  guint32 steps_ended;                     /* on all ranks */
  gboolean repeats, over;
  double *link_bytes; /* at the end of the last step and the one before */
  SimTime *link_busy;
};

/* run-host.c */
void run_host_init(RunRank *rank);
void run_host_resume(RunRank *rank);
/* run-task.c */
void run_task_issue(RunRank *rank, RunInstance *instance);
void run_task_advance(RunRank *rank, guint32 stream);
void run_task_end(RunInstance *instance);
/* run-collective.c */
gboolean run_collective_may_start(const RunInstance *instance);
void run_collective_join(RunInstance *instance);
void run_transfer_free(gpointer transfer);
/* run-chunks.c: plays a planned call chunk by chunk from now on; `ended` may free them. */
RunChunks *run_chunks_new(RunPlay *play, guint32 communicator, const CollCall *call, const CollPlan *plan,
                          void (*ended)(gpointer owner), gpointer owner);
void run_chunks_free(RunChunks *chunks);
void run_chunks_forget(RunCommunicator *communicator);
/* run-memory.c */
void run_memory_begin(RunRank *rank);
void run_memory_take(RunRank *rank, guint32 tensor, const RunInstance *by);
void run_memory_give(RunRank *rank, guint32 tensor);
/* run-step.c */
RunStep *run_step_new(RunRank *rank, guint32 number);
void run_step_forget(RunRank *rank, RunStep *step);
void run_step_ended(RunStep *step);
/* run-exposure.c: fills times, causes and, if kept, exposures of a class from a step in the window [start, end). */
void run_exposure(const RunRank *rank, SimTime start, gboolean keep, RunClass *ret);
/* run-results.c */
RunReport *run_results(RunPlay *play);

static inline SimTime run_now(const RunPlay *play) {
  return event_now(play->queue);
}
static inline const ProgramSection *run_section(const RunStep *step) {
  return &step->rank->role->sections[step->section];
}
static inline guint32 run_row_index(const RunInstance *instance) {
  return (guint32)(instance - instance->step->instances);
}
