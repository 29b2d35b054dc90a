/* How many channels a communicator has, from its graphs: private to this floor.
 *
 *   search channels ×2 (a ring, two trees) ×2 where they are few and fast over nodes, within the user's bounds;
 *   NVLS by GPU; point-to-point: as many, to a power of two, and of them so many to one peer. */
#pragma once

#include "coll-search.h"

void coll_channels_count(CollGraphs *graphs, const CollSystem *system, const CollSearchRules *rules,
                         const CollGraphRequest *request);
