/* SPDX-License-Identifier: MIT */
/* The database: Reports in SQLite, one transaction a run.
 *
 *   g_autoptr(StoreDb) db = store_db_open("foretrain.db", error);
 *   gint64 run_id;
 *   if (!store_db_write(db, report, TRUE, &run_id, error)) return FALSE;
 *
 * application_id and user_version are set, tables STRICT, foreign keys on, WAL. Schema: schema.sql, column by column.
 * Writing the same run_key again adds a run: history is kept, and names find the newest. Several processes and threads
 * may write one file, each through a StoreDb of its own; a write waits up to 5 s for another's. A read-only file can be
 * read. Errors name the file: SIM_ERROR_INPUT for a folder, a folder that is not there, a file that is not ours or of
 * another version, SIM_ERROR_SYSTEM for what SQLite says (locked, read-only, disk full). */
#pragma once

#include "base-json.h"
#include "run-report.h"

typedef struct StoreDb StoreDb;

/* Creates the file and schema where there is none. */
StoreDb *store_db_open(const char *path, GError **error);
/* For who only reads: SIM_ERROR_INPUT where there is no file or an empty one, and nothing is created. A file that may
 * not be written is read without touching its folder. */
StoreDb *store_db_open_existing(const char *path, GError **error);
void store_db_close(StoreDb *db);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StoreDb, store_db_close)

/* All of the report or nothing. `timeline`: also task, collective, exposure and memory rows. Cost: about 0.1 ms a
 * summary and 2 us a row on top. A report whose times do not add up is refused. */
gboolean store_db_write(StoreDb *db, const RunReport *report, gboolean timeline, gint64 *ret_run_id, GError **error);

/* The same with the summary alone: the run, those of its settings that are not defaults, its rank classes. */
gboolean store_db_write_summary(StoreDb *db, const RunReport *report, gint64 *ret_run_id, GError **error);
/* Many at a time: between these, writing is one transaction. `keep` FALSE takes all back; then nothing fails. */
gboolean store_db_begin(StoreDb *db, GError **error);
gboolean store_db_end(StoreDb *db, gboolean keep, GError **error);
/* Whether there is a run with this key. Cost: some us. */
gboolean store_db_has(StoreDb *db, const char *run_key);

/* RUN as people name it: "last", a run id, or the beginning of a run key (the newest that matches); of fewer than eight
 * digits, all decimal, a run id alone. */
gboolean store_db_find(StoreDb *db, const char *name, gint64 *ret_run_id, GError **error);

/* A run, or a point of a sweep, as it was written: what prints a Report prints it. report->missing says what the
 * database does not keep of it, or what was not asked for (`timeline`). Never kept, and zero or NULL: the ranks of
 * each class by name and what sets them apart, GPU architecture, the rate of its NICs, price per hour, tokens in all,
 * FLOP, provenance, and who held the memory when a request failed; settings are in order of name. Errors:
 * SIM_ERROR_INPUT where there is no such run, or where its rows contradict each other; SIM_ERROR_SYSTEM of the
 * database. Cost: about 4 us a row. */
RunReport *store_db_load(StoreDb *db, gint64 run_id, gboolean timeline, GError **error);

/* Calls `row` for each row of a read-only query, values as text (NULL for NULL). Values bound: run_id where the query
 * has ?1. */
typedef void (*StoreRow)(int n_columns, const char *const *names, const char *const *values, gpointer user);
gboolean store_db_query(StoreDb *db, const char *sql, gint64 run_id, StoreRow row, gpointer user, GError **error);

/* The schema with its documentation, as `foretrain schema` prints it. */
const char *store_schema(void);
/* Members of the object that was begun: "schema_version", "tables" [{"name", "kind" (table, view), "columns" [{"name",
 * "type" (of a view null where it is none), "null" (1: may be NULL)}]}], in the order of their making. */
gboolean store_schema_json(BaseJson *json, GError **error);
