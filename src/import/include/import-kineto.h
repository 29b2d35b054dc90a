/* SPDX-License-Identifier: MIT */
/* A measured step from a trace of PyTorch's profiler (Kineto's JSON): what the GPU computed, what it sent, what of that
 * was exposed.
 *
 *   ImportKineto measured;
 *   if (!import_kineto_load("rank0.json", &measured, error)) return FALSE;
 *   … measured.step, measured.exposed, measured.of[IMPORT_TRACED_ALL_GATHER].busy …
 *
 * Steps are those that the profiler marks (ProfilerStep#7), from one mark to the next: the GPU's own where they are
 * there, else the host's. Of several the one of middle length is taken; without marks everything from the first kernel
 * to the last is one. Kernels of NCCL, RCCL, DeepEP and PyTorch's symmetric memory are communication, other kernels and
 * copies within the GPU are compute; copies from and to the host are neither. compute + exposed + idle = step, exactly.
 * The file is read from front to back, not held; of several GPUs in one file the first is taken. Errors
 * (SIM_ERROR_INPUT): no such file, one that is packed, no JSON (with line), no kernels. Cost: about 5 ns a byte. */
#pragma once

#include "base-quantity.h"

typedef enum {
  IMPORT_TRACED_ALL_REDUCE,
  IMPORT_TRACED_ALL_GATHER,
  IMPORT_TRACED_REDUCE_SCATTER,
  IMPORT_TRACED_OTHER, /* broadcast, reduce, all-to-all, send and receive */
  IMPORT_COLLECTIVES
} ImportCollective;

typedef struct {
  guint calls;
  SimTime busy;    /* kernels' times, added up */
  SimTime exposed; /* when it runs and no compute does; of two at once the one that began first */
} ImportTraffic;

/* HolisticTraceAnalysis' figures (get_temporal_breakdown, get_comm_comp_overlap), over what it looks at: all of the
 * file, without the last of several marked steps. Kernels are told apart by their names as it does: memory copies and
 * sets are neither compute nor communication, but no idle time; communication that is not NCCL's or RCCL's counts as
 * compute. compute + non_compute + idle = kernel_time. Checked against HTA's own program, commit f4d0062. */
typedef struct {
  SimTime kernel_time; /* from the first kernel to the end of the last */
  SimTime compute, non_compute, idle;
  SimTime communication, overlap; /* overlap: communication beside compute */
} ImportKinetoFigures;

typedef struct {
  guint steps, taken; /* marked by the profiler, 0: none is; which, from 1 on */
  SimTime step, compute, communication, exposed, idle;
  ImportTraffic of[IMPORT_COLLECTIVES];
  guint foreign; /* communication kernels of the file that are neither NCCL's nor RCCL's: DeepEP, symmetric memory */
  ImportKinetoFigures figures;
} ImportKineto;

gboolean import_kineto_load(const char *path, ImportKineto *ret, GError **error);
