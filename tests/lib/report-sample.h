/* SPDX-License-Identifier: MIT */
/* A believable Report without a simulation: Llama-2-7B on 16 GPUs in two nodes, any ZeRO stage, two rank classes.
 *
 *   g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
 *
 * Class 0 is 14 ranks, class 1 two ranks whose GPU is 5 % slower, so that class 1 is the slowest. A compute stream runs
 * 32 layers forward and backward and the optimizer, a communication stream what the stage asks for; whatever compute
 * does not fill is exposed (communication resident) or idle, so the sums hold by construction. Memory: parameters and
 * gradients 2 bytes each, optimizer 12, sharded as the stage says. */
#pragma once

#include "run-report.h"

#define SAMPLE_PARAMETERS G_GUINT64_CONSTANT(6738415616)
#define SAMPLE_CAPACITY   (G_GUINT64_CONSTANT(79) << 30)

RunReport *report_sample(guint32 zero_stage, guint64 capacity);
