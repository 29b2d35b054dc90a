/* SPDX-License-Identifier: MIT */
/* What NCCL builds for a communicator: per pattern the channels, their speed, and the way of each through the node; and
 * how many channels the communicator has. From the machine, by NCCL's own search over its speeds.
 *
 *   CollGraphRequest request = {.gpus = {0, 1, 2, 3, 4, 5, 6, 7} …, .nodes = 2, .ranks = 16, …};
 *   g_autoptr(CollGraphs) graphs = coll_graphs_new(cluster->machine, &rules, &request, error);
 *   graphs->graph[COLL_GRAPH_RING].channels       // 8, each
 *   graphs->graph[COLL_GRAPH_RING].inter          // 48 GB/s
 *   graphs->counts.coll                           // 16: each ring serves two trees
 *
 *   ring     NIC ► GPU a ► GPU b ► … ► GPU x ► NIC      over nodes: the last GPU of a node to the first of the next
 *   tree     NIC ► GPU a ► GPU b ► … ► GPU x            the chain of a node; NIC traffic on a alone (COLL_TREE_PLAIN),
 *             ◄────┘ (or b)                             or on a, parent and a child, and b (COLL_TREE_BALANCED)
 *   nvls     NIC ► head                                 GPUs that the switch's multicast pulls from
 *
 * One search serves every node with the same GPUs, and every communicator of such nodes (coll_graph_requests_share).
 * Cost: below 1 ms for eight GPUs behind an NVSwitch; some ms on PCI trees, where steps are bounded as NCCL bounds
 * them. Rates are bytes/s of one channel; NICs are indices on the machine; GPUs are indices into the request's list.
 * Deterministic.
 *
 * Source: NCCL v2.30.7 src/graph/search.cc, connect.cc, paths.cc; figures: topologies/catalog/nccl-search.ini. */
#pragma once

#include "coll-path.h"

/* NCCL's numbers of patterns. */
typedef enum {
  COLL_TREE_BALANCED = 1,
  COLL_TREE_SPLIT = 2,
  COLL_TREE_PLAIN = 3,
  COLL_PATTERN_RING = 4,
  COLL_PATTERN_NVLS = 5,
} CollPattern;

typedef enum { COLL_GRAPH_RING, COLL_GRAPH_TREE, COLL_GRAPH_NVLS, COLL_GRAPHS } CollGraphKind;

typedef struct {
  CollPattern pattern;
  guint32 channels; /* 0: none (NVLS where there is no multicast) */
  guint32 gpus;     /* of the node that take part */
  double intra, inter;
  CollPathType type_intra, type_inter;
  guint32 cross_nic; /* 0: enters and leaves by one rail; 1: as it may; 2: pairs of channels swap theirs */
  gboolean same_channels;
  SimTime nic_latency;
  guint32 *order; /* [channels × gpus] */
  guint32 *nics;  /* [channels × 2]: in, out; one node: NULL */
} CollGraph;

typedef struct {
  const guint32 *gpus; /* of the machine, ascending */
  guint32 n_gpus;
  guint32 nodes, ranks;               /* of the whole communicator */
  guint32 min_channels, max_channels; /* NCCL_MIN_NCHANNELS, NCCL_MAX_NCHANNELS; 0: not set */
  guint32 cross_nic;                  /* NCCL_CROSS_NIC: 0, 1, 2 (default) */
  gboolean nvls;                      /* NCCL_NVLS_ENABLE */
  gboolean p2p;                       /* FALSE: NCCL_P2P_DISABLE, or a driver that refuses it */
} CollGraphRequest;

/* Channels of a communicator, that is CTAs. */
typedef struct {
  guint32 coll;              /* of rings and trees */
  guint32 nvls;              /* of multicast; 0: none */
  guint32 p2p, p2p_per_peer; /* of send and receive */
} CollCounts;

typedef struct CollGraphs {
  CollGraph graph[COLL_GRAPHS];
  CollCounts counts;
  double nic_rate;             /* of the slowest NIC; one node: 0 */
  guint64 capability;          /* compute capability */
  guint32 node_peer, net_peer; /* channels to the least of a GPU's peers in the node, over the network by NIC rate */
} CollGraphs;

/* Errors: SIM_ERROR_INPUT where several nodes have no NICs. GPUs out of order or of range are a broken contract. */
CollGraphs *coll_graphs_new(const HwMachine *machine, const CollSearchRules *rules, const CollGraphRequest *request,
                            GError **error);
void coll_graphs_free(CollGraphs *graphs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CollGraphs, coll_graphs_free)

/* Graphs depend on the GPUs, on whether there is more than one node, and on cross_nic, nvls and p2p: requests alike in
 * these share them, and only count anew. O(GPUs). */
gboolean coll_graph_requests_share(const CollGraphRequest *a, const CollGraphRequest *b);
guint coll_graph_request_hash(const CollGraphRequest *request);
/* O(1). */
void coll_graphs_count(const CollGraphs *graphs, const CollSearchRules *rules, const CollGraphRequest *request,
                       CollCounts *ret);

/* As NCCL logs it (INFO, subsystem GRAPH), `gpus` being the request's list; the second also the line of channels. Both
 * append. */
void coll_graph_describe(const CollGraph *graph, const guint32 *gpus, GString *text);
void coll_graphs_describe(const CollGraphs *graphs, const guint32 *gpus, GString *text);
