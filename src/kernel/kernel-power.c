/* SPDX-License-Identifier: MIT */
/* The clock that a power limit leaves.
 *
 *   watts                                   a kernel draws   fixed + dynamic × f × v(f)²     v(f): a straight line
 *   limit ┤- - - - - - - -╭───
 *         │             ╱ ┊          long matmuls want more than the limit at the boost clock (f = 1), and the board
 *         │          ╱    ┊          lowers the clock until they draw the limit; kernels that use the tensor cores less
 *   fixed ┤──────╱        ┊          draw less, and keep theirs
 *         └──────────────────── f
 *                         ↑ what is left
 *
 * A kernel's section says which rate it sustained at the limit that it was measured at; from that follows what it would
 * draw at the boost clock, and from that the rate under any other limit. Figures: topologies/catalog/power.ini. */
#include "kernel-device.h"

#define HALVINGS 52 /* bits of a double: exact to its last, the same everywhere */

/* What the SMs draw at a clock, of what they draw at the boost clock. */
static double drawn(const HwPower *power, double clock) {
  double voltage = power->rest_voltage + (1 - power->rest_voltage) * clock;
  return clock * voltage * voltage;
}

/* The clock at which they draw a share of it, 0 < share < 1. */
static double clock_for(const HwPower *power, double share) {
  double low = 0, high = 1;
  for (int i = 0; i < HALVINGS; i++) {
    double middle = (low + high) / 2;
    if (drawn(power, middle) <= share)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* The limit that the sustained rates were measured at. */
static double measured_at(const HwGpu *gpu) {
  return gpu->power_measured > 0 ? gpu->power_measured : gpu->power_limit;
}

/* What the SMs would draw at the boost clock. */
static double wanted(const HwGpu *gpu, double sustained, double activity) {
  double left = (1 - gpu->power->fixed) * measured_at(gpu), matmul = gpu->matmul[HW_MATMUL_16BIT]->sustained;
  return sustained < 1 ? left / drawn(gpu->power, sustained) : MIN(activity / drawn(gpu->power, matmul), 1) * left;
}

double kernel_power_draw(const HwGpu *gpu, double sustained, double activity) {
  if (gpu->power_limit <= 0)
    return 0;
  return MIN(gpu->power_limit, gpu->power->fixed * measured_at(gpu) + wanted(gpu, sustained, activity));
}

double kernel_power_rate(const HwGpu *gpu, double sustained, double activity) {
  if (gpu->power_limit == measured_at(gpu))
    return sustained;
  double full = wanted(gpu, sustained, activity), left = gpu->power_limit - gpu->power->fixed * measured_at(gpu);
  return left >= full ? 1 : clock_for(gpu->power, MAX(left, 0) / full);
}
