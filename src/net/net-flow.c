/* SPDX-License-Identifier: MIT */
/* A flow's life: on the ladders of its links, a service counter with an anchor, one event for its end. */
#include "base-error.h"
#include "net-internal.h"

/* Flows are told apart by the identities of their ends. */
static void BASE_TRACE_COLD trace(const NetSystem *net, NetTracePoint point, const NetFlow *flow) {
  base_trace_line(net->trace, net_trace_names[point], event_now(net->queue),
                  "flow=%" G_GUINT64_FORMAT " count=%u weight=%u volume=%.17g served=%.17g rate=%.17g", flow->event.low,
                  flow->count, flow->weight, flow->volume, flow->served, flow->rate);
}

static double served_now(const NetFlow *flow) {
  double seconds = sim_time_to_seconds(event_now(flow->system->queue) - flow->anchor);
  return MIN(flow->volume, flow->served + flow->rate * seconds);
}

guint64 net_flow_bytes_on(const NetFlow *flow, guint32 hop) {
  return (guint64)llround(served_now(flow)) * flow->route->hops[hop].coefficient * flow->count;
}

/* From the anchor, which is now. */
static void schedule_end(NetFlow *flow) {
  double left = flow->volume - flow->served;
  SimTime wait = left > 0 ? sim_time_of_amount(left, flow->rate) : 0;
  if (wait < SIM_TIME_NEVER - flow->anchor)
    event_schedule(flow->system->queue, &flow->event, flow->anchor + wait);
  else
    event_cancel(flow->system->queue, &flow->event);
}

static void set_rate(NetFlow *flow, double rate) {
  flow->served = served_now(flow);
  flow->anchor = event_now(flow->system->queue);
  flow->rate = rate;
  if (BASE_TRACED(flow->system->traced, NET_TRACE_RATE))
    trace(flow->system, NET_TRACE_RATE, flow);
  schedule_end(flow);
}

void net_entry_settle(NetEntry *entry, double level) {
  NetFlow *flow = entry->flow;
  double rate = entry->cap_level <= level ? flow->cap : flow->weight * level;
  entry->level = level;
  if (rate != flow->rate)
    set_rate(flow, rate);
}

static gboolean shares(const NetFlow *flow) {
  return flow->route->n > 0 && flow->volume > 0;
}

static NetEntry *take_entry(NetSystem *net, NetFlow *flow) {
  if (net->spare == net->entries_size) {
    net->entries_size = net->entries_size == 0 ? 64 : 2 * net->entries_size;
    net->entries = g_renew(NetEntry, net->entries, net->entries_size);
  }
  NetEntry *entry = &net->entries[net->spare];
  flow->entry = net->spare;
  net->spare = net->spare == net->n_entries ? ++net->n_entries : entry->next;
  *entry = (NetEntry){.flow = flow,
                      .level = INFINITY,
                      .cap_level = flow->cap < G_MAXDOUBLE ? flow->cap / flow->weight : INFINITY,
                      .n = flow->route->n};
  if (entry->n > G_N_ELEMENTS(entry->few))
    entry->many = g_new(NetStand, entry->n);
  return entry;
}

static void give_entry(NetSystem *net, guint32 id) {
  NetEntry *entry = &net->entries[id];
  if (entry->n > G_N_ELEMENTS(entry->few))
    g_free(entry->many);
  entry->flow = NULL;
  entry->next = net->spare;
  net->spare = id;
}

static void join(NetFlow *flow) {
  NetSystem *net = flow->system;
  NetEntry *entry = take_entry(net, flow);
  NetStand *stands = net_entry_stands(entry);
  for (guint32 h = 0; h < entry->n; h++) {
    const NetHop *hop = &flow->route->hops[h];
    NetLink *link = &net->links[hop->link];
    if (link->n == 0)
      link->busy_since = flow->anchor;
    stands[h] = (NetStand){.link = hop->link, .weight = (guint64)hop->coefficient * flow->count * flow->weight};
    net_ladder_add(net->entries, link, flow->entry, h);
  }
  g_array_append_val(net->arrivals, flow->entry);
  net_system_mark(net);
}

static void leave(NetFlow *flow) {
  NetSystem *net = flow->system;
  SimTime now = event_now(net->queue);
  NetEntry *entry = &net->entries[flow->entry];
  for (guint32 h = 0; h < entry->n; h++) {
    guint32 id = flow->route->hops[h].link;
    NetLink *link = &net->links[id];
    link->bytes += net_flow_bytes_on(flow, h);
    if (!link->tight && entry->level < INFINITY)
      link->load -= entry->level * (double)net_entry_stands(entry)[h].weight;
    net_ladder_remove(net->entries, link, flow->entry, h);
    if (link->n == 0) {
      link->busy += now - link->busy_since;
      link->load = 0; /* whatever rounding has left */
    }
    if (link->tight)
      net_system_touch(net, id);
  }
  net_system_mark(net);
  give_entry(net, flow->entry);
}

static void stop(NetFlow *flow) {
  if (shares(flow))
    leave(flow);
  flow->system = NULL;
  flow->rate = 0;
}

static void flow_ended(Event *event, gpointer owner) {
  (void)event;
  NetFlow *flow = owner;
  flow->served = flow->volume;
  if (BASE_TRACED(flow->system->traced, NET_TRACE_END))
    trace(flow->system, NET_TRACE_END, flow);
  stop(flow);
  flow->done(flow, flow->owner);
}

void net_flow_init(NetFlow *flow, NetFlowDone done, gpointer owner, guint64 identity) {
  *flow = (NetFlow){.done = done, .owner = owner};
  event_init(&flow->event, flow_ended, flow, EVENT_PHASE_COMPLETIONS, identity);
}

void net_flow_start(NetSystem *net, NetFlow *flow, const NetRoute *route, double volume, guint32 weight, guint32 count,
                    double cap) {
  SimTime now = event_now(net->queue);
  sim_require(flow->system == NULL, now, NULL, "a flow is started that is under way");
  sim_require(volume >= 0 && volume <= G_MAXDOUBLE && weight >= 1 && count >= 1 && cap > 0, now, NULL,
              "a flow of %g bytes, weight %u, count %u, cap %g", volume, weight, count, cap);
  sim_require(route->n > 0 || cap < G_MAXDOUBLE || volume == 0, now, NULL, "a flow that nothing limits");
  flow->system = net;
  flow->route = route;
  flow->volume = volume;
  flow->weight = weight;
  flow->count = count;
  flow->cap = cap;
  flow->rate = flow->served = 0;
  flow->anchor = now;
  if (BASE_TRACED(net->traced, NET_TRACE_START))
    trace(net, NET_TRACE_START, flow);
  if (shares(flow))
    join(flow);
  else if (volume > 0)
    set_rate(flow, cap);
  else
    event_schedule(net->queue, &flow->event, now);
}

void net_flow_cancel(NetSystem *net, NetFlow *flow) {
  if (flow->system == NULL)
    return;
  sim_require(flow->system == net, event_now(net->queue), NULL, "a flow is cancelled in a system where it is not");
  event_cancel(net->queue, &flow->event);
  flow->served = served_now(flow);
  flow->anchor = event_now(net->queue);
  stop(flow);
}
