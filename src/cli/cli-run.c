/* foretrain run, foretrain stages: play, keep, print. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "report-as.h"
#include "report-remedies.h"
#include "report-text.h"
#include "store-db.h"
#include "study-recipe.h"
#include "study-remedy.h"

static gboolean keep(const CliOptions *options, RunReport *const *reports, guint n, GError **error) {
  g_autoptr(StoreDb) db = store_db_open(cli_database(options, NULL), error);
  if (db == NULL)
    return FALSE;
  for (guint i = 0; i < n; i++) {
    gint64 run_id;
    if (!store_db_write(db, reports[i], options->study.timeline, &run_id, error))
      return FALSE;
  }
  return TRUE;
}

CliExit cli_finish(const CliOptions *options, RunReport *const *reports, guint n, GString *text, GError **error) {
  if (!keep(options, reports, n, error))
    return CLI_FAULT;
  if (!options->quiet)
    fputs(text->str, stdout);
  for (guint i = 0; options->require_fit && i < n; i++)
    if (reports[i]->verdict == RUN_OOM)
      return CLI_FAILED;
  return CLI_DONE;
}

/* JSON: as the member "remedies" of the object. */
static void tell_remedies(const CliOptions *options, const Study *study, const RunReport *report, GString *text) {
  g_autoptr(GPtrArray) remedies = study_remedies(study, report, &options->study);
  if (!options->json) {
    report_remedies(report, remedies, text);
    return;
  }
  const char *end = strrchr(text->str, '}');
  g_string_truncate(text, (gsize)(end - text->str));
  g_string_append(text, ",\"remedies\":");
  report_remedies_json(remedies, text);
  g_string_append(text, "}\n");
}

CliExit cli_run(const CliOptions *options, GError **error) {
  if (!cli_want(options, 1, "a workload", error) || cli_database(options, error) == NULL)
    return CLI_INPUT;
  g_autoptr(Study) study = cli_open_study(options, options->rest[0], error);
  if (study == NULL)
    return CLI_INPUT;
  g_autoptr(RunReport) report = study_run(study, &options->study, error);
  if (report == NULL)
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  if (options->as >= 0) {
    report_as(report, (ReportTool)options->as, text);
    return cli_finish(options, &report, 1, text, error);
  }
  (options->json ? report_json : report_summary)(report, text);
  if (report->verdict == RUN_OOM && !options->quiet)
    tell_remedies(options, study, report, text);
  if (options->explain && !options->json) /* JSON always says so */
    report_explain(&report, 1, text);
  if (options->explain && !options->json && !study_print_recipe(study, text, error))
    return CLI_INPUT;
  return cli_finish(options, &report, 1, text, error);
}

/* Stages that the framework lacks, or that the workload's own keys rule out. */
static void tell_refused(const StudyStages *stages) {
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    if (stages->refused[stage] != NULL)
      fprintf(stderr, "ZeRO-%d is left out: %s\n", stage, stages->refused[stage]);
}

CliExit cli_stages(const CliOptions *options, GError **error) {
  StudyStages stages;
  if (!cli_want(options, 1, "a workload", error) || cli_database(options, error) == NULL)
    return CLI_INPUT;
  g_autoptr(Study) study = cli_open_study(options, options->rest[0], error);
  if (study == NULL || !study_run_stages(study, &options->study, &stages, error))
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  (options->json ? report_stages_json : report_stages)(stages.reports, stages.n, text);
  if (options->explain && !options->json)
    report_explain(stages.reports, stages.n, text);
  tell_refused(&stages);
  gboolean good = !options->explain || options->json || study_print_recipe(study, text, error);
  CliExit status = good ? cli_finish(options, stages.reports, stages.n, text, error) : CLI_INPUT;
  study_stages_clear(&stages);
  return status;
}
