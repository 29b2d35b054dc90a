/* SPDX-License-Identifier: MIT */
/* foretrain trace: a step as a trace file, as Chakra traces, or its timeline for Perfetto and chrome://tracing. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-find.h"
#include "cli-write.h"
#include "cli-written.h"
#include "report-chrome.h"
#include "study-trace.h"

typedef struct {
  CliWorkload workload;
  const char *const *words;
  const char *db, *output;
  int format;
  gboolean json, quiet;
} Trace;

/* Files of a trace: one, or one for each rank. */
typedef struct {
  const Trace *asked;
  GPtrArray *paths; /* as they are written; ends with NULL once all are */
} Written;

static const char *const formats[] = {"csv", "chrome", "chakra", NULL};

static const CliOption options[] = {
    CLI_WORKLOAD_WORD(Trace, words, "a workload or a run"),
    CLI_GROUP_ROW(Trace, workload, cli_workload_options),
    CLI_DB(Trace, db),
    CLI_JSON(Trace, json),
    CLI_QUIET(Trace, quiet),
    CLI_OUTPUT(Trace, output),
    {"format", 0, CLI_CHOICE, offsetof(Trace, format), NULL,
     "csv: the Program; chrome: the timeline for Perfetto; chakra: a file for each rank (csv)", formats},
    {NULL}};

static void tell(const Trace *asked, const char *const *paths) {
  CliWritten written;
  cli_written_begin(&written, paths);
  base_json_text(written.json, "format", formats[asked->format]);
  cli_written_print(&written);
}

static CliExit write_out(const Trace *asked, const GString *text, GError **error) {
  if (asked->output != NULL && !cli_write(asked->output, text->str, error))
    return CLI_FAULT;
  if (asked->output == NULL)
    fwrite(text->str, 1, text->len, stdout);
  if (asked->json)
    tell(asked, (const char *const[]){asked->output, NULL});
  return CLI_DONE;
}

/* A run of the database, or else a workload. */
static Study *open_traced(const Trace *asked, GError **error) {
  gint64 run_id;
  const char *database = cli_database(asked->db, error);
  if (database == NULL)
    return NULL;
  GError *missing = NULL;
  g_autoptr(StoreDb) db = cli_find_kept(database, asked->words[0], &run_id, &missing);
  if (missing != NULL) {
    g_propagate_error(error, missing);
    return NULL;
  }
  if (db == NULL)
    return cli_open_study(&asked->workload.settings, asked->words[0], error);
  if (!cli_workload_plays(&asked->workload))
    return cli_find_study(db, run_id, "has no trace", error);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "\"%s\" was run already, so no setting applies; name a workload instead", asked->words[0]);
  return NULL;
}

static CliExit trace_csv(const Trace *asked, GError **error) {
  g_autoptr(Study) study = open_traced(asked, error);
  g_autoptr(GString) text = g_string_new(NULL);
  if (study == NULL || !study_trace(study, text, error))
    return CLI_INPUT;
  return write_out(asked, text, error);
}

static CliExit trace_chrome(const Trace *asked, GError **error) {
  gint64 run_id;
  const char *database = cli_database(asked->db, error);
  if (database == NULL)
    return CLI_INPUT;
  g_autoptr(StoreDb) db = cli_find_run(&asked->workload, database, asked->words[0], &run_id, error);
  g_autoptr(GString) text = g_string_new(NULL);
  if (db == NULL || !report_chrome(db, run_id, text, error))
    return CLI_FAULT;
  return write_out(asked, text, error);
}

/* -o is what the files' names begin with. */
static gboolean write_rank(const char *ending, const guint8 *data, gsize length, gpointer user, GError **error) {
  Written *written = user;
  char *path = g_strconcat(written->asked->output, ".", ending, NULL);
  g_ptr_array_add(written->paths, path);
  return cli_write_bytes(path, data, length, error);
}

static CliExit trace_chakra(const Trace *asked, GError **error) {
  if (asked->output == NULL || strcmp(asked->output, "-") == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "--format chakra writes a file for each rank; say with -o what their names begin with");
    return CLI_INPUT;
  }
  g_autoptr(Study) study = open_traced(asked, error);
  g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
  Written written = {asked, paths};
  if (study == NULL || !study_chakra(study, write_rank, &written, error))
    return CLI_FAULT;
  g_ptr_array_add(paths, NULL);
  if (asked->json)
    tell(asked, (const char *const *)paths->pdata);
  return CLI_DONE;
}

static CliExit trace(gconstpointer data, GError **error) {
  static CliExit (*const writers[])(const Trace *, GError **) = {trace_csv, trace_chrome, trace_chakra};
  const Trace *asked = data;
  if (!cli_written_check(asked->json, asked->output, "trace", error))
    return CLI_INPUT;
  return writers[asked->format](asked, error);
}

static const Trace defaults = {.workload = CLI_WORKLOAD_DEFAULT};

const CliVerb cli_trace = {
    "trace", "WORKLOAD|RUN", "a step as text to read, edit and replay; or its timeline for Perfetto",
    options, sizeof(Trace),  &defaults,
    trace};
