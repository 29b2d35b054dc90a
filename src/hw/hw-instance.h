/* SPDX-License-Identifier: MIT */
/* What clouds call a machine ("p5.48xlarge") to the topology of it. For this floor alone.
 *
 *   char *topology = hw_instance_topology("P5.48xlarge", &near);      // "aws-p5"; NULL: no such instance
 *
 * The table is topologies/catalog/instances.ini of the first data folder that has it: a group for each cloud, a line
 * for each name. */
#pragma once

#include "base-error.h"

/* Whatever the case. Caller frees. NULL: not in the table, and then *ret_near, which the caller frees, is the name that
 * was perhaps meant, or NULL. */
char *hw_instance_topology(const char *name, char **ret_near);
