/* SPDX-License-Identifier: MIT */
/* Whether a run of nccl-tests can stand beside what is predicted: import and comparison refuse the same.
 *
 *   g_autofree char *why = import_run_refusal(run);      // "one rank alone communicates with nobody"
 */
#pragma once

#include "import-nccl-tests.h"

/* Why a run says nothing, whatever machine it is compared with; NULL: it does. Caller frees. */
char *import_run_refusal(const ImportRun *run);
/* "NVIDIA H100 80GB HBM3" is an h100-sxm5-80gb as far as its first word says; TRUE where it is another, FALSE where the
 * log does not name its GPU. */
gboolean import_run_other_gpu(const ImportRun *run, const char *gpu);
/* Whether the rows' reductions are those of the operation: "none" is no all-reduce's, "sum" no all-gather's. */
gboolean import_run_may_be(const ImportRun *run, ImportOperation operation);
/* Whether nccl-tests found the row's results wrong, either way. */
gboolean import_row_is_wrong(const ImportRow *row);
