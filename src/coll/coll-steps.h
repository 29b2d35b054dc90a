/* How a call is cut into chunks, in numbers alone: private to this floor.
 *
 * Channels that are alike form a lane. The data is cut into equal parts, one a channel, aligned; a part is moved loop
 * after loop, each of at most a slot-limited chunk per transfer, the last loop a smaller one (NCCL v2.30
 * src/enqueue.cc, src/device/all_reduce.h, all_gather.h, reduce_scatter.h). */
#pragma once

#include "coll-group.h"

typedef struct {
  guint32 lanes, alike; /* channels = lanes × alike */
  guint64 loops;        /* in all */
  guint64 chunk, last;  /* bytes of a transfer in every loop but the last, and in the last */
  guint32 steps;        /* of a ring: transfers of a connection in a loop; of a tree: 1 */
  guint32 depth; /* of a link of the schedule: chunks that a connection may hold inside a node; twice it between */
  SimTime base, intra, network; /* before the first chunk; latency of a hop */
  double rate;                  /* bytes/s of one channel, uncontended: the cap of each transfer */
} CollSteps;

/* `cap`: bytes/s of one ring. A call without bytes has no loops. */
void coll_steps_ring(const CollGroup *group, const CollCall *call, CollProtocol protocol, double cap, CollSteps *ret);
/* `cap`: bytes/s of one tree. */
void coll_steps_tree(const CollGroup *group, const CollCall *call, CollProtocol protocol, double cap, CollSteps *ret);
void coll_steps(const CollGroup *group, const CollCall *call, const CollPlan *plan, CollSteps *ret);

static inline guint64 coll_steps_bytes(const CollSteps *steps, guint64 loop) {
  return loop + 1 < steps->loops ? steps->chunk : steps->last;
}
