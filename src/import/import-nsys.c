/* SPDX-License-Identifier: MIT */
/* Tables of Nsight Systems to events. */
#include "import-nsys.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#include "base-error.h"
#include "import-kineto-keep.h"

#define MAGIC "SQLite format 3"

/* globalPid and globalTid hold the process in these bits: (id >> 24) & 0xffffff. */
#define PROCESS(id) "((" id " >> 24) & 16777215)"

/* What a query of the table below gives, in this order. */
enum { START, END, NAME, STREAM, DEVICE, CORRELATION, BYTES, THREAD, COLUMNS };

/* Names of copies are those of CUPTI in PyTorch's traces; kinds by ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND. */
static const struct {
  const char *table, *category, *query;
} kinds[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "kernel",
     "SELECT k.start, k.end, s.value, k.streamId, k.deviceId, k.correlationId, 0, '' "
     "FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s ON s.id = k.demangledName "
     "WHERE " PROCESS("k.globalPid") " = ?1 ORDER BY k.start, k.correlationId"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "gpu_memcpy",
     "SELECT start, end, 'Memcpy ' || CASE copyKind WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' WHEN 8 THEN 'DtoD' "
     "WHEN 10 THEN 'PtoP' ELSE 'other' END || CASE WHEN srcKind = 0 OR dstKind = 0 THEN ' (Pageable)' ELSE '' END, "
     "streamId, deviceId, correlationId, bytes, '' FROM CUPTI_ACTIVITY_KIND_MEMCPY "
     "WHERE " PROCESS("globalPid") " = ?1 ORDER BY start, correlationId"},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "gpu_memset",
     "SELECT start, end, 'Memset', streamId, deviceId, correlationId, bytes, '' FROM CUPTI_ACTIVITY_KIND_MEMSET "
     "WHERE " PROCESS("globalPid") " = ?1 ORDER BY start, correlationId"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "cuda_runtime",
     "SELECT r.start, r.end, s.value, '', '', r.correlationId, 0, r.globalTid & 16777215 "
     "FROM CUPTI_ACTIVITY_KIND_RUNTIME r LEFT JOIN StringIds s ON s.id = r.nameId "
     "WHERE " PROCESS("r.globalTid") " = ?1 ORDER BY r.start, r.correlationId"},
    {"NVTX_EVENTS", "user_annotation",
     "SELECT n.start, n.end, coalesce(n.text, s.value), '', '', '', 0, n.globalTid & 16777215 "
     "FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId "
     "WHERE n.end IS NOT NULL AND " PROCESS("n.globalTid") " = ?1 ORDER BY n.start, n.end"},
};

/* What a report may ask of SQLite, which may be a stranger's: its machine's instructions for each byte of the file, and
 * for any file; rows of real ones take some tens of bytes, and of instructions for each process. */
#define STEPS_EACH   100
#define STEPS_LEAST  20000000
#define STEPS_LOOKED 1000 /* of a statement, between two looks at the sum */
#define LONGEST_TEXT (1 << 20)

typedef struct {
  const char *path;
  sqlite3 *db;
  gint64 left; /* instructions */
} Nsys;

gboolean import_nsys_is(const char *data, gsize length) {
  return length >= sizeof MAGIC && memcmp(data, MAGIC, sizeof MAGIC) == 0;
}

static gboolean fail(const Nsys *nsys, const char *doing, GError **error) {
  if (nsys->left < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: asks for more work than any report of its size; is it an export of nsys?", nsys->path);
    return FALSE;
  }
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: %s: %s; export the report anew with nsys export --type sqlite",
              nsys->path, doing, sqlite3_errmsg(nsys->db));
  return FALSE;
}

static sqlite3_stmt *prepare(const Nsys *nsys, const char *query, const char *doing, GError **error) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(nsys->db, query, -1, &statement, NULL) != SQLITE_OK)
    fail(nsys, doing, error);
  return statement;
}

/* FALSE without *error: there is none. */
static gboolean has_table(const Nsys *nsys, const char *name, GError **error) {
  sqlite3_stmt *statement =
      prepare(nsys, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", "cannot be read", error);
  if (statement == NULL)
    return FALSE;
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  gboolean found = sqlite3_step(statement) == SQLITE_ROW;
  sqlite3_finalize(statement);
  return found;
}

static void set_text(GString *text, sqlite3_stmt *statement, int column) {
  const guchar *value = sqlite3_column_text(statement, column);
  g_string_assign(text, value != NULL ? (const char *)value : "");
}

/* "step 7", "Iteration_12": a step of the user's own marking, under PyTorch's name for it. */
static void name_step(GString *name) {
  static const char *const words[] = {"step", "iteration", "iter"};
  for (gsize i = 0; i < G_N_ELEMENTS(words); i++) {
    gsize length = strlen(words[i]);
    if (g_ascii_strncasecmp(name->str, words[i], length) != 0)
      continue;
    const char *number = name->str + length + strspn(name->str + length, " _#:=");
    if (g_ascii_isdigit(*number)) {
      g_autofree char *kept = g_strdup(number);
      g_string_printf(name, "ProfilerStep#%s", kept);
      return;
    }
  }
}

static gboolean is_time(sqlite3_int64 nanoseconds) {
  return nanoseconds >= 0 && nanoseconds < SIM_TIME_NEVER / 4 / SIM_NANOSECOND;
}

static gboolean keep_row(const Nsys *nsys, sqlite3_stmt *statement, gsize kind, ImportKinetoEvent *event,
                         ImportKinetoTrace *trace, GError **error) {
  sqlite3_int64 start = sqlite3_column_int64(statement, START), end = sqlite3_column_int64(statement, END);
  if (!is_time(start) || !is_time(end)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: table %s: a time of %" G_GINT64_FORMAT " ns; is this a report?",
                nsys->path, kinds[kind].table, (gint64)(is_time(start) ? end : start));
    return FALSE;
  }
  g_string_assign(event->cat, kinds[kind].category);
  set_text(event->name, statement, NAME);
  set_text(event->stream, statement, STREAM);
  set_text(event->device, statement, DEVICE);
  set_text(event->correlation, statement, CORRELATION);
  set_text(event->bytes, statement, BYTES);
  set_text(event->tid, statement, THREAD);
  if (strcmp(kinds[kind].table, "NVTX_EVENTS") == 0)
    name_step(event->name);
  import_kineto_keep(trace, event, (BaseSpan){start * SIM_NANOSECOND, MAX(start, end) * SIM_NANOSECOND});
  return TRUE;
}

static gboolean read_kind(const Nsys *nsys, gsize kind, gint64 process, ImportKinetoEvent *event,
                          ImportKinetoTrace *trace, GError **error) {
  GError *local = NULL;
  if (!has_table(nsys, kinds[kind].table, &local)) {
    if (local != NULL)
      g_propagate_error(error, local);
    return local == NULL;
  }
  g_autofree char *doing = g_strdup_printf("table %s has not the columns it should", kinds[kind].table);
  sqlite3_stmt *statement = prepare(nsys, kinds[kind].query, doing, error);
  if (statement == NULL)
    return FALSE;
  sqlite3_bind_int64(statement, 1, process);
  int status;
  gboolean good = TRUE;
  while (good && (status = sqlite3_step(statement)) == SQLITE_ROW)
    good = keep_row(nsys, statement, kind, event, trace, error);
  if (good && status != SQLITE_DONE)
    good = fail(nsys, "cannot be read", error);
  sqlite3_finalize(statement);
  return good;
}

static void read_device(const Nsys *nsys, ImportKinetoTrace *trace) {
  g_autoptr(GError) local = NULL;
  if (!has_table(nsys, "TARGET_INFO_GPU", &local))
    return;
  sqlite3_stmt *statement = prepare(nsys, "SELECT name FROM TARGET_INFO_GPU ORDER BY id LIMIT 1", "", &local);
  if (statement != NULL && sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL)
    trace->device = g_strdup((const char *)sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
}

static gboolean read_process(const Nsys *nsys, gint64 process, guint n, GPtrArray *traces, GError **error) {
  g_autofree char *path =
      n > 1 ? g_strdup_printf("%s: process %" G_GINT64_FORMAT, nsys->path, process) : g_strdup(nsys->path);
  g_autoptr(ImportKinetoTrace) trace = import_kineto_new(path);
  ImportKinetoEvent event;
  import_kineto_event_init(&event);
  gboolean good = TRUE;
  for (gsize kind = 0; kind < G_N_ELEMENTS(kinds) && good; kind++)
    good = read_kind(nsys, kind, process, &event, trace, error);
  import_kineto_event_clear(&event);
  if (!good || !import_kineto_finish(trace, "has no kernels of a GPU; profile with nsys profile -t cuda,nvtx", error))
    return FALSE;
  read_device(nsys, trace);
  g_ptr_array_add(traces, g_steal_pointer(&trace));
  return TRUE;
}

/* Processes that launched kernels, ascending: gint64. */
static GArray *processes_of(const Nsys *nsys, GError **error) {
  GError *local = NULL;
  if (!has_table(nsys, "CUPTI_ACTIVITY_KIND_KERNEL", &local)) {
    if (local != NULL)
      g_propagate_error(error, local);
    else
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                  "%s: has no table CUPTI_ACTIVITY_KIND_KERNEL: is it an export of nsys, of a run with -t cuda?",
                  nsys->path);
    return NULL;
  }
  sqlite3_stmt *statement =
      prepare(nsys, "SELECT DISTINCT " PROCESS("globalPid") " AS p FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY p",
              "table CUPTI_ACTIVITY_KIND_KERNEL has not the columns it should", error);
  if (statement == NULL)
    return NULL;
  g_autoptr(GArray) processes = g_array_new(FALSE, FALSE, sizeof(gint64));
  int status;
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    gint64 process = sqlite3_column_int64(statement, 0);
    g_array_append_val(processes, process);
  }
  gboolean good = status == SQLITE_DONE || fail(nsys, "cannot be read", error);
  sqlite3_finalize(statement);
  return good ? g_steal_pointer(&processes) : NULL;
}

static gboolean read_all(const Nsys *nsys, GPtrArray *traces, GError **error) {
  g_autoptr(GArray) processes = processes_of(nsys, error);
  if (processes == NULL)
    return FALSE;
  if (processes->len == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: has no kernels of a GPU; profile with nsys profile -t cuda,nvtx", nsys->path);
  for (guint i = 0; i < processes->len; i++)
    if (!read_process(nsys, g_array_index(processes, gint64, i), processes->len, traces, error))
      return FALSE;
  return processes->len > 0;
}

static int count_steps(gpointer data) {
  Nsys *nsys = data;
  nsys->left -= STEPS_LOOKED;
  return nsys->left < 0;
}

/* The file may be a stranger's: its triggers and views do not run, its schema calls nothing but what computes, and what
 * is asked of its bytes is no more than of a report's. */
static void distrust(Nsys *nsys) {
  static const int off[] = {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
                            SQLITE_DBCONFIG_TRUSTED_SCHEMA};
  GStatBuf file = {0};
  for (gsize i = 0; i < G_N_ELEMENTS(off); i++)
    sqlite3_db_config(nsys->db, off[i], 0, NULL);
  sqlite3_limit(nsys->db, SQLITE_LIMIT_LENGTH, LONGEST_TEXT);
  g_stat(nsys->path, &file);
  nsys->left = STEPS_LEAST + STEPS_EACH * (gint64)file.st_size;
  sqlite3_progress_handler(nsys->db, STEPS_LOOKED, count_steps, nsys);
}

gboolean import_nsys_read(const char *path, GPtrArray *traces, GError **error) {
  Nsys nsys = {.path = path};
  gboolean good = sqlite3_open_v2(path, &nsys.db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK;
  distrust(&nsys);
  good = good ? read_all(&nsys, traces, error) : fail(&nsys, "cannot be opened", error);
  sqlite3_close(nsys.db);
  return good;
}
