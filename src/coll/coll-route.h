/* Links that all rings, or all trees, of a communicator load: private to this floor. */
#pragma once

#include "coll-group.h"
#include "coll-layout.h"

/* When each of `rings` rings goes at rate 1. */
CollRoute coll_route_ring(const CollLayout *layout, guint32 rings);
/* When both trees of each of `rings` rings go at rate 1, up and down. */
CollRoute coll_route_tree(const CollLayout *layout, guint32 rings);
void coll_route_clear(CollRoute *route);
/* Rate at which a route fills its tightest link; G_MAXDOUBLE where it has none. */
double coll_route_rate(const CollRoute *route, const HwCluster *cluster);
