/* SPDX-License-Identifier: MIT */
/* What one rank's host issues in a step, in order: kernels by their launches, and where the host waits. Private to this
 * floor. */
#pragma once

#include "import-kineto-read.h"
#include "program.h"

typedef struct {
  BaseSpan at;    /* first: of the call; of the kernel itself where no call of it is known */
  gint kernel;    /* index; IMPORT_KINETO_NONE: the host waits */
  gboolean known; /* the call is */
  gboolean waits; /* its thread let a stream wait since its last launch */
  const char *name;
  gint64 thread;
} ImportKinetoIssue;

/* In order. *ret_window: the step on the host's clock; on the GPU's where no calls are known. ret_n, ret_taken: see
 * import_kineto_step. The caller frees it. */
GArray *import_kineto_issues(ImportKinetoTrace *trace, BaseSpan *ret_window, guint *ret_n, guint *ret_taken);
/* The same step on the GPU's clock: from the first of its kernels to the first of the next step's, or to its last one's
 * end. */
BaseSpan import_kineto_on_gpu(const ImportKinetoTrace *trace, const GArray *issues);

/* By the thread and what runs on it: the optimizer's; backward by autograd's numbers or on a thread of its own, and
 * recompute where a module runs within it; else forward; collectives are gathers and reductions. -1: of no layer. */
ProgramPhase import_kineto_phase(const ImportKinetoTrace *trace, const ImportKinetoIssue *issue, gint32 *ret_layer);
