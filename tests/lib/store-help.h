/* SPDX-License-Identifier: MIT */
/* Databases in tests: rows as text, single values, the dump of all; files in a folder that goes away.
 *
 *   store_help_begin();
 *   g_autoptr(StoreDb) db = store_help_fresh();
 *   CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM run", 0), 0);
 *   store_help_end(); */
#pragma once

#include "harness.h"
#include "report-sample.h"
#include "store-db.h"

extern char *store_help_folder;

char *store_help_path(const char *name);

StoreDb *store_help_fresh(void);

gint64 store_help_write(StoreDb *db, guint32 stage);

void store_help_append(int n, const char *const *names, const char *const *values, gpointer user);

char *store_help_rows(StoreDb *db, const char *sql, gint64 run_id);

/* The first value of the first row. */
char *store_help_value(StoreDb *db, const char *sql, gint64 run_id);

gint64 store_help_number(StoreDb *db, const char *sql, gint64 run_id);

extern const char *const store_help_tables[];

/* All but the wall-clock facts. */
char *store_help_dump(StoreDb *db);

/* Beside the library: as another program would see and change the file. */
void store_help_execute(const char *path, const char *sql);

void store_help_begin(void);

void store_help_end(void);
