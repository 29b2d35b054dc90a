/* SPDX-License-Identifier: MIT */
/* Each change of an advised recipe alone over the workload, at the workload's global batch. */
#include <string.h>

#include "study-advise.h"
#include "study-trial.h"

static void advised_free(gpointer data) {
  study_advised_clear(data);
  g_free(data);
}

static gint by_own_step(gconstpointer a, gconstpointer b) {
  const StudyAdvised *left = *(const StudyAdvised *const *)a, *right = *(const StudyAdvised *const *)b;
  SimTime x = run_report_slowest(left->report)->step, y = run_report_slowest(right->report)->step;
  return x != y ? (x < y ? -1 : 1) : strcmp(left->change, right->change);
}

static guint64 number_of(const RunIdentity *identity, const char *name, const char *change) {
  if (g_str_has_prefix(change, name) && change[strlen(name)] == '=')
    return MAX(g_ascii_strtoull(change + strlen(name) + 1, NULL, 10), 1);
  const char *value = run_identity_setting(identity, name);
  return value != NULL ? MAX(g_ascii_strtoull(value, NULL, 10), 1) : 1;
}

/* The micro-batches that keep the global batch under one change. NULL: it does not divide. Caller frees. */
static char *batch_under(const RunIdentity *own, const char *change) {
  guint64 ranks = number_of(own, "parallel.tensor", change) * number_of(own, "parallel.context", change) *
                  number_of(own, "parallel.pipeline", change);
  guint64 micro = number_of(own, "training.micro_batch", change), each = micro * (own->gpus / MAX(ranks, 1));
  if (each == 0 || own->gpus % ranks != 0 || own->global_batch % each != 0)
    return NULL;
  return g_strdup_printf("training.gradient_accumulation=%" G_GUINT64_FORMAT, own->global_batch / each);
}

static RunReport *try_alone(const StudyAdvise *ask, const RunReport *own, const char *change) {
  g_autofree char *batch = batch_under(&own->identity, change);
  g_autofree char *micro = g_strdup_printf("training.micro_batch=%" G_GUINT64_FORMAT,
                                           number_of(&own->identity, "training.micro_batch", change));
  g_autofree char *global = g_strdup_printf("training.global_batch=%" G_GUINT64_FORMAT, own->identity.global_batch);
  StudyOptions options = ask->options;
  options.timeline = FALSE;
  return batch != NULL
             ? study_try(ask->study, (const char *const[]){change, micro, batch, global, NULL}, &options, NULL)
             : NULL;
}

GPtrArray *study_advice_alone(const StudyAdvise *ask, const StudyAdvice *advice, const StudyAdvised *advised) {
  GPtrArray *alone = g_ptr_array_new_with_free_func(advised_free);
  g_auto(GStrv) changes = g_strsplit(advised->change, " ", -1);
  const RunReport *own = advice->own;
  gboolean fits = run_report_fits(own, ask->options.edge_fits);
  for (guint i = 0; changes[i] != NULL && *changes[i] != '\0'; i++) {
    if (g_str_has_prefix(changes[i], "training.gradient_accumulation="))
      continue;
    RunReport *report = try_alone(ask, own, changes[i]);
    if (report == NULL || !run_report_fits(report, ask->options.edge_fits) ||
        (fits && run_report_slowest(report)->step >= run_report_slowest(own)->step)) {
      run_report_free(report);
      continue;
    }
    StudyAdvised *row = g_new(StudyAdvised, 1);
    *row = (StudyAdvised){advised->place, g_strdup(changes[i]), report};
    g_ptr_array_add(alone, row);
  }
  g_ptr_array_sort(alone, by_own_step);
  return alone;
}
