/* SPDX-License-Identifier: MIT */
/* The search for channels: private to this floor.
 *
 *   CollDraft best;
 *   coll_search(system, rules, &(CollSearchTask){COLL_PATTERN_RING, 1, 32, 2}, &best);
 *
 * A draft is a set of channels at given speeds. The search tries drafts from the fastest speed down, channel by channel
 * and GPU by GPU, spending the links' rates on the way and giving them back; it keeps the best. */
#pragma once

#include "coll-graph.h"

typedef struct {
  CollPattern pattern;
  guint32 channels, min_channels, max_channels, cross_nic;
  gint64 intra, inter;
  CollPathType type_intra, type_inter;
  gboolean same; /* all channels alike */
  guint64 hops;
  gboolean ran_out; /* of all steps: slower drafts were not tried */
  SimTime latency;
  guint32 *order; /* [max_channels × gpus] */
  guint32 *nets;  /* [max_channels × 2] */
  guint32 room;   /* channels that order and nets hold */
} CollDraft;

void coll_draft_init(CollDraft *draft, const CollSystem *system, guint32 room);
void coll_draft_copy(CollDraft *draft, const CollDraft *from, guint32 gpus);
void coll_draft_clear(CollDraft *draft);

typedef struct {
  CollPattern pattern;
  guint32 min_channels, max_channels;
  guint32 cross_nic; /* what is allowed */
  gboolean plain;    /* walk on where nothing better can come, as NCCL does: the same result, later */
} CollSearchTask;

/* One search in progress. */
typedef struct {
  CollSystem *system;
  const CollSearchRules *rules;
  CollDraft draft, *best;
  guint64 *used;        /* [gpus], a bit per channel */
  GArray *stack;        /* guint32: GPUs still to try, of every step on the way */
  guint32 **nets;       /* [gpus + 1]: NICs in the order they are tried, from a GPU; the last: to begin with */
  guint32 **nets_up_to; /* [gpus + 1][types]: how many of them within a type */
  gint64 bound;         /* the most rate that a draft of these speeds can have over all channels */
  guint64 least_hops;   /* of one channel */
  gboolean settled;     /* nothing better can come */
  gboolean plain;       /* never mind that */
} CollSearch;

/* coll-search-walk.c: all drafts of the current speeds and types. *steps: left; -1: the most channels were found. */
void coll_search_walk(CollSearch *search, gint64 *steps);
/* coll-search-next.c: the GPUs to try after `gpu`, best first, pushed onto the stack; returns how many. `look`: 0: the
 * channel stays in the node, 1: the next GPU goes to a NIC, -1: a later one does. */
guint coll_search_next(CollSearch *search, guint32 gpu, gint look);
/* coll-search-bound.c: what cannot come, before and while walking. */
void coll_search_bound(CollSearch *search);
gboolean coll_search_is_settled(const CollSearch *search);
/* coll-search-nets.c: `nets` and `nets_up_to`. */
void coll_search_order_nets(CollSearch *search);
static inline guint32 coll_search_nets(const CollSearch *search, guint32 gpu) {
  return search->nets_up_to[gpu][search->draft.type_inter];
}

/* *ret is initialised here. Channels 0: none was found. */
void coll_search(CollSystem *system, const CollSearchRules *rules, const CollSearchTask *task, CollDraft *ret);
