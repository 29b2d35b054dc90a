/* SPDX-License-Identifier: MIT */
/* foretrain fit: how far a setting goes before memory runs out. */
#include <stdio.h>

#include "base-error.h"
#include "cli-write.h"
#include "cli.h"
#include "report-fit.h"

typedef struct {
  CliWorkload workload;
  const char *const *words;
  const char *vary;
  const char *const *layouts;
  gboolean json;
} Fit;

static const char *const keys[] = {"micro_batch", "sequence_length", "layers", "nodes", NULL};

static const CliOption options[] = {CLI_WORKLOAD_WORD(Fit, words, "a workload"),
                                    CLI_GROUP_ROW(Fit, workload, cli_workload_options),
                                    CLI_JSON(Fit, json),
                                    {"vary", 0, CLI_TEXT, offsetof(Fit, vary), "KEY",
                                     "what may vary: micro_batch, sequence_length, layers or nodes", keys},
                                    {"layout", 0, CLI_TEXTS, offsetof(Fit, layouts), "SETTINGS",
                                     "beside the stages another layout of the same GPUs and global batch, as "
                                     "\"tensor=4 pipeline=2\"; auto: all that can be played; may be repeated"},
                                    CLI_EDGE_FITS(Fit, workload.twins.study.edge_fits),
                                    {NULL}};

static CliExit fit(gconstpointer data, GError **error) {
  const Fit *asked = data;
  StudyFits fits;
  if (asked->vary == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "what may vary is not said: --vary micro_batch, sequence_length, layers or nodes");
    return CLI_INPUT;
  }
  g_autoptr(Study) study = cli_open_study(&asked->workload.settings, asked->words[0], error);
  if (study == NULL || !study_fit(study, asked->vary, asked->layouts, &asked->workload.twins.study, &fits, error))
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  (asked->json ? report_fit_json : report_fit)(&fits, text);
  cli_print(text->str);
  study_fits_clear(&fits);
  return CLI_DONE;
}

static const Fit defaults = {.workload = CLI_WORKLOAD_DEFAULT};

const CliVerb cli_fit = {
    "fit",   "WORKLOAD --vary KEY", "the largest (nodes: the least) value of KEY that fits, per stage",
    options, sizeof(Fit),           &defaults,
    fit};
