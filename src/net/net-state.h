/* The state of the network: private to this floor. */
#pragma once

#include "net-system.h"

struct NetRoute {
  guint32 *links, *coefficients;
  guint32 n;
};

typedef struct {
  double capacity;
  double load;    /* bytes/s, after the last settle */
  double bytes;   /* carried until anchor */
  SimTime busy, anchor;
} NetLink;

struct NetSystem {
  EventQueue *queue;
  NetSolver solver;
  GArray *links;     /* NetLink */
  GPtrArray *flows;  /* NetFlow *, active; order means nothing */
  GPtrArray *routes;
  Event settle;
};

/* Sets `solved` of every active flow and `load` of every link. */
void net_solve_full(NetSystem *net);
