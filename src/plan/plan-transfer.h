/* SPDX-License-Identifier: MIT */
/* What goes from stage to stage: activations after a forward pass, their gradients after a backward pass, as sends and
 * receives of the ranks that hold the stages.
 *
 *   plan_transfers_receive(transfers, i);      // before pass i of the holding: compute waits for what it needs
 *   … pass i …
 *   plan_transfers_ended(transfers, i);
 *   plan_transfers_send(transfers, i);         // after it
 *
 *   separate    each way of each pair of neighbours is a communicator with a stream at each end
 *   in batches  what a rank sends to a neighbour after one pass and what it receives from it before the next are one
 *               call, where the neighbour's passes stand so too:
 *
 *                   stage s      F ─┐    ┌─ B         sends activations, receives gradients
 *                   stage s + 1  B ─┴────┴─ F         sends gradients, receives activations
 *
 *   early       separate, and what the next pass of the same kind needs is received from the end of this pass on, so
 *               that it comes in beside compute; of the first backward pass from the end of the last pass but one
 *               before it on. A send is waited for once the next one of its kind has been issued
 *
 * Otherwise a receive is issued where compute needs it. Each waits for what compute has issued before, as PyTorch's
 * process group waits for the current stream. Private to this floor. */
#pragma once

#include "plan-walk.h"

typedef struct {
  PlanWalk *walk;
  const PlanScheduleShape *shape;
  PlanHolding *const *holdings; /* by pipeline rank */
  gboolean received;            /* the next pass's, in a batch */
  guint32 *early;               /* own: by pass, the row that receives for it; PROGRAM_NONE: none */
  struct {
    guint32 row, tensor;
  } under_way[2]; /* early: sends of activations, of gradients; PROGRAM_NONE: none */
  guint32 *kept;  /* own, by chunk and place: the Program tensor of an output that is kept */
} PlanTransfers;

void plan_transfers_init(PlanTransfers *transfers, PlanWalk *walk, const PlanScheduleShape *shape,
                         PlanHolding *const *holdings);
void plan_transfers_clear(PlanTransfers *transfers);
/* A section starts with nothing under way. */
void plan_transfers_section(PlanTransfers *transfers);

void plan_transfers_receive(PlanTransfers *transfers, guint32 pass);
/* After its operations: what was kept for them goes. */
void plan_transfers_ended(PlanTransfers *transfers, guint32 pass);
void plan_transfers_send(PlanTransfers *transfers, guint32 pass);
