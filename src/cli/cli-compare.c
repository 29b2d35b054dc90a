/* foretrain compare: why steps differ, or what each of several clusters makes of one workload. */
#include <stdio.h>

#include "base-error.h"
#include "cli-find.h"
#include "report-compare.h"

static guint length(char **words) {
  return words != NULL ? g_strv_length(words) : 0;
}

static gboolean check_words(const CliOptions *options, GError **error) {
  guint words = length(options->rest), quotes = length(options->quotes);
  if (quotes > 1 ? words == 1 : words > 1)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              quotes > 1
                  ? "compare: expected one workload for %u topologies, found %u words"
                  : "compare: expected two or more runs, or a workload with --topology given twice or more; found "
                    "%u topologies and %u words",
              quotes, words);
  return FALSE;
}

/* The n-th that is compared: a run as people name it, or the workload on the n-th topology. */
static gboolean find(const CliOptions *options, const char *database, guint n, gint64 *ret_run_id, GError **error) {
  CliOptions one = *options;
  guint quotes = length(options->quotes);
  one.topology = quotes > 1 ? options->quotes[n] : quotes == 1 ? options->quotes[0] : NULL;
  const char *name = options->rest[quotes > 1 ? 0 : n];
  g_autoptr(StoreDb) db = cli_find_run(&one, database, name, ret_run_id, error);
  return db != NULL;
}

CliExit cli_compare(const CliOptions *options, GError **error) {
  const char *database = cli_database(options, error);
  if (database == NULL || !check_words(options, error))
    return CLI_INPUT;
  guint n = MAX(length(options->quotes), length(options->rest));
  g_autofree gint64 *run_ids = g_new(gint64, n);
  for (guint i = 0; i < n; i++)
    if (!find(options, database, i, &run_ids[i], error))
      return CLI_FAULT;
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  if (db == NULL || !(options->json ? report_compare_json : report_compare)(db, run_ids, n, text, error))
    return CLI_FAULT;
  fputs(text->str, stdout);
  return CLI_DONE;
}
