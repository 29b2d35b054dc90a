/* SPDX-License-Identifier: MIT */
/* A communicator on a cluster: its rings over nodes and rails, and what each call costs on them.
 *
 *   CollGroup *group = coll_group_new(library, ranks, n, error);
 *   coll_group_prepare(group, &call);
 *   CollPlan plan;
 *   coll_plan(group, &call, &plan);      // algorithm, protocol, channels, latency, volume, cap
 *
 * A call in flow fidelity is one latency, then one flow of `volume` bytes per ring (or tree) along the route of its
 * algorithm:
 *
 *   node 0: g0─►g1─►…─►g7 ═NIC═► node 1: g8─►…─►g15 ═NIC═► back
 *
 * with the rings that the search found, each leaving the node by its own rail: so the way into NVSwitch of a GPU
 * carries (rings − those that leave the node at it) × a ring's rate, and a NIC the rings that cross at it: integer
 * coefficients. Source of latencies and rates: topologies/catalog/nccl-2.30.ini. */
#pragma once

#include "base-quantity.h"
#include "coll-call.h"
#include "coll-knobs.h"
#include "coll-tuning.h"
#include "hw-cluster.h"

struct CollLayout;  /* private to this floor */
struct CollLibrary; /* coll-library.h */

/* Links that the rings load when each goes at rate 1, with integer coefficients. */
typedef struct {
  guint32 *links;
  guint32 *coefficients;
  guint32 n;
} CollRoute;

/* What the search found for one shape of channels: its speeds are of NCCL's ladder and serve its choice alone. */
typedef struct {
  guint32 channels;    /* 0: the shape cannot be had here */
  double intra, inter; /* bytes/s of a channel inside a node and between nodes */
  gboolean nvlink;     /* inside a node no path leaves NVLink */
  gboolean ll128;      /* stores of 128 bytes arrive whole on every path */
  gboolean plain_tree; /* a tree whose node links all sit at one GPU */
  gboolean same;       /* all channels take the same way through the node */
} CollSearchResult;
typedef enum {
  COLL_SEARCHED_RING,
  COLL_SEARCHED_TREE,
  COLL_SEARCHED_NVLS,
  COLL_SEARCHED_COLLNET,
  COLL_SEARCHED_KINDS
} CollSearchKind;

typedef struct CollGroup {
  guint32 size;     /* ranks */
  guint32 nodes;    /* that hold any of them */
  guint32 per_node; /* ranks in each of those */
  CollSearchResult found[COLL_SEARCHED_KINDS];
  guint32 rings;                                 /* of the ring and tree routes */
  guint32 channels, nvls_channels, p2p_channels; /* SMs that a call takes at most */
  guint32 net_connections;                       /* of sends to one peer over the network */
  guint32 connected;                             /* mask of the algorithms that have their routes */
  guint32 held;                                  /* of those that have their buffers */
  guint32 quiet;                                 /* of the connected those that scalars alone run: they load no link */
  guint64 buffer_bytes;                          /* device memory that these hold per rank */
  CollRoute routes[COLL_ALGORITHMS];             /* of all units; empty until connected */
  guint32 units[COLL_ALGORITHMS]; /* that share a call's bytes: rings, trees (two to a ring), heads … */
  double rates[COLL_ALGORITHMS];  /* bytes/s of one unit that the links allow, uncontended, protocol Simple */
  double node_rate;               /* bytes/s of one ring, were there nothing but the node's own links */
  double wired, wired_next; /* where NVLinks join pairs: share of a GPU's that lead to members, to the next one alone */
  double switch_rate;       /* bytes/s of one NVLS tree or head inside the node alone */
  double nic_rate;          /* bytes/s of all the node's NICs in use */
  double p2p_cap;           /* with P2P disabled: bytes/s of one ring through host memory; else G_MAXDOUBLE */
  guint32 tree_depth;       /* hops over the network from the root */
  CollHop intra;            /* kind of a hop inside the node */
  CollCpu cpu;
  SimTime nic_latency, hop_latency, launch_floor;
  double network_latency;    /* factor of what a hop between nodes takes */
  SimTime peer, short_peer;  /* grouped sends over the network: for each further peer, and where less than … */
  guint64 short_bytes;       /* … go to each */
  gboolean flushes;          /* a Simple step over the network waits until what arrived is seen: up to Ampere */
  CollTuning *tuning;        /* the library's (g_rc_box) */
  const char *platform;      /* the cluster's, by which a plugin's tuner is found */
  CollKnobs knobs;           /* without its texts */
  struct CollLayout *layout; /* who sits where; shared by copies */
} CollGroup;

typedef struct {
  CollAlgorithm algorithm;
  CollProtocol protocol;
  guint32 channels;
  SimTime latency;                /* before the flow: time of the uncontended chunk pipeline less that of the bytes */
  SimTime base;                   /* of it, what passes before the first chunk moves */
  double volume;                  /* bytes that each unit moves past each of its points */
  double cap;                     /* bytes/s of one unit */
  guint64 sent_intra, sent_inter; /* bytes per rank, on average over ranks: inside the node, between nodes */
} CollPlan;

/* `ranks` ascending, as many in each node that holds any: else SIM_ERROR_INPUT. Ranks are copied, the library's
 * cluster must outlive the group. Cost: O(ranks × rings); of 35 000 small ones a microsecond and a kilobyte each. */
CollGroup *coll_group_new(struct CollLibrary *library, const guint32 *ranks, guint32 n, GError **error);
/* The same group over other routes, which it takes: its schedules still name the cluster's own links. */
CollGroup *coll_group_rerouted(const CollGroup *group, const CollRoute routes[COLL_ALGORITHMS]);
void coll_group_free(CollGroup *group);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CollGroup, coll_group_free)

/* Connects what a call will run, as NCCL does at its first: the route and the buffers. A plan needs it. One given by
 * name is taken to load links. */
void coll_group_prepare(CollGroup *group, const CollCall *call);
void coll_group_connect(CollGroup *group, CollAlgorithm algorithm);

/* Algorithm, protocol and channels as NCCL's tuner chooses them (coll-tuner.h); times are those of the chunk pipeline
 * (coll-pipeline.h). O(algorithms). */
void coll_plan(const CollGroup *group, const CollCall *call, CollPlan *ret);
/* The same with the algorithm given, if the group and the operation have it: else FALSE. */
gboolean coll_plan_forced(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm, CollPlan *ret);
/* With both given, whatever the tuner allows: what has no kernel is a broken contract. */
void coll_plan_as(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm, CollProtocol protocol,
                  CollPlan *ret);
/* Whether anything enabled can run the operation. */
gboolean coll_group_has(const CollGroup *group, CollOperation operation);
/* How many nodes, as the tuning tables count them. */
static inline CollSpan coll_group_span(const CollGroup *group) {
  return group->nodes == 1 ? COLL_ONE_NODE : group->nodes == 2 ? COLL_TWO_NODES : COLL_MORE_NODES;
}
/* What its calls load: nothing where they are scalars. */
static inline const CollRoute *coll_group_route(const CollGroup *group, CollAlgorithm algorithm) {
  static const CollRoute nothing = {NULL, NULL, 0};
  return group->quiet >> algorithm & 1 ? &nothing : &group->routes[algorithm];
}
/* nccl-tests' bus bandwidth of a call that took `time`. */
double coll_bus_bandwidth(const CollGroup *group, const CollCall *call, SimTime time);
