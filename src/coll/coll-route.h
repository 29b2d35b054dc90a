/* SPDX-License-Identifier: MIT */
/* Links that all rings, or all trees, of a communicator load: private to this floor. */
#pragma once

#include "coll-group.h"
#include "coll-layout.h"

/* Routes of one unit at rate 1 each, all units together. */
CollRoute coll_route_ring(const CollLayout *layout, guint32 rings);
/* Both trees of each of `rings` rings, up and down. */
CollRoute coll_route_tree(const CollLayout *layout, guint32 rings);
/* NVLS: each head loads its part from all and stores it to all; over nodes each head's `trees` double trees. */
CollRoute coll_route_heads(const CollLayout *layout, guint32 heads, guint32 trees);
/* CollNet: up to the network's switches and back by each NIC; in the node a chain from it, or all to all. */
CollRoute coll_route_collnet(const CollLayout *layout, guint32 rings, gboolean chain);
/* One GPU a node, rounds of doubling distance. */
CollRoute coll_route_rounds(const CollLayout *layout);
/* One node: each member sends and receives at rate 1. */
CollRoute coll_route_symmetric(const CollLayout *layout);
/* Each member to the next. */
CollRoute coll_route_next(const CollLayout *layout);
/* Each member one byte to each other: coefficients count bytes times NICs of a node. */
CollRoute coll_route_pairs(const CollLayout *layout);
void coll_route_clear(CollRoute *route);
/* Rate at which a route fills its tightest link; G_MAXDOUBLE where it has none. */
double coll_route_rate(const CollRoute *route, const HwCluster *cluster);
