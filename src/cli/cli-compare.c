/* SPDX-License-Identifier: MIT */
/* foretrain compare: why steps differ, what each of several clusters makes of one workload, or a prediction beside a
 * measured timeline. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-compare-trace.h"
#include "cli-find.h"
#include "cli-ratio.h"
#include "cli-write.h"
#include "report-compare.h"

typedef struct {
  CliTwins twins;
  const char *const *words, *const *quotes, *const *sets; /* quotes: --topology, in order */
  const char *db;
  gboolean json;
} Compare;

static const CliOption options[] = {
    CLI_WORDS(Compare, words, 0, CLI_WORDS_ANY, "runs"),
    {"topology", 't', CLI_FILES, offsetof(Compare, quotes), "T",
     "a cluster to play the workload on, once for each; T=N: N nodes of it", .listed = "topologies"},
    {"set", 's', CLI_FILES, offsetof(Compare, sets), "GROUP.KEY=VALUE",
     "override a setting, of one side as B:GROUP.KEY=VALUE; of one run or workload alone: beside it as it is"},
    CLI_DB(Compare, db),
    CLI_JSON(Compare, json),
    CLI_GROUP_ROW(Compare, twins, cli_twins_options),
    {NULL}};

static guint length(const char *const *words) {
  return words != NULL ? g_strv_length((char **)words) : 0;
}

/* "B:group.key=value" is for one side: its number; -1: for all. */
static int side_of(const char *set) {
  return g_ascii_isupper(set[0]) && set[1] == ':' ? set[0] - 'A' : -1;
}

/* What is said of one side, of one word: its topologies, the sides that settings name, or the word with settings beside
 * the word as it is. */
static guint sides_of_one(const Compare *asked) {
  guint sides = length(asked->quotes), sets = length(asked->sets);
  gboolean all = FALSE;
  for (guint i = 0; i < sets; i++) {
    all |= side_of(asked->sets[i]) < 0;
    sides = MAX(sides, (guint)(side_of(asked->sets[i]) + 1));
  }
  return sides > 1 || !all ? sides : 2;
}

static guint sides(const Compare *asked) {
  guint words = length(asked->words);
  return words == 1 ? sides_of_one(asked) : words;
}

/* The word as it is, and with settings. */
static gboolean is_before_and_after(const Compare *asked) {
  if (length(asked->words) != 1 || length(asked->quotes) > 1)
    return FALSE;
  for (guint i = 0; i < length(asked->sets); i++)
    if (side_of(asked->sets[i]) >= 0)
      return FALSE;
  return asked->sets != NULL;
}

static gboolean check_words(const Compare *asked, GError **error) {
  guint words = length(asked->words), quotes = length(asked->quotes), n = sides(asked);
  gboolean good = words > 0 && n > 1 && (quotes <= 1 || quotes == n);
  for (guint i = 0; good && i < length(asked->sets); i++)
    if (side_of(asked->sets[i]) >= (int)n) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--set %s: there are %u sides, the last is %c", asked->sets[i], n,
                  'A' + (int)n - 1);
      return FALSE;
    }
  if (good && (quotes <= 1 || words == 1))
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              quotes > 1
                  ? "compare: expected one workload for %u topologies, found %u words"
                  : "compare: expected two or more runs, or a workload with --topology given twice or more, or with "
                    "--set; found %u topologies and %u words",
              quotes, words);
  return FALSE;
}

/* "dgx-h100=4": so many nodes of it. Adds what they are to the settings of a side. */
static const char *read_quote(const char *quote, GStringChunk *texts, GPtrArray *sets) {
  const char *equals = strrchr(quote, '=');
  if (equals == NULL || equals[1] == '\0' || equals[1 + strspn(equals + 1, "0123456789")] != '\0')
    return quote;
  g_autofree char *nodes = g_strconcat("cluster.nodes", equals, NULL);
  g_ptr_array_add(sets, g_string_chunk_insert(texts, nodes));
  return g_string_chunk_insert_len(texts, quote, equals - quote);
}

/* What is laid over one side. */
static void take_side(const Compare *asked, guint n, GStringChunk *texts, GPtrArray *sets, CliWorkload *ret) {
  guint quotes = length(asked->quotes);
  gboolean plain = is_before_and_after(asked) && n == 0;
  *ret = (CliWorkload){{.topology = NULL}, asked->twins};
  if (quotes > 0)
    ret->settings.topology = read_quote(asked->quotes[quotes > 1 ? n : 0], texts, sets);
  for (guint i = 0; !plain && i < length(asked->sets); i++) {
    int side = side_of(asked->sets[i]);
    if (side < 0 || side == (int)n)
      g_ptr_array_add(sets, (gpointer)(asked->sets[i] + (side < 0 ? 0 : strlen("A:"))));
  }
  g_ptr_array_add(sets, NULL);
  ret->settings.sets = sets->len > 1 ? (const char *const *)sets->pdata : NULL;
}

/* What a sweep, or a run without a timeline, did not keep is played again; where that cannot be, what there is. */
static RunReport *load_whole(StoreDb *db, gint64 run_id, const StudyOptions *play, GError **error) {
  RunReport *report = store_db_load(db, run_id, TRUE, error);
  if (report == NULL || report->missing == 0)
    return report;
  g_autoptr(Study) study = cli_find_study(db, run_id, "cannot be played again", NULL);
  RunReport *again = study != NULL ? study_run(study, play, NULL) : NULL;
  run_report_free(again != NULL ? report : NULL);
  return again != NULL ? again : report;
}

/* A run of the database under other settings. */
static RunReport *play_again(const CliWorkload *how, const char *database, gint64 run_id, gint64 *ret_run_id,
                             GError **error) {
  g_autoptr(StoreDb) db = store_db_open(database, error);
  g_autoptr(Study) study = db != NULL ? cli_find_study(db, run_id, "cannot be played again", error) : NULL;
  g_autoptr(RunReport) report = study != NULL && cli_settings_lay(&how->settings, study, error)
                                    ? study_run(study, &how->twins.study, error)
                                    : NULL;
  return report != NULL && store_db_write(db, report, TRUE, ret_run_id, error) ? g_steal_pointer(&report) : NULL;
}

/* The n-th that is compared: a run as people name it, or a workload, with what is said of its side. */
static RunReport *find(const Compare *asked, const char *database, guint n, gint64 *ret_run_id, GError **error) {
  g_autoptr(GPtrArray) sets = g_ptr_array_new();
  GStringChunk *texts = g_string_chunk_new(64);
  CliWorkload one;
  take_side(asked, n, texts, sets, &one);
  const char *name = asked->words[length(asked->words) == 1 ? 0 : n];
  gint64 kept;
  g_autoptr(StoreDb) there = store_db_open_existing(database, NULL);
  gboolean alone = length(asked->words) == 1 || side_of(asked->sets != NULL ? asked->sets[0] : "") >= 0;
  RunReport *report = NULL;
  gboolean small = cli_find_small(&one, database, name, error);
  if (small && alone && cli_workload_plays(&one) && there != NULL && store_db_find(there, name, &kept, NULL)) {
    report = play_again(&one, database, kept, ret_run_id, error);
  } else if (small) {
    g_autoptr(StoreDb) db = cli_find_run(&one, database, name, ret_run_id, error);
    report = db != NULL ? load_whole(db, *ret_run_id, &asked->twins.study, error) : NULL;
  }
  g_string_chunk_free(texts);
  return report;
}

static CliExit compare_trace(const Compare *asked, const char *database, GError **error) {
  gint64 run_id;
  g_autoptr(ImportKinetoSet) set = import_kineto_open(asked->words + 1, length(asked->words) - 1, error);
  if (set == NULL)
    return CLI_INPUT;
  g_autoptr(RunReport) report = find(asked, database, 0, &run_id, error);
  return report != NULL ? cli_compare_trace(set, database, run_id, asked->json, error) : CLI_FAULT;
}

/* What each is offered for. Caller frees. */
static StudyOffer *offers_of(const GPtrArray *reports, GError **error) {
  g_autofree StudyOffer *offers = g_new0(StudyOffer, reports->len);
  for (guint i = 0; i < reports->len; i++) {
    offers[i].report = reports->pdata[i];
    offers[i].days = offers[i].report->days_to_train;
    if (!study_quote_read(offers[i].report, &offers[i].quote, error))
      return NULL;
  }
  study_offers_weigh(offers, reports->len, 0, STUDY_QUOTE_SEED);
  return g_steal_pointer(&offers);
}

static CliExit compare(gconstpointer data, GError **error) {
  const Compare *asked = data;
  const char *database = cli_database(asked->db, error);
  if (database != NULL && cli_compare_is_trace(asked->words))
    return compare_trace(asked, database, error);
  if (database == NULL || !check_words(asked, error))
    return CLI_INPUT;
  guint n = sides(asked);
  g_autoptr(GPtrArray) reports = g_ptr_array_new_with_free_func((GDestroyNotify)run_report_free);
  g_autofree gint64 *run_ids = g_new(gint64, n);
  for (guint i = 0; i < n; i++) {
    RunReport *report = find(asked, database, i, &run_ids[i], error);
    if (report == NULL)
      return CLI_FAULT;
    g_ptr_array_add(reports, report);
  }
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree StudyOffer *offers = offers_of(reports, error);
  if (offers == NULL)
    return CLI_INPUT;
  g_autofree ReportRatio *ratios = cli_ratios((RunReport *const *)reports->pdata, n, error);
  if (ratios == NULL)
    return CLI_FAULT;
  g_autofree RunReport **taken = (RunReport **)g_ptr_array_steal(reports, NULL);
  (asked->json ? report_compared_json : report_compared)(taken, run_ids, &(ReportBeside){offers, ratios}, n, text);
  cli_print(text->str);
  return CLI_DONE;
}

static const Compare defaults = {.twins = CLI_TWINS_DEFAULT};

const CliVerb cli_compare = {
    "compare",
    "A B... | --topology T1[=NODES] --topology T2 WORKLOAD | A --set GROUP.KEY=VALUE | RUN TRACE.json...",
    "why steps differ; the quotes for one workload; predicted against a profiler's timeline",
    options,
    sizeof(Compare),
    &defaults,
    compare};
