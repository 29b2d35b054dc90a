/* Runs to samples, then figure by figure: the value at which half of its rows are foretold slower than measured. */
#include "import-fit.h"

#include <stdlib.h>

#include "base-names.h"
#include "import-model.h"

/* Which rows decide a latency, and which a bandwidth. */
#define SMALL_BYTES ((guint64)4 << 10)
#define LARGE_BYTES ((guint64)128 << 20)
/* The range is halved so often: a second to a nanosecond. */
#define HALVINGS 30
#define ROUNDS   2

typedef struct {
  const ImportModel *model;
  GArray *samples; /* ImportSample, run by run */
  double figures[IMPORT_FIGURES];
  SimTime *times; /* one per sample */
} Fit;

static const ImportSample *sample_at(const Fit *fit, guint i) {
  return &g_array_index(fit->samples, ImportSample, i);
}

/* A latency grows a time, a bandwidth shrinks it. */
static gboolean is_latency(ImportFigureKind kind) {
  return kind == IMPORT_LAUNCH_FLOOR || kind == IMPORT_NIC_LATENCY;
}

static gboolean decides(ImportFigureKind kind, const ImportSample *sample) {
  gboolean network = kind == IMPORT_NIC_ACHIEVABLE || kind == IMPORT_NIC_LATENCY;
  return (sample->nodes > 1) == network &&
         (is_latency(kind) ? sample->call.bytes <= SMALL_BYTES : sample->call.bytes >= LARGE_BYTES);
}

static gboolean predict(Fit *fit, GError **error) {
  return import_model_predict(fit->model, fit->figures, (const ImportSample *)fit->samples->data, fit->samples->len,
                              fit->times, error);
}

/* How many of a figure's rows are foretold slower than measured; *ret_sum is the sum of what is foretold. */
static gboolean count_slow(Fit *fit, ImportFigureKind kind, double value, guint *ret_slow, double *ret_sum,
                           GError **error) {
  fit->figures[kind] = value;
  if (!predict(fit, error))
    return FALSE;
  *ret_slow = 0;
  *ret_sum = 0;
  for (guint i = 0; i < fit->samples->len; i++)
    if (decides(kind, sample_at(fit, i))) {
      *ret_slow += fit->times[i] > sample_at(fit, i)->measured;
      *ret_sum += sim_time_to_seconds(fit->times[i]);
    }
  return TRUE;
}

/* `low` foretells fast, `high` slow, whichever is the larger number. */
static gboolean fit_figure(Fit *fit, ImportFigureKind kind, ImportFigure *figure, GError **error) {
  double most = import_model_most(fit->model, kind);
  double low = is_latency(kind) ? 0 : most, high = is_latency(kind) ? most : most / (1 << HALVINGS);
  guint slow_low, slow_high;
  double sum_low, sum_high;
  if (!count_slow(fit, kind, low, &slow_low, &sum_low, error) ||
      !count_slow(fit, kind, high, &slow_high, &sum_high, error))
    return FALSE;
  figure->fitted = sum_low != sum_high;
  figure->at_limit = figure->fitted && 2 * slow_low > figure->rows;
  for (int i = 0; i < HALVINGS && figure->fitted && !figure->at_limit; i++) {
    double middle = (low + high) / 2;
    guint slow;
    double sum;
    if (!count_slow(fit, kind, middle, &slow, &sum, error))
      return FALSE;
    if (2 * slow > figure->rows)
      high = middle;
    else
      low = middle;
  }
  figure->value = low;
  fit->figures[kind] = figure->fitted ? low : -1;
  return TRUE;
}

static gboolean fit_figures(Fit *fit, ImportFigure *figures, GError **error) {
  gboolean any = FALSE;
  for (int kind = 0; kind < IMPORT_FIGURES; kind++) {
    figures[kind].before = import_model_own(fit->model, kind);
    for (guint i = 0; i < fit->samples->len; i++)
      figures[kind].rows += decides(kind, sample_at(fit, i));
  }
  for (int round = 0; round < ROUNDS; round++)
    for (int kind = 0; kind < IMPORT_FIGURES; kind++)
      if (figures[kind].rows > 0 && !fit_figure(fit, kind, &figures[kind], error))
        return FALSE;
  for (int kind = 0; kind < IMPORT_FIGURES; kind++)
    any = any || figures[kind].fitted;
  if (!any)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "no row decides a figure: launch and latency need calls of at most 4 KiB, bandwidths of at least 128 "
                "MiB");
  return any;
}

static int compare(gconstpointer a, gconstpointer b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_error(const Fit *fit, guint run) {
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  for (guint i = 0; i < fit->samples->len; i++) {
    if (sample_at(fit, i)->run != run)
      continue;
    double ratio = sim_time_to_seconds(fit->times[i]) / sim_time_to_seconds(sample_at(fit, i)->measured);
    double off = ratio > 1 ? ratio - 1 : 1 - ratio;
    g_array_append_val(errors, off);
  }
  g_array_sort(errors, compare);
  return errors->len > 0 ? g_array_index(errors, double, errors->len / 2) : 0;
}

/* Why a run says nothing here, or NULL. */
static char *reason(const ImportRun *run, const ImportFitOptions *options, const ImportModel *model, guint *ret_nodes) {
  ImportOperation operation = run->operation != IMPORT_UNKNOWN ? run->operation : options->operation;
  guint nodes = options->nodes > 0 ? options->nodes : run->nodes, gpus = import_model_gpus(model);
  if (run->rccl)
    return g_strdup("it is RCCL's: AMD GPUs are not modelled yet");
  if (run->rows->len == 0)
    return run->failure != NULL ? g_strdup_printf("it failed before its first row: %s", run->failure)
                                : g_strdup("it has no rows");
  if (run->processes > 1)
    return g_strdup_printf("%u processes each printed as rank 0, so each ran alone (nccl-tests built without MPI?)",
                           run->processes);
  if (run->bad_values > 0)
    return g_strdup_printf("%u results were wrong", run->bad_values);
  if (operation == IMPORT_UNKNOWN)
    return g_strdup("the log does not say which operation it measures: say so with --operation");
  if (base_names_find(coll_operation_names, import_operation_names[operation]) < 0)
    return g_strdup_printf("%s is not modelled yet", import_operation_names[operation]);
  if (run->ranks == 1)
    return g_strdup("one rank alone communicates with nobody");
  if (nodes == 0)
    return g_strdup("the log does not say on how many nodes it ran: say so with --nodes");
  guint ranks = run->ranks > 0 ? run->ranks : nodes * gpus;
  if (ranks % nodes != 0 || ranks / nodes > gpus)
    return g_strdup_printf("%u ranks do not go on %u nodes of %s, which have %u GPUs each", ranks, nodes,
                           import_model_name(model), gpus);
  *ret_nodes = nodes;
  return NULL;
}

static void add_samples(Fit *fit, const ImportFitOptions *options, guint index, ImportFitRun *fitted) {
  const ImportRun *run = fitted->run;
  ImportOperation operation = run->operation != IMPORT_UNKNOWN ? run->operation : options->operation;
  guint ranks = run->ranks > 0 ? run->ranks : fitted->nodes * import_model_gpus(fit->model);
  int modelled = base_names_find(coll_operation_names, import_operation_names[operation]);
  for (guint i = 0; i < run->rows->len; i++) {
    const ImportRow *row = &g_array_index(run->rows, ImportRow, i);
    const ImportTiming *timing = row->in_place.time != SIM_TIME_NEVER ? &row->in_place : &row->out_of_place;
    if (timing->wrong >= 1 || timing->time == 0)
      continue;
    ImportSample sample = {.run = index,
                           .nodes = fitted->nodes,
                           .per_node = ranks / fitted->nodes,
                           .call = {.operation = (CollOperation)modelled, .bytes = row->bytes},
                           .measured = timing->time};
    g_array_append_val(fit->samples, sample);
    fitted->rows++;
  }
}

static gboolean take_runs(Fit *fit, const ImportLog *log, const ImportFitOptions *options, GArray *runs,
                          GError **error) {
  for (guint i = 0; i < log->runs->len; i++) {
    ImportFitRun fitted = {.run = g_ptr_array_index(log->runs, i)};
    fitted.unused = reason(fitted.run, options, fit->model, &fitted.nodes);
    if (fitted.unused == NULL)
      add_samples(fit, options, i, &fitted);
    g_array_append_val(runs, fitted);
  }
  if (fit->samples->len > 0)
    return TRUE;
  const ImportFitRun *first = runs->len > 0 ? &g_array_index(runs, ImportFitRun, 0) : NULL;
  BasePlace place = {.file = log->file, .line = first != NULL ? first->run->line : 0};
  if (first != NULL && first->run->rows->len == 0 && first->run->failure != NULL)
    place.line = first->run->failure_line;
  base_error_set_at(error, &place, "nothing to fit: %s",
                    first == NULL           ? "it holds no run of nccl-tests"
                    : first->unused != NULL ? first->unused
                                            : "no row has a time and right results");
  return FALSE;
}

static gboolean fit_all(Fit *fit, const ImportLog *log, const ImportFitOptions *options, ImportFit *ret,
                        GError **error) {
  if (!take_runs(fit, log, options, ret->runs, error))
    return FALSE;
  fit->times = g_new0(SimTime, fit->samples->len);
  for (int kind = 0; kind < IMPORT_FIGURES; kind++)
    fit->figures[kind] = -1;
  if (!predict(fit, error))
    return FALSE;
  for (guint i = 0; i < ret->runs->len; i++)
    g_array_index(ret->runs, ImportFitRun, i).before = median_error(fit, i);
  if (!fit_figures(fit, ret->figures, error) || !predict(fit, error))
    return FALSE;
  for (guint i = 0; i < ret->runs->len; i++)
    g_array_index(ret->runs, ImportFitRun, i).after = median_error(fit, i);
  return TRUE;
}

static void run_clear(gpointer data) {
  g_free(((ImportFitRun *)data)->unused);
}

gboolean import_fit_run(const ImportLog *log, const ImportFitOptions *options, ImportFit *ret, GError **error) {
  g_autoptr(ImportModel) model = import_model_new(options->topology, error);
  if (model == NULL)
    return FALSE;
  ImportFit found = {.topology = g_strdup(import_model_name(model)),
                     .runs = g_array_new(FALSE, FALSE, sizeof(ImportFitRun))};
  g_array_set_clear_func(found.runs, run_clear);
  Fit fit = {.model = model, .samples = g_array_new(FALSE, FALSE, sizeof(ImportSample))};
  gboolean good = fit_all(&fit, log, options, &found, error);
  g_array_unref(fit.samples);
  g_free(fit.times);
  if (good)
    *ret = found;
  else
    import_fit_clear(&found);
  return good;
}

void import_fit_clear(ImportFit *fit) {
  g_free(fit->topology);
  if (fit->runs != NULL)
    g_array_unref(fit->runs);
}
