/* SPDX-License-Identifier: MIT */
/* A measured log of nccl-tests beside the same calls predicted.
 *
 *   const ImportRun *run = cli_measured_run(log, "all-reduce", error);
 *   g_autoptr(CliMeasured) table = cli_measured_new(log, run, collective);
 *   cli_measured_add(table, &call, row); …
 *   cli_measured_print(table, text);
 *
 * Ratios are predicted over measured: above 1, foretold too slow. */
#pragma once

#include "base-json.h"
#include "import-nccl-tests.h"
#include "study-collective.h"

/* The first run with rows that is of the operation, or does not say of which. Borrowed from the log. Errors:
 * SIM_ERROR_INPUT where there is none. */
const ImportRun *cli_measured_run(const ImportLog *log, const char *operation, GError **error);
/* What a run says of itself, as settings; "" where it does not. */
typedef struct {
  char dtype[16], nodes[16], gpus_per_node[16];
} CliMeasuredSettings;
void cli_measured_settings(const ImportRun *run, CliMeasuredSettings *ret);
/* As many ranks and nodes as the log says, where it does. */
gboolean cli_measured_check(const ImportLog *log, const ImportRun *run, const StudyCollective *collective,
                            GError **error);

typedef struct CliMeasured CliMeasured;

CliMeasured *cli_measured_new(const ImportLog *log, const ImportRun *run, const StudyCollective *collective);
void cli_measured_free(CliMeasured *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CliMeasured, cli_measured_free)

void cli_measured_add(CliMeasured *table, const StudyCollectiveCall *call, const ImportRow *row);
/* The table, and the median distance of what was measured. Appends. */
void cli_measured_print(const CliMeasured *table, GString *text);
/* Members of an open object: "measured_time_ps", "measured_in_place_time_ps", and "ratio", "in_place_ratio"; null where
 * that half was not measured. */
void cli_measured_json(const StudyCollectiveCall *call, const ImportRow *row, BaseJson *json);
