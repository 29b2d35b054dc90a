/* foretrain plot pareto, plot scaling: the runs of the database, drawn side by side. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-objectives.h"
#include "report-plot.h"

/* How many GPUs, and what they bring: asked of every sweep, and always known. */
static gboolean two_objectives(const CliOptions *options, StoreObjective ret[STORE_OBJECTIVES_MOST], GError **error) {
  guint n;
  if (!cli_objectives(options, ret, &n, error))
    return FALSE;
  if (n == 0) {
    ret[0] = (StoreObjective){store_metric_find("gpus"), FALSE};
    ret[1] = (StoreObjective){store_metric_find("tokens_per_second"), TRUE};
    n = 2;
  }
  if (n == 2)
    return TRUE;
  g_set_error(
      error, SIM_ERROR, SIM_ERROR_INPUT,
      "plot pareto: expected two objectives, as in --minimise gpus --minimise price_per_million_tokens, found %u", n);
  return FALSE;
}

static gboolean check(const CliOptions *options, const char *kind, GError **error) {
  gboolean scaling = strcmp(kind, "scaling") == 0;
  if (options->plays || options->from >= 0 || options->to >= 0 ||
      (scaling && (options->minimise != NULL || options->maximise != NULL))) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "plot %s draws the runs of the database: it takes --db, --subject%s and -o", kind,
                scaling ? "" : ", --minimise, --maximise");
    return FALSE;
  }
  if (options->output != NULL)
    return report_plot_check(options->output, error);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "plot: say where to, as in -o %s.svg or -o %s.png", kind, kind);
  return FALSE;
}

CliExit cli_plot_points(const CliOptions *options, GError **error) {
  const char *kind = options->rest[0];
  StoreObjective objectives[STORE_OBJECTIVES_MOST];
  if (!cli_want(options, 1, "the kind alone: it draws the runs of the database", error) ||
      !check(options, kind, error) || !two_objectives(options, objectives, error))
    return CLI_INPUT;
  g_autoptr(StoreExpression) subject = cli_subject(options, error);
  const char *database = subject != NULL ? cli_database(options, error) : NULL;
  if (database == NULL)
    return CLI_INPUT;
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  gboolean drawn = db != NULL &&
                   (strcmp(kind, "scaling") == 0 ? report_plot_scaling(db, subject, options->output, error)
                                                 : report_plot_pareto(db, objectives, subject, options->output, error));
  if (!drawn)
    return CLI_FAULT;
  if (!options->quiet)
    fprintf(stderr, "%s is drawn; its script and data stand beside it\n", options->output);
  return CLI_DONE;
}
