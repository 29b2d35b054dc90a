/* SPDX-License-Identifier: MIT */
/* Operations of a profiler's trace whose shapes are noted: kept as they are read, as what the kernel model takes.
 * Private to this floor. */
#pragma once

#include "import-kineto-args.h"
#include "import-kineto-read.h"

/* Matmuls (aten::mm, addmm, bmm, baddbmm) of two matrices that fit, elementwise operations on tensors that lie
 * alike and layer norms, if they are large enough to say something of the GPU; all else is passed. */
void import_kineto_keep_shaped(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at);
