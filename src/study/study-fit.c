/* SPDX-License-Identifier: MIT */
/* Doubling until it no longer fits, then bisection. */
#include "study-fit.h"

#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "study-layout.h"
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
  guint64 micro_batch, accumulation, data, nodes; /* of the study; data: ranks that play different micro-batches */
} Search;

/* NULL: refused, as the error says. */
static RunReport *try_value(const Search *search, guint64 multiple, GError **error) {
  guint64 value = multiple * keys[search->key].unit;
  guint64 micro = search->key == MICRO_BATCH ? value : search->micro_batch;
  guint64 nodes = search->key == NODES ? value : search->nodes;
  g_autofree char *varied = g_strdup_printf("%s=%" G_GUINT64_FORMAT, keys[search->key].name, value);
  g_autofree char *batch = g_strdup_printf("training.micro_batch=%" G_GUINT64_FORMAT, micro);
  g_autofree char *accumulation =
      g_strdup_printf("training.gradient_accumulation=%" G_GUINT64_FORMAT, search->accumulation);
  g_autofree char *global = g_strdup_printf("training.global_batch=%" G_GUINT64_FORMAT,
                                            micro * search->accumulation * (search->data * nodes / search->nodes));
  const char *changes[] = {varied, batch, accumulation, global, NULL};
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
  if (bad > most && good < most && fits(search, most, fit)) /* the dearest plays are spared */
    return;
  bad = MIN(bad, MAX(most, good + 1));
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

/* Over the study as a stage or a layout has it. */
static void find(Search *search, const Study *laid, StudyFit *fit) {
  g_autoptr(GError) refusal = NULL;
  g_autoptr(RunReport) runs = study_try(laid, (const char *const[]){NULL}, &search->options, &refusal);
  if (runs == NULL) {
    fit->refused = g_strdup(refusal->message);
    return;
  }
  const RunIdentity *identity = &runs->identity;
  search->study = laid;
  search->micro_batch = identity->micro_batch;
  search->accumulation = identity->gradient_accumulation;
  search->nodes = identity->nodes;
  search->data = identity->global_batch / (identity->micro_batch * identity->gradient_accumulation);
  (search->key == NODES ? find_least : find_largest)(search, fit);
}

static void fit_stage(Search *search, const Study *study, int stage, StudyFit *fit) {
  g_autofree char *change = g_strdup_printf("zero_stage=%d", stage);
  g_autoptr(Study) laid = study_lay_out(study, change, NULL, NULL);
  fit->title = g_strdup_printf("ZeRO-%d", stage);
  find(search, laid, fit);
}

/* FALSE: a layout that is none. */
static gboolean fit_layout(Search *search, const Study *study, const char *layout, const RunIdentity *base,
                           StudyFit *fit, GError **error) {
  g_autoptr(Study) laid = study_lay_out(study, layout, base, error);
  if (laid == NULL)
    return FALSE;
  fit->title = g_strdup(layout);
  find(search, laid, fit);
  return TRUE;
}

static void fit_clear(StudyFit *fit) {
  run_report_free(fit->report);
  g_free(fit->title);
  g_free(fit->limit);
  g_free(fit->refused);
}

/* Of "auto" those that are refused are not told. */
static gboolean fit_layouts(Search *search, const Study *study, const char *const *layouts, const RunReport *base,
                            StudyFits *ret, GError **error) {
  g_auto(GStrv) all = study_layouts(base);
  GArray *fits = g_array_new(FALSE, TRUE, sizeof(StudyFit));
  gboolean good = TRUE;
  for (; good && layouts != NULL && *layouts != NULL; layouts++) {
    gboolean every = strcmp(*layouts, STUDY_LAYOUT_AUTO) == 0;
    const char *const one[] = {*layouts, NULL};
    for (const char *const *each = every ? (const char *const *)all : one; good && *each != NULL; each++) {
      StudyFit fit = {NULL};
      good = fit_layout(search, study, *each, &base->identity, &fit, error);
      if (!good || (every && fit.refused != NULL))
        fit_clear(&fit);
      else
        g_array_append_val(fits, fit);
    }
  }
  ret->n_layouts = fits->len;
  ret->layouts = (StudyFit *)(gpointer)g_array_free(fits, FALSE);
  return good;
}

gboolean study_fit(const Study *study, const char *name, const char *const *layouts, const StudyOptions *options,
                   StudyFits *ret, GError **error) {
  Search search = {.study = study, .options = *options};
  if (!find_key(name, &search.key, error) || !study_trials_check(study, error))
    return FALSE;
  search.options.timeline = FALSE;
  g_autoptr(RunReport) base = study_try(study, (const char *const[]){NULL}, &search.options, error);
  if (base == NULL)
    return FALSE;
  *ret = (StudyFits){.key = key_names[search.key]};
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    fit_stage(&search, study, stage, &ret->stages[stage]);
  if (fit_layouts(&search, study, layouts, base, ret, error))
    return TRUE;
  study_fits_clear(ret);
  return FALSE;
}

void study_fits_clear(StudyFits *fits) {
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    fit_clear(&fits->stages[stage]);
  for (guint i = 0; i < fits->n_layouts; i++)
    fit_clear(&fits->layouts[i]);
  g_free(fits->layouts);
  *fits = (StudyFits){.key = NULL};
}
