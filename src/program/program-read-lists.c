/* SPDX-License-Identifier: MIT */
/* What a row's lists name: tasks it needs, tensors it takes and gives, streams. */
#include <string.h>

#include "base-names.h"
#include "mem-tenant.h"
#include "program-ranks.h"
#include "program-read.h"

/* A tensor's word in a role: what it was when it was first taken. */
typedef struct {
  guint32 tensor;
  guint line;
  guint8 tenant;
  guint64 bytes, unique_bytes;
  gboolean managed;
} Held;

gboolean program_reader_fail(const ProgramReader *reader, const ProgramLine *line, const char *column, GError **error,
                             const char *format, ...) {
  BasePlace place = {.file = reader->file->file, .line = line->number, .key = column};
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  guint32 role = program_reader_index(reader->roles, line->role);
  const GArray *ranks = role != PROGRAM_NONE ? program_list_at(reader->file->roles, role)->ranks : NULL;
  g_autofree char *list =
      ranks != NULL ? program_ranks_format((const guint32 *)(gpointer)ranks->data, ranks->len) : NULL;
  base_error_set_at(error, &place, "task %s (%s) of role %s%s%s: %s", line->task, line->name, line->role,
                    list == NULL     ? ""
                    : ranks->len > 1 ? ", ranks "
                                     : ", rank ",
                    list != NULL ? list : "", message);
  return FALSE;
}

gboolean program_reader_stream(const ProgramReader *reader, const ProgramLine *line, const char *column,
                               const char *word, guint32 *ret, GError **error) {
  g_autofree char *name = program_file_name(word);
  *ret = name != NULL ? program_reader_index(reader->streams, name) : PROGRAM_NONE;
  if (*ret != PROGRAM_NONE)
    return TRUE;
  const char **names = g_new0(const char *, reader->file->streams->len + 1);
  memcpy(names, reader->file->streams->pdata, reader->file->streams->len * sizeof *names);
  g_autofree char *advice = base_names_advice(names, word);
  g_free(names);
  return program_reader_fail(reader, line, column, error, "the head has no stream \"%s\"%s", word, advice);
}

gboolean program_reader_needs(const ProgramReader *reader, const ProgramLine *line, guint32 row, GPtrArray *lines,
                              GError **error) {
  g_auto(GStrv) words = g_strsplit(line->needs, " ", -1);
  for (char **word = words; *word != NULL; word++) {
    if (**word == '\0')
      continue;
    guint32 need = program_reader_index(reader->tasks, *word);
    if (need == PROGRAM_NONE)
      return program_reader_fail(reader, line, "needs", error, "there is no task %s in step %s of the role", *word,
                                 program_section_names[line->step]);
    if (need == row)
      return program_reader_fail(reader, line, "needs", error, "it needs itself: a wait that can never end");
    if (need > row)
      return program_reader_fail(reader, line, "needs", error,
                                 "task %s stands below it, line %u: a circle, so a wait that can never end", *word,
                                 ((const ProgramLine *)g_ptr_array_index(lines, need))->number);
    program_builder_need(reader->builder, need);
  }
  return TRUE;
}

static gboolean read_bytes(const char *text, guint64 *ret) {
  return g_ascii_isdigit(*text) && g_ascii_string_to_unsigned(text, 10, 0, G_GUINT64_CONSTANT(1) << 50, ret, NULL);
}

static gboolean parse_take(char **parts, Held *ret) {
  guint n = g_strv_length(parts);
  int tenant = n >= 3 ? base_names_find(mem_tenant_names, parts[1]) : -1;
  if (n < 3 || n > 5 || tenant < 0 || !read_bytes(parts[2], &ret->bytes))
    return FALSE;
  ret->tenant = (guint8)tenant;
  ret->unique_bytes = ret->bytes;
  ret->managed = n == 5;
  if (ret->managed && strcmp(parts[4], PROGRAM_MANAGED_WORD) != 0)
    return FALSE;
  return n == 3 || (read_bytes(parts[3], &ret->unique_bytes) && ret->unique_bytes <= ret->bytes);
}

static gboolean add_take(const ProgramReader *reader, const ProgramLine *line, const char *word, GError **error) {
  g_auto(GStrv) parts = g_strsplit(word, ":", -1);
  g_autofree char *name = program_file_name(parts[0] != NULL ? parts[0] : "");
  Held held = {.line = line->number};
  if (name == NULL || !parse_take(parts, &held)) {
    g_autofree char *tenants = base_names_join(mem_tenant_names);
    return program_reader_fail(reader, line, "takes", error,
                               "expected tensor:tenant:bytes, with bytes that exist once after another colon, and "
                               ":managed (tenants: %s), found \"%s\"",
                               tenants, word);
  }
  static const char *const managed[] = {"", ", managed"};
  const Held *before = g_hash_table_lookup(reader->tensors, parts[0]);
  if (before == NULL) {
    held.tensor = program_builder_tensor(reader->builder, name, held.tenant, held.bytes, held.unique_bytes);
    if (held.managed)
      program_builder_manage(reader->builder, held.tensor);
    before = g_memdup2(&held, sizeof held);
    g_hash_table_insert(reader->tensors, g_strdup(parts[0]), (gpointer)before);
  }
  if (before->tenant != held.tenant || before->bytes != held.bytes || before->unique_bytes != held.unique_bytes ||
      before->managed != held.managed)
    return program_reader_fail(
        reader, line, "takes", error,
        "%s is %s of %" G_GUINT64_FORMAT " bytes (%" G_GUINT64_FORMAT " once%s) here, but %s of %" G_GUINT64_FORMAT
        " bytes (%" G_GUINT64_FORMAT " once%s) on line %u",
        name, mem_tenant_names[held.tenant], held.bytes, held.unique_bytes, managed[held.managed],
        mem_tenant_names[before->tenant], before->bytes, before->unique_bytes, managed[before->managed], before->line);
  program_builder_take(reader->builder, before->tensor);
  return TRUE;
}

static gboolean add_give(const ProgramReader *reader, const ProgramLine *line, const char *word, GError **error) {
  g_auto(GStrv) parts = g_strsplit(word, "@", 2);
  const Held *held = g_hash_table_lookup(reader->tensors, parts[0]);
  guint32 stream = PROGRAM_NONE;
  if (held == NULL)
    return program_reader_fail(reader, line, "gives", error, "gives %s, which no row above takes", parts[0]);
  if (parts[1] != NULL && strchr(parts[1], '+') != NULL)
    return program_reader_fail(reader, line, "gives", error,
                               "%s waits for several streams: one is all that is played yet", word);
  if (parts[1] != NULL && !program_reader_stream(reader, line, "gives", parts[1], &stream, error))
    return FALSE;
  if (stream == 0)
    return program_reader_fail(reader, line, "gives", error,
                               "%s waits for the host, which is where it is given: leave out @host", word);
  program_builder_give(reader->builder, held->tensor, stream);
  return TRUE;
}

static gboolean add_list(const ProgramReader *reader, const ProgramLine *line, const char *list,
                         gboolean (*add)(const ProgramReader *, const ProgramLine *, const char *, GError **),
                         GError **error) {
  g_auto(GStrv) words = g_strsplit(list, " ", -1);
  for (char **word = words; *word != NULL; word++)
    if (**word != '\0' && !add(reader, line, *word, error))
      return FALSE;
  return TRUE;
}

gboolean program_reader_takes(const ProgramReader *reader, const ProgramLine *line, GError **error) {
  return add_list(reader, line, line->takes, add_take, error);
}

gboolean program_reader_gives(const ProgramReader *reader, const ProgramLine *line, GError **error) {
  return add_list(reader, line, line->gives, add_give, error);
}
