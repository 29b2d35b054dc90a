/* SPDX-License-Identifier: MIT */
/* A Program's section as text: the unit of each row, and the rows it waits for. */
#include "plan-picture.h"

#include <string.h>

typedef struct {
  const Program *program;
  const ProgramSection *section;
  const char **labels; /* by row */
  guint32 *lines;      /* by row, from 1 */
} Picture;

/* A row of the model itself, not of the policy. */
static gboolean picture_is_operation(const ProgramRow *row) {
  static const char *const policy[] = {"copy out",
                                       "join gradients",
                                       "cast gradients",
                                       "accumulate gradient",
                                       "accumulate gradients",
                                       "keep a smaller shard",
                                       "add to fp32 gradients",
                                       NULL};
  return row->kind == PROGRAM_COMPUTE && !g_strv_contains(policy, row->name) &&
         (row->phase == PROGRAM_FORWARD || row->phase == PROGRAM_BACKWARD || row->phase == PROGRAM_RECOMPUTE);
}

/* The unit a row belongs to: by its layer, its name, a tensor that it takes, or what it waits for. */
static const char *picture_label(Picture *picture, const ProgramRow *row) {
  const ProgramSection *section = picture->section;
  if (row->layer >= 0) {
    g_autofree char *label = g_strdup_printf("layer%d", row->layer);
    return g_intern_string(label);
  }
  if (g_str_has_prefix(row->name, "add to ") && row > section->rows) /* a gradient to those before it */
    return picture->labels[row - section->rows - 1];
  if (picture_is_operation(row))
    return strstr(row->name, "embed") != NULL ? "embedding" : "head";
  if (row->n_takes > 0) {
    const char *tensor = picture->program->tensors[section->takes[row->takes]].name;
    g_autofree char *label = g_strndup(tensor, strcspn(tensor, "."));
    return g_intern_string(label);
  }
  return row->n_needs > 0 ? picture->labels[section->needs[row->needs]] : "";
}

static void picture_needs(const Picture *picture, guint32 first, guint32 end, GString *text) {
  const ProgramSection *section = picture->section;
  g_autoptr(GHashTable) told = g_hash_table_new(NULL, NULL);
  const char *before = " <- ";
  for (guint32 i = first; i < end; i++)
    for (guint32 k = 0; k < section->rows[i].n_needs; k++) {
      guint32 line = picture->lines[section->needs[section->rows[i].needs + k]];
      if (line == picture->lines[first] || !g_hash_table_add(told, GUINT_TO_POINTER(line)))
        continue;
      g_string_append_printf(text, "%s%u", before, line);
      before = ",";
    }
  g_string_append_c(text, '\n');
}

char *picture_of(const Program *program, ProgramSectionKind kind) {
  const ProgramSection *section = &program->roles[0].sections[kind];
  g_autofree const char **labels = g_new0(const char *, section->n_rows);
  g_autofree guint32 *lines = g_new0(guint32, section->n_rows);
  Picture picture = {program, section, labels, lines};
  GString *text = g_string_new(NULL);
  guint32 line = 0;
  for (guint32 first = 0, end; first < section->n_rows; first = end) {
    const ProgramRow *row = &section->rows[first];
    gboolean operation = picture_is_operation(row);
    labels[first] = picture_label(&picture, row);
    end = first + 1;
    if (row->kind == PROGRAM_HOST && row->n_needs == 0)
      continue;
    lines[first] = ++line;
    for (; operation && end < section->n_rows && picture_is_operation(&section->rows[end]); end++) {
      labels[end] = picture_label(&picture, &section->rows[end]);
      if (section->rows[end].phase != row->phase || strcmp(labels[end], labels[first]) != 0)
        break;
      lines[end] = line;
    }
    g_string_append_printf(text, "%u %s: %s", line, program->streams[row->stream],
                           operation ? program_phase_names[row->phase] : row->name);
    if (labels[first][0] != '\0' && row->kind != PROGRAM_HOST)
      g_string_append_printf(text, "(%s)", labels[first]);
    picture_needs(&picture, first, end, text);
  }
  return g_string_free(text, FALSE);
}
