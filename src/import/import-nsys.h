/* SPDX-License-Identifier: MIT */
/* Nsight Systems' reports, as `nsys export --type sqlite` writes them, as a profiler's traces. Private to this floor.
 *
 * Read are the tables CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET and _RUNTIME, NVTX_EVENTS, StringIds and
 * TARGET_INFO_GPU (Nsight Systems' user guide, "SQLite Schema Reference"). Times are whole nanoseconds. Steps are NVTX
 * ranges whose text is PyTorch's "ProfilerStep#7", or "step 7" or "iteration 7" of one's own. What NCCL sends is not in
 * such a file. Each process that launched kernels is a rank; of several GPUs of one the first is taken. */
#pragma once

#include "import-kineto-read.h"

/* By its first bytes. */
gboolean import_nsys_is(const char *data, gsize length);
/* Appends an ImportKinetoTrace per process, in order of their numbers. Errors (SIM_ERROR_INPUT): no database, no table
 * of kernels, no kernels. */
gboolean import_nsys_read(const char *path, GPtrArray *traces, GError **error);
