/* SPDX-License-Identifier: MIT */
/* Communicators and the collectives that their members gather for: private to this floor.
 *
 *   RunCommunicator ─┬─ RunTransfer: a collective that its members gather for
 *                    └─ RunMove: what became of each, by sequence */
#pragma once

#include "net-system.h"
#include "run-device.h"

typedef struct RunTransfer RunTransfer;
typedef struct RunChunks RunChunks;

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

gboolean run_collective_may_start(const RunStep *step, guint32 row);
void run_collective_join(RunStream *stream);
const RunMove *run_collective_move(const RunStep *step, guint32 row);
void run_communicators_clear(RunPlay *play);
/* run-chunks.c: plays a planned call chunk by chunk from now on; `ended` may free them. */
RunChunks *run_chunks_new(RunPlay *play, guint32 communicator, const CollCall *call, const CollPlan *plan,
                          void (*ended)(gpointer owner), gpointer owner);
void run_chunks_free(RunChunks *chunks);
void run_chunks_forget(RunCommunicator *communicator);

static inline SimTime run_row_end(const RunStep *step, guint32 row) {
  return run_row(step, row)->kind == PROGRAM_COLLECTIVE ? run_collective_move(step, row)->end
                                                        : *run_row_own_end(step, row);
}
