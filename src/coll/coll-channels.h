/* SPDX-License-Identifier: MIT */
/* How many channels a communicator has, from its graphs: private to this floor.
 *
 *   search channels ×2 (a ring, two trees) ×2 where they are few and fast over nodes, within the user's bounds;
 *   NVLS by GPU; point-to-point: as many, to a power of two, and of them so many to one peer. */
#pragma once

#include "coll-search.h"

/* Channels to peers, from the paths: graphs->node_peer and net_peer. */
void coll_channels_peers(CollGraphs *graphs, const CollSystem *system, const CollSearchRules *rules);
