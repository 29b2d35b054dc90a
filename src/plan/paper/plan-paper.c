/* SPDX-License-Identifier: MIT */
/* framework = paper: the textbook's schedule of ZeRO.
 *
 * Units (embedding, layers, head) are visited forward then backward, micro-batch after micro-batch. Per visit v:
 *
 *   host      waits for the compute before, here and between operations: memory is taken and given as compute goes on
 *   comm      stage 3: gather the parameters of v+1 (one unit ahead); v−1's gathered copy is freed
 *   compute   the operations of v, the first of which needs the gather of v
 *   comm      backward: a bucket that has reached 25 MB is reduced
 *
 * then the optimizer on what this rank owns, and in stages 1 and 2 one gather of all parameters, which nothing hides.
 * Every unit is gathered once for forward and once for backward (the textbook's 3ψ), though the embedding's backward
 * and the head right after its forward would not need it. A tied head's matrix is the embedding's: its second gather
 * comes before the head, which reads it. */
#include "mem-tenant.h"
#include "plan-buckets.h"
#include "plan-groups.h"
#include "plan-optimizer.h"
#include "plan-parameters.h"
#include "plan-policy.h"
#include "plan-stage.h"
#include "plan-walk.h"

#define BUCKET_BYTES 25000000 /* 25 MB, decimal; PyTorch's DDP takes 25 MiB */

typedef struct {
  const PlanRecipe *recipe;
  const PlanStage *stage;
  ProgramBuilder *builder;
  PlanWalk *walk;
  guint32 element_bytes, comm, group;
  PlanStates states;
  guint64 shard;
  guint32 parameters, gradients, optimizer; /* state tensors */
  guint32 *gathered;                        /* tensor of each unit's gathered copy; stage 3 */
  gboolean tied;
  PlanUpdate *update;
  /* While a section is built. */
  PlanOpenBucket bucket; /* of gradient tensors; PROGRAM_NONE for what stays in the rank's own */
  guint32 gather;        /* row of what the next visit needs; PROGRAM_NONE: nothing */
} Paper;

static guint32 collective(Paper *paper, const char *name, CollOperation operation, guint64 elements, ProgramHint hint) {
  CollCall call = {operation, elements * paper->element_bytes};
  return plan_walk_collective(paper->walk, paper->comm, name, paper->group, call, hint);
}

/* Reduces the open bucket as soon as `ready` has produced its last gradient. */
static void flush_bucket(Paper *paper, guint32 ready) {
  if (paper->bucket.elements == 0)
    return;
  program_builder_context(paper->builder, PROGRAM_REDUCE, -1, (gint32)paper->walk->micro);
  guint32 row =
      collective(paper, paper->stage->reduce == COLL_ALL_REDUCE ? "reduce gradients" : "reduce-scatter gradients",
                 paper->stage->reduce, paper->bucket.elements, PROGRAM_HINT_BUCKET);
  program_builder_need(paper->builder, ready);
  g_array_append_val(paper->walk->reductions, row);
  for (guint i = 0; i < paper->bucket.members->len; i++)
    if (plan_open_bucket_member(&paper->bucket, i) != PROGRAM_NONE)
      plan_walk_give(paper->walk, plan_open_bucket_member(&paper->bucket, i), paper->comm);
  plan_open_bucket_empty(&paper->bucket);
}

static guint32 whole_gradient(Paper *paper, PlanUnit *unit, guint parameter) {
  if (unit->gradients[parameter] == PROGRAM_NONE) {
    const ModelParameter *shape = &unit->unit->parameters[parameter];
    g_autofree char *name = unit->layer >= 0 ? g_strconcat(unit->name, ".", shape->name, ".grad", NULL)
                                             : g_strconcat(shape->name, ".grad", NULL);
    unit->gradients[parameter] =
        program_builder_tensor(paper->builder, name, MEM_COMMUNICATION, shape->elements * paper->element_bytes, 0);
  }
  return unit->gradients[parameter];
}

static void gradient_ready(gpointer policy, const PlanGradient *gradient) {
  Paper *paper = policy;
  const PlanParameter *parameter = &paper->walk->parameters->list[gradient->parameter];
  guint32 tensor = PROGRAM_NONE;
  if (paper->stage->shards_gradients && !plan_walk_alone(paper->walk)) {
    tensor = whole_gradient(paper, &paper->walk->units[parameter->unit], parameter->index);
    plan_walk_take(paper->walk, tensor);
  }
  gboolean reduces = plan_walk_last_micro(paper->walk) || paper->stage->reduce_every_micro_batch;
  if (gradient->first_part || plan_walk_alone(paper->walk) || !reduces)
    return;
  plan_open_bucket_add(&paper->bucket, tensor, parameter->elements);
  if (paper->bucket.elements * paper->element_bytes >= BUCKET_BYTES)
    flush_bucket(paper, gradient->row);
}

/* Units up, then down as far as backward goes. */
static guint32 visits(const Paper *paper) {
  const PlanWalk *walk = paper->walk;
  guint32 below = 0;
  while (!plan_walk_has_backward(walk, below))
    below++;
  return 2 * walk->n_units - below;
}

/* The v-th visit of a micro-batch. */
static guint32 visit_unit(const Paper *paper, guint32 visit) {
  guint32 n = paper->walk->n_units;
  return visit < n ? visit : 2 * n - 1 - visit;
}

/* What of the embedding the unit uses too. */
static guint64 shared_elements(const ModelUnit *unit) {
  guint64 elements = 0;
  for (guint p = 0; p < unit->n_parameters; p++)
    elements += unit->parameters[p].shared ? unit->parameters[p].elements : 0;
  return elements;
}

/* Units that share the embedding's matrix gather it beside their own in forward; a tied head's is the second gather
 * that the embedding would have in backward. */
static guint64 gathered_elements(const Paper *paper, guint32 visit) {
  const PlanWalk *walk = paper->walk;
  guint32 n = walk->n_units;
  const ModelUnit *unit = walk->units[visit_unit(paper, visit)].unit;
  guint64 own = model_unit_elements(unit);
  if (visit < n)
    return own + shared_elements(unit);
  return paper->tied && visit == 2 * n - 1 ? own - shared_elements(walk->units[n - 1].unit) : own;
}

static gboolean gathers(const Paper *paper, guint32 visit) {
  return paper->stage->gather_for_use && !plan_walk_alone(paper->walk) && gathered_elements(paper, visit) > 0;
}

/* Issues the gather for a visit; its row, or PROGRAM_NONE. */
static guint32 gather(Paper *paper, guint32 visit) {
  if (!gathers(paper, visit))
    return PROGRAM_NONE;
  guint32 unit = visit_unit(paper, visit);
  guint64 elements = gathered_elements(paper, visit);
  program_builder_context(paper->builder, PROGRAM_GATHER, paper->walk->units[unit].layer, (gint32)paper->walk->micro);
  guint32 row = collective(paper, "gather parameters", COLL_ALL_GATHER, elements, PROGRAM_HINT_NONE);
  plan_walk_take(paper->walk, paper->gathered[visit]);
  return row;
}

/* After a visit its gathered copy is freed; a tied head's forward copy serves its backward too. */
static void release(Paper *paper, guint32 v) {
  guint32 n = paper->walk->n_units;
  gboolean waits = paper->tied && v == n - 1;
  if (gathers(paper, v) && !waits)
    plan_walk_give(paper->walk, paper->gathered[v], PROGRAM_NONE);
  if (paper->tied && v == n && gathers(paper, n - 1))
    plan_walk_give(paper->walk, paper->gathered[n - 1], PROGRAM_NONE);
}

static guint32 visit_of(const Paper *paper, guint32 unit, PlanPass pass) {
  return pass == PLAN_FORWARD ? unit : 2 * paper->walk->n_units - 1 - unit;
}

static void before_unit(gpointer policy, guint32 unit, PlanPass pass) {
  Paper *paper = policy;
  PlanWalk *walk = paper->walk;
  guint32 v = visit_of(paper, unit, pass);
  if (v >= visits(paper))
    return;
  program_builder_context(paper->builder, pass == PLAN_FORWARD ? PROGRAM_FORWARD : PROGRAM_BACKWARD,
                          walk->units[unit].layer, (gint32)walk->micro);
  plan_walk_wait(walk);
  plan_walk_need(walk, paper->gather);
  if (v + 1 < visits(paper))
    paper->gather = gather(paper, v + 1);
  else if (!plan_walk_last_micro(walk))
    paper->gather = gather(paper, 0);
}

static void after_unit(gpointer policy, guint32 unit, PlanPass pass) {
  Paper *paper = policy;
  guint32 v = visit_of(paper, unit, pass);
  if (v < visits(paper))
    release(paper, v);
}

static void end_backward(gpointer policy) {
  Paper *paper = policy;
  flush_bucket(paper, paper->walk->last);
}

static void optimizer_step(gpointer policy) {
  Paper *paper = policy;
  PlanWalk *walk = paper->walk;
  plan_walk_host(walk, "wait for gradients");
  program_builder_need(paper->builder, walk->last);
  for (guint i = 0; i < walk->reductions->len; i++)
    program_builder_need(paper->builder, g_array_index(walk->reductions, guint32, i));
  plan_update_run(walk, paper->update, NULL);
  program_builder_take_once(paper->builder, paper->optimizer);
  paper->gather = PROGRAM_NONE;
  if (!paper->stage->gather_after_step || plan_walk_alone(walk))
    return;
  program_builder_context(paper->builder, PROGRAM_GATHER, -1, -1);
  paper->gather =
      collective(paper, "gather parameters", COLL_ALL_GATHER, walk->parameters->elements, PROGRAM_HINT_BOUNDARY);
  program_builder_need(paper->builder, walk->last);
}

static void end_step(gpointer policy) {
  Paper *paper = policy;
  program_builder_need(paper->builder, paper->gather);
}

static void load(gpointer policy) {
  Paper *paper = policy;
  program_builder_take(paper->builder, paper->parameters);
  program_builder_take(paper->builder, paper->gradients);
}

static void begin_step(gpointer policy) {
  Paper *paper = policy;
  paper->gather = gather(paper, 0);
}

static void add_states(Paper *paper) {
  g_autofree guint64 *elements = plan_walk_elements(paper->walk), *trained = plan_walk_trained(paper->walk);
  PlanStates of_trained;
  guint n = paper->walk->n_units;
  guint32 ranks = paper->recipe->ranks;
  const PlanStage *stage = paper->stage;
  plan_states(stage, elements, n, paper->element_bytes, ranks, &paper->states);
  plan_states(stage, trained, n, paper->element_bytes, ranks, &of_trained);
  paper->states.gradients = of_trained.gradients;
  paper->states.optimizer = of_trained.optimizer;
  paper->shard = plan_shard(stage, trained, n, ranks);
  const PlanStates *states = &paper->states;
  paper->parameters = plan_states_tensor(paper->walk, "parameters", MEM_PARAMETERS, states->parameters,
                                         stage->shards_parameters ? 1 : ranks);
  paper->gradients = plan_states_tensor(paper->walk, "gradients", MEM_GRADIENTS, states->gradients,
                                        stage->shards_gradients ? 1 : ranks);
  guint64 optimizer = plan_optimizer_bytes(paper->recipe->optimizer, paper->shard, 4, paper->element_bytes < 4);
  paper->optimizer = plan_states_tensor(paper->walk, "optimizer states", MEM_OPTIMIZER, optimizer,
                                        stage->shards_optimizer ? 1 : ranks);
}

static void add_gathered(Paper *paper) {
  guint32 n = visits(paper);
  paper->gathered = g_new(guint32, n);
  for (guint32 v = 0; v < n; v++) {
    PlanUnit *unit = &paper->walk->units[visit_unit(paper, v)];
    g_autofree char *name = g_strconcat(unit->name, ".gathered", NULL);
    paper->gathered[v] = program_builder_tensor(paper->builder, name, MEM_COMMUNICATION,
                                                gathered_elements(paper, v) * paper->element_bytes, 0);
  }
}

gboolean plan_paper_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  const char *dtypes = "keeps and reduces gradients in the training's precision; choose a real framework for others";
  return plan_policy_refuse(settings, "training.gradient_accumulation_dtype", recipe, dtypes, error) &&
         plan_policy_refuse(settings, "training.gradient_communication_dtype", recipe, dtypes, error) &&
         (conf_settings_origin(settings, "training.optimizer_style") == CONF_ORIGIN_RECIPE ||
          plan_policy_refuse(settings, "training.optimizer_style", recipe, "has one pass over the states", error)) &&
         plan_policy_refuse(settings, "training.gradient_clipping", recipe, "does not clip gradients", error) &&
         plan_policy_refuse(settings, "parallel.framework_version", recipe, "has no versions", error) &&
         (recipe->shard_ranks == recipe->ranks ||
          plan_policy_refuse(settings, "parallel.shard_group", recipe, "shards over all GPUs", error));
}

static void clear(gpointer policy) {
  Paper *paper = policy;
  plan_update_free(paper->update);
  g_free(paper->gathered);
  plan_open_bucket_clear(&paper->bucket);
}

static void set_up(gpointer policy, PlanWalk *walk, const PlanCase *what) {
  Paper *paper = policy;
  *paper = (Paper){.recipe = what->recipe,
                   .stage = &plan_stages[what->recipe->zero_stage],
                   .builder = walk->builder,
                   .walk = walk,
                   .tied = what->shape->tied_embeddings};
  paper->element_bytes = model_precision_bytes(what->model->precision);
  paper->comm = program_builder_stream(walk->builder, "comm");
  program_builder_pool(walk->builder, paper->comm, walk->stream);
  paper->group = plan_groups_everyone(walk->builder, what->recipe);
  walk->in_step = TRUE;
  plan_open_bucket_init(&paper->bucket);
  add_states(paper);
  add_gathered(paper);
  paper->update = plan_update_new(walk, &(ModelOptimizer){.style = MODEL_OPTIMIZER_FUSED,
                                                          .elements = paper->shard,
                                                          .element_bytes = paper->element_bytes,
                                                          .gradient_bytes = paper->element_bytes});
}

static gboolean repeats(G_GNUC_UNUSED gconstpointer policy) {
  return TRUE;
}

const PlanHooks plan_paper_hooks = {
    .size = sizeof(Paper),
    .set_up = set_up,
    .clear = clear,
    .repeats = repeats,
    .load = load,
    .step_begins = begin_step,
    .before_unit = before_unit,
    .gradient = gradient_ready,
    .after_unit = after_unit,
    .backward_ended = end_backward,
    .optimizer = optimizer_step,
    .step_ended = end_step,
};
