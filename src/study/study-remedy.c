/* Candidates and their runs. */
#include "study-remedy.h"

#include <string.h>

#include "study-walk.h"

RunReport *study_try(const Study *study, const char *const *changes, const StudyOptions *options, GError **error) {
  Study mine = {study->workload, conf_settings_copy(study->settings)};
  RunReport *report = NULL;
  gboolean good = TRUE;
  for (gsize i = 0; good && changes[i] != NULL; i++)
    good = conf_settings_set(mine.settings, changes[i], error);
  if (good)
    report = study_run(&mine, options, error);
  conf_settings_free(mine.settings);
  return report;
}

static void remedy_free(gpointer data) {
  StudyRemedy *remedy = data;
  g_free(remedy->change);
  run_report_free(remedy->report);
  g_free(remedy);
}

typedef struct {
  const Study *study;
  const RunReport *report;
  StudyOptions options;
  GPtrArray *remedies;
} Search;

/* `change`: settings with spaces between. TRUE: it runs, and fits. */
static gboolean attempt(Search *search, const char *change) {
  g_auto(GStrv) changes = g_strsplit(change, " ", -1);
  RunReport *report = study_try(search->study, (const char *const *)changes, &search->options, NULL);
  if (report == NULL)
    return FALSE;
  StudyRemedy *remedy = g_new(StudyRemedy, 1);
  *remedy = (StudyRemedy){g_strdup(change), report};
  g_ptr_array_add(search->remedies, remedy);
  return report->verdict == RUN_FITS;
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
    if (attempt(search, change))
      return;
  }
}

/* Twice the nodes: at the same global batch where it divides, else at twice that. */
static void attempt_nodes(Search *search) {
  const RunIdentity *identity = &search->report->identity;
  gboolean halves = identity->gradient_accumulation % 2 == 0;
  guint64 accumulation = halves ? identity->gradient_accumulation / 2 : identity->gradient_accumulation;
  g_autofree char *change =
      g_strdup_printf("cluster.nodes=%u training.micro_batch=%" G_GUINT64_FORMAT
                      " training.gradient_accumulation=%" G_GUINT64_FORMAT " training.global_batch=%" G_GUINT64_FORMAT,
                      2 * identity->nodes, identity->micro_batch, accumulation,
                      halves ? identity->global_batch : 2 * identity->global_batch);
  attempt(search, change);
}

static gboolean is_set(const Search *search, const char *name, const char *value) {
  const RunIdentity *identity = &search->report->identity;
  for (guint32 i = 0; i < identity->n_settings; i++)
    if (strcmp(identity->settings[i].name, name) == 0)
      return strcmp(identity->settings[i].value, value) == 0;
  return FALSE;
}

static void attempt_settings(Search *search) {
  static const struct {
    const char *name, *value, *framework; /* framework: the one that reads it; NULL: all */
  } settings[] = {{"training.activation_checkpointing", "attention", NULL},
                  {"training.activation_checkpointing", "full", NULL},
                  {"training.loss", "fused", NULL},
                  {"memory.expandable_segments", "yes", NULL},
                  {"deepspeed.reduce_bucket_size", "50000000", "deepspeed"},
                  {"fsdp.backward_prefetch", "none", "fsdp1"},
                  {"parallel.offload_optimizer", "cpu", NULL}};
  const RunIdentity *identity = &search->report->identity;
  gboolean recomputes = strcmp(identity->activation_checkpointing, "full") == 0;
  for (gsize i = 0; i < G_N_ELEMENTS(settings); i++) {
    gboolean reads = settings[i].framework == NULL || strcmp(settings[i].framework, identity->framework) == 0;
    gboolean again = recomputes && strcmp(settings[i].name, "training.activation_checkpointing") == 0;
    g_autofree char *change = g_strdup_printf("%s=%s", settings[i].name, settings[i].value);
    if (reads && !again && !is_set(search, settings[i].name, settings[i].value))
      attempt(search, change);
  }
}

GPtrArray *study_remedies(const Study *study, const RunReport *report, const StudyOptions *options) {
  Search search = {study, report, *options, g_ptr_array_new_with_free_func(remedy_free)};
  search.options.timeline = FALSE;
  for (guint32 stage = report->identity.zero_stage + 1; stage < STUDY_STAGES; stage++) {
    g_autofree char *change = g_strdup_printf("parallel.zero_stage=%u", stage);
    attempt(&search, change);
  }
  attempt_micro_batches(&search);
  attempt_settings(&search);
  attempt_nodes(&search);
  return search.remedies;
}
