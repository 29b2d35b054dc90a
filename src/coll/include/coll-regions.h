/* SPDX-License-Identifier: MIT */
/* The choice of a tuner that the network's plugin brings: regions of bytes and ranks, each with its algorithm and
 * protocol (topologies/catalog/nccl-tuners.ini), as aws-ofi-nccl has them for AWS's p5.
 *
 *   CollRegions regions;
 *   if (!coll_regions_load(version, &regions, error)) return FALSE;           // for all platforms, of this NCCL
 *   const CollRegion *region = coll_regions_find(&regions, "efa-p5", COLL_ALL_REDUCE, 8, 1 << 30, 128);
 *
 * The first region that holds the point counts, its edges included; corners are whole numbers, so whether a point lies
 * inside is exact. Errors: SIM_ERROR_INPUT with file, section and key. A look-up costs O(corners). */
#pragma once

#include "coll-call.h"

#define COLL_REGION_CORNERS 20
#define COLL_REGIONS        32

typedef struct {
  char platform[16];
  int operation; /* CollOperation */
  guint32 per_node;
  int algorithm, protocol; /* CollAlgorithm, CollProtocol */
  guint32 n;
  gint64 bytes[COLL_REGION_CORNERS], ranks[COLL_REGION_CORNERS];
} CollRegion;

typedef struct CollRegions {
  guint32 n;
  CollRegion regions[COLL_REGIONS];
} CollRegions;

/* Those of tuners that NCCL `release` (BASE_VERSION) loads unasked. */
gboolean coll_regions_load(guint32 release, CollRegions *ret, GError **error);
/* NULL: none holds the point. */
const CollRegion *coll_regions_find(const CollRegions *regions, const char *platform, CollOperation operation,
                                    guint32 per_node, guint64 bytes, guint32 ranks);
