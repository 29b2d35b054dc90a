/* The lazy solver: only the touched component, only from the lowest level that may change.
 *
 *   seeds:  touched links, each with its floor, the lowest level that what happened to it may concern
 *   gather: thaw the seed's link down to the floor; thawed flows lead to further links, which are thawed as far, and so
 *           on; a flow below the floor keeps its level, for filling up to the floor would do again what it did
 *   fill:   progressive filling of the thawed flows over the ladders as they are left, the next link from a heap
 *
 * Seeds are taken by rising floor, so that no component meets a seed with a lower floor than its own. */
#include <stdlib.h>
#include <string.h>

#include "net-internal.h"

void net_room_clear(NetRoom *room) {
  g_free(room->link_seen);
  g_free(room->flow_seen);
  g_free(room->links);
  g_free(room->flows);
  g_free(room->full);
  g_free(room->dirty);
  net_heap_clear(&room->shares);
  net_heap_clear(&room->caps);
}

static void reserve(NetSystem *net) {
  NetRoom *room = &net->room;
  if (room->links == NULL) {
    room->link_seen = g_new0(guint32, net->n_links);
    room->links = g_new(guint32, net->n_links);
    room->full = g_new(guint32, net->n_links);
    room->dirty = g_new(guint32, net->n_links);
    net_heap_reserve(&room->shares, net->n_links);
  }
  if (net->entries_size > room->flows_size) {
    room->flow_seen = g_renew(guint32, room->flow_seen, net->entries_size);
    memset(room->flow_seen + room->flows_size, 0, (net->entries_size - room->flows_size) * sizeof(guint32));
    room->flows = g_renew(guint32, room->flows, net->entries_size);
    net_heap_reserve(&room->caps, net->entries_size);
    room->flows_size = net->entries_size;
  }
}

static void next_component(NetSystem *net) {
  NetRoom *room = &net->room;
  room->n_links = room->n_flows = 0;
  if (++room->component != 0)
    return;
  memset(room->link_seen, 0, net->n_links * sizeof(guint32));
  memset(room->flow_seen, 0, room->flows_size * sizeof(guint32));
  room->component = 1;
}

static inline void see_link(NetRoom *room, guint32 link) {
  if (room->link_seen[link] == room->component)
    return;
  room->link_seen[link] = room->component;
  room->links[room->n_links++] = link;
}

static void gather(NetSystem *net, guint32 seed, double floor) {
  NetRoom *room = &net->room;
  next_component(net);
  see_link(room, seed);
  for (guint32 next = 0; next < room->n_links; next++) {
    NetLink *link = &net->links[room->links[next]];
    net_ladder_thaw(link, floor);
    link->floor = INFINITY;
    for (guint32 i = link->frozen; i < link->n; i++) {
      guint32 id = link->rungs[i].id;
      if (room->flow_seen[id] == room->component)
        continue;
      room->flow_seen[id] = room->component;
      room->flows[room->n_flows++] = id;
      NetEntry *entry = &net->entries[id];
      entry->level = INFINITY;
      const NetStand *stands = net_entry_stands(entry);
      for (guint32 h = 0; h < entry->n; h++)
        see_link(room, stands[h].link);
    }
  }
}

/* On all its links, which are then dirty until the level is closed. */
static void freeze(NetSystem *net, guint32 id, double level) {
  NetRoom *room = &net->room;
  NetEntry *entry = &net->entries[id];
  const NetStand *stands = net_entry_stands(entry);
  for (guint32 h = 0; h < entry->n; h++) {
    NetLink *link = &net->links[stands[h].link];
    if (link->group == 0)
      room->dirty[room->n_dirty++] = stands[h].link;
    net_ladder_freeze(net->entries, link, stands[h].place, stands[h].weight);
  }
  net_entry_settle(entry, level);
}

/* The one flow of a component. */
static void fill_one(NetSystem *net, guint32 id) {
  NetEntry *entry = &net->entries[id];
  const NetStand *stands = net_entry_stands(entry);
  double level = entry->cap_level;
  for (guint32 h = 0; h < entry->n; h++)
    level = MIN(level, net_ladder_share(&net->links[stands[h].link]));
  for (guint32 h = 0; h < entry->n; h++) {
    NetLink *link = &net->links[stands[h].link];
    net_ladder_freeze(net->entries, link, stands[h].place, stands[h].weight);
    net_ladder_close(link, level);
  }
  net_entry_settle(entry, level);
}

static void order_shares_and_caps(NetSystem *net) {
  NetRoom *room = &net->room;
  room->shares.n = room->caps.n = 0;
  for (guint32 i = 0; i < room->n_links; i++) {
    const NetLink *link = &net->links[room->links[i]];
    if (link->free > 0)
      net_heap_append(&room->shares, room->links[i], net_ladder_share(link));
  }
  for (guint32 i = 0; i < room->n_flows; i++) {
    const NetEntry *entry = &net->entries[room->flows[i]];
    if (entry->cap_level < INFINITY)
      net_heap_append(&room->caps, room->flows[i], entry->cap_level);
  }
  net_heap_order(&room->shares);
  net_heap_order(&room->caps);
}

static double next_level(NetSystem *net) {
  NetRoom *room = &net->room;
  while (room->caps.n > 0 && net->entries[room->caps.entries[0].id].level < INFINITY)
    net_heap_pop(&room->caps);
  double level = net_heap_least(&room->shares);
  return room->caps.n > 0 ? MIN(level, net_heap_least(&room->caps)) : level;
}

static void freeze_full_links(NetSystem *net, double level) {
  NetRoom *room = &net->room;
  guint32 n_full = 0;
  while (room->shares.n > 0 && net_heap_least(&room->shares) == level)
    room->full[n_full++] = net_heap_pop(&room->shares);
  for (guint32 i = 0; i < n_full; i++)
    for (const NetLink *link = &net->links[room->full[i]]; link->frozen < link->n;)
      freeze(net, link->rungs[link->frozen].id, level);
}

static void freeze_capped_flows(NetSystem *net, double level) {
  NetRoom *room = &net->room;
  while (room->caps.n > 0 && net_heap_least(&room->caps) == level) {
    guint32 id = net_heap_pop(&room->caps);
    if (net->entries[id].level == INFINITY)
      freeze(net, id, level);
  }
}

static void close_level(NetSystem *net, double level) {
  NetRoom *room = &net->room;
  for (guint32 i = 0; i < room->n_dirty; i++) {
    guint32 id = room->dirty[i];
    NetLink *link = &net->links[id];
    net_ladder_close(link, level);
    if (link->free > 0)
      net_heap_set(&room->shares, id, net_ladder_share(link));
    else if (net_heap_has(&room->shares, id))
      net_heap_remove(&room->shares, id);
  }
  room->n_dirty = 0;
}

static void fill(NetSystem *net) {
  order_shares_and_caps(net);
  while (net->room.shares.n > 0) {
    double level = next_level(net);
    freeze_full_links(net, level);
    freeze_capped_flows(net, level);
    close_level(net, level);
  }
}

static int compare_seeds(const void *a, const void *b) {
  const NetSeed *x = a, *y = b;
  if (x->floor != y->floor)
    return x->floor < y->floor ? -1 : 1;
  return x->link < y->link ? -1 : x->link > y->link;
}

/* Floors of the seeds, in rising order. */
static void order_seeds(NetSystem *net) {
  gboolean rising = TRUE;
  for (guint32 i = 0; i < net->n_seeds; i++) {
    NetSeed *seed = &net->seeds[i];
    NetLink *link = &net->links[seed->link];
    if (link->crowded)
      link->floor = MIN(link->floor, net_ladder_fills_at(link));
    link->crowded = FALSE;
    seed->floor = link->floor;
    rising &= i == 0 || seed[-1].floor <= seed->floor;
  }
  if (!rising)
    qsort(net->seeds, net->n_seeds, sizeof(NetSeed), compare_seeds);
}

void net_fill_lazy(NetSystem *net) {
  reserve(net);
  order_seeds(net);
  for (guint32 i = 0; i < net->n_seeds; i++) {
    double floor = net->links[net->seeds[i].link].floor;
    if (floor == INFINITY) /* nothing to do, or done in the component of an earlier one */
      continue;
    gather(net, net->seeds[i].link, floor);
    if (net->room.n_flows == 1)
      fill_one(net, net->room.flows[0]);
    else if (net->room.n_flows > 1)
      fill(net);
  }
}
