/* Rows into tables, by statements that are prepared once per database. The first failure sticks: all that follows does
 * nothing, so that who writes need not ask after every row.
 *
 *   StoreWriter writer = {.db = db, .error = error};
 *   store_writer_begin(&writer, STORE_LINK);
 *   store_writer_integer(&writer, run_id); …      // one call per column, in the order of the table below
 *   store_writer_end(&writer);
 *   return !writer.failed;
 *
 * Texts are borrowed until store_writer_end. */
#pragma once

#include "store-db-private.h"
#include "store-metric.h"

typedef struct {
  StoreDb *db;
  GError **error;
  gboolean failed;
  sqlite3_stmt *row; /* being filled */
  int column;
} StoreWriter;

void store_writer_begin(StoreWriter *writer, StoreTable table);
void store_writer_integer(StoreWriter *writer, gint64 value);
void store_writer_number(StoreWriter *writer, double value);
void store_writer_text(StoreWriter *writer, const char *value); /* NULL is NULL */
void store_writer_null(StoreWriter *writer);
void store_writer_index(StoreWriter *writer, gint32 value); /* -1 is NULL */
void store_writer_metric(StoreWriter *writer, const StoreMetric *metric, const RunReport *report);
void store_writer_end(StoreWriter *writer);
