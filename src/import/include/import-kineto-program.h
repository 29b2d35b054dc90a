/* SPDX-License-Identifier: MIT */
/* A measured step as a Program: what a profiler saw is played again, and played on other machines.
 *
 *   ProgramOrigin origin = {0};
 *   g_autoptr(Program) program = import_kineto_program(paths, n, &origin, error);   // one rank's file, or all ranks'
 *   program_trace_write(program, &origin, NULL, text);
 *
 *   host     launch ─ launch ─ … ─ wait ─ launch     in the order of the calls, at the cost between them
 *   streams  kernels of compute, which take the time that they took; copies from and to the host, by their bytes
 *            collectives by what PyTorch wrote with them, whose times are simulated
 *
 * Waits: a collective waits for the kernel that its thread launched before it, as NCCL's process group lets it; the
 * host where it synchronised, for what had ended by then. Which event a stream waited for is not in such traces. It is
 * taken to be the newest collective or copy of another stream that had ended when the next kernel began, where the
 * thread asked its stream to wait; and the row of another stream that ended last, where a stream stood still although
 * its next kernel was launched. Memory is not in it. The step is that of import-kineto.h, by the host's marks where
 * calls are known.
 *
 * One file stands for all ranks of its world: they do the same, and groups repeat in the same pattern. Errors
 * (SIM_ERROR_INPUT): as import_kineto_load; NCCL's kernels that do not say what they send (PyTorch writes it since
 * 2.2); a group whose ranks are not stated and follow from nothing; fewer files than ranks, but one. */
#pragma once

#include "import-kineto.h"
#include "program-trace.h"

/* Paths of files, of rank 0 first where they do not say their rank. *ret_origin is to be cleared; ret_measured[n]: the
 * step of each as it was measured, by rank. */
Program *import_kineto_program(const char *const *paths, guint n, ProgramOrigin *ret_origin, ImportKineto *ret_measured,
                               GError **error);
