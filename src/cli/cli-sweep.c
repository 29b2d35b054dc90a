/* foretrain sweep: a grid over a workload, into the database. */
#include <stdio.h>
#include <unistd.h>

#include "base-error.h"
#include "cli-progress.h"
#include "cli-stop.h"
#include "cli.h"
#include "study-mpi.h"
#include "study-sweep.h"

static StudyGrid *read_grid(const CliOptions *options, const Study *study, GError **error) {
  g_autoptr(StudyGrid) grid = study_grid_new();
  for (char **axis = options->grid; axis != NULL && *axis != NULL; axis++)
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

static gboolean read_shard(const char *text, StudySweep *sweep, GError **error) {
  guint64 index, of;
  g_auto(GStrv) parts = g_strsplit(text != NULL ? text : "1/1", "/", 2);
  if (parts[0] == NULL || parts[1] == NULL || !g_ascii_string_to_unsigned(parts[0], 10, 1, G_MAXUINT32, &index, NULL) ||
      !g_ascii_string_to_unsigned(parts[1], 10, 1, G_MAXUINT32, &of, NULL) || index > of) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--shard: expected I/N with I from 1 to N, found \"%s\"", text);
    return FALSE;
  }
  sweep->shard = index - 1;
  sweep->shards = of;
  return TRUE;
}

static void show(const StudySweepResult *so_far, gpointer user) {
  guint64 done = so_far->played + so_far->known + so_far->refused + so_far->unwanted;
  cli_progress_show(user, done, done - so_far->played, so_far->points);
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
    printf("{");
    for (gsize i = 0; i < G_N_ELEMENTS(counts); i++)
      printf("%s\"%s\": %" G_GUINT64_FORMAT, i > 0 ? ", " : "", counts[i].key, counts[i].value);
    printf("}\n");
    return;
  }
  for (gsize i = 0; i < G_N_ELEMENTS(counts); i++)
    if (i < 2 || counts[i].value > 0)
      printf("%s%" G_GUINT64_FORMAT " %s", i > 0 ? ", " : "", counts[i].value, counts[i].words);
  printf("\n");
  if (result->played > 0 && isatty(fileno(stdout)))
    fprintf(stderr, "%.0f points a second\n", (double)result->played / seconds);
}

/* What the command line asks for, read. */
typedef struct {
  Study *study;
  StudyGrid *grid;
  StoreExpression *where;
} Asked;

static void asked_clear(Asked *asked) {
  study_free(asked->study);
  study_grid_free(asked->grid);
  store_expression_free(asked->where);
}

static gboolean read_asked(const CliOptions *options, StudySweep *sweep, Asked *asked, GError **error) {
  if (!cli_want(options, 1, "a workload", error) || (sweep->database = cli_database(options, error)) == NULL ||
      !read_shard(options->shard, sweep, error))
    return FALSE;
  if (sweep->mpi->size > 1 && options->study.timeline) {
    g_set_error(
        error, SIM_ERROR, SIM_ERROR_INPUT,
        "--timeline=yes: processes of mpirun send summaries alone; --shard I/N and foretrain merge keep timelines");
    return FALSE;
  }
  sweep->base = asked->study = cli_open_study(options, options->rest[0], error);
  sweep->grid = asked->grid = asked->study != NULL ? read_grid(options, asked->study, error) : NULL;
  if (asked->grid != NULL && options->where != NULL)
    sweep->where = asked->where = read_where(options->where, error);
  return asked->grid != NULL && (options->where == NULL || asked->where != NULL);
}

static CliExit run(const CliOptions *options, StudySweep *sweep, GError **error) {
  gboolean speaks = !options->quiet && sweep->mpi->rank == 0, stopped = FALSE;
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
    print_counts(&result, (double)(g_get_monotonic_time() - begun_at) / G_USEC_PER_SEC, options->json);
  return stopped ? CLI_STOPPED : CLI_DONE;
}

/* Under mpirun every process reads the command line; the first speaks for all. */
CliExit cli_sweep(const CliOptions *options, GError **error) {
  StudyMpi mpi;
  if (!study_mpi_begin(&mpi, error))
    return CLI_INPUT;
  StudySweep sweep = {.options = options->study, .threads = (guint)options->jobs, .mpi = &mpi};
  Asked asked = {0};
  gboolean ready = read_asked(options, &sweep, &asked, error);
  CliExit status = study_mpi_agree(&mpi, ready, error) ? run(options, &sweep, error) : CLI_INPUT;
  asked_clear(&asked);
  study_mpi_end(&mpi);
  return status;
}
