/* SPDX-License-Identifier: MIT */
/* The [nccl] keys of a workload: what people set in NCCL's environment, by the same names.
 *
 *   CollKnobs knobs;
 *   if (!coll_knobs_load(settings, &knobs, error)) return FALSE;    // SIM_ERROR_INPUT at the key
 *   … coll_group_new(cluster, &tuning, &knobs, ranks, n, error) …
 *   coll_knobs_clear(&knobs);
 *
 * `algo` and `proto` are lists as NCCL reads them: "ring,tree", "^nvls", and by call since 2.24:
 * "allreduce:tree;allgather:ring". */
#pragma once

#include "coll-call.h"
#include "coll-tuning.h"

struct ConfSettings;
struct ConfSchema;

typedef struct {
  char *version; /* NULL: the newest table */
  guint64 min_channels, max_channels;
  gboolean nvls_enable, p2p_disable, collnet_enable, registration, cuda_graph, tuner_plugin;
  guint64 cross_nic, gpus_per_process;
  double buffer_bytes;                                             /* of Simple; 0: NCCL's own */
  double nvls_chunk, nvls_tree_chunk;                              /* of heads; 0: the platform's, or NCCL's own */
  guint32 algorithms[COLL_OPERATIONS], protocols[COLL_OPERATIONS]; /* masks of those allowed */
  gboolean algorithms_given[COLL_OPERATIONS], protocols_given[COLL_OPERATIONS];
  char *algo, *proto; /* as written; NULL: not set */
} CollKnobs;

extern const struct ConfSchema coll_knobs_schema;
/* The knobs of a workload that sets none. */
void coll_knobs_init(CollKnobs *ret);
gboolean coll_knobs_load(const struct ConfSettings *settings, CollKnobs *ret, GError **error);
void coll_knobs_clear(CollKnobs *knobs);
