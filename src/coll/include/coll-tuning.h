/* SPDX-License-Identifier: MIT */
/* NCCL's tuning constants as data: topologies/catalog/nccl-2.NN.ini, every section with its source.
 *
 *   g_autofree char *path = coll_tuning_find("2.22.3", &exact, error);       // the table of 2.21: the nearest older
 *   CollTuning tuning;
 *   if (!coll_tuning_load(path, "hopper", &tuning, NULL, error)) return FALSE;
 *   tuning.hop[COLL_RING][COLL_HOP_NET][COLL_SIMPLE];      // 14 us
 *
 * A table may be based on another and hold only what differs. Architecture rows are picked at loading. Errors:
 * SIM_ERROR_INPUT with file and key; an architecture without rows. */
#pragma once

#include "base-quantity.h"
#include "coll-regions.h"

typedef enum {
  COLL_RING,
  COLL_TREE,
  COLL_NVLS,      /* in NVSwitch */
  COLL_NVLS_TREE, /* in NVSwitch, and a tree over nodes */
  COLL_COLLNET_DIRECT,
  COLL_COLLNET_CHAIN, /* in the network's switches */
  COLL_PAT,           /* rounds of doubling distance */
  COLL_SYMMETRIC,     /* in one node, on registered buffers: GPUs read and write each other's */
  COLL_P2P,           /* sends and receives: each to the next, */
  COLL_P2P_ALL,       /* each to all */
  COLL_ALGORITHMS
} CollAlgorithm;
extern const char *const coll_algorithm_names[]; /* "ring", "tree", "nvls", "nvls-tree", … */

typedef enum { COLL_LL, COLL_LL128, COLL_SIMPLE, COLL_PROTOCOLS } CollProtocol;
extern const char *const coll_protocol_names[]; /* "LL", "LL128", "Simple" */

typedef enum { COLL_HOP_NVLINK, COLL_HOP_PCI, COLL_HOP_NET, COLL_HOPS } CollHop;

typedef enum { COLL_ONE_NODE, COLL_TWO_NODES, COLL_MORE_NODES, COLL_SPANS } CollSpan;
typedef enum { COLL_CPU_INTEL, COLL_CPU_AMD, COLL_CPUS } CollCpu;

#define COLL_CORRECTIONS 23 /* of calls of 64 bytes, 128, … */

/* Rows of the double binary tree. */
typedef struct {
  double share, ll_share, ll128_share_one_node, ll128_share;     /* of the bandwidth of all channels; of a tree's */
  double plain_share;                                            /* where no balanced tree was found */
  double channel_cap[COLL_SPANS], ll128_channel_cap[COLL_SPANS]; /* bytes/s per channel */
  double correction[COLL_PROTOCOLS][COLL_CORRECTIONS];           /* of the bandwidth, for the tuner's choice */
  guint64 simple_cut[3], ll128_cut[2];                           /* when chunks are halved */
  guint64 lines[COLL_PROTOCOLS]; /* bytes that are passed on at once, chunk or not; Simple: 0 */
} CollTreeTuning;

typedef enum { COLL_NVLS_EFFICIENCY, COLL_NVLS_LEAST } CollNvlsModel;

typedef struct {
  int model;                       /* CollNvlsModel */
  double efficiency;               /* of what the search gives; an architecture without NVLS: 0 */
  double least_share;              /* of all heads' bandwidth, in COLL_NVLS_LEAST */
  double achieved;                 /* of a ring's rate on the links, what heads really get */
  gboolean gather_peers;           /* a gather takes (GPUs of a node − 1) / GPUs of a node of it */
  double gather_inter_share;       /* of a gather between nodes */
  double tree_inter[COLL_SPANS];   /* of a NIC's rate, by span; one node: 0 */
  double tree_channel[COLL_SPANS]; /* ceiling per channel, bytes/s; one node: 0 */
  guint64 chunk, tree_chunk_more_nodes;
  guint64 below[3],
      tree_below[4]; /* chunks of all channels and heads under which it is cut to 64, 32, 16 KiB; to 256 down to 32 */
} CollNvlsTuning;

/* How many channels and threads a call gets. */
typedef struct {
  guint64 ring[COLL_PROTOCOLS], tree[COLL_PROTOCOLS], ring_simple_narrow;
  double narrow;                 /* bytes/s of all channels in a node up to which a ring in Simple is narrow */
  guint64 bytes[COLL_PROTOCOLS]; /* per thread */
  guint64 least_traffic, ll_traffic;
} CollThreadTuning;

/* What a ring really takes once and per step inside a node. */
typedef struct {
  SimTime base[COLL_PROTOCOLS], hop[COLL_PROTOCOLS];
} CollLatency;

/* What sends and receives inside a node take: once, and for each further peer of a group of them. */
typedef struct {
  SimTime base[COLL_PROTOCOLS], peer;
} CollPeerTuning;

typedef struct {
  CollPeerTuning p2p[COLL_HOP_NET];   /* over NVLink, over PCIe */
  SimTime p2p_net_peer;               /* for each further peer over the network: its proxy's work */
  double p2p_net_rate;                /* bytes/s of one connection to a peer over the network */
  guint64 p2p_net_channels;           /* that the connections of all ranks must fit into */
  CollLatency measured[COLL_HOP_NET]; /* over NVLink, over PCIe: of times; the tables below are of the tuner's choice */
  SimTime base[COLL_ALGORITHMS][COLL_PROTOCOLS];
  SimTime hop[COLL_ALGORITHMS][COLL_HOPS][COLL_PROTOCOLS];
  SimTime overhead[COLL_CPUS];             /* least intra-node step over several nodes; three times in Simple */
  double all_reduce_penalty;               /* latency factor of a Simple all-reduce over several nodes */
  double ll_share, ll_share_reducing;      /* of the Simple bandwidth; where the call reduces or has several nodes */
  double ll128_share, ll128_share_one_gpu; /* the latter where every node has one GPU */
  double ll_cap[COLL_SPANS][COLL_CPUS];    /* bytes/s over all channels */
  guint64 ll_channels;                     /* with which one node reaches its cap */
  double ll128_channel_cap;                /* bytes/s per channel */
  SimTime collnet_peer, pat_rank;          /* latency of a further GPU of a node; of each rank */
  double collnet_direct_share, collnet_gather_share;
  gboolean pat_available, symmetric_available;
  SimTime symmetric_base;
  double pat_share, pat_round_share;
  guint64 receive_bytes, send_bytes;           /* device memory per channel and connection */
  guint64 page_bytes;                          /* in which a connection's memory is handed out */
  gboolean connects_at_start;                  /* rings, trees and heads at once, used or not; else as they are used */
  guint64 slots;                               /* of a connection's buffer */
  guint64 slot_bytes[COLL_PROTOCOLS];          /* of data in a slot */
  guint64 ring_chunk[COLL_PROTOCOLS];          /* slots of a chunk */
  guint64 slices;                              /* of a ring's chunk in Simple */
  double last_receive, p2p_share;              /* time of a send that a loop's last receive takes; of a ring's rate */
  guint64 p2p_chunk_nvlink, p2p_chunk, p2p_ll; /* bytes */
  guint64 align;                               /* bytes that parts and chunks are multiples of */
  CollTreeTuning tree;
  CollNvlsTuning nvls;
  CollThreadTuning threads;
  CollRegions regions; /* of tuners that plugins bring; empty until a library loads them */
} CollTuning;

/* Path of the table of `version` ("2.21", "2.21.5"), or of the nearest older that is shipped: *ret_exact. NULL: of the
 * newest. Older than all: SIM_ERROR_INPUT. Caller frees. */
char *coll_tuning_find(const char *version, gboolean *ret_exact, GError **error);
/* `table`: a path or a bare name. *ret_text (may be NULL): the files it is made of, the oldest first, as they stand.
 * Cost: each file is read once. */
gboolean coll_tuning_load(const char *table, const char *architecture, CollTuning *ret, GBytes **ret_text,
                          GError **error);
