/* SPDX-License-Identifier: MIT */
/* foretrain plot parity: what validate found, drawn. */
#include "cli-plot.h"

typedef struct {
  const char *const *words;
  const char *db;
  CliCanvas on;
} Parity;

static const CliOption options[] = {CLI_WORDS(Parity, words, 0, 0, "parity alone: it draws the newest validation"),
                                    CLI_DB(Parity, db),
                                    CLI_CANVAS(Parity, on),
                                    {NULL}};

static CliExit parity(gconstpointer data, GError **error) {
  const Parity *asked = data;
  const char *database = cli_plot_check(&asked->on, "parity", error) ? cli_database(asked->db, error) : NULL;
  if (database == NULL)
    return CLI_INPUT;
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  if (db == NULL || !report_plot_parity(db, &asked->on.canvas, error))
    return CLI_FAULT;
  cli_plot_tell(&asked->on);
  return CLI_DONE;
}

const CliVerb cli_plot_parity = {"parity",
                                 "-o FILE",
                                 "what validate found: predicted against measured",
                                 options,
                                 sizeof(Parity),
                                 NULL,
                                 parity,
                                 "draws what foretrain validate found: no setting, window or option of runs applies"};
