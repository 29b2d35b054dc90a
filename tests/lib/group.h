/* SPDX-License-Identifier: MIT */
/* A communicator for tests: NCCL without knobs, all its algorithms connected. The cluster must outlive it. */
#pragma once

#include "coll-group.h"
#include "coll-library.h"

CollGroup *group_new(const HwCluster *cluster, const guint32 *ranks, guint32 n, GError **error);

/* Of ranks 0 to n − 1. */
CollGroup *group_of_first(const HwCluster *cluster, guint32 n);
