/* foretrain merge: the files of several machines or shards into one. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli.h"
#include "store-merge.h"

CliExit cli_merge(const CliOptions *options, GError **error) {
  const char *database = cli_database(options, error);
  if (database == NULL)
    return CLI_INPUT;
  if (options->rest == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected one or more databases, found 0 words");
    return CLI_INPUT;
  }
  for (char **path = options->rest; *path != NULL; path++) {
    StoreDb *other = strcmp(*path, database) != 0 ? store_db_open_existing(*path, error) : NULL;
    if (other == NULL && *error == NULL)
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is where the others go (--db); name another file", *path);
    if (other == NULL)
      return CLI_INPUT;
    store_db_close(other);
  }
  g_autoptr(StoreDb) db = store_db_open(database, error);
  for (char **path = options->rest; db != NULL && *path != NULL; path++) {
    guint64 runs, points;
    if (!store_db_merge(db, *path, &runs, &points, error))
      return CLI_FAULT;
    if (!options->quiet)
      printf("%s: %" G_GUINT64_FORMAT " runs, %" G_GUINT64_FORMAT " points\n", *path, runs, points);
  }
  return db != NULL ? CLI_DONE : CLI_FAULT;
}
