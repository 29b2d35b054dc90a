/* SPDX-License-Identifier: MIT */
/* States and steps of optimizers. */
#include "plan-optimizer.h"

#include <limits.h>

#include "mem-tenant.h"
#include "model-host.h"
#include "plan-matrix-optimizer.h"
#include "plan-recipe.h"

#define FP32 4

const char *const plan_optimizer_names[] = {"adamw",    "adam",      "sgd",  "lion", "adam8bit",
                                            "adam4bit", "adafactor", "muon", NULL};
const char *const plan_optimizer_style_names[] = {"default", "foreach", "fused", "single", NULL};

typedef struct {
  guint32 momenta;
  guint32 bits;  /* of an element of one; 0: of the framework's type */
  guint32 block; /* elements that share an fp32 maximum */
} Kept;

static const Kept kept[] = {
    /* 8 bits: bitsandbytes' block-wise quantisation, torchao's AdamW8bit; 4: torchao/optim/subclass_4bit.py, adam.py */
    [PLAN_ADAMW] = {2, 0, 0},     [PLAN_ADAM] = {2, 0, 0},       [PLAN_SGD] = {1, 0, 0},
    [PLAN_LION] = {1, 0, 0},      [PLAN_ADAM8BIT] = {2, 8, 256}, [PLAN_ADAM4BIT] = {2, 4, 128},
    [PLAN_ADAFACTOR] = {0, 0, 0}, [PLAN_MUON] = {1, 0, 0}, /* plan-matrix-optimizer.c */
};

static guint64 momentum_bytes(const Kept *what, guint64 elements, guint32 element_bytes) {
  if (what->bits == 0)
    return elements * element_bytes;
  return (elements * what->bits + CHAR_BIT - 1) / CHAR_BIT + (elements + what->block - 1) / what->block * FP32;
}

guint64 plan_optimizer_bytes(int optimizer, guint64 elements, guint32 element_bytes, gboolean master) {
  const Kept *what = &kept[optimizer];
  return what->momenta * momentum_bytes(what, elements, element_bytes) + (master ? elements * FP32 : 0);
}

guint64 plan_optimizer_paged_bytes(int optimizer, guint64 elements) {
  const Kept *what = &kept[optimizer];
  return what->momenta * (what->bits > 0 ? elements * what->bits / CHAR_BIT : elements * FP32);
}

guint64 plan_optimizer_states(const PlanWalk *walk, guint64 elements, guint32 element_bytes) {
  int optimizer = walk->recipe->optimizer;
  if (walk->recipe->paged)
    element_bytes = FP32; /* bitsandbytes' are, whatever the parameters */
  return plan_sees_matrices(optimizer) ? plan_matrix_states(walk, elements, element_bytes)
                                       : plan_optimizer_bytes(optimizer, elements, element_bytes, FALSE);
}

guint plan_optimizer_momenta(int optimizer) {
  return kept[optimizer].momenta;
}

ModelOptimizerStyle plan_optimizer_style(const PlanRecipe *recipe, ModelOptimizerStyle usual) {
  static const ModelOptimizerStyle styles[] = {[PLAN_STYLE_FOREACH] = MODEL_OPTIMIZER_FOREACH,
                                               [PLAN_STYLE_FUSED] = MODEL_OPTIMIZER_FUSED,
                                               [PLAN_STYLE_SINGLE] = MODEL_OPTIMIZER_FOREACH};
  if (recipe->paged)
    return MODEL_OPTIMIZER_FUSED; /* bitsandbytes' own kernel, a tensor at a time */
  return recipe->optimizer_style == PLAN_STYLE_DEFAULT ? usual : styles[recipe->optimizer_style];
}

guint32 plan_states_tensor(PlanWalk *walk, const char *name, guint8 tenant, guint64 bytes, guint64 copies) {
  return program_builder_tensor(walk->builder, name, tenant, bytes, bytes / copies);
}

typedef PlanUpdatePass Pass;

struct PlanUpdate {
  GArray *passes;      /* Pass */
  Pass norm;           /* op PROGRAM_NONE: none */
  SimTime step;        /* what the step costs the host beside its launches */
  guint32 slot;        /* over which whole matrices are gathered; PROGRAM_NONE: nobody */
  guint32 temporaries; /* of a matrix; PROGRAM_NONE: none */
};

/* Adam's passes, of which all but the norm may be replaced. */
static void add_adam(PlanWalk *walk, PlanUpdate *update, const ModelOptimizer *what) {
  g_autoptr(ModelUnit) unit = model_optimizer_new(what);
  for (guint i = 0; i < unit->n_forward; i++) {
    Pass pass = {unit->forward[i].name, program_builder_op(walk->builder, unit->forward[i].kernel),
                 model_op_host(&unit->forward[i], walk->host), 0};
    if (what->norm && i == 0)
      update->norm = pass;
    else
      g_array_append_val(update->passes, pass);
  }
}

/* One fused kernel: gradient, parameter or master and momenta in, the last two and a 16-bit copy out. */
static void add_fused(PlanWalk *walk, PlanUpdate *update, const ModelOptimizer *what, int optimizer) {
  const Kept *keeps = &kept[optimizer];
  gboolean master = what->element_bytes < FP32;
  guint64 bytes = what->elements * (what->gradient_bytes + 2 * FP32 + (master ? what->element_bytes : 0)) +
                  2 * keeps->momenta * momentum_bytes(keeps, what->elements, FP32);
  Pass pass = {plan_optimizer_names[optimizer], program_builder_memory_op(walk->builder, bytes),
               model_host_cost(walk->host, MODEL_HOST_PASS), 0};
  g_array_append_val(update->passes, pass);
}

/* Norm and clipping over all, then matrices, then what is left to Adam. */
static void add_matrices(PlanWalk *walk, PlanUpdate *update, ModelOptimizer what) {
  g_autoptr(GArray) passes = g_array_new(FALSE, FALSE, sizeof(Pass));
  what.normed_elements = MAX(what.normed_elements, what.elements);
  guint64 bytes = plan_matrix_passes(walk, &what, passes);
  add_adam(walk, update, &what);
  if (what.elements == 0)
    g_array_set_size(update->passes, what.clip ? 1 : 0);
  g_array_append_vals(update->passes, passes->data, passes->len);
  if (bytes > 0)
    update->temporaries = program_builder_tensor(walk->builder, "orthogonalised matrix", MEM_TEMPORARY, bytes, 0);
}

PlanUpdate *plan_update_new(PlanWalk *walk, const ModelOptimizer *what) {
  PlanUpdate *update = g_new0(PlanUpdate, 1);
  int optimizer = walk->recipe->optimizer;
  update->passes = g_array_new(FALSE, FALSE, sizeof(Pass));
  update->norm.op = PROGRAM_NONE;
  update->step = model_host_cost(walk->host, MODEL_HOST_OPTIMIZER_STEP) +
                 (SimTime)what->tensors * model_host_cost(walk->host, MODEL_HOST_OPTIMIZER_TENSOR);
  update->slot = update->temporaries = PROGRAM_NONE;
  if (plan_sees_matrices(optimizer)) {
    add_matrices(walk, update, *what);
    return update;
  }
  add_adam(walk, update, what);
  if (optimizer == PLAN_ADAMW || optimizer == PLAN_ADAM)
    return update;
  g_array_set_size(update->passes, 0);
  add_fused(walk, update, what, optimizer);
  return update;
}

PlanUpdate *plan_update_usual(PlanWalk *walk, ModelOptimizerStyle usual, ModelOptimizer what) {
  what.style = plan_optimizer_style(walk->recipe, usual);
  what.norm = what.clip = walk->recipe->gradient_clipping > 0;
  return plan_update_new(walk, &what);
}

void plan_update_over(PlanUpdate *update, guint32 slot) {
  update->slot = slot;
}

void plan_update_free(PlanUpdate *update) {
  if (update == NULL)
    return;
  g_array_unref(update->passes);
  g_free(update);
}

/* On compute's stream: what follows reads it. */
static guint32 run_gather(PlanWalk *walk, const PlanUpdate *update, const Pass *pass) {
  guint32 before = walk->last;
  guint32 row = plan_walk_collective(walk, walk->stream, pass->name, update->slot,
                                     (CollCall){COLL_ALL_GATHER, pass->gathers}, PROGRAM_HINT_BOUNDARY);
  program_builder_need(walk->builder, before);
  return row;
}

static guint32 run_pass(PlanWalk *walk, const Pass *pass) {
  return plan_walk_pass_costing(walk, walk->stream, pass->name, pass->op, pass->host);
}

guint32 plan_update_norm(PlanWalk *walk, const PlanUpdate *update) {
  return update->norm.op == PROGRAM_NONE ? PROGRAM_NONE : run_pass(walk, &update->norm);
}

guint32 plan_update_run(PlanWalk *walk, const PlanUpdate *update, guint32 *ret_first) {
  guint32 row = PROGRAM_NONE;
  for (guint i = 0; i < update->passes->len; i++) {
    const Pass *pass = &g_array_index(update->passes, Pass, i);
    row = pass->gathers > 0 ? run_gather(walk, update, pass) : run_pass(walk, pass);
    if (i > 0)
      continue;
    program_builder_cost(walk->builder, update->step);
    if (update->temporaries != PROGRAM_NONE)
      plan_walk_take(walk, update->temporaries);
    if (ret_first != NULL)
      *ret_first = row;
  }
  if (row != PROGRAM_NONE && update->temporaries != PROGRAM_NONE)
    plan_walk_give(walk, update->temporaries, PROGRAM_NONE);
  return row;
}
