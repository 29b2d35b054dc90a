/* SPDX-License-Identifier: MIT */
/* foretrain merge: the files of several machines or shards into one. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli.h"
#include "store-merge.h"

typedef struct {
  const char *db;
  const char *const *paths;
  gboolean quiet;
} Merge;

static const CliOption options[] = {CLI_WORDS(Merge, paths, 1, CLI_WORDS_ANY, "one or more databases"),
                                    CLI_DB(Merge, db),
                                    CLI_QUIET(Merge, quiet),
                                    {NULL}};

static CliExit merge(gconstpointer data, GError **error) {
  const Merge *asked = data;
  const char *database = cli_database(asked->db, error);
  if (database == NULL)
    return CLI_INPUT;
  for (const char *const *path = asked->paths; *path != NULL; path++) {
    StoreDb *other = strcmp(*path, database) != 0 ? store_db_open_older(*path, error) : NULL;
    if (other == NULL && *error == NULL)
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is where the others go (--db); name another file", *path);
    if (other == NULL)
      return CLI_INPUT;
    store_db_close(other);
  }
  g_autoptr(StoreDb) db = store_db_open(database, error);
  for (const char *const *path = asked->paths; db != NULL && *path != NULL; path++) {
    guint64 runs, points;
    if (!store_db_merge(db, *path, &runs, &points, error))
      return CLI_FAULT;
    if (!asked->quiet)
      printf("%s: %" G_GUINT64_FORMAT " runs, %" G_GUINT64_FORMAT " points\n", *path, runs, points);
  }
  return db != NULL ? CLI_DONE : CLI_FAULT;
}

const CliVerb cli_merge = {"merge", "DB...", "several databases into the one that --db names", options, sizeof(Merge),
                           NULL,    merge};
