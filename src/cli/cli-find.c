/* SPDX-License-Identifier: MIT */
/* RUN as people name it: a run of the database, or a workload that is run first. */
#include "cli-find.h"

#include <string.h>

#include "base-error.h"
#include "conf-path.h"

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
