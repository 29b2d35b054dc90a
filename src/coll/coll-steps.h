/* SPDX-License-Identifier: MIT */
/* How a call is cut into chunks, in numbers alone: private to this floor.
 *
 * Channels that are alike form a lane. The data is cut into equal parts, one a channel, aligned; a part is moved loop
 * after loop, each of at most a slot-limited chunk per transfer, the last loop a smaller one (NCCL v2.30
 * src/enqueue.cc, src/device/all_reduce.h, all_gather.h, reduce_scatter.h). */
#pragma once

#include "coll-group.h"

typedef struct {
  guint32 lanes, alike; /* channels = lanes × alike */
  guint32 kinds;        /* of lanes that differ in members and links: lane i is of kind i % kinds */
  guint64 loops;        /* in all */
  guint64 chunk, last;  /* bytes of a transfer in every loop but the last, and in the last */
  guint32 steps;        /* of a ring: transfers of a connection in a loop; else 1 */
  gboolean line;        /* neither ring nor tree: chunk follows chunk through stages, */
  SimTime fill;         /* of which the first chunk takes so long before the last */
  guint32 depth; /* of a link of the schedule: chunks that a connection may hold inside a node; twice it between */
  SimTime base, intra, network; /* before the first chunk; latency of a hop */
  SimTime hidden;               /* of a hop, once a ring runs: a chunk's other slices are on their way */
  guint64 tail;                 /* bytes that the last receiver still copies out of its buffer when they have arrived */
  double rate;                  /* bytes/s of one channel, uncontended: the cap of each transfer */
} CollSteps;

/* A call without bytes has no loops. */
void coll_steps(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret);

static inline guint64 coll_steps_bytes(const CollSteps *steps, guint64 loop) {
  return loop + 1 < steps->loops ? steps->chunk : steps->last;
}
static inline SimTime coll_steps_wire(const CollSteps *steps, guint64 loop) {
  return sim_time_of_amount((double)coll_steps_bytes(steps, loop), steps->rate);
}
/* Latency of a hop in the first loop of a ring, and in those after it. */
static inline SimTime coll_steps_hop(const CollSteps *steps, gboolean network, guint64 loop) {
  SimTime hop = network ? steps->network : steps->intra;
  return loop > 0 ? MAX(hop - steps->hidden, 0) : hop;
}
