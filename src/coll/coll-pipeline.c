/* SPDX-License-Identifier: MIT */
/* Transfers in max-plus arithmetic. A ring: with e(p, k) the end and a(p, k) = e(p, k) + hop(p) the arrival of the
 * k-th transfer of connection p, and T(k) its time on the wire (coll-ring.c writes the same needs):
 *
 *   e(p, k) = T(k) + max( a(p−1, k−1),  e(p, k−1),  slot: e(p+1, k−depth+1) or, of a loop's last step, a(p, k−depth) )
 *
 * Every way from k−1 to k costs T(k), and the first adds a hop: so, where no slot binds, the latest arrival is that of
 * the token whose consecutive hops are the longest: base + sum of T + hops(K). All nodes being alike, a place stands
 * for those of its number in every node. A slot's way back gains one network hop in `depth` turns and loses that many
 * times T and hops inside: it cannot bind while network ≤ (2·depth − 2)·T + 2·depth·intra. */
#include "coll-pipeline.h"

/* The longest way of a token over all its hops, from whichever place it sets out. */
static SimTime longest_hops(const CollGroup *group, const CollSteps *steps) {
  guint64 first = steps->steps, later = (steps->loops - 1) * steps->steps;
  SimTime intra = coll_steps_hop(steps, FALSE, 1), network = coll_steps_hop(steps, TRUE, 1), longest = 0;
  if (group->nodes == 1)
    return (SimTime)first * steps->intra + (SimTime)later * intra;
  guint64 places = group->per_node;
  for (guint64 place = 0; place < places; place++) {
    guint64 crossed = (place + first) / places, rest = (place + first + later) / places - crossed;
    SimTime way = (SimTime)crossed * steps->network + (SimTime)(first - crossed) * steps->intra +
                  (SimTime)rest * network + (SimTime)(later - rest) * intra;
    longest = MAX(longest, way);
  }
  return longest;
}

static gboolean slots_may_bind(const CollGroup *group, const CollSteps *steps) {
  SimTime least = MIN(coll_steps_wire(steps, 0), coll_steps_wire(steps, steps->loops - 1));
  SimTime turns = 2 * steps->depth;
  return steps->depth < 2 || steps->intra > steps->network ||
         (group->nodes > 1 && steps->network > (turns - 2) * least + turns * steps->intra);
}

/* Ends of the last turns of each place of a node, by k modulo what the deepest connection holds. */
typedef struct {
  const CollSteps *steps;
  SimTime *ends;
  guint32 places, turns;
  gboolean network;
} Window;

static gboolean crosses(const Window *window, guint32 place) {
  return window->network && place == window->places - 1;
}

static SimTime *end_at(const Window *window, guint32 place, guint64 k) {
  return &window->ends[k % window->turns * window->places + place % window->places];
}

static SimTime arrival_at(const Window *window, guint32 place, guint64 k) {
  place %= window->places;
  gboolean later = k >= window->steps->steps;
  return *end_at(window, place, k) + coll_steps_hop(window->steps, crosses(window, place), later);
}

static SimTime start_of(const Window *window, guint32 place, guint64 k) {
  guint64 depth = crosses(window, place) ? 2 * window->steps->depth : window->steps->depth;
  SimTime start = window->steps->base;
  if (k == 0)
    return start;
  start = MAX(arrival_at(window, place + window->places - 1, k - 1), *end_at(window, place, k - 1));
  if (k < depth)
    return start;
  gboolean forwarded = (k - depth) % window->steps->steps + 1 < window->steps->steps;
  SimTime slot = forwarded ? *end_at(window, place + 1, k - depth + 1) : arrival_at(window, place, k - depth);
  return MAX(start, slot);
}

static SimTime walk_ring(const CollGroup *group, const CollSteps *steps) {
  Window window = {.steps = steps,
                   .places = group->nodes > 1 ? group->per_node : 1,
                   .turns = 2 * steps->depth + 1,
                   .network = group->nodes > 1};
  g_autofree SimTime *ends = g_new0(SimTime, window.turns * window.places);
  window.ends = ends;
  guint64 turns = steps->loops * steps->steps;
  for (guint64 k = 0; k < turns; k++)
    for (guint32 place = 0; place < window.places; place++)
      *end_at(&window, place, k) = start_of(&window, place, k) + coll_steps_wire(steps, k / steps->steps);
  SimTime last = 0;
  for (guint32 place = 0; place < window.places; place++)
    last = MAX(last, arrival_at(&window, place, turns - 1));
  return last;
}

static SimTime ring_time(const CollGroup *group, const CollSteps *steps) {
  if (slots_may_bind(group, steps))
    return walk_ring(group, steps);
  SimTime full = coll_steps_wire(steps, 0), last = coll_steps_wire(steps, steps->loops - 1);
  SimTime wire = (SimTime)steps->steps * ((SimTime)(steps->loops - 1) * full + last);
  return steps->base + wire + longest_hops(group, steps);
}

/* A tree is as slow as its longest way: up from the far end of a chain in the deepest node to the root, and down again,
 * a line of hops. The root's own hop down takes what its last hop up brought, so a chunk's need is always the hop
 * before:
 *
 *   e(h, l) = T(l) + max( a(h−1, l),  e(h, l−1),  slot: e(h+1, l−depth) or, of the last hop, a(h, l−depth) )
 *
 * Where no slot binds, chunk follows chunk at every hop: e(h, l) = e(h, 0) + l·T, and a slot asks e(h, l) − depth·T +
 * 2·T + hop of it: it does not bind while 2·T + hop ≤ depth·T. */
typedef struct {
  guint32 chain, hops; /* from the far end of the chain to the NIC; up and down */
} Line;

static gboolean line_crosses(const Line *line, guint32 hop) {
  return hop >= line->chain && hop < line->hops - line->chain;
}

static SimTime walk_line(const CollSteps *steps, const Line *line) {
  guint32 width = line->hops + 1, turns = 2 * steps->depth + 1;
  g_autofree SimTime *ends = g_new0(SimTime, turns * width);
  SimTime last = steps->base;
  for (guint64 loop = 0; loop < steps->loops; loop++) {
    SimTime *now = ends + loop % turns * width, *before = ends + (loop + turns - 1) % turns * width;
    SimTime arrival = steps->base, wire = coll_steps_wire(steps, loop);
    for (guint32 hop = 0; hop < line->hops; hop++) {
      gboolean network = line_crosses(line, hop), final = hop + 1 == line->hops;
      SimTime latency = network ? steps->network : steps->intra, start = arrival;
      guint64 depth = network ? 2 * steps->depth : steps->depth;
      const SimTime *freed = ends + (loop + turns - depth) % turns * width;
      if (loop > 0)
        start = MAX(start, before[hop]);
      if (loop >= depth)
        start = MAX(start, final ? freed[hop] + latency : freed[hop + 1]);
      now[hop] = start + wire;
      arrival = now[hop] + latency;
    }
    last = MAX(last, arrival);
  }
  return last;
}

static SimTime tree_time(const CollGroup *group, const CollSteps *steps) {
  Line line = {.chain = group->per_node - 1};
  line.hops = 2 * (line.chain + group->tree_depth);
  SimTime full = coll_steps_wire(steps, 0), last = coll_steps_wire(steps, steps->loops - 1), depth = steps->depth;
  if (2 * full + steps->intra > depth * full || 2 * full + steps->network > 2 * depth * full)
    return walk_line(steps, &line);
  SimTime latency = 2 * (line.chain * steps->intra + group->tree_depth * steps->network);
  SimTime behind = steps->loops > 1 ? (SimTime)(steps->loops - 2) * full + last : 0;
  return steps->base + latency + line.hops * full + behind;
}

/* Chunk after chunk through all stages, one behind the other. */
static SimTime line_time(const CollSteps *steps) {
  SimTime full = coll_steps_wire(steps, 0), last = coll_steps_wire(steps, steps->loops - 1);
  return steps->base + steps->fill + (SimTime)(steps->loops - 1) * full + last;
}

SimTime coll_pipeline(const CollGroup *group, CollAlgorithm algorithm, const CollSteps *steps) {
  if (steps->loops == 0)
    return steps->base;
  if (steps->line)
    return line_time(steps);
  return (algorithm == COLL_RING ? ring_time : tree_time)(group, steps);
}

SimTime coll_pipeline_walk(const CollSchedule *schedule) {
  g_autofree SimTime *ends = g_new(SimTime, schedule->n_transfers + 1);
  SimTime last = schedule->base;
  for (guint32 i = 0; i < schedule->n_transfers; i++) {
    const CollTransfer *transfer = &schedule->transfers[i];
    const guint32 *needs = &g_array_index(schedule->needs, guint32, transfer->needs);
    SimTime start = schedule->base;
    for (guint32 k = 0; k < transfer->n_arrivals; k++)
      start = MAX(start, ends[needs[k]] + schedule->transfers[needs[k]].hop);
    for (guint32 k = transfer->n_arrivals; k < transfer->n_arrivals + transfer->n_ends; k++)
      start = MAX(start, ends[needs[k]]);
    ends[i] = start + sim_time_of_amount((double)transfer->bytes, schedule->rate);
    last = MAX(last, ends[i] + transfer->hop);
  }
  return last;
}
