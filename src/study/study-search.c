/* SPDX-License-Identifier: MIT */
/* Bounds first, then the most promising, until no bound is below what was found. */
#include "study-search.h"

#include <string.h>

#include "study-batch.h"
#include "study-bound.h"
#include "study-mpi.h"
#include "study-walk.h"

typedef struct {
  const StudyPoint *point; /* what it sets */
  StudyBound bound;
  RunReport *report;
  guint64 turn; /* among those that keep nothing in the host's memory; another's: as the one that is the same */
  gboolean refused, too_large, does_not_fit;
} Candidate;

static void candidate_clear(gpointer data) {
  run_report_free(((Candidate *)data)->report);
}

static Candidate *candidate_of(const StudySearch *search, guint64 number) {
  return &g_array_index(search->candidates, Candidate, number);
}

static gboolean is_led(const StudySearch *search) {
  return search->ask->mpi != NULL && search->ask->mpi->rank > 0;
}

static gpointer cache_new(G_GNUC_UNUSED gpointer user) {
  return study_cache_new();
}

static void cache_free(gpointer cache) {
  study_cache_free(cache);
}

static StudyPoint *copy_point(const StudySearch *search, const StudyPoint *point) {
  StudyPoint *copy = study_point_new(point->file);
  for (guint i = 0; i < point->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, i);
    study_point_add(copy, setting->name, setting->value, setting->line, setting->column);
  }
  copy->typed = point->typed;
  copy->number = point->number;
  copy->base = search->ask->study;
  return copy;
}

static gpointer next_unbounded(gpointer user) {
  StudySearch *search = user;
  return search->next < search->candidates->len ? candidate_of(search, search->next++) : NULL;
}

static void bound_candidate(gpointer item, gpointer thread, gpointer user) {
  const StudySearch *search = user;
  Candidate *candidate = item;
  g_autoptr(StudyPoint) point = copy_point(search, candidate->point);
  g_autoptr(ConfSettings) settings = conf_settings_copy(search->ask->study->settings);
  StudyWalk walk = {.cache = thread, .fidelity = "flow", .contention = TRUE};
  study_point_lay(point, settings);
  walk.settings = g_steal_pointer(&settings);
  candidate->refused = point->reasons->len > 0 || !study_walk_read(&walk, NULL);
  if (!candidate->refused) {
    candidate->bound = study_bound(&walk);
    candidate->too_large = !search->ask->options.edge_fits && candidate->bound.bytes > walk.cluster->gpu->memory_usable;
  }
  study_walk_clear(&walk);
}

static gboolean count_bounded(gpointer item, gpointer user, G_GNUC_UNUSED GError **error) {
  StudySearch *search = user;
  const Candidate *candidate = item;
  search->advice->candidates++;
  search->advice->refused += candidate->refused;
  search->advice->too_large += candidate->too_large;
  return TRUE;
}

static gint by_bound(gconstpointer a, gconstpointer b, gpointer user) {
  guint x = *(const guint *)a, y = *(const guint *)b;
  SimTime left = candidate_of(user, x)->bound.time, right = candidate_of(user, y)->bound.time;
  if (left != right)
    return left < right ? -1 : 1;
  return (x > y) - (x < y);
}

static void bound_all(StudySearch *search) {
  StudyRunner runner = {.threads = search->ask->threads,
                        .next = next_unbounded,
                        .work = bound_candidate,
                        .deliver = count_bounded,
                        .thread_new = cache_new,
                        .thread_free = cache_free,
                        .user = search};
  search->next = 0;
  study_runner_run(&runner, NULL, NULL);
  for (guint i = 0; i < search->candidates->len; i++)
    g_array_append_val(search->order, i);
  g_array_sort_with_data(search->order, by_bound, search);
}

/* Among as many as are asked for already, all shorter than it can be. */
static gboolean is_proven_slower(StudySearch *search, const Candidate *candidate) {
  g_mutex_lock(&search->lock);
  guint n = search->steps->len;
  gboolean slower = n == search->ask->top && candidate->bound.time > g_array_index(search->steps, SimTime, n - 1);
  g_mutex_unlock(&search->lock);
  return slower;
}

static void note_step(StudySearch *search, const RunReport *report) {
  SimTime step = run_report_slowest(report)->step;
  guint at = 0;
  g_mutex_lock(&search->lock);
  while (at < search->steps->len && g_array_index(search->steps, SimTime, at) <= step)
    at++;
  g_array_insert_val(search->steps, at, step);
  if (search->steps->len > search->ask->top)
    g_array_set_size(search->steps, search->ask->top);
  g_mutex_unlock(&search->lock);
}

/* The number of the layout that is the same without what it keeps in the host's memory; its own where it keeps none. */
static guint64 plain_of(const Candidate *candidate) {
  guint64 tag = GPOINTER_TO_UINT(candidate->point->tag);
  return tag > 0 ? tag - 1 : candidate->point->number;
}

static gboolean is_in_round(const StudySearch *search, const Candidate *candidate) {
  const StudyAdvise *ask = search->ask;
  const Candidate *plain = candidate_of(search, plain_of(candidate));
  if (candidate->refused || candidate->turn % MAX(ask->shards, 1) != ask->shard ||
      (plain != candidate) != search->offloads)
    return FALSE;
  if (ask->everything)
    return TRUE;
  return !candidate->too_large && (plain == candidate || plain->refused || plain->too_large || plain->does_not_fit);
}

static void show_progress(StudySearch *search) {
  if (search->ask->progress != NULL)
    search->ask->progress(MIN(search->done, search->all), search->all, search->ask->user);
}

static StudyPoint *next_point(gpointer user) {
  StudySearch *search = user;
  while (search->next < search->order->len) {
    const Candidate *candidate = candidate_of(search, g_array_index(search->order, guint, search->next++));
    gboolean mine = is_in_round(search, candidate);
    if (mine && (search->ask->everything || !is_proven_slower(search, candidate)))
      return copy_point(search, candidate->point);
    search->done += mine || search->offloads == (plain_of(candidate) != candidate->point->number);
    show_progress(search);
  }
  return NULL;
}

static StudyPoint *again(guint64 number, gpointer user) {
  const StudySearch *search = user;
  return copy_point(search, candidate_of(search, number)->point);
}

static gboolean skip(const StudyPoint *point, gpointer user) {
  StudySearch *search = user;
  return !search->ask->everything && !is_led(search) && is_proven_slower(search, candidate_of(search, point->number));
}

/* Of a run that the database has. */
static gboolean load(const StudySearch *search, const char *run_key, RunReport **ret, GError **error) {
  gint64 run_id;
  *ret = store_db_find(search->db, run_key, &run_id, error) ? store_db_load(search->db, run_id, FALSE, error) : NULL;
  return *ret != NULL;
}

static gboolean keep(const StudySearch *search, const RunReport *report, GError **error) {
  gint64 run_id;
  return search->db == NULL || store_db_has(search->db, report->identity.run_key) ||
         store_db_write_summary(search->db, report, &run_id, error);
}

static gboolean deliver(StudyPoint *point, gpointer user, GError **error) {
  StudySearch *search = user;
  Candidate *candidate = candidate_of(search, point->number);
  if (point->run_key != NULL && !load(search, point->run_key, &candidate->report, error))
    return FALSE;
  if (point->report != NULL && !keep(search, point->report, error))
    return FALSE;
  search->advice->played += point->report != NULL;
  if (point->report != NULL)
    candidate->report = g_steal_pointer(&point->report);
  if (candidate->report != NULL) {
    candidate->does_not_fit = !run_report_fits(candidate->report, search->ask->options.edge_fits);
    if (!candidate->does_not_fit)
      note_step(search, candidate->report);
  }
  search->done++;
  show_progress(search);
  return TRUE;
}

static gboolean play_round(StudySearch *search, gboolean offloads, GError **error) {
  const StudyAdvise *ask = search->ask;
  StudyBatch batch = {.next = next_point,
                      .again = again,
                      .skip = skip,
                      .deliver = deliver,
                      .user = search,
                      .database = search->db != NULL ? ask->database : NULL,
                      .options = ask->options,
                      .threads = ask->threads,
                      .stop = ask->stop,
                      .stop_user = ask->stop_user};
  gboolean stopped = FALSE;
  batch.options.timeline = FALSE;
  search->offloads = offloads;
  search->next = 0;
  gboolean good = ask->mpi != NULL && ask->mpi->size > 1 ? study_mpi_batch_run(ask->mpi, &batch, &stopped, error)
                                                         : study_batch_run(&batch, &stopped, error);
  search->advice->stopped |= stopped;
  return good;
}

static gint by_step(gconstpointer a, gconstpointer b) {
  const Candidate *left = *(const Candidate *const *)a, *right = *(const Candidate *const *)b;
  SimTime x = run_report_slowest(left->report)->step, y = run_report_slowest(right->report)->step;
  if (x != y)
    return x < y ? -1 : 1;
  return (left->point->number > right->point->number) - (left->point->number < right->point->number);
}

/* What of the point differs from the workload; the global batch follows from the rest. */
static char *change_of(const StudySearch *search, const StudyPoint *point) {
  const RunIdentity *own = &search->advice->own->identity;
  GString *change = g_string_new(NULL);
  for (guint i = 0; i < point->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, i);
    const char *had = run_identity_setting(own, setting->name);
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

static void take_best(StudySearch *search) {
  g_autoptr(GPtrArray) fit = g_ptr_array_new();
  StudyAdvice *advice = search->advice;
  for (guint i = 0; i < search->candidates->len; i++)
    if (candidate_of(search, i)->report != NULL && !candidate_of(search, i)->does_not_fit)
      g_ptr_array_add(fit, candidate_of(search, i));
  g_ptr_array_sort(fit, by_step);
  for (guint i = 0, taken = 0; i < fit->len && taken < search->ask->top; i++) {
    Candidate *candidate = fit->pdata[i];
    if (is_told(advice, candidate->report))
      continue;
    advice->best = g_renew(StudyAdvised, advice->best, advice->n + 1);
    advice->best[advice->n++] =
        (StudyAdvised){search->place, change_of(search, candidate->point), g_steal_pointer(&candidate->report)};
    taken++;
  }
}

gboolean study_search_begin(StudySearch *search, GError **error) {
  g_mutex_init(&search->lock);
  search->db = search->ask->database != NULL && !is_led(search) ? store_db_open(search->ask->database, error) : NULL;
  return search->ask->database == NULL || is_led(search) || search->db != NULL;
}

gboolean study_search_place(StudySearch *search, const GPtrArray *points, GError **error) {
  search->candidates = g_array_new(FALSE, TRUE, sizeof(Candidate));
  g_array_set_clear_func(search->candidates, candidate_clear);
  search->order = g_array_new(FALSE, FALSE, sizeof(guint));
  search->steps = g_array_new(FALSE, FALSE, sizeof(SimTime));
  for (guint i = 0, turn = 0; i < points->len; i++) {
    const StudyPoint *point = points->pdata[i];
    turn += i > 0 && point->tag == NULL;
    g_array_append_val(search->candidates, ((Candidate){.point = point, .turn = turn}));
  }
  if (!is_led(search))
    bound_all(search);
  gboolean good = play_round(search, FALSE, error) && play_round(search, TRUE, error);
  if (good && !is_led(search))
    take_best(search);
  g_array_unref(search->candidates);
  g_array_unref(search->order);
  g_array_unref(search->steps);
  return good;
}

void study_search_end(StudySearch *search) {
  g_mutex_clear(&search->lock);
  store_db_close(search->db);
}
