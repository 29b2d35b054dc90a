/* SPDX-License-Identifier: MIT */
/* Programs over axes, and what their rows are. */
#include "axes-case.h"

#include <string.h>

#include "program-trace.h"

static void shape_of(guint64 layers, gboolean tied, ModelShape *ret) {
  plan_case_shape(&(PlanShape){layers, 256, 512, 640, tied}, ret);
  ret->heads = ret->kv_heads = 8;
  ret->head_dim = 32;
}

static Program *program_of(const ModelShape *shape, guint32 ranks, const char *const *assignments,
                           void (*change)(PlanRecipe *recipe)) {
  ModelRecipe model;
  PlanRecipe recipe;
  g_autoptr(GError) error = NULL;
  if (!plan_case_load(shape, ranks, 8, assignments, &model, &recipe, &error))
    g_error("a recipe was refused: %s", error->message);
  if (change != NULL)
    change(&recipe);
  return plan_program(shape, &model, &recipe);
}

Program *axes_case(guint64 layers, gboolean tied, guint32 ranks, const char *const *assignments) {
  ModelShape shape;
  shape_of(layers, tied, &shape);
  return program_of(&shape, ranks, assignments, NULL);
}

Program *axes_case_changed(guint64 layers, guint32 ranks, const char *const *assignments,
                           void (*change)(PlanRecipe *recipe)) {
  ModelShape shape;
  shape_of(layers, FALSE, &shape);
  return program_of(&shape, ranks, assignments, change);
}

gboolean axes_case_plays(const Program *program) {
  ProgramOrigin origin = {0}, read_origin = {0};
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(GError) error = NULL;
  program_trace_write(program, &origin, NULL, text);
  g_autoptr(Program) read = program_trace_read("a", text->str, text->len, &read_origin, &error);
  if (read == NULL)
    fprintf(stderr, "it does not play: %s\n", error->message);
  else
    program_origin_clear(&read_origin);
  return read != NULL;
}

guint axes_case_rows(const ProgramSection *section, const char *name) {
  guint n = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    n += strcmp(section->rows[i].name, name) == 0;
  return n;
}

gint axes_case_first(const ProgramSection *section, const char *name) {
  for (guint32 i = 0; i < section->n_rows; i++)
    if (strcmp(section->rows[i].name, name) == 0)
      return (gint)i;
  return -1;
}

gint axes_case_last(const ProgramSection *section, const char *name) {
  for (guint32 i = section->n_rows; i-- > 0;)
    if (strcmp(section->rows[i].name, name) == 0)
      return (gint)i;
  return -1;
}

guint64 axes_case_bytes(const ProgramSection *section, const char *name) {
  guint64 bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].kind == PROGRAM_COLLECTIVE && strcmp(section->rows[i].name, name) == 0)
      bytes += section->rows[i].call.bytes;
  return bytes;
}

gint32 axes_case_layers(const ProgramSection *section) {
  gint32 first = G_MAXINT32, last = -1;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (row->kind != PROGRAM_COMPUTE || row->phase != PROGRAM_FORWARD || row->layer < 0)
      continue;
    first = MIN(first, row->layer);
    last = MAX(last, row->layer);
  }
  return last < 0 ? 0 : last - first + 1;
}

guint32 axes_case_group(const Program *program, guint32 role, const char *name) {
  const ProgramSection *section = &program->roles[role].sections[PROGRAM_STEADY];
  gint row = axes_case_first(section, name);
  CU_ASSERT_TRUE_FATAL(row >= 0);
  guint32 rank = 0;
  while (program->ranks[rank].role != role)
    rank++;
  guint32 group = program_group(program, rank, section->rows[row].group);
  return program->communicators[group].n_ranks;
}

void axes_case_refuse(const char *framework, const char *stage, const AxesRefusal *rows, gsize n) {
  ModelShape shape;
  shape_of(7, FALSE, &shape);
  for (gsize i = 0; i < n; i++) {
    const char *sets[G_N_ELEMENTS(rows->sets) + 3] = {framework, stage};
    ModelRecipe model;
    PlanRecipe recipe;
    GError *error = NULL;
    for (gsize k = 0; k < G_N_ELEMENTS(rows->sets) && rows[i].sets[k] != NULL; k++)
      sets[k + 2] = rows[i].sets[k];
    gboolean taken = plan_case_load(&shape, 8, 8, sets, &model, &recipe, &error);
    CU_ASSERT_EQUAL(taken, rows[i].fragment == NULL);
    if (taken == (rows[i].fragment == NULL) && taken)
      continue;
    gboolean named = rows[i].fragment != NULL && error != NULL && strstr(error->message, rows[i].fragment) != NULL;
    CU_ASSERT_TRUE(named);
    if (!named)
      fprintf(stderr, "row %u: %s\n", (guint)i, error != NULL ? error->message : "taken");
    g_clear_error(&error);
  }
}
