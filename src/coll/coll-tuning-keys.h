/* The keys of a tuning file and the struct that they fill: private to this floor. Rows by architecture stand side by side
 * here; coll-tuning.c picks those of one. */
#pragma once

#include "coll-tuning.h"
#include "conf-schema.h"

/* Rows by architecture, in this order. */
enum { COLL_VOLTA, COLL_AMPERE, COLL_HOPPER, COLL_BLACKWELL, COLL_ROWS };

/* Seconds. */
typedef struct {
  double base[COLL_PROTOCOLS], hop[COLL_PROTOCOLS];
} CollTuningLatency;

typedef struct {
  double base[COLL_PROTOCOLS], peer;
} CollTuningPeers;

typedef struct {
  CollTuningPeers p2p_peers[COLL_ROWS + 1]; /* the last: over PCIe */
  double p2p_net_peer, p2p_net_rate;
  guint64 p2p_net_channels;
  CollTuningLatency measured[COLL_ROWS + 1]; /* the last: over PCIe */
  double base[COLL_ALGORITHMS][COLL_PROTOCOLS], hop[COLL_ALGORITHMS][COLL_HOPS][COLL_PROTOCOLS];
  double overhead_intel, overhead_amd, penalty, penalty_volta;
  double ll_share, ll_reducing, ll128_share, ll128_one_gpu, ll_one_node[COLL_ROWS], ll_two[COLL_CPUS],
      ll_more[COLL_CPUS], ll128_channel[COLL_ROWS];
  guint64 ll_channels;
  double receive, send;
  double slot[COLL_PROTOCOLS], align;
  guint64 slots, ring_chunk[COLL_PROTOCOLS], slices;
  double p2p_nvlink, p2p, p2p_ll, last_receive, p2p_share;
  CollNvlsTuning nvls; /* efficiencies, ceilings and chunks apart: */
  double nvls_efficiency[COLL_ROWS], nvls_achieved[COLL_ROWS], nvls_tree[COLL_SPANS][COLL_ROWS], nvls_chunk,
      nvls_tree_chunk;
  double collnet_peer, collnet_share_hopper, collnet_gather, pat_share, pat_round, pat_rank;
  gboolean pat_available, symmetric_available;
  double symmetric_hopper, symmetric_blackwell;
  CollThreadTuning threads; /* traffic apart: */
  double least_traffic;
  CollTreeTuning tree; /* caps and corrections apart: */
  double tree_channel[COLL_SPANS][COLL_ROWS], tree_ll128[COLL_SPANS][COLL_ROWS];
  double lines[COLL_SIMPLE];
  char *correction[COLL_PROTOCOLS];
} CollTuningFile;

typedef struct {
  CollTuningFile file; /* first: its offsets are those of the document */
  char *source, *based_on;
  int trust;
} CollTuningDocument;

extern const ConfSchema coll_tuning_schema; /* of CollTuningDocument */
