/* SPDX-License-Identifier: MIT */
/* Metrics by name, and the condition that is always meant. */
#include "cli-objectives.h"

#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "study-setting.h"

#define SUBJECT                                                                                                        \
  {                                                                                                                    \
    "subject", 0, CLI_TEXT, offsetof(CliObjectives, subject), "EXPRESSION",                                            \
        "only runs for which this holds, as in \"step <= 1.9 s and nics_per_node = 8\"; they must fit, unless it "     \
        "names "                                                                                                       \
        "verdict"                                                                                                      \
  }

const CliOption cli_subject_options[] = {SUBJECT, {NULL}};

const CliOption cli_objectives_options[] = {
    {"minimise", 0, CLI_TEXTS, offsetof(CliObjectives, minimise), "METRIC",
     "a metric; several objectives give their Pareto front"},
    {"maximise", 0, CLI_TEXTS, offsetof(CliObjectives, maximise), "METRIC", "a metric"},
    {"minimize", 0, CLI_TEXTS, offsetof(CliObjectives, minimise), "METRIC", "--minimise", .hidden = TRUE},
    {"maximize", 0, CLI_TEXTS, offsetof(CliObjectives, maximise), "METRIC", "--maximise", .hidden = TRUE},
    SUBJECT,
    {NULL}};

static void no_metric(const char *option, const char *name, GError **error) {
  g_autofree const char **names = g_new0(const char *, store_n_metrics + 1);
  for (gsize i = 0, n = 0; i < store_n_metrics; i++)
    if (store_metrics[i].unit != STORE_TEXT)
      names[n++] = store_metrics[i].name;
  const char *nearest = base_names_nearest(names, name);
  g_autofree char *advice = nearest != NULL ? g_strdup_printf("did you mean \"%s\"?", nearest)
                                            : g_strdup("foretrain schema lists the columns of run");
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: no metric of numbers is called \"%s\"; %s", option, name, advice);
}

static gboolean add_objective(const char *option, const char *name, StoreObjective *objectives, guint *n,
                              GError **error) {
  const StoreMetric *metric = store_metric_find(name);
  if (metric == NULL || metric->unit == STORE_TEXT) {
    no_metric(option, name, error);
    return FALSE;
  }
  if (*n == STORE_OBJECTIVES_MOST) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: at most %d objectives", option, STORE_OBJECTIVES_MOST);
    return FALSE;
  }
  objectives[(*n)++] = (StoreObjective){metric, g_str_equal(option, "--maximise")};
  return TRUE;
}

/* An option may be given several times, or name several metrics with commas between. */
static gboolean add_objectives(const char *const *texts, const char *option, StoreObjective *objectives, guint *n,
                               GError **error) {
  for (; texts != NULL && *texts != NULL; texts++) {
    g_auto(GStrv) names = g_strsplit(*texts, ",", -1);
    for (char **name = names; *name != NULL; name++)
      if (!add_objective(option, g_strstrip(*name), objectives, n, error))
        return FALSE;
  }
  return TRUE;
}

static gboolean names_verdict(const StoreExpression *subject) {
  for (const StoreMetric *const *metric = store_expression_metrics(subject); *metric != NULL; metric++)
    if (strcmp((*metric)->name, "verdict") == 0)
      return TRUE;
  return FALSE;
}

/* What does not fit is no answer, unless the subject speaks of verdicts itself. */
StoreExpression *cli_subject(const CliObjectives *asked, GError **error) {
  const char *text = asked->subject;
  g_autoptr(StudySettings) settings = study_settings_open();
  g_autoptr(StoreExpression) subject =
      store_expression_parse_over(text != NULL ? text : "verdict = fits", study_settings_find, settings, error);
  if (subject == NULL)
    g_prefix_error(error, "--subject ");
  if (subject == NULL || names_verdict(subject))
    return g_steal_pointer(&subject);
  g_autofree char *both = g_strdup_printf("verdict = fits and (%s)", text);
  return store_expression_parse_over(both, study_settings_find, settings, error);
}

gboolean cli_objectives(const CliObjectives *asked, StoreObjective ret[STORE_OBJECTIVES_MOST], guint *ret_n,
                        GError **error) {
  *ret_n = 0;
  return add_objectives(asked->minimise, "--minimise", ret, ret_n, error) &&
         add_objectives(asked->maximise, "--maximise", ret, ret_n, error);
}
