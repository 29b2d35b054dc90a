/* SPDX-License-Identifier: MIT */
/* What the search found for a communicator, as the rest of the floor needs it: private to this floor. */
#pragma once

#include "coll-group.h"
#include "coll-library.h"

/* Fills a group that has its layout, tuning and knobs: speeds, rings with their NICs, channels, kind of hop. */
gboolean coll_search_result(CollGroup *group, CollLibrary *library, GError **error);
