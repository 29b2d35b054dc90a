/* foretrain compare: why steps differ, what each of several clusters makes of one workload, or a prediction beside a measured
 * timeline. */
#include <stdio.h>

#include "base-error.h"
#include "cli-find.h"
#include "import-kineto.h"
#include "report-compare.h"
#include "report-measured.h"

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

/* RUN TRACE: the second word is a profiler's file. */
static gboolean is_trace(const CliOptions *options) {
  const char *second = length(options->rest) == 2 ? options->rest[1] : "";
  return g_str_has_suffix(second, ".json") || g_str_has_suffix(second, ".json.gz");
}

static CliExit compare_trace(const CliOptions *options, const char *database, GError **error) {
  ImportKineto read;
  gint64 run_id;
  if (!import_kineto_load(options->rest[1], &read, error))
    return CLI_INPUT;
  if (!find(options, database, 0, &run_id, error))
    return CLI_FAULT;
  ReportMeasured trace = {.file = options->rest[1],
                          .steps = read.steps,
                          .taken = read.taken,
                          .step = read.step,
                          .compute = read.compute,
                          .communication = read.communication,
                          .exposed = read.exposed,
                          .idle = read.idle};
  static const ReportOperation operations[] = {[IMPORT_ALL_REDUCE] = REPORT_ALL_REDUCE,
                                               [IMPORT_ALL_GATHER] = REPORT_ALL_GATHER,
                                               [IMPORT_REDUCE_SCATTER] = REPORT_REDUCE_SCATTER,
                                               [IMPORT_OTHER_COLLECTIVE] = REPORT_OTHER};
  for (int i = 0; i < IMPORT_COLLECTIVES; i++)
    trace.of[operations[i]] = (ReportTraffic){read.of[i].calls, read.of[i].busy, read.of[i].exposed};
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  if (db == NULL || !(options->json ? report_measured_json : report_measured)(db, run_id, &trace, text, error))
    return CLI_FAULT;
  fputs(text->str, stdout);
  return CLI_DONE;
}

CliExit cli_compare(const CliOptions *options, GError **error) {
  const char *database = cli_database(options, error);
  if (database != NULL && is_trace(options))
    return compare_trace(options, database, error);
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
