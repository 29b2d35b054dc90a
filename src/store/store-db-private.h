/* SPDX-License-Identifier: MIT */
/* What the files of this room share: the open database and how its errors are worded. */
#pragma once

#include <sqlite3.h>

#include "store-db.h"

/* "FtRn"; schema.sql sets both. */
#define STORE_APPLICATION_ID 0x4674526e
#define STORE_SCHEMA_VERSION 11

#define STORE_WRITING "writing a run"

typedef enum {
  STORE_RUN,
  STORE_SETTING,
  STORE_NOTE,
  STORE_CLASS,
  STORE_TASK,
  STORE_COLLECTIVE,
  STORE_EXPOSURE,
  STORE_COUNTED,
  STORE_MEMORY,
  STORE_PEAK,
  STORE_LINK,
  STORE_OOM,
  STORE_PROVENANCE,
  STORE_VALIDATION,
  STORE_POINT,
  STORE_BASELINE,
  STORE_BASELINE_SETTING,
  STORE_TABLES
} StoreTable;

struct StoreDb {
  sqlite3 *sqlite;
  char *path;
  sqlite3_stmt *inserts[STORE_TABLES]; /* prepared at first use */
  sqlite3_stmt *by_key;                /* store_db_has */
};

/* Sets the error that SQLite reports, naming the file and what was being done ("writing a run"). Always FALSE. */
gboolean store_db_fail(const StoreDb *db, const char *doing, GError **error);
gboolean store_db_exec(StoreDb *db, const char *sql, const char *doing, GError **error);
sqlite3_stmt *store_db_prepare(StoreDb *db, const char *sql, const char *doing, GError **error);
