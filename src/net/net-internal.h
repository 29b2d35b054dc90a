/* SPDX-License-Identifier: MIT */
/* What the parts of the network share: the system itself, routes, and what a solver does to a flow. */
#pragma once

#include "net-heap.h"
#include "net-ladder.h"

typedef struct {
  guint32 link, coefficient;
} NetHop;

struct NetRoute {
  guint32 n;
  NetHop hops[];
};

/* What a sweep knows of a flow. */
typedef enum {
  NET_FATE_SAME,     /* met on no changed link: it keeps its level */
  NET_FATE_EXPECTED, /* met on one: stops where it did before, if what stopped it there still does */
  NET_FATE_LATE,     /* it stopped at the present level before, and will not now */
  NET_FATE_FREE,     /* rises until a changed link fills, or to its cap */
  NET_FATE_STOPS,    /* at the present level */
  NET_FATE_STOPPED,
} NetFate;

/* The lazy solver's room. Every list and heap has room for all links, or all entries. */
typedef struct {
  /* Within a sweep. */
  guint8 *fates;  /* NetFate, by entry */
  guint32 *met;   /* entries whose fate is another than SAME */
  NetHeap shares; /* of changed links, by the level at which they fill */
  NetHeap filled; /* of links that stopped flows before, by the level at which they did */
  NetHeap caps;   /* of flows, by the level of the cap that stops them */
  /* Within a level. */
  guint32 *stops, *late; /* entries */
  guint32 *dirty;        /* links whose ladder is not closed */
  /* Within a settle. */
  guint32 *full;          /* loose links that are overfull */
  guint32 *visited;       /* tight links that were dirty */
  GArray *changed;        /* guint32: entries that got another level, in whichever sweep */
  guint64 *stage, *visit; /* by link: the last level at which it was dirty, the last settle that visited it */
  guint64 n_stages, n_visits;
  guint32 n_met, n_stops, n_late, n_dirty, n_full, n_visited;
  guint32 entries_size; /* how many entries there is room for */
} NetRoom;

struct NetSystem {
  EventQueue *queue;
  NetSolver solver;
  Event settle;
  NetLink *links;
  guint32 n_links, links_size;
  GPtrArray *routes;
  NetEntry *entries; /* of the flows that share links */
  guint32 n_entries, entries_size;
  guint32 spare;  /* the first entry that is nobody's; n_entries where none */
  guint32 *seeds; /* links that something happened to since the last settle; room for every link */
  guint32 n_seeds;
  GArray
      *arrivals; /* guint32: entries taken since the last settle; those given back since are nobody's, or stand twice */
  NetRoom room;
  guint32 traced; /* bits of NetTracePoint */
  const BaseTrace *trace;
};

/* Gives the flow its level, and its rate: its cap where that is what stops it. Moves its anchor and its end only if the
 * rate changes. */
void net_entry_settle(NetEntry *entry, double level);
/* What the flow has carried over a link of its route so far, to the byte per member. */
guint64 net_flow_bytes_on(const NetFlow *flow, guint32 hop);
/* The settle of this instant is to be. */
void net_system_mark(NetSystem *net);
/* Something happened to the link: it is one of the seeds of that settle. */
void net_system_touch(NetSystem *net, guint32 link);

/* The two solvers. */
void net_fill_full(NetSystem *net);
void net_fill_lazy(NetSystem *net);

/* The lazy solver's sweep, from the seeds and the arrivals on. Afterwards levels of entries and ladders of tight links
 * are right if loose links limit nothing; those that would are in room.full. */
void net_sweep(NetSystem *net);
/* Lists a tight link among the visited. */
void net_room_visit(NetSystem *net, guint32 link);
void net_room_clear(NetRoom *room);

/* How much a loose link may carry. What is left is far more than the rounding of any sum: 2^30 terms lose 2^-23 at
 * most. */
static inline double net_loose_limit(const NetLink *link) {
  return link->capacity * (1 - 0x1p-20);
}

/* A flow on a loose link changes its level; `from` is infinite where it had none. */
static inline void net_loose_shift(NetSystem *net, guint32 id, double from, double to, guint64 weight) {
  NetLink *link = &net->links[id];
  link->load += (to - (from < INFINITY ? from : 0)) * (double)weight;
  if (link->load > net_loose_limit(link) && !link->overfull) {
    link->overfull = TRUE;
    net->room.full[net->room.n_full++] = id;
  }
}
