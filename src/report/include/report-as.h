/* SPDX-License-Identifier: MIT */
/* A step in the words of other tools' logs, so that what reads these reads a prediction too.
 *
 *   report_as(report, REPORT_AS_TORCHTITAN, text);
 *   // step:  1  memory: 68.32GiB(71.88%)  tps: 8,369  tflops: 430.10  mfu: 43.49%
 *
 * What only training itself finds (loss, norm of the gradients, learning rate) is left out of the lines. DeepSpeed's
 * wall-clock breakdown is cut from the timeline of the slowest ranks: fwd ends with the last operation of forward,
 * bwd_inner with backward's, bwd_allreduce with the reductions that are then under way, and the rest is the step; its
 * timers synchronise the device where the same step without them would not. Without a timeline that breakdown is left
 * out. Sources: DeepSpeed's utils/timer.py; torchtitan's components/metrics.py; Megatron-LM's training/training.py and
 * training/utils.py. */
#pragma once

#include "run-report.h"

typedef enum { REPORT_AS_DEEPSPEED, REPORT_AS_TORCHTITAN, REPORT_AS_MEGATRON, REPORT_TOOLS } ReportTool;
extern const char *const report_tool_names[]; /* "deepspeed", … */

/* Appends lines. */
void report_as(const RunReport *report, ReportTool tool, GString *text);
