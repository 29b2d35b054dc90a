/* SPDX-License-Identifier: MIT */
/* Rings of chunks. Places stand in the order of the ring; connection p leads from place p to the next.
 *
 *   all-reduce, n = 3:    step       0   1 | 2   3        place p sends block (p − 1 − step) mod n:
 *                         place 0    2   1 | 0   2        n − 1 steps that add, then n − 1 that overwrite;
 *                         place 1    0   2 | 1   0        after the first half place p holds block p whole
 *                         place 2    1   0 | 2   1
 *
 * reduce-scatter is the first half; all-gather sends block (p − step) mod n, its own first. */
#include "coll-build.h"
#include "coll-layout.h"

static void connect_places(const CollGroup *group, CollSchedule *schedule) {
  const CollLayout *layout = group->layout;
  guint32 n = group->size;
  schedule->places = schedule->n_connections = n;
  schedule->connections = g_new(CollConnection, n);
  for (guint32 p = 0; p < n; p++)
    schedule->connections[p] =
        (CollConnection){p, (p + 1) % n, layout->nodes > 1 && p % layout->per_node == layout->per_node - 1};
  schedule->members = g_new(guint32, schedule->lanes * n);
  for (guint32 lane = 0; lane < schedule->lanes; lane++)
    for (guint32 p = 0; p < n; p++) {
      guint32 node = p / layout->per_node, local = p % layout->per_node;
      if (layout->nodes > 1)
        local = (layout->exits[schedule->rings[lane]] + 1 + local) % layout->per_node;
      schedule->members[lane * n + p] = node * layout->per_node + local;
    }
}

static void add_needs(const CollSteps *steps, CollSchedule *schedule, CollTransfer *transfer, guint64 k) {
  guint32 n = schedule->places, p = transfer->connection, before = (p + n - 1) % n;
  guint32 depth = coll_build_depth(steps, &schedule->connections[p]);
  transfer->needs = schedule->needs->len;
  if (k == 0)
    return;
  coll_build_arrival(schedule, transfer, (guint32)(k - 1) * n + before);
  gboolean full = k >= depth, forwarded = full && (k - depth) % steps->steps + 1 < steps->steps;
  if (full && !forwarded)
    coll_build_arrival(schedule, transfer, (guint32)(k - depth) * n + p);
  coll_build_end(schedule, transfer, (guint32)(k - 1) * n + p);
  if (forwarded)
    coll_build_end(schedule, transfer, (guint32)(k - depth + 1) * n + (p + 1) % n);
}

static void write_transfer(const CollCall *call, const CollSteps *steps, CollSchedule *schedule, guint64 k, guint32 p) {
  guint32 n = schedule->places, step = (guint32)(k % steps->steps);
  guint64 loop = k / steps->steps;
  gboolean all_reduce = call->operation == COLL_ALL_REDUCE, gather = call->operation == COLL_ALL_GATHER;
  guint32 owner = (p + 2 * n - (gather ? 0 : 1) - step % n) % n;
  CollTransfer *transfer = &schedule->transfers[k * n + p];
  transfer->connection = p;
  transfer->block = (guint32)loop * n + owner;
  transfer->bytes = coll_steps_bytes(steps, loop);
  transfer->hop = coll_steps_hop(steps, schedule->connections[p].network, loop);
  transfer->offset = all_reduce ? loop * n * steps->chunk + owner * transfer->bytes : loop * steps->chunk;
  transfer->reduces = !gather && step < n - 1;
  add_needs(steps, schedule, transfer, k);
}

void coll_build_ring(const CollGroup *group, const CollCall *call, const CollSteps *steps, CollSchedule *schedule) {
  guint32 n = group->size;
  guint64 times = steps->loops * steps->steps;
  connect_places(group, schedule);
  schedule->n_transfers = (guint32)times * n;
  schedule->transfers = g_new0(CollTransfer, schedule->n_transfers);
  for (guint64 k = 0; k < times; k++)
    for (guint32 p = 0; p < n; p++)
      write_transfer(call, steps, schedule, k, p);
}
