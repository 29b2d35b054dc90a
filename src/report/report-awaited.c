/* SPDX-License-Identifier: MIT */
/* Times by cause and name, in the order in which names come up; of equals the first. */
#include "report-awaited.h"

#include <string.h>

typedef struct {
  const char *name;
  SimTime by_cause[RUN_CAUSES];
} Waited;

struct ReportAwaited {
  GArray *names; /* Waited */
};

static Waited *find(ReportAwaited *awaited, const char *name) {
  for (guint i = 0; i < awaited->names->len; i++) {
    Waited *waited = &g_array_index(awaited->names, Waited, i);
    if (strcmp(waited->name, name) == 0)
      return waited;
  }
  Waited fresh = {.name = name};
  g_array_append_val(awaited->names, fresh);
  return &g_array_index(awaited->names, Waited, awaited->names->len - 1);
}

ReportAwaited *report_awaited_new(const RunClass *rank_class) {
  ReportAwaited *awaited = g_new(ReportAwaited, 1);
  awaited->names = g_array_new(FALSE, TRUE, sizeof(Waited));
  g_autoptr(GHashTable) by_row = g_hash_table_new(NULL, NULL);
  for (guint32 i = 0; i < rank_class->n_tasks; i++)
    g_hash_table_insert(by_row, GUINT_TO_POINTER(rank_class->tasks[i].row), (gpointer)rank_class->tasks[i].name);
  for (guint32 i = 0; i < rank_class->n_exposures; i++) {
    const RunExposure *piece = &rank_class->exposures[i];
    const char *name = piece->row != G_MAXUINT32 ? g_hash_table_lookup(by_row, GUINT_TO_POINTER(piece->row)) : NULL;
    if (name != NULL)
      find(awaited, name)->by_cause[piece->cause] += (piece->end - piece->start) * piece->repeats;
  }
  return awaited;
}

void report_awaited_free(ReportAwaited *awaited) {
  if (awaited == NULL)
    return;
  g_array_unref(awaited->names);
  g_free(awaited);
}

const char *report_awaited_most(const ReportAwaited *awaited, RunCause cause) {
  const Waited *most = NULL;
  for (guint i = 0; i < awaited->names->len; i++) {
    const Waited *waited = &g_array_index(awaited->names, Waited, i);
    if (waited->by_cause[cause] > (most != NULL ? most->by_cause[cause] : 0))
      most = waited;
  }
  return most != NULL ? most->name : NULL;
}
