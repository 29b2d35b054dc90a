/* SPDX-License-Identifier: MIT */
/* foretrain report: runs as one page of HTML. */
#include <stdio.h>

#include "base-error.h"
#include "cli-find.h"
#include "cli-write.h"
#include "cli-written.h"
#include "report-page.h"
#include "study-faster.h"
#include "study-remedy.h"

#define MOST_RUNS 8 /* that a page still shows side by side */

typedef struct {
  CliWorkload workload;
  const char *const *words;
  const char *db, *output;
  gboolean json, quiet;
} Page;

static const CliOption options[] = {CLI_WORDS(Page, words, 1, MOST_RUNS, "one to eight runs, or workloads"),
                                    CLI_GROUP_ROW(Page, workload, cli_workload_options),
                                    CLI_DB(Page, db),
                                    CLI_JSON(Page, json),
                                    CLI_QUIET(Page, quiet),
                                    CLI_OUTPUT(Page, output),
                                    {NULL}};

/* What a run's page needs beyond the database. */
typedef struct {
  StudyStages stages;
  GPtrArray *remedies, *faster;
  StudyTornado *tornado;
  char *no_stages;
} Played;

static void played_free(gpointer data) {
  Played *played = data;
  study_stages_clear(&played->stages);
  g_clear_pointer(&played->remedies, g_ptr_array_unref);
  g_clear_pointer(&played->faster, g_ptr_array_unref);
  g_clear_pointer(&played->tornado, study_tornado_free);
  g_free(played->no_stages);
  g_free(played);
}

/* The run's settings played again: under each stage, with other figures of the cluster, with other knobs. A run whose
 * files are gone has none of it. */
static Played *play(StoreDb *db, gint64 run_id, const StudyOptions *how, GError **error) {
  g_autoptr(RunReport) report = store_db_load(db, run_id, FALSE, error);
  if (report == NULL)
    return NULL;
  Played *played = g_new0(Played, 1);
  StudyOptions summary = *how;
  summary.timeline = FALSE;
  g_autoptr(GError) why = NULL;
  g_autoptr(Study) study = cli_find_study(db, run_id, "cannot be played again", &why);
  if (study == NULL || !study_run_stages(study, NULL, &summary, &played->stages, &why)) {
    played->no_stages = g_strdup_printf("They were not played: %s", why->message);
    return played;
  }
  if (!run_report_fits(report, FALSE))
    played->remedies = study_remedies(study, report, &summary);
  played->faster = study_faster(study, report, &summary, NULL);
  played->tornado = study_tornado(study, &summary, NULL);
  return played;
}

static gboolean gather(const Page *asked, const char *database, GArray *runs, GPtrArray *all, GError **error) {
  for (guint i = 0; asked->words[i] != NULL; i++) {
    ReportPageRun run = {0};
    g_autoptr(StoreDb) db = cli_find_small(&asked->workload, database, asked->words[i], error)
                                ? cli_find_run(&asked->workload, database, asked->words[i], &run.run_id, error)
                                : NULL;
    Played *played = db != NULL ? play(db, run.run_id, &asked->workload.twins.study, error) : NULL;
    if (played == NULL)
      return FALSE;
    g_ptr_array_add(all, played);
    run.stages = played->stages.reports;
    run.n_stages = played->stages.n;
    run.no_stages = played->no_stages;
    run.remedies = played->remedies;
    run.faster = played->faster;
    run.tornado = played->tornado;
    g_array_append_val(runs, run);
  }
  return TRUE;
}

static void tell(const Page *asked, const GArray *runs) {
  CliWritten written;
  cli_written_begin(&written, (const char *const[]){asked->output, NULL});
  base_json_list(written.json, "run_ids");
  for (guint i = 0; i < runs->len; i++)
    base_json_integer(written.json, NULL, g_array_index(runs, ReportPageRun, i).run_id);
  base_json_end(written.json);
  cli_written_print(&written);
}

static CliExit write_page(const Page *asked, GError **error) {
  const char *database = cli_database(asked->db, error);
  if (database == NULL)
    return CLI_INPUT;
  g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(ReportPageRun));
  g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(played_free);
  g_autoptr(GString) html = g_string_new(NULL);
  if (!gather(asked, database, runs, all, error))
    return CLI_FAULT;
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  if (db == NULL || !report_page(db, (const ReportPageRun *)(gpointer)runs->data, runs->len, html, error) ||
      !cli_write(asked->output, html->str, error))
    return CLI_FAULT;
  if (asked->json)
    tell(asked, runs);
  else if (!asked->quiet && !g_str_equal(asked->output, "-"))
    fprintf(stderr, "%s is written; it needs no other file\n", asked->output);
  return CLI_DONE;
}

static CliExit report(gconstpointer data, GError **error) {
  const Page *asked = data;
  if (asked->output != NULL)
    return cli_written_check(asked->json, asked->output, "report", error) ? write_page(asked, error) : CLI_INPUT;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "report: say where to, as in -o step.html");
  return CLI_INPUT;
}

static const Page defaults = {.workload = CLI_WORKLOAD_DEFAULT};

const CliVerb cli_report = {"report",
                            "RUN... -o FILE.html",
                            "runs as one page: verdict, timelines to zoom, memory, stages, inputs, how far to trust it",
                            options,
                            sizeof(Page),
                            &defaults,
                            report};
