/* SPDX-License-Identifier: MIT */
/* [what_if] around a study. */
#include "study-tornado.h"

#include <string.h>

const char *const study_figure_names[] = {
    "matmul_rate",       "memory_bandwidth", "memory_size",           "node_bandwidth",
    "network_bandwidth", "network_latency",  "leaf_oversubscription", NULL};

#define ENDLESS "what_if.node_bandwidth=1000 what_if.network_bandwidth=1000 what_if.network_latency=0"

static RunReport *take(GPtrArray *trials, const char *change) {
  for (guint i = 0; i < trials->len; i++) {
    StudyTrial *trial = g_ptr_array_index(trials, i);
    if (strcmp(trial->change, change) == 0)
      return g_steal_pointer(&trial->report);
  }
  return NULL;
}

static char *change_of(guint figure, const char *factor) {
  return g_strdup_printf("what_if.%s=%s", study_figure_names[figure], factor);
}

StudyTornado *study_tornado(const Study *study, const StudyOptions *options, StudyWatch *watch) {
  static const char *const factors[] = {"0.9", "1.1"};
  g_autoptr(GPtrArray) trials = study_trials_new();
  for (guint i = 0; i < STUDY_FIGURES; i++)
    for (gsize k = 0; k < G_N_ELEMENTS(factors); k++) {
      g_autofree char *change = change_of(i, factors[k]);
      study_trials_add(trials, change);
    }
  study_trials_add(trials, ENDLESS);
  study_trials_play(study, trials, options, watch);
  StudyTornado *tornado = g_new0(StudyTornado, 1);
  for (guint i = 0; i < STUDY_FIGURES; i++) {
    g_autofree char *low = change_of(i, factors[0]), *high = change_of(i, factors[1]);
    tornado->bars[i] = (StudyBar){take(trials, low), take(trials, high)};
  }
  tornado->endless = take(trials, ENDLESS);
  return tornado;
}

void study_tornado_free(StudyTornado *tornado) {
  if (tornado == NULL)
    return;
  for (guint i = 0; i < STUDY_FIGURES; i++) {
    run_report_free(tornado->bars[i].low);
    run_report_free(tornado->bars[i].high);
  }
  run_report_free(tornado->endless);
  g_free(tornado);
}
