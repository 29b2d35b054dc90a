/* SPDX-License-Identifier: MIT */
/* The tuner that a network's plugin brings: which region holds a call, at edges and between corners. */
#include <CUnit/Basic.h>
#include <math.h>

#include "base-version.h"
#include "coll-tuning.h"
#include "harness.h"

#define MIB (G_GUINT64_CONSTANT(1) << 20)
#define GIB (G_GUINT64_CONSTANT(1) << 30)

static CollRegions regions;

static void expect(guint64 bytes, guint32 ranks, int algorithm, int protocol) {
  const CollRegion *region = coll_regions_find(&regions, "efa-p5", COLL_ALL_REDUCE, 8, bytes, ranks);
  CU_ASSERT_PTR_NOT_NULL_FATAL(region);
  CU_ASSERT_EQUAL(region->algorithm, algorithm);
  CU_ASSERT_EQUAL(region->protocol, protocol);
}

/* aws-ofi-nccl v1.13.2, nccl_ofi_regions.c, p5 with eight GPUs a node: corners as they stand there. */
static void test_corners(void) {
  expect(0, 16, COLL_TREE, COLL_LL128);
  expect(30 * MIB, 16, COLL_TREE, COLL_LL128); /* a corner of it */
  expect(30 * MIB + 1, 16, COLL_NVLS_TREE, COLL_SIMPLE);
  expect(GIB, 16, COLL_NVLS_TREE, COLL_SIMPLE);
  expect(GIB, 32, COLL_RING, COLL_LL128);
  expect(GIB, 64, COLL_RING, COLL_LL128);
  expect(GIB, 128, COLL_RING, COLL_LL128);
  expect(GIB, 256, COLL_NVLS_TREE, COLL_SIMPLE); /* LL128 begins at 1 074 790 400 there */
  expect(GIB, 512, COLL_NVLS_TREE, COLL_SIMPLE);
  expect(8 * GIB, 32, COLL_RING, COLL_SIMPLE);
  expect(25 * MIB, 2048, COLL_TREE, COLL_LL128);
}

/* Between 64 and 128 ranks the edge is straight: at 96 halfway from 117 440 512 to 301 989 888 bytes. */
static void test_between(void) {
  expect(209715200, 96, COLL_TREE, COLL_LL128);
  expect(209715201, 96, COLL_RING, COLL_LL128);
}

static void test_none(void) {
  CU_ASSERT_PTR_NULL(coll_regions_find(&regions, "efa-p5", COLL_ALL_REDUCE, 4, GIB, 32));
  CU_ASSERT_PTR_NULL(coll_regions_find(&regions, "efa-p5", COLL_ALL_GATHER, 8, GIB, 32));
  CU_ASSERT_PTR_NULL(coll_regions_find(&regions, "infiniband", COLL_ALL_REDUCE, 8, GIB, 32));
  CollRegions before;
  CU_ASSERT_TRUE_FATAL(coll_regions_load(BASE_VERSION(2, 20, 3), &before, NULL));
  CU_ASSERT_EQUAL(before.n, 0); /* its NCCL loads no tuner unasked */
}

/* How often the corners go around the point, by angles: the plain twin of counting crossings. */
static gboolean goes_around(const CollRegion *region, double bytes, double ranks) {
  double turned = 0;
  for (guint32 b = 0, a = region->n - 1; b < region->n; a = b++) {
    double ax = (double)region->bytes[a] - bytes, ay = (double)region->ranks[a] - ranks;
    double bx = (double)region->bytes[b] - bytes, by = (double)region->ranks[b] - ranks;
    turned += atan2(ax * by - ay * bx, ax * bx + ay * by);
  }
  return fabs(turned) > 3;
}

static gboolean level_with_corner(const CollRegion *region, guint32 ranks) {
  for (guint32 i = 0; i < region->n; i++)
    if (region->ranks[i] == ranks)
      return TRUE;
  return FALSE;
}

/* Edges themselves, which run level between corners, are the other cases'. Planted: a region whose last corner is left
 * out must differ somewhere. */
static void test_twin(void) {
  g_autoptr(GRand) rand = harness_random();
  guint32 differ = 0;
  for (guint32 i = 0; i < 20000; i++) {
    CollRegion region = regions.regions[g_rand_int_range(rand, 0, (gint32)regions.n)];
    guint32 ranks = (guint32)g_rand_int_range(rand, 2, 3000);
    guint64 bytes = (guint64)(g_rand_double_range(rand, 0, 3) * (double)GIB) | 1;
    CollRegions alone = {.n = 1, .regions = {region}};
    gboolean found = coll_regions_find(&alone, region.platform, (CollOperation)region.operation, region.per_node, bytes,
                                       ranks) != NULL;
    gboolean around = goes_around(&region, (double)bytes, ranks);
    CU_ASSERT_TRUE(found == around || level_with_corner(&region, ranks));
    region.n--;
    differ += around != goes_around(&region, (double)bytes, ranks);
  }
  CU_ASSERT_TRUE(differ > 0);
}

int main(void) {
  if (!coll_regions_load(BASE_VERSION(2, 21, 5), &regions, NULL))
    g_error("no regions");
  return harness_run("coll-regions", (HarnessCase[]){{"corners", test_corners},
                                                     {"between corners", test_between},
                                                     {"no tuner", test_none},
                                                     {"plain twin", test_twin},
                                                     {NULL, NULL}});
}
