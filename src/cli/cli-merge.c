/* SPDX-License-Identifier: MIT */
/* foretrain merge: the files of several machines or shards into one. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-write.h"
#include "cli.h"
#include "report-text.h"
#include "store-merge.h"

typedef struct {
  const char *db;
  const char *const *paths;
  gboolean json, quiet;
} Merge;

static const CliOption options[] = {CLI_WORDS(Merge, paths, 1, CLI_WORDS_ANY, "one or more databases"),
                                    CLI_DB(Merge, db),
                                    CLI_JSON(Merge, json),
                                    CLI_QUIET(Merge, quiet),
                                    {NULL}};

/* By whatever names. */
static gboolean is_same_file(const char *a, const char *b) {
  GStatBuf x, y;
  return strcmp(a, b) == 0 ||
         (g_stat(a, &x) == 0 && g_stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Each can be opened, and is not the one that takes them. */
static gboolean check_paths(const Merge *asked, const char *database, GError **error) {
  for (const char *const *path = asked->paths; *path != NULL; path++) {
    StoreDb *other = !is_same_file(*path, database) ? store_db_open_older(*path, error) : NULL;
    if (other == NULL && *error == NULL)
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is where the others go (--db); name another file", *path);
    if (other == NULL)
      return FALSE;
    store_db_close(other);
  }
  return TRUE;
}

static void tell(const Merge *asked, const char *path, guint64 runs, guint64 points, BaseJson *json) {
  base_json_map(json, NULL);
  base_json_text(json, "path", path);
  base_json_integer(json, "runs", (gint64)runs);
  base_json_integer(json, "points", (gint64)points);
  base_json_end(json);
  if (!asked->quiet && !asked->json)
    printf("%s: %" G_GUINT64_FORMAT " runs, %" G_GUINT64_FORMAT " points\n", path, runs, points);
}

static CliExit merge(gconstpointer data, GError **error) {
  const Merge *asked = data;
  const char *database = cli_database(asked->db, error);
  if (database == NULL || !check_paths(asked, database, error))
    return CLI_INPUT;
  g_autoptr(StoreDb) db = store_db_open(database, error);
  if (db == NULL)
    return CLI_FAULT;
  g_autoptr(GString) text = g_string_new(NULL);
  BaseJson *json = base_json_new(text, BASE_JSON_SPREAD);
  gboolean good = TRUE;
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  base_json_text(json, "database", database);
  base_json_list(json, "merged");
  for (const char *const *path = asked->paths; good && *path != NULL; path++) {
    guint64 runs, points;
    good = store_db_merge(db, *path, &runs, &points, error);
    if (good)
      tell(asked, *path, runs, points, json);
  }
  base_json_end(json);
  base_json_end(json);
  base_json_free(json);
  if (good && asked->json)
    cli_print(text->str);
  return good ? CLI_DONE : CLI_FAULT;
}

const CliVerb cli_merge = {"merge", "DB...", "several databases into the one that --db names", options, sizeof(Merge),
                           NULL,    merge};
