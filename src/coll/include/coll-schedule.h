/* SPDX-License-Identifier: MIT */
/* A collective as single transfers with needs, as NCCL's kernels play it. Nothing here plays.
 *
 *   g_autoptr(CollSchedule) schedule = coll_schedule_new(group, &call, &plan);
 *   for (guint32 i = 0; i < schedule->n_transfers; i++) … schedule->transfers[i] …      // needs come before
 *
 * One list of transfers between *places* serves every lane; a lane says which member sits at each place, and stands for
 * `alike` channels that do the same:
 *
 *   ring   place p ─► p+1, the k-th transfer of a connection carries block (p − 1 − step) of its loop:
 *
 *            arrival of the k-1st before ──┐
 *            end of the k-1st here ────────┼─► transfer k of connection p ─► hop ─► arrival at p+1
 *            slot: the k-depth'th forwarded┘
 *
 * A transfer moves its bytes over the links of its connection at no more than `rate`, and *ends*; it *arrives* a hop's
 * latency later. The chunk is the unit: NCCL's slices within a chunk are in the latencies, which its tuner states per
 * step, and measured calls do not hide them behind bytes (all-gather of 64 MiB on eight H100: 198 to 209 us measured;
 * 194 with every hop seen, 170 were they hidden). Sources: NCCL v2.30
 * src/device/{all_reduce,all_gather,reduce_scatter}.h. */
#pragma once

#include "coll-group.h"

typedef struct {
  guint32 from, to; /* places */
  gboolean network; /* between nodes */
} CollConnection;

typedef struct {
  guint32 connection;
  guint32 block;      /* of the channel's data: transfers of one block carry the same bytes */
  guint64 offset;     /* of the block: in the channel's part of the buffer, or of its owner's shard */
  guint64 bytes;      /* multiple of the alignment: the last block may reach past the end */
  SimTime hop;        /* from its end to its arrival */
  gboolean reduces;   /* the receiver adds it to its own; else it overwrites */
  guint32 needs;      /* first of its needs: */
  guint32 n_arrivals; /* these transfers have arrived, */
  guint32 n_ends;     /* then these have ended */
} CollTransfer;

typedef struct {
  CollTransfer *transfers; /* a need stands before who needs it */
  guint32 n_transfers;
  GArray *needs; /* guint32: indices of transfers */
  CollConnection *connections;
  guint32 n_connections, places;
  guint32 lanes, alike;      /* channels = lanes × alike */
  guint32 kinds;             /* lane i has the links of lane i % kinds, in every call of the group and algorithm */
  guint32 *members;          /* lane × places + place → member of the group */
  guint32 *rings;            /* lane → ring, whose NIC it uses */
  SimTime base, tail;        /* before the first transfer; after the last arrival, to copy it out */
  double rate;               /* bytes/s of one channel */
  struct CollLayout *layout; /* shared with the group */
} CollSchedule;

/* Whether a plan can be written out: rings and trees that reduce or gather can. */
gboolean coll_schedule_has(const CollCall *call, const CollPlan *plan);
/* Of a group of at least two, a ring or a tree (else NULL). Cost: O(transfers). */
CollSchedule *coll_schedule_new(const CollGroup *group, const CollCall *call, const CollPlan *plan);
void coll_schedule_free(CollSchedule *schedule);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CollSchedule, coll_schedule_free)

/* Links of a connection in a lane, in the cluster's numbers. Returns how many. */
#define COLL_SCHEDULE_MOST_LINKS 4
guint32 coll_schedule_links(const CollSchedule *schedule, guint32 lane, guint32 connection,
                            guint32 ret_links[COLL_SCHEDULE_MOST_LINKS]);
