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

/* A link that something has happened to since the last settle, and the lowest level that it may concern. */
typedef struct {
  guint32 link;
  double floor;
} NetSeed;

/* The lazy solver's room, for one component at a time. Room for every link or every entry. */
typedef struct {
  guint32 component;              /* number of the last one */
  guint32 *link_seen, *flow_seen; /* the last component that each was in */
  guint32 *links, *flows;         /* of the component: all its links; the flows (their entries) that need a level */
  guint32 n_links, n_flows, flows_size;
  guint32 *full;  /* links that fill at the present level */
  guint32 *dirty; /* links on which something froze at it */
  guint32 n_dirty;
  NetHeap shares; /* of links, by the level at which they fill */
  NetHeap caps;   /* of flows that have a cap, by cap level */
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
  NetSeed *seeds; /* room for every link */
  guint32 n_seeds;
  NetRoom room;
};

/* Gives the flow its level, and its rate: its cap where that is what stops it. Moves its anchor and its end only if the
 * rate changes. */
void net_entry_settle(NetEntry *entry, double level);
/* What the flow has carried over a link of its route so far, to the byte per member. */
guint64 net_flow_bytes_on(const NetFlow *flow, guint32 hop);
/* Something happened to the link that concerns no level below `floor`: it takes part in this instant's settle. */
void net_system_touch(NetSystem *net, guint32 link, double floor);

/* The two solvers. */
void net_fill_full(NetSystem *net);
void net_fill_lazy(NetSystem *net);
void net_room_clear(NetRoom *room);
