/* SPDX-License-Identifier: MIT */
/* Collectives by themselves: what one call takes on a whole cluster, as nccl-tests would measure it.
 *
 *   g_autoptr(StudyCollective) collective = study_collective_new();
 *   study_collective_put(collective, "cluster.topology", "dgx-h100", NULL, error);
 *   study_collective_put(collective, "collective.operation", "all-reduce", NULL, error);
 *   study_collective_build(collective, error);
 *   study_collective_call(collective, 1 << 20, &call);          // call.time, call.bus_bandwidth, call.algorithm …
 *
 * All GPUs of the cluster are in one communicator. Settings: [cluster], the topology's groups, [collective] and [nccl].
 * A call alone on its links: flow fidelity, which then equals the chunk pipeline. In place and out of place are
 * predicted alike. Cost: some ms to build (the catalogue is read), microseconds a call. */
#pragma once

#include "base-error.h"
#include "study-cache.h"
#include "study-point.h"

typedef struct {
  guint64 bytes;     /* as nccl-tests counts the size of the operation, in whole elements of every rank */
  guint64 elements;  /* nccl-tests' "count" */
  const char *redop; /* "sum", "none" */
  int root;          /* -1: none */
  const char *dtype, *algorithm, *protocol;
  guint32 channels;
  SimTime time;
  double algorithm_bandwidth, bus_bandwidth; /* bytes/s */
} StudyCollectiveCall;

typedef struct StudyCollective StudyCollective;

StudyCollective *study_collective_new(void);
void study_collective_free(StudyCollective *collective);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyCollective, study_collective_free)

/* Before building. As conf_settings_put with the origin command line; `place` may be NULL. */
gboolean study_collective_put(StudyCollective *collective, const char *name, const char *value, const BasePlace *place,
                              GError **error);
gboolean study_collective_set(StudyCollective *collective, const char *assignment, GError **error);
gboolean study_collective_build(StudyCollective *collective, GError **error);

/* After building. `bytes` is rounded down to what all ranks can share evenly; FALSE: that leaves nothing. */
gboolean study_collective_call(const StudyCollective *collective, guint64 bytes, StudyCollectiveCall *ret);
guint32 study_collective_ranks(const StudyCollective *collective);
const char *study_collective_operation(const StudyCollective *collective);
const char *study_collective_dtype(const StudyCollective *collective);
const char *study_collective_topology(const StudyCollective *collective);
guint32 study_collective_nodes(const StudyCollective *collective);
const char *study_collective_gpu(const StudyCollective *collective);
/* Whose constants choose and time. */
/* The tuning table, "nccl-2.30"; caller frees. */
char *study_collective_nccl(const StudyCollective *collective);
/* What every algorithm would take, the chosen one first: appends a line each. */
/* The tuner's whole matrix, and a call's row of it. Append. */
void study_collective_explain_choice(const StudyCollective *collective, GString *text);
void study_collective_explain(const StudyCollective *collective, guint64 bytes, GString *text);

/* A point whose settings are a call (collective.bytes among them). FALSE: its reasons say why not. On any thread, each
 * with a cache of its own. Cost: without what the cache has, below a millisecond. */
gboolean study_collective_run_point(StudyPoint *point, StudyCache *cache, StudyCollectiveCall *ret);
/* The keys of [collective] and [nccl], documented. */
void study_collective_print_reference(GString *text);
