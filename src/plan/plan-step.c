/* Sections, passes and units in the order of the host, and the hooks around them. */
#include "plan-step.h"

#include "model-host.h"

typedef struct {
  PlanWalk *walk;
  const PlanHooks *hooks;
  gpointer policy;
  GArray *chunks; /* PlanChunk */
  GArray *passes; /* PlanPassStep */
} Role;

static void call(const Role *role, void (*hook)(gpointer policy)) {
  if (hook != NULL)
    hook(role->policy);
}

/* ---- The schedule `single` ---- */

static void add_single(Role *role, guint32 micro_batches) {
  PlanChunk all = {0, role->walk->n_units - 1};
  g_array_append_val(role->chunks, all);
  for (guint32 micro = 0; micro < micro_batches; micro++) {
    PlanPassStep passes[] = {{PLAN_PASS_FORWARD, 0, micro}, {PLAN_PASS_BACKWARD, 0, micro}};
    g_array_append_vals(role->passes, passes, G_N_ELEMENTS(passes));
  }
}

/* ---- Passes ---- */

static void play_unit(const Role *role, guint32 unit, PlanPass pass) {
  if (role->hooks->before_unit != NULL)
    role->hooks->before_unit(role->policy, unit, pass);
  if (pass == PLAN_FORWARD)
    plan_walk_forward(role->walk, unit);
  else
    plan_walk_backward(role->walk, unit);
  if (role->hooks->after_unit != NULL)
    role->hooks->after_unit(role->policy, unit, pass);
}

static void play_forward(const Role *role, const PlanChunk *chunk) {
  for (guint32 u = chunk->first; u <= chunk->last; u++)
    play_unit(role, u, PLAN_FORWARD);
  call(role, role->hooks->forward_ended);
}

static void play_backward(const Role *role, const PlanChunk *chunk) {
  for (guint32 u = chunk->last + 1; u-- > chunk->first;)
    play_unit(role, u, PLAN_BACKWARD);
  call(role, role->hooks->backward_ended);
}

static void play_pass(const Role *role, const PlanPassStep *pass) {
  const PlanChunk *chunk = &g_array_index(role->chunks, PlanChunk, pass->chunk);
  gboolean forward = pass->kind == PLAN_PASS_FORWARD;
  role->walk->micro = pass->micro;
  if (forward && pass->chunk == 0)
    call(role, role->hooks->micro_batch);
  if (forward)
    play_forward(role, chunk);
  else
    play_backward(role, chunk);
}

void plan_step_micro_batch(PlanWalk *walk, ProgramPhase phase) {
  program_builder_context(walk->builder, phase, -1, (gint32)walk->micro);
  plan_walk_host(walk, "micro-batch");
  program_builder_cost(walk->builder, model_host_cost(walk->host, MODEL_HOST_MICRO_BATCH));
}

/* ---- Sections ---- */

static void begin(const Role *role) {
  call(role, role->hooks->section);
  program_builder_context(role->walk->builder, PROGRAM_SETUP, -1, -1);
  if (role->walk->section == PROGRAM_FIRST) {
    plan_walk_host(role->walk, "load the model");
    call(role, role->hooks->load);
  }
  call(role, role->hooks->step_begins);
}

static void end(const Role *role) {
  PlanWalk *walk = role->walk;
  program_builder_context(walk->builder, PROGRAM_OPTIMIZER, -1, -1);
  call(role, role->hooks->optimizer);
  program_builder_context(walk->builder, PROGRAM_OPTIMIZER, -1, -1);
  plan_walk_host(walk, "end of step");
  program_builder_need(walk->builder, walk->last);
  call(role, role->hooks->step_ended);
}

static void play_section(const Role *role, ProgramSectionKind section) {
  plan_walk_section(role->walk, section);
  begin(role);
  for (guint i = 0; i < role->passes->len; i++)
    play_pass(role, &g_array_index(role->passes, PlanPassStep, i));
  end(role);
}

/* ---- Roles ---- */

static void role_clear(Role *role) {
  role->hooks->clear(role->policy);
  g_free(role->policy);
  g_array_unref(role->chunks);
  g_array_unref(role->passes);
  plan_walk_free(role->walk);
}

static void add_role(ProgramBuilder *builder, const PlanCase *what, const PlanHooks *hooks) {
  Role role = {.hooks = hooks, .policy = g_malloc0(hooks->size)};
  guint32 compute = program_builder_stream(builder, "compute");
  program_builder_role(builder, "rank", what->recipe->ranks);
  role.walk = plan_walk_new(builder, what->shape, what->model, what->recipe, compute);
  role.walk->hooks = hooks;
  role.walk->policy = role.policy;
  role.chunks = g_array_new(FALSE, FALSE, sizeof(PlanChunk));
  role.passes = g_array_new(FALSE, FALSE, sizeof(PlanPassStep));
  add_single(&role, (guint32)plan_recipe_micro_batches(what->recipe));
  hooks->set_up(role.policy, role.walk, what);
  play_section(&role, PROGRAM_FIRST);
  play_section(&role, PROGRAM_STEADY);
  plan_walk_facts(role.walk, what->model);
  role_clear(&role);
}

Program *plan_step_program(const PlanCase *what, const PlanHooks *hooks) {
  ProgramBuilder *builder = program_builder_new();
  add_role(builder, what, hooks);
  return program_builder_end(builder);
}
