/* SPDX-License-Identifier: MIT */
/* What the host noted of its collectives, for kernels that do not say themselves what they send. Private to this floor.
 *
 *   host     ╭─ record_param_comms: allreduce, 100 elements, group "0" ─╮     since PyTorch 2.2
 *            │  ╭─ nccl:all_reduce: [[100]], float ─╮                   │     since PyTorch 1.9
 *            │  │   cudaLaunchKernel ───────────────┼───────────────────┼──► ncclKernel_AllReduce_RING_LL_Sum_float
 */
#pragma once

#include "import-kineto-args.h"
#include "import-kineto-read.h"

/* By an event's name: it may be a note. */
gboolean import_kineto_is_note(const char *name);
/* Keeps the event where it is such a note. `group`: of it, or IMPORT_KINETO_NONE. */
void import_kineto_note(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at, gint group);
/* Gives each silent kernel what is noted around its launch, and marks those whose launch is not in the file. */
void import_kineto_use_notes(ImportKinetoTrace *trace);
