/* SPDX-License-Identifier: MIT */
/* GPUs that differ a little, and everybody who waits for the slowest of them.
 *
 *   double behind = hw_spread_slowest(0.042, 256);       // 0.0417: what the expected slowest of 256 takes longer
 *
 * Kernel times are taken as normal about a typical GPU's, with the standard deviation that a node of eight shows as its
 * spread. Training waits at every step for its slowest GPU, so all of a job's kernels are played at the pace that is
 * expected of it: no draw, and nothing to fold apart. The others' waits for it count as compute. O(1). */
#pragma once

#include <glib.h>

/* `spread`: of kernel times, slowest less fastest of eight GPUs, as a share of a typical one's. */
double hw_spread_slowest(double spread, guint32 gpus);
