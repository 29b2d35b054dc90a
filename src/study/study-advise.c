/* SPDX-License-Identifier: MIT */
/* Bounds first, then the most promising, until no bound is below what was found. */
#include "study-advise.h"

#include <string.h>

#include "base-error.h"
#include "study-bound.h"
#include "study-candidates.h"
#include "study-remedy.h"
#include "study-runner.h"

/* A candidate on its way. */
typedef struct {
  StudyPoint *point;
  StudyBound bound;
  gboolean refused, too_large, left_out;
} Candidate;

typedef struct {
  const StudyAdvise *ask;
  StudyAdvice *advice;
  GArray *candidates; /* Candidate, of one place */
  guint next, place;
  guint64 done, all; /* of all places, for progress */
  GMutex lock;
  GArray *steps; /* SimTime, of those that fit: the `top` shortest, ascending */
} Search;

static gpointer cache_new(G_GNUC_UNUSED gpointer user) {
  return study_cache_new();
}

static void cache_free(gpointer cache) {
  study_cache_free(cache);
}

static gpointer next_candidate(gpointer user) {
  Search *search = user;
  return search->next < search->candidates->len ? &g_array_index(search->candidates, Candidate, search->next++) : NULL;
}

static void bound_candidate(gpointer item, gpointer thread, gpointer user) {
  const Search *search = user;
  Candidate *candidate = item;
  g_autoptr(ConfSettings) settings = conf_settings_copy(search->ask->study->settings);
  StudyWalk walk = {.cache = thread, .fidelity = "flow", .contention = TRUE};
  study_point_lay(candidate->point, settings);
  walk.settings = g_steal_pointer(&settings);
  candidate->refused = candidate->point->reasons->len > 0 || !study_walk_read(&walk, NULL);
  if (!candidate->refused) {
    candidate->bound = study_bound(&walk);
    candidate->too_large = !search->ask->options.edge_fits && candidate->bound.bytes > walk.cluster->gpu->memory_usable;
  }
  study_walk_clear(&walk);
}

static gboolean count_bounded(gpointer item, gpointer user, G_GNUC_UNUSED GError **error) {
  Search *search = user;
  const Candidate *candidate = item;
  search->advice->candidates++;
  search->advice->refused += candidate->refused;
  search->advice->too_large += candidate->too_large;
  return TRUE;
}

/* Among as many as are asked for already, all shorter than it can be. */
static gboolean is_proven_slower(Search *search, const Candidate *candidate) {
  g_mutex_lock(&search->lock);
  guint n = search->steps->len;
  gboolean slower = n == search->ask->top && candidate->bound.time > g_array_index(search->steps, SimTime, n - 1);
  g_mutex_unlock(&search->lock);
  return slower;
}

static void note_step(Search *search, const RunReport *report) {
  SimTime step = run_report_slowest(report)->step;
  guint at = 0;
  if (!run_report_fits(report, search->ask->options.edge_fits))
    return;
  g_mutex_lock(&search->lock);
  while (at < search->steps->len && g_array_index(search->steps, SimTime, at) <= step)
    at++;
  g_array_insert_val(search->steps, at, step);
  if (search->steps->len > search->ask->top)
    g_array_set_size(search->steps, search->ask->top);
  g_mutex_unlock(&search->lock);
}

static void play_candidate(gpointer item, gpointer thread, gpointer user) {
  Search *search = user;
  Candidate *candidate = item;
  gboolean everything = search->ask->everything;
  candidate->left_out =
      candidate->refused || (!everything && (candidate->too_large || is_proven_slower(search, candidate)));
  if (candidate->left_out)
    return;
  StudyOptions options = search->ask->options;
  options.timeline = FALSE;
  study_point_run(candidate->point, search->ask->study, &options, thread);
  if (candidate->point->report != NULL)
    note_step(search, candidate->point->report);
}

static gboolean count_played(gpointer item, gpointer user, G_GNUC_UNUSED GError **error) {
  Search *search = user;
  search->advice->played += !((const Candidate *)item)->left_out;
  search->done++;
  if (search->ask->progress != NULL)
    search->ask->progress(search->done, search->all, search->ask->user);
  return TRUE;
}

static void over_candidates(Search *search, StudyRunnerWork work, StudyRunnerDeliver deliver) {
  StudyRunner runner = {.threads = search->ask->threads,
                        .next = next_candidate,
                        .work = work,
                        .deliver = deliver,
                        .thread_new = cache_new,
                        .thread_free = cache_free,
                        .user = search};
  search->next = 0;
  study_runner_run(&runner, NULL, NULL);
}

static gint by_bound(gconstpointer a, gconstpointer b) {
  const Candidate *left = a, *right = b;
  if (left->bound.time != right->bound.time)
    return left->bound.time < right->bound.time ? -1 : 1;
  return (left->point->number > right->point->number) - (left->point->number < right->point->number);
}

static gint by_step(gconstpointer a, gconstpointer b) {
  const Candidate *left = a, *right = b;
  SimTime x = run_report_slowest(left->point->report)->step, y = run_report_slowest(right->point->report)->step;
  if (x != y)
    return x < y ? -1 : 1;
  return (left->point->number > right->point->number) - (left->point->number < right->point->number);
}

/* What of the point differs from the workload; the global batch follows from the rest. */
static char *change_of(const Search *search, const StudyPoint *point) {
  const RunIdentity *own = &search->advice->own->identity;
  GString *change = g_string_new(NULL);
  for (guint i = 0; i < point->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, i);
    const char *had = NULL;
    for (guint32 k = 0; k < own->n_settings; k++)
      if (strcmp(own->settings[k].name, setting->name) == 0)
        had = own->settings[k].value;
    if (g_strcmp0(had, setting->value) != 0 && strcmp(setting->name, "training.global_batch") != 0)
      g_string_append_printf(change, "%s%s=%s", change->len > 0 ? " " : "", setting->name, setting->value);
  }
  return g_string_free(change, FALSE);
}

/* Recipes that come out the same (an axis that says nothing to a framework) are told once. */
static gboolean is_told(const StudyAdvice *advice, const RunReport *report) {
  for (guint i = 0; i < advice->n; i++)
    if (strcmp(advice->best[i].report->identity.run_key, report->identity.run_key) == 0)
      return TRUE;
  return FALSE;
}

static void take_best(Search *search) {
  g_autoptr(GArray) fit = g_array_new(FALSE, FALSE, sizeof(Candidate));
  StudyAdvice *advice = search->advice;
  for (guint i = 0; i < search->candidates->len; i++) {
    const Candidate *candidate = &g_array_index(search->candidates, Candidate, i);
    if (candidate->point->report != NULL && run_report_fits(candidate->point->report, search->ask->options.edge_fits))
      g_array_append_val(fit, *candidate);
  }
  g_array_sort(fit, by_step);
  for (guint i = 0, taken = 0; i < fit->len && taken < search->ask->top; i++) {
    StudyPoint *point = g_array_index(fit, Candidate, i).point;
    if (is_told(advice, point->report))
      continue;
    advice->best = g_renew(StudyAdvised, advice->best, advice->n + 1);
    advice->best[advice->n++] =
        (StudyAdvised){search->place, change_of(search, point), g_steal_pointer(&point->report)};
    taken++;
  }
}

static void search_place(Search *search, const GPtrArray *points) {
  search->candidates = g_array_new(FALSE, TRUE, sizeof(Candidate));
  search->steps = g_array_new(FALSE, FALSE, sizeof(SimTime));
  for (guint i = 0; i < points->len; i++)
    g_array_append_val(search->candidates, ((Candidate){.point = points->pdata[i]}));
  over_candidates(search, bound_candidate, count_bounded);
  g_array_sort(search->candidates, by_bound);
  over_candidates(search, play_candidate, count_played);
  take_best(search);
  g_array_unref(search->candidates);
  g_array_unref(search->steps);
}

/* What the place's cluster and the model are. */
static gboolean read_place(const StudyAdvise *ask, const StudyPlace *place, guint32 *ret_nodes, guint32 *ret_gpus,
                           guint64 *ret_layers, GError **error) {
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
    *ret_layers = shape->layers;
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
  advice.own = study_try(ask->study, (const char *const[]){NULL}, &options, error);
  if (advice.own == NULL)
    return FALSE;
  g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
  Search search = {.ask = ask, .advice = &advice};
  for (guint i = 0; i < n; i++) {
    guint32 nodes, gpus;
    guint64 layers;
    if (!read_place(ask, &places[i], &nodes, &gpus, &layers, error)) {
      study_advice_clear(&advice);
      return FALSE;
    }
    g_ptr_array_add(all, study_candidates(ask->study, &advice.own->identity, layers, places[i].topology, nodes, gpus));
    search.all += ((const GPtrArray *)all->pdata[i])->len;
  }
  g_mutex_init(&search.lock);
  for (search.place = 0; search.place < n; search.place++)
    search_place(&search, all->pdata[search.place]);
  g_mutex_clear(&search.lock);
  *ret = advice;
  return TRUE;
}

static void advised_clear(StudyAdvised *advised) {
  g_free(advised->change);
  run_report_free(advised->report);
}

void study_advice_clear(StudyAdvice *advice) {
  for (guint i = 0; i < advice->n; i++)
    advised_clear(&advice->best[i]);
  g_free(advice->best);
  run_report_free(advice->own);
  *advice = (StudyAdvice){0};
}

static void advised_free(gpointer data) {
  advised_clear(data);
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
  for (guint32 i = 0; i < identity->n_settings; i++)
    if (strcmp(identity->settings[i].name, name) == 0)
      return MAX(g_ascii_strtoull(identity->settings[i].value, NULL, 10), 1);
  return 1;
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
