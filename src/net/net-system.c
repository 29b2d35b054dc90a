/* SPDX-License-Identifier: MIT */
/* The network system: links, routes, and the one settle of an instant. */
#include "net-system.h"

#include "base-error.h"
#include "net-internal.h"

const char *const net_trace_names[] = {"net.start", "net.rate", "net.end", "net.settle", NULL};

void net_system_trace(NetSystem *net, const BaseTrace *trace) {
  net->trace = trace;
  net->traced = base_trace_points(trace, net_trace_names);
}

static void settle(Event *event, gpointer owner) {
  (void)event;
  NetSystem *net = owner;
  if (BASE_TRACED(net->traced, NET_TRACE_SETTLE))
    base_trace_line(net->trace, net_trace_names[NET_TRACE_SETTLE], event_now(net->queue), "links=%u", net->n_seeds);
  if (net->solver == NET_SOLVER_FULL)
    net_fill_full(net);
  else
    net_fill_lazy(net);
  for (guint32 i = 0; i < net->n_seeds; i++)
    net->links[net->seeds[i]].touched = net->links[net->seeds[i]].crowded = FALSE;
  net->n_seeds = 0;
}

NetSystem *net_system_new(EventQueue *queue, NetSolver solver) {
  NetSystem *net = g_new0(NetSystem, 1);
  net->queue = queue;
  net->solver = solver;
  net->routes = g_ptr_array_new_with_free_func(g_free);
  net->arrivals = g_array_new(FALSE, FALSE, sizeof(guint32));
  event_init(&net->settle, settle, net, EVENT_PHASE_SETTLE, 0);
  return net;
}

void net_system_free(NetSystem *net) {
  if (net == NULL)
    return;
  event_cancel(net->queue, &net->settle);
  for (guint32 i = 0; i < net->n_links; i++)
    net_ladder_clear(&net->links[i]);
  g_free(net->links);
  g_free(net->seeds);
  for (guint32 i = 0; i < net->n_entries; i++)
    if (net->entries[i].flow != NULL && net->entries[i].n > G_N_ELEMENTS(net->entries[i].few))
      g_free(net->entries[i].many);
  g_free(net->entries);
  net_room_clear(&net->room);
  g_ptr_array_free(net->routes, TRUE);
  g_array_free(net->arrivals, TRUE);
  g_free(net);
}

static void require_capacity(const NetSystem *net, double capacity) {
  sim_require(capacity > 0 && capacity <= G_MAXDOUBLE, event_now(net->queue), NULL, "a link of capacity %g", capacity);
}

guint32 net_link_add(NetSystem *net, double capacity) {
  require_capacity(net, capacity);
  sim_require(net->routes->len == 0, event_now(net->queue), NULL, "a link is added after a route");
  if (net->n_links == net->links_size) {
    net->links_size = net->links_size == 0 ? 64 : 2 * net->links_size;
    net->links = g_renew(NetLink, net->links, net->links_size);
  }
  net->links[net->n_links] = (NetLink){.capacity = capacity, .fills = INFINITY, .filled = INFINITY};
  return net->n_links++;
}

guint32 net_link_count(const NetSystem *net) {
  return net->n_links;
}

void net_system_touch(NetSystem *net, guint32 id) {
  NetLink *link = &net->links[id];
  if (link->touched)
    return;
  link->touched = TRUE;
  net->seeds[net->n_seeds++] = id;
}

void net_system_mark(NetSystem *net) {
  if (!event_is_pending(&net->settle))
    event_schedule(net->queue, &net->settle, event_now(net->queue));
}

void net_link_set_capacity(NetSystem *net, guint32 id, double capacity) {
  require_capacity(net, capacity);
  sim_require(id < net->n_links, event_now(net->queue), NULL, "link %u of %u", id, net->n_links);
  NetLink *link = &net->links[id];
  link->capacity = capacity;
  if (link->n == 0)
    return;
  if (link->tight)
    net_ladder_thaw(link, link->last);
  link->crowded = TRUE;
  net_system_touch(net, id);
  net_system_mark(net);
}

double net_link_bytes(const NetSystem *net, guint32 id) {
  const NetLink *link = &net->links[id];
  guint64 bytes = link->bytes;
  for (guint32 i = 0; i < link->n; i++)
    bytes += net_flow_bytes_on(net->entries[link->rungs[i].id].flow, link->rungs[i].hop);
  return (double)bytes;
}

SimTime net_link_busy(const NetSystem *net, guint32 id) {
  const NetLink *link = &net->links[id];
  return link->busy + (link->n > 0 ? event_now(net->queue) - link->busy_since : 0);
}

NetRoute *net_route_new(NetSystem *net, const guint32 *links, const guint32 *coefficients, guint32 n) {
  SimTime now = event_now(net->queue);
  NetRoute *route = g_malloc(sizeof(NetRoute) + n * sizeof(NetHop));
  route->n = n;
  if (net->seeds == NULL)
    net->seeds = g_new(guint32, net->n_links);
  for (guint32 i = 0; i < n; i++) {
    sim_require(links[i] < net->n_links && coefficients[i] > 0, now, NULL,
                "a route with coefficient %u on link %u of %u", coefficients[i], links[i], net->n_links);
    NetLink *link = &net->links[links[i]];
    sim_require(link->route != route, now, NULL, "link %u stands twice in a route", links[i]);
    link->route = route;
    route->hops[i] = (NetHop){links[i], coefficients[i]};
  }
  g_ptr_array_add(net->routes, route);
  return route;
}
