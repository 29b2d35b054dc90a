/* SPDX-License-Identifier: MIT */
/* Places read, the layouts of each made and searched. */
#include "study-advise.h"

#include "base-error.h"
#include "study-candidates.h"
#include "study-search.h"
#include "study-trial.h"
#include "study-walk.h"

/* What the place's cluster and the model are. */
static gboolean read_place(const StudyAdvise *ask, const StudyPlace *place, guint32 *ret_nodes, guint32 *ret_gpus,
                           StudySize *ret_size, GError **error) {
  g_autoptr(StudyCache) cache = study_cache_new();
  StudyWalk walk = {.settings = conf_settings_copy(ask->study->settings), .cache = cache};
  gboolean good = place->topology == NULL || conf_settings_put(walk.settings, "cluster.topology", place->topology,
                                                               CONF_ORIGIN_COMMAND_LINE, NULL, error);
  StudyMachine *machine = good ? study_cache_machine(cache, walk.settings, error) : NULL;
  const ModelShape *shape = machine != NULL ? study_cache_model(cache, walk.settings, error) : NULL;
  if (shape != NULL) {
    guint32 each = machine->cluster->gpus_per_node;
    *ret_nodes = place->gpus > 0 ? place->gpus / each : place->nodes > 0 ? place->nodes : machine->cluster->nodes;
    *ret_gpus = each;
    *ret_size = (StudySize){shape->layers, shape->experts};
    good = place->gpus % each == 0;
    if (!good)
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%u GPUs do not fill nodes of %u: nearest are %u and %u",
                  place->gpus, each, place->gpus / each * each, (place->gpus / each + 1) * each);
  }
  study_walk_clear(&walk);
  return shape != NULL && good;
}

gboolean study_advise(const StudyAdvise *ask, StudyAdvice *ret, GError **error) {
  static const StudyPlace here = {NULL, 0, 0};
  const StudyPlace *places = ask->places != NULL ? ask->places : &here;
  guint n = ask->places != NULL ? ask->n_places : 1;
  StudyAdvice advice = {0};
  StudyOptions options = ask->options;
  options.timeline = FALSE;
  if (!study_trials_check(ask->study, error))
    return FALSE;
  advice.own = study_try(ask->study, (const char *const[]){NULL}, &options, error);
  if (advice.own == NULL)
    return FALSE;
  g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
  guint64 points = 0;
  for (guint i = 0; i < n; i++) {
    guint32 nodes, gpus;
    StudySize size;
    if (!read_place(ask, &places[i], &nodes, &gpus, &size, error)) {
      study_advice_clear(&advice);
      return FALSE;
    }
    g_ptr_array_add(all, study_candidates(ask->study, &advice.own->identity, &size, places[i].topology, nodes, gpus));
    points += ((const GPtrArray *)all->pdata[i])->len;
  }
  StudySearch search = {.ask = ask, .advice = &advice, .all = points};
  gboolean good = study_search_begin(&search, error);
  for (search.place = 0; good && search.place < n; search.place++)
    good = study_search_place(&search, all->pdata[search.place], error);
  study_search_end(&search);
  if (!good) {
    study_advice_clear(&advice);
    return FALSE;
  }
  *ret = advice;
  return TRUE;
}

void study_advised_clear(StudyAdvised *advised) {
  g_free(advised->change);
  run_report_free(advised->report);
}

void study_advice_clear(StudyAdvice *advice) {
  for (guint i = 0; i < advice->n; i++)
    study_advised_clear(&advice->best[i]);
  g_free(advice->best);
  run_report_free(advice->own);
  *advice = (StudyAdvice){0};
}
