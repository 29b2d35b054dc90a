/* SPDX-License-Identifier: MIT */
/* Metrics by name, and the condition that is always meant. */
#include "cli-objectives.h"

#include <string.h>

#include "base-error.h"
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

static gboolean add_objectives(const char *const *names, gboolean more, StoreObjective *objectives, guint *n,
                               GError **error) {
  const char *option = more ? "--maximise" : "--minimise";
  for (; names != NULL && *names != NULL; names++) {
    const StoreMetric *metric = store_metric_find(*names);
    if (metric == NULL || metric->unit == STORE_TEXT) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                  "%s: no metric of numbers is called \"%s\"; foretrain schema lists the columns of run", option,
                  *names);
      return FALSE;
    }
    if (*n == STORE_OBJECTIVES_MOST) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: at most %d objectives", option, STORE_OBJECTIVES_MOST);
      return FALSE;
    }
    objectives[(*n)++] = (StoreObjective){metric, more};
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
  return add_objectives(asked->minimise, FALSE, ret, ret_n, error) &&
         add_objectives(asked->maximise, TRUE, ret, ret_n, error);
}
