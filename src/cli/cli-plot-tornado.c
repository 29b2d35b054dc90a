/* SPDX-License-Identifier: MIT */
/* foretrain plot tornado: what a step hangs on, played again with the cluster's figures moved. */
#include <stdio.h>

#include "base-error.h"
#include "cli-find.h"
#include "cli-plot.h"
#include "cli-progress.h"

typedef struct {
  CliWorkload workload;
  const char *const *words;
  const char *db;
  CliCanvas on;
} Tornado;

static const CliOption options[] = {CLI_WORKLOAD_WORD(Tornado, words, "a run or a workload"),
                                    CLI_GROUP_ROW(Tornado, workload, cli_workload_options),
                                    CLI_DB(Tornado, db),
                                    CLI_CANVAS(Tornado, on),
                                    {NULL}};

static void show(guint64 done, guint64 all, gpointer user) {
  cli_progress_show(user, done, 0, all);
}

static CliExit tornado(gconstpointer data, GError **error) {
  const Tornado *asked = data;
  gboolean kept;
  StudyOptions summary = asked->workload.twins.study;
  summary.timeline = FALSE;
  const char *database = cli_plot_check(&asked->on, "tornado", error) ? cli_database(asked->db, error) : NULL;
  g_autoptr(Study) study = database != NULL ? cli_find_or_open(&asked->workload, database, asked->words[0],
                                                               "cannot be played again", &kept, error)
                                            : NULL;
  gboolean good = study != NULL && study_trials_check(study, error);
  g_autoptr(RunReport) report = good ? study_run(study, &summary, error) : NULL;
  if (report == NULL)
    return CLI_INPUT;
  CliProgress progress;
  StudyWatch watch = {.progress = show, .user = &progress};
  cli_progress_begin(&progress, "plays", asked->on.quiet);
  g_autoptr(StudyTornado) found = study_tornado(study, &summary, &watch);
  cli_progress_end(&progress);
  if (!report_plot_tornado(report, found, &asked->on.canvas, error))
    return CLI_FAULT;
  cli_plot_tell(&asked->on);
  return CLI_DONE;
}

static const Tornado defaults = {.workload = CLI_WORKLOAD_DEFAULT};

const CliVerb cli_plot_tornado = {"tornado",
                                  "RUN|WORKLOAD -o FILE",
                                  "what a step hangs on: each figure of the cluster a tenth smaller and larger",
                                  options,
                                  sizeof(Tornado),
                                  &defaults,
                                  tornado,
                                  "plays one step again: it takes no window and no objective"};
