/* SPDX-License-Identifier: MIT */
/* Energy of a walk's report: private to this floor. */
#pragma once

#include "kernel-time.h"
#include "study-energy.h"
#include "study-walk.h"

/* The figures of the catalogue under those that the settings give. */
StudyPower study_power_of(const StudyPower *figures, const ConfSettings *settings);
/* Watts of a board, mean over a step. `flops`: executed by one GPU; all times of the same unit. 0: no limit of it is
 * known. */
double study_power_mean(const StudyPower *power, const HwGpu *gpu, KernelDtype dtype, double flops, double compute,
                        double step);
/* Fills gpu_power, energy_per_step, energy_to_train and energy_cost of a report whose step and rates stand. */
void study_walk_energy(const StudyWalk *walk, const StudyPower *figures, RunReport *report);
