/* SPDX-License-Identifier: MIT */
/* What a step draws: watts of a GPU, kilowatt-hours of a step and of a training.
 *
 *   watts of a board
 *   limit   ┤▒▒▒▒▒▒▒▒▒▒▒┐                     matmuls: what the clocks that the limit leaves draw (kernel_power_matmul)
 *           │▒▒▒▒▒▒▒▒▒▒▒│
 *   streams ┤▒▒▒▒▒▒▒▒▒▒▒├────────┐            kernels that wait for memory
 *   waits   ┤           │        ├──────────  exposed communication, idle
 *           └───────────┴────────┴──────────  time of a step
 *            its FLOP / the rate of matmuls, the rest of its compute, the rest of the step
 *
 *   building = (boards + the rest of the nodes) × PUE
 *
 * Figures that nobody gave are topologies/catalog/energy.csv's, each with its source; one's own are settings of the
 * group `power` of a topology. `[cluster] power_cap` moves the limit. */
#pragma once

#include <glib.h>

typedef struct {
  double waiting, streaming; /* shares of the limit that the chip has on its own board */
  double node_overhead;      /* watts of a node beside its GPUs' boards; 0: `overhead_share` of their limits */
  double overhead_share;
  double pue;
  double kwh_price; /* USD; 0: not known */
} StudyPower;

/* Errors: of the file. */
gboolean study_power_load(StudyPower *ret, GError **error);
