/* SPDX-License-Identifier: MIT */
/* Rows of a trace file into a Program: names become indices, lists become ranges. */
#include "base-names.h"
#include "program-read.h"

static void name_lists(GHashTable *index, const GArray *lists) {
  for (guint i = 0; i < lists->len; i++)
    g_hash_table_insert(index, program_list_at(lists, i)->word, GUINT_TO_POINTER(i + 1));
}

/* The number of ranks: roles together name each from 0 on, once. */
static gboolean check_ranks(const ProgramFile *file, guint32 *ret_ranks, GError **error) {
  g_autoptr(GArray) owners = g_array_new(FALSE, TRUE, sizeof(guint)); /* role + 1, by rank */
  guint32 named = 0;
  for (guint r = 0; r < file->roles->len; r++) {
    const ProgramList *role = program_list_at(file->roles, r);
    guint32 last = g_array_index(role->ranks, guint32, role->ranks->len - 1);
    BasePlace place = {.file = file->file, .line = role->line};
    if (owners->len <= last)
      g_array_set_size(owners, last + 1);
    for (guint i = 0; i < role->ranks->len; i++, named++) {
      guint *owner = &g_array_index(owners, guint, g_array_index(role->ranks, guint32, i));
      if (*owner > 0) {
        base_error_set_at(error, &place, "role %s: rank %u is of role %s already", role->name,
                          g_array_index(role->ranks, guint32, i), program_list_at(file->roles, *owner - 1)->name);
        return FALSE;
      }
      *owner = r + 1;
    }
  }
  for (guint i = 0; named < owners->len && i < owners->len; i++)
    if (g_array_index(owners, guint, i) == 0) {
      BasePlace place = {.file = file->file, .line = program_list_at(file->roles, 0)->line};
      base_error_set_at(error, &place, "rank %u of 0-%u is of no role", i, owners->len - 1);
      return FALSE;
    }
  *ret_ranks = owners->len;
  return TRUE;
}

/* By rank, which of the communicators side by side it is in, PROGRAM_NONE where in none; NULL and an error where ranks
 * are in two. */
static guint32 *find_sides(const ProgramFile *file, const ProgramList *list, guint32 ranks, GError **error) {
  BasePlace place = {.file = file->file, .line = list->line};
  g_autofree guint32 *side_of = g_new(guint32, ranks);
  for (guint32 rank = 0; rank < ranks; rank++)
    side_of[rank] = PROGRAM_NONE;
  for (guint32 i = 0, side = 0; i < list->ranks->len; i++) {
    guint32 rank = g_array_index(list->ranks, guint32, i);
    side += i == g_array_index(list->ends, guint32, side);
    if (side_of[rank] != PROGRAM_NONE) {
      base_error_set_at(error, &place, "communicator %s: rank %u is in two of those side by side", list->name, rank);
      return NULL;
    }
    side_of[rank] = side;
  }
  return g_steal_pointer(&side_of);
}

static gboolean add_communicators(ProgramReader *reader, guint32 ranks, GError **error) {
  for (guint c = 0; c < reader->file->communicators->len; c++) {
    const ProgramList *list = program_list_at(reader->file->communicators, c);
    BasePlace place = {.file = reader->file->file, .line = list->line};
    for (guint i = 0; i < list->ranks->len; i++)
      if (g_array_index(list->ranks, guint32, i) >= ranks) {
        base_error_set_at(error, &place, "communicator %s: there is no rank %u: roles hold 0-%u", list->name,
                          g_array_index(list->ranks, guint32, i), ranks - 1);
        return FALSE;
      }
    if (list->ends->len == 1) {
      program_builder_communicator(reader->builder, list->name, (const guint32 *)(gpointer)list->ranks->data,
                                   list->ranks->len);
      continue;
    }
    g_autofree guint32 *side_of = find_sides(reader->file, list, ranks, error);
    if (side_of == NULL)
      return FALSE;
    program_builder_communicators(reader->builder, list->name, side_of, ranks);
  }
  return TRUE;
}

static const char **words_of(const GArray *lists) {
  const char **words = g_new0(const char *, lists->len + 1);
  for (guint i = 0; i < lists->len; i++)
    words[i] = program_list_at(lists, i)->word;
  return words;
}

/* Rows by role and section. */
static gboolean sort_lines(ProgramReader *reader, GError **error) {
  for (guint i = 0; i < reader->file->lines->len; i++) {
    ProgramLine *line = &g_array_index(reader->file->lines, ProgramLine, i);
    guint32 role = program_reader_index(reader->roles, line->role);
    if (role == PROGRAM_NONE) {
      g_autofree const char **words = words_of(reader->file->roles);
      g_autofree char *advice = base_names_advice(words, line->role);
      return program_reader_fail(reader, line, "role", error, "the head has no such role%s", advice);
    }
    g_ptr_array_add(reader->sections[role * PROGRAM_SECTIONS + (guint32)line->step], line);
  }
  return TRUE;
}

static guint32 find_op(ProgramReader *reader, const ProgramLine *line) {
  guint32 known = program_reader_index(reader->ops, line->op_key);
  if (known != PROGRAM_NONE)
    return known;
  guint32 op = program_builder_timed_op(reader->builder, &line->op, line->duration);
  g_hash_table_insert(reader->ops, (gpointer)line->op_key, GUINT_TO_POINTER(op + 1));
  return op;
}

static gboolean add_row(ProgramReader *reader, const ProgramLine *line, GError **error) {
  guint32 stream;
  program_builder_context(reader->builder, (ProgramPhase)line->phase, line->layer, line->micro);
  if (!program_reader_stream(reader, line, "stream", line->stream, &stream, error))
    return FALSE;
  if ((stream == 0) != (line->kind == PROGRAM_HOST))
    return program_reader_fail(
        reader, line, "stream", error, "a %s row stands on %s, found %s", program_kind_names[line->kind],
        line->kind == PROGRAM_HOST ? "the stream host" : "another stream than host", line->stream);
  if (line->kind == PROGRAM_HOST) {
    program_builder_host(reader->builder, line->name);
  } else if (line->kind == PROGRAM_COMPUTE) {
    program_builder_compute(reader->builder, stream, line->name, find_op(reader, line));
  } else if (line->kind == PROGRAM_COPY) {
    program_builder_copy(reader->builder, stream, line->name, line->bytes, (ProgramPath)line->path);
  } else if (line->kind == PROGRAM_CPU) {
    program_builder_cpu(reader->builder, stream, line->name, line->bytes);
  } else {
    guint32 group = program_reader_index(reader->communicators, line->group);
    CollCall call = {(CollOperation)line->operation, line->bytes};
    if (group == PROGRAM_NONE) {
      g_autofree const char **words = words_of(reader->file->communicators);
      g_autofree char *advice = base_names_advice(words, line->group);
      return program_reader_fail(reader, line, "group", error, "the head has no communicator \"%s\"%s", line->group,
                                 advice);
    }
    program_builder_collective(reader->builder, stream, line->name, group, call, (ProgramHint)line->hint);
  }
  program_builder_cost(reader->builder, line->host);
  return TRUE;
}

static gboolean name_tasks(ProgramReader *reader, GPtrArray *lines, GError **error) {
  g_hash_table_remove_all(reader->tasks);
  for (guint i = 0; i < lines->len; i++) {
    const ProgramLine *line = g_ptr_array_index(lines, i);
    guint32 before = program_reader_index(reader->tasks, line->task);
    if (before != PROGRAM_NONE)
      return program_reader_fail(reader, line, "task", error, "its step has such a task already, on line %u",
                                 ((const ProgramLine *)g_ptr_array_index(lines, before))->number);
    g_hash_table_insert(reader->tasks, (gpointer)line->task, GUINT_TO_POINTER(i + 1));
  }
  return TRUE;
}

/* Gives stand before takes on a row, so that a row may give what it takes again. */
static gboolean add_section(ProgramReader *reader, int section, GError **error) {
  GPtrArray *lines = reader->sections[reader->role * PROGRAM_SECTIONS + (guint32)section];
  program_builder_section(reader->builder, (ProgramSectionKind)section);
  if (!name_tasks(reader, lines, error))
    return FALSE;
  for (guint i = 0; i < lines->len; i++) {
    const ProgramLine *line = g_ptr_array_index(lines, i);
    if (!add_row(reader, line, error) || !program_reader_needs(reader, line, i, lines, error) ||
        !program_reader_gives(reader, line, error) || !program_reader_takes(reader, line, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean add_roles(ProgramReader *reader, GError **error) {
  for (reader->role = 0; reader->role < reader->file->roles->len; reader->role++) {
    const ProgramList *list = program_list_at(reader->file->roles, reader->role);
    program_builder_role_of(reader->builder, list->name, (const guint32 *)(gpointer)list->ranks->data,
                            list->ranks->len);
    g_hash_table_remove_all(reader->tensors);
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      if (!add_section(reader, s, error))
        return FALSE;
  }
  return TRUE;
}

static void reader_init(ProgramReader *reader, const ProgramFile *file) {
  *reader = (ProgramReader){.file = file, .builder = program_builder_new()};
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
  for (guint s = 1; s < file->streams->len; s++)
    program_builder_pool(reader->builder, s, g_array_index(file->pools, guint32, s));
  name_lists(reader->roles, file->roles);
  name_lists(reader->communicators, file->communicators);
}

static void reader_clear(ProgramReader *reader) {
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

static gboolean check(const ProgramReader *reader, const Program *program, GError **error) {
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
  if (!check_ranks(file, &ranks, error))
    return NULL;
  ProgramReader reader;
  reader_init(&reader, file);
  g_autoptr(Program) program = NULL;
  const ProgramHead *head = &file->head;
  if (add_communicators(&reader, ranks, error) && sort_lines(&reader, error) && add_roles(&reader, error)) {
    program_builder_facts(reader.builder, head->tokens, head->model_flops, head->hardware_flops, head->dtype);
    program = program_builder_end(g_steal_pointer(&reader.builder));
  }
  gboolean good = program != NULL && check(&reader, program, error);
  reader_clear(&reader);
  return good ? g_steal_pointer(&program) : NULL;
}
