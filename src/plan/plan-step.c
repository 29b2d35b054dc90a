/* SPDX-License-Identifier: MIT */
/* Sections, passes and units in the order of the host, and the hooks around them. */
#include "plan-step.h"

#include "mem-tenant.h"
#include "model-host.h"
#include "model-samples.h"
#include "plan-axes.h"
#include "plan-groups.h"
#include "plan-halves.h"
#include "plan-lives.h"
#include "plan-metrics.h"
#include "plan-outputs.h"
#include "plan-transfer.h"

/* What all roles share. */
typedef struct {
  ProgramBuilder *builder;
  const PlanCase *what;
  const PlanHooks *hooks;
  PlanScheduleShape shape;
  PlanHolding **holdings;             /* by pipeline rank */
  double model_flops, hardware_flops; /* of one micro-batch, on all roles */
  gboolean formed;                    /* its form is wanted, */
  PlanForm *form;                     /* and found; NULL: it has none */
} Step;

typedef struct {
  PlanWalk *walk;
  const PlanHooks *hooks;
  gpointer policy;
  PlanTransfers transfers;
  PlanMetrics metrics;
  PlanOutputs outputs;
} Role;

static void call(const Role *role, void (*hook)(gpointer policy)) {
  if (hook != NULL)
    hook(role->policy);
}

/* ---- Passes ---- */

static void play_unit(Role *role, guint32 unit, PlanPass pass) {
  if (role->hooks->before_unit != NULL)
    role->hooks->before_unit(role->policy, unit, pass);
  static void (*const plays[])(PlanWalk * walk, guint32 unit) = {[PLAN_FORWARD] = plan_walk_forward,
                                                                 [PLAN_BACKWARD] = plan_walk_backward,
                                                                 [PLAN_BACKWARD_INPUTS] = plan_halves_inputs,
                                                                 [PLAN_BACKWARD_WEIGHTS] = plan_halves_weights};
  plays[pass](role->walk, unit);
  if (role->hooks->after_unit != NULL)
    role->hooks->after_unit(role->policy, unit, pass);
  if (pass == PLAN_FORWARD)
    plan_outputs_forward(&role->outputs, unit);
  else if (pass == PLAN_BACKWARD)
    plan_outputs_backward(&role->outputs, unit);
}

static void play_forward(Role *role, const PlanChunk *chunk) {
  for (guint32 u = chunk->first; u < chunk->first + chunk->n; u++)
    play_unit(role, u, PLAN_FORWARD);
  plan_outputs_returned(&role->outputs);
  call(role, role->hooks->forward_ended);
}

static void play_backward(Role *role, const PlanChunk *chunk) {
  for (guint32 u = chunk->first + chunk->n; u-- > chunk->first;)
    play_unit(role, u, PLAN_BACKWARD);
  call(role, role->hooks->backward_ended);
}

static void play_inputs(Role *role, const PlanChunk *chunk) {
  for (guint32 u = chunk->first + chunk->n; u-- > chunk->first;)
    play_unit(role, u, PLAN_BACKWARD_INPUTS);
  call(role, role->hooks->inputs_ended);
}

/* In the order of parameters. */
static void play_weights(Role *role, const PlanChunk *chunk) {
  for (guint32 u = chunk->first; u < chunk->first + chunk->n; u++)
    play_unit(role, u, PLAN_BACKWARD_WEIGHTS);
  for (guint32 u = chunk->first; u < chunk->first + chunk->n; u++)
    plan_halves_end(role->walk, u);
  call(role, role->hooks->backward_ended);
}

/* Nobody wants the gradient of the first stage's input: all of its backward is of weights
 * (torch/distributed/pipelining/stage.py, backward_weight_one_chunk). */
static void play_chunk(Role *role, const PlanChunk *chunk, PlanPassKind kind) {
  gboolean whole = kind == PLAN_PASS_BACKWARD || (kind == PLAN_PASS_BACKWARD_WEIGHT && chunk->stage == 0);
  if (kind == PLAN_PASS_FORWARD)
    play_forward(role, chunk);
  else if (whole)
    play_backward(role, chunk);
  else if (kind == PLAN_PASS_BACKWARD_WEIGHT)
    play_weights(role, chunk);
  else if (chunk->stage > 0)
    play_inputs(role, chunk);
}

static void play_pass(Role *role, guint32 index) {
  const PlanHolding *holding = role->walk->holding;
  const PlanSchedulePass *pass = &holding->passes[index];
  const PlanChunk *chunk = &holding->chunks[pass->chunk];
  gboolean forward = pass->kind == PLAN_PASS_FORWARD;
  role->walk->micro = pass->micro;
  role->walk->chunk = pass->chunk;
  role->walk->place = holding->places[index];
  plan_transfers_receive(&role->transfers, index);
  if (forward && pass->chunk == 0)
    call(role, role->hooks->micro_batch);
  play_chunk(role, chunk, pass->kind);
  plan_transfers_ended(&role->transfers, index);
  plan_transfers_send(&role->transfers, index);
}

void plan_step_micro_batch(PlanWalk *walk, ProgramPhase phase) {
  program_builder_context(walk->builder, phase, -1, (gint32)walk->micro);
  plan_walk_host(walk, "micro-batch");
  program_builder_cost(walk->builder, model_host_cost(walk->host, MODEL_HOST_MICRO_BATCH));
}

/* ---- Sections ---- */

/* What stands beside weights in 4 bits is neither sharded nor cast. */
static void take_constants(PlanWalk *walk) {
  guint64 bytes = 0;
  for (guint32 u = 0; u < walk->n_units; u++)
    bytes += model_unit_constants(walk->units[u].unit);
  if (bytes > 0)
    plan_walk_take(walk, program_builder_tensor(walk->builder, "quantization constants", MEM_PARAMETERS, bytes,
                                                bytes / walk->recipe->ranks));
}

static void begin(const Role *role) {
  call(role, role->hooks->section);
  program_builder_context(role->walk->builder, PROGRAM_SETUP, -1, -1);
  if (role->walk->section == PROGRAM_FIRST) {
    plan_walk_host(role->walk, "load the model");
    take_constants(role->walk);
    call(role, role->hooks->load);
    plan_walk_mark(role->walk);
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
  plan_metrics_end_step(&role->metrics);
}

#define MOST_EXPECTED 100000 /* rows: beyond, what is made room for in vain could be missed */

/* A row for each operation and its wait, and a few of the framework's for each unit. */
static void expect_rows(const Role *role) {
  const PlanHolding *holding = role->walk->holding;
  guint64 rows = 0;
  for (guint32 u = 0; u < role->walk->n_units; u++) {
    const ModelUnit *unit = role->walk->units[u].unit;
    guint64 forward = unit->n_forward * (role->walk->units[u].lives->again != 0 ? 2 : 1);
    rows += (forward + unit->n_backward) * (role->walk->in_step ? 2 : 1) + 8;
  }
  rows += rows / 8;
  rows *= MAX(holding->n_passes / (2 * holding->n_chunks), 1);
  if (rows <= MOST_EXPECTED)
    program_builder_expect(role->walk->builder, (guint32)rows);
}

static void play_section(Role *role, ProgramSectionKind section) {
  plan_walk_section(role->walk, section);
  if (section == PROGRAM_FIRST)
    expect_rows(role);
  plan_transfers_section(&role->transfers);
  begin(role);
  for (guint32 i = 0; i < role->walk->holding->n_passes; i++)
    play_pass(role, i);
  end(role);
}

static gboolean may_repeat(const Role *role, const PlanCase *what) {
  return !what->every_section && !what->model->use_cache && role->hooks->repeats != NULL &&
         role->hooks->repeats(role->policy) && plan_walk_ends_as_marked(role->walk);
}

/* ---- Roles ---- */

/* The form takes the walk over. */
static void end_role(Step *step, Role *role) {
  role->hooks->clear(role->policy);
  g_free(role->policy);
  plan_transfers_clear(&role->transfers);
  gboolean returns = role->outputs.walk != NULL;
  plan_outputs_clear(&role->outputs);
  if (step->formed && step->shape.ranks == 1 && !returns)
    step->form = plan_form_of_walk(role->walk);
  if (step->form == NULL)
    plan_walk_free(role->walk);
}

/* Its ranks are those of a place in the pipeline. */
static void name_role(const Step *step, guint32 rank) {
  if (step->shape.ranks == 1) {
    program_builder_role(step->builder, "rank", plan_groups_layout(step->what->recipe).ranks);
    return;
  }
  Layout layout = plan_groups_layout(step->what->recipe);
  g_autofree guint32 *ranks = g_new(guint32, layout.ranks);
  guint32 n = 0;
  for (guint32 i = 0; i < layout.ranks; i++)
    if (layout_coordinate(&layout, i, LAYOUT_PIPELINE) == rank)
      ranks[n++] = i;
  g_autofree char *name = g_strdup_printf("stage %u", rank);
  program_builder_role_of(step->builder, name, ranks, n);
}

static void add_role(Step *step, guint32 rank) {
  const PlanCase *what = step->what;
  Role role = {.hooks = step->hooks, .policy = g_malloc0(step->hooks->size)};
  guint32 compute = program_builder_stream(step->builder, "compute");
  name_role(step, rank);
  role.walk = plan_walk_new(step->builder, what, step->holdings[rank], compute);
  role.walk->hooks = step->hooks;
  role.walk->policy = role.policy;
  plan_transfers_init(&role.transfers, role.walk, &step->shape, step->holdings);
  step->hooks->set_up(role.policy, role.walk, what);
  plan_metrics_init(&role.metrics, role.walk, what->model->loss_metrics);
  plan_outputs_init(&role.outputs, role.walk, what);
  play_section(&role, PROGRAM_FIRST);
  if (may_repeat(&role, what))
    program_builder_repeat(step->builder, role.walk->ahead);
  else
    play_section(&role, PROGRAM_STEADY);
  double model, hardware;
  plan_walk_flops(role.walk, &model, &hardware);
  step->model_flops += model;
  step->hardware_flops += hardware;
  end_role(step, &role);
}

/* Of padding nothing counts as the model's. A micro-batch is computed by the tensor and context ranks of each role,
 * each with its share. */
void plan_step_facts(const PlanCase *what, double model_flops, double hardware_flops, Program *program) {
  const PlanRecipe *recipe = what->recipe;
  const ModelRecipe *model = what->model;
  double batches = (double)recipe->global_batch / (double)recipe->micro_batch;
  double shares = (double)model_share_tensor(&model->share) * (double)model_share_context(&model->share);
  double useful = model_samples_share(model), all = (double)(recipe->global_batch * model_recipe_tokens(model));
  program->tokens = (guint64)(all * useful + 0.5);
  program->model_flops = batches * model_flops * shares * useful;
  program->hardware_flops = batches * hardware_flops * shares;
  program->dtype = model_precision_dtype(model->precision);
}

static void add_holdings(Step *step) {
  g_autoptr(GError) error = NULL;
  g_autofree guint32 *bounds = plan_axes_bounds(step->what->shape, step->what->recipe, &error);
  sim_require(bounds != NULL, 0, NULL, "a recipe that was not checked: %s", error->message);
  step->holdings = g_new(PlanHolding *, step->shape.ranks);
  for (guint32 rank = 0; rank < step->shape.ranks; rank++)
    step->holdings[rank] = plan_holding_new(&step->shape, bounds, rank);
}

Program *plan_step_formed(const PlanCase *what, const PlanHooks *hooks, PlanForm **ret_form) {
  Step step = {.builder = program_builder_new(),
               .what = what,
               .hooks = hooks,
               .shape = plan_axes_schedule(what->recipe),
               .formed = ret_form != NULL};
  add_holdings(&step);
  for (guint32 rank = 0; rank < step.shape.ranks; rank++)
    add_role(&step, rank);
  for (guint32 rank = 0; rank < step.shape.ranks; rank++)
    plan_holding_free(step.holdings[rank]);
  g_free(step.holdings);
  if (ret_form != NULL)
    *ret_form = step.form;
  Program *program = program_builder_end(step.builder);
  plan_step_facts(what, step.model_flops, step.hardware_flops, program);
  return program;
}

Program *plan_step_program(const PlanCase *what, const PlanHooks *hooks) {
  return plan_step_formed(what, hooks, NULL);
}
