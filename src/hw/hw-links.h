/* SPDX-License-Identifier: MIT */
/* The links of a cluster, laid out by class; for this floor alone. Reads the numbers of a cluster, writes `links`. */
#pragma once

#include "hw-cluster.h"

void hw_links_build(HwCluster *cluster);
