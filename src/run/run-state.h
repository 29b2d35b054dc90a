/* The state of a run in play: private to this floor.
 *
 *   RunPlay ─┬─ RunTable (one per role and section): what is the same for every rank and step
 *            ├─ RunRank (one per class of ranks) ─┬─ RunStream: the row it runs, or waits to run
 *            │                                    ├─ RunStep: starts and unmet needs of one step's rows
 *            │                                    └─ MemLedger, MemAllocator
 *            └─ RunCommunicator ─┬─ RunTransfer: a collective that its members gather for
 *                                └─ RunMove: what became of each, by sequence
 *
 * Unfolded runs have many ranks, so what each keeps per row is little: a start, and how many needs have not ended. */
#pragma once

#include "base-vector.h"
#include "mem-allocator.h"
#include "mem-ledger.h"
#include "run-play.h"

typedef struct RunPlay RunPlay;
typedef struct RunRank RunRank;
typedef struct RunStep RunStep;
typedef struct RunTransfer RunTransfer;
typedef struct RunChunks RunChunks;
typedef struct RunDurations RunDurations;

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
  SimTime *starts, *ends; /* by row; host rows have none, and collectives' ends stand in their RunMove */
  guint32 *unmet;         /* by row: needs that have not ended */
  RunCall *calls;
};

typedef struct {
  guint64 ordinal; /* of the row, on its stream, that must have ended */
  guint32 tensor, block;
} RunFree;

/* What moved memory, in its order: the host acted on a row, or a stream ended its oldest. */
typedef struct {
  SimTime at;  /* since the step's start */
  guint32 row; /* PROGRAM_NONE: the stream's end */
  guint32 stream;
} RunNote;

typedef struct {
  Event event; /* end of the compute row that runs */
  RunRank *rank;
  RunStep *step;   /* of head */
  guint32 head;    /* the row that runs or is next to run; of meaning while pending > 0 */
  guint32 pending; /* issued and not ended */
  gboolean running;
  SimTime anchor; /* since when the compute row that runs goes at the present rate */
  double left;    /* share of it that was not done then */
  guint64 issued, ended;
  BaseVector frees;    /* RunFree, by ordinal */
  guint32 frees_begun; /* of these, so many have been */
} RunStream;

/* What collectives hold of a GPU: whole numbers, so that their order changes no sum. */
typedef struct {
  guint64 channels;
  guint64 memory_rate; /* bytes/s to and from device memory */
} RunHeld;

struct RunRank {
  RunPlay *play;
  guint32 index; /* in Program.ranks */
  const ProgramRank *rank;
  const ProgramRole *role;
  RunDurations *durations; /* on its GPU beside what is settled */
  RunHeld held, settled;   /* now; and what its kernels go by: the same once the instant has settled */
  Event contention;
  Event host;      /* the end of a row's host time */
  gboolean queued; /* among RunPlay.hosts */
  RunStep *step;   /* that the host is in */
  guint32 row;     /* that it stands before */
  gboolean paid;   /* its host time has passed */
  guint32 acts;    /* of its acts on memory: gives, then so many takes, are done */
  gboolean waits;  /* for all streams, to give the cache back */
  SimTime waits_since;
  guint64 retries; /* of all steps that have ended */
  guint32 busy;    /* streams with rows that were issued and have not ended */
  RunStream *streams;
  guint32 *ended_calls;           /* by slot */
  RunStep *steps[RUN_MOST_STEPS]; /* by number; NULL: not begun, or no longer of interest */
  RunStep *spare;                 /* of the steady section, to be used again */
  RunStep *last;                  /* last step that has ended */
  SimTime before;                 /* end of the one before it */
  guint32 steps_ended;
  SimTime period[2];    /* of the last two steps */
  BaseVector notes;     /* RunNote: of this step so far */
  BaseVector layout[2]; /* guint64: where the last two steps left memory, if the rank rests */
  guint32 replayed;     /* steps of which the memory alone was played, or nothing */
  gboolean replaying;   /* one of them is being */
  SimTime noted_at;     /* of its present note; else 0 */
  gboolean rested[2];   /* at their ends nothing was under way or issued ahead */
  guint64 level[2][MEM_TENANTS];
  guint64 allocated[2], reserved[2]; /* when they ended */
  MemLedger ledger;
  MemAllocator *allocator;
  guint64 outside;     /* of the device's bytes, beside the allocator */
  guint32 *blocks;     /* by tensor; PROGRAM_NONE: it is not held */
  gboolean *connected; /* by slot: its communicator has its buffers */
  guint64 device_peak; /* most that was reserved and outside */
  guint32 device_peak_step;
  guint64 unique[MEM_TENANTS], unique_at_peak[MEM_TENANTS];
  guint32 peak_step, peak_row; /* row being issued when the peak was reached */
  SimTime peak_since_step;
  gboolean has_oom;
  RunOom oom;
  GArray *samples; /* RunMemorySample, absolute times */
};

/* What became of a collective. */
typedef struct {
  CollPlan plan;
  SimTime begun, moving, end; /* all arrived; first byte; over */
  gboolean set_out;           /* its rate is fixed */
} RunMove;

/* What a call of a communicator costs, found at the first of its kind. */
typedef struct {
  CollCall call;
  CollPlan plan;
  RunHeld takes;
} RunPlanned;

/* A collective that members gather for, then move together. */
struct RunTransfer {
  Event start; /* sets out, then moves */
  NetFlow flow;
  RunPlay *play;
  guint32 communicator, sequence, arrived;
  CollCall call;
  RunHeld takes;     /* of each member's GPU: its channels from its arrival on, bandwidth once all are there */
  RunChunks *chunks; /* step fidelity, while it plays */
  RunStream **members;
  RunTransfer *next; /* in the communicator's list */
};

typedef struct {
  const NetRoute *routes[COLL_ALGORITHMS];
  NetRoute **hops[COLL_ALGORITHMS]; /* step fidelity: by lane and connection, once used */
  RunTransfer *open;                /* gathering or moving */
  RunTransfer *spare;               /* over, to be used again */
  GArray *moves;                    /* RunMove, by sequence */
  GArray *planned;                  /* RunPlanned: of each distinct call so far */
} RunCommunicator;

struct RunPlay {
  const RunSystem *system;
  const RunOptions *options;
  const char *run_key;
  EventQueue *queue;
  NetSystem *net;
  RunRank *ranks;
  guint32 n_ranks;
  RunTable (*tables)[PROGRAM_SECTIONS]; /* by role */
  RunCommunicator *communicators;
  GHashTable *durations; /* RunDurations, each its own key */
  Event hosts_event;
  RunRank **hosts, **hosts_playing; /* that go on at this instant; room for all ranks */
  guint32 n_hosts;
  guint32 steps_ended; /* on all ranks */
  guint32 ranks_ended; /* that have ended one more */
  gboolean repeats, over;
  gboolean again;     /* memory cost time in a step that was taken to cost none: to be played with every step */
  gboolean endless;   /* something would happen beyond SimTime */
  double *link_bytes; /* at the end of the last step and the one before */
  SimTime *link_busy;
};

/* run-table.c */
void run_table_init(RunTable *table, const ProgramSection *section, const Program *program);
void run_table_clear(RunTable *table);
/* run-host.c */
void run_hosts_init(RunPlay *play);
void run_host_init(RunRank *rank);
void run_host_resume(RunRank *rank);
/* After each event: hosts that it woke. */
void run_hosts_due(RunPlay *play);
/* run-task.c */
void run_stream_init(RunStream *stream, RunRank *rank, guint32 index);
void run_stream_clear(RunStream *stream);
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
gboolean run_contention_computes(const RunRank *rank);
/* run-collective.c */
gboolean run_collective_may_start(const RunStep *step, guint32 row);
void run_collective_join(RunStream *stream);
const RunMove *run_collective_move(const RunStep *step, guint32 row);
void run_communicators_clear(RunPlay *play);
/* run-chunks.c: plays a planned call chunk by chunk from now on; `ended` may free them. */
RunChunks *run_chunks_new(RunPlay *play, guint32 communicator, const CollCall *call, const CollPlan *plan,
                          void (*ended)(gpointer owner), gpointer owner);
void run_chunks_free(RunChunks *chunks);
void run_chunks_forget(RunCommunicator *communicator);
/* run-memory.c */
void run_memory_begin(RunRank *rank);
void run_memory_clear(RunRank *rank);
/* NCCL's buffers of a collective's communicator: allocated with the first call. */
void run_memory_connect(RunRank *rank, const RunStep *step, guint32 row);
/* The host has come to a row: its gives, the buffers of its communicator, its takes. FALSE: the host must stop, for all
 * streams or for the device's allocator, and act again when it goes on. */
gboolean run_memory_act(RunRank *rank, RunStep *step, guint32 row);
/* Of use again once what was issued on `stream` so far has ended; NULL: at once. */
void run_memory_give(RunRank *rank, guint32 tensor, RunStream *stream);
/* So many rows of the stream have ended. */
void run_memory_pass(RunStream *stream, guint64 ended);
/* run-step.c */
RunStep *run_step_begin(RunRank *rank, guint32 number);
void run_step_ended(RunStep *step);
/* A step that later ones have replaced. */
void run_step_forget(RunRank *rank, RunStep *step);
gboolean run_step_repeats(const RunRank *rank);
/* Takes down what the allocator holds at the end of a step. */
void run_step_note_memory(RunRank *rank);
void run_steps_clear(RunRank *rank);
/* run-replay.c: steps that can differ in memory alone. Notes are taken where they may be wanted. */
void run_replay_note(RunRank *rank, guint32 row, guint32 stream);
/* Takes down where a step that ends at rest leaves memory. */
void run_replay_mark(RunRank *rank);
/* Plays their memory, once a step has ended, until it repeats or the most steps are reached. FALSE: the next must be played. */
gboolean run_replay(RunPlay *play);
/* run-copy.c: once the first step has ended at rest. Makes the first steady step the rank's last, ended at this moment, but
 * for its memory. FALSE: it must be played. */
gboolean run_copy_first(RunPlay *play);
/* run-exposure.c: fills times, causes and, if kept, exposures of a class from its last step. */
void run_exposure(const RunRank *rank, gboolean keep, RunClass *ret);
/* run-results.c */
RunReport *run_results(RunPlay *play);

/* Of several ranks each would have to rest at the same moment. */
static inline gboolean run_replay_wanted(const RunPlay *play) {
  return play->n_ranks == 1 && !play->options->every_step;
}
static inline SimTime run_now(const RunPlay *play) {
  return event_now(play->queue);
}
static inline void run_schedule(RunPlay *play, Event *event, SimTime from, SimTime after) {
  SimTime at = sim_time_add(from, after);
  if (at == SIM_TIME_NEVER)
    play->endless = TRUE;
  else
    event_schedule(play->queue, event, at);
}
static inline const ProgramRow *run_row(const RunStep *step, guint32 row) {
  return &step->table->section->rows[row];
}
static inline SimTime run_row_end(const RunStep *step, guint32 row) {
  return run_row(step, row)->kind == PROGRAM_COLLECTIVE ? run_collective_move(step, row)->end : step->ends[row];
}
