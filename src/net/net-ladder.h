/* SPDX-License-Identifier: MIT */
/* A link and its ladder: the flows on it, those that have their level first, in steps of ascending level.
 *
 *   rung      0     1  |  2  |  3  |  4     5          free = weight of 4 and 5
 *   step          0    |  1  |  2  |                   load = 0.5 × (weight of 0, 1) + 0.8 × (of 2) + 0.9 × (of 3)
 *   level        0.5   | 0.8 | 0.9 |  not yet
 *                            frozen┘           └n
 *
 * Filling freezes flows level by level, and every step remembers the load below it. So a later settle can thaw the
 * ladder down to any level and go on from there as if it had just been filled to that level: to the bit, because the
 * load is the very sum that filling made.
 *
 *   net_ladder_thaw(link, level);                        // steps of that level or more are taken back
 *   net_ladder_freeze(entries, link, place);             // one flow after the other, then once for the level:
 *   net_ladder_close(link, level);                       // and net_ladder_share(link) is valid again
 *
 * Levels in bytes/s. Cost: add, remove and freeze O(1), close O(1) amortised, thaw O(steps thawed), fills_at O(steps).
 */
#pragma once

#include <math.h>

#include "net-system.h"

/* Where a flow stands on one link of its route. */
typedef struct {
  guint32 link;
  guint32 place;  /* on the link's ladder */
  guint64 weight; /* coefficient × count × weight of the flow */
} NetStand;

/* A flow as the solvers see it. The table of entries is dense; an id is an index of it. */
typedef struct {
  NetFlow *flow;    /* NULL: nobody's */
  double level;     /* at which it froze; infinite while it has none */
  double cap_level; /* cap / weight */
  guint32 n;        /* links of the route */
  guint32 next;     /* of the entries that are nobody's */
  union {
    NetStand few[4];
    NetStand *many; /* where n is more than that */
  };
} NetEntry;

static inline NetStand *net_entry_stands(NetEntry *entry) {
  return entry->n <= G_N_ELEMENTS(entry->few) ? entry->few : entry->many;
}

typedef struct {
  guint32 id;  /* of the flow's entry */
  guint32 hop; /* of its route, which is this link */
} NetRung;

typedef struct {
  double level, below; /* below: load of the lower steps */
  guint64 weight;
  guint32 end; /* one past its last rung */
} NetStep;

/* A tight link has a ladder. A loose one has so much room that it limits nothing: it has no steps, and a load that is
 * what its flows put on it but for rounding. */
typedef struct {
  /* What a sweep looks at most: one line of the cache. */
  double load;   /* of the steps; of a loose link, of all its flows that have a level */
  double last;   /* level of the last step; 0 where none */
  double fills;  /* the level at which it filled, which is then the last; infinite where it did not */
  guint64 free;  /* weight not frozen */
  guint64 group; /* weight frozen since the last step */
  NetRung *rungs;
  guint32 n, frozen;
  gboolean tight;
  gboolean overfull; /* a loose link that is about to be tight */

  double capacity;
  double filled; /* the level at which it filled, since a thaw took that back; else infinite */
  NetStep *steps;
  guint32 n_steps, steps_size, size;
  /* Since the last settle. */
  gboolean touched; /* among the seeds */
  gboolean crowded; /* a start or a new capacity: it may fill at a lower level than it did */
  /* What it has carried. */
  guint64 bytes;
  SimTime busy, busy_since;
  const NetRoute *route; /* the last that was made over it */
} NetLink;

/* The level at which a link fills: see net-system.h. */
static inline double net_share(double capacity, double load, guint64 free, double last) {
  double share = (capacity - load) / (double)free;
  return share > last ? share : nextafter(last, INFINITY);
}

/* The first rung of the last step. */
static inline guint32 net_ladder_last_step(const NetLink *link) {
  return link->n_steps > 1 ? link->steps[link->n_steps - 2].end : 0;
}

static inline double net_ladder_share(const NetLink *link) {
  return net_share(link->capacity, link->load, link->free, link->last);
}

void net_ladder_clear(NetLink *link);
/* Puts the flow at the end, without a level. */
void net_ladder_add(NetEntry *entries, NetLink *link, guint32 id, guint32 hop);
/* Thaws down to the flow's level and takes it out. */
void net_ladder_remove(NetEntry *entries, NetLink *link, guint32 id, guint32 hop);
void net_ladder_thaw(NetLink *link, double level);
/* The lowest level at which the link, as it is now, fills: at or below a step, or the share of what is free; infinite
 * where neither. */
double net_ladder_fills_at(const NetLink *link);

static inline void net_ladder_put(NetEntry *entries, NetLink *link, guint32 place, NetRung rung) {
  link->rungs[place] = rung;
  net_entry_stands(&entries[rung.id])[rung.hop].place = place;
}

/* The flow at `place`, which is not frozen. */
static inline void net_ladder_freeze(NetEntry *entries, NetLink *link, guint32 place, guint64 weight) {
  if (place != link->frozen) {
    NetRung rung = link->rungs[place];
    net_ladder_put(entries, link, place, link->rungs[link->frozen]);
    net_ladder_put(entries, link, link->frozen, rung);
  }
  link->frozen++;
  link->free -= weight;
  link->group += weight;
}

/* The flows frozen since the last step have this level, which is higher than the last. */
void net_ladder_close(NetLink *link, double level);
