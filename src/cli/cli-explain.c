/* SPDX-License-Identifier: MIT */
/* foretrain explain: where a step's time goes, what it hangs on, what would make it faster. */
#include <stdio.h>

#include "cli-find.h"
#include "cli-progress.h"
#include "cli-write.h"
#include "report-explained.h"
#include "study-faster.h"

typedef struct {
  CliWorkload workload;
  const char *const *words;
  const char *db;
  gboolean json, quiet;
} Explain;

static const CliOption options[] = {CLI_WORKLOAD_WORD(Explain, words, "a run or a workload"),
                                    CLI_GROUP_ROW(Explain, workload, cli_workload_options),
                                    CLI_DB(Explain, db),
                                    CLI_JSON(Explain, json),
                                    CLI_NO_PROGRESS(Explain, quiet),
                                    {NULL}};

/* What is not in the database yet, or not so, is kept there. */
static gboolean keep(const Explain *asked, const char *database, gboolean kept, const RunReport *report,
                     GError **error) {
  gint64 run_id;
  if (kept && !cli_workload_plays(&asked->workload))
    return TRUE;
  g_autoptr(StoreDb) db = store_db_open(database, error);
  return db != NULL && store_db_write(db, report, TRUE, &run_id, error);
}

static void show(guint64 done, guint64 all, gpointer user) {
  cli_progress_show(user, done, 0, all);
}

/* All else that is played for it, and its page. */
static void print(const Explain *asked, const Study *study, const RunReport *report) {
  CliProgress progress;
  StudyWatch watch = {.progress = show, .user = &progress};
  cli_progress_begin(&progress, "plays", asked->quiet);
  g_autoptr(StudyTornado) tornado = study_tornado(study, &asked->workload.twins.study, &watch);
  g_autoptr(GPtrArray) faster = study_faster(study, report, &asked->workload.twins.study, &watch);
  cli_progress_end(&progress);
  g_autoptr(GString) text = g_string_new(NULL);
  (asked->json ? report_explained_json : report_explained)(report, faster, tornado, text);
  cli_print(text->str);
}

static CliExit explain(gconstpointer data, GError **error) {
  const Explain *asked = data;
  gboolean kept;
  const char *database = cli_database(asked->db, error);
  g_autoptr(Study) study = database != NULL ? cli_find_or_open(&asked->workload, database, asked->words[0],
                                                               "cannot be played again", &kept, error)
                                            : NULL;
  gboolean good = study != NULL && study_trials_check(study, error);
  g_autoptr(RunReport) report = good ? study_run(study, &asked->workload.twins.study, error) : NULL;
  if (report == NULL)
    return CLI_INPUT;
  if (!keep(asked, database, kept, report, error))
    return CLI_FAULT;
  print(asked, study, report);
  return CLI_DONE;
}

static const Explain defaults = {.workload = CLI_WORKLOAD_DEFAULT};

const CliVerb cli_explain = {
    "explain", "RUN|WORKLOAD",  "where a step's time goes, what it hangs on, and what would make it faster",
    options,   sizeof(Explain), &defaults,
    explain};
