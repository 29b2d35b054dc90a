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
/* A run of the database; NULL without an error: the name is a workload's. Errors: it can only be a run's, and there is
 * none, or no database to look into. */
StoreDb *cli_find_kept(const char *database, const char *name, gint64 *ret_run_id, GError **error);
/* The study that a run of the database came of: its settings, whatever has become of catalogue and models since. Errors
 * begin "run 3 WHAT: ", with `what` as in "has no trace". */
Study *cli_find_recipe(StoreDb *db, gint64 run_id, const char *what, GError **error);
/* The same, to be played again: its settings must give the same key. */
Study *cli_find_study(StoreDb *db, gint64 run_id, const char *what, GError **error);
/* A run of the database as its study, or else the workload with what is laid over it; *ret_kept: which of them. */
Study *cli_find_or_open(const CliWorkload *how, const char *database, const char *name, const char *what,
                        gboolean *ret_kept, GError **error);
/* FALSE: the name is no run of the database but a workload too large to be played again and again, as pages and
 * comparisons do (study_trials_check). Of what cannot be opened a play says why. */
gboolean cli_find_small(const CliWorkload *how, const char *database, const char *name, GError **error);
