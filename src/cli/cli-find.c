/* SPDX-License-Identifier: MIT */
/* RUN as people name it: a run of the database, or a workload that is run first. */
#include "cli-find.h"

#include <string.h>

#include "base-error.h"
#include "conf-path.h"
#include "study-trial.h"

/* What only a run in the database is called: "last", an id, the beginning of a key. */
static gboolean names_run(const char *name) {
  return strcmp(name, "last") == 0 || name[strspn(name, "0123456789abcdefABCDEF")] == '\0';
}

static StoreDb *run_workload(const CliWorkload *how, const char *database, const char *workload, gint64 *ret_run_id,
                             GError **error) {
  g_autoptr(Study) study = cli_open_study(&how->settings, workload, error);
  g_autoptr(RunReport) report = study != NULL ? study_run(study, &how->twins.study, error) : NULL;
  g_autoptr(StoreDb) db = report != NULL ? store_db_open(database, error) : NULL;
  if (db == NULL || !store_db_write(db, report, TRUE, ret_run_id, error))
    return NULL;
  return g_steal_pointer(&db);
}

StoreDb *cli_find_run(const CliWorkload *how, const char *database, const char *name, gint64 *ret_run_id,
                      GError **error) {
  g_autoptr(GError) missing = NULL, nowhere = NULL;
  g_autoptr(StoreDb) db = store_db_open_existing(database, &missing);
  if (db != NULL && store_db_find(db, name, ret_run_id, &missing)) {
    if (!cli_workload_plays(how))
      return g_steal_pointer(&db);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: \"%s\" was run already, so no setting and no option of runs applies; name a workload instead",
                database, name);
    return NULL;
  }
  g_autofree char *path = conf_path_find(name, ".ini", "workloads", NULL, NULL, &nowhere);
  if (path != NULL)
    return run_workload(how, database, name, ret_run_id, error);
  if (names_run(name))
    g_propagate_error(error, g_steal_pointer(&missing));
  else
    g_propagate_prefixed_error(error, g_steal_pointer(&nowhere), "no run is \"%s\", and as a workload: ", name);
  return NULL;
}

/* What was given, without the defaults; NULL where it came from a trace file. */
static GArray *given_settings(const RunIdentity *identity, GError **error) {
  g_autoptr(GArray) given = g_array_new(FALSE, FALSE, sizeof(RunSetting));
  for (guint32 i = 0; i < identity->n_settings; i++) {
    const RunSetting *setting = &identity->settings[i];
    gboolean traced = g_str_has_prefix(setting->name, "trace.");
    if (strcmp(setting->origin, "default") == 0)
      continue;
    if (traced && strcmp(setting->name, "trace.file") == 0) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "it was played from the trace file %s", setting->value);
      return NULL;
    }
    if (!traced)
      g_array_append_val(given, *setting);
  }
  return g_steal_pointer(&given);
}

/* As it was given; *ret_key: under which key it is kept. */
static Study *recall(StoreDb *db, gint64 run_id, const char *what, char **ret_key, GError **error) {
  g_autoptr(RunReport) report = store_db_load(db, run_id, FALSE, error);
  if (report == NULL)
    return NULL;
  GError *cause = NULL;
  g_autoptr(GArray) given = given_settings(&report->identity, &cause);
  Study *study = given != NULL ? study_recall(report->identity.workload, (const RunSetting *)(gpointer)given->data,
                                              given->len, &cause)
                               : NULL;
  if (study == NULL)
    g_propagate_prefixed_error(error, cause, "run %" G_GINT64_FORMAT " %s: ", run_id, what);
  else
    *ret_key = g_strdup(report->identity.run_key);
  return study;
}

Study *cli_find_recipe(StoreDb *db, gint64 run_id, const char *what, GError **error) {
  g_autofree char *kept = NULL;
  return recall(db, run_id, what, &kept, error);
}

Study *cli_find_study(StoreDb *db, gint64 run_id, const char *what, GError **error) {
  g_autofree char *kept = NULL;
  g_autoptr(Study) study = recall(db, run_id, what, &kept, error);
  if (study == NULL)
    return NULL;
  GError *cause = NULL;
  g_autofree char *key = study_find_key(study, &cause);
  if (cause == NULL && g_strcmp0(key, kept) != 0)
    g_set_error(&cause, SIM_ERROR, SIM_ERROR_INPUT, "what it was made of (catalogue, models) has changed since");
  if (cause == NULL)
    return g_steal_pointer(&study);
  g_propagate_prefixed_error(error, cause, "run %" G_GINT64_FORMAT " %s: ", run_id, what);
  return NULL;
}

StoreDb *cli_find_kept(const char *database, const char *name, gint64 *ret_run_id, GError **error) {
  g_autoptr(GError) missing = NULL;
  if (!names_run(name))
    return NULL;
  g_autoptr(StoreDb) db = store_db_open_existing(database, &missing);
  if (db != NULL && store_db_find(db, name, ret_run_id, &missing))
    return g_steal_pointer(&db);
  g_autofree char *path = conf_path_find(name, ".ini", "workloads", NULL, NULL, NULL);
  if (path == NULL)
    g_propagate_error(error, g_steal_pointer(&missing));
  return NULL;
}

Study *cli_find_or_open(const CliWorkload *how, const char *database, const char *name, const char *what,
                        gboolean *ret_kept, GError **error) {
  gint64 run_id;
  GError *missing = NULL;
  g_autoptr(StoreDb) db = cli_find_kept(database, name, &run_id, &missing);
  *ret_kept = db != NULL;
  if (missing != NULL) {
    g_propagate_error(error, missing);
    return NULL;
  }
  if (db == NULL)
    return cli_open_study(&how->settings, name, error);
  g_autoptr(Study) study = cli_find_study(db, run_id, what, error);
  return study != NULL && cli_settings_lay(&how->settings, study, error) ? g_steal_pointer(&study) : NULL;
}

gboolean cli_find_small(const CliWorkload *how, const char *database, const char *name, GError **error) {
  gboolean kept = FALSE;
  g_autoptr(Study) study = cli_find_or_open(how, database, name, "cannot be played again", &kept, NULL);
  return study == NULL || (kept && !cli_workload_plays(how)) || study_trials_check(study, error);
}
