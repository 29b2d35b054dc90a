/* SPDX-License-Identifier: MIT */
/* Reports of Nsight Systems as SQLite: the same step as a profiler's trace has the same rows; what is no such report is
 * refused by what is missing. */
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#include "harness.h"
#include "import-kineto-program.h"
#include "nsys-sample.h"

#define US SIM_MICROSECOND

/* Runs the statements in a new file; NULL: no database, `sql` is the file. */
static char *write_report(gboolean database, const char *const *sql) {
  char *path = NULL;
  g_close(g_file_open_tmp("nsys-XXXXXX.sqlite", &path, NULL), NULL);
  if (!database) {
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, *sql, -1, NULL));
    return path;
  }
  sqlite3 *db = NULL;
  CU_ASSERT_EQUAL_FATAL(sqlite3_open(path, &db), SQLITE_OK);
  for (; *sql != NULL; sql++)
    CU_ASSERT_EQUAL_FATAL(sqlite3_exec(db, *sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
  return path;
}

static ImportKinetoSet *open_report(const char *const *sql, GError **error) {
  g_autofree char *path = write_report(TRUE, sql);
  const char *const paths[] = {path};
  ImportKinetoSet *set = import_kineto_open(paths, 1, error);
  g_unlink(path);
  return set;
}

static void a_step_of_a_report(void) {
  static const char *const names[] = {"one",
                                      "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
                                      "Memcpy DtoH ",
                                      "wait for a copy",
                                      "cudaDeviceSynchronize_v3020",
                                      "end of the step"};
  const char *const sql[] = {nsys_sample_schema, nsys_sample_events, NULL};
  GError *error = NULL;
  g_autoptr(ImportKinetoSet) set = open_report(sql, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(set);
  const ImportKineto *measured = import_kineto_measured(set, 0);
  CU_ASSERT_EQUAL(measured->steps, 1);
  CU_ASSERT_EQUAL(measured->communication, 100 * US);
  CU_ASSERT_EQUAL(measured->compute, 10 * US);
  CU_ASSERT_EQUAL(measured->figures.kernel_time, 1100 * US);
  CU_ASSERT_EQUAL(import_kineto_length(set), 1000 * US);
  ProgramOrigin origin = {0};
  HARNESS_FAILS(import_kineto_program(set, &IMPORT_KINETO_DEFAULT, &origin, &error) != NULL, error,
                "do not say what they send");
  error = NULL;
  g_autoptr(Program) program =
      import_kineto_program(set, &(ImportKinetoOptions){.keep_unsized = TRUE}, &origin, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  CU_ASSERT_STRING_EQUAL(origin.gpu, "h200-sxm5-141gb");
  program_origin_clear(&origin);
  const ProgramSection *steady = &program->roles[0].sections[PROGRAM_STEADY];
  CU_ASSERT_EQUAL_FATAL(steady->n_rows, G_N_ELEMENTS(names));
  for (guint32 i = 0; i < steady->n_rows; i++)
    CU_ASSERT_STRING_EQUAL(steady->rows[i].name, names[i]);
  CU_ASSERT_EQUAL(steady->rows[2].kind, PROGRAM_COPY);
  CU_ASSERT_EQUAL(steady->rows[0].host, 15 * US);
}

/* Two processes of one report are two ranks. */
static void processes_are_ranks(void) {
  const char *const sql[] = {
      nsys_sample_schema, nsys_sample_events,
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000000, 1005000, 1, 7, 1, 67108864, 1, 1);", NULL};
  GError *error = NULL;
  g_autoptr(ImportKinetoSet) set = open_report(sql, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(set);
  CU_ASSERT_EQUAL(import_kineto_files(set), 2);
  CU_ASSERT_EQUAL(import_kineto_measured(set, 0)->compute, 5 * US);
}

/* A view in a table's place that never ends; 10 000 processes, each of which would be looked for in all rows. */
static const char endless[] =
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 5, 0, 7, 1, 83886080, 1, 1); DROP TABLE StringIds; "
    "CREATE VIEW StringIds AS WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) "
    "SELECT id, 'x' AS value FROM n;";
static const char processes[] = "WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 10000) "
                                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT 1, 5, 0, 7, 1, id << 24, 1, 1 FROM n;";

static void refuses(void) {
  static const char *const reports[][3] = {
      {"CREATE TABLE a (b);", NULL, "has no table CUPTI_ACTIVITY_KIND_KERNEL"},
      {"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, globalPid); "
       "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2);",
       NULL, "has not the columns it should"},
      {nsys_sample_schema, NULL, "has no kernels of a GPU"},
      {nsys_sample_schema, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (-1, 5, 0, 7, 1, 83886080, 1, 1);",
       "a time of -1 ns"},
      {nsys_sample_schema, endless, "no such table"},
      {nsys_sample_schema, processes, "more work than any report of its size"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(reports); i++) {
    const char *const sql[] = {reports[i][0], reports[i][1], NULL};
    GError *error = NULL;
    HARNESS_FAILS(open_report(sql, &error) != NULL, error, reports[i][2]);
  }
  const char *const broken[] = {"SQLite format 3"};
  g_autofree char *path = write_report(FALSE, broken);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, "SQLite format 3\0 and no more", 29, NULL));
  GError *error = NULL;
  const char *const paths[] = {path};
  HARNESS_FAILS(import_kineto_open(paths, 1, &error) != NULL, error, "nsys export --type sqlite");
  g_unlink(path);
}

int main(void) {
  return harness_run("import-nsys", (HarnessCase[]){{"a step of a report", a_step_of_a_report},
                                                    {"processes are ranks", processes_are_ranks},
                                                    {"refuses", refuses},
                                                    {NULL, NULL}});
}
