/* foretrain plot: pictures of a run in the database, or of a workload that is run first. */
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli.h"
#include "report-plot.h"

typedef gboolean (*Plot)(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const char *path, GError **error);

static Plot find_plot(const char *kind, GError **error) {
  static const char *const built[] = {"timeline", "memory", NULL};
  static const char *const later[] = {"exposed", "tornado", "scaling", "oom-map", "capacity", "pareto", "parity", NULL};
  static const Plot plots[] = {report_plot_timeline, report_plot_memory};
  int index = base_names_find(built, kind);
  if (index >= 0)
    return plots[index];
  if (base_names_find(later, kind) >= 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "plot %s does not exist yet (timeline and memory do)", kind);
    return NULL;
  }
  g_autofree char *advice = base_names_advice(built, kind);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no such plot \"%s\"%s", kind, advice);
  return NULL;
}

/* RUN names a run in the database; else it is a workload, which is run. */
static gboolean find_run(const CliOptions *options, StoreDb *db, const char *name, gint64 *ret_run_id, GError **error) {
  g_autoptr(GError) missing = NULL;
  if (store_db_find(db, name, ret_run_id, &missing))
    return TRUE;
  gboolean is_file = strchr(name, G_DIR_SEPARATOR) != NULL || g_str_has_suffix(name, ".ini");
  g_autoptr(Study) study = cli_open_study(options, name, is_file ? error : NULL);
  if (study == NULL) {
    if (!is_file)
      g_propagate_error(error, g_steal_pointer(&missing));
    return FALSE;
  }
  g_autoptr(RunReport) report = study_run(study, &options->study, error);
  return report != NULL && store_db_write(db, report, TRUE, ret_run_id, error);
}

CliExit cli_plot(const CliOptions *options, GError **error) {
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
  g_autoptr(StoreDb) db = store_db_open(cli_database(options), error);
  if (db == NULL || !find_run(options, db, options->rest[1], &run_id, error) ||
      !plot(db, run_id, options->from, options->to, options->output, error))
    return CLI_FAULT;
  return CLI_DONE;
}
