/* SPDX-License-Identifier: MIT */
/* Rows of tables as records: the other direction of store-writer. Private to this floor.
 *
 *   const StoreReader reader = {db, "link", &run_record_link, "run_id = ?1 ORDER BY link_class", .id = run_id, …};
 *   g_autoptr(GArray) links = store_reader_rows(&reader, NULL, NULL, error);      // of RunLink
 *
 * A value that its field cannot hold, as somebody else's database may have one, is an error that names table and
 * column. */
#pragma once

#include "run-record.h"
#include "store-db-private.h"

typedef struct {
  StoreDb *db;
  const char *table;
  const RunRecord *record; /* of its fields those with a key */
  const char *rest;        /* behind WHERE; ?1 is `text`, or where that is NULL `id` */
  gint64 id;
  const char *text;
  GStringChunk *names; /* for fields of type RUN_NAME */
} StoreReader;

/* `classes`: NULL, or takes the rank_class (guint32) of each row. `clear`: of the array's elements, where they own
 * texts. */
GArray *store_reader_rows(const StoreReader *reader, GArray *classes, GDestroyNotify clear, GError **error);
