/* SPDX-License-Identifier: MIT */
/* Programs from a few settings, and their rows condensed to nodes of a graph. */
#include "plan-case.h"

#include <string.h>

#include "golden.h"
#include "program-trace.h"

void plan_case_shape(const PlanShape *from, ModelShape *ret) {
  *ret = (ModelShape){.family = MODEL_LLAMA,
                      .layers = from->layers,
                      .hidden_size = from->hidden_size,
                      .heads = 1,
                      .kv_heads = 1,
                      .head_dim = from->hidden_size,
                      .intermediate_size = from->intermediate_size,
                      .vocab_size = from->vocab_size,
                      .tied_embeddings = from->tied};
}

gboolean plan_case_load(const ModelShape *shape, guint32 ranks, guint32 per_node, const char *const *assignments,
                        ModelRecipe *model, PlanRecipe *ret, GError **error) {
  ConfSchema schemas[2 + PLAN_SCHEMAS_MOST] = {model_shape_schema, model_recipe_schema};
  gsize n = 2 + plan_schemas(schemas + 2, PLAN_SCHEMAS_MOST);
  g_autoptr(ConfSettings) settings = conf_settings_new(schemas, n);
  if (!conf_settings_set(settings, "training.sequence_length=64", error))
    return FALSE;
  for (; *assignments != NULL; assignments++)
    if (!conf_settings_set(settings, *assignments, error))
      return FALSE;
  return model_recipe_load(settings, model, error) &&
         plan_recipe_load(settings, &(PlanPlace){ranks, per_node, NULL, 0}, shape, model, ret, error);
}

gboolean plan_case_recipe(guint32 ranks, guint32 per_node, const char *const *assignments, PlanRecipe *ret,
                          GError **error) {
  ModelShape shape;
  ModelRecipe model;
  plan_case_shape(&(PlanShape){.layers = 3, .hidden_size = 64, .intermediate_size = 128, .vocab_size = 641}, &shape);
  return plan_case_load(&shape, ranks, per_node, assignments, &model, ret, error);
}

Program *plan_case(const PlanShape *shape, guint32 ranks, guint32 per_node, const char *const *assignments) {
  ModelShape model;
  ModelRecipe model_recipe;
  PlanRecipe recipe;
  g_autoptr(GError) error = NULL;
  plan_case_shape(shape, &model);
  if (!plan_case_load(&model, ranks, per_node, assignments, &model_recipe, &recipe, &error))
    g_error("a recipe was refused: %s", error->message);
  return plan_program(&model, &model_recipe, &recipe);
}

void plan_case_plays(const Program *program, const char *settings) {
  ProgramOrigin origin = {0}, read_origin;
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(GError) error = NULL;
  program_trace_write(program, &origin, NULL, text);
  g_autoptr(Program) read = program_trace_read("a", text->str, text->len, &read_origin, &error);
  CU_ASSERT_PTR_NOT_NULL(read);
  if (read != NULL)
    program_origin_clear(&read_origin);
  else
    printf("\n    %s: %s\n", settings, error->message);
}

/* ---- Condensed rows ---- */

typedef struct {
  GString *text;
  const Program *program;
  const ProgramSection *section;
  guint *node; /* of each row */
  guint n;
} PlanDag;

static gboolean plan_dag_is_model(const ProgramRow *row) {
  return row->kind == PROGRAM_COMPUTE &&
         (row->phase == PROGRAM_FORWARD || row->phase == PROGRAM_BACKWARD || row->phase == PROGRAM_RECOMPUTE);
}

/* Model rows of one pass over one layer are one node, as long as none waits; copies of single
 * gradients into buckets are left out, unless compute (stream 1) waits for something before it makes one. */
static gboolean plan_dag_joins(const ProgramRow *a, const ProgramRow *b) {
  if (strcmp(b->name, "copy into bucket") == 0 && (b->n_needs == 0 || b->stream != 1))
    return TRUE;
  return a != NULL && plan_dag_is_model(a) && plan_dag_is_model(b) && a->phase == b->phase && a->layer == b->layer &&
         a->micro == b->micro && b->n_needs == 0;
}

static void plan_dag_name(const PlanDag *dag, const ProgramRow *row) {
  static const char letters[PROGRAM_PHASES] = {
      [PROGRAM_FORWARD] = 'F', [PROGRAM_BACKWARD] = 'B', [PROGRAM_RECOMPUTE] = 'R'};
  g_string_append_printf(dag->text, "%s ", dag->program->streams[row->stream]);
  if (plan_dag_is_model(row))
    g_string_append_printf(dag->text, "%c%d", letters[row->phase], row->layer);
  else
    g_string_append(dag->text, row->name);
  if (row->kind == PROGRAM_COLLECTIVE)
    g_string_append_printf(dag->text, " %" G_GUINT64_FORMAT, row->call.bytes);
}

/* Each node on a line, "ID STREAM NAME < nodes it waits for": waits that the order of a stream implies are left out. */
static char *plan_case_dag(const Program *program, ProgramSectionKind kind) {
  PlanDag dag = {.text = g_string_new(NULL), .program = program, .section = &program->roles[0].sections[kind]};
  const ProgramRow *last = NULL;
  dag.node = g_new0(guint, dag.section->n_rows);
  for (guint32 i = 0; i < dag.section->n_rows; i++) {
    const ProgramRow *row = &dag.section->rows[i];
    if (plan_dag_joins(last, row)) {
      dag.node[i] = dag.n - 1;
      continue;
    }
    last = row;
    dag.node[i] = dag.n++;
    g_string_append_printf(dag.text, "%s%u ", i > 0 ? "\n" : "", dag.node[i]);
    plan_dag_name(&dag, row);
    for (guint32 k = 0; k < row->n_needs; k++)
      g_string_append_printf(dag.text, "%s%u", k == 0 ? " < " : ",", dag.node[dag.section->needs[row->needs + k]]);
  }
  g_free(dag.node);
  g_string_append_c(dag.text, '\n');
  return g_string_free(dag.text, FALSE);
}

void plan_case_expect(const Program *program, ProgramSectionKind kind, const char *golden) {
  g_autofree char *found = plan_case_dag(program, kind);
  CU_ASSERT_TRUE(golden_holds(golden, found));
}
