/* SPDX-License-Identifier: MIT */
/* Runs to samples, then figure by figure the value that foretells its rows best. */
#include "import-fit.h"

#include <string.h>

#include "base-names.h"
#include "import-model.h"
#include "import-usable.h"

/* Which rows decide a latency, and which a bandwidth. */
#define SMALL_BYTES ((guint64)4 << 10)
#define LARGE_BYTES ((guint64)128 << 20)
/* The range is halved so often: a second to a nanosecond. */
#define HALVINGS 30
#define ROUNDS   2
/* Steps of the grid over a bandwidth's range, and how often and how much finer it is looked at again. */
#define GRID        64
#define FINER       8
#define REFINEMENTS 3

typedef struct {
  const ImportModel *model;
  guint64 small, large;
  GArray *samples; /* ImportSample, run by run */
  double figures[IMPORT_FIGURES];
  SimTime *times; /* one per sample */
} Fit;

static const ImportSample *sample_at(const Fit *fit, guint i) {
  return &g_array_index(fit->samples, ImportSample, i);
}

static double off_by(SimTime foretold, SimTime measured) {
  double ratio = sim_time_to_seconds(foretold) / sim_time_to_seconds(measured);
  return ratio > 1 ? ratio - 1 : 1 - ratio;
}

static gboolean is_latency(ImportFigureKind kind) {
  return kind == IMPORT_LAUNCH_FLOOR || kind == IMPORT_HOP_LATENCY;
}

static gboolean decides(const Fit *fit, ImportFigureKind kind, const ImportSample *sample) {
  gboolean network = kind == IMPORT_NIC_ACHIEVABLE || kind == IMPORT_HOP_LATENCY;
  if (kind == IMPORT_LAUNCH_FLOOR && sample->driven > 1)
    return FALSE; /* launches in turn hide it */
  return (sample->nodes > 1) == network &&
         (is_latency(kind) ? sample->call.bytes <= fit->small : sample->call.bytes >= fit->large);
}

static gboolean predict(Fit *fit, GError **error) {
  return import_model_predict(fit->model, fit->figures, (const ImportSample *)fit->samples->data, fit->samples->len,
                              fit->times, error);
}

/* What a trial value of a figure makes of the rows that it decides. */
typedef struct {
  guint slow;    /* rows foretold slower than measured */
  double sum;    /* of what is foretold */
  double errors; /* sum of |foretold / measured - 1| */
} Trial;

static gboolean try_value(Fit *fit, ImportFigureKind kind, double value, Trial *ret, GError **error) {
  fit->figures[kind] = value;
  if (!predict(fit, error))
    return FALSE;
  *ret = (Trial){0};
  for (guint i = 0; i < fit->samples->len; i++)
    if (decides(fit, kind, sample_at(fit, i))) {
      double foretold = sim_time_to_seconds(fit->times[i]);
      ret->slow += fit->times[i] > sample_at(fit, i)->measured;
      ret->sum += foretold;
      ret->errors += off_by(fit->times[i], sample_at(fit, i)->measured);
    }
  return TRUE;
}

/* More latency, more time: the value at which half of the rows are foretold slower than measured. */
static gboolean fit_latency(Fit *fit, ImportFigureKind kind, ImportFigure *figure, GError **error) {
  double low = 0, high = import_model_most(fit->model, kind);
  Trial least, most;
  if (!try_value(fit, kind, low, &least, error) || !try_value(fit, kind, high, &most, error))
    return FALSE;
  figure->fitted = least.sum != most.sum;
  figure->at_limit = figure->fitted && 2 * least.slow > figure->rows;
  for (int i = 0; i < HALVINGS && figure->fitted && !figure->at_limit; i++) {
    double middle = (low + high) / 2;
    Trial trial;
    if (!try_value(fit, kind, middle, &trial, error))
      return FALSE;
    if (2 * trial.slow > figure->rows)
      high = middle;
    else
      low = middle;
  }
  figure->value = low;
  return TRUE;
}

/* A bandwidth moves NCCL's choices, so time is no even function of it: the least error on a grid down from the raw
 * rate, then on finer grids around what was found. The topology's own value is a candidate too. */
static gboolean fit_bandwidth(Fit *fit, ImportFigureKind kind, ImportFigure *figure, GError **error) {
  double most = import_model_most(fit->model, kind), best = figure->before, step = most / GRID;
  Trial trial, least;
  if (!try_value(fit, kind, best, &least, error))
    return FALSE;
  double first_sum = least.sum;
  figure->fitted = FALSE;
  for (int level = 0; level <= REFINEMENTS; level++) {
    double from = level == 0 ? most : MIN(best + FINER * step, most);
    int n = level == 0 ? GRID : 2 * FINER + 1;
    for (int i = 0; i < n; i++) {
      double value = from - i * step;
      if (value <= 0)
        break;
      if (!try_value(fit, kind, value, &trial, error))
        return FALSE;
      figure->fitted = figure->fitted || trial.sum != first_sum;
      if (trial.errors < least.errors) {
        least = trial;
        best = value;
      }
    }
    step /= FINER;
  }
  figure->value = best;
  figure->at_limit = best >= most;
  return TRUE;
}

/* Over all rows, whichever figure they decide. */
static gboolean sum_errors(Fit *fit, ImportFigureKind kind, double value, double *ret, GError **error) {
  fit->figures[kind] = value;
  if (!predict(fit, error))
    return FALSE;
  *ret = 0;
  for (guint i = 0; i < fit->samples->len; i++)
    *ret += off_by(fit->times[i], sample_at(fit, i)->measured);
  return TRUE;
}

static gboolean fit_figure(Fit *fit, ImportFigureKind kind, ImportFigure *figure, GError **error) {
  double before, after;
  if (!(is_latency(kind) ? fit_latency : fit_bandwidth)(fit, kind, figure, error) ||
      !sum_errors(fit, kind, -1, &before, error) || !sum_errors(fit, kind, figure->value, &after, error))
    return FALSE;
  figure->refuted = figure->fitted && after > before;
  figure->fitted = figure->fitted && !figure->refuted;
  fit->figures[kind] = figure->fitted ? figure->value : -1;
  return TRUE;
}

static gboolean fit_figures(Fit *fit, ImportFigure *figures, GError **error) {
  gboolean any = FALSE;
  for (int kind = 0; kind < IMPORT_FIGURES; kind++) {
    figures[kind].before = import_model_own(fit->model, kind);
    for (guint i = 0; i < fit->samples->len; i++)
      figures[kind].rows += decides(fit, kind, sample_at(fit, i));
  }
  for (int round = 0; round < ROUNDS; round++)
    for (int kind = 0; kind < IMPORT_FIGURES; kind++)
      if (figures[kind].rows > 0 && !fit_figure(fit, kind, &figures[kind], error))
        return FALSE;
  for (int kind = 0; kind < IMPORT_FIGURES; kind++)
    any = any || figures[kind].fitted || figures[kind].refuted;
  if (!any)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "no row decides a figure: launch and latency need calls of at most %" G_GUINT64_FORMAT
                " KiB, bandwidths of at least %" G_GUINT64_FORMAT " MiB",
                fit->small >> 10, fit->large >> 20);
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
    double off = off_by(fit->times[i], sample_at(fit, i)->measured);
    g_array_append_val(errors, off);
  }
  g_array_sort(errors, compare);
  return errors->len > 0 ? g_array_index(errors, double, errors->len / 2) : 0;
}

/* What the log does not say and an option must; NULL: nothing. */
static char *missing(ImportOperation operation, guint nodes) {
  if (operation != IMPORT_UNKNOWN && nodes > 0)
    return NULL;
  const char *first = operation == IMPORT_UNKNOWN ? "which operation it measures: say so with --operation" : NULL;
  const char *second = nodes == 0 ? "on how many nodes it ran: say so with --nodes" : NULL;
  return g_strdup_printf("the log does not say %s%s%s", first != NULL ? first : second,
                         first != NULL && second != NULL ? ", nor " : "",
                         first != NULL && second != NULL ? second : "");
}

char *import_fit_missing(const ImportLog *log, const ImportFitOptions *options) {
  for (guint i = 0; i < log->runs->len; i++) {
    const ImportRun *run = g_ptr_array_index(log->runs, i);
    g_autofree char *refusal = import_run_refusal(run);
    if (refusal == NULL)
      return missing(run->operation != IMPORT_UNKNOWN ? run->operation : options->operation,
                     options->nodes > 0 ? options->nodes : run->nodes);
  }
  return NULL;
}

/* Why a run says nothing here, or NULL. */
static char *reason(const ImportRun *run, const ImportFitOptions *options, const ImportModel *model, guint *ret_nodes) {
  ImportOperation operation = run->operation != IMPORT_UNKNOWN ? run->operation : options->operation;
  guint nodes = options->nodes > 0 ? options->nodes : run->nodes, gpus = import_model_gpus(model);
  const char *name = import_operation_names[operation];
  char *refusal = import_run_refusal(run);
  if (refusal == NULL && operation != IMPORT_UNKNOWN && base_names_find(coll_operation_names, name) < 0)
    return g_strdup_printf("%s is not modelled yet", name);
  if (refusal == NULL)
    refusal = missing(operation, nodes);
  if (refusal != NULL)
    return refusal;
  if (!import_run_may_be(run, operation))
    return g_strdup_printf("its rows' redop is not that of %s", name);
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
    if (import_row_is_wrong(row) || timing->time == 0)
      continue;
    ImportSample sample = {.run = index,
                           .nodes = fitted->nodes,
                           .per_node = ranks / MAX(fitted->nodes, 1),
                           .driven = MAX(run->driven, 1),
                           .nccl_version = run->nccl_version,
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
    fitted.other_gpu = import_run_other_gpu(fitted.run, import_model_gpu(fit->model));
    fitted.unused = reason(fitted.run, options, fit->model, &fitted.nodes);
    if (fitted.unused == NULL)
      add_samples(fit, options, i, &fitted);
    g_array_append_val(runs, fitted);
  }
  if (fit->samples->len > 0)
    return TRUE;
  const ImportFitRun *first = runs->len > 0 ? &g_array_index(runs, ImportFitRun, 0) : NULL;
  BasePlace place = {.file = first != NULL ? first->run->file : g_ptr_array_index(log->files, 0),
                     .line = first != NULL ? first->run->line : 0};
  if (first != NULL && first->run->rows->len == 0 && first->run->failure != NULL)
    place.line = first->run->failure_line;
  base_error_set_at(error, &place, "nothing to fit: %s",
                    first == NULL           ? "it holds no run of nccl-tests"
                    : first->unused != NULL ? first->unused
                                            : "no row has a time and right results");
  return FALSE;
}

/* A figure that the topology cannot have: the log is of another machine. */
static gboolean fail_fit(const ImportFit *fit, GError **error) {
  const ImportRun *run = g_array_index(fit->runs, ImportFitRun, 0).run;
  g_prefix_error(error,
                 "%s does not fit %s, whose GPUs are %s%s%s; name the machine that it was measured on: ", run->file,
                 fit->topology, fit->gpu, run->gpu != NULL ? "; the log's are " : "", run->gpu != NULL ? run->gpu : "");
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
    return fail_fit(ret, error);
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
  guint64 small = options->small > 0 ? options->small : SMALL_BYTES;
  guint64 large = options->large > 0 ? options->large : LARGE_BYTES;
  ImportFit found = {.topology = g_strdup(import_model_name(model)),
                     .small = small,
                     .large = large,
                     .gpu = g_strdup(import_model_gpu(model)),
                     .runs = g_array_new(FALSE, FALSE, sizeof(ImportFitRun))};
  g_array_set_clear_func(found.runs, run_clear);
  Fit fit = {
      .model = model, .small = small, .large = large, .samples = g_array_new(FALSE, FALSE, sizeof(ImportSample))};
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
  g_free(fit->gpu);
  if (fit->runs != NULL)
    g_array_unref(fit->runs);
}
