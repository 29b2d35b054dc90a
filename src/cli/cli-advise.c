/* SPDX-License-Identifier: MIT */
/* foretrain advise: the best layouts that a framework allows, on which cluster, by when, for how much. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-progress.h"
#include "cli-stop.h"
#include "cli-write.h"
#include "cli.h"
#include "recipe-export.h"
#include "report-advise.h"
#include "study-mpi.h"
#include "study-quote.h"
#include "study-recipe.h"

typedef struct {
  guint32 first, last;
} Range;

typedef struct {
  double days;       /* from now on */
  guint32 by, today; /* as GDate counts */
} Deadline;

typedef struct {
  CliTwins twins;
  const char *const *words, *const *sets, *const *topologies;
  Range nodes;
  double days, budget;
  Deadline by;
  const char *output, *db;
  CliShard shard;
  int gpus, top, jobs, tool;
  gboolean json, quiet, everything;
} Advise;

#define MOST_PLACES 64
#define TOP         5

static gboolean read_nodes(const char *option, const char *text, gpointer field, GError **error) {
  Range *range = field;
  g_auto(GStrv) parts = g_strsplit(text, "..", 2);
  guint64 first, last;
  if (parts[0] != NULL && g_ascii_string_to_unsigned(parts[0], 10, 1, 1 << 16, &first, NULL) &&
      g_ascii_string_to_unsigned(parts[1] != NULL ? parts[1] : parts[0], 10, first, 1 << 16, &last, NULL)) {
    *range = (Range){(guint32)first, (guint32)last};
    return TRUE;
  }
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: expected a number of nodes, or A..B with A at most B, found \"%s\"", option, text);
  return FALSE;
}

static gboolean read_number(const char *option, const char *text, gpointer field, GError **error) {
  char *end;
  double value = g_ascii_strtod(text, &end);
  static const char *const units[] = {"", " USD", " days", "k", "M", "k USD", "M USD"};
  static const double factors[] = {1, 1, 1, 1e3, 1e6, 1e3, 1e6};
  for (gsize i = 0; end != text && value > 0 && i < G_N_ELEMENTS(units); i++)
    if (strcmp(end, units[i]) == 0 && isfinite(value * factors[i])) {
      *(double *)field = value * factors[i];
      return TRUE;
    }
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: expected a number above 0, as in 60, 2M or \"2 M USD\", found \"%s\"", option, text);
  return FALSE;
}

static gboolean read_date(const char *option, const char *text, gpointer field, GError **error) {
  g_autofree char *whole = g_strconcat(text, "T00:00:00Z", NULL);
  g_autoptr(GDateTime) date = g_date_time_new_from_iso8601(whole, NULL), now = g_date_time_new_now_utc();
  double days = date != NULL ? (double)g_date_time_difference(date, now) / G_USEC_PER_SEC / BASE_DAY : 0;
  if (days > 0) {
    Deadline *deadline = field;
    GDate today;
    g_date_clear(&today, 1);
    g_date_set_dmy(&today, (GDateDay)g_date_time_get_day_of_month(now), (GDateMonth)g_date_time_get_month(now),
                   (GDateYear)g_date_time_get_year(now));
    deadline->days = days;
    deadline->today = g_date_get_julian(&today);
    deadline->by = deadline->today + (guint32)days + 1;
    return TRUE;
  }
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: expected a day to come, as in 2027-06-30, found \"%s\"", option,
              text);
  return FALSE;
}

static const CliOption options[] = {
    {NULL, 0, CLI_WORD, offsetof(Advise, words), "a workload", NULL, NULL, 1, CLI_WORDS_ANY, .listed = "workloads"},
    {"set", 's', CLI_FILES, offsetof(Advise, sets), "GROUP.KEY=VALUE",
     "override a setting of the workload or its topology; what is set is not varied"},
    {"topology", 't', CLI_FILES, offsetof(Advise, topologies), "T", "a cluster to choose from; once for each",
     .listed = "topologies"},
    {"gpus", 0, CLI_NUMBER, offsetof(Advise, gpus), "N", "so many GPUs", .least = 1},
    {"nodes", 0, CLI_READ, offsetof(Advise, nodes), "A..B", "A nodes, twice as many, and again, up to B",
     .read = read_nodes},
    {"days", 0, CLI_READ, offsetof(Advise, days), "N", "train within so many days, as cheap as that can be",
     .read = read_number},
    {"by", 0, CLI_READ, offsetof(Advise, by), "DATE", "the same, by a day (2027-06-30), starting now",
     .read = read_date},
    {"budget", 0, CLI_READ, offsetof(Advise, budget), "USD", "train for no more than this", .read = read_number},
    {"top", 0, CLI_NUMBER, offsetof(Advise, top), "N", "so many of them (5)", .least = 1},
    {"everything", 0, CLI_FLAG, offsetof(Advise, everything), NULL,
     "also play what bounds prove to be slower or too large", .developer = TRUE},
    {"output", 'o', CLI_FILE, offsetof(Advise, output), "FILE", "write the first as a workload, or as --as says"},
    {"as", 0, CLI_CHOICE, offsetof(Advise, tool), NULL, "whose recipe -o writes (a workload of foretrain)",
     recipe_export_names},
    {"db", 0, CLI_FILE, offsetof(Advise, db), "FILE", "keep what is played there, and play nothing again that it has"},
    CLI_GROUP_ROW(Advise, shard, cli_shard_options),
    CLI_EDGE_FITS(Advise, twins.study.edge_fits),
    CLI_JSON(Advise, json),
    CLI_NO_PROGRESS(Advise, quiet),
    CLI_JOBS(Advise, jobs),
    CLI_GROUP_ROW(Advise, twins, cli_twins_options),
    {NULL}};

static guint add_nodes(const Advise *asked, const char *topology, StudyPlace *ret, guint n, GError **error) {
  guint32 nodes = asked->nodes.first;
  do {
    if (n == MOST_PLACES) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "more than %d clusters: ask for fewer at once", MOST_PLACES);
      return 0;
    }
    ret[n++] = (StudyPlace){topology, nodes, (guint32)asked->gpus};
    nodes = nodes < asked->nodes.last ? MIN(2 * nodes, asked->nodes.last) : nodes + 1;
  } while (nodes <= asked->nodes.last);
  return n;
}

/* Each topology at each number of nodes. 0: an error. */
static guint places_of(const Advise *asked, StudyPlace ret[MOST_PLACES], GError **error) {
  static const char *const here[] = {NULL, NULL};
  const char *const *topologies = asked->topologies != NULL ? asked->topologies : here;
  guint n = 0, topology = 0;
  if (asked->gpus > 0 && asked->nodes.first > 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--gpus and --nodes exclude each other");
    return 0;
  }
  do {
    n = add_nodes(asked, topologies[topology++], ret, n, error);
  } while (n > 0 && topologies[topology] != NULL);
  return n;
}

static gboolean check_limits(const Advise *asked, const StudyAdvice *advice, GError **error) {
  double days = asked->days > 0 ? asked->days : asked->by.days;
  if ((days <= 0 && asked->budget <= 0) || advice->own->identity.total_tokens > 0)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "days and price of a training are not known: say --set training.total_tokens=2T");
  return FALSE;
}

/* Quotes that cannot be read are told before anything is weighed. */
static gboolean check_quotes(const StudyAdvice *advice, GError **error) {
  StudyQuote quote;
  for (guint i = 0; i < advice->n; i++)
    if (!study_quote_read(advice->best[i].report, &quote, error))
      return FALSE;
  return TRUE;
}

static void show(guint64 done, guint64 all, gpointer user) {
  cli_progress_show(user, done, 0, all);
}

/* The study with what is advised laid over it, as the command line would. */
static Study *open_advised(const Advise *asked, const StudyAdvised *advised, GError **error) {
  CliSettings settings = {.sets = asked->sets};
  g_autoptr(Study) study = cli_open_study(&settings, asked->words[0], error);
  g_auto(GStrv) changes = g_strsplit(advised->change, " ", -1);
  for (guint i = 0; study != NULL && changes[i] != NULL && *changes[i] != '\0'; i++)
    if (!study_set(study, changes[i], error))
      return NULL;
  return g_steal_pointer(&study);
}

static gboolean write_recipe(const Advise *asked, const StudyAdvised *first, GError **error) {
  g_autoptr(Study) study = first != NULL ? open_advised(asked, first, error) : NULL;
  g_autoptr(GString) text = g_string_new(NULL);
  if (first == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--output %s: no layout to write", asked->output);
    return FALSE;
  }
  if (study == NULL)
    return FALSE;
  g_autofree char *folder = g_path_get_dirname(asked->output);
  return (asked->tool >= 0 ? study_export(study, asked->tool, text, error)
                           : study_print_workload(study, folder, text, error)) &&
         cli_write(asked->output, text->str, error);
}

static CliExit print(const Advise *asked, const StudyAdvise *ask, const StudyAdvice *advice,
                     const StudyReliability *reliability, GError **error) {
  ReportAdvise page = {.advice = advice,
                       .workload = asked->words[0],
                       .sets = asked->sets,
                       .reliability = reliability,
                       .top = (guint)asked->top,
                       .days = asked->days > 0 ? asked->days : asked->by.days,
                       .by = asked->days > 0 ? 0 : asked->by.by,
                       .today = asked->by.today,
                       .budget = asked->budget};
  g_autoptr(GPtrArray) rows = report_advise_order(&page), alone = NULL;
  const RunIdentity *own = &advice->own->identity;
  const StudyAdvised *first = rows->len > 0 ? rows->pdata[0] : NULL;
  if (first != NULL && g_str_equal(first->report->identity.topology, own->topology) &&
      first->report->identity.nodes == own->nodes)
    alone = study_advice_alone(ask, advice, first);
  page.alone = alone;
  StudySaving saving;
  gboolean saves = first != NULL && first->report->days_to_train > 0;
  if (saves && !study_saving_find(ask->study, first->change, &ask->options, reliability, &saving, error))
    return CLI_INPUT;
  page.saving = saves ? &saving : NULL;
  g_autoptr(GString) text = g_string_new(NULL);
  (asked->json ? report_advise_json : report_advise)(&page, text);
  cli_print(text->str);
  return asked->output == NULL || write_recipe(asked, first, error) ? CLI_DONE : CLI_INPUT;
}

static gboolean check_asked(const Advise *asked, GError **error) {
  const char *problem =
      asked->words[1] != NULL ? "several workloads: which share of a cluster each job gets is not modelled; "
                                "advise on one at a time"
      : asked->shard.of > 1 && asked->db == NULL  ? "--shard: say where its share is kept, with --db FILE"
      : asked->tool >= 0 && asked->output == NULL ? "--as: say where the recipe is to be, with -o FILE"
                                                  : NULL;
  if (problem != NULL)
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_INPUT, problem);
  return problem == NULL;
}

/* Searches, and on the first process prints. */
static CliExit search(const Advise *asked, StudyAdvise *ask, const StudyReliability *reliability, GError **error) {
  gboolean first = ask->mpi->rank == 0;
  CliProgress progress;
  CliStop stop;
  StudyAdvice advice;
  ask->user = &progress;
  ask->stop = cli_stop_asked;
  ask->stop_user = &stop;
  cli_stop_begin(&stop);
  cli_progress_begin(&progress, "layouts", asked->quiet || !first);
  gboolean good = study_advise(ask, &advice, error);
  cli_progress_end(&progress);
  cli_stop_end(&stop);
  if (!good)
    return CLI_INPUT;
  CliExit status = CLI_DONE;
  if (first)
    status = check_limits(asked, &advice, error) && check_quotes(&advice, error)
                 ? print(asked, ask, &advice, reliability, error)
                 : CLI_INPUT;
  gboolean stopped = advice.stopped && status == CLI_DONE;
  study_advice_clear(&advice);
  return stopped ? CLI_STOPPED : status;
}

static CliExit advise(gconstpointer data, GError **error) {
  const Advise *asked = data;
  StudyPlace places[MOST_PLACES];
  CliSettings settings = {.sets = asked->sets};
  StudyMpi mpi;
  StudyReliability reliability;
  if (!study_mpi_begin(&mpi, error))
    return CLI_INPUT;
  guint n = check_asked(asked, error) ? places_of(asked, places, error) : 0;
  g_autoptr(Study) study = n > 0 ? cli_open_study(&settings, asked->words[0], error) : NULL;
  gboolean ready = study != NULL && study_reliability_load(study, &reliability, error);
  StudyAdvise ask = {.study = study,
                     .options = asked->twins.study,
                     .places = places,
                     .n_places = n,
                     .top = (guint)asked->top,
                     .threads = (guint)asked->jobs,
                     .everything = asked->everything,
                     .database = asked->db,
                     .shard = asked->shard.index - 1,
                     .shards = asked->shard.of,
                     .mpi = &mpi,
                     .progress = show};
  CliExit status = study_mpi_agree(&mpi, ready, error) ? search(asked, &ask, &reliability, error) : CLI_INPUT;
  return cli_end_together(&mpi, status, error);
}

static const Advise defaults = {.twins = CLI_TWINS_DEFAULT, .top = TOP, .tool = -1, .shard = CLI_SHARD_DEFAULT};

const CliVerb cli_advise = {"advise",
                            "WORKLOAD [--topology T]... [--gpus N | --nodes A..B] [--days N] [--budget USD]",
                            "which layout, on which cluster and how many nodes: the best of all that fit",
                            options,
                            sizeof(Advise),
                            &defaults,
                            advise};
