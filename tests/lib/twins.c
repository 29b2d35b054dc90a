/* SPDX-License-Identifier: MIT */
/* Compares two reports field by field, and says which differs first. */
#include "twins.h"

#include <stdlib.h>
#include <string.h>

#include "run-record.h"

/* The first member that differs, of those that `skip` (NULL-terminated) does not name. */
static const char *twins_record(const RunRecord *record, gconstpointer a, gconstpointer b, const char *const *skip) {
  for (guint i = 0; i < record->n; i++)
    if (!g_strv_contains(skip, record->fields[i].member) && !run_field_equal(&record->fields[i], a, b))
      return record->fields[i].member;
  return NULL;
}

static const char *twins_rows(const RunRecord *record, gconstpointer a, guint32 n_a, gconstpointer b, guint32 n_b) {
  const char *differs = n_a != n_b ? "the number of rows" : NULL;
  for (guint32 i = 0; i < n_a && differs == NULL; i++)
    differs = run_record_differs(record, (const char *)a + i * record->size, (const char *)b + i * record->size);
  return differs;
}

static const char *twins_timeline(const RunClass *a, const RunClass *b) {
  const char *differs = twins_rows(&run_record_task, a->tasks, a->n_tasks, b->tasks, b->n_tasks);
  if (differs == NULL)
    differs = twins_rows(&run_record_collective, a->collectives, a->n_collectives, b->collectives, b->n_collectives);
  if (differs == NULL)
    differs = twins_rows(&run_record_exposure, a->exposures, a->n_exposures, b->exposures, b->n_exposures);
  return differs != NULL ? differs : twins_rows(&run_record_sample, a->samples, a->n_samples, b->samples, b->n_samples);
}

/* All but which ranks they are. */
static const char *twins_class(const RunClass *a, const RunClass *b) {
  static const char *const skip[] = {"ranks", "first_rank", "members", "apart", NULL};
  const char *differs = twins_record(&run_record_class, a, b, skip);
  if (differs == NULL && a->has_oom)
    differs = run_record_differs(&run_record_oom, &a->oom, &b->oom);
  return differs != NULL ? differs : twins_timeline(a, b);
}

static const char *twins_link(const RunLink *a, const RunLink *b) {
  static const char *const skip[] = {"apart", NULL};
  return twins_record(&run_record_link, a, b, skip);
}

/* All but how the classes are numbered, what the fold was given, and how long the answer took. */
static const char *twins_step(const RunReport *a, const RunReport *b) {
  static const char *const skip[] = {"slowest",        "tightest", "identity.run_key", "events",   "wall_seconds",
                                     "validated_rows", "step_low", "step_high",        "envelope", NULL};
  if (a->classes[a->slowest].first_rank != b->classes[b->slowest].first_rank)
    return "slowest";
  if (a->n_links != b->n_links)
    return "n_links";
  return twins_record(&run_record_report, a, b, skip);
}

gboolean twins_equal(const RunReport *folded, const guint32 *classes, const RunReport *plain, gboolean loud) {
  CU_ASSERT_PTR_NOT_NULL_FATAL(folded);
  CU_ASSERT_PTR_NOT_NULL_FATAL(plain);
  const char *differs = twins_step(folded, plain);
  guint32 where = 0;
  for (guint32 i = 0; i < folded->n_links && differs == NULL; i++)
    differs = twins_link(&folded->links[i], &plain->links[i]);
  for (guint32 i = 0; i < plain->n_classes && differs == NULL; i++) {
    differs = twins_class(&folded->classes[classes[plain->classes[i].first_rank]], &plain->classes[i]);
    where = plain->classes[i].first_rank;
  }
  if (differs != NULL && loud)
    printf("\n    rank %u, or the whole: %s differs\n", where, differs);
  return differs == NULL;
}

guint32 *twins_classes(const RunReport *report, guint32 ranks) {
  guint32 *classes = g_new(guint32, ranks), found = 0;
  for (guint32 i = 0; i < ranks; i++)
    classes[i] = G_MAXUINT32;
  for (guint32 i = 0; i < report->n_classes; i++) {
    guint32 members = 0;
    g_auto(GStrv) ranges = g_strsplit(report->classes[i].members, ",", -1);
    for (char **range = ranges; *range != NULL; range++) {
      char *dash = strchr(*range, '-');
      guint32 first = (guint32)atoi(*range), last = dash != NULL ? (guint32)atoi(dash + 1) : first;
      for (guint32 rank = first; rank <= last; rank++, members++, found++) {
        CU_ASSERT_TRUE_FATAL(rank < ranks && classes[rank] == G_MAXUINT32);
        classes[rank] = i;
      }
    }
    CU_ASSERT_EQUAL(members, report->classes[i].ranks);
    CU_ASSERT_EQUAL(classes[report->classes[i].first_rank], i);
  }
  CU_ASSERT_EQUAL(found, ranks);
  return classes;
}
