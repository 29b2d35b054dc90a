/* SPDX-License-Identifier: MIT */
/* framework = ddp: PyTorch's DistributedDataParallel under a plain training loop.
 *
 *   micro-batches but the last   C: forward, backward; gradients add up in .grad                      (no_sync)
 *   the last                     C: B(i), copy into its bucket ── bucket full ─► n: all-reduce, in order of buckets
 *                                C: B(i−1) …
 *   end of backward              C waits for all all-reduces, copies buckets back to .grad (unless they are views),
 *                                clips, steps; .grad is freed
 *
 * In the first step all gradients are one bucket: nothing hides. After it buckets follow the order in which gradients
 * became ready, a small one first. Where the model is one compiled graph (ModelRecipe.graph) backward is one node of
 * autograd, which returns all gradients when it ends: nothing hides in later steps either. Source: torch/csrc/
 * distributed/c10d/reducer.cpp; Li et al., VLDB 2020 (arXiv 2006.15704); torch/_functorch/_aot_autograd/
 * runtime_wrappers.py, CompiledFunction. */
#include "base-error.h"
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-autocast.h"
#include "plan-blocks.h"
#include "plan-buckets.h"
#include "plan-groups.h"
#include "plan-optimizer.h"
#include "plan-paged.h"
#include "plan-parameters.h"
#include "plan-policy.h"
#include "plan-step.h"

#define FP32      4
#define FLAG_BYTE 4 /* of the map of used parameters, an int32 each */

/* What is done to one bucket. */
typedef struct {
  guint32 back, compress; /* ops */
  guint32 compressed;     /* tensor; PROGRAM_NONE: it is reduced as it is */
} BucketWork;

typedef struct {
  const PlanRecipe *recipe;
  const PlanDdp *options;
  ProgramBuilder *builder;
  PlanWalk *walk;
  guint32 comm, group;
  guint32 bytes, wire;              /* of a parameter and gradient element; as it is reduced */
  const PlanParameters *parameters; /* in order of definition */
  PlanUpdate *update;
  guint32 memory;                             /* tensor of all buckets */
  PlanBlocks *weights, *states, *temporaries; /* by unit; temporaries NULL: none */
  PlanPaged paged;
  PlanAutocast *autocast; /* fp32 parameters beside 16-bit arithmetic; NULL: they are alike */
  gboolean at_once;       /* gradients come when backward has ended */
  guint32 *gradients;     /* by parameter: .grad */
  guint32 *fresh;         /* by parameter: a gradient that is added to .grad; NULL: there is one micro-batch */
  guint32 *add_ops, *copy_ops;
  guint *ready; /* parameters in the order of their gradients */
  PlanBuckets *buckets[PROGRAM_SECTIONS];
  BucketWork *work[PROGRAM_SECTIONS]; /* by bucket */
  /* While a section is built. */
  guint next; /* bucket to be reduced */
} Ddp;

static gboolean reduces(const Ddp *ddp) {
  return !plan_walk_alone(ddp->walk) && (plan_walk_last_micro(ddp->walk) || !ddp->options->no_sync);
}

static guint32 memory_op(Ddp *ddp, guint64 elements, guint32 bytes_each) {
  return program_builder_memory_op(ddp->builder, elements * bytes_each);
}

/* ---- Buckets ---- */

static void add_work(Ddp *ddp, ProgramSectionKind section) {
  const PlanBuckets *buckets = ddp->buckets[section];
  BucketWork *work = ddp->work[section] = g_new(BucketWork, buckets->n);
  for (guint b = 0; b < buckets->n; b++) {
    guint64 elements = buckets->list[b].elements;
    work[b] = (BucketWork){.back = memory_op(ddp, elements, 2 * ddp->bytes), .compressed = PROGRAM_NONE};
    if (ddp->wire == ddp->bytes)
      continue;
    work[b].compress = memory_op(ddp, elements, ddp->bytes + ddp->wire);
    work[b].compressed =
        program_builder_tensor(ddp->builder, "compressed bucket", MEM_COMMUNICATION, elements * ddp->wire, 0);
  }
}

/* The first step has one bucket. With find_unused_parameters both steps have as many, cut in order of definition and
 * run through backwards. */
static void lay_out(Ddp *ddp, ProgramSectionKind section) {
  const double caps[] = {ddp->options->first_bucket_cap, ddp->options->bucket_cap};
  gboolean defined = ddp->options->find_unused_parameters;
  guint n = ddp->parameters->n;
  g_autofree guint *definition = g_new(guint, n);
  for (guint i = 0; i < n; i++)
    definition[i] = i;
  ddp->buckets[section] = plan_buckets_new(ddp->parameters, defined ? definition : ddp->ready,
                                           defined || section == PROGRAM_STEADY ? caps : NULL, ddp->bytes);
  if (defined)
    plan_buckets_reverse(ddp->buckets[section], n);
  add_work(ddp, section);
}

static void reduce_bucket(Ddp *ddp, guint b) {
  PlanWalk *walk = ddp->walk;
  const BucketWork *work = &ddp->work[walk->section][b];
  program_builder_context(ddp->builder, PROGRAM_REDUCE, -1, (gint32)walk->micro);
  if (work->compressed != PROGRAM_NONE) {
    plan_walk_pass(walk, walk->stream, "compress bucket", work->compress);
    plan_walk_take(walk, work->compressed);
  }
  guint32 ready = walk->last;
  CollCall call = {COLL_ALL_REDUCE, ddp->buckets[walk->section]->list[b].elements * ddp->wire};
  guint32 row = plan_walk_collective(walk, ddp->comm, "reduce gradients", ddp->group, call, PROGRAM_HINT_BUCKET);
  program_builder_need(ddp->builder, ready);
  if (work->compressed != PROGRAM_NONE) {
    row = plan_walk_pass(walk, ddp->comm, "decompress bucket", work->compress);
    plan_walk_give(walk, work->compressed, ddp->comm);
  }
  g_array_append_val(ddp->walk->reductions, row);
}

/* Buckets are reduced in order, each when all its gradients and all before it are there. */
static void mark_ready(Ddp *ddp, guint parameter) {
  PlanBuckets *buckets = ddp->buckets[ddp->walk->section];
  plan_buckets_arrived(buckets, parameter);
  while (ddp->next < buckets->n && buckets->list[ddp->next].left == 0)
    reduce_bucket(ddp, ddp->next++);
}

/* ---- Gradients ---- */

/* What backward's gradient of a parameter lies in: what becomes .grad, or what is added to it. Where .grad is a view of
 * a bucket that was reduced before, `gradients` is the gradient's own memory each time. */
static guint32 made(const Ddp *ddp, guint p) {
  gboolean in_bucket = ddp->options->gradient_as_bucket_view && !ddp->options->no_sync && !plan_walk_alone(ddp->walk);
  return ddp->walk->micro == 0 || in_bucket ? ddp->gradients[p] : ddp->fresh[p];
}

static void backward_context(Ddp *ddp, guint p) {
  program_builder_context(ddp->builder, PROGRAM_BACKWARD, ddp->walk->units[ddp->parameters->list[p].unit].layer,
                          (gint32)ddp->walk->micro);
}

/* A parameter's whole gradient has come to autograd: it is .grad or is added to it, and goes into its bucket. */
static void arrived(Ddp *ddp, guint p) {
  PlanWalk *walk = ddp->walk;
  backward_context(ddp, p);
  if (walk->micro > 0)
    plan_walk_pass(walk, walk->stream, "accumulate gradient", ddp->add_ops[p]);
  if (made(ddp, p) != ddp->gradients[p]) {
    plan_walk_take(walk, ddp->gradients[p]);
    plan_walk_give(walk, made(ddp, p), PROGRAM_NONE);
  }
  if (!reduces(ddp))
    return;
  plan_walk_pass(walk, walk->stream, "copy into bucket", ddp->copy_ops[p]);
  program_builder_cost(ddp->builder, model_host_cost(walk->host, MODEL_HOST_GRADIENT_HOOK));
  if (ddp->options->gradient_as_bucket_view)
    plan_walk_give(walk, ddp->gradients[p], PROGRAM_NONE);
  mark_ready(ddp, p);
}

static void gradient_ready(gpointer policy, const PlanGradient *gradient) {
  Ddp *ddp = policy;
  backward_context(ddp, gradient->parameter);
  plan_autocast_gradient(ddp->autocast, gradient);
  plan_walk_take(ddp->walk, made(ddp, gradient->parameter));
  if (!gradient->first_part && !ddp->at_once)
    arrived(ddp, gradient->parameter);
}

/* ---- The step ---- */

static void finish_reductions(Ddp *ddp) {
  PlanWalk *walk = ddp->walk;
  guint n = ddp->buckets[walk->section]->n;
  sim_require(ddp->next == n, 0, NULL, "%u of %u buckets were reduced", ddp->next, n);
  program_builder_context(ddp->builder, PROGRAM_REDUCE, -1, (gint32)walk->micro);
  if (ddp->options->find_unused_parameters) {
    CollCall call = {COLL_ALL_REDUCE, (guint64)ddp->parameters->n * FLAG_BYTE};
    guint32 row = plan_walk_collective(walk, ddp->comm, "reduce used parameters", ddp->group, call, PROGRAM_HINT_NONE);
    program_builder_need(ddp->builder, walk->last);
    g_array_append_val(ddp->walk->reductions, row);
  }
  plan_walk_need_reductions(walk);
  if (ddp->options->gradient_as_bucket_view)
    return;
  for (guint i = 0; i < n; i++)
    plan_walk_pass(walk, walk->stream, "copy out of bucket", ddp->work[walk->section][i].back);
}

static void end_forward(gpointer policy) {
  Ddp *ddp = policy;
  plan_autocast_forward_ended(ddp->autocast);
}

static void begin_micro_batch(gpointer policy) {
  Ddp *ddp = policy;
  plan_step_micro_batch(ddp->walk, PROGRAM_FORWARD);
  plan_buckets_begin(ddp->buckets[ddp->walk->section]);
  ddp->next = 0;
}

static void before_unit(gpointer policy, guint32 unit, PlanPass pass) {
  Ddp *ddp = policy;
  plan_autocast_before_unit(ddp->autocast, unit, pass);
}

static void after_unit(gpointer policy, guint32 unit, PlanPass pass) {
  Ddp *ddp = policy;
  plan_autocast_after_unit(ddp->autocast, unit, pass);
}

static void end_backward(gpointer policy) {
  Ddp *ddp = policy;
  for (guint i = 0; ddp->at_once && i < ddp->parameters->n; i++)
    arrived(ddp, ddp->ready[i]);
  if (reduces(policy))
    finish_reductions(policy);
}

static void take_all(Ddp *ddp, const PlanBlocks *of_units) {
  for (guint32 u = 0; u < ddp->walk->n_units; u++)
    plan_blocks_take(ddp->walk, &of_units[u]);
}

static void optimizer_step(gpointer policy) {
  Ddp *ddp = policy;
  PlanWalk *walk = ddp->walk;
  guint32 first = plan_update_norm(walk, ddp->update);
  plan_paged_move(&ddp->paged, walk);
  plan_update_run(walk, ddp->update, &first);
  if (ddp->walk->section == PROGRAM_FIRST)
    take_all(ddp, ddp->states);
  plan_paged_take(&ddp->paged, walk);
  if (ddp->temporaries != NULL) {
    take_all(ddp, ddp->temporaries);
    for (guint32 u = 0; u < walk->n_units; u++)
      plan_blocks_give(walk, &ddp->temporaries[u], PROGRAM_NONE);
  }
  gboolean held = plan_walk_alone(walk) || !ddp->options->gradient_as_bucket_view;
  for (guint p = 0; held && p < ddp->parameters->n; p++)
    plan_walk_give(walk, ddp->gradients[p], PROGRAM_NONE);
}

static void load(gpointer policy) {
  Ddp *ddp = policy;
  take_all(ddp, ddp->weights);
  if (!plan_walk_alone(ddp->walk))
    program_builder_take(ddp->builder, ddp->memory);
}

/* ---- Setting up ---- */

static void add_gradients(Ddp *ddp) {
  guint n = ddp->parameters->n;
  ddp->gradients = plan_parameters_tensors(ddp->parameters, ddp->walk, "grad", MEM_GRADIENTS, ddp->bytes);
  if (ddp->recipe->gradient_accumulation > 1)
    ddp->fresh = plan_parameters_tensors(ddp->parameters, ddp->walk, "added_grad", MEM_TEMPORARY, ddp->bytes);
  ddp->add_ops = g_new(guint32, n);
  ddp->copy_ops = g_new(guint32, n);
  for (guint p = 0; p < n; p++) {
    guint64 elements = ddp->parameters->list[p].elements;
    ddp->add_ops[p] = memory_op(ddp, elements, 3 * ddp->bytes);
    ddp->copy_ops[p] = memory_op(ddp, elements, 2 * ddp->bytes);
  }
}

/* `trained`: of what is not frozen. */
static PlanBlocks unit_blocks(Ddp *ddp, guint32 unit, const PlanBlocksWhole *whole, gboolean trained, guint32 copies) {
  const ModelUnit *part = ddp->walk->units[unit].unit;
  g_autofree const char **names = g_new(const char *, part->n_parameters + 1);
  g_autofree guint64 *elements = g_new(guint64, part->n_parameters + 1);
  for (guint p = 0; p < part->n_parameters; p++) {
    const ModelParameter *parameter = &part->parameters[p];
    names[p] = parameter->name;
    elements[p] = parameter->shared || (trained && parameter->frozen) ? 0 : parameter->elements;
  }
  return plan_blocks_cut(ddp->walk, whole, names, elements, part->n_parameters, copies);
}

/* Parameters, and what the optimizer makes for each. */
static void add_by_unit(Ddp *ddp, gboolean is_foreach) {
  guint32 n = ddp->walk->n_units, ranks = ddp->recipe->ranks;
  g_autofree guint64 *trained = g_new0(guint64, n), *paged = g_new0(guint64, n);
  guint64 all_paged = 0;
  for (guint p = 0; p < ddp->parameters->n; p++) {
    const PlanParameter *parameter = &ddp->parameters->list[p];
    trained[parameter->unit] += parameter->elements;
    paged[parameter->unit] += plan_paged_bytes(ddp->recipe, parameter->elements);
  }
  guint32 momenta = MAX(plan_optimizer_momenta(ddp->recipe->optimizer), 1);
  ddp->weights = g_new0(PlanBlocks, n);
  ddp->states = g_new0(PlanBlocks, n);
  ddp->temporaries = is_foreach ? g_new0(PlanBlocks, n) : NULL;
  for (guint32 u = 0; u < n; u++) {
    guint64 all = model_unit_elements(ddp->walk->units[u].unit) * ddp->bytes;
    guint64 states = plan_optimizer_states(ddp->walk, trained[u], ddp->bytes) - paged[u];
    all_paged += paged[u];
    const PlanUnit *part = &ddp->walk->units[u];
    const char *name = part->layer >= 0 ? part->name : model_unit_names[part->unit->kind];
    ddp->weights[u] =
        unit_blocks(ddp, u, &(PlanBlocksWhole){name, "parameters", MEM_PARAMETERS, all, all / ranks}, FALSE, 1);
    ddp->states[u] = unit_blocks(
        ddp, u, &(PlanBlocksWhole){name, "optimizer states", MEM_OPTIMIZER, states, states / ranks}, TRUE, momenta);
    if (is_foreach)
      ddp->temporaries[u] = unit_blocks(
          ddp, u, &(PlanBlocksWhole){name, "foreach temporaries", MEM_TEMPORARY, trained[u] * ddp->bytes, 0}, TRUE, 1);
  }
  plan_paged_init(&ddp->paged, ddp->walk, all_paged, ranks);
}

static void add_states(Ddp *ddp) {
  guint32 ranks = ddp->recipe->ranks;
  guint64 trained = ddp->parameters->elements;
  MemTenant of_buckets = ddp->options->gradient_as_bucket_view ? MEM_GRADIENTS : MEM_COMMUNICATION;
  ModelOptimizerStyle style = plan_optimizer_style(ddp->recipe, MODEL_OPTIMIZER_FOREACH);
  ddp->memory = plan_states_tensor(ddp->walk, "buckets", (guint8)of_buckets, trained * ddp->bytes, ranks);
  add_by_unit(ddp, style == MODEL_OPTIMIZER_FOREACH);
  ddp->update = plan_update_usual(ddp->walk, MODEL_OPTIMIZER_FOREACH,
                                  (ModelOptimizer){.elements = trained,
                                                   .tensors = ddp->parameters->n,
                                                   .element_bytes = ddp->bytes,
                                                   .gradient_bytes = ddp->bytes});
}

static void clear(gpointer policy) {
  Ddp *ddp = policy;
  for (int s = 0; s < PROGRAM_SECTIONS; s++) {
    plan_buckets_free(ddp->buckets[s]);
    g_free(ddp->work[s]);
  }
  g_free(ddp->weights);
  g_free(ddp->states);
  g_free(ddp->temporaries);
  plan_autocast_free(ddp->autocast);
  g_free(ddp->gradients);
  g_free(ddp->fresh);
  g_free(ddp->add_ops);
  g_free(ddp->copy_ops);
  g_free(ddp->ready);
  plan_update_free(ddp->update);
}

static void set_up(gpointer policy, PlanWalk *walk, const PlanCase *what) {
  Ddp *ddp = policy;
  guint32 compute_bytes = model_precision_bytes(what->model->precision);
  *ddp = (Ddp){.recipe = what->recipe, .options = &what->recipe->ddp, .builder = walk->builder, .walk = walk};
  ddp->parameters = walk->parameters;
  ddp->at_once = what->model->graph == MODEL_GRAPH_MODEL;
  gboolean mixed = compute_bytes < FP32 && ddp->options->autocast;
  ddp->bytes = mixed ? FP32 : compute_bytes;
  ddp->wire = plan_dtype_bytes(ddp->recipe->communication_dtype, ddp->bytes);
  ddp->comm = program_builder_stream(ddp->builder, "comm");
  program_builder_pool(ddp->builder, ddp->comm, walk->stream);
  ddp->group = plan_groups_everyone(ddp->builder, ddp->recipe);
  ddp->autocast = mixed ? plan_autocast_new(walk, ddp->bytes, compute_bytes, TRUE) : NULL;
  add_gradients(ddp);
  add_states(ddp);
  ddp->ready = plan_parameters_ready(ddp->parameters, walk);
  lay_out(ddp, PROGRAM_FIRST);
  lay_out(ddp, PROGRAM_STEADY);
}

const PlanHooks plan_ddp_hooks = {
    .size = sizeof(Ddp),
    .set_up = set_up,
    .clear = clear,
    .load = load,
    .micro_batch = begin_micro_batch,
    .before_unit = before_unit,
    .gradient = gradient_ready,
    .after_unit = after_unit,
    .forward_ended = end_forward,
    .backward_ended = end_backward,
    .optimizer = optimizer_step,
};
