/* SPDX-License-Identifier: MIT */
/* foretrain sweep: a grid over a workload, into the database. */
#include <stdio.h>
#include <unistd.h>

#include "base-error.h"
#include "base-json.h"
#include "cli-progress.h"
#include "cli-stop.h"
#include "cli-write.h"
#include "cli.h"
#include "report-text.h"
#include "store-points.h"
#include "study-mpi.h"
#include "study-sweep.h"

typedef struct {
  CliWorkload workload;
  const char *const *words, *const *grid;
  const char *db, *where;
  CliShard shard;
  gboolean json, quiet;
  int jobs;
} Sweep;

static const CliOption options[] = {
    CLI_WORKLOAD_WORD(Sweep, words, "a workload"),
    CLI_GROUP_ROW(Sweep, workload, cli_workload_options),
    CLI_DB(Sweep, db),
    CLI_JSON(Sweep, json),
    CLI_QUIET(Sweep, quiet),
    CLI_JOBS(Sweep, jobs),
    {"grid", 'g', CLI_TEXTS, offsetof(Sweep, grid), "AXIS",
     "an axis, as KEY=V1,V2,... or KEY=A..B:STEP or KEY=A..B:xFACTOR; the last given runs fastest"},
    {"where", 'w', CLI_TEXT, offsetof(Sweep, where), "EXPRESSION",
     "only points for which this holds, as in \"zero_stage >= 2 and gpus <= 64\""},
    CLI_GROUP_ROW(Sweep, shard, cli_shard_options),
    CLI_TIMELINE(Sweep, workload.twins.study, "also keep every point's timeline (no)"),
    {NULL}};

static StudyGrid *read_grid(const Sweep *asked, const Study *study, GError **error) {
  g_autoptr(StudyGrid) grid = study_grid_new();
  for (const char *const *axis = asked->grid; axis != NULL && *axis != NULL; axis++)
    if (!study_grid_add(grid, study, *axis, error))
      return NULL;
  return g_steal_pointer(&grid);
}

/* What a run alone can tell cannot narrow a grid. */
static StoreExpression *read_where(const char *text, GError **error) {
  g_autoptr(StoreExpression) where = store_expression_parse(text, error);
  if (where == NULL) {
    g_prefix_error(error, "--where ");
    return NULL;
  }
  for (const StoreMetric *const *metric = store_expression_metrics(where); *metric != NULL; metric++)
    if (!store_metric_is_asked(*metric)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                  "--where \"%s\": %s is known only once a point has run; foretrain best takes it as --subject", text,
                  (*metric)->name);
      return NULL;
    }
  return g_steal_pointer(&where);
}

static void show(const StudySweepResult *so_far, gpointer user) {
  guint64 done = so_far->played + so_far->known + so_far->refused + so_far->unwanted;
  cli_progress_show(user, done, done - so_far->played, so_far->points);
}

#define MOST_REASONS 5

typedef struct {
  guint n;
} Reasons;

static void print_reason(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values,
                         gpointer user) {
  Reasons *reasons = user;
  if (reasons->n++ < MOST_REASONS)
    printf("  %s cannot run: %s\n", values[1], values[0]);
}

/* Why points cannot run, those that were refused earlier too. */
static gboolean print_reasons(const StudySweep *sweep, const StudySweepResult *result, GError **error) {
  Reasons reasons = {0};
  g_autoptr(StoreDb) db = store_db_open_existing(sweep->database, error);
  if (db == NULL || !store_db_reasons(db, result->sweep_id, print_reason, &reasons, error))
    return FALSE;
  if (reasons.n > MOST_REASONS)
    printf("  and %u more reasons, in table point\n", reasons.n - MOST_REASONS);
  return TRUE;
}

static void print_counts(const StudySweepResult *result, double seconds, gboolean json) {
  guint64 done = result->played + result->known + result->refused + result->unwanted;
  const struct {
    const char *key, *words;
    guint64 value;
  } counts[] = {{"points", "points", result->points},
                {"played", "played", result->played},
                {"known", "in the database already", result->known},
                {"refused", "cannot run", result->refused},
                {"left_out", "left out by --where", result->unwanted},
                {"not_reached", "not reached", result->points - done}};
  if (json) {
    g_autoptr(GString) text = g_string_new(NULL);
    g_autoptr(BaseJson) object = base_json_new(text, BASE_JSON_SPREAD);
    base_json_map(object, NULL);
    base_json_integer(object, "json_version", REPORT_JSON_VERSION);
    for (gsize i = 0; i < G_N_ELEMENTS(counts); i++)
      base_json_integer(object, counts[i].key, (gint64)counts[i].value);
    base_json_end(object);
    cli_print(text->str);
    return;
  }
  for (gsize i = 0; i < G_N_ELEMENTS(counts); i++)
    if (i < 2 || counts[i].value > 0)
      printf("%s%" G_GUINT64_FORMAT " %s", i > 0 ? ", " : "", counts[i].value, counts[i].words);
  printf("\n");
  if (result->played > 0 && isatty(fileno(stdout)))
    fprintf(stderr, "%.0f points a second\n", (double)result->played / seconds);
}

/* What the command line names, read. */
typedef struct {
  Study *study;
  StudyGrid *grid;
  StoreExpression *where;
} Loaded;

static void loaded_clear(Loaded *loaded) {
  study_free(loaded->study);
  study_grid_free(loaded->grid);
  store_expression_free(loaded->where);
}

static gboolean load(const Sweep *asked, StudySweep *sweep, Loaded *loaded, GError **error) {
  if ((sweep->database = cli_database(asked->db, error)) == NULL)
    return FALSE;
  if (sweep->mpi->size > 1 && sweep->options.timeline) {
    g_set_error(
        error, SIM_ERROR, SIM_ERROR_INPUT,
        "--timeline=yes: processes of mpirun send summaries alone; --shard I/N and foretrain merge keep timelines");
    return FALSE;
  }
  sweep->base = loaded->study = cli_open_study(&asked->workload.settings, asked->words[0], error);
  sweep->grid = loaded->grid = loaded->study != NULL ? read_grid(asked, loaded->study, error) : NULL;
  if (loaded->grid != NULL && asked->where != NULL)
    sweep->where = loaded->where = read_where(asked->where, error);
  return loaded->grid != NULL && (asked->where == NULL || loaded->where != NULL);
}

static CliExit run(const Sweep *asked, StudySweep *sweep, GError **error) {
  gboolean speaks = !asked->quiet && sweep->mpi->rank == 0, stopped = FALSE;
  CliStop stop;
  CliProgress progress;
  sweep->stop = cli_stop_asked;
  sweep->stop_user = &stop;
  sweep->progress = show;
  sweep->progress_user = &progress;
  StudySweepResult result;
  gint64 begun_at = g_get_monotonic_time();
  cli_stop_begin(&stop);
  cli_progress_begin(&progress, "points", !speaks);
  gboolean good = study_sweep_run(sweep, &result, &stopped, error);
  cli_progress_end(&progress);
  cli_stop_end(&stop);
  if (!good) /* what went wrong with the first process is its to say, and to end with */
    return sweep->mpi->rank > 0 && *error == NULL ? CLI_DONE : CLI_FAULT;
  if (speaks)
    print_counts(&result, (double)(g_get_monotonic_time() - begun_at) / G_USEC_PER_SEC, asked->json);
  if (speaks && !asked->json && result.refused > 0 && !print_reasons(sweep, &result, error))
    return CLI_FAULT;
  return stopped ? CLI_STOPPED : CLI_DONE;
}

/* Under mpirun every process reads the command line; the first speaks for all. */
static CliExit sweep(gconstpointer data, GError **error) {
  const Sweep *asked = data;
  StudyMpi mpi;
  if (!study_mpi_begin(&mpi, error))
    return CLI_INPUT;
  StudySweep how = {.options = asked->workload.twins.study,
                    .threads = (guint)asked->jobs,
                    .shard = asked->shard.index - 1,
                    .shards = asked->shard.of,
                    .mpi = &mpi};
  Loaded loaded = {0};
  gboolean ready = load(asked, &how, &loaded, error);
  CliExit status = study_mpi_agree(&mpi, ready, error) ? run(asked, &how, error) : CLI_INPUT;
  loaded_clear(&loaded);
  return cli_end_together(&mpi, status, error);
}

static const Sweep defaults = {.workload = {.twins = {.study = {.fold = TRUE}}}, .shard = CLI_SHARD_DEFAULT};

const CliVerb cli_sweep = {"sweep",
                           "WORKLOAD --grid KEY=V1,V2,... [--grid KEY=A..B:STEP]",
                           "every point of a grid over any setting, into the database",
                           options,
                           sizeof(Sweep),
                           &defaults,
                           sweep};
