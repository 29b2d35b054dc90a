/* SPDX-License-Identifier: MIT */
/* The network: flows that share links, max-min fair by weight.
 *
 * A flow moves a volume along a *route*: links with integer coefficients. `count` equal flows of one route are one
 * class: a NetFlow stands for all of them; they start, go and end together. When each member goes at rate r (bytes/s of
 * its own volume), a link of the route carries coefficient × count × r. A flow has a weight (the channels it has: its
 * share where links are contested) and a cap on the rate of a member.
 *
 * Fair: rates are max-min by level = rate / weight. Every flow goes at its cap, or some link of its route is full and
 * no flow on that link has a higher level. A flow of twice the weight gets twice the rate.
 *
 *   NetSystem *net = net_system_new(queue, NET_SOLVER_LAZY);
 *   guint32 nic = net_link_add(net, 50e9);
 *   NetRoute *route = net_route_new(net, &nic, (guint32[]){1}, 1);
 *   NetFlow flow;
 *   net_flow_init(&flow, done, owner, identity);
 *   net_flow_start(net, &flow, route, 1 << 30, 1, 1, G_MAXDOUBLE);    // done(&flow, owner) is called when it has moved
 *
 * A start, an end or a change of capacity marks links; one settle per instant (EVENT_PHASE_SETTLE, of which a queue's
 * one system has the only event) finds the new rates. Progress is a service counter anchored at the last change of
 * rate: a flow whose rate did not change is not touched, and its end, to the nearest picosecond, is computed once per
 * rate. Flows end in EVENT_PHASE_COMPLETIONS, those of one instant in the order of their identities; an end that a new
 * rate puts at the present instant opens another round of it.
 *
 * Nothing that order, folding or class sizes could change enters the arithmetic. Progressive filling raises a common
 * level; the level at which a link fills is
 *
 *     share = (capacity - load) / free,  load = sum over the distinct levels below, ascending, of level × weight there,
 *
 * where weights are integers (coefficient × count × weight) and `free` is the weight not frozen below; a share that
 * rounding puts at or below the highest level frozen on the link is the next number above that level. All that fill at
 * one level freeze together. A flow's rate is its cap where cap / weight <= its level, else weight × level.
 *
 * Volumes in bytes, capacities, caps and rates in bytes/s. Cost of a settle: lazy, the flows on links that differ,
 * times the logarithm of these links; full, all flows and links times the number of distinct levels. The system owns
 * links and routes, flows belong to their owners. Broken contracts stop the program. Not thread-safe: one system a
 * queue. */
#pragma once

#include <glib.h>

#include "base-quantity.h"
#include "event-queue.h"

typedef struct NetSystem NetSystem;
typedef struct NetRoute NetRoute;
typedef struct NetFlow NetFlow;
typedef void (*NetFlowDone)(NetFlow *flow, gpointer owner);

/* LAZY fills anew only what a change reaches: the touched links from the lowest level that may differ, and from there
 * on those that a changed flow leads to. FULL fills everything at each settle: the textbook's way and the oracle. Their
 * rates and times are equal to the bit. */
typedef enum { NET_SOLVER_LAZY, NET_SOLVER_FULL } NetSolver;

NetSystem *net_system_new(EventQueue *queue, NetSolver solver);
/* Before the queue. Flows under way are forgotten. */
void net_system_free(NetSystem *net);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetSystem, net_system_free)

/* Trace points, by name: a flow that starts, gets another rate, has moved, and the settle of an instant. The trace
 * outlives the system; NULL: none. */
typedef enum { NET_TRACE_START, NET_TRACE_RATE, NET_TRACE_END, NET_TRACE_SETTLE } NetTracePoint;
extern const char *const net_trace_names[];
void net_system_trace(NetSystem *net, const BaseTrace *trace);

/* Returns the link's index, from 0. `capacity` > 0. All links come before the first route. */
guint32 net_link_add(NetSystem *net, double capacity);
/* From the present instant on; for a set time, call it from an event (of EVENT_PHASE_STARTS, say). `capacity` > 0. */
void net_link_set_capacity(NetSystem *net, guint32 link, double capacity);
guint32 net_link_count(const NetSystem *net);
/* Whole bytes carried so far, of a flow under way to the nearest byte; and the time during which flows were on the
 * link. Cost: O(flows on the link); O(1). */
double net_link_bytes(const NetSystem *net, guint32 link);
SimTime net_link_busy(const NetSystem *net, guint32 link);

/* Copies both arrays; a link may stand only once, coefficients > 0. Owned by the system and freed with it. An empty
 * route is limited by the flow's cap alone. */
NetRoute *net_route_new(NetSystem *net, const guint32 *links, const guint32 *coefficients, guint32 n);

/* Embedded in its owner; stays where it is until done or cancelled. All fields are for reading. */
struct NetFlow {
  NetFlowDone done;
  gpointer owner;
  const NetRoute *route;
  double volume, cap;
  double rate; /* of a member, since the last settle; 0 before the first */
  guint32 weight, count;
  /* The system's own. */
  NetSystem *system; /* NULL where it is not under way */
  double served;     /* of a member, at `anchor` */
  SimTime anchor;    /* when the rate last changed */
  guint32 entry;     /* in the system's table, where it shares links */
  Event event;
};

/* `identity` as in event_init: unique among all events of EVENT_PHASE_COMPLETIONS in the queue. */
void net_flow_init(NetFlow *flow, NetFlowDone done, gpointer owner, guint64 identity);
/* volume >= 0 bytes per member; weight >= 1; count >= 1; cap > 0 (G_MAXDOUBLE: none; an empty route needs one). It
 * shares from this instant's settle on. A flow of no volume takes no share: it is done in the next completions of this
 * instant, after the caller has returned. `done` may start the flow again or free its owner. */
void net_flow_start(NetSystem *net, NetFlow *flow, const NetRoute *route, double volume, guint32 weight, guint32 count,
                    double cap);
/* Takes the flow out without calling `done`; what it moved stays counted. Nothing where it is not under way. */
void net_flow_cancel(NetSystem *net, NetFlow *flow);
static inline gboolean net_flow_is_active(const NetFlow *flow) {
  return flow->system != NULL;
}
