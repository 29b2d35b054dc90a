/* SPDX-License-Identifier: MIT */
/* Matmuls of a profiler's trace: kept as they are read. Private to this floor. */
#pragma once

#include "import-kineto-args.h"
#include "import-kineto-read.h"

/* Of aten::mm, addmm, bmm and baddbmm with the shapes of two matrices that fit; all else is passed. */
void import_kineto_keep_matmul(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at);
