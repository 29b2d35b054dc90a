/* NCCL's tuning constants as data: topologies/catalog/nccl-2.30.ini, every section with its source.
 *
 *   CollTuning tuning;
 *   if (!coll_tuning_load("nccl-2.30", "hopper", &tuning, error)) return FALSE;
 *   tuning.hop[COLL_RING][COLL_HOP_NET][COLL_SIMPLE];      // 14 us
 *
 * Architecture rows are picked at loading. Errors: SIM_ERROR_INPUT with file and key; an architecture without rows. */
#pragma once

#include "base-quantity.h"

typedef enum { COLL_RING, COLL_TREE, COLL_ALGORITHMS } CollAlgorithm;
extern const char *const coll_algorithm_names[]; /* "ring", "tree" */

typedef enum { COLL_LL, COLL_LL128, COLL_SIMPLE, COLL_PROTOCOLS } CollProtocol;
extern const char *const coll_protocol_names[]; /* "LL", "LL128", "Simple" */

typedef enum { COLL_HOP_NVLINK, COLL_HOP_PCI, COLL_HOP_NET, COLL_HOPS } CollHop;

typedef enum { COLL_ONE_NODE, COLL_TWO_NODES, COLL_MORE_NODES, COLL_SPANS } CollSpan;
typedef enum { COLL_CPU_INTEL, COLL_CPU_AMD, COLL_CPUS } CollCpu;

#define COLL_CORRECTIONS 23 /* of calls of 64 bytes, 128, … */

/* Rows of the double binary tree. */
typedef struct {
  double share, ll_share, ll128_share_one_node, ll128_share;     /* of the bandwidth of all channels; of a tree's */
  double channel_cap[COLL_SPANS], ll128_channel_cap[COLL_SPANS]; /* bytes/s per channel */
  double correction[COLL_PROTOCOLS][COLL_CORRECTIONS];           /* of the bandwidth, for the tuner's choice */
  guint64 simple_cut[3], ll128_cut[2];                           /* when chunks are halved */
  guint64 lines[COLL_PROTOCOLS]; /* bytes that are passed on at once, chunk or not; Simple: 0 */
} CollTreeTuning;

typedef struct {
  SimTime base[COLL_ALGORITHMS][COLL_PROTOCOLS];
  SimTime hop[COLL_ALGORITHMS][COLL_HOPS][COLL_PROTOCOLS];
  SimTime overhead[COLL_CPUS];          /* least intra-node step over several nodes; three times in Simple */
  double all_reduce_penalty;            /* latency factor of a Simple all-reduce over several nodes */
  double ll_share, ll128_share;         /* of the Simple bandwidth */
  double ll_cap[COLL_SPANS][COLL_CPUS]; /* bytes/s over all channels */
  double ll128_channel_cap;             /* bytes/s per channel */
  guint64 nvswitch_rings, pcie_rings;   /* in one node */
  guint64 doubled, most_channels;       /* channels per ring; limit */
  guint64 receive_bytes, send_bytes;    /* device memory per channel and connection */
  guint64 slots;                        /* of a connection's buffer */
  guint64 slot_bytes[COLL_PROTOCOLS];   /* of data in a slot */
  guint64 ring_chunk[COLL_PROTOCOLS];   /* slots of a chunk */
  guint64 align;                        /* bytes that parts and chunks are multiples of */
  CollTreeTuning tree;
} CollTuning;

gboolean coll_tuning_load(const char *version, const char *architecture, CollTuning *ret, GError **error);
