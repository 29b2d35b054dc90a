/* SPDX-License-Identifier: MIT */
/* A measured step as a Program: what a profiler saw is played again, and played on other machines.
 *
 *   g_autoptr(ImportKinetoSet) set = import_kineto_open(paths, n, error);      // one rank's file, or all ranks'
 *   … import_kineto_measured(set, 0)->step …
 *   ProgramOrigin origin = {0};
 *   g_autoptr(Program) program = import_kineto_program(set, &IMPORT_KINETO_DEFAULT, &origin, error);
 *   program_trace_write(program, &origin, NULL, text);
 *
 *   host     launch ─ launch ─ … ─ wait ─ launch     in the order of the calls, at the cost between them
 *   streams  kernels of compute, which take the time that they took; copies from and to the host, by their bytes
 *            collectives by what PyTorch wrote with them, or noted around their launch; their times are simulated
 *
 * Waits: a collective waits for the kernel that its thread launched before it, as NCCL's process group lets it; the
 * host where it synchronised, for what had ended by then. Which event a stream waited for is not in such traces. It is
 * taken to be the newest collective or copy of another stream that had ended when the next kernel began, where the
 * thread asked its stream to wait; and the row of another stream that ended last, where a stream stood still although
 * its next kernel was launched. Memory is not in it. The step is that of import-kineto.h, by the host's marks where
 * calls are known.
 *
 * With every rank's file their clocks are laid over each other at the ends of collectives, which all members see at
 * once, and a rank that began its step later than the first one begins later in the replay too. One file stands for
 * all ranks of its world: they do the same, and groups repeat in the same pattern. Played on more ranks, what grows are
 * the groups that go around the whole world, or over it at even distances (data parallelism); groups of neighbours
 * (tensor parallelism) repeat. */
#pragma once

#include "import-kineto.h"
#include "program-trace.h"

typedef struct ImportKinetoSet ImportKinetoSet;

/* Paths of files, or of tar archives of them, of rank 0 first where they do not say their rank. Errors
 * (SIM_ERROR_INPUT): as import_kineto_load; an archive without JSON; fewer files than ranks, but one. */
ImportKinetoSet *import_kineto_open(const char *const *paths, guint n, GError **error);
/* The same beside PyTorch's execution traces of the same run, one for each file: what the profiler did not note of
 * shapes (record_shapes) is theirs. Errors also: one that cannot be read, or that is of another run. */
ImportKinetoSet *import_kineto_open_linked(const char *const *paths, const char *const *executions, guint n,
                                           GError **error);
void import_kineto_set_free(ImportKinetoSet *set);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportKinetoSet, import_kineto_set_free)
/* How many files, in order of rank; the step of each as it was measured; its rank, -1: it does not say. */
guint import_kineto_files(const ImportKinetoSet *set);
const char *import_kineto_path(const ImportKinetoSet *set, guint file);
const ImportKineto *import_kineto_measured(const ImportKinetoSet *set, guint file);
gint64 import_kineto_rank(const ImportKinetoSet *set, guint file);
/* The longest of the ranks' steps on the host's clock; on the GPU's where no calls are known. */
SimTime import_kineto_length(const ImportKinetoSet *set);
/* Ranks of the world that was measured. */
guint32 import_kineto_ranks(const ImportKinetoSet *set);

typedef struct {
  gboolean keep_unsized;       /* communication that does not say what it sends takes the time that it took */
  gboolean keep_communication; /* all of it does */
  guint32 ranks;               /* 0: as many as were measured */
} ImportKinetoOptions;
#define IMPORT_KINETO_DEFAULT ((ImportKinetoOptions){0})

/* *ret_origin is to be cleared. Errors (SIM_ERROR_INPUT): NCCL's kernels whose payload is said nowhere; a group whose
 * ranks are not stated and follow from nothing; a step without kernels; ranks that cannot be made of those measured. */
Program *import_kineto_program(const ImportKinetoSet *set, const ImportKinetoOptions *options,
                               ProgramOrigin *ret_origin, GError **error);
