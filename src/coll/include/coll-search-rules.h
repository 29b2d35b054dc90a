/* SPDX-License-Identifier: MIT */
/* What NCCL's graph search goes by, as data: topologies/catalog/nccl-search.ini, for one version of NCCL.
 *
 *   CollSearchRules rules;
 *   if (!coll_search_rules_load("2.30", &rules, error)) return FALSE;
 *   rules.nvlink[COLL_NVLINK_HOPPER];          // 20 600 000 000 bytes/s
 *
 * Rates are whole bytes/s, so that budgets are counted down without rounding. Errors: SIM_ERROR_INPUT with file and
 * key; a version before the first of the file. No ownership: nothing to free. */
#pragma once

#include <glib.h>

typedef enum {
  COLL_NVLINK_VOLTA,
  COLL_NVLINK_AMPERE,
  COLL_NVLINK_AMPERE_86,
  COLL_NVLINK_HOPPER,
  COLL_NVLINK_BLACKWELL,
  COLL_NVLINKS
} CollNvlink;

typedef enum {
  COLL_SOCKETS_BROADWELL,
  COLL_SOCKETS_SKYLAKE,
  COLL_SOCKETS_SPR,
  COLL_SOCKETS_EMR,
  COLL_SOCKETS_AMD,
  COLL_SOCKETS_ARM,
  COLL_SOCKETS_POWER,
  COLL_SOCKET_KINDS
} CollSockets;

#define COLL_PCIE_GENERATIONS 7
#define COLL_LADDER_STEPS     32

typedef enum { COLL_LADDER_EARLY, COLL_LADDER_HOPPER, COLL_LADDER_BLACKWELL, COLL_LADDERS } CollLadderKind;

typedef struct {
  gint64 speeds[COLL_LADDER_STEPS]; /* descending */
  guint n;
} CollLadder;

typedef struct {
  gint64 nvlink[COLL_NVLINKS], pcie[COLL_PCIE_GENERATIONS], local, sockets[COLL_SOCKET_KINDS];
  double intel_peer_cost, volta_reverse_share;
  CollLadder ladders[COLL_LADDERS][2]; /* [1]: over nodes */
  gint64 steps, steps_alike, steps_pci_order, steps_all;
  gint64 nic_unit;
  double lower_share, raise_share;
  gint64 halve_speed, halve_speed_late, fallback;
  guint32 halve_channels_late, most_channels, most_heads;
  guint32 doubled, more_below;
  gint64 more_speed;
  guint32 nvls_hopper, nvls_blackwell_one_node, nvls_blackwell_nodes, nvls_blackwell_fast, nvls_gpus,
      nvls_blackwell_few_gpus;
  gint64 nvls_blackwell_nic, nvls_blackwell_nic_fast;
  guint32 p2p_per_nvlink, p2p_node, p2p_net, p2p_operations;
  gint64 p2p_net_rate; /* 0: not by rate */
  guint32 release;     /* as base_version_parse has it, whose rules these are */
} CollSearchRules;

/* "2.30", "2.30.7". Cost: the size of the file. */
gboolean coll_search_rules_load(const char *version, CollSearchRules *ret, GError **error);
