/* SPDX-License-Identifier: MIT */
/* A Program's rows kept with the units that they were walked over, and filled with other sizes.
 *
 *   walk ── rows ──────────────────────────────► the source's, shared
 *        └─ units ── alike? ── tensors' bytes ─► Program tensors, by place
 *                           └─ kernels ────────► Program operations */
#include "plan-form.h"

#include "model-host.h"
#include "plan-outputs.h"
#include "plan-step.h"

/* A Program tensor, and which of which unit's it is. */
typedef struct {
  guint32 tensor;
  guint8 training, kind;
  guint16 of;
} Place;

struct PlanForm {
  Program *program;
  PlanWalk *walk; /* whose units have the sizes of the last one filled */
  BaseVector places;
};

static gboolean exchanges_nothing(const ModelOp *ops, guint n) {
  for (guint i = 0; i < n; i++)
    if (ops[i].exchange.kind != MODEL_EXCHANGE_NONE)
      return FALSE;
  return TRUE;
}

/* Whether sizes stand in tensors and operations alone. */
static gboolean suits(const PlanWalk *walk) {
  if (walk->holding->n_places != 1 || plan_schedule_splits(walk->recipe->axes.schedule))
    return FALSE;
  for (guint32 u = 0; u < walk->n_units; u++) {
    const ModelUnit *unit = walk->units[u].unit;
    if (unit->n_keeping > 0 || !exchanges_nothing(unit->forward, unit->n_forward) ||
        !exchanges_nothing(unit->backward, unit->n_backward))
      return FALSE;
  }
  return TRUE;
}

static void add_places(PlanForm *form, const PlanWalk *walk) {
  for (guint32 u = 0; u < walk->n_units; u++) {
    const PlanUnit *unit = &walk->units[u];
    for (guint t = 0; t < unit->unit->n_tensors; t++)
      if (plan_walk_owns(walk, u, t))
        *(Place *)base_vector_next(&form->places, sizeof(Place)) =
            (Place){*plan_walk_tensor(walk, u, t), (guint8)unit->training, (guint8)unit->unit->kind, (guint16)t};
  }
}

PlanForm *plan_form_of_walk(PlanWalk *walk) {
  if (!suits(walk))
    return NULL;
  PlanForm *form = g_new0(PlanForm, 1);
  form->walk = walk;
  add_places(form, walk);
  return form;
}

Program *plan_form_new(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe,
                       PlanForm **ret_form) {
  PlanCase what = {shape, model_recipe, recipe, FALSE};
  *ret_form = NULL;
  Program *program = plan_step_formed(&what, plan_policies[recipe->framework].hooks, ret_form);
  if (*ret_form != NULL)
    (*ret_form)->program = program_hold(program);
  return program;
}

void plan_form_free(PlanForm *form) {
  if (form == NULL)
    return;
  program_free(form->program);
  plan_walk_free(form->walk);
  g_free(form->places.data);
  g_free(form);
}

static gboolean hosts_alike(const ModelOp *a, const ModelOp *b, guint n, const struct HwHost *host) {
  for (guint i = 0; i < n; i++)
    if (model_op_host(&a[i], host) != model_op_host(&b[i], host))
      return FALSE;
  return TRUE;
}

/* The unit at the case's sizes, in place of the walk's; NULL: it is not like that. */
static ModelUnit *resize(const PlanWalk *walk, const PlanCase *what, int training, int kind) {
  const ModelUnit *known = walk->kinds[training][kind];
  g_autoptr(ModelUnit) unit = plan_walk_kind(walk, what, (ModelTraining)training, (ModelUnitKind)kind);
  gboolean alike = model_unit_alike(unit, known) &&
                   hosts_alike(unit->forward, known->forward, known->n_forward, what->recipe->host) &&
                   hosts_alike(unit->backward, known->backward, known->n_backward, what->recipe->host);
  return alike ? g_steal_pointer(&unit) : NULL;
}

/* FALSE: some unit is not alike; the walk then has units of both sizes, which are alike. */
static gboolean resize_all(PlanWalk *walk, const PlanCase *what) {
  for (int training = 0; training < MODEL_TRAININGS; training++)
    for (int kind = 0; kind < MODEL_UNIT_VARIANTS; kind++) {
      if (walk->kinds[training][kind] == NULL)
        continue;
      ModelUnit *unit = resize(walk, what, training, kind);
      if (unit == NULL)
        return FALSE;
      model_unit_free(walk->kinds[training][kind]);
      walk->kinds[training][kind] = unit;
    }
  return TRUE;
}

static void fill_ops(const ModelOp *ops, guint n, const guint32 *of, Program *program) {
  for (guint i = 0; i < n; i++)
    program_set_op(program, of[i], ops[i].kernel);
}

static void fill(const PlanForm *form, Program *program) {
  const PlanWalk *walk = form->walk;
  const Place *places = form->places.data;
  for (guint32 i = 0; i < form->places.n; i++) {
    ProgramTensor *tensor = &program->tensors[places[i].tensor];
    tensor->bytes = walk->kinds[places[i].training][places[i].kind]->tensors[places[i].of].bytes;
    tensor->unique_bytes = tensor->bytes;
  }
  for (int training = 0; training < MODEL_TRAININGS; training++)
    for (int kind = 0; kind < MODEL_UNIT_VARIANTS; kind++) {
      const ModelUnit *unit = walk->kinds[training][kind];
      if (unit == NULL)
        continue;
      fill_ops(unit->forward, unit->n_forward, walk->forward_ops[training][kind], program);
      fill_ops(unit->backward, unit->n_backward, walk->backward_ops[training][kind], program);
    }
}

Program *plan_form_program(PlanForm *form, const ModelShape *shape, const ModelRecipe *model_recipe,
                           const PlanRecipe *recipe) {
  PlanCase what = {shape, model_recipe, recipe, FALSE};
  PlanWalk *walk = form->walk;
  gboolean alike = resize_all(walk, &what);
  for (guint32 u = 0; u < walk->n_units; u++)
    walk->units[u].unit = walk->kinds[walk->units[u].training][walk->units[u].kind];
  if (!alike)
    return NULL;
  Program *program = program_like(form->program);
  fill(form, program);
  double model, hardware;
  plan_walk_flops(walk, &model, &hardware);
  plan_step_facts(&what, model, hardware, program);
  return program;
}
