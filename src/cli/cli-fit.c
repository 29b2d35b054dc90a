/* foretrain fit: how far a setting goes before memory runs out. */
#include <stdio.h>

#include "base-error.h"
#include "cli.h"
#include "report-fit.h"

CliExit cli_fit(const CliOptions *options, GError **error) {
  StudyFits fits;
  if (!cli_want(options, 1, "a workload", error))
    return CLI_INPUT;
  if (options->vary == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "what may vary is not said: --vary micro_batch, sequence_length, layers or nodes");
    return CLI_INPUT;
  }
  g_autoptr(Study) study = cli_open_study(options, options->rest[0], error);
  if (study == NULL || !study_fit(study, options->vary, &options->study, &fits, error))
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  (options->json ? report_fit_json : report_fit)(&fits, text);
  fputs(text->str, stdout);
  study_fits_clear(&fits);
  return CLI_DONE;
}
