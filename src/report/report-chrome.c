/* Rows of the database as events. */
#include "report-chrome.h"

#include <string.h>

#include "base-error.h"

typedef struct {
  GString *text;
  guint events;
} Writer;

/* A string in quotes, with what JSON escapes escaped. */
static void add_string(GString *text, const char *value) {
  g_string_append_c(text, '"');
  for (; *value != '\0'; value++)
    if ((guchar)*value < 0x20)
      g_string_append_printf(text, "\\u%04x", (guchar)*value);
    else if (*value == '"' || *value == '\\')
      g_string_append_printf(text, "\\%c", *value);
    else
      g_string_append_c(text, *value);
  g_string_append_c(text, '"');
}

/* Picoseconds as microseconds, exactly. */
static void add_time(GString *text, const char *key, gint64 time) {
  g_string_append_printf(text, ",\"%s\":%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT, key, time / SIM_MICROSECOND,
                         time % SIM_MICROSECOND);
}

static GString *begin(Writer *writer, const char *kind, const char *pid, const char *name) {
  g_string_append_printf(writer->text, "%s\n{\"ph\":\"%s\",\"pid\":%s,\"name\":", writer->events++ > 0 ? "," : "", kind,
                         pid);
  add_string(writer->text, name);
  return writer->text;
}

static gint64 number(const char *text) {
  return g_ascii_strtoll(text, NULL, 10);
}

/* Streams are threads: a number for each, in order of name, 0 for what is exposed. */
#define TASKS                                                                                                          \
  "SELECT t.rank_class, (SELECT count(DISTINCT stream) FROM task AS u WHERE u.run_id = ?1 AND u.stream <= t.stream),"  \
  " t.name, t.phase, t.start_ps, t.end_ps, t.task_id, t.layer, t.micro, c.operation, c.algorithm, c.protocol, "        \
  "c.bytes,"                                                                                                           \
  " c.channels, c.bus_bandwidth FROM task AS t LEFT JOIN collective AS c USING (run_id, rank_class, task_id)"          \
  " WHERE t.run_id = ?1 ORDER BY t.rank_class, t.start_ps, t.task_id"

static void add_task(int n, const char *const *names, const char *const *v, gpointer user) {
  GString *text = begin(user, "X", v[0], v[2]);
  g_string_append(text, ",\"cat\":");
  add_string(text, v[3]);
  g_string_append_printf(text, ",\"tid\":%s", v[1]);
  add_time(text, "ts", number(v[4]));
  add_time(text, "dur", number(v[5]) - number(v[4]));
  g_string_append_printf(text, ",\"args\":{\"phase\":\"%s\"", v[3]);
  for (int i = 6; i < n; i++) {
    gboolean is_text = i >= 9 && i <= 11;
    if (v[i] == NULL)
      continue;
    g_string_append_printf(text, ",\"%s\":", names[i]);
    if (is_text)
      add_string(text, v[i]);
    else
      g_string_append(text, v[i]);
  }
  g_string_append(text, "}}");
}

#define EXPOSURES                                                                                                      \
  "SELECT e.rank_class, cause, start_ps, end_ps, (SELECT name FROM task AS t WHERE t.run_id = ?1"                      \
  " AND t.rank_class = e.rank_class AND t.task_id = e.task_id) FROM exposure AS e WHERE run_id = ?1"                   \
  " ORDER BY rank_class, start_ps"

static void add_exposure(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                         gpointer user) {
  GString *text = begin(user, "X", v[0], v[1]);
  g_string_append(text, ",\"cat\":\"exposed\",\"tid\":0");
  add_time(text, "ts", number(v[2]));
  add_time(text, "dur", number(v[3]) - number(v[2]));
  if (v[4] != NULL) {
    g_string_append(text, ",\"args\":{\"waits_for\":");
    add_string(text, v[4]);
    g_string_append_c(text, '}');
  }
  g_string_append_c(text, '}');
}

#define MEMORY                                                                                                         \
  "SELECT rank_class, tenant, at_ps, bytes FROM memory WHERE run_id = ?1 ORDER BY rank_class, at_ps, tenant"

static void add_level(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                      gpointer user) {
  g_autofree char *name = g_strconcat("memory: ", v[1], NULL);
  GString *text = begin(user, "C", v[0], name);
  add_time(text, "ts", number(v[2]));
  g_string_append_printf(text, ",\"args\":{\"bytes\":%s}}", v[3]);
}

#define CLASSES                                                                                                        \
  "SELECT rank_class, 0, printf('rank class %d: %d ranks from %d on', rank_class, ranks, first_rank)"                  \
  " FROM rank_class WHERE run_id = ?1"
#define THREADS                                                                                                        \
  "SELECT DISTINCT rank_class, (SELECT count(DISTINCT stream) FROM task AS u WHERE u.run_id = ?1"                      \
  " AND u.stream <= t.stream) AS tid, stream FROM task AS t WHERE run_id = ?1"                                         \
  " UNION SELECT rank_class, 0, 'exposed' FROM rank_class WHERE run_id = ?1 ORDER BY rank_class, tid"

static void add_meta(Writer *writer, const char *kind, const char *const *v) {
  GString *text = begin(writer, "M", v[0], kind);
  g_string_append_printf(text, ",\"tid\":%s,\"args\":{\"name\":", v[1]);
  add_string(text, v[2]);
  g_string_append(text, "}}");
}

static void add_class(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                      gpointer user) {
  add_meta(user, "process_name", v);
}

static void add_thread(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                       gpointer user) {
  add_meta(user, "thread_name", v);
}

gboolean report_chrome(StoreDb *db, gint64 run_id, GString *text, GError **error) {
  static const struct {
    const char *sql;
    StoreRow row;
  } parts[] = {
      {CLASSES, add_class}, {THREADS, add_thread}, {TASKS, add_task}, {EXPOSURES, add_exposure}, {MEMORY, add_level}};
  Writer writer = {text, 0};
  guint before = 0;
  g_string_append(text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
    before = i == 2 ? writer.events : before;
    if (!store_db_query(db, parts[i].sql, run_id, parts[i].row, &writer, error))
      return FALSE;
    if (i == 2 && writer.events == before) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                  "run %" G_GINT64_FORMAT
                  " was written without a timeline; foretrain run keeps one, and of the points that it plays "
                  "foretrain sweep --timeline=yes",
                  run_id);
      return FALSE;
    }
  }
  g_string_append(text, "\n]}\n");
  return TRUE;
}
