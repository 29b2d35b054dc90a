/* foretrain plot oom-map, capacity: the newest sweep of the database, drawn. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli.h"
#include "report-plot.h"

static gboolean want_words(const CliOptions *options, gboolean map, GError **error) {
  guint n = g_strv_length(options->rest);
  if (options->plays || options->from >= 0 || options->to >= 0 || options->minimise != NULL ||
      options->maximise != NULL || options->subject != NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "plot %s draws what foretrain sweep found: no setting, window, objective or option of runs applies",
                options->rest[0]);
    return FALSE;
  }
  if (n != 1 && !(map && n == 3)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "plot %s draws the newest sweep: it takes %s", options->rest[0],
                map ? "no more, or two of its axes: the one across and the one up" : "no more");
    return FALSE;
  }
  if (options->output == NULL)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "plot: say where to, as in -o %s.svg or -o %s.png", options->rest[0],
                options->rest[0]);
  return options->output != NULL;
}

CliExit cli_plot_sweep(const CliOptions *options, GError **error) {
  gboolean map = strcmp(options->rest[0], "oom-map") == 0;
  const char *database = want_words(options, map, error) ? cli_database(options, error) : NULL;
  if (database == NULL || !report_plot_check(options->output, error))
    return CLI_INPUT;
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  gboolean named = options->rest[1] != NULL;
  gboolean good = db != NULL && (map ? report_plot_oom_map(db, named ? options->rest[1] : NULL,
                                                           named ? options->rest[2] : NULL, options->output, error)
                                     : report_plot_capacity(db, options->output, error));
  if (!good)
    return CLI_FAULT;
  if (!options->quiet)
    fprintf(stderr, "%s is drawn; its script and data stand beside it\n", options->output);
  return CLI_DONE;
}
