/* The network: flows that share links, max-min fair by weight.
 *
 * A flow is some volume that moves along a *route*: links with integer coefficients. When the flow progresses at rate r
 * (bytes/s of its volume, per member of its class), each link of its route carries coefficient × weight-independent r for
 * each member. A flow has a weight (the channels it has: its share when links are contested) and a cap on its rate. `count` equal flows with the
 * same route are one class: they all start together, go at one rate and end together.
 *
 * Fair: rates are max-min by rate/weight. For every flow either rate = cap, or some link of its route is full and no flow
 * on that link has a greater rate/weight.
 *
 *   NetSystem *net = net_system_new(queue, NET_SOLVER_FULL);
 *   guint32 nic = net_link_add(net, 50e9);
 *   NetRoute *route = net_route_new(net, links, coefficients, n);
 *   NetFlow flow;
 *   net_flow_init(&flow, done, owner, identity);
 *   net_flow_start(net, &flow, route, 1 << 30, 1, 1, cap);     // done(&flow, owner) is called when it has moved
 *
 * A start, an end or a change of capacity marks links; one settle per instant (EVENT_PHASE_SETTLE) re-solves the touched
 * component; a flow whose rate did not change is not touched. Progress is a service counter anchored at the last change of
 * rate, so that nothing which order, folding or class size could change enters the arithmetic: loads are sums over
 * distinct rates in ascending order of rate times integer (coefficient × count). Volumes and capacities in bytes and bytes/s. */
#pragma once

#include <glib.h>

#include "base-quantity.h"
#include "event-queue.h"

typedef struct NetSystem NetSystem;
typedef struct NetRoute NetRoute;
typedef struct NetFlow NetFlow;
typedef void (*NetFlowDone)(NetFlow *flow, gpointer owner);

/* FULL: the textbook filling of everything at each settle, the oracle. LAZY: only the touched component. */
typedef enum { NET_SOLVER_LAZY, NET_SOLVER_FULL } NetSolver;

NetSystem *net_system_new(EventQueue *queue, NetSolver solver);
void net_system_free(NetSystem *net);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NetSystem, net_system_free)

/* Returns the link's index, from 0. `capacity` > 0 in bytes/s. Links come before the first route. */
guint32 net_link_add(NetSystem *net, double capacity);
/* From the current instant on. */
void net_link_set_capacity(NetSystem *net, guint32 link, double capacity);
guint32 net_link_count(const NetSystem *net);
/* Bytes carried up to now, and the time during which it carried anything. O(1) amortised; settles progress to now. */
double net_link_bytes(NetSystem *net, guint32 link);
SimTime net_link_busy(NetSystem *net, guint32 link);

/* Copies both arrays; a link may stand only once, coefficients > 0. Owned by the system (freed with it). An empty route is
 * limited by the flow's cap alone. */
NetRoute *net_route_new(NetSystem *net, const guint32 *links, const guint32 *coefficients, guint32 n);

/* The flow is embedded in its owner and must stay until done or cancelled. `identity` as in event_init. */
struct NetFlow {
  NetFlowDone done;
  gpointer owner;
  const NetRoute *route;
  double volume, rate, cap; /* rate: of one member, after the last settle */
  guint32 weight, count;
  /* The system's own. */
  NetSystem *net;
  double served;    /* of one member, at `anchor` */
  SimTime anchor;   /* when the rate last changed */
  double solved;    /* by the settle under way */
  gboolean stopped;
  guint32 index;    /* in the system's table, from 1; 0 when not active */
  Event event;
};

void net_flow_init(NetFlow *flow, NetFlowDone done, gpointer owner, guint64 identity);
/* volume >= 0 bytes per member; weight >= 1; count >= 1; cap > 0 (G_MAXDOUBLE: none; needed where the route is empty).
 * The flow gets its rate at this instant's settle. A volume of 0 ends in the completions of... this instant's settle. */
void net_flow_start(NetSystem *net, NetFlow *flow, const NetRoute *route, double volume, guint32 weight, guint32 count,
                    double cap);
void net_flow_cancel(NetSystem *net, NetFlow *flow);
