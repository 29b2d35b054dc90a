/* SPDX-License-Identifier: MIT */
/* The text of a trace file into its head and its rows. */
#include "program-read.h"

#include <string.h>

#include "base-names.h"
#include "program-ranks.h"
#include "program-text.h"

static void list_clear(gpointer data) {
  ProgramList *list = data;
  g_free(list->word);
  g_free(list->name);
  g_array_unref(list->ranks);
  g_array_unref(list->ends);
}

static void file_init(ProgramFile *file, const char *name, const char *data, gsize length) {
  *file = (ProgramFile){.file = name, .text = g_strndup(data, length)};
  file->head.dtype = -1;
  file->streams = g_ptr_array_new_with_free_func(g_free);
  file->pools = g_array_new(FALSE, FALSE, sizeof(guint32));
  file->roles = g_array_new(FALSE, FALSE, sizeof(ProgramList));
  file->communicators = g_array_new(FALSE, FALSE, sizeof(ProgramList));
  g_array_set_clear_func(file->roles, list_clear);
  g_array_set_clear_func(file->communicators, list_clear);
  file->lines = g_array_new(FALSE, FALSE, sizeof(ProgramLine));
  file->keys = g_string_chunk_new(1024);
}

static void file_clear(ProgramFile *file) {
  program_origin_clear(&file->head.origin);
  g_ptr_array_unref(file->streams);
  g_array_unref(file->pools);
  g_array_unref(file->roles);
  g_array_unref(file->communicators);
  g_array_unref(file->lines);
  g_string_chunk_free(file->keys);
  g_free(file->text);
}

char *program_file_name(const char *word) {
  const char *number = strchr(word, '#');
  g_autofree char *name = g_strndup(word, number != NULL ? (gsize)(number - word) : strlen(word));
  return *name != '\0' && program_text_unword(name) ? g_steal_pointer(&name) : NULL;
}

static gboolean read_streams(ProgramFile *file, const char *value, const BasePlace *place, GError **error) {
  g_auto(GStrv) words = g_strsplit(value, " ", -1);
  for (char **word = words; *word != NULL; word++) {
    char *name = **word != '\0' ? program_file_name(*word) : NULL;
    if (**word == '\0')
      continue;
    if (name == NULL || g_ptr_array_find_with_equal_func(file->streams, name, g_str_equal, NULL)) {
      base_error_set_at(error, place, "expected names of streams, each once, found \"%s\"", *word);
      g_free(name);
      return FALSE;
    }
    guint32 own = file->streams->len;
    g_ptr_array_add(file->streams, name);
    g_array_append_val(file->pools, own);
  }
  if (file->streams->len > 0 && strcmp(file->streams->pdata[0], "host") == 0)
    return TRUE;
  base_error_set_at(error, place, "expected host and the other streams, as in host compute comm, found \"%s\"", value);
  return FALSE;
}

static gboolean find_stream(const ProgramFile *file, const char *word, guint *ret) {
  g_autofree char *name = program_file_name(word);
  return name != NULL && g_ptr_array_find_with_equal_func(file->streams, name, g_str_equal, ret) && *ret > 0;
}

/* Whose memory the rows of a stream take. */
static gboolean read_pool(ProgramFile *file, const char *word, const char *value, const BasePlace *place,
                          GError **error) {
  guint stream, of;
  if (find_stream(file, word, &stream) && find_stream(file, value, &of)) {
    g_array_index(file->pools, guint32, stream) = of;
    return TRUE;
  }
  base_error_set_at(error, place, "expected two streams, other than host, of the line \"streams\" above, found \"%s\"",
                    value);
  return FALSE;
}

/* Ranks of `value` into the list, of several lists between "|" one after another. */
static gboolean read_ranks(ProgramList *list, const char *value, const BasePlace *place, GError **error) {
  g_auto(GStrv) sides = g_strsplit(value, "|", -1);
  for (char **side = sides; side[0] != NULL || side == sides; side++) {
    g_autoptr(GArray) ranks = program_ranks_parse(*side != NULL ? g_strstrip(*side) : "", error);
    if (ranks == NULL) {
      base_error_prefix_at(error, place);
      return FALSE;
    }
    g_array_append_vals(list->ranks, ranks->data, ranks->len);
    g_array_append_val(list->ends, list->ranks->len);
  }
  return TRUE;
}

static gboolean read_list(GArray *lists, const char *word, const char *value, gboolean many, const BasePlace *place,
                          GError **error) {
  ProgramList list = {.word = g_strdup(word), .name = program_file_name(word), .line = place->line};
  list.ranks = g_array_new(FALSE, FALSE, sizeof(guint32));
  list.ends = g_array_new(FALSE, FALSE, sizeof(guint32));
  gboolean good = list.name != NULL && read_ranks(&list, value, place, error);
  if (list.name == NULL)
    base_error_set_at(error, place, "expected a name after the point, with %%20 for a space and the like");
  if (good && !many && list.ends->len > 1) {
    base_error_set_at(error, place, "expected one list of ranks, found \"%s\"", value);
    good = FALSE;
  }
  if (good)
    g_array_append_val(lists, list);
  else
    list_clear(&list);
  return good;
}

static gboolean read_fact(ProgramFile *file, const char *key, const char *value, const BasePlace *place,
                          GError **error) {
  gboolean known;
  if (strcmp(key, "streams") == 0)
    return read_streams(file, value, place, error);
  if (g_str_has_prefix(key, "pool."))
    return read_pool(file, key + strlen("pool."), value, place, error);
  if (g_str_has_prefix(key, "role."))
    return read_list(file->roles, key + strlen("role."), value, FALSE, place, error);
  if (g_str_has_prefix(key, "communicator."))
    return read_list(file->communicators, key + strlen("communicator."), value, TRUE, place, error);
  if (!program_head_read(&file->head, key, value, place, &known, error))
    return FALSE;
  if (known)
    return TRUE;
  g_autofree char *advice = program_head_advice(key);
  base_error_set_at(error, place, "no such key in the head of a trace%s", advice);
  return FALSE;
}

/* "# key = value"; a line without "=" is a comment. */
static gboolean read_head_line(ProgramFile *file, char *line, guint number, GHashTable *seen, GError **error) {
  char *equals = strchr(line, '=');
  if (equals == NULL)
    return TRUE;
  *equals = '\0';
  char *key = g_strstrip(line + 1), *value = g_strstrip(equals + 1);
  BasePlace place = {.file = file->file, .line = number, .key = key};
  guint before = GPOINTER_TO_UINT(g_hash_table_lookup(seen, key));
  if (before > 0 && !program_head_repeats(key)) {
    base_error_set_at(error, &place, "stands already on line %u", before);
    return FALSE;
  }
  g_hash_table_insert(seen, key, GUINT_TO_POINTER(number));
  return read_fact(file, key, value, &place, error);
}

/* That all which rows refer to is there. */
static gboolean check_head(const ProgramFile *file, GHashTable *seen, guint number, GError **error) {
  BasePlace place = {.file = file->file, .line = number};
  const char *missing = program_head_missing(seen);
  if (missing == NULL && file->streams->len == 0)
    missing = "streams";
  if (missing == NULL && file->roles->len == 0)
    missing = "role.NAME";
  if (missing == NULL)
    return TRUE;
  base_error_set_at(error, &place, "the head of a trace needs \"# %s = …\"", missing);
  return FALSE;
}

static gboolean read_columns(const ProgramFile *file, const char *line, guint number, GHashTable *seen,
                             GError **error) {
  g_autofree char *heads = program_line_heads();
  BasePlace place = {.file = file->file, .line = number};
  if (strcmp(line, heads) == 0)
    return check_head(file, seen, number, error);
  g_autofree char *found = g_utf8_substring(line, 0, MIN(g_utf8_strlen(line, -1), 60));
  base_error_set_at(error, &place, "expected the columns \"%s\", found \"%s\"", heads, found);
  return FALSE;
}

static gboolean read_row(ProgramFile *file, char *text, guint number, GError **error) {
  g_autofree char **fields = g_new0(char *, program_line_n_columns);
  BasePlace place = {.file = file->file, .line = number};
  gint found = program_text_split(text, fields, program_line_n_columns);
  ProgramLine line;
  program_line_init(&line);
  line.number = number;
  if (found != (gint)program_line_n_columns) {
    if (found < 0)
      base_error_set_at(error, &place, "a quote that does not end with its field");
    else
      base_error_set_at(error, &place, "expected %u fields, found %d", program_line_n_columns, found);
    return FALSE;
  }
  if (!program_line_read(&line, fields, &place, file->keys, error))
    return FALSE;
  g_array_append_val(file->lines, line);
  return TRUE;
}

/* The line at *at, its end cut off; *at moves to the next, NULL after the last. */
static char *next_line(char **at) {
  char *line = *at, *end = line + strcspn(line, "\n");
  *at = *end == '\0' ? NULL : end + 1;
  *end = '\0';
  if (end > line && end[-1] == '\r')
    end[-1] = '\0';
  return line;
}

static gboolean read_lines(ProgramFile *file, GError **error) {
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  gboolean in_rows = FALSE;
  guint number = 1;
  char *at = g_str_has_prefix(file->text, "\xef\xbb\xbf") ? file->text + 3 : file->text;
  for (; at != NULL; number++) {
    char *line = next_line(&at);
    gboolean good = TRUE;
    if (*line == '\0' || (in_rows && *line == '#'))
      continue;
    if (*line == '#')
      good = read_head_line(file, line, number, seen, error);
    else if (!in_rows)
      good = in_rows = read_columns(file, line, number, seen, error);
    else
      good = read_row(file, line, number, error);
    if (!good)
      return FALSE;
  }
  if (in_rows)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: ends before its columns: not a trace, or cut off", file->file);
  return FALSE;
}

Program *program_trace_read(const char *name, const char *data, gsize length, ProgramOrigin *ret_origin,
                            GError **error) {
  ProgramFile file;
  if (!g_utf8_validate(data, (gssize)length, NULL)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: not UTF-8 text without NULs", name);
    return NULL;
  }
  file_init(&file, name, data, length);
  Program *program = read_lines(&file, error) ? program_file_build(&file, error) : NULL;
  if (program != NULL) {
    *ret_origin = file.head.origin;
    file.head.origin = (ProgramOrigin){0};
  }
  file_clear(&file);
  return program;
}
