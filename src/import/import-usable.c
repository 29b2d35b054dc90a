/* SPDX-License-Identifier: MIT */
/* Runs that say nothing: failed, of RCCL, each process alone, one rank, wrong results, versions without a table. */
#include "import-usable.h"

#include <string.h>

#include "coll-tuning.h"

gboolean import_row_is_wrong(const ImportRow *row) {
  return row->out_of_place.wrong >= 1 || row->in_place.wrong >= 1;
}

/* Whether the rows say themselves whose results were wrong: then they alone are left out. */
static gboolean rows_tell(const ImportRun *run) {
  for (guint i = 0; i < run->rows->len; i++)
    if (import_row_is_wrong(&g_array_index(run->rows, ImportRow, i)))
      return TRUE;
  return FALSE;
}

char *import_run_refusal(const ImportRun *run) {
  if (run->rccl)
    return g_strdup("it is RCCL's: AMD GPUs are not modelled yet");
  if (run->rows->len == 0)
    return run->failure != NULL ? g_strdup_printf("it failed before its first row: %s", run->failure)
                                : g_strdup("it has no rows");
  if (run->processes > 1)
    return g_strdup_printf("%u processes each printed as rank 0, so each ran alone (nccl-tests built without MPI?)",
                           run->processes);
  if (run->bad_values > 0 && !rows_tell(run))
    return g_strdup_printf("%u results were wrong", run->bad_values);
  g_autoptr(GError) why = NULL;
  gboolean exact;
  g_autofree char *table = coll_tuning_find(run->nccl_version, &exact, &why);
  if (table == NULL)
    return g_strdup(why->message);
  return run->ranks == 1 ? g_strdup("one rank alone communicates with nobody") : NULL;
}

gboolean import_run_other_gpu(const ImportRun *run, const char *gpu) {
  if (run->gpu == NULL)
    return FALSE;
  g_auto(GStrv) words = g_strsplit(gpu, "-", 2);
  g_autofree char *printed = g_ascii_strdown(run->gpu, -1);
  g_auto(GStrv) without_blanks = g_strsplit(printed, " ", -1);
  g_autofree char *joined = g_strjoinv("", without_blanks);
  return strstr(joined, words[0]) == NULL;
}

gboolean import_run_may_be(const ImportRun *run, ImportOperation operation) {
  gboolean reduces = operation == IMPORT_ALL_REDUCE || operation == IMPORT_REDUCE_SCATTER || operation == IMPORT_REDUCE;
  for (guint i = 0; i < run->rows->len; i++) {
    const char *reduction = g_array_index(run->rows, ImportRow, i).reduction;
    if (*reduction != '\0' && (strcmp(reduction, "none") != 0) != reduces)
      return FALSE;
  }
  return TRUE;
}
