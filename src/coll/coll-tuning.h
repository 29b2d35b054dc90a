/* NCCL's tuning constants as data: topologies/catalog/nccl-2.30.ini, every section with its source.
 *
 *   CollTuning tuning;
 *   if (!coll_tuning_load("nccl-2.30", "hopper", &tuning, error)) return FALSE;
 *   tuning.ring_hop[COLL_HOP_NET][COLL_SIMPLE];      // 14 us
 *
 * Architecture rows are picked at loading. Errors: SIM_ERROR_INPUT with file and key; an architecture without rows. */
#pragma once

#include "base-quantity.h"

typedef enum { COLL_RING, COLL_ALGORITHMS } CollAlgorithm;
extern const char *const coll_algorithm_names[]; /* "ring" */

typedef enum { COLL_LL, COLL_LL128, COLL_SIMPLE, COLL_PROTOCOLS } CollProtocol;
extern const char *const coll_protocol_names[]; /* "LL", "LL128", "Simple" */

typedef enum { COLL_HOP_NVLINK, COLL_HOP_PCI, COLL_HOP_NET, COLL_HOPS } CollHop;

typedef enum { COLL_ONE_NODE, COLL_TWO_NODES, COLL_MORE_NODES, COLL_SPANS } CollSpan;
typedef enum { COLL_CPU_INTEL, COLL_CPU_AMD, COLL_CPUS } CollCpu;

typedef struct {
  SimTime ring_base[COLL_PROTOCOLS];
  SimTime ring_hop[COLL_HOPS][COLL_PROTOCOLS];
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
} CollTuning;

gboolean coll_tuning_load(const char *version, const char *architecture, CollTuning *ret, GError **error);
