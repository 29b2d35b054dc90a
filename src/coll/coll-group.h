/* A communicator on a cluster: its rings over nodes and rails, and what each call costs on them.
 *
 *   CollGroup *group = coll_group_new(cluster, tuning, ranks, n, error);
 *   CollPlan plan;
 *   coll_plan(group, &call, &plan);      // algorithm, protocol, channels, latency, volume, cap
 *
 * A call in flow fidelity is one latency, then one flow of `volume` bytes per ring (or tree) along the route of its
 * algorithm:
 *
 *   node 0: g0─►g1─►…─►g7 ═NIC═► node 1: g8─►…─►g15 ═NIC═► back
 *
 * with one ring per NIC, ring c leaving the node by rail c: so the way into NVSwitch of a GPU carries (rings − those that leave the node at it) × a ring's rate, and a NIC the
 * rings that cross at it: integer coefficients. Source of latencies and rates: topologies/catalog/nccl-2.30.ini. */
#pragma once

#include "base-quantity.h"
#include "coll-call.h"
#include "coll-tuning.h"
#include "hw-cluster.h"

struct CollLayout; /* private to this floor */

/* Links that the rings load when each goes at rate 1, with integer coefficients. */
typedef struct {
  guint32 *links;
  guint32 *coefficients;
  guint32 n;
} CollRoute;

typedef struct {
  guint32 size;       /* ranks */
  guint32 nodes;      /* that hold any of them */
  guint32 per_node;   /* ranks in each of those */
  guint32 rings;      /* that the search found: the route's unit is one of them */
  guint32 channels;   /* what they are doubled into: SMs that a call takes */
  double ring_rate;   /* bytes/s of one ring, uncontended, protocol Simple */
  double tree_rate;   /* of one of a ring's two trees, where the links limit it */
  double node_rate;   /* of one ring, were there nothing but the node's own links */
  guint32 tree_depth; /* hops over the network from the root */
  CollHop intra;      /* kind of a hop inside the node */
  CollCpu cpu;
  CollRoute route;      /* of the rings */
  CollRoute tree_route; /* of the trees, two to a ring */
  guint64 buffer_bytes; /* device memory that NCCL holds per rank for this communicator */
  SimTime nic_latency, launch_floor;
  CollTuning tuning;
  struct CollLayout *layout; /* who sits where; shared by copies */
} CollGroup;

typedef struct {
  CollAlgorithm algorithm;
  CollProtocol protocol;
  guint32 channels;
  SimTime latency;                /* before the flow: time of the uncontended chunk pipeline less that of the bytes */
  SimTime base;                   /* of it, what passes before the first chunk moves */
  double volume;                  /* bytes that each ring, or tree, moves past each of its points */
  double cap;                     /* bytes/s of one ring, or tree */
  guint64 sent_intra, sent_inter; /* bytes per rank, on average over ranks: inside the node, between nodes */
} CollPlan;

/* `ranks` ascending, as many in each node that holds any: else SIM_ERROR_INPUT. Ranks and tuning are copied, the
 * cluster must outlive the group. Cost: O(ranks × rings). */
CollGroup *coll_group_new(const HwCluster *cluster, const CollTuning *tuning, const guint32 *ranks, guint32 n,
                          GError **error);
/* The same group over other routes, which it takes: its schedules still name the cluster's own links. */
CollGroup *coll_group_rerouted(const CollGroup *group, const CollRoute routes[COLL_ALGORITHMS]);
void coll_group_free(CollGroup *group);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CollGroup, coll_group_free)

/* Algorithm and protocol by the least time that NCCL's tuner promises (v2.30 tuning.cc); times are those of the chunk
 * pipeline (coll-pipeline.h). O(1). */
void coll_plan(const CollGroup *group, const CollCall *call, CollPlan *ret);
/* The same with the algorithm given; a tree only reduces to all. */
void coll_plan_forced(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm, CollPlan *ret);
static inline const CollRoute *coll_group_route(const CollGroup *group, CollAlgorithm algorithm) {
  return algorithm == COLL_RING ? &group->route : &group->tree_route;
}
/* nccl-tests' bus bandwidth of a call that took `time`. */
double coll_bus_bandwidth(const CollGroup *group, const CollCall *call, SimTime time);
