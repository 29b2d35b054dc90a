/* SPDX-License-Identifier: MIT */
/* The lines of a log to runs: banners open a run, rows fill it, the average ends it. */
#include "import-nccl-tests.h"

#include <stdlib.h>
#include <string.h>

#include "conf-data.h"
#include "import-banner.h"
#include "import-line.h"
#include "import-log.h"

const char *const import_operation_names[] = {"unknown",   "all-reduce", "all-gather", "reduce-scatter",
                                              "broadcast", "reduce",     "all-to-all", "send-recv",
                                              "gather",    "scatter",    "hypercube",  NULL};

static void run_free(gpointer data) {
  ImportRun *run = data;
  g_free(run->gpu);
  g_free(run->nccl_version);
  g_free(run->failure);
  g_array_unref(run->rows);
  g_free(run);
}

static void skip_free(gpointer data) {
  ImportSkip *skip = data;
  g_free(skip->why);
  g_free(skip);
}

void import_log_free(ImportLog *log) {
  if (log == NULL)
    return;
  g_ptr_array_unref(log->files);
  g_ptr_array_unref(log->runs);
  g_ptr_array_unref(log->skipped);
  g_free(log);
}

typedef struct {
  ImportLog *log;
  ImportHosts *hosts;
  ImportRun *run;           /* the open one, NULL before the first */
  ImportRanks ranks;        /* of the open run */
  ImportOperation named;    /* by a command line, for the next run */
  gboolean banners, closed; /* the open run has its parameters; its table has ended */
  GString *torn;            /* a row's beginning; empty: none */
  guint line, torn_line;
} Reader;

static void skip_at(Reader *reader, guint line, const char *why) {
  ImportSkip *skip = g_new0(ImportSkip, 1);
  skip->file = g_ptr_array_index(reader->log->files, reader->log->files->len - 1);
  skip->line = line;
  skip->why = g_strdup(why);
  g_ptr_array_add(reader->log->skipped, skip);
}

static void drop_torn(Reader *reader) {
  if (reader->torn->len > 0)
    skip_at(reader, reader->torn_line, "a row without its end");
  g_string_truncate(reader->torn, 0);
}

static void close_run(Reader *reader) {
  drop_torn(reader);
  if (reader->run != NULL)
    import_ranks_take(&reader->ranks, reader->run);
  import_ranks_clear(&reader->ranks);
  reader->run = NULL;
  reader->banners = reader->closed = FALSE;
}

ImportRun *import_run_add(ImportLog *log, guint line) {
  ImportRun *run = g_new0(ImportRun, 1);
  run->rows = g_array_new(FALSE, FALSE, sizeof(ImportRow));
  run->file = g_ptr_array_index(log->files, log->files->len - 1);
  run->line = line;
  run->processes = 1;
  g_ptr_array_add(log->runs, run);
  return run;
}

static void open_run(Reader *reader) {
  close_run(reader);
  reader->run = import_run_add(reader->log, reader->line);
  reader->run->operation = reader->named;
}

/* The run that a banner belongs to: the open one until it has rows, ended or failed. */
static ImportRun *banner_run(Reader *reader) {
  if (reader->run == NULL || reader->closed || reader->run->rows->len > 0 || reader->run->failure != NULL)
    open_run(reader);
  return reader->run;
}

static void take_row(Reader *reader, ImportRow *row, guint line) {
  row->line = line;
  if (reader->run == NULL || reader->closed)
    open_run(reader);
  if (row->bytes == 0)
    skip_at(reader, line, "a call of no bytes");
  else if (row->out_of_place.time == SIM_TIME_NEVER && row->in_place.time == SIM_TIME_NEVER)
    skip_at(reader, line, "a row without a time");
  else
    g_array_append_val(reader->run->rows, *row);
}

/* Where a row begins behind words of a launcher that are none of its known tags; 0: nowhere. */
#define STRANGE_WORDS 4
static guint strange_words(char **words) {
  for (guint i = 1; i <= STRANGE_WORDS && i < g_strv_length(words); i++)
    if (import_row_begins(words + i))
      return i;
  return 0;
}

/* Of a line that may be a row: no word of one ends with a colon, so such a word is a launcher's, wherever it stands. */
static char **row_words(const char *text) {
  char **words = import_words(text);
  guint kept = 0;
  for (guint i = 0; words[i] != NULL; i++) {
    if (g_str_has_suffix(words[i], ":"))
      g_free(words[i]);
    else
      words[kept++] = words[i];
  }
  words[kept] = NULL;
  return words;
}

/* A row, the beginning of one, or what completes one: else FALSE. */
static gboolean take_words(Reader *reader, const char *text) {
  g_auto(GStrv) all = row_words(text);
  char **words = all + strange_words(all);
  ImportRow row;
  ImportRowKind kind = import_row_read(words, &row);
  if (kind == IMPORT_ROW_NONE && reader->torn->len > 0 && import_row_is_tail(words)) {
    g_string_append_printf(reader->torn, " %s", text);
    g_auto(GStrv) joined = row_words(reader->torn->str);
    kind = import_row_read(joined + strange_words(joined), &row);
    if (kind == IMPORT_ROW_WHOLE) {
      g_string_truncate(reader->torn, 0);
      take_row(reader, &row, reader->torn_line);
    } else if (kind == IMPORT_ROW_NONE) {
      drop_torn(reader);
    }
    return TRUE;
  }
  if (kind == IMPORT_ROW_NONE)
    return FALSE;
  drop_torn(reader);
  if (kind == IMPORT_ROW_WHOLE) {
    take_row(reader, &row, reader->line);
    return TRUE;
  }
  g_string_assign(reader->torn, text);
  reader->torn_line = reader->line;
  return TRUE;
}

static void take_failure(Reader *reader, const char *text) {
  if (reader->run == NULL)
    open_run(reader);
  if (reader->run->failure != NULL)
    return;
  reader->run->failure = g_strstrip(g_strdup(text));
  reader->run->failure_line = reader->line;
}

static void take_version(Reader *reader, const char *text) {
  char *version = import_banner_version(text);
  if (version == NULL)
    return;
  ImportRun *run = strstr(text, "nccl-library=") != NULL || reader->run == NULL ? banner_run(reader) : reader->run;
  if (run->nccl_version == NULL)
    run->nccl_version = version;
  else
    g_free(version);
}

/* Lines that are no rows. */
static void take_banner(Reader *reader, const char *text) {
  ImportRank rank;
  ImportOperation operation = import_banner_operation(text);
  if (strstr(text, "Collective test starting") != NULL) {
    ImportRun *run = banner_run(reader);
    run->operation = reader->named = operation;
  } else if (import_banner_driven(text) > 0) {
    ImportRun *run = banner_run(reader);
    run->driven = import_banner_driven(text);
    run->processes += reader->banners;
    reader->banners = TRUE;
  } else if (import_banner_rank(text, &rank)) {
    import_ranks_add(&reader->ranks, banner_run(reader), &rank);
  } else if (strstr(text, "rccl-tests:") != NULL) {
    banner_run(reader)->rccl = TRUE;
  } else if (strstr(text, "Out of bounds values") != NULL && reader->run != NULL) {
    reader->run->bad_values = (guint)strtoul(strchr(text, ':') != NULL ? strchr(text, ':') + 1 : "0", NULL, 10);
  } else if (strstr(text, "Avg bus bandwidth") != NULL) {
    reader->closed = reader->run != NULL && reader->run->rows->len > 0;
  } else if (strstr(text, "Test NCCL failure") != NULL || strstr(text, "Test CUDA failure") != NULL ||
             strstr(text, "Test failure") != NULL) {
    take_failure(reader, text);
  } else if (strstr(text, "Reducing maxBytes") != NULL) {
    skip_at(reader, reader->line, "the sweep ends early: the GPUs' memory did not hold the largest size");
  } else if (operation != IMPORT_UNKNOWN && strstr(text, "test concluded") == NULL &&
             (reader->run == NULL || reader->run->rows->len > 0 || !reader->banners)) {
    reader->named = operation; /* a command line: of the run to come, or of one that has no name yet */
    if (reader->run != NULL && reader->run->rows->len == 0 && reader->run->operation == IMPORT_UNKNOWN)
      reader->run->operation = operation;
  }
  take_version(reader, text);
}

static void take_line(Reader *reader, const char *line) {
  g_autofree char *message = NULL;
  g_autofree char *text = import_line_split(line, reader->hosts, &message);
  if (message != NULL)
    take_version(reader, message);
  g_auto(GStrv) words = import_words(text);
  if (words[0] == NULL || take_words(reader, text))
    return;
  drop_torn(reader);
  if (import_row_begins(words))
    skip_at(reader, reader->line, "a row with something else than numbers in it");
  else if (words[1] != NULL && words[2] != NULL && import_row_is_tail(words))
    skip_at(reader, reader->line, "the rest of a row whose beginning is missing");
  else
    take_banner(reader, text);
}

ImportLog *import_log_new(void) {
  ImportLog *log = g_new0(ImportLog, 1);
  log->files = g_ptr_array_new_with_free_func(g_free);
  log->runs = g_ptr_array_new_with_free_func(run_free);
  log->skipped = g_ptr_array_new_with_free_func(skip_free);
  return log;
}

static void read_text(ImportLog *log, const char *name, const char *text, gsize length) {
  g_autofree char *readable = g_utf8_make_valid(text, (gssize)length);
  g_auto(GStrv) lines = g_strsplit(readable, "\n", -1);
  g_autoptr(ImportHosts) hosts = import_hosts_new();
  g_ptr_array_add(log->files, g_strdup(name));
  for (char **line = lines; *line != NULL; line++)
    import_hosts_learn(hosts, *line);
  Reader reader = {.log = log, .hosts = hosts, .torn = g_string_new(NULL)};
  for (char **line = lines; *line != NULL; line++) {
    reader.line++;
    take_line(&reader, *line);
  }
  close_run(&reader);
  g_string_free(reader.torn, TRUE);
}

ImportLog *import_log_parse(const char *name, const char *text, gsize length) {
  ImportLog *log = import_log_new();
  read_text(log, name, text, length);
  return log;
}

static gboolean read_file(ImportLog *log, const char *path, GError **error) {
  gsize length;
  g_autofree char *text = conf_data_small_text(path, &length, error);
  if (text == NULL)
    return FALSE;
  read_text(log, path, text, length);
  return TRUE;
}

ImportLog *import_log_load_all(const char *const *paths, GError **error) {
  g_autoptr(ImportLog) log = import_log_new();
  for (const char *const *path = paths; *path != NULL; path++)
    if (!read_file(log, *path, error))
      return NULL;
  return g_steal_pointer(&log);
}

ImportLog *import_log_load(const char *path, GError **error) {
  return import_log_load_all((const char *const[]){path, NULL}, error);
}
