/* Lifetimes from masks, and the rows that carry them. */
#include "plan-walk.h"

#include <string.h>

#include "base-error.h"
#include "mem-tenant.h"
#include "model-host.h"

/* Tensors that die after each operation, by the kind of walk. */
typedef struct PlanLives {
  guint64 *keep, *discard, *recompute; /* per forward op */
  guint64 *backward;                   /* per backward op */
} PlanLives;

static guint64 bit(guint tensor) {
  return G_GUINT64_CONSTANT(1) << tensor;
}

/* Index of the last op whose masks hold the tensor (readers first, else its writer); -1: none. */
static gint last_use(const ModelOp *ops, guint n, guint64 tensor, gboolean or_writer) {
  gint last = -1;
  for (guint i = 0; i < n; i++)
    if (ops[i].reads & tensor)
      last = (gint)i;
  for (guint i = 0; last < 0 && or_writer && i < n; i++)
    if (ops[i].writes & tensor)
      last = (gint)i;
  return last;
}

static guint64 saved_mask(const ModelUnit *unit) {
  guint64 saved = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    saved |= unit->forward[i].saves;
  return saved;
}

static void mark(guint64 *deaths, gint op, guint64 tensor) {
  if (op >= 0)
    deaths[op] |= tensor;
}

static PlanLives *lives_new(const ModelUnit *unit) {
  PlanLives *lives = g_new0(PlanLives, 1);
  lives->keep = g_new0(guint64, unit->n_forward);
  lives->discard = g_new0(guint64, unit->n_forward);
  lives->recompute = g_new0(guint64, unit->n_forward);
  lives->backward = g_new0(guint64, unit->n_backward);
  guint64 saved = saved_mask(unit);
  for (guint t = 0; t < unit->n_tensors; t++) {
    guint64 tensor = bit(t);
    ModelTensorRole role = unit->tensors[t].role;
    gint forward = last_use(unit->forward, unit->n_forward, tensor, role != MODEL_TENSOR_INPUT);
    gint backward = last_use(unit->backward, unit->n_backward, tensor, TRUE);
    gboolean kept = (saved & tensor) != 0;
    if (role != MODEL_TENSOR_GRAD_INPUT)
      mark(lives->backward, backward, tensor);
    sim_require(!kept || backward >= 0, 0, NULL, "tensor %s of %s is saved but never read in backward",
                unit->tensors[t].name, model_unit_names[unit->kind]);
    if (role != MODEL_TENSOR_OUTPUT && !kept)
      mark(lives->keep, forward, tensor);
    if (role != MODEL_TENSOR_OUTPUT && role != MODEL_TENSOR_INPUT)
      mark(lives->discard, forward, tensor);
    if (!kept && !(role == MODEL_TENSOR_INPUT && backward >= 0))
      mark(lives->recompute, forward, tensor);
  }
  return lives;
}

static void lives_free(PlanLives *lives) {
  if (lives == NULL)
    return;
  g_free(lives->keep);
  g_free(lives->discard);
  g_free(lives->recompute);
  g_free(lives->backward);
  g_free(lives);
}

static MemTenant tenant_of(const ModelTensor *tensor, gboolean saved) {
  gboolean boundary = tensor->role == MODEL_TENSOR_INPUT || tensor->role == MODEL_TENSOR_OUTPUT;
  return !tensor->scratch && (saved || boundary) ? MEM_ACTIVATIONS : MEM_TEMPORARY;
}

static void name_unit(const PlanUnit *unit, char *name, gsize size) {
  if (unit->layer >= 0)
    g_snprintf(name, size, "layer%d", unit->layer);
  else
    g_strlcpy(name, model_unit_names[unit->unit->kind], size);
}

static void add_tensors(PlanWalk *walk, guint32 index) {
  PlanUnit *unit = &walk->units[index];
  const ModelUnit *shape = unit->unit;
  guint64 saved = saved_mask(shape);
  char prefix[32];
  name_unit(unit, prefix, sizeof prefix);
  unit->tensors = g_new(guint32, shape->n_tensors);
  for (guint t = 0; t < shape->n_tensors; t++) {
    const ModelTensor *tensor = &shape->tensors[t];
    unit->tensors[t] = PROGRAM_NONE;
    if (tensor->role == MODEL_TENSOR_GRAD_OUTPUT || (tensor->role == MODEL_TENSOR_INPUT && index > 0))
      continue; /* a neighbour's: linked below */
    g_autofree char *name = g_strdup_printf("%s.%s", prefix, tensor->name);
    unit->tensors[t] = program_builder_tensor(walk->builder, name, tenant_of(tensor, (saved & bit(t)) != 0),
                                              tensor->bytes, tensor->bytes);
  }
  unit->gradients = g_new(guint32, shape->n_parameters);
  for (guint p = 0; p < shape->n_parameters; p++)
    unit->gradients[p] = PROGRAM_NONE;
}

static guint32 *role_tensor(PlanUnit *unit, ModelTensorRole role) {
  for (guint t = 0; t < unit->unit->n_tensors; t++)
    if (unit->unit->tensors[t].role == role)
      return &unit->tensors[t];
  return NULL;
}

static void link_neighbours(PlanWalk *walk) {
  for (guint32 u = 0; u + 1 < walk->n_units; u++) {
    guint32 *output = role_tensor(&walk->units[u], MODEL_TENSOR_OUTPUT);
    guint32 *input = role_tensor(&walk->units[u + 1], MODEL_TENSOR_INPUT);
    guint32 *gradient = role_tensor(&walk->units[u + 1], MODEL_TENSOR_GRAD_INPUT);
    guint32 *wanted = role_tensor(&walk->units[u], MODEL_TENSOR_GRAD_OUTPUT);
    sim_require(output && input && gradient && wanted, 0, NULL, "unit %u has no boundary to the next", u);
    *input = *output;
    *wanted = *gradient;
  }
}

static guint32 *add_ops(PlanWalk *walk, const ModelOp *ops, guint n) {
  guint32 *indices = g_new(guint32, n);
  for (guint i = 0; i < n; i++)
    indices[i] = program_builder_op(walk->builder, ops[i].kernel);
  return indices;
}

PlanWalk *plan_walk_new(ProgramBuilder *builder, const ModelShape *shape, const ModelRecipe *recipe,
                        guint64 micro_batch, guint32 stream) {
  PlanWalk *walk = g_new0(PlanWalk, 1);
  walk->builder = builder;
  walk->stream = stream;
  walk->last = walk->waited = walk->need = PROGRAM_NONE;
  walk->pending = g_array_new(FALSE, FALSE, sizeof(ProgramGive));
  walk->live = g_byte_array_new();
  for (ModelUnitKind kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
    ModelUnit *unit = model_unit_new(shape, recipe, micro_batch, kind);
    walk->kinds[kind] = unit;
    walk->lives[kind] = lives_new(unit);
    walk->forward_ops[kind] = add_ops(walk, unit->forward, unit->n_forward);
    walk->backward_ops[kind] = add_ops(walk, unit->backward, unit->n_backward);
  }
  walk->n_units = (guint32)shape->layers + 2;
  walk->units = g_new0(PlanUnit, walk->n_units);
  for (guint32 u = 0; u < walk->n_units; u++) {
    ModelUnitKind kind = u == 0 ? MODEL_UNIT_EMBEDDING : u + 1 < walk->n_units ? MODEL_UNIT_LAYER : MODEL_UNIT_HEAD;
    walk->units[u].unit = walk->kinds[kind];
    walk->units[u].layer = kind == MODEL_UNIT_LAYER ? (gint32)u - 1 : -1;
    add_tensors(walk, u);
  }
  link_neighbours(walk);
  return walk;
}

void plan_walk_free(PlanWalk *walk) {
  if (walk == NULL)
    return;
  for (guint32 u = 0; u < walk->n_units; u++) {
    g_free(walk->units[u].tensors);
    g_free(walk->units[u].gradients);
  }
  g_free(walk->units);
  for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
    model_unit_free(walk->kinds[kind]);
    lives_free(walk->lives[kind]);
    g_free(walk->forward_ops[kind]);
    g_free(walk->backward_ops[kind]);
  }
  g_array_unref(walk->pending);
  g_byte_array_unref(walk->live);
  g_free(walk);
}

void plan_walk_section(PlanWalk *walk, ProgramSectionKind section) {
  program_builder_section(walk->builder, section);
  walk->last = walk->waited = walk->need = PROGRAM_NONE;
}

static guint8 *liveness(PlanWalk *walk, guint32 tensor) {
  guint old = walk->live->len;
  if (tensor >= old) {
    g_byte_array_set_size(walk->live, tensor + 1);
    memset(walk->live->data + old, 0, tensor + 1 - old);
  }
  return &walk->live->data[tensor];
}

void plan_walk_take(PlanWalk *walk, guint32 tensor) {
  guint8 *live = liveness(walk, tensor);
  if (*live)
    return;
  *live = TRUE;
  program_builder_take(walk->builder, tensor);
}

void plan_walk_give(PlanWalk *walk, guint32 tensor, guint32 stream) {
  guint8 *live = liveness(walk, tensor);
  sim_require(*live, 0, NULL, "tensor %u is given but not held", tensor);
  *live = FALSE;
  ProgramGive give = {tensor, stream};
  g_array_append_val(walk->pending, give);
}

void plan_walk_settle(PlanWalk *walk) {
  for (guint i = 0; i < walk->pending->len; i++) {
    ProgramGive *give = &g_array_index(walk->pending, ProgramGive, i);
    program_builder_give(walk->builder, give->tensor, give->stream);
  }
  g_array_set_size(walk->pending, 0);
}

void plan_walk_wait(PlanWalk *walk) {
  if (walk->waited == walk->last && walk->pending->len == 0)
    return;
  program_builder_host(walk->builder, "wait for compute");
  plan_walk_settle(walk);
  program_builder_need(walk->builder, walk->last);
  walk->waited = walk->last;
}

static void emit(PlanWalk *walk, guint32 index, const ModelOp *op, guint32 program_op, guint64 deaths) {
  PlanUnit *unit = &walk->units[index];
  if (walk->in_step)
    plan_walk_wait(walk);
  guint32 row = program_builder_compute(walk->builder, walk->stream, op->name, program_op);
  program_builder_cost(walk->builder, model_op_host(op, walk->host));
  plan_walk_settle(walk);
  program_builder_need(walk->builder, walk->need);
  walk->need = PROGRAM_NONE;
  walk->last = row;
  for (guint t = 0; t < unit->unit->n_tensors; t++) {
    /* Token ids are nobody's output: they come with their first reader. */
    gboolean arrives = index == 0 && unit->unit->tensors[t].role == MODEL_TENSOR_INPUT && (op->reads & bit(t)) != 0;
    if (arrives || (op->writes & bit(t)) != 0)
      plan_walk_take(walk, unit->tensors[t]);
  }
  for (guint t = 0; t < unit->unit->n_tensors; t++)
    if (deaths & bit(t))
      plan_walk_give(walk, unit->tensors[t], PROGRAM_NONE);
}

void plan_walk_forward(PlanWalk *walk, guint32 index, PlanForward mode, gint32 micro) {
  const ModelUnit *unit = walk->units[index].unit;
  const PlanLives *lives = walk->lives[unit->kind];
  const guint64 *deaths = mode == PLAN_KEEP ? lives->keep : mode == PLAN_DISCARD ? lives->discard : lives->recompute;
  program_builder_context(walk->builder, mode == PLAN_RECOMPUTE ? PROGRAM_RECOMPUTE : PROGRAM_FORWARD,
                          walk->units[index].layer, micro);
  for (guint i = 0; i < unit->n_forward; i++)
    emit(walk, index, &unit->forward[i], walk->forward_ops[unit->kind][i], deaths[i]);
}

void plan_walk_backward(PlanWalk *walk, guint32 index, gboolean recomputed, gint32 micro) {
  const ModelUnit *unit = walk->units[index].unit;
  const PlanLives *lives = walk->lives[unit->kind];
  if (recomputed)
    plan_walk_forward(walk, index, PLAN_RECOMPUTE, micro);
  for (guint i = 0; i < unit->n_backward; i++) {
    const ModelOp *op = &unit->backward[i];
    program_builder_context(walk->builder, PROGRAM_BACKWARD, walk->units[index].layer, micro);
    emit(walk, index, op, walk->backward_ops[unit->kind][i], lives->backward[i]);
    guint32 row = walk->last;
    if (walk->gradient != NULL && op->gradient_of >= 0)
      walk->gradient(walk, index, (guint)op->gradient_of, row, walk->user);
    if (walk->gradient != NULL && op->also_gradient_of >= 0)
      walk->gradient(walk, index, (guint)op->also_gradient_of, row, walk->user);
  }
}

void plan_walk_flops(const PlanWalk *walk, gboolean recomputes, double *ret_model, double *ret_hardware) {
  double model = 0, hardware = 0;
  for (guint32 u = 0; u < walk->n_units; u++) {
    const ModelUnit *unit = walk->units[u].unit;
    ModelCost forward = model_unit_forward_cost(unit), backward = model_unit_backward_cost(unit);
    gboolean twice = recomputes && unit->kind == MODEL_UNIT_LAYER;
    model += forward.nominal_flops + backward.nominal_flops;
    hardware += forward.flops * (twice ? 2 : 1) + backward.flops;
  }
  *ret_model = model;
  *ret_hardware = hardware;
}

guint64 *plan_walk_elements(const PlanWalk *walk) {
  guint64 *elements = g_new(guint64, walk->n_units);
  for (guint32 u = 0; u < walk->n_units; u++)
    elements[u] = model_unit_elements(walk->units[u].unit);
  return elements;
}
