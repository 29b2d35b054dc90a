/* SPDX-License-Identifier: MIT */
/* foretrain plot exposed: why compute stands still, run beside run; of a workload, stage beside stage. */
#include <stdio.h>

#include "base-error.h"
#include "cli-find.h"
#include "cli-plot.h"

typedef struct {
  CliWorkload workload;
  const char *const *words;
  const char *db;
  CliCanvas on;
} Exposed;

#define MOST_BARS 16

static const CliOption options[] = {CLI_WORDS(Exposed, words, 1, MOST_BARS, "runs, or a workload"),
                                    CLI_GROUP_ROW(Exposed, workload, cli_workload_options),
                                    CLI_DB(Exposed, db),
                                    CLI_CANVAS(Exposed, on),
                                    {NULL}};

/* Each stage that the workload's framework has, played and kept. */
static gboolean run_stages(const Exposed *asked, const char *database, GArray *run_ids, GError **error) {
  StudyStages found;
  g_autoptr(Study) study = cli_open_study(&asked->workload.settings, asked->words[0], error);
  if (study == NULL || !study_run_stages(study, NULL, &asked->workload.twins.study, &found, error))
    return FALSE;
  g_autoptr(StoreDb) db = store_db_open(database, error);
  gboolean good = db != NULL;
  for (guint i = 0; good && i < found.n; i++) {
    gint64 run_id;
    good = store_db_write(db, found.reports[i], TRUE, &run_id, error);
    g_array_append_val(run_ids, run_id);
  }
  study_stages_clear(&found);
  return good;
}

/* Whether the one word is no run of the database. */
static gboolean is_workload(const Exposed *asked, const char *database) {
  gint64 run_id;
  g_autoptr(StoreDb) db = store_db_open_existing(database, NULL);
  return asked->words[1] == NULL && (db == NULL || !store_db_find(db, asked->words[0], &run_id, NULL));
}

static gboolean find_all(const Exposed *asked, const char *database, GArray *run_ids, GError **error) {
  for (guint i = 0; asked->words[i] != NULL; i++) {
    gint64 run_id;
    g_autoptr(StoreDb) db = cli_find_run(&asked->workload, database, asked->words[i], &run_id, error);
    if (db == NULL)
      return FALSE;
    g_array_append_val(run_ids, run_id);
  }
  return TRUE;
}

static CliExit exposed(gconstpointer data, GError **error) {
  const Exposed *asked = data;
  const char *database = cli_plot_check(&asked->on, "exposed", error) ? cli_database(asked->db, error) : NULL;
  if (database == NULL)
    return CLI_INPUT;
  g_autoptr(GArray) run_ids = g_array_new(FALSE, FALSE, sizeof(gint64));
  if (!(is_workload(asked, database) ? run_stages : find_all)(asked, database, run_ids, error))
    return CLI_FAULT;
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  if (db == NULL ||
      !report_plot_exposed(db, (const gint64 *)(gpointer)run_ids->data, run_ids->len, &asked->on.canvas, error))
    return CLI_FAULT;
  cli_plot_tell(&asked->on);
  return CLI_DONE;
}

static const Exposed defaults = {.workload = CLI_WORKLOAD_DEFAULT};

const CliVerb cli_plot_exposed = {"exposed",
                                  "RUN... | WORKLOAD -o FILE",
                                  "why compute stands still: of runs side by side, or of a workload's ZeRO stages",
                                  options,
                                  sizeof(Exposed),
                                  &defaults,
                                  exposed,
                                  "draws runs, or the stages of a workload: it takes no window and no objective"};
