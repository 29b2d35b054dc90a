/* SPDX-License-Identifier: MIT */
/* foretrain compare: why steps differ, what each of several clusters makes of one workload, or a prediction beside a
 * measured timeline. */
#include <stdio.h>

#include "base-error.h"
#include "cli-find.h"
#include "import-kineto.h"
#include "report-compare.h"
#include "report-measured.h"

typedef struct {
  CliTwins twins;
  const char *const *words, *const *quotes, *const *sets; /* quotes: --topology, in order */
  const char *db;
  gboolean json;
} Compare;

static const CliOption options[] = {CLI_WORDS(Compare, words, 0, CLI_WORDS_ANY, "runs"),
                                    {"topology", 't', CLI_FILES, offsetof(Compare, quotes), "T",
                                     "a cluster to play the workload on; once for each", .listed = "topologies"},
                                    {"set", 's', CLI_FILES, offsetof(Compare, sets), "GROUP.KEY=VALUE",
                                     "override a setting of workloads or their topologies"},
                                    CLI_DB(Compare, db),
                                    CLI_JSON(Compare, json),
                                    CLI_GROUP_ROW(Compare, twins, cli_twins_options),
                                    {NULL}};

static guint length(const char *const *words) {
  return words != NULL ? g_strv_length((char **)words) : 0;
}

static gboolean check_words(const Compare *asked, GError **error) {
  guint words = length(asked->words), quotes = length(asked->quotes);
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
static gboolean find(const Compare *asked, const char *database, guint n, gint64 *ret_run_id, GError **error) {
  CliWorkload one = {{.sets = asked->sets}, asked->twins};
  guint quotes = length(asked->quotes);
  one.settings.topology = quotes > 1 ? asked->quotes[n] : quotes == 1 ? asked->quotes[0] : NULL;
  const char *name = asked->words[quotes > 1 ? 0 : n];
  g_autoptr(StoreDb) db = cli_find_run(&one, database, name, ret_run_id, error);
  return db != NULL;
}

/* RUN TRACE: the second word is a profiler's file. */
static gboolean is_trace(const Compare *asked) {
  const char *second = length(asked->words) == 2 ? asked->words[1] : "";
  return g_str_has_suffix(second, ".json") || g_str_has_suffix(second, ".json.gz");
}

static CliExit compare_trace(const Compare *asked, const char *database, GError **error) {
  ImportKineto read;
  gint64 run_id;
  if (!import_kineto_load(asked->words[1], &read, error))
    return CLI_INPUT;
  if (!find(asked, database, 0, &run_id, error))
    return CLI_FAULT;
  ReportMeasured trace = {.file = asked->words[1],
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
  if (db == NULL || !(asked->json ? report_measured_json : report_measured)(db, run_id, &trace, text, error))
    return CLI_FAULT;
  fputs(text->str, stdout);
  return CLI_DONE;
}

static CliExit compare(gconstpointer data, GError **error) {
  const Compare *asked = data;
  const char *database = cli_database(asked->db, error);
  if (database != NULL && is_trace(asked))
    return compare_trace(asked, database, error);
  if (database == NULL || !check_words(asked, error))
    return CLI_INPUT;
  guint n = MAX(length(asked->quotes), length(asked->words));
  g_autofree gint64 *run_ids = g_new(gint64, n);
  for (guint i = 0; i < n; i++)
    if (!find(asked, database, i, &run_ids[i], error))
      return CLI_FAULT;
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(StoreDb) db = store_db_open_existing(database, error);
  if (db == NULL || !(asked->json ? report_compare_json : report_compare)(db, run_ids, n, text, error))
    return CLI_FAULT;
  fputs(text->str, stdout);
  return CLI_DONE;
}

static const Compare defaults = {.twins = CLI_TWINS_DEFAULT};

const CliVerb cli_compare = {"compare",
                             "A B... | --topology T1 --topology T2 WORKLOAD | RUN TRACE.json",
                             "why steps differ; the quotes for one workload; predicted against a profiler's timeline",
                             options,
                             sizeof(Compare),
                             &defaults,
                             compare};
