/* Flows, links and the settle: progress is anchored, rates come from the solver. */
#include "net-state.h"

#include "base-error.h"

static void settle(Event *event, gpointer owner);

NetSystem *net_system_new(EventQueue *queue, NetSolver solver) {
  NetSystem *net = g_new0(NetSystem, 1);
  net->queue = queue;
  net->solver = solver;
  net->links = g_array_new(FALSE, TRUE, sizeof(NetLink));
  net->flows = g_ptr_array_new();
  net->routes = g_ptr_array_new();
  event_init(&net->settle, settle, net, EVENT_PHASE_SETTLE, 0);
  return net;
}

void net_system_free(NetSystem *net) {
  if (net == NULL)
    return;
  for (guint i = 0; i < net->routes->len; i++) {
    NetRoute *route = g_ptr_array_index(net->routes, i);
    g_free(route->links);
    g_free(route->coefficients);
    g_free(route);
  }
  g_ptr_array_unref(net->routes);
  g_ptr_array_unref(net->flows);
  g_array_unref(net->links);
  g_free(net);
}

static NetLink *link_at(NetSystem *net, guint32 link) {
  return &g_array_index(net->links, NetLink, link);
}

guint32 net_link_add(NetSystem *net, double capacity) {
  sim_require(capacity > 0, event_now(net->queue), NULL, "a link without capacity");
  NetLink link = {.capacity = capacity};
  g_array_append_val(net->links, link);
  return net->links->len - 1;
}

static void mark(NetSystem *net) {
  if (!event_is_pending(&net->settle))
    event_schedule(net->queue, &net->settle, event_now(net->queue));
}

void net_link_set_capacity(NetSystem *net, guint32 link, double capacity) {
  sim_require(capacity > 0, event_now(net->queue), NULL, "link %u without capacity", link);
  link_at(net, link)->capacity = capacity;
  mark(net);
}

guint32 net_link_count(const NetSystem *net) {
  return net->links->len;
}

/* What a link carried since its load last changed. */
static void bring_up_to_date(NetSystem *net, NetLink *link) {
  SimTime now = event_now(net->queue);
  if (link->load > 0) {
    link->bytes += link->load * sim_time_to_seconds(now - link->anchor);
    link->busy += now - link->anchor;
  }
  link->anchor = now;
}

double net_link_bytes(NetSystem *net, guint32 link) {
  bring_up_to_date(net, link_at(net, link));
  return link_at(net, link)->bytes;
}

SimTime net_link_busy(NetSystem *net, guint32 link) {
  bring_up_to_date(net, link_at(net, link));
  return link_at(net, link)->busy;
}

NetRoute *net_route_new(NetSystem *net, const guint32 *links, const guint32 *coefficients, guint32 n) {
  NetRoute *route = g_new(NetRoute, 1);
  *route = (NetRoute){g_memdup2(links, n * sizeof *links), g_memdup2(coefficients, n * sizeof *coefficients), n};
  g_ptr_array_add(net->routes, route);
  return route;
}

static void flow_ended(Event *event, gpointer owner);

void net_flow_init(NetFlow *flow, NetFlowDone done, gpointer owner, guint64 identity) {
  *flow = (NetFlow){.done = done, .owner = owner};
  event_init(&flow->event, flow_ended, flow, EVENT_PHASE_COMPLETIONS, identity);
}

void net_flow_start(NetSystem *net, NetFlow *flow, const NetRoute *route, double volume, guint32 weight, guint32 count,
                    double cap) {
  sim_require(flow->index == 0 && weight > 0 && count > 0 && cap > 0 && volume >= 0, event_now(net->queue), NULL,
              "a flow that is active, or without weight, count or cap");
  flow->net = net;
  flow->route = route;
  flow->volume = volume;
  flow->weight = weight;
  flow->count = count;
  flow->cap = cap;
  flow->rate = flow->served = 0;
  flow->anchor = event_now(net->queue);
  g_ptr_array_add(net->flows, flow);
  flow->index = net->flows->len;
  mark(net);
}

static void leave(NetSystem *net, NetFlow *flow) {
  NetFlow *last = g_ptr_array_index(net->flows, net->flows->len - 1);
  g_ptr_array_index(net->flows, flow->index - 1) = last;
  last->index = flow->index;
  g_ptr_array_set_size(net->flows, (gint)net->flows->len - 1);
  flow->index = 0;
  mark(net);
}

void net_flow_cancel(NetSystem *net, NetFlow *flow) {
  if (flow->index == 0)
    return;
  event_cancel(net->queue, &flow->event);
  leave(net, flow);
}

static void flow_ended(Event *event, gpointer owner) {
  (void)event;
  NetFlow *flow = owner;
  leave(flow->net, flow);
  flow->done(flow, flow->owner);
}

/* A new rate moves the anchor: what was served until now, and the end that follows. */
static void set_rate(NetSystem *net, NetFlow *flow, double rate) {
  if (rate == flow->rate && event_is_pending(&flow->event))
    return;
  SimTime now = event_now(net->queue);
  flow->served += flow->rate * sim_time_to_seconds(now - flow->anchor);
  flow->anchor = now;
  flow->rate = rate;
  double left = MAX(flow->volume - flow->served, 0);
  event_schedule(net->queue, &flow->event, now + sim_time_of_amount(left, rate));
}

static void settle(Event *event, gpointer owner) {
  (void)event;
  NetSystem *net = owner;
  for (guint i = 0; i < net->links->len; i++)
    bring_up_to_date(net, link_at(net, i));
  net_solve_full(net);
  for (guint i = 0; i < net->flows->len; i++) {
    NetFlow *flow = g_ptr_array_index(net->flows, i);
    set_rate(net, flow, flow->solved);
  }
}
