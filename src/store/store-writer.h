/* SPDX-License-Identifier: MIT */
/* Rows into tables, by statements that are prepared once per database. The first failure sticks: all that follows does
 * nothing, so that who writes need not ask after every row.
 *
 *   StoreWriter writer = {.db = db, .error = error};
 *   store_writer_begin(&writer, STORE_LINK);
 *   store_writer_integer(&writer, run_id);
 *   store_writer_record(&writer, &run_record_link, link);     // or one call per column, in the order of its table
 *   store_writer_end(&writer);
 *   return !writer.failed;
 *
 * Texts are borrowed until store_writer_end. */
#pragma once

#include "store-db-private.h"
#include "store-metric.h"

/* What describes the table's rows, behind the ids that they hang from; NULL: nothing, or the table of metrics. */
const RunRecord *store_table_record(StoreTable table);

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
void store_writer_value(StoreWriter *writer, RunValue value);
void store_writer_record(StoreWriter *writer, const RunRecord *record, gconstpointer of);
void store_writer_end(StoreWriter *writer);
