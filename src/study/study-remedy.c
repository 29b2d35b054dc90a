/* SPDX-License-Identifier: MIT */
/* Candidates and their runs. */
#include "study-remedy.h"

#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "study-layout.h"
#include "study-walk.h"

#define MOST_NODES 16 /* times as many as there are */

typedef struct {
  const Study *study;
  const RunReport *report;
  StudyOptions options;
  GPtrArray *remedies;
} Search;

static guint64 need(const RunReport *report) {
  return run_report_tightest(report)->device_used;
}

/* `change`: settings with spaces between. What needs no less memory is no remedy. NULL: none, or refused. */
static const RunReport *attempt(Search *search, const char *change) {
  RunReport *report = study_trial_run(search->study, change, &search->options, NULL);
  if (report == NULL || need(report) >= need(search->report)) {
    run_report_free(report);
    return NULL;
  }
  study_trials_add(search->remedies, change);
  StudyRemedy *remedy = g_ptr_array_index(search->remedies, search->remedies->len - 1);
  remedy->report = report;
  return report;
}

static gboolean fits(const Search *search, const RunReport *report) {
  return report != NULL && run_report_fits(report, search->options.edge_fits);
}

/* Until it fits: the larger micro-batch is the smaller change. */
static void attempt_micro_batches(Search *search) {
  const RunIdentity *identity = &search->report->identity;
  guint64 micro = identity->micro_batch, accumulation = identity->gradient_accumulation;
  while (micro % 2 == 0) {
    micro /= 2;
    accumulation *= 2;
    g_autofree char *change =
        g_strdup_printf("training.micro_batch=%" G_GUINT64_FORMAT " training.gradient_accumulation=%" G_GUINT64_FORMAT
                        " training.global_batch=%" G_GUINT64_FORMAT,
                        micro, accumulation, identity->global_batch);
    if (fits(search, attempt(search, change)))
      return;
  }
}

static guint64 missing(const RunReport *report) {
  return run_report_tightest(report)->short_by;
}

/* Twice the nodes, and again: at the same global batch while accumulation halves, then at a larger one. Until it fits,
 * or less than a quarter of what is missing goes. */
static void attempt_nodes(Search *search) {
  const RunIdentity *identity = &search->report->identity;
  guint64 accumulation = identity->gradient_accumulation, short_by = missing(search->report);
  guint64 data = identity->global_batch / (identity->micro_batch * accumulation);
  for (guint32 times = 2; times <= MOST_NODES; times *= 2) {
    accumulation = accumulation % 2 == 0 ? accumulation / 2 : accumulation;
    g_autofree char *change = g_strdup_printf("cluster.nodes=%u training.micro_batch=%" G_GUINT64_FORMAT
                                              " training.gradient_accumulation=%" G_GUINT64_FORMAT
                                              " training.global_batch=%" G_GUINT64_FORMAT,
                                              times * identity->nodes, identity->micro_batch, accumulation,
                                              identity->micro_batch * accumulation * data * times);
    const RunReport *report = attempt(search, change);
    if (report == NULL || fits(search, report) || missing(report) > short_by - short_by / 4)
      return;
    short_by = missing(report);
  }
}

static gboolean is_set(const Search *search, const char *name, const char *value) {
  return g_strcmp0(run_identity_setting(&search->report->identity, name), value) == 0;
}

static void attempt_setting(Search *search, const PlanSetting *setting) {
  g_autofree char *change = g_strdup_printf("%s=%s", setting->name, setting->value);
  if (!is_set(search, setting->name, setting->value))
    attempt(search, change);
}

/* What all frameworks read, then what this one alone does. */
static void attempt_settings(Search *search, int framework) {
  static const PlanSetting settings[] = {{"training.activation_checkpointing", "attention"},
                                         {"training.activation_checkpointing", "full"},
                                         {"training.loss", "fused"},
                                         {"memory.expandable_segments", "yes"}};
  gboolean recomputes = strcmp(search->report->identity.activation_checkpointing, "full") == 0;
  for (gsize i = 0; i < G_N_ELEMENTS(settings); i++)
    if (!recomputes || strcmp(settings[i].name, "training.activation_checkpointing") != 0)
      attempt_setting(search, &settings[i]);
  for (const PlanSetting *own = plan_remedies(framework); own->name != NULL; own++)
    attempt_setting(search, own);
}

static void attempt_stages(Search *search, int framework) {
  for (guint32 stage = search->report->identity.zero_stage + 1; stage < STUDY_STAGES; stage++) {
    g_autofree char *change = g_strdup_printf("parallel.zero_stage=%u", stage);
    attempt(search, change);
  }
  for (const char *const *changes = plan_elsewhere(framework); *changes != NULL; changes++)
    attempt(search, *changes);
}

/* ---- Axes ---- */

#define MOST_STAGES 16

typedef struct {
  const char *key;
  guint32 degree; /* of the run */
  guint32 most;
} Axis;

/* Settings of one axis at a degree, and of the tensor ranks' sequence; the batch stays, data ranks play more of it. */
static char *axis_change(const Axis *axis, guint32 degree, gboolean sequence) {
  return g_strdup_printf("parallel.%s=%u%s", axis->key, degree, sequence ? " parallel.sequence_parallel=yes" : "");
}

static const RunReport *attempt_layout(Search *search, const char *axes, guint64 times) {
  const RunIdentity *identity = &search->report->identity;
  g_autofree char *change = g_strdup_printf("%s training.gradient_accumulation=%" G_GUINT64_FORMAT
                                            " training.global_batch=%" G_GUINT64_FORMAT,
                                            axes, identity->gradient_accumulation * times, identity->global_batch);
  return attempt(search, change);
}

/* Of the remedies from `first` on the one that fits, else the one that needs least. */
static void keep_best(Search *search, guint first) {
  guint best = first;
  for (guint i = first + 1; i < search->remedies->len; i++) {
    const RunReport *report = ((const StudyRemedy *)g_ptr_array_index(search->remedies, i))->report;
    if (fits(search, report) ||
        need(report) < need(((const StudyRemedy *)g_ptr_array_index(search->remedies, best))->report))
      best = i;
  }
  for (guint i = search->remedies->len; i-- > first;)
    if (i != best)
      g_ptr_array_remove_index(search->remedies, i);
}

/* Doubled until it fits; one degree is told. *ret_last: the most that could be played, as settings; NULL: none. */
static gboolean attempt_axis(Search *search, const Axis *axis, gboolean sequence, char **ret_last) {
  guint first = search->remedies->len;
  gboolean good = FALSE;
  for (guint32 degree = axis->degree * 2; !good && degree <= axis->most; degree *= 2) {
    g_autofree char *change = axis_change(axis, degree, sequence);
    const RunReport *report = attempt_layout(search, change, degree / axis->degree);
    if (report != NULL) {
      g_free(*ret_last);
      *ret_last = g_steal_pointer(&change);
    }
    good = fits(search, report);
  }
  keep_best(search, first);
  return good;
}

/* Tensor ranks, then stages, then context ranks alone; where neither of the first two does, stages over the most tensor
 * ranks that could be played. */
static void attempt_axes(Search *search, int framework) {
  const RunIdentity *identity = &search->report->identity;
  LayoutSet has = plan_framework_axes(framework);
  guint32 node = identity->gpus / identity->nodes;
  Axis tensor = {"tensor", study_degree(identity, "parallel.tensor"), node};
  Axis pipeline = {"pipeline", study_degree(identity, "parallel.pipeline"), MOST_STAGES};
  Axis context = {"context", study_degree(identity, "parallel.context"), node};
  gboolean sequence = plan_framework_sequence_parallel(framework), good = FALSE;
  g_autofree char *most = NULL, *unused = NULL;
  if ((has & LAYOUT_BIT(LAYOUT_TENSOR)) != 0)
    good |= attempt_axis(search, &tensor, sequence, &most);
  if ((has & LAYOUT_BIT(LAYOUT_PIPELINE)) != 0)
    good |= attempt_axis(search, &pipeline, FALSE, &unused);
  if ((has & LAYOUT_BIT(LAYOUT_CONTEXT)) != 0)
    attempt_axis(search, &context, FALSE, &unused);
  guint first = search->remedies->len;
  guint32 most_tensor = most != NULL ? (guint32)g_ascii_strtoull(strchr(most, '=') + 1, NULL, 10) : 0;
  for (guint32 degree = pipeline.degree * 2; most != NULL && !good && degree <= MOST_STAGES; degree *= 2) {
    g_autofree char *stages = axis_change(&pipeline, degree, FALSE);
    g_autofree char *both = g_strdup_printf("%s %s", most, stages);
    guint64 times = (guint64)(most_tensor / tensor.degree) * (degree / pipeline.degree);
    good = fits(search, attempt_layout(search, both, times));
  }
  keep_best(search, first);
}

/* The single change, other than a setting that `changes` has already, with the least need; NULL: none is left. */
static const char *nearest(const GPtrArray *remedies, guint singles, const char *changes) {
  const StudyRemedy *best = NULL;
  for (guint i = 0; i < singles; i++) {
    const StudyRemedy *remedy = g_ptr_array_index(remedies, i);
    if (!study_changes_clash(changes, remedy->change) && (best == NULL || need(remedy->report) < need(best->report)))
      best = remedy;
  }
  return best != NULL ? best->change : NULL;
}

/* Where no single change fits: the one that needs least and the next of those that are left, until together they
 * fit. */
static void attempt_together(Search *search) {
  guint singles = search->remedies->len;
  for (guint i = 0; i < singles; i++)
    if (fits(search, ((const StudyRemedy *)g_ptr_array_index(search->remedies, i))->report))
      return;
  g_autofree char *changes = g_strdup(nearest(search->remedies, singles, ""));
  for (const char *next; changes != NULL && (next = nearest(search->remedies, singles, changes)) != NULL;) {
    char *both = g_strdup_printf("%s %s", changes, next);
    g_free(changes);
    changes = both;
    if (fits(search, attempt(search, changes)))
      return;
  }
}

GPtrArray *study_remedies(const Study *study, const RunReport *report, const StudyOptions *options) {
  Search search = {study, report, *options, study_trials_new()};
  search.options.timeline = FALSE;
  int framework = base_names_find(plan_framework_names, report->identity.framework);
  sim_require(framework >= 0, 0, NULL, "a report of framework %s", report->identity.framework);
  attempt_stages(&search, framework);
  attempt_micro_batches(&search);
  attempt_settings(&search, framework);
  attempt_axes(&search, framework);
  attempt_nodes(&search);
  attempt_together(&search);
  return search.remedies;
}
