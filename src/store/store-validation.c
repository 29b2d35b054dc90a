/* SPDX-License-Identifier: MIT */
/* The table of measures, and table validation. */
#include "store-validation.h"

#include <stddef.h>
#include <string.h>

#include "base-error.h"
#include "store-writer.h"

const StoreMeasure store_measures[STORE_MEASURES] = {
    [STORE_MEASURE_STEP_TIME] = {"step_time_s", "step_ps", " s", "step time", "s", "step"},
    [STORE_MEASURE_TOKENS] = {"tokens_per_second_per_gpu", "tokens_per_second_per_gpu", "", "tokens per second and GPU",
                              "tokens/s", "tokens_per_second_per_gpu"},
    [STORE_MEASURE_RESERVED] = {"peak_reserved_gib", "peak_reserved_bytes", " GiB", "peak reserved memory", "GiB",
                                "peak_reserved"},
    [STORE_MEASURE_ALLOCATED] = {"peak_allocated_gib", "peak_allocated_bytes", " GiB", "peak allocated memory", "GiB",
                                 "peak_allocated"},
    [STORE_MEASURE_STEADY] = {"steady_allocated_gib", "steady_allocated_bytes", " GiB",
                              "memory allocated between steps", "GiB", "steady_allocated"},
    [STORE_MEASURE_FITS] = {"fits", "fits", "", "fits", "", "verdict"},
    [STORE_MEASURE_TIME] = {"time_us", "time_ps", " us", "time of a collective", "us", NULL},
    [STORE_MEASURE_BANDWIDTH] = {"bus_bandwidth", "bus_bandwidth", "", "bus bandwidth of a collective", "GB/s", NULL},
    [STORE_MEASURE_FORWARD] = {"forward_ms", "forward_ps", " ms", "forward", "ms", NULL},
    [STORE_MEASURE_BACKWARD] = {"backward_ms", "backward_ps", " ms", "backward, with what it recomputes", "ms", NULL},
    [STORE_MEASURE_REDUCTION] = {"gradient_reduction_ms", "gradient_reduction_ps", " ms",
                                 "reduction of gradients after backward", "ms", NULL},
    [STORE_MEASURE_OPTIMIZER] = {"optimizer_ms", "optimizer_ps", " ms", "optimizer", "ms", NULL},
};

const char *const store_measure_names[STORE_MEASURES + 1] = {"step_time_s",
                                                             "tokens_per_second_per_gpu",
                                                             "peak_reserved_gib",
                                                             "peak_allocated_gib",
                                                             "steady_allocated_gib",
                                                             "fits",
                                                             "time_us",
                                                             "bus_bandwidth",
                                                             "forward_ms",
                                                             "backward_ms",
                                                             "gradient_reduction_ms",
                                                             "optimizer_ms",
                                                             NULL};

#define TEXT(member, key)                                                                                              \
  { #member, key, RUN_NAME, FALSE, offsetof(StoreValidation, member), sizeof(char *), NULL }
static const RunField texts[] = {TEXT(table, "table_name"), TEXT(id, "id"),         TEXT(source, "source"),
                                 TEXT(set, "set_name"),     TEXT(status, "status"), TEXT(run_key, "run_key")};
const RunRecord store_record_validation = {texts, G_N_ELEMENTS(texts), sizeof(StoreValidation)};

#define MILLISECONDS 1e3

typedef enum { AS_TIME, AS_BYTES, AS_NUMBER, AS_VERDICT } Kept;

static Kept kept_as(StoreMeasureKind kind) {
  const char *column = store_measures[kind].column;
  return kind == STORE_MEASURE_FITS           ? AS_VERDICT
         : g_str_has_suffix(column, "_ps")    ? AS_TIME
         : g_str_has_suffix(column, "_bytes") ? AS_BYTES
                                              : AS_NUMBER;
}

static gboolean parse_verdict(const char *text, double *ret, GError **error) {
  if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected yes, no or unknown, found \"%s\"", text);
    return FALSE;
  }
  *ret = strcmp(text, "yes") == 0 ? STORE_VERDICT_FITS : STORE_VERDICT_OOM;
  return TRUE;
}

gboolean store_measure_parse(StoreMeasureKind kind, const char *text, double *ret, GError **error) {
  static const BaseUnit units[] = {
      [AS_TIME] = BASE_UNIT_TIME, [AS_BYTES] = BASE_UNIT_BYTES, [AS_NUMBER] = BASE_UNIT_NONE};
  if (*text == '\0' || strcmp(text, "unknown") == 0) {
    *ret = STORE_UNKNOWN;
    return TRUE;
  }
  if (kind == STORE_MEASURE_FITS)
    return parse_verdict(text, ret, error);
  g_autofree char *quantity = g_strconcat(text, store_measures[kind].unit, NULL);
  double value;
  if (!base_quantity_parse(quantity, kind == STORE_MEASURE_BANDWIDTH ? BASE_UNIT_BYTE_RATE : units[kept_as(kind)],
                           &value, error))
    return FALSE;
  gboolean rounded_away = kind == STORE_MEASURE_BANDWIDTH && value == 0;
  if (value <= 0 && !rounded_away) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected more than 0, found \"%s\"", text);
    return FALSE;
  }
  *ret = rounded_away ? STORE_UNKNOWN : value;
  return TRUE;
}

double store_measure_predicted(StoreMeasureKind kind, const RunReport *report) {
  const StoreMetric *metric =
      store_measures[kind].metric != NULL ? store_metric_find(store_measures[kind].metric) : NULL;
  if (metric == NULL)
    return STORE_UNKNOWN;
  if (kind == STORE_MEASURE_FITS)
    return report->verdict == RUN_FITS   ? STORE_VERDICT_FITS
           : report->verdict == RUN_EDGE ? STORE_VERDICT_EDGE
                                         : STORE_VERDICT_OOM;
  RunValue value = store_metric_get(metric, report);
  if (value.kind == RUN_REAL)
    return value.real;
  return kept_as(kind) == AS_TIME ? sim_time_to_seconds(value.integer) : (double)value.integer;
}

double store_measure_read(StoreMeasureKind kind, const char *value) {
  return kept_as(kind) == AS_TIME ? sim_time_to_seconds(g_ascii_strtoll(value, NULL, 10)) : g_ascii_strtod(value, NULL);
}

double store_measure_shown(StoreMeasureKind kind, double value) {
  if (kept_as(kind) == AS_BYTES)
    return base_in_gib((guint64)value);
  if (kind == STORE_MEASURE_TIME)
    return base_in_us(sim_time_from_seconds(value));
  if (kind >= STORE_MEASURES_KEPT)
    return value * MILLISECONDS;
  return kind == STORE_MEASURE_BANDWIDTH ? base_in_gb(value) : value;
}

typedef struct {
  StoreMeasureKind kind;
  StoreValidated row;
  gpointer user;
} Validated;

static void take_validated(int n, const char *const *names, const char *const *values, gpointer user) {
  (void)n, (void)names;
  const Validated *to = user;
  to->row(values[0], store_measure_read(to->kind, values[1]), store_measure_read(to->kind, values[2]), to->user);
}

gboolean store_db_validated(StoreDb *db, StoreMeasureKind kind, StoreValidated row, gpointer user, GError **error) {
  const char *column = store_measures[kind].column;
  Validated to = {kind, row, user};
  g_autofree char *sql = g_strdup_printf("SELECT source, measured_%s, predicted_%s FROM validation"
                                         " WHERE validation_id = (SELECT max(validation_id) FROM validation)"
                                         " AND measured_%s > 0 AND predicted_%s > 0 ORDER BY source, table_name, id",
                                         column, column, column, column);
  return store_db_query(db, sql, 0, take_validated, &to, error);
}

#define VALIDATING "writing a validation"

static void next_id(int n, const char *const *names, const char *const *values, gpointer user) {
  (void)n, (void)names;
  *(gint64 *)user = values[0] != NULL ? g_ascii_strtoll(values[0], NULL, 10) + 1 : 1;
}

gboolean store_db_begin_validation(StoreDb *db, gint64 *ret_validation_id, GError **error) {
  gint64 id = 1;
  if (!store_db_exec(db, "BEGIN IMMEDIATE", VALIDATING, error))
    return FALSE;
  if (!store_db_query(db, "SELECT max(validation_id) FROM validation", 0, next_id, &id, error))
    return store_db_end_validation(db, FALSE, NULL) && FALSE;
  *ret_validation_id = id;
  return TRUE;
}

static void write_value(StoreWriter *writer, StoreMeasureKind kind, double value) {
  Kept kept = kept_as(kind);
  if (value == STORE_UNKNOWN)
    store_writer_null(writer);
  else if (kept == AS_TIME)
    store_writer_integer(writer, sim_time_from_seconds(value));
  else if (kept == AS_BYTES || kept == AS_VERDICT)
    store_writer_integer(writer, (gint64)(value + 0.5));
  else
    store_writer_number(writer, value);
}

gboolean store_db_write_validation(StoreDb *db, gint64 validation_id, const StoreValidation *row, GError **error) {
  StoreWriter writer = {.db = db, .error = error};
  store_writer_begin(&writer, STORE_VALIDATION);
  store_writer_integer(&writer, validation_id);
  store_writer_record(&writer, &store_record_validation, row);
  for (StoreMeasureKind kind = 0; kind < STORE_MEASURES_KEPT; kind++) {
    write_value(&writer, kind, row->measured[kind]);
    write_value(&writer, kind, row->predicted[kind]);
  }
  store_writer_end(&writer);
  return !writer.failed;
}

gboolean store_db_end_validation(StoreDb *db, gboolean keep, GError **error) {
  if (!keep || !store_db_exec(db, "COMMIT", VALIDATING, error)) {
    sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
    return !keep;
  }
  return TRUE;
}
