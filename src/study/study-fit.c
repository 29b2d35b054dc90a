/* SPDX-License-Identifier: MIT */
/* Doubling until it no longer fits, then bisection. */
#include "study-fit.h"

#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "study-remedy.h"

typedef enum { MICRO_BATCH, SEQUENCE_LENGTH, LAYERS, NODES, KEYS } Key;
static const char *const key_names[] = {"micro_batch", "sequence_length", "layers", "nodes", NULL};

/* Values tried are multiples of `unit`, up to `most` of them. */
static const struct {
  const char *name;
  guint64 unit, most;
} keys[KEYS] = {[MICRO_BATCH] = {"training.micro_batch", 1, 1 << 16},
                [SEQUENCE_LENGTH] = {"training.sequence_length", 128, 1 << 16},
                [LAYERS] = {"model.layers", 1, 10000},
                [NODES] = {"cluster.nodes", 1, 1 << 13}};

typedef struct {
  const Study *study;
  StudyOptions options;
  Key key;
  int stage;
  guint64 micro_batch, accumulation, gpus_per_node, nodes; /* of the workload */
} Search;

/* NULL: refused, as the error says. */
static RunReport *try_value(const Search *search, guint64 multiple, GError **error) {
  guint64 value = multiple * keys[search->key].unit;
  guint64 micro = search->key == MICRO_BATCH ? value : search->micro_batch;
  guint64 nodes = search->key == NODES ? value : search->nodes;
  g_autofree char *stage = g_strdup_printf("parallel.zero_stage=%d", search->stage);
  g_autofree char *varied = g_strdup_printf("%s=%" G_GUINT64_FORMAT, keys[search->key].name, value);
  g_autofree char *batch = g_strdup_printf("training.micro_batch=%" G_GUINT64_FORMAT, micro);
  g_autofree char *accumulation =
      g_strdup_printf("training.gradient_accumulation=%" G_GUINT64_FORMAT, search->accumulation);
  g_autofree char *global = g_strdup_printf("training.global_batch=%" G_GUINT64_FORMAT,
                                            micro * search->accumulation * nodes * search->gpus_per_node);
  const char *changes[] = {stage, varied, batch, accumulation, global, NULL};
  return study_try(search->study, changes, &search->options, error);
}

/* Whether it fits; the report is kept where it does, the refusal where it is refused. */
static gboolean fits(const Search *search, guint64 multiple, StudyFit *fit) {
  g_autoptr(GError) error = NULL;
  RunReport *report = try_value(search, multiple, &error);
  if (report == NULL) {
    g_free(fit->limit);
    fit->limit = g_strdup(error->message);
    return FALSE;
  }
  if (!run_report_fits(report, search->options.edge_fits)) {
    g_clear_pointer(&fit->limit, g_free);
    run_report_free(report);
    return FALSE;
  }
  run_report_free(fit->report);
  fit->report = report;
  fit->value = multiple * keys[search->key].unit;
  return TRUE;
}

static void find_largest(const Search *search, StudyFit *fit) {
  guint64 good = 0, bad = 1, most = keys[search->key].most;
  while (bad <= most && fits(search, bad, fit)) {
    good = bad;
    bad *= 2;
  }
  bad = MIN(bad, most + 1);
  while (good > 0 && bad - good > 1) {
    guint64 middle = good + (bad - good) / 2;
    *(fits(search, middle, fit) ? &good : &bad) = middle;
  }
}

/* Only a refusal of the least value that could do is told. */
static void find_least(const Search *search, StudyFit *fit) {
  guint64 bad = 0, good = 1, most = keys[search->key].most;
  while (good <= most && !fits(search, good, fit)) {
    if (fit->limit != NULL)
      return;
    bad = good;
    good *= 2;
  }
  while (fit->report != NULL && good - bad > 1) {
    guint64 middle = bad + (good - bad) / 2;
    *(fits(search, middle, fit) ? &good : &bad) = middle;
  }
}

static gboolean find_key(const char *name, Key *ret, GError **error) {
  const char *dot = strchr(name, '.');
  int key = base_names_find(key_names, dot != NULL ? dot + 1 : name);
  if (key >= 0 && (dot == NULL || strcmp(name, keys[key].name) == 0)) {
    *ret = (Key)key;
    return TRUE;
  }
  g_autofree char *advice = base_names_advice(key_names, dot != NULL ? dot + 1 : name);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "--vary: \"%s\" is not micro_batch, sequence_length, layers or nodes%s", name, advice);
  return FALSE;
}

gboolean study_fit(const Study *study, const char *name, const StudyOptions *options, StudyFits *ret, GError **error) {
  Search search = {.study = study, .options = *options};
  if (!find_key(name, &search.key, error))
    return FALSE;
  search.options.timeline = FALSE;
  g_autoptr(RunReport) base = study_try(study, (const char *const[]){NULL}, &search.options, error);
  if (base == NULL)
    return FALSE;
  search.micro_batch = base->identity.micro_batch;
  search.accumulation = base->identity.gradient_accumulation;
  search.nodes = base->identity.nodes;
  search.gpus_per_node = base->identity.gpus / base->identity.nodes;
  *ret = (StudyFits){.key = key_names[search.key]};
  for (int stage = 0; stage < STUDY_STAGES; stage++) {
    StudyFit *fit = &ret->stages[stage];
    g_autofree char *change = g_strdup_printf("parallel.zero_stage=%d", stage);
    g_autoptr(GError) refusal = NULL;
    g_autoptr(RunReport) runs = study_try(study, (const char *const[]){change, NULL}, &search.options, &refusal);
    search.stage = stage;
    if (runs == NULL)
      fit->refused = g_strdup(refusal->message);
    else
      (search.key == NODES ? find_least : find_largest)(&search, fit);
  }
  return TRUE;
}

void study_fits_clear(StudyFits *fits) {
  for (int stage = 0; stage < STUDY_STAGES; stage++) {
    run_report_free(fits->stages[stage].report);
    g_free(fits->stages[stage].limit);
    g_free(fits->stages[stage].refused);
  }
  *fits = (StudyFits){.key = NULL};
}
