/* SPDX-License-Identifier: MIT */
/* A PyTorch execution trace (ExecutionTraceObserver's JSON, schemas 1.0.1 to 1.1.x) as what its operations were called
 * with: shapes and types, by the number that the profiler's trace of the same run gives them too ("Record function id",
 * rf_id). Private to this floor.
 *
 *   g_autoptr(ImportExecution) execution = import_execution_read("et.json", error);
 *   if (import_execution_link(execution, event)) …          // event->dims, event->types, if it had none
 *   if (!import_execution_check(execution, "rank0.json", error)) return NULL;
 *
 * It has no times, so that it is of use beside a profiler's trace alone. Cost: one pass; its texts are kept. */
#pragma once

#include "import-kineto-args.h"

typedef struct ImportExecution ImportExecution;

/* Packed or not, or the one file of an archive. Errors (SIM_ERROR_INPUT): no such file, no JSON (with line), no such
 * trace. */
ImportExecution *import_execution_read(const char *path, GError **error);
void import_execution_free(ImportExecution *execution);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportExecution, import_execution_free)

/* Whether it has the event's operation, of the same number and name: then what the profiler did not note is filled
 * in. */
gboolean import_execution_link(ImportExecution *execution, ImportKinetoEvent *event);
/* FALSE, and the sentence: of the events of `trace` whose numbers it has, most have other names, or there are none. */
gboolean import_execution_check(const ImportExecution *execution, const char *trace, GError **error);
