/* Shapes of channels that a communicator gets, and how many channels: private to this floor. */
#pragma once

#include "coll-group.h"

/* Fills patterns, rings, channels and the kind of hop of a group that has its layout, tuning and knobs. */
void coll_search(CollGroup *group);
