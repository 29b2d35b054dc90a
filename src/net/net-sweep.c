/* SPDX-License-Identifier: MIT */
/* One sweep of the lazy solver: filling anew, but only where something differs from the last time.
 *
 *   level
 *     ▲   link A, changed            link B, as it was
 *     │                              … and from x on it is a changed one too: its flows above x may stop elsewhere
 *   x ┼── flow f stopped here ─────► here too, as on all its links; but now A has room, and f goes on
 *     │   as it was                  as it was
 *
 * The ladder of a changed link is thawed down to the lowest level that the change could concern, and the flows so met
 * are expected to stop where they did. The sweep rises through two kinds of event: a changed link fills; a link filled
 * here before. A flow that its cap, or a link as it was, stops where it did, ends the matter. A flow that goes on from
 * where it stopped, or that a changed link stops earlier, makes its other links changed ones, from this level on.
 *
 * So every level is what filling everything would find, to the bit: up to the present level a link as it was has done
 * what it did, and a changed one is filled by the same arithmetic on the same ladder. Cost: the flows on changed links
 * above the level of their change, times the logarithm of the links. */
#include "net-internal.h"

static void meet(NetSystem *net, guint32 id, NetFate fate) {
  NetRoom *room = &net->room;
  if (room->fates[id] == NET_FATE_SAME)
    room->met[room->n_met++] = id;
  room->fates[id] = (guint8)fate;
}

/* The tight link that stopped the flow and is as it was; n_links where none is. */
static guint32 stopper_of(NetSystem *net, NetEntry *entry) {
  const NetStand *stands = net_entry_stands(entry);
  for (guint32 h = 0; h < entry->n; h++) {
    const NetLink *link = &net->links[stands[h].link];
    if (link->tight && link->fills == entry->level && stands[h].place < link->frozen)
      return stands[h].link;
  }
  return net->n_links;
}

static void will_stop(NetSystem *net, guint32 id) {
  if (net->room.fates[id] == NET_FATE_STOPS)
    return;
  meet(net, id, NET_FATE_STOPS);
  net->room.stops[net->room.n_stops++] = id;
}

/* To be looked at again at the level where it stopped: by its cap, by a link that is as it was, or else by the thawed
 * link that met it, which remembers. */
static void expect(NetSystem *net, guint32 id) {
  NetRoom *room = &net->room;
  NetEntry *entry = &net->entries[id];
  meet(net, id, NET_FATE_EXPECTED);
  if (entry->cap_level <= entry->level) {
    net_heap_put(&room->caps, id, entry->cap_level);
    return;
  }
  guint32 stopper = stopper_of(net, entry);
  if (stopper < net->n_links)
    net_heap_put(&room->filled, stopper, entry->level);
}

static void meet_freed(NetSystem *net, guint32 id, double level) {
  if (net->room.fates[id] != NET_FATE_SAME)
    return;
  if (net->entries[id].level > level)
    expect(net, id);
  else
    will_stop(net, id); /* as it did: it only changes its place on the ladder */
}

/* What a thawed link stopped before is looked at where it did. */
static void remember_filled(NetSystem *net, guint32 id) {
  NetLink *link = &net->links[id];
  if (link->filled < INFINITY)
    net_heap_put(&net->room.filled, id, link->filled);
  link->filled = INFINITY;
}

static void make_dirty(NetSystem *net, guint32 id) {
  NetRoom *room = &net->room;
  if (room->stage[id] == room->n_stages)
    return;
  room->stage[id] = room->n_stages;
  room->dirty[room->n_dirty++] = id;
  net_room_visit(net, id);
}

/* The link differs from this level on. */
static void spread(NetSystem *net, guint32 id, double level) {
  NetLink *link = &net->links[id];
  guint32 frozen = link->frozen;
  net_ladder_thaw(link, level);
  remember_filled(net, id);
  make_dirty(net, id);
  for (guint32 i = link->frozen; i < frozen; i++)
    meet_freed(net, link->rungs[i].id, level);
}

static gboolean is_frozen(const NetLink *link, const NetStand *stand) {
  return stand->place < link->frozen;
}

/* Links on which the flow stopped at another level, or that have flows of this level or more, make way. */
static void make_way(NetSystem *net, guint32 id, double level) {
  NetEntry *entry = &net->entries[id];
  const NetStand *stands = net_entry_stands(entry);
  for (guint32 h = 0; h < entry->n; h++) {
    const NetLink *link = &net->links[stands[h].link];
    if (!link->tight)
      continue;
    if (is_frozen(link, &stands[h]) ? entry->level != level : link->last >= level)
      spread(net, stands[h].link, level);
  }
}

static void let_go(NetSystem *net, guint32 id, double level) {
  NetEntry *entry = &net->entries[id];
  const NetStand *stands = net_entry_stands(entry);
  meet(net, id, NET_FATE_FREE);
  if (entry->cap_level < INFINITY)
    net_heap_put(&net->room.caps, id, entry->cap_level);
  for (guint32 h = 0; h < entry->n; h++) {
    const NetLink *link = &net->links[stands[h].link];
    if (link->tight && is_frozen(link, &stands[h]))
      spread(net, stands[h].link, level);
  }
}

static void freeze(NetSystem *net, guint32 id, double level) {
  NetRoom *room = &net->room;
  NetEntry *entry = &net->entries[id];
  const NetStand *stands = net_entry_stands(entry);
  for (guint32 h = 0; h < entry->n; h++) {
    NetLink *link = &net->links[stands[h].link];
    if (!link->tight) {
      if (entry->level != level)
        net_loose_shift(net, stands[h].link, entry->level, level, stands[h].weight);
    } else if (!is_frozen(link, &stands[h])) {
      make_dirty(net, stands[h].link);
      net_ladder_freeze(net->entries, link, stands[h].place, stands[h].weight);
    }
  }
  if (entry->cap_level < INFINITY)
    net_heap_remove(&room->caps, id);
  room->fates[id] = NET_FATE_STOPPED;
  if (entry->level != level)
    g_array_append_val(room->changed, id);
  entry->level = level;
}

static void close_dirty(NetSystem *net, double level) {
  NetRoom *room = &net->room;
  for (guint32 i = 0; i < room->n_dirty; i++) {
    NetLink *link = &net->links[room->dirty[i]];
    if (link->group > 0)
      net_ladder_close(link, level);
    if (link->free > 0)
      net_heap_put(&room->shares, room->dirty[i], net_ladder_share(link));
    else
      net_heap_remove(&room->shares, room->dirty[i]);
  }
  room->n_dirty = 0;
}

static void next_stage(NetRoom *room) {
  room->n_stages++;
  room->n_stops = room->n_late = 0;
}

static void fill_link(NetSystem *net, guint32 id, double level) {
  NetLink *link = &net->links[id];
  link->fills = level;
  for (guint32 i = link->frozen; i < link->n; i++)
    will_stop(net, link->rungs[i].id);
}

/* The link filled at this level before. If it is as it was, those that are expected to stop on it do; if not, they go
 * on, unless another link that is as it was stops them too. */
static void recall_filled(NetSystem *net, guint32 id, double level) {
  NetRoom *room = &net->room;
  const NetLink *link = &net->links[id];
  gboolean same = link->fills == level;
  guint32 end = same ? link->frozen : link->n;
  for (guint32 i = same ? net_ladder_last_step(link) : link->frozen; i < end; i++) {
    guint32 flow = link->rungs[i].id;
    NetEntry *entry = &net->entries[flow];
    if (room->fates[flow] != NET_FATE_EXPECTED || entry->level != level)
      continue;
    if (same || stopper_of(net, entry) < net->n_links) {
      will_stop(net, flow);
    } else {
      room->fates[flow] = NET_FATE_LATE;
      room->late[room->n_late++] = flow;
    }
  }
}

static void play_level(NetSystem *net, double level) {
  NetRoom *room = &net->room;
  next_stage(room);
  while (net_heap_least(&room->shares) == level)
    fill_link(net, net_heap_pop(&room->shares), level);
  while (net_heap_least(&room->caps) == level)
    will_stop(net, net_heap_pop(&room->caps));
  while (net_heap_least(&room->filled) == level)
    recall_filled(net, net_heap_pop(&room->filled), level);
  for (guint32 i = 0; i < room->n_stops; i++)
    make_way(net, room->stops[i], level);
  for (guint32 i = 0; i < room->n_late; i++)
    let_go(net, room->late[i], level);
  for (guint32 i = 0; i < room->n_stops; i++)
    freeze(net, room->stops[i], level);
  close_dirty(net, level);
}

/* What is free on the seeds' ladders is met; arrivals have no level yet. */
static void begin(NetSystem *net) {
  NetRoom *room = &net->room;
  next_stage(room);
  for (guint32 k = 0; k < net->n_seeds; k++) {
    const NetLink *link = &net->links[net->seeds[k]];
    if (!link->tight)
      continue;
    make_dirty(net, net->seeds[k]);
    remember_filled(net, net->seeds[k]);
    for (guint32 i = link->frozen; i < link->n; i++)
      if (net->entries[link->rungs[i].id].level < INFINITY)
        meet_freed(net, link->rungs[i].id, 0);
  }
  for (guint i = 0; i < net->arrivals->len; i++) {
    guint32 id = g_array_index(net->arrivals, guint32, i);
    if (net->entries[id].flow != NULL && net->entries[id].level == INFINITY)
      let_go(net, id, INFINITY);
  }
  close_dirty(net, 0);
}

void net_sweep(NetSystem *net) {
  NetRoom *room = &net->room;
  begin(net);
  for (;;) {
    double level = MIN(net_heap_least(&room->shares), net_heap_least(&room->caps));
    level = MIN(level, net_heap_least(&room->filled));
    if (level == INFINITY)
      break;
    play_level(net, level);
  }
  for (guint32 i = 0; i < room->n_met; i++)
    room->fates[room->met[i]] = NET_FATE_SAME;
  room->n_met = 0;
}
