/* SPDX-License-Identifier: MIT */
/* What nccl-tests says around its table: operation, versions, who the ranks are. Private to this floor.
 *
 *   # Collective test starting: all_reduce_perf
 *   # nccl-tests version 2.17.8 nccl-headers=22902 nccl-library=22902
 *   #  Rank  0 Group  0 Pid 1000 on node00 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3 */
#pragma once

#include "import-nccl-tests.h"

/* By the name of a program ("…/all_reduce_perf_mpi -b 8"); IMPORT_UNKNOWN where there is none. */
ImportOperation import_banner_operation(const char *text);
/* GPUs of a process: threads × GPUs of a thread, in "nThread 1 nGpus 8 minBytes …"; 0: no such line. */
guint import_banner_driven(const char *text);
/* NCCL's own version ("2.22.3") in "NCCL version 2.22.3+cuda12.6" or "nccl-library=22203"; NULL: none. Caller frees. */
char *import_banner_version(const char *text);
/* Words between blanks, up to a remark behind a row ("… # ring LL128 16"); g_strfreev. */
char **import_words(const char *text);

typedef struct {
  guint rank, group;
  char host[64], gpu[64]; /* gpu "": not printed */
} ImportRank;

gboolean import_banner_rank(const char *text, ImportRank *ret);

/* The ranks of one run as they are listed. Starts zeroed. */
typedef struct {
  GPtrArray *hosts; /* distinct, of the first group */
  guint most, listed, most_group, zeros;
} ImportRanks;

void import_ranks_add(ImportRanks *ranks, ImportRun *run, const ImportRank *rank);
/* Writes ranks, nodes and processes of a run whose rows are all read. */
void import_ranks_take(ImportRanks *ranks, ImportRun *run);
void import_ranks_clear(ImportRanks *ranks);
