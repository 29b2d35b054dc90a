/* SPDX-License-Identifier: MIT */
/* Rows through the runner, and what is kept of each. */
#include "truth-run.h"

#include <string.h>

#include "study-collective.h"
#include "truth-interval.h"
#include "truth-parts.h"

typedef struct {
  const TruthTable *table;
  guint row;
  StudyPoint *point;
  gboolean called; /* a collective that could be timed */
  StudyCollectiveCall call;
} Item;

typedef struct {
  TruthResult *result;
  const TruthOptions *options;
  const Trust *trust;
  guint table, row;     /* the next */
  GHashTable *defaults; /* "name\nvalue" → count */
} Validation;

static gpointer next_row(gpointer user) {
  Validation *validation = user;
  while (validation->table < validation->result->tables->len) {
    const TruthTable *table = g_ptr_array_index(validation->result->tables, validation->table);
    if (validation->row == table->csv->n_rows) {
      validation->table++;
      validation->row = 0;
      continue;
    }
    Item *item = g_new0(Item, 1);
    *item = (Item){.table = table, .row = validation->row, .point = truth_table_point(table, validation->row)};
    validation->row++;
    return item;
  }
  return NULL;
}

static void work(gpointer data, gpointer thread, gpointer user) {
  Item *item = data;
  const Validation *validation = user;
  if (item->table->collectives)
    item->called = study_collective_run_point(item->point, thread, &item->call);
  else {
    StudyOptions options = validation->options->study;
    options.timeline |= truth_table_has_parts(item->table);
    options.every_micro_batch |= truth_table_has_parts(item->table);
    study_point_run(item->point, validation->options->base, &options, thread);
  }
}

static gpointer cache_new(G_GNUC_UNUSED gpointer user) {
  return study_cache_new();
}

static void cache_free(gpointer cache) {
  study_cache_free(cache);
}

static void item_free(gpointer data) {
  Item *item = data;
  study_point_free(item->point);
  g_free(item);
}

/* Pipeline stages are the outermost axis wherever memory of one is told. */
static guint32 class_of_first_stage(const RunReport *report) {
  guint32 first = 0;
  for (guint32 i = 1; i < report->n_classes; i++)
    if (report->classes[i].first_rank < report->classes[first].first_rank)
      first = i;
  return first;
}

static void keep_memory_of_first(TruthRow *row, const RunReport *report) {
  RunReport of_first = *report;
  of_first.tightest = class_of_first_stage(report);
  for (StoreMeasureKind kind = STORE_MEASURE_RESERVED; kind <= STORE_MEASURE_STEADY; kind++)
    row->predicted[kind] = store_measure_predicted(kind, &of_first);
}

static void keep_run(TruthRow *row, const RunReport *report, const Trust *trust) {
  const RunClass *slowest = run_report_slowest(report), *tightest = run_report_tightest(report);
  for (StoreMeasureKind kind = 0; kind < STORE_MEASURES; kind++)
    row->predicted[kind] = store_measure_predicted(kind, report);
  if (truth_table_of_first_stage(row->table, row->row))
    keep_memory_of_first(row, report);
  if (slowest->n_tasks > 0)
    truth_parts(slowest, row->predicted);
  row->run_key = g_strdup(report->identity.run_key);
  row->breakdown = (TruthBreakdown){.step = slowest->step,
                                    .compute = slowest->compute,
                                    .exposed = slowest->exposed,
                                    .idle = slowest->idle,
                                    .device_used = tightest->device_used,
                                    .capacity = tightest->capacity};
  memcpy(row->breakdown.by_cause, slowest->by_cause, sizeof slowest->by_cause);
  memcpy(row->breakdown.held, tightest->peak_held, sizeof tightest->peak_held);
  row->interval =
      (TruthInterval){.low = report->step_low, .high = report->step_high, .envelope = g_strdup(report->envelope)};
  trust_read(trust, report, &row->interval.like);
}

static void keep_call(TruthRow *row, const StudyCollectiveCall *call) {
  row->predicted[STORE_MEASURE_TIME] = sim_time_to_seconds(call->time);
  row->predicted[STORE_MEASURE_BANDWIDTH] = call->bus_bandwidth;
  row->algorithm = call->algorithm;
  row->protocol = call->protocol;
  row->bytes = call->bytes;
}

static void count_default(Validation *validation, const char *name, const char *value) {
  char *key = g_strconcat(name, "\n", value, NULL);
  guint count = GPOINTER_TO_UINT(g_hash_table_lookup(validation->defaults, key));
  g_hash_table_insert(validation->defaults, key, GUINT_TO_POINTER(count + 1));
}

/* What an empty cell got; "": what the topology, the framework or NCCL has. */
static const char *value_used(const Item *item, const char *name) {
  const RunReport *report = item->point->report;
  if (item->called && strcmp(name, "collective.dtype") == 0)
    return item->call.dtype;
  const char *value = report != NULL ? run_identity_setting(&report->identity, name) : NULL;
  return value != NULL ? value : "";
}

/* Empty cells, and settings that have no column and that nobody gave. */
static void count_defaults(Validation *validation, const Item *item) {
  const RunReport *report = item->point->report;
  for (guint i = 0; i < item->table->settings->len; i++) {
    guint column = g_array_index(item->table->settings, guint, i);
    const char *name = conf_csv_column(item->table->csv, column);
    if (*conf_csv_cell(item->table->csv, item->row, column) == '\0')
      count_default(validation, name, value_used(item, name));
  }
  for (guint32 i = 0; report != NULL && i < report->identity.n_settings; i++) {
    const RunSetting *setting = &report->identity.settings[i];
    if (strcmp(setting->origin, "default") == 0 && conf_csv_find(item->table->csv, setting->name) < 0 &&
        study_point_concerns(setting->name, report->identity.framework))
      count_default(validation, setting->name, setting->value);
  }
}

static gboolean deliver(gpointer data, gpointer user, GError **error) {
  Validation *validation = user;
  Item *item = data;
  if (item->point != NULL && !study_point_check(item->point, error)) {
    item_free(item);
    return FALSE;
  }
  const TruthTable *table = item->table;
  TruthRow row = {.table = table,
                  .row = item->row,
                  .id = conf_csv_cell(table->csv, item->row, table->id),
                  .source = conf_csv_cell(table->csv, item->row, table->source),
                  .set = conf_csv_cell(table->csv, item->row, table->set),
                  .ran = item->called || (item->point != NULL && item->point->report != NULL)};
  for (StoreMeasureKind kind = 0; kind < STORE_MEASURES; kind++) {
    row.measured[kind] = truth_table_measured(table, item->row, kind);
    row.predicted[kind] = STORE_UNKNOWN;
  }
  if (item->point->report != NULL)
    keep_run(&row, item->point->report, validation->trust);
  else if (item->called)
    keep_call(&row, &item->call);
  else {
    g_ptr_array_add(item->point->reasons, NULL);
    row.reasons = g_strdupv((char **)item->point->reasons->pdata);
  }
  if (row.ran)
    count_defaults(validation, item);
  g_array_append_val(validation->result->rows, row);
  item_free(item);
  return TRUE;
}

static int by_name(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_defaults(const Validation *validation) {
  guint n;
  g_autofree gpointer *keys = g_hash_table_get_keys_as_array(validation->defaults, &n);
  qsort(keys, n, sizeof *keys, by_name);
  for (guint i = 0; i < n; i++) {
    char *feed = strchr(keys[i], '\n');
    TruthDefault one = {g_strndup(keys[i], (gsize)(feed - (char *)keys[i])), g_strdup(feed + 1),
                        GPOINTER_TO_UINT(g_hash_table_lookup(validation->defaults, keys[i]))};
    g_array_append_val(validation->result->defaults, one);
  }
}

static void row_clear(gpointer data) {
  TruthRow *row = data;
  g_strfreev(row->reasons);
  g_free(row->run_key);
  trust_case_clear(&row->interval.like);
  g_free(row->interval.envelope);
}

static void default_clear(gpointer data) {
  TruthDefault *one = data;
  g_free(one->name);
  g_free(one->value);
}

static void table_free(gpointer table) {
  truth_table_free(table);
}

static TruthResult *result_new(void) {
  TruthResult *result = g_new0(TruthResult, 1);
  result->tables = g_ptr_array_new_with_free_func(table_free);
  result->rows = g_array_new(FALSE, FALSE, sizeof(TruthRow));
  g_array_set_clear_func(result->rows, row_clear);
  result->defaults = g_array_new(FALSE, FALSE, sizeof(TruthDefault));
  g_array_set_clear_func(result->defaults, default_clear);
  return result;
}

TruthResult *truth_run(char *const *paths, const TruthOptions *options, GError **error) {
  g_autoptr(TruthResult) result = result_new();
  for (; *paths != NULL; paths++) {
    TruthTable *table = truth_table_load(*paths, error);
    if (table == NULL)
      return NULL;
    for (guint i = 0; i < result->tables->len; i++)
      if (strcmp(((TruthTable *)g_ptr_array_index(result->tables, i))->csv->file, *paths) == 0) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "the table \"%s\" is named twice", *paths);
        truth_table_free(table);
        return NULL;
      }
    g_ptr_array_add(result->tables, table);
  }
  g_autoptr(Trust) trust = trust_load(error);
  if (trust == NULL)
    return NULL;
  g_autoptr(GHashTable) defaults = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  Validation validation = {.result = result, .options = options, .trust = trust, .defaults = defaults};
  StudyRunner runner = {.threads = options->threads,
                        .next = next_row,
                        .work = work,
                        .deliver = deliver,
                        .drop = item_free,
                        .thread_new = cache_new,
                        .thread_free = cache_free,
                        .user = &validation,
                        .stop = options->stop,
                        .stop_user = options->stop_user};
  if (!study_runner_run(&runner, &result->stopped, error))
    return NULL;
  sort_defaults(&validation);
  truth_intervals(result, trust);
  return g_steal_pointer(&result);
}

void truth_result_free(TruthResult *result) {
  if (result == NULL)
    return;
  g_array_unref(result->rows);
  g_array_unref(result->defaults);
  g_ptr_array_unref(result->tables);
  g_free(result);
}

char *truth_row_status(const TruthRow *row) {
  return row->ran ? g_strdup("ran") : g_strjoinv("; ", row->reasons);
}

gboolean truth_row_error(const TruthRow *row, StoreMeasureKind kind, double *ret) {
  if (row->measured[kind] == STORE_UNKNOWN || row->predicted[kind] == STORE_UNKNOWN)
    return FALSE;
  *ret = row->predicted[kind] / row->measured[kind] - 1;
  return TRUE;
}

gboolean truth_keep(const TruthResult *result, StoreDb *db, GError **error) {
  gint64 id;
  if (!store_db_begin_validation(db, &id, error))
    return FALSE;
  for (guint i = 0; i < result->rows->len; i++) {
    const TruthRow *row = truth_row(result, i);
    g_autofree char *status = truth_row_status(row);
    StoreValidation kept = {row->table->csv->file, row->id, row->source, row->set, status, row->run_key, {0}, {0}};
    memcpy(kept.measured, row->measured, sizeof kept.measured);
    memcpy(kept.predicted, row->predicted, sizeof kept.predicted);
    if (!store_db_write_validation(db, id, &kept, error))
      return store_db_end_validation(db, FALSE, NULL) && FALSE;
  }
  return store_db_end_validation(db, TRUE, error);
}
