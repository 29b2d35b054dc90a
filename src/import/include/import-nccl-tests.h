/* SPDX-License-Identifier: MIT */
/* Logs of nccl-tests (and of what ran around them) as runs of rows.
 *
 *   g_autoptr(ImportLog) log = import_log_load("all_reduce.log", error);
 *   for (guint i = 0; i < log->runs->len; i++) {
 *     const ImportRun *run = g_ptr_array_index(log->runs, i);
 *     … run->operation, run->ranks, run->nodes, g_array_index(run->rows, ImportRow, k) …
 *   }
 *
 * Read are all layouts of the table since 2017, with launchers' tags, Markdown around it, NCCL's messages between and
 * inside rows, several runs in a file. What a log does not state is unknown, not guessed; two things are derived from
 * the table itself, as its arithmetic is known (nccl-tests doc/PERFORMANCE.md): ranks from bytes / (count × size of an
 * element) or from bus over algorithm bandwidth, and all-reduce where that ratio passes one, which no other operation's
 * does. Nothing is dropped silently: `skipped` says which line was not used and why. */
#pragma once

#include "base-error.h"
#include "import-row.h"

typedef enum {
  IMPORT_UNKNOWN,
  IMPORT_ALL_REDUCE,
  IMPORT_ALL_GATHER,
  IMPORT_REDUCE_SCATTER,
  IMPORT_BROADCAST,
  IMPORT_REDUCE,
  IMPORT_ALL_TO_ALL,
  IMPORT_SEND_RECEIVE,
  IMPORT_GATHER,
  IMPORT_SCATTER,
  IMPORT_HYPERCUBE,
} ImportOperation;
extern const char *const import_operation_names[]; /* "unknown", "all-reduce", … */

typedef struct {
  const char *file; /* of the log's files */
  guint line;       /* where it begins */
  ImportOperation operation;
  guint ranks, nodes; /* 0: unknown */
  gboolean derived;   /* ranks, or the operation too, come from the table's arithmetic */
  guint driven;       /* GPUs that one process drives, by its threads and GPUs; 0: not printed */
  guint processes;    /* that printed as rank 0: more than one where nccl-tests was built without MPI */
  gboolean rccl;
  char *gpu;          /* "NVIDIA H100 80GB HBM3" of the first rank; NULL: not printed */
  char *nccl_version; /* "2.22.3"; NULL: not printed */
  char *failure;      /* the first message of failure; NULL: none */
  guint failure_line;
  guint bad_values; /* "Out of bounds values" */
  GArray *rows;     /* ImportRow, of more than no bytes */
} ImportRun;

typedef struct {
  const char *file;
  guint line;
  char *why;
} ImportSkip;

typedef struct {
  GPtrArray *files;   /* char *: names, in order of reading */
  GPtrArray *runs;    /* ImportRun */
  GPtrArray *skipped; /* ImportSkip, in order of files and lines */
} ImportLog;

/* Errors (SIM_ERROR_INPUT): no such file. A log without rows is none: its runs say why. Cost: the text. */
ImportLog *import_log_load(const char *path, GError **error);
/* Several files as one log, NULL-terminated: one node's, several nodes', other operations'. */
ImportLog *import_log_load_all(const char *const *paths, GError **error);
/* From memory; any bytes are taken. */
ImportLog *import_log_parse(const char *name, const char *text, gsize length);
void import_log_free(ImportLog *log);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ImportLog, import_log_free)
