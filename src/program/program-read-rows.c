/* Rows of a trace file into a Program: names become indices, lists become ranges. */
#include <string.h>

#include "base-names.h"
#include "mem-tenant.h"
#include "program-read.h"
#include "program-text.h"

/* A tensor's word in a role: what it was when it was first taken. */
typedef struct {
  guint32 tensor;
  guint line;
  guint8 tenant;
  guint64 bytes, unique_bytes;
} Held;

typedef struct {
  const ProgramFile *file;
  ProgramBuilder *builder;
  GHashTable *streams, *roles, *communicators; /* word → index + 1 */
  GHashTable *ops;                             /* key → index + 1 */
  GHashTable *tensors;                         /* word → Held; of the role at hand */
  GHashTable *tasks;                           /* word → row + 1; of the section at hand */
  GPtrArray **sections;                        /* [role × sections + section]: ProgramLine *, in order */
  guint n_sections;
  guint32 role;
} Reader;

static const ProgramList *list_at(const GArray *lists, guint index) {
  return &g_array_index(lists, ProgramList, index);
}

static gboolean fail(const Reader *reader, const ProgramLine *line, const char *column, GError **error,
                     const char *format, ...) G_GNUC_PRINTF(5, 6);
static gboolean fail(const Reader *reader, const ProgramLine *line, const char *column, GError **error,
                     const char *format, ...) {
  BasePlace place = {.file = reader->file->file, .line = line->number, .key = column};
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  base_error_set_at(error, &place, "task %s (%s) of role %s: %s", line->task, line->name, line->role, message);
  return FALSE;
}

static void name_lists(GHashTable *index, const GArray *lists) {
  for (guint i = 0; i < lists->len; i++)
    g_hash_table_insert(index, list_at(lists, i)->word, GUINT_TO_POINTER(i + 1));
}

static guint32 index_of(GHashTable *index, const char *word) {
  return GPOINTER_TO_UINT(g_hash_table_lookup(index, word)) - 1;
}

/* The number of ranks: roles together name each from 0 on, once. */
static gboolean check_ranks(const ProgramFile *file, guint32 *ret_ranks, GError **error) {
  g_autoptr(GArray) owners = g_array_new(FALSE, TRUE, sizeof(guint)); /* role + 1, by rank */
  guint32 named = 0;
  for (guint r = 0; r < file->roles->len; r++) {
    const ProgramList *role = list_at(file->roles, r);
    guint32 last = g_array_index(role->ranks, guint32, role->ranks->len - 1);
    BasePlace place = {.file = file->file, .line = role->line};
    if (owners->len <= last)
      g_array_set_size(owners, last + 1);
    for (guint i = 0; i < role->ranks->len; i++, named++) {
      guint *owner = &g_array_index(owners, guint, g_array_index(role->ranks, guint32, i));
      if (*owner > 0) {
        base_error_set_at(error, &place, "role %s: rank %u is of role %s already", role->name,
                          g_array_index(role->ranks, guint32, i), list_at(file->roles, *owner - 1)->name);
        return FALSE;
      }
      *owner = r + 1;
    }
  }
  for (guint i = 0; named < owners->len && i < owners->len; i++)
    if (g_array_index(owners, guint, i) == 0) {
      BasePlace place = {.file = file->file, .line = list_at(file->roles, 0)->line};
      base_error_set_at(error, &place, "rank %u of 0-%u is of no role", i, owners->len - 1);
      return FALSE;
    }
  *ret_ranks = owners->len;
  return TRUE;
}

static gboolean check_communicators(const ProgramFile *file, guint32 ranks, GError **error) {
  for (guint c = 0; c < file->communicators->len; c++) {
    const ProgramList *list = list_at(file->communicators, c);
    guint32 last = g_array_index(list->ranks, guint32, list->ranks->len - 1);
    BasePlace place = {.file = file->file, .line = list->line};
    if (last < ranks)
      continue;
    base_error_set_at(error, &place, "communicator %s: there is no rank %u: roles hold 0-%u", list->name, last,
                      ranks - 1);
    return FALSE;
  }
  return TRUE;
}

static const char **words_of(const GArray *lists) {
  const char **words = g_new0(const char *, lists->len + 1);
  for (guint i = 0; i < lists->len; i++)
    words[i] = list_at(lists, i)->word;
  return words;
}

/* Rows by role and section. */
static gboolean sort_lines(Reader *reader, GError **error) {
  for (guint i = 0; i < reader->file->lines->len; i++) {
    ProgramLine *line = &g_array_index(reader->file->lines, ProgramLine, i);
    guint32 role = index_of(reader->roles, line->role);
    if (role == PROGRAM_NONE) {
      g_autofree const char **words = words_of(reader->file->roles);
      g_autofree char *advice = base_names_advice(words, line->role);
      return fail(reader, line, "role", error, "the head has no such role%s", advice);
    }
    g_ptr_array_add(reader->sections[role * PROGRAM_SECTIONS + (guint32)line->step], line);
  }
  return TRUE;
}

static gboolean find_stream(const Reader *reader, const ProgramLine *line, const char *column, const char *word,
                            guint32 *ret, GError **error) {
  g_autofree char *name = program_file_name(word);
  *ret = name != NULL ? index_of(reader->streams, name) : PROGRAM_NONE;
  if (*ret != PROGRAM_NONE)
    return TRUE;
  const char **names = g_new0(const char *, reader->file->streams->len + 1);
  memcpy(names, reader->file->streams->pdata, reader->file->streams->len * sizeof *names);
  g_autofree char *advice = base_names_advice(names, word);
  g_free(names);
  return fail(reader, line, column, error, "the head has no stream \"%s\"%s", word, advice);
}

static guint32 find_op(Reader *reader, const ProgramLine *line) {
  guint32 known = index_of(reader->ops, line->op_key);
  if (known != PROGRAM_NONE)
    return known;
  guint32 op = program_builder_timed_op(reader->builder, &line->op, line->duration);
  g_hash_table_insert(reader->ops, (gpointer)line->op_key, GUINT_TO_POINTER(op + 1));
  return op;
}

static gboolean add_row(Reader *reader, const ProgramLine *line, GError **error) {
  guint32 stream;
  program_builder_context(reader->builder, (ProgramPhase)line->phase, line->layer, line->micro);
  if (!find_stream(reader, line, "stream", line->stream, &stream, error))
    return FALSE;
  if ((stream == 0) != (line->kind == PROGRAM_HOST))
    return fail(reader, line, "stream", error, "a %s row stands on %s, found %s", program_kind_names[line->kind],
                line->kind == PROGRAM_HOST ? "the stream host" : "another stream than host", line->stream);
  if (line->kind == PROGRAM_HOST) {
    program_builder_host(reader->builder, line->name);
  } else if (line->kind == PROGRAM_COMPUTE) {
    program_builder_compute(reader->builder, stream, line->name, find_op(reader, line));
  } else {
    guint32 group = index_of(reader->communicators, line->group);
    CollCall call = {(CollOperation)line->operation, line->bytes};
    if (group == PROGRAM_NONE) {
      g_autofree const char **words = words_of(reader->file->communicators);
      g_autofree char *advice = base_names_advice(words, line->group);
      return fail(reader, line, "group", error, "the head has no communicator \"%s\"%s", line->group, advice);
    }
    program_builder_collective(reader->builder, stream, line->name, group, call, (ProgramHint)line->hint);
  }
  program_builder_cost(reader->builder, line->host);
  return TRUE;
}

static gboolean add_needs(const Reader *reader, const ProgramLine *line, guint32 row, GPtrArray *lines,
                          GError **error) {
  g_auto(GStrv) words = g_strsplit(line->needs, " ", -1);
  for (char **word = words; *word != NULL; word++) {
    if (**word == '\0')
      continue;
    guint32 need = index_of(reader->tasks, *word);
    if (need == PROGRAM_NONE)
      return fail(reader, line, "needs", error, "there is no task %s in step %s of the role", *word,
                  program_section_names[line->step]);
    if (need == row)
      return fail(reader, line, "needs", error, "it needs itself: a wait that can never end");
    if (need > row)
      return fail(reader, line, "needs", error,
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
  if (n < 3 || n > 4 || tenant < 0 || !read_bytes(parts[2], &ret->bytes))
    return FALSE;
  ret->tenant = (guint8)tenant;
  ret->unique_bytes = ret->bytes;
  return n == 3 || (read_bytes(parts[3], &ret->unique_bytes) && ret->unique_bytes <= ret->bytes);
}

static gboolean add_take(const Reader *reader, const ProgramLine *line, const char *word, GError **error) {
  g_auto(GStrv) parts = g_strsplit(word, ":", -1);
  g_autofree char *name = program_file_name(parts[0] != NULL ? parts[0] : "");
  Held held = {.line = line->number};
  if (name == NULL || !parse_take(parts, &held)) {
    g_autofree char *tenants = base_names_join(mem_tenant_names);
    return fail(
        reader, line, "takes", error,
        "expected tensor:tenant:bytes, with bytes that exist once after another colon (tenants: %s), found \"%s\"",
        tenants, word);
  }
  const Held *before = g_hash_table_lookup(reader->tensors, parts[0]);
  if (before == NULL) {
    held.tensor = program_builder_tensor(reader->builder, name, held.tenant, held.bytes, held.unique_bytes);
    before = g_memdup2(&held, sizeof held);
    g_hash_table_insert(reader->tensors, g_strdup(parts[0]), (gpointer)before);
  }
  if (before->tenant != held.tenant || before->bytes != held.bytes || before->unique_bytes != held.unique_bytes)
    return fail(reader, line, "takes", error,
                "%s is %s of %" G_GUINT64_FORMAT " bytes (%" G_GUINT64_FORMAT
                " once) here, but %s of %" G_GUINT64_FORMAT " bytes (%" G_GUINT64_FORMAT " once) on line %u",
                name, mem_tenant_names[held.tenant], held.bytes, held.unique_bytes, mem_tenant_names[before->tenant],
                before->bytes, before->unique_bytes, before->line);
  program_builder_take(reader->builder, before->tensor);
  return TRUE;
}

static gboolean add_give(const Reader *reader, const ProgramLine *line, const char *word, GError **error) {
  g_auto(GStrv) parts = g_strsplit(word, "@", 2);
  const Held *held = g_hash_table_lookup(reader->tensors, parts[0]);
  guint32 stream = PROGRAM_NONE;
  if (held == NULL)
    return fail(reader, line, "gives", error, "gives %s, which no row above takes", parts[0]);
  if (parts[1] != NULL && strchr(parts[1], '+') != NULL)
    return fail(reader, line, "gives", error, "%s waits for several streams: one is all that is played yet", word);
  if (parts[1] != NULL && !find_stream(reader, line, "gives", parts[1], &stream, error))
    return FALSE;
  if (stream == 0)
    return fail(reader, line, "gives", error, "%s waits for the host, which is where it is given: leave out @host",
                word);
  program_builder_give(reader->builder, held->tensor, stream);
  return TRUE;
}

static gboolean add_list(const Reader *reader, const ProgramLine *line, const char *list,
                         gboolean (*add)(const Reader *, const ProgramLine *, const char *, GError **),
                         GError **error) {
  g_auto(GStrv) words = g_strsplit(list, " ", -1);
  for (char **word = words; *word != NULL; word++)
    if (**word != '\0' && !add(reader, line, *word, error))
      return FALSE;
  return TRUE;
}

static gboolean name_tasks(Reader *reader, GPtrArray *lines, GError **error) {
  g_hash_table_remove_all(reader->tasks);
  for (guint i = 0; i < lines->len; i++) {
    const ProgramLine *line = g_ptr_array_index(lines, i);
    guint32 before = index_of(reader->tasks, line->task);
    if (before != PROGRAM_NONE)
      return fail(reader, line, "task", error, "its step has such a task already, on line %u",
                  ((const ProgramLine *)g_ptr_array_index(lines, before))->number);
    g_hash_table_insert(reader->tasks, (gpointer)line->task, GUINT_TO_POINTER(i + 1));
  }
  return TRUE;
}

/* Gives stand before takes on a row, so that a row may give what it takes again. */
static gboolean add_section(Reader *reader, int section, GError **error) {
  GPtrArray *lines = reader->sections[reader->role * PROGRAM_SECTIONS + (guint32)section];
  program_builder_section(reader->builder, (ProgramSectionKind)section);
  if (!name_tasks(reader, lines, error))
    return FALSE;
  for (guint i = 0; i < lines->len; i++) {
    const ProgramLine *line = g_ptr_array_index(lines, i);
    if (!add_row(reader, line, error) || !add_needs(reader, line, i, lines, error) ||
        !add_list(reader, line, line->gives, add_give, error) || !add_list(reader, line, line->takes, add_take, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean add_roles(Reader *reader, GError **error) {
  for (guint c = 0; c < reader->file->communicators->len; c++) {
    const ProgramList *list = list_at(reader->file->communicators, c);
    program_builder_communicator(reader->builder, list->name, (const guint32 *)(gpointer)list->ranks->data,
                                 list->ranks->len);
  }
  for (reader->role = 0; reader->role < reader->file->roles->len; reader->role++) {
    const ProgramList *list = list_at(reader->file->roles, reader->role);
    program_builder_role_of(reader->builder, list->name, (const guint32 *)(gpointer)list->ranks->data,
                            list->ranks->len);
    g_hash_table_remove_all(reader->tensors);
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      if (!add_section(reader, s, error))
        return FALSE;
  }
  return TRUE;
}

static void reader_init(Reader *reader, const ProgramFile *file) {
  *reader = (Reader){.file = file, .builder = program_builder_new()};
  reader->streams = g_hash_table_new(g_str_hash, g_str_equal);
  reader->roles = g_hash_table_new(g_str_hash, g_str_equal);
  reader->communicators = g_hash_table_new(g_str_hash, g_str_equal);
  reader->ops = g_hash_table_new(g_str_hash, g_str_equal);
  reader->tensors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  reader->tasks = g_hash_table_new(g_str_hash, g_str_equal);
  reader->n_sections = file->roles->len * PROGRAM_SECTIONS;
  reader->sections = g_new(GPtrArray *, reader->n_sections);
  for (guint i = 0; i < reader->n_sections; i++)
    reader->sections[i] = g_ptr_array_new();
  for (guint s = 0; s < file->streams->len; s++) {
    g_hash_table_insert(reader->streams, file->streams->pdata[s], GUINT_TO_POINTER(s + 1));
    if (s > 0)
      program_builder_stream(reader->builder, file->streams->pdata[s]);
  }
  name_lists(reader->roles, file->roles);
  name_lists(reader->communicators, file->communicators);
}

static void reader_clear(Reader *reader) {
  for (guint i = 0; i < reader->n_sections; i++)
    g_ptr_array_unref(reader->sections[i]);
  g_free(reader->sections);
  g_hash_table_unref(reader->streams);
  g_hash_table_unref(reader->roles);
  g_hash_table_unref(reader->communicators);
  g_hash_table_unref(reader->ops);
  g_hash_table_unref(reader->tensors);
  g_hash_table_unref(reader->tasks);
  program_builder_free(reader->builder);
}

static gboolean check(const Reader *reader, const Program *program, GError **error) {
  ProgramPlaces places = {reader->file->file, g_new(ProgramPlace *, reader->n_sections)};
  for (guint i = 0; i < reader->n_sections; i++) {
    places.rows[i] = g_new(ProgramPlace, reader->sections[i]->len);
    for (guint row = 0; row < reader->sections[i]->len; row++) {
      const ProgramLine *line = g_ptr_array_index(reader->sections[i], row);
      places.rows[i][row] = (ProgramPlace){line->number, line->task};
    }
  }
  gboolean good = program_check(program, &places, error);
  for (guint i = 0; i < reader->n_sections; i++)
    g_free(places.rows[i]);
  g_free(places.rows);
  return good;
}

Program *program_file_build(const ProgramFile *file, GError **error) {
  guint32 ranks;
  if (!check_ranks(file, &ranks, error) || !check_communicators(file, ranks, error))
    return NULL;
  Reader reader;
  reader_init(&reader, file);
  g_autoptr(Program) program = NULL;
  const ProgramHead *head = &file->head;
  if (sort_lines(&reader, error) && add_roles(&reader, error)) {
    program_builder_facts(reader.builder, head->tokens, head->model_flops, head->hardware_flops, head->dtype);
    program = program_builder_end(g_steal_pointer(&reader.builder));
  }
  gboolean good = program != NULL && check(&reader, program, error);
  reader_clear(&reader);
  return good ? g_steal_pointer(&program) : NULL;
}
