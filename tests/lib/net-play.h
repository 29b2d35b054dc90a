/* SPDX-License-Identifier: MIT */
/* Whole little networks as data: links, flows with their starts, ends and cancels, changes of capacity; played under
 * either solver, with everything that may be compared bit by bit written down.
 *
 *   PlayScript script = {.n_links = 1, .capacities = {10}, .n_flows = 1, .flows = flows};
 *   PlayResult *result = play(&script, NET_SOLVER_LAZY, NULL);     // result->ends[i], link_bytes[l], rates …
 *   play_result_free(result); */
#pragma once

#include "event-queue.h"
#include "net-system.h"

#define PLAY_HOPS 16

typedef struct {
  SimTime start;
  double volume, cap;
  guint32 weight, count;
  guint32 n, links[PLAY_HOPS], coefficients[PLAY_HOPS];
  SimTime cancel; /* 0: never */
  /* In the instant of its start: cancelled, before another event; cancelled, and started once more. */
  gboolean gone, again;
} PlayFlow;

typedef struct {
  SimTime at;
  guint32 link;
  double capacity;
} PlayChange;

typedef struct {
  guint32 n_links;
  double *capacities;
  guint32 n_flows;
  PlayFlow *flows;
  guint32 n_changes;
  PlayChange *changes;
} PlayScript;

typedef struct {
  SimTime *ends;      /* per flow; SIM_TIME_NEVER: cancelled */
  double *link_bytes; /* per link, when all is over */
  SimTime *link_busy;
  GArray *instants; /* SimTime: every instant at which something happened */
  GArray *rates;    /* double: of every flow (0: not active) at the end of every instant */
  guint64 events;
} PlayResult;

typedef struct Play Play;

/* Looks at a play at the end of an instant. */
typedef void (*PlayLook)(const Play *play);

typedef struct {
  Play *play;
  Event start, cancel;
  NetFlow flow;
  gboolean active;
} PlayActor;

struct Play {
  const PlayScript *script;
  EventQueue *queue;
  NetSystem *net;
  PlayActor *actors;
  double *capacities; /* of now */
  Event *changes;
  PlayResult *result;
};

/* Plays to the end; `look` (may be NULL) is called at the end of every instant. Rates are written down where `rates`.
 */
PlayResult *play_looking(const PlayScript *script, NetSolver solver, gboolean rates, PlayLook look);

PlayResult *play(const PlayScript *script, NetSolver solver);

void play_result_free(PlayResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlayResult, play_result_free)

gboolean play_same_bits(const void *a, const void *b, gsize n);

/* Ends, link bytes, busy times and, where written down, instants and rates: all bit by bit. */
gboolean play_results_equal(const PlayScript *script, const PlayResult *a, const PlayResult *b);
