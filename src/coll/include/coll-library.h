/* SPDX-License-Identifier: MIT */
/* NCCL as it is set up on a machine: the tables of a version, the knobs, and the graphs that were searched so far.
 *
 *   g_autoptr(CollLibrary) library = coll_library_new(cluster, &knobs, error);
 *   g_autoptr(CollGroup) group = coll_group_new(library, ranks, n, error);      // the library must outlive its groups
 *
 * Nodes with the same GPUs in a communicator share a search, so thousands of communicators cost few. Errors:
 * SIM_ERROR_INPUT: a version without tables, an architecture without rows. Not for several threads at once. */
#pragma once

#include "coll-graph.h"
#include "coll-knobs.h"
#include "coll-search-rules.h"
#include "coll-tuning.h"
#include "hw-cluster.h"

typedef struct CollLibrary {
  const HwCluster *cluster; /* borrowed */
  CollTuning *tuning;       /* its groups hold it too (g_rc_box) */
  CollSearchRules rules;
  CollKnobs knobs;             /* without its texts */
  char *table;                 /* path of the tuning table */
  GBytes *text;                /* of its files */
  guint64 plain_receive_bytes; /* of a connection, and: */
  guint64 plain_slot_bytes;    /* of Simple, before any buffer size that the knobs give */
  guint64 plain_chunk;         /* of heads, and: */
  guint64 plain_tree_chunk;    /* in trees over four nodes and more, before the platform and the knobs */
  gboolean exact;              /* it is that of the version that [nccl] names, or none is named */
  GHashTable *graphs;          /* private: of CollGraphs by what requests share */
} CollLibrary;

CollLibrary *coll_library_new(const HwCluster *cluster, const CollKnobs *knobs, GError **error);
/* The same with the tables of another, which must be of the same version and architecture: nothing is read. */
CollLibrary *coll_library_new_like(const CollLibrary *other, const HwCluster *cluster, const CollKnobs *knobs);
/* From now on what either searches serves both, if their tables, releases and machines are equal; FALSE: they are
 * not. */
gboolean coll_library_share(CollLibrary *library, const CollLibrary *other);
void coll_library_free(CollLibrary *library);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CollLibrary, coll_library_free)

struct CollGroup; /* coll-group.h */
/* What was searched for a communicator, as NCCL logs it. Appends. */
void coll_library_describe(CollLibrary *library, const struct CollGroup *group, GString *text);

/* Borrowed. The request's version and knobs are the library's. */
const CollGraphs *coll_library_graphs(CollLibrary *library, const CollGraphRequest *request, GError **error);
