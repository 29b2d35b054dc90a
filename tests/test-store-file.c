/* SPDX-License-Identifier: MIT */
/* The database's file: only ours is touched, and what goes wrong leaves it as it was. */
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base-error.h"
#include "store-help.h"
#include "store-merge.h"

static void other_files_are_refused(void) {
  GError *error = NULL;
  g_autofree char *foreign = store_help_path("foreign.db"), *future = store_help_path("future.db"),
                  *text = store_help_path("text.db");
  store_help_execute(foreign, "CREATE TABLE recipe (name TEXT); INSERT INTO recipe VALUES ('soup')");
  HARNESS_FAILS(store_db_open(foreign, &error), error, "but not foretrain's");
  store_help_execute(foreign, "SELECT name FROM recipe"); /* still there */
  store_db_close(store_db_open(future, NULL));
  store_help_execute(future, "PRAGMA user_version = 99");
  HARNESS_FAILS(store_db_open(future, &error), error, "schema version 99, this foretrain reads and writes version 11");
  g_file_set_contents(text, "step,time\n", -1, NULL);
  HARNESS_FAILS(store_db_open(text, &error), error, "text.db: is no SQLite database");
  g_autofree char *content = NULL;
  CU_ASSERT_TRUE(g_file_get_contents(text, &content, NULL, NULL));
  CU_ASSERT_STRING_EQUAL(content, "step,time\n");
  HARNESS_FAILS(store_db_open("/nowhere/a.db", &error), error, "/nowhere/a.db: there is no folder \"/nowhere\"");
  store_db_open("/nowhere/a.db", &error);
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_INPUT));
  g_clear_error(&error);
  HARNESS_FAILS(store_db_open(store_help_folder, &error), error, "is a folder");
  store_db_open(foreign, &error);
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_INPUT));
  g_clear_error(&error);
}

/* As an ordinary user: root may write anything. */
static void a_read_only_file_is_read_but_not_written(void) {
  GError *error = NULL;
  g_autofree char *path = store_help_path("a.db");
  g_autoptr(StoreDb) made = store_db_open(path, NULL);
  store_help_write(made, 1);
  store_db_close(g_steal_pointer(&made));
  g_chmod(path, 0444);
  gboolean dropped = geteuid() == 0 && seteuid(65534) == 0;
  g_autoptr(StoreDb) db = store_db_open(path, &error);
  CU_ASSERT_PTR_NOT_NULL(db);
  if (db != NULL) {
    g_autoptr(RunReport) report = report_sample(2, SAMPLE_CAPACITY);
    gint64 run_id = -7;
    CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM run", 0), 1);
    HARNESS_FAILS(store_db_write(db, report, TRUE, &run_id, &error), error, "a.db: is read-only");
    CU_ASSERT_EQUAL(run_id, -7);
  }
  store_db_close(g_steal_pointer(&db));
  if (dropped && seteuid(0) != 0)
    CU_FAIL("back to root");
}

/* A file of version 5 is one of today without what came since: views, a table, columns. Its runs come with all that it
 * knows of them; what it does not is as the schema says: a device's use without a range, a task issued when it starts.
 * The file itself stays as it was. */
static void older_files_are_brought_up_to_date(void) {
  GError *error = NULL;
  g_autofree char *old = store_help_path("old.db"), *now = store_help_path("now.db");
  g_autoptr(StoreDb) made = store_db_open(old, NULL);
  store_help_write(made, 1);
  store_db_close(g_steal_pointer(&made));
  store_help_execute(old, "INSERT INTO baseline VALUES ('a', 'step', '7', '1', 'first')");
  store_help_execute(old,
                     "DROP VIEW v_stage_table; DROP VIEW v_overlap; DROP VIEW v_exposed_by_cause;"
                     "DROP VIEW v_memory_at_peak; DROP VIEW v_links; DROP VIEW v_validation; DROP TABLE counted;"
                     "ALTER TABLE collective DROP COLUMN repeats; ALTER TABLE exposure DROP COLUMN repeats;"
                     "ALTER TABLE task DROP COLUMN repeats; ALTER TABLE task DROP COLUMN issued_ps;"
                     "ALTER TABLE task DROP COLUMN host_ps; ALTER TABLE rank_class DROP COLUMN role;"
                     "ALTER TABLE rank_class DROP COLUMN device_used_low_bytes;"
                     "ALTER TABLE rank_class DROP COLUMN device_used_high_bytes;"
                     "ALTER TABLE run DROP COLUMN device_used_low_bytes;"
                     "ALTER TABLE run DROP COLUMN device_used_high_bytes;"
                     "ALTER TABLE run DROP COLUMN host_used_bytes; ALTER TABLE run DROP COLUMN host_capacity_bytes;"
                     "PRAGMA user_version = 5");
  HARNESS_FAILS(store_db_open_existing(old, &error), error, "old.db' --db NEW.db brings what it holds there");
  g_autoptr(StoreDb) db = store_db_open(now, NULL);
  guint64 runs = 0, points = 0;
  CU_ASSERT_TRUE_FATAL(store_db_merge(db, old, &runs, &points, NULL));
  CU_ASSERT_EQUAL(runs, 1);
  CU_ASSERT_TRUE(store_help_number(db, "SELECT count(*) FROM task", 0) > 100);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM task WHERE issued_ps <> start_ps OR host_ps <> 0", 0), 0);
  CU_ASSERT_EQUAL(store_help_number(db,
                                    "SELECT count(*) FROM run WHERE device_used_low_bytes = device_used_bytes"
                                    " AND device_used_high_bytes = device_used_bytes AND host_used_bytes IS NULL",
                                    0),
                  1);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM baseline WHERE budget = 'a' AND value = '7'", 0), 1);
  g_autoptr(RunReport) loaded = store_db_load(db, 1, TRUE, &error);
  CU_ASSERT_PTR_NOT_NULL(loaded);
  CU_ASSERT_TRUE(store_db_merge(db, old, &runs, &points, NULL));
  CU_ASSERT_EQUAL(runs, 0); /* merging twice changes nothing */
  store_help_execute(old, "ALTER TABLE memory_peak DROP COLUMN unique_bytes");
  g_autofree char *third = store_help_path("third.db");
  g_autoptr(StoreDb) other = store_db_open(third, NULL);
  HARNESS_FAILS(store_db_merge(other, old, &runs, &points, &error), error, "has no column unique_bytes");
  store_help_execute(old, "PRAGMA user_version = 4");
  HARNESS_FAILS(store_db_merge(db, old, &runs, &points, &error), error, "it is too old");
}

static guint files_in_folder(void) {
  guint files = 0;
  g_autoptr(GDir) dir = g_dir_open(store_help_folder, 0, NULL);
  while (g_dir_read_name(dir) != NULL)
    files++;
  return files;
}

static void who_reads_creates_nothing(void) {
  GError *error = NULL;
  g_autofree char *missing = store_help_path("missing.db"), *empty = store_help_path("empty.db"),
                  *kept = store_help_path("odd%20 #?.db"); /* letters that mean something in a URI */
  guint files = files_in_folder();
  HARNESS_FAILS(store_db_open_existing(missing, &error), error, "no database \"");
  store_db_open_existing(missing, &error);
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_INPUT));
  g_clear_error(&error);
  CU_ASSERT_EQUAL(files_in_folder(), files);
  g_file_set_contents(empty, "", 0, NULL);
  HARNESS_FAILS(store_db_open_existing(empty, &error), error, "empty.db: is empty");
  g_autoptr(StoreDb) made = store_db_open(kept, NULL);
  store_help_write(made, 1);
  store_db_close(g_steal_pointer(&made));
  for (int writable = 1; writable >= 0; writable--) {
    g_chmod(kept, writable ? 0644 : 0444);
    g_chmod(store_help_folder, writable ? 0777 : 0555);
    gboolean dropped = !writable && geteuid() == 0 && seteuid(65534) == 0;
    files = files_in_folder();
    g_autoptr(StoreDb) db = store_db_open_existing(kept, &error);
    CU_ASSERT_PTR_NOT_NULL(db);
    CU_ASSERT_TRUE(db == NULL || store_help_number(db, "SELECT count(*) FROM run", 0) == 1);
    store_db_close(g_steal_pointer(&db));
    CU_ASSERT_EQUAL(files_in_folder(), files);
    if (dropped && seteuid(0) != 0)
      CU_FAIL("back to root");
  }
  g_chmod(store_help_folder, 0777);
}

/* A file system whose writes fail from the n-th on, and on which waiting takes no time. The real one has a table of
 * methods for databases and another for their logs: each gets a copy with our write. */
static sqlite3_vfs faulty;
static struct {
  const sqlite3_io_methods *real;
  sqlite3_io_methods ours;
} methods[4];
static int writes_left = -1; /* -1: all succeed */
static int (*real_write)(sqlite3_file *file, const void *data, int n, sqlite3_int64 at);

static int faulty_write(sqlite3_file *file, const void *data, int n, sqlite3_int64 at) {
  if (writes_left == 0)
    return SQLITE_FULL;
  writes_left -= writes_left > 0;
  return real_write(file, data, n, at);
}

static int faulty_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags) {
  sqlite3_vfs *real = vfs->pAppData;
  int status = real->xOpen(real, name, file, flags, ret_flags);
  for (gsize i = 0; status == SQLITE_OK && i < G_N_ELEMENTS(methods); i++) {
    if (methods[i].real == NULL) {
      methods[i].real = file->pMethods;
      methods[i].ours = *file->pMethods;
      real_write = file->pMethods->xWrite;
      methods[i].ours.xWrite = faulty_write;
    }
    if (methods[i].real == file->pMethods) {
      file->pMethods = &methods[i].ours;
      break;
    }
  }
  return status;
}

static int faulty_sleep(G_GNUC_UNUSED sqlite3_vfs *vfs, int microseconds) {
  return microseconds;
}

static void with_faulty_files(void (*run)(void)) {
  sqlite3_vfs *real = sqlite3_vfs_find(NULL);
  faulty = *real;
  faulty.zName = "faulty";
  faulty.pAppData = real;
  faulty.xOpen = faulty_open;
  faulty.xSleep = faulty_sleep;
  sqlite3_vfs_register(&faulty, TRUE);
  run();
  sqlite3_vfs_unregister(&faulty);
  sqlite3_vfs_register(real, TRUE);
}

static void fail_every_write(void) {
  g_autofree char *path = store_help_path("a.db");
  g_autoptr(StoreDb) db = store_db_open(path, NULL);
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  store_help_write(db, 0);
  g_autofree char *before = store_help_dump(db);
  gboolean written = FALSE;
  int n = 0;
  for (; n < 10000 && !written; n++) {
    g_autoptr(GError) error = NULL;
    gint64 run_id = -7;
    writes_left = n;
    written = store_db_write(db, report, TRUE, &run_id, &error);
    writes_left = -1;
    g_autofree char *after = store_help_dump(db);
    if (written) {
      CU_ASSERT_EQUAL(run_id, 2);
      CU_ASSERT_STRING_NOT_EQUAL(after, before);
      continue;
    }
    CU_ASSERT_STRING_EQUAL(after, before);
    CU_ASSERT_EQUAL(run_id, -7);
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_SYSTEM) && strstr(error->message, path) != NULL);
  }
  CU_ASSERT_TRUE(written && n > 10);
  g_autoptr(StoreDb) reader = store_db_open(path, NULL);
  g_autofree char *sound = store_help_value(reader, "SELECT * FROM pragma_integrity_check", 0);
  CU_ASSERT_STRING_EQUAL(sound, "ok");
  CU_ASSERT_EQUAL(store_help_number(reader, "SELECT count(*) FROM run", 0), 2);
}

static void a_failed_write_leaves_nothing(void) {
  with_faulty_files(fail_every_write);
}

/* Waits as a program does that has other work, but not in real time. */
static void write_while_locked(void) {
  GError *error = NULL;
  sqlite3 *other;
  g_autofree char *path = store_help_path("a.db");
  g_autoptr(StoreDb) db = store_db_open(path, NULL);
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  gint64 run_id;
  sqlite3_open(path, &other);
  CU_ASSERT_EQUAL(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  HARNESS_FAILS(store_db_write(db, report, TRUE, &run_id, &error), error, "a.db: another process holds it locked");
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM run", 0), 0); /* reading goes on */
  sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
  CU_ASSERT_TRUE(store_db_write(db, report, TRUE, &run_id, NULL));
  sqlite3_close(other);
}

static void a_locked_file_is_named(void) {
  with_faulty_files(write_while_locked);
}

#define WRITERS 4
#define RUNS    5

static gpointer writer(gpointer path) {
  g_autoptr(StoreDb) db = store_db_open(path, NULL);
  gboolean good = db != NULL;
  for (guint32 i = 0; good && i < RUNS; i++) {
    g_autoptr(RunReport) report = report_sample(i % 4, SAMPLE_CAPACITY);
    gint64 run_id;
    good = store_db_write(db, report, TRUE, &run_id, NULL);
  }
  return GINT_TO_POINTER(good);
}

/* All of them find no file and create it. */
static void writers_wait_for_each_other(void) {
  g_autofree char *path = store_help_path("a.db");
  GThread *threads[WRITERS];
  for (int i = 0; i < WRITERS; i++)
    threads[i] = g_thread_new("writer", writer, path);
  for (int i = 0; i < WRITERS; i++)
    CU_ASSERT_TRUE(GPOINTER_TO_INT(g_thread_join(threads[i])));
  g_autoptr(StoreDb) db = store_db_open(path, NULL);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM run", 0), WRITERS * RUNS);
}

int main(void) {
  store_help_begin();
  int status = harness_run("store-file", (HarnessCase[]){
                                             {"other files are refused", other_files_are_refused},
                                             {"a read-only file", a_read_only_file_is_read_but_not_written},
                                             {"who reads creates nothing", who_reads_creates_nothing},
                                             {"older files are brought up to date", older_files_are_brought_up_to_date},
                                             {"a failed write leaves nothing", a_failed_write_leaves_nothing},
                                             {"a locked file is named", a_locked_file_is_named},
                                             {"writers wait for each other", writers_wait_for_each_other},
                                             {NULL, NULL},
                                         });
  store_help_end();
  return status;
}
