/* SPDX-License-Identifier: MIT */
/* Trace files: the Program of a workload as text, and a Report of such a text.
 *
 *   study_trace(study, text, error);                                  // what `foretrain trace` writes
 *   g_autoptr(StudyTrace) trace = study_trace_open("a.trace.csv", error);
 *   study_trace_set(trace, "cluster.topology=dgx-h100", error);
 *   g_autoptr(RunReport) report = study_trace_run(trace, &replay, &options, error);
 *
 * On the topology the trace was made for the report equals that of the workload, to the picosecond and the byte, run
 * key and settings apart. Nodes follow from the ranks where cluster.nodes is not set.
 *
 * Whose are compute times? The durations of a trace are its GPU's. On the same GPU they are kept, and a row whose
 * duration is what the kernel model gives stays the model's, as in the run it was written from. On another GPU that
 * must be said: to be kept, or to be had from the kernel model, by the rows' shapes. Rows without a duration are always
 * the model's. Then `compute_scale` stretches them all. What the host pays is always the trace's. */
#pragma once

#include "study.h"

typedef struct StudyTrace StudyTrace;

typedef enum { STUDY_TIMES_OF_SAME_GPU, STUDY_TIMES_KEPT, STUDY_TIMES_OF_SHAPES } StudyTimes;

typedef struct {
  StudyTimes times;
  double compute_scale; /* > 0 */
} StudyReplay;
#define STUDY_REPLAY_DEFAULT ((StudyReplay){STUDY_TIMES_OF_SAME_GPU, 1})

/* Appends. Errors: SIM_ERROR_INPUT, as study_run. */
gboolean study_trace(Study *study, GString *text, GError **error);

/* The same as Chakra execution traces (program-chakra.h): `write` gets each file's ending and contents, "0.et" of rank
 * 0 and so on, then "groups.json". Errors: of the settings, of the Program, of `write`, whose FALSE ends it. */
typedef gboolean (*StudyFile)(const char *ending, const guint8 *data, gsize length, gpointer user, GError **error);
gboolean study_chakra(Study *study, StudyFile write, gpointer user, GError **error);

/* Reads and checks the file: see program-check.h for the rules. */
StudyTrace *study_trace_open(const char *path, GError **error);
void study_trace_free(StudyTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StudyTrace, study_trace_free)
/* "group.key=value", of [cluster], [nccl] or the topology's groups. */
gboolean study_trace_set(StudyTrace *trace, const char *assignment, GError **error);
/* GPUs of the cluster that is set; the trace's ranks where cluster.nodes is not. Errors: as study_trace_run. */
gboolean study_trace_gpus(const StudyTrace *trace, guint32 *ret_gpus, GError **error);
/* The trace keeps nothing of a run. */
RunReport *study_trace_run(const StudyTrace *trace, const StudyReplay *replay, const StudyOptions *options,
                           GError **error);
