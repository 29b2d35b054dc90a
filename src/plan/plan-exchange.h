/* SPDX-License-Identifier: MIT */
/* Exchanges of a unit as rows: collectives on the communicator of their axis and a stream of its own, before and after
 * which compute waits as the unit says (model-unit.h).
 *
 *   synchronous    C ── op ─┐      ┌─ op              the next op waits
 *   tensor                  └ sum ─┘
 *
 *   asynchronous   C ── op ─┬─ op ─┬─ op              only the op that awaits it waits, or what comes after the run
 *   tensor                  └ sum ─┘
 *
 *   in pieces      C ── own ─┬ 1 ─┬ 2 ─┬ 3            before: each piece waits for a step of the ring;
 *   tensor         1st ──────┘ 2nd┘ 3rd┘              after: each step waits for a piece
 *
 * Private to this floor. */
#pragma once

#include "base-vector.h"
#include "model-unit.h"
#include "program.h"

struct PlanWalk;

typedef struct {
  struct PlanWalk *walk;
  guint32 slots[MODEL_AXES], streams[MODEL_AXES]; /* PROGRAM_NONE until the first exchange */
  GArray *waits;                                  /* own: of runs within each other, the innermost last */
  guint from;                                     /* the innermost's first */
  BaseVector pieces;                              /* guint32: rows of the last op in pieces */
  guint pieces_of;                                /* its index */
} PlanExchanges;

void plan_exchanges_init(PlanExchanges *exchanges, struct PlanWalk *walk);
void plan_exchanges_clear(PlanExchanges *exchanges);

/* Adds the rows of a unit's op that is an exchange; returns the last. `deaths`: tensors that die with it, which an
 * asynchronous one keeps until it is awaited; those of a synchronous one are the caller's to give. */
guint32 plan_exchanges_add(PlanExchanges *exchanges, const ModelOp *op, guint32 unit, ModelSet deaths);
/* Before a row of op `index`, its piece `piece` of `pieces`: compute waits for what that awaits. */
void plan_exchanges_await(PlanExchanges *exchanges, guint index, guint32 piece, guint32 pieces);
/* After it. */
void plan_exchanges_piece(PlanExchanges *exchanges, guint index, guint32 piece, guint32 row);
/* A run of ops within another one begins; what it returns belongs to plan_exchanges_return when it has ended. */
guint plan_exchanges_begin(PlanExchanges *exchanges);
/* A run has ended: compute waits for all of its own that are still under way. */
void plan_exchanges_end(PlanExchanges *exchanges);
void plan_exchanges_return(PlanExchanges *exchanges, guint outer);
