/* foretrain plot: pictures of a run in the database, or of a workload that is run first. */
#include <stdio.h>

#include "base-error.h"
#include "base-names.h"
#include "cli-find.h"
#include "report-plot.h"

typedef gboolean (*Plot)(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const char *path, GError **error);

static Plot find_plot(const char *kind, GError **error) {
  static const char *const built[] = {"timeline", "memory", NULL};
  static const char *const later[] = {"exposed", "tornado", NULL};
  static const char *const all[] = {"timeline", "memory", "parity", "pareto", "scaling", "oom-map", "capacity", NULL};
  static const Plot plots[] = {report_plot_timeline, report_plot_memory};
  int index = base_names_find(built, kind);
  if (index >= 0)
    return plots[index];
  if (base_names_find(later, kind) >= 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "plot %s does not exist yet (timeline, memory, parity, pareto, scaling, oom-map and capacity do)",
                kind);
    return NULL;
  }
  g_autofree char *advice = base_names_advice(all, kind);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no such plot \"%s\"%s", kind, advice);
  return NULL;
}

CliExit cli_plot(const CliOptions *options, GError **error) {
  if (options->rest != NULL && strcmp(options->rest[0], "parity") == 0)
    return cli_plot_parity(options, error);
  if (options->rest != NULL && g_strv_contains((const char *const[]){"oom-map", "capacity", NULL}, options->rest[0]))
    return cli_plot_sweep(options, error);
  if (options->rest != NULL && (strcmp(options->rest[0], "pareto") == 0 || strcmp(options->rest[0], "scaling") == 0))
    return cli_plot_points(options, error);
  Plot plot = options->rest != NULL ? find_plot(options->rest[0], error) : NULL;
  if (options->rest != NULL && plot == NULL)
    return CLI_INPUT;
  if (!cli_want(options, 2, "a kind (timeline, memory) and a run", error) || plot == NULL)
    return CLI_INPUT;
  if (options->minimise != NULL || options->maximise != NULL || options->subject != NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "plot %s draws one run: --minimise, --maximise and --subject are pareto's", options->rest[0]);
    return CLI_INPUT;
  }
  if (options->output == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "plot: say where to, as in -o step.svg or -o step.png");
    return CLI_INPUT;
  }
  gint64 run_id;
  const char *database = cli_database(options, error);
  if (database == NULL || !report_plot_check(options->output, error))
    return CLI_INPUT;
  g_autoptr(StoreDb) db = cli_find_run(options, database, options->rest[1], &run_id, error);
  if (db == NULL || !plot(db, run_id, options->from, options->to, options->output, error))
    return CLI_FAULT;
  if (!options->quiet)
    fprintf(stderr, "%s is drawn; its script and data stand beside it\n", options->output);
  return CLI_DONE;
}
