/* SPDX-License-Identifier: MIT */
/* A shipped cluster for tests: cluster_new("dgx-h100", 2, "node.nics=4", NULL). Overrides end with NULL. */
#pragma once

#include "conf-settings.h"
#include "hw-cluster.h"

typedef struct {
  HwCatalog *catalog;
  ConfSettings *settings;
  HwCluster *cluster;
} TestCluster;

TestCluster cluster_new(const char *topology, guint32 nodes, ...);

void cluster_clear(TestCluster *built);
