/* SPDX-License-Identifier: MIT */
/* Ladders: adding and removing flows, steps and thawing, and where a ladder that has changed fills. */
#include "net-ladder.h"

void net_ladder_clear(NetLink *link) {
  g_free(link->rungs);
  g_free(link->steps);
}

void net_ladder_add(NetEntry *entries, NetLink *link, guint32 id, guint32 hop) {
  if (link->n == link->size) {
    link->size = link->size == 0 ? 4 : 2 * link->size;
    link->rungs = g_renew(NetRung, link->rungs, link->size);
  }
  link->free += net_entry_stands(&entries[id])[hop].weight;
  net_ladder_put(entries, link, link->n++, (NetRung){id, hop});
}

void net_ladder_thaw(NetLink *link, double level) {
  guint32 n = link->n_steps;
  if (n == 0 || link->steps[n - 1].level < level)
    return;
  if (link->fills >= level && link->fills < INFINITY) {
    link->filled = link->fills;
    link->fills = INFINITY;
  }
  while (n > 0 && link->steps[n - 1].level >= level)
    link->free += link->steps[--n].weight;
  link->n_steps = n;
  link->frozen = n > 0 ? link->steps[n - 1].end : 0;
  link->load = link->steps[n].below;
  link->last = n > 0 ? link->steps[n - 1].level : 0;
}

void net_ladder_remove(NetEntry *entries, NetLink *link, guint32 id, guint32 hop) {
  net_ladder_thaw(link, entries[id].level);
  const NetStand *stand = &net_entry_stands(&entries[id])[hop];
  link->free -= stand->weight;
  if (stand->place != --link->n)
    net_ladder_put(entries, link, stand->place, link->rungs[link->n]);
}

void net_ladder_close(NetLink *link, double level) {
  if (link->n_steps == link->steps_size) {
    link->steps_size = link->steps_size == 0 ? 2 : 2 * link->steps_size;
    link->steps = g_renew(NetStep, link->steps, link->steps_size);
  }
  link->steps[link->n_steps++] = (NetStep){level, link->load, link->group, link->frozen};
  link->load += level * (double)link->group;
  link->last = level;
  link->group = 0;
}

double net_ladder_fills_at(const NetLink *link) {
  guint64 free = link->free;
  for (guint32 i = 0; i < link->n_steps; i++)
    free += link->steps[i].weight;
  double last = 0;
  for (guint32 i = 0; i < link->n_steps; i++) {
    const NetStep *step = &link->steps[i];
    double share = net_share(link->capacity, step->below, free, last);
    if (share <= step->level)
      return share;
    free -= step->weight;
    last = step->level;
  }
  return free > 0 ? net_ladder_share(link) : INFINITY;
}
