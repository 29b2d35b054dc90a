/* SPDX-License-Identifier: MIT */
/* foretrain run, foretrain stages: play, keep, print. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-find.h"
#include "cli-write.h"
#include "report-as.h"
#include "report-explained.h"
#include "report-remedies.h"
#include "report-text.h"
#include "store-db.h"
#include "study-faster.h"
#include "study-recipe.h"
#include "study-remedy.h"

#define MUCH_EXPOSED 0.1 /* of the step */
/* Of a step: the trials of one with more (11 us of all of them an event, measured at five million) take over five
 * seconds. */
#define MANY_EVENTS 400000

typedef struct {
  CliWorkload workload;
  CliOutcome outcome;
  const char *const *words;
  int as; /* of report_tool_names; -1: not given */
  const char *const *layouts;
} Run;

#define ROWS(type)                                                                                                     \
  CLI_WORKLOAD_WORD(type, words, "a workload"), CLI_GROUP_ROW(type, workload, cli_workload_options),                   \
      CLI_GROUP_ROW(type, outcome, cli_outcome_options),                                                               \
      CLI_TIMELINE(type, workload.twins.study, "keep the timeline in the database (yes)")

static const CliOption stages_options[] = {
    ROWS(Run),
    {"layout", 0, CLI_TEXTS, offsetof(Run, layouts), "SETTINGS",
     "beside the stages another layout of the same GPUs and global batch, as \"tensor=4 pipeline=2\"; auto: the best "
     "four; may be repeated"},
    {NULL}};
static const CliOption run_options[] = {
    ROWS(Run),
    {"as", 0, CLI_CHOICE, offsetof(Run, as), NULL, "print the step as that tool logs it", report_tool_names},
    {NULL}};
static const Run defaults = {.workload = CLI_WORKLOAD_DEFAULT, .as = -1};

static gboolean keep(const CliOutcome *outcome, gboolean timeline, RunReport *const *reports, guint n, GError **error) {
  g_autoptr(StoreDb) db = store_db_open(cli_database(outcome->db, NULL), error);
  if (db == NULL)
    return FALSE;
  for (guint i = 0; i < n; i++) {
    gint64 run_id;
    if (!store_db_write(db, reports[i], timeline, &run_id, error))
      return FALSE;
  }
  return TRUE;
}

CliExit cli_finish(const CliOutcome *outcome, gboolean timeline, RunReport *const *reports, guint n, GString *text,
                   GError **error) {
  if (!keep(outcome, timeline, reports, n, error))
    return CLI_FAULT;
  if (!outcome->quiet)
    cli_print(text->str);
  for (guint i = 0; outcome->require_fit && i < n; i++)
    if (!run_report_fits(reports[i], outcome->edge_fits))
      return CLI_FAILED;
  return CLI_DONE;
}

/* What would make it faster, where there is that much to gain. */
static void hint(const Study *study, const RunReport *report, const StudyOptions *options, GString *text) {
  if (run_report_exposed_share(report) <= MUCH_EXPOSED)
    return;
  if (report->events > MANY_EVENTS) {
    report_faster_hint(report, NULL, text);
    return;
  }
  g_autoptr(GPtrArray) faster = study_faster(study, report, options, NULL);
  report_faster_hint(report, faster, text);
}

static CliExit run(gconstpointer data, GError **error) {
  const Run *asked = data;
  if (cli_database(asked->outcome.db, error) == NULL)
    return CLI_INPUT;
  if (asked->outcome.json && asked->as >= 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--json: a log as --as prints it is no JSON; ask for one of them");
    return CLI_INPUT;
  }
  gboolean kept;
  g_autoptr(Study) study = cli_find_or_open(&asked->workload, cli_database(asked->outcome.db, NULL), asked->words[0],
                                            "cannot be played again", &kept, error);
  if (study == NULL)
    return CLI_INPUT;
  StudyOptions play = asked->workload.twins.study;
  play.every_micro_batch |= asked->as >= 0;
  g_autoptr(RunReport) report = study_run(study, &play, error);
  if (report == NULL)
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  if (asked->as >= 0) {
    report_as(report, (ReportTool)asked->as, text);
    return cli_finish(&asked->outcome, asked->workload.twins.study.timeline, &report, 1, text, error);
  }
  StudyOptions search = asked->workload.twins.study;
  search.edge_fits = asked->outcome.edge_fits;
  gboolean wanting = !run_report_fits(report, search.edge_fits) && !asked->outcome.quiet;
  g_autoptr(GPtrArray) remedies = wanting ? study_remedies(study, report, &search) : NULL;
  if (asked->outcome.json) { /* always explains */
    report_json_with(report, remedies, text);
    return cli_finish(&asked->outcome, asked->workload.twins.study.timeline, &report, 1, text, error);
  }
  report_summary(report, text);
  if (remedies != NULL)
    report_remedies(report, remedies, text);
  else if (!asked->outcome.quiet)
    hint(study, report, &search, text);
  if (asked->outcome.explain)
    report_explain(&report, 1, text);
  if (asked->outcome.explain && !study_print_recipe(study, text, error))
    return CLI_INPUT;
  return cli_finish(&asked->outcome, asked->workload.twins.study.timeline, &report, 1, text, error);
}

/* Stages that the framework lacks, or that the workload's own keys rule out; layouts likewise. */
static void tell_refused(const StudyStages *stages) {
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    if (stages->refused[stage] != NULL)
      fprintf(stderr, "ZeRO-%d is left out: %s\n", stage, stages->refused[stage]);
  for (char **line = stages->left_out; *line != NULL; line++)
    fprintf(stderr, "%s\n", *line);
}

static CliExit stages(gconstpointer data, GError **error) {
  const Run *asked = data;
  StudyStages found;
  if (cli_database(asked->outcome.db, error) == NULL)
    return CLI_INPUT;
  g_autoptr(Study) study = cli_open_study(&asked->workload.settings, asked->words[0], error);
  if (study == NULL || !study_run_stages(study, asked->layouts, &asked->workload.twins.study, &found, error))
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  (asked->outcome.json ? report_stages_json : report_stages)((const char *const *)found.titles, found.reports, found.n,
                                                             text);
  if (asked->outcome.explain && !asked->outcome.json)
    report_explain(found.reports, found.n, text);
  tell_refused(&found);
  gboolean good = !asked->outcome.explain || asked->outcome.json || study_print_recipe(study, text, error);
  CliExit status =
      good ? cli_finish(&asked->outcome, asked->workload.twins.study.timeline, found.reports, found.n, text, error)
           : CLI_INPUT;
  study_stages_clear(&found);
  return status;
}

const CliVerb cli_run = {"run",       "WORKLOAD|RUN", "one training step: summary and verdict, into the database",
                         run_options, sizeof(Run),    &defaults,
                         run};
const CliVerb cli_stages = {"stages",       "WORKLOAD",  "the same step under ZeRO 0, 1, 2 and 3, side by side",
                            stages_options, sizeof(Run), &defaults,
                            stages};
