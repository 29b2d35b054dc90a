/* SPDX-License-Identifier: MIT */
/* The lazy solver: sweeps over what a change reaches (net-sweep.c), and which links take part in them.
 *
 * Most links of a network limit nothing. A link is loose while what its flows put on it leaves room for any rounding,
 * and sweeps then pass it by. A sweep that overfills a loose link makes it tight, and another follows with that link as
 * the only change. A tight link that a settle leaves with much room becomes loose again. Which links are tight costs
 * time, or saves it; no result depends on it. */
#include <string.h>

#include "net-internal.h"

#define LOOSE_AGAIN 0.75 /* of the capacity: well below what makes a link tight, lest it go to and fro */
#define SOON        8    /* flows: what one takes is a tenth of a microsecond, as is what memory takes to answer */

void net_room_clear(NetRoom *room) {
  void *const lists[] = {room->fates, room->met,     room->stops, room->late, room->dirty,
                         room->full,  room->visited, room->stage, room->visit};
  for (guint i = 0; i < G_N_ELEMENTS(lists); i++)
    g_free(lists[i]);
  if (room->changed != NULL)
    g_array_free(room->changed, TRUE);
  net_heap_clear(&room->shares);
  net_heap_clear(&room->filled);
  net_heap_clear(&room->caps);
}

static void reserve(NetSystem *net) {
  NetRoom *room = &net->room;
  if (room->dirty == NULL) {
    room->dirty = g_new(guint32, net->n_links);
    room->full = g_new(guint32, net->n_links);
    room->visited = g_new(guint32, net->n_links);
    room->stage = g_new0(guint64, net->n_links);
    room->visit = g_new0(guint64, net->n_links);
    room->changed = g_array_new(FALSE, FALSE, sizeof(guint32));
    net_heap_reserve(&room->shares, net->n_links);
    net_heap_reserve(&room->filled, net->n_links);
  }
  if (net->entries_size > room->entries_size) {
    room->fates = g_renew(guint8, room->fates, net->entries_size);
    memset(room->fates + room->entries_size, NET_FATE_SAME, net->entries_size - room->entries_size);
    room->met = g_renew(guint32, room->met, net->entries_size);
    room->stops = g_renew(guint32, room->stops, net->entries_size);
    room->late = g_renew(guint32, room->late, net->entries_size);
    net_heap_reserve(&room->caps, net->entries_size);
    room->entries_size = net->entries_size;
  }
}

void net_room_visit(NetSystem *net, guint32 link) {
  NetRoom *room = &net->room;
  if (room->visit[link] == room->n_visits)
    return;
  room->visit[link] = room->n_visits;
  room->visited[room->n_visited++] = link;
}

static void tighten(NetLink *link) {
  link->tight = TRUE;
  link->load = 0;
}

static void loosen(NetLink *link) {
  double load = link->load;
  net_ladder_thaw(link, 0);
  link->load = load;
  link->tight = FALSE;
}

/* No flow goes faster than it could alone. A link that might not have room for that becomes tight; so does at least one
 * of those that bound it, if its cap does not. */
static void admit(NetSystem *net, guint32 id) {
  NetEntry *entry = &net->entries[id];
  const NetStand *stands = net_entry_stands(entry);
  double bound = entry->cap_level;
  for (guint32 h = 0; h < entry->n; h++)
    bound = MIN(bound, net->links[stands[h].link].capacity / (double)stands[h].weight);
  for (guint32 h = 0; h < entry->n; h++) {
    NetLink *link = &net->links[stands[h].link];
    if (!link->tight && link->load + bound * (double)stands[h].weight > net_loose_limit(link))
      tighten(link);
    link->crowded = link->tight;
    if (link->tight)
      net_system_touch(net, stands[h].link);
  }
}

static gboolean is_alone(const NetSystem *net, NetEntry *entry) {
  const NetStand *stands = net_entry_stands(entry);
  for (guint32 h = 0; h < entry->n; h++)
    if (net->links[stands[h].link].tight && net->links[stands[h].link].n > 1)
      return FALSE;
  return TRUE;
}

/* A flow that has its tight links to itself. */
static void fill_one(NetSystem *net, guint32 id) {
  NetEntry *entry = &net->entries[id];
  const NetStand *stands = net_entry_stands(entry);
  double level = entry->cap_level;
  for (guint32 h = 0; h < entry->n; h++)
    if (net->links[stands[h].link].tight)
      level = MIN(level, net_ladder_share(&net->links[stands[h].link]));
  for (guint32 h = 0; h < entry->n; h++) {
    NetLink *link = &net->links[stands[h].link];
    link->crowded = FALSE;
    if (!link->tight) {
      net_loose_shift(net, stands[h].link, INFINITY, level, stands[h].weight);
      continue;
    }
    link->fills = net_ladder_share(link) == level ? level : INFINITY;
    link->filled = INFINITY;
    net_ladder_freeze(net->entries, link, stands[h].place, stands[h].weight);
    net_ladder_close(link, level);
    net_room_visit(net, stands[h].link);
  }
  net_entry_settle(entry, level);
}

/* Where flows came or the capacity changed: thaws down to where the link fills now. */
static void thaw_crowded(NetSystem *net) {
  for (guint32 i = 0; i < net->n_seeds; i++) {
    NetLink *link = &net->links[net->seeds[i]];
    if (link->crowded && !link->tight && link->load > net_loose_limit(link))
      tighten(link);
    if (link->crowded && link->tight)
      net_ladder_thaw(link, net_ladder_fills_at(link));
    link->crowded = FALSE;
  }
}

/* Leaves out those that fill alone. */
static void admit_arrivals(NetSystem *net) {
  GArray *arrivals = net->arrivals;
  guint left = 0;
  for (guint i = 0; i < arrivals->len; i++) {
    guint32 id = g_array_index(arrivals, guint32, i);
    if (net->entries[id].flow != NULL)
      admit(net, id);
  }
  for (guint i = 0; i < arrivals->len; i++) {
    guint32 id = g_array_index(arrivals, guint32, i);
    if (net->entries[id].flow == NULL || net->entries[id].level < INFINITY)
      continue;
    if (is_alone(net, &net->entries[id]))
      fill_one(net, id);
    else
      g_array_index(arrivals, guint32, left++) = id;
  }
  g_array_set_size(arrivals, left);
}

static void forget_seeds(NetSystem *net) {
  for (guint32 i = 0; i < net->n_seeds; i++)
    net->links[net->seeds[i]].touched = FALSE;
  net->n_seeds = 0;
}

/* Loose links that are overfull become tight, and the only seeds. */
static void tighten_full(NetSystem *net) {
  NetRoom *room = &net->room;
  forget_seeds(net);
  for (guint32 i = 0; i < room->n_full; i++) {
    NetLink *link = &net->links[room->full[i]];
    link->overfull = FALSE;
    if (link->load <= net_loose_limit(link))
      continue;
    tighten(link);
    net_system_touch(net, room->full[i]);
  }
  room->n_full = 0;
}

static void loosen_visited(NetSystem *net) {
  NetRoom *room = &net->room;
  for (guint32 i = 0; i < room->n_visited; i++) {
    NetLink *link = &net->links[room->visited[i]];
    if (link->tight && link->n > 0 && link->fills == INFINITY && link->load <= LOOSE_AGAIN * link->capacity)
      loosen(link);
  }
  room->n_visited = 0;
}

/* Flows lie anywhere: those that come soon are fetched while the present one is settled. */
static void settle_changed(NetSystem *net) {
  const guint32 *changed = (const guint32 *)(gpointer)net->room.changed->data;
  guint n = net->room.changed->len;
  for (guint i = 0; i < n; i++) {
    if (i + SOON < n) {
      const NetFlow *soon = net->entries[changed[i + SOON]].flow;
      __builtin_prefetch(&soon->volume);
      __builtin_prefetch(&soon->event);
    }
    net_entry_settle(&net->entries[changed[i]], net->entries[changed[i]].level);
  }
  g_array_set_size(net->room.changed, 0);
}

void net_fill_lazy(NetSystem *net) {
  NetRoom *room = &net->room;
  reserve(net);
  room->n_visits++;
  admit_arrivals(net);
  thaw_crowded(net);
  while (net->n_seeds > 0 || net->arrivals->len > 0 || room->n_full > 0) {
    net_sweep(net);
    g_array_set_size(net->arrivals, 0);
    tighten_full(net);
  }
  settle_changed(net);
  loosen_visited(net);
}
