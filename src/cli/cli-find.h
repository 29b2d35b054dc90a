/* SPDX-License-Identifier: MIT */
/* RUN as people name it: "last", a run id, the beginning of a run key, or a workload.
 *
 *   gint64 run_id;
 *   g_autoptr(StoreDb) db = cli_find_run(&asked->workload, cli_database(asked->db, error), "last", &run_id, error);
 */
#pragma once

#include "cli.h"
#include "store-db.h"

/* A workload is run as the options say, and kept with its timeline. Options of runs beside a run that is kept already,
 * and a name that is neither, are SIM_ERROR_INPUT. */
StoreDb *cli_find_run(const CliWorkload *how, const char *database, const char *name, gint64 *ret_run_id,
                      GError **error);
