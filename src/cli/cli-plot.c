/* foretrain plot: pictures of a run in the database, or of a workload that is run first. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli.h"
#include "conf-path.h"
#include "report-plot.h"

typedef gboolean (*Plot)(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const char *path, GError **error);

static Plot find_plot(const char *kind, GError **error) {
  static const char *const built[] = {"timeline", "memory", NULL};
  static const char *const later[] = {"exposed", "tornado", "scaling", "oom-map", "capacity", "pareto", NULL};
  static const Plot plots[] = {report_plot_timeline, report_plot_memory};
  int index = base_names_find(built, kind);
  if (index >= 0)
    return plots[index];
  if (base_names_find(later, kind) >= 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "plot %s does not exist yet (timeline, memory and parity do)", kind);
    return NULL;
  }
  g_autofree char *advice = base_names_advice(built, kind);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no such plot \"%s\"%s", kind, advice);
  return NULL;
}

/* What only a run in the database is called: "last", an id, the beginning of a key. */
static gboolean names_run(const char *name) {
  return strcmp(name, "last") == 0 || name[strspn(name, "0123456789abcdefABCDEF")] == '\0';
}

static StoreDb *run_workload(const CliOptions *options, const char *database, const char *workload, gint64 *ret_run_id,
                             GError **error) {
  g_autoptr(Study) study = cli_open_study(options, workload, error);
  g_autoptr(RunReport) report = study != NULL ? study_run(study, &options->study, error) : NULL;
  g_autoptr(StoreDb) db = report != NULL ? store_db_open(database, error) : NULL;
  if (db == NULL || !store_db_write(db, report, TRUE, ret_run_id, error))
    return NULL;
  return g_steal_pointer(&db);
}

/* RUN names a run in the database; else it is a workload, which is run. */
static StoreDb *find_run(const CliOptions *options, const char *database, const char *name, gint64 *ret_run_id,
                         GError **error) {
  g_autoptr(GError) missing = NULL, nowhere = NULL;
  g_autoptr(StoreDb) db = store_db_open_existing(database, &missing);
  if (db != NULL && store_db_find(db, name, ret_run_id, &missing)) {
    if (!options->plays)
      return g_steal_pointer(&db);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: \"%s\" was run already, so no setting and no option of runs applies; name a workload instead",
                database, name);
    return NULL;
  }
  g_autofree char *path = conf_path_find(name, ".ini", "workloads", NULL, NULL, &nowhere);
  if (path != NULL)
    return run_workload(options, database, name, ret_run_id, error);
  if (names_run(name))
    g_propagate_error(error, g_steal_pointer(&missing));
  else
    g_propagate_prefixed_error(error, g_steal_pointer(&nowhere), "no run is \"%s\", and as a workload: ", name);
  return NULL;
}

CliExit cli_plot(const CliOptions *options, GError **error) {
  if (options->rest != NULL && strcmp(options->rest[0], "parity") == 0)
    return cli_plot_parity(options, error);
  if (!cli_want(options, 2, "a kind (timeline, memory) and a run", error))
    return CLI_INPUT;
  Plot plot = find_plot(options->rest[0], error);
  if (plot == NULL)
    return CLI_INPUT;
  if (options->output == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "plot: say where to, as in -o step.svg or -o step.png");
    return CLI_INPUT;
  }
  gint64 run_id;
  const char *database = cli_database(options, error);
  if (database == NULL || !report_plot_check(options->output, error))
    return CLI_INPUT;
  g_autoptr(StoreDb) db = find_run(options, database, options->rest[1], &run_id, error);
  if (db == NULL || !plot(db, run_id, options->from, options->to, options->output, error))
    return CLI_FAULT;
  if (!options->quiet)
    fprintf(stderr, "%s is drawn; its script and data stand beside it\n", options->output);
  return CLI_DONE;
}
