/* SPDX-License-Identifier: MIT */
/* Roles as rows of words: equal words, equal shape. */
#include "fold-role.h"

#include "fold-palette.h"

typedef struct {
  const Program *program;
  GArray *words;     /* guint64: of the role at hand */
  GArray *slots;     /* guint32: of all roles */
  guint first;       /* slot of the role at hand */
  guint32 *known;    /* tensor → its number in the role at hand, from 1 */
  GArray *tensors;   /* guint32: those that have one */
  GHashTable *names; /* of tensors: their numbers, from 1 */
} Writer;

static void word(Writer *writer, guint64 value) {
  g_array_append_val(writer->words, value);
}

static guint32 number_of(Writer *writer, guint32 slot) {
  for (guint i = writer->first; i < writer->slots->len; i++)
    if (g_array_index(writer->slots, guint32, i) == slot)
      return i - writer->first;
  g_array_append_val(writer->slots, slot);
  return writer->slots->len - 1 - writer->first;
}

static guint64 name_of(Writer *writer, const char *name) {
  gsize number = GPOINTER_TO_SIZE(g_hash_table_lookup(writer->names, name));
  if (number == 0) {
    number = g_hash_table_size(writer->names) + 1;
    g_hash_table_insert(writer->names, (gpointer)name, GSIZE_TO_POINTER(number));
  }
  return number;
}

/* By number; the first time also what it is. Names of rows are kept once each, so that equal ones are one pointer,
 * names of tensors are not. */
static void write_tensor(Writer *writer, guint32 index) {
  const ProgramTensor *tensor = &writer->program->tensors[index];
  if (writer->known[index] > 0) {
    word(writer, writer->known[index]);
    return;
  }
  g_array_append_val(writer->tensors, index);
  writer->known[index] = writer->tensors->len;
  word(writer, 0);
  word(writer, name_of(writer, tensor->name));
  word(writer, tensor->tenant);
  word(writer, tensor->bytes);
  word(writer, tensor->unique_bytes);
  word(writer, tensor->managed);
}

static void write_row(Writer *writer, const ProgramSection *section, const ProgramRow *row) {
  word(writer, GPOINTER_TO_SIZE(row->name));
  word(writer, (guint64)row->kind << 48 | (guint64)row->phase << 40 | (guint64)row->hint << 32 | row->stream);
  word(writer, (guint64)(guint32)row->layer << 32 | (guint32)row->micro);
  word(writer, (guint64)row->op << 32 | (row->group == PROGRAM_NONE ? PROGRAM_NONE : number_of(writer, row->group)));
  word(writer, row->kind == PROGRAM_COLLECTIVE ? row->call.operation : 0);
  word(writer, row->kind == PROGRAM_COMPUTE || row->kind == PROGRAM_HOST ? 0 : row->call.bytes);
  word(writer, (guint64)row->host);
  word(writer, (guint64)row->n_needs << 32 | row->n_gives);
  word(writer, row->n_takes);
  for (guint32 i = 0; i < row->n_needs; i++)
    word(writer, section->needs[row->needs + i]);
  for (guint32 i = 0; i < row->n_gives; i++) {
    write_tensor(writer, section->gives[row->gives + i].tensor);
    word(writer, section->gives[row->gives + i].stream);
  }
  for (guint32 i = 0; i < row->n_takes; i++)
    write_tensor(writer, section->takes[row->takes + i]);
}

static void write_role(Writer *writer, const ProgramRole *role) {
  g_array_set_size(writer->words, 0);
  writer->first = writer->slots->len;
  for (int s = 0; s < PROGRAM_SECTIONS; s++) {
    const ProgramSection *section = &role->sections[s];
    word(writer, section->n_rows);
    for (guint32 i = 0; i < section->n_rows; i++)
      write_row(writer, section, &section->rows[i]);
  }
  for (guint i = 0; i < writer->tensors->len; i++)
    writer->known[g_array_index(writer->tensors, guint32, i)] = 0;
  g_array_set_size(writer->tensors, 0);
}

/* ---- Roles that differ at first sight ---- */

#define FIRST_ROWS 256

static guint64 mix(guint64 hash, guint64 value) {
  return (hash ^ value) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15) ^ hash >> 29;
}

/* Of equal roles equal: of how many rows they are, and what the first of them are. */
static guint64 outline_of(const ProgramRole *role) {
  const ProgramSection *first = &role->sections[PROGRAM_FIRST];
  guint64 hash = mix(first->n_rows, role->sections[PROGRAM_STEADY].n_rows);
  for (guint32 i = 0; i < MIN(first->n_rows, FIRST_ROWS); i++) {
    const ProgramRow *row = &first->rows[i];
    hash = mix(hash, (guint64)row->kind << 40 | (guint64)row->phase << 32 | row->stream);
    hash = mix(hash, (guint64)(guint32)row->layer << 32 | (guint32)row->micro);
  }
  return hash;
}

/* By role: no other has its outline. */
static gboolean *find_alone(const Program *program) {
  g_autoptr(GHashTable) counts = g_hash_table_new(g_int64_hash, g_int64_equal);
  g_autofree gint64 *outlines = g_new(gint64, program->n_roles);
  gboolean *alone = g_new0(gboolean, program->n_roles);
  for (guint32 i = 0; i < program->n_roles; i++) {
    outlines[i] = (gint64)outline_of(&program->roles[i]);
    gsize count = GPOINTER_TO_SIZE(g_hash_table_lookup(counts, &outlines[i]));
    g_hash_table_insert(counts, &outlines[i], GSIZE_TO_POINTER(count + 1));
  }
  for (guint32 i = 0; i < program->n_roles; i++)
    alone[i] = GPOINTER_TO_SIZE(g_hash_table_lookup(counts, &outlines[i])) == 1;
  return alone;
}

/* Such a role has a shape of its own; of its rows the slots that they name are all that is asked for. */
static void write_alone(Writer *writer, guint32 index) {
  const ProgramRole *role = &writer->program->roles[index];
  g_array_set_size(writer->words, 0);
  writer->first = writer->slots->len;
  word(writer, G_MAXUINT64); /* the first word of others counts rows */
  word(writer, index);
  for (int s = 0; s < PROGRAM_SECTIONS; s++)
    for (guint32 i = 0; i < role->sections[s].n_rows; i++)
      if (role->sections[s].rows[i].group != PROGRAM_NONE)
        number_of(writer, role->sections[s].rows[i].group);
}

void fold_roles_init(FoldRoles *roles, const Program *program) {
  Writer writer = {.program = program,
                   .words = g_array_new(FALSE, FALSE, sizeof(guint64)),
                   .slots = g_array_new(FALSE, FALSE, sizeof(guint32)),
                   .known = g_new0(guint32, program->n_tensors),
                   .tensors = g_array_new(FALSE, FALSE, sizeof(guint32)),
                   .names = g_hash_table_new(g_str_hash, g_str_equal)};
  g_autofree gboolean *alone = find_alone(program);
  FoldPalette palette;
  fold_palette_init(&palette);
  roles->shapes = g_new(guint32, program->n_roles);
  roles->offsets = g_new0(guint32, program->n_roles + 1);
  for (guint32 i = 0; i < program->n_roles; i++) {
    if (alone[i])
      write_alone(&writer, i);
    else
      write_role(&writer, &program->roles[i]);
    roles->shapes[i] = fold_palette_colour(&palette, (const guint64 *)(gpointer)writer.words->data, writer.words->len);
    roles->offsets[i + 1] = writer.slots->len;
  }
  roles->slots = (guint32 *)(gpointer)g_array_free(writer.slots, FALSE);
  g_array_unref(writer.words);
  g_array_unref(writer.tensors);
  g_hash_table_unref(writer.names);
  g_free(writer.known);
  fold_palette_clear(&palette);
}

void fold_roles_clear(FoldRoles *roles) {
  g_free(roles->shapes);
  g_free(roles->offsets);
  g_free(roles->slots);
}

guint32 fold_roles_slot(const FoldRoles *roles, guint32 role, guint32 slot) {
  for (guint32 i = roles->offsets[role]; i < roles->offsets[role + 1]; i++)
    if (roles->slots[i] == slot)
      return i - roles->offsets[role] + 1;
  return 0;
}
