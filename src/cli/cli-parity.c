/* foretrain plot parity: what validate found, drawn. */
#include <stdio.h>

#include "base-error.h"
#include "cli.h"
#include "report-plot.h"

CliExit cli_plot_parity(const CliOptions *options, GError **error) {
  if (!cli_want(options, 1, "parity alone: it draws the newest validation", error))
    return CLI_INPUT;
  if (options->plays || options->from >= 0 || options->to >= 0 || options->minimise != NULL ||
      options->maximise != NULL || options->subject != NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "plot parity draws what foretrain validate found: no setting, window or option of runs applies");
    return CLI_INPUT;
  }
  if (options->output == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "plot: say where to, as in -o parity.svg or -o parity.png");
    return CLI_INPUT;
  }
  const char *database = cli_database(options, error);
  if (database == NULL || !report_plot_check(options->output, error))
    return CLI_INPUT;
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  if (db == NULL || !report_plot_parity(db, options->output, error))
    return CLI_FAULT;
  if (!options->quiet)
    fprintf(stderr, "%s is drawn; its script and data stand beside it\n", options->output);
  return CLI_DONE;
}
