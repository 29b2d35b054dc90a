/* SPDX-License-Identifier: MIT */
/* DeepSpeed stage 3: which parameters are gathered when, and when they die.
 *
 *   enter a module   A: gather what it lacks ─ wait: C waits A (and what was gathered with it)
 *                    ─ gather ahead, in the order of the trace, at least prefetch_bucket_size elements, while less than
 *                      max_live_parameters are gathered
 *   leave it         free its parameters, unless they persist, were gathered ahead for later, or are used again within
 *                    max_reuse_distance elements
 *
 * The first micro-batch of all records the trace: nothing is gathered ahead. Several parameters are gathered as one
 * flat buffer and copied out of it. The host lets at most two waits be unfinished. No decision depends on time:
 * elements are counted in host order. Before 0.6 each parameter by itself: plan-deepspeed-single.h. Source:
 * runtime/zero/partitioned_param_coordinator.py, partition_parameters.py. */
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-deepspeed-engine.h"
#include "plan-modules.h"

#define UNFINISHED 2    /* waits, before the host waits for the oldest */
#define SCALE      4    /* bytes of the fp32 scale of a quantised group */
#define GROUP      8000 /* elements of a quantised group: CUDAQuantizer.target_group_size */

typedef enum { AWAY, IN_FLIGHT, HERE } Status;

/* One gather under way. */
typedef struct {
  guint *parameters;
  guint n;
  guint64 elements;
  guint32 row, flat; /* flat: tensor, PROGRAM_NONE where it goes straight to its place */
  gboolean quantised;
} Gather;

typedef struct {
  Status status;
  gboolean persists;
  guint32 tensor;
  Gather *gather;         /* IN_FLIGHT */
  gint64 wanted_for;      /* step of the trace that it was last gathered or passed over for */
  guint first, next, end; /* in `steps`: those of the trace that use it; the next of them that was not yet passed */
} Held;

struct PlanDeepspeedFetch {
  PlanDeepspeedEngine *engine;
  PlanModules *modules;
  PlanStream stream; /* DeepSpeed's all-gather stream */
  GArray *trace;     /* guint: modules of a micro-batch */
  gboolean complete;
  GArray *queue;        /* guint64 pairs as (parameter, step) of the trace: see Use */
  guint next_use;       /* in queue */
  guint *steps;         /* of the trace that use a parameter, in order, one parameter after another */
  guint64 *passed_by;   /* by step of the trace: elements of all steps before it */
  guint step;           /* of the trace: modules entered */
  guint64 live;         /* elements gathered or under way */
  Held *held;           /* by parameter */
  guint64 persisting;   /* elements */
  GPtrArray *gathers;   /* Gather *, owned */
  GArray *events;       /* guint32: rows that waits ended with */
  guint32 passed;       /* of these, the last that the host waited for */
  guint32 latest;       /* row of the last gather; before 0.6 */
  guint32 slot, second; /* communicators: of owners, of hpZ's second copies */
  gboolean second_valid;
};

typedef struct {
  guint parameter, step;
} Use;

static guint64 padded(const PlanDeepspeedFetch *fetch, guint parameter) {
  guint64 owners = fetch->engine->owners;
  return (fetch->engine->every->list[parameter].elements + owners - 1) / owners * owners;
}

static guint64 elements_of(const PlanDeepspeedFetch *fetch, guint parameter) {
  return fetch->engine->every->list[parameter].elements;
}

/* ---- Gathering ---- */

static void gather_free(gpointer gather) {
  g_free(((Gather *)gather)->parameters);
  g_free(gather);
}

/* Rows bear the layer of what is gathered, the first of several, whichever layer's work comes to issue it. */
static void of_layer(const PlanDeepspeedFetch *fetch, const Gather *gather) {
  const PlanDeepspeedEngine *engine = fetch->engine;
  guint32 unit = engine->every->list[gather->parameters[0]].unit;
  program_builder_context(engine->builder, PROGRAM_GATHER, engine->walk->units[unit].layer,
                          (gint32)engine->walk->micro);
}

static void issue(PlanDeepspeedFetch *fetch, const char *name, CollOperation operation, guint64 bytes,
                  guint32 *ret_row) {
  PlanDeepspeedEngine *engine = fetch->engine;
  guint32 slot = fetch->second_valid ? fetch->second : fetch->slot;
  *ret_row = plan_walk_collective(engine->walk, engine->streams.comm, name, slot, (CollCall){operation, bytes},
                                  PROGRAM_HINT_NONE);
  plan_stream_block(&fetch->stream);
}

/* Shards to int8 and their scales, both gathered; DeepSpeed's ZeRO++ qwZ. */
static void issue_quantised(PlanDeepspeedFetch *fetch, Gather *gather) {
  PlanDeepspeedEngine *engine = fetch->engine;
  guint64 shard = gather->elements / engine->owners, groups = (gather->elements + GROUP - 1) / GROUP;
  plan_stream_pass(&fetch->stream, "quantise shards",
                   plan_deepspeed_op(engine, shard, engine->walk->element_bytes + 1));
  guint32 first;
  issue(fetch, "gather parameters, int8", COLL_ALL_GATHER, gather->elements, &first);
  issue(fetch, "gather scales", COLL_ALL_GATHER, groups * SCALE, &gather->row);
}

static void gather_now(PlanDeepspeedFetch *fetch, const guint *parameters, guint n) {
  PlanDeepspeedEngine *engine = fetch->engine;
  Gather *gather = g_new0(Gather, 1);
  gather->parameters = g_memdup2(parameters, n * sizeof *parameters);
  gather->n = n;
  gather->flat = PROGRAM_NONE;
  gather->quantised = engine->options->quantized_weights;
  for (guint i = 0; i < n; i++)
    gather->elements += padded(fetch, parameters[i]);
  of_layer(fetch, gather);
  if (plan_deepspeed_single(engine))
    plan_deepspeed_single_before(engine, &fetch->stream, fetch->latest, gather->elements);
  if (!fetch->second_valid)
    plan_deepspeed_offload_fetch(engine, &fetch->stream, gather->elements / engine->owners);
  guint64 bytes = gather->elements * engine->walk->element_bytes;
  gboolean reduces = engine->options->use_all_reduce_for_fetch_params && !gather->quantised;
  if (gather->quantised)
    issue_quantised(fetch, gather);
  else
    issue(fetch, "gather parameters", reduces ? COLL_ALL_REDUCE : COLL_ALL_GATHER, bytes, &gather->row);
  if (n > 1 || gather->quantised) {
    guint64 size = gather->quantised ? gather->elements : bytes;
    gather->flat = program_builder_tensor(engine->builder, "flat gathered parameters", MEM_COMMUNICATION, size, 0);
    plan_walk_take(engine->walk, gather->flat);
  } else {
    plan_walk_take(engine->walk, fetch->held[parameters[0]].tensor);
    if (plan_deepspeed_single_lists(engine))
      gather->row = plan_deepspeed_single_after(engine, &fetch->stream, gather->row, gather->elements);
  }
  fetch->latest = gather->row;
  for (guint i = 0; i < n; i++) {
    fetch->held[parameters[i]].status = IN_FLIGHT;
    fetch->held[parameters[i]].gather = gather;
    fetch->live += elements_of(fetch, parameters[i]);
  }
  g_ptr_array_add(fetch->gathers, gather);
}

static void gather_all(PlanDeepspeedFetch *fetch, const guint *parameters, guint n) {
  if (!fetch->engine->options->allgather_sequential && !plan_deepspeed_single(fetch->engine)) {
    gather_now(fetch, parameters, n);
    return;
  }
  for (guint i = 0; i < n; i++)
    gather_now(fetch, &parameters[i], 1);
}

/* All of a gather is there once one of its parameters is waited for. */
static void finish(PlanDeepspeedFetch *fetch, Gather *gather) {
  PlanDeepspeedEngine *engine = fetch->engine;
  of_layer(fetch, gather);
  g_array_set_size(fetch->stream.waits, 0); /* earlier gathers, which end before this one */
  plan_stream_need(&fetch->stream, gather->row);
  if (gather->flat != PROGRAM_NONE) {
    guint32 in = gather->quantised ? 1 : engine->walk->element_bytes;
    plan_stream_pass(&fetch->stream, gather->quantised ? "dequantise parameters" : "copy out of flat parameters",
                     plan_deepspeed_op(engine, gather->elements, in + engine->walk->element_bytes));
    for (guint i = 0; i < gather->n; i++)
      plan_walk_take(engine->walk, fetch->held[gather->parameters[i]].tensor);
    plan_walk_give(engine->walk, gather->flat, PROGRAM_NONE);
  }
  for (guint i = 0; i < gather->n; i++)
    fetch->held[gather->parameters[i]].status = HERE;
}

/* The host waits for the oldest of more than two unfinished waits. */
static void throttle(PlanDeepspeedFetch *fetch) {
  if (fetch->events->len <= UNFINISHED)
    return;
  guint32 oldest = g_array_index(fetch->events, guint32, fetch->events->len - UNFINISHED - 1);
  if (oldest == fetch->passed)
    return;
  plan_walk_host(fetch->engine->walk, "wait for an earlier gather");
  program_builder_need(fetch->engine->builder, oldest);
  fetch->passed = oldest;
}

static void wait_for(PlanDeepspeedFetch *fetch, guint parameter) {
  Held *held = &fetch->held[parameter];
  if (held->gather == NULL)
    return;
  throttle(fetch);
  Gather *gather = g_steal_pointer(&held->gather);
  if (held->status == IN_FLIGHT)
    finish(fetch, gather);
  const GArray *waits = fetch->stream.waits;
  guint32 event = waits->len > 0 ? g_array_index(waits, guint32, waits->len - 1) : fetch->stream.last;
  g_array_append_val(fetch->events, event);
}

static void prefetch(PlanDeepspeedFetch *fetch) {
  const PlanDeepspeed *options = fetch->engine->options;
  guint64 room = options->max_live_parameters > fetch->live ? options->max_live_parameters - fetch->live : 0;
  guint64 most = MIN(room, options->prefetch_bucket_size), elements = 0;
  if (options->allgather_sequential)
    most = MIN(most, 1);
  g_autoptr(GArray) ahead = g_array_new(FALSE, FALSE, sizeof(guint));
  while (fetch->next_use < fetch->queue->len && elements < most) {
    const Use *use = &g_array_index(fetch->queue, Use, fetch->next_use++);
    Held *held = &fetch->held[use->parameter];
    held->wanted_for = MAX(held->wanted_for, (gint64)use->step);
    gboolean listed = FALSE;
    for (guint i = 0; i < ahead->len; i++)
      listed |= g_array_index(ahead, guint, i) == use->parameter;
    if (held->status != AWAY || listed)
      continue;
    g_array_append_val(ahead, use->parameter);
    elements += elements_of(fetch, use->parameter);
  }
  if (ahead->len > 0)
    gather_all(fetch, (const guint *)(gpointer)ahead->data, ahead->len);
}

/* ---- Entering and leaving modules ---- */

/* Uses of the module's parameters that the queue has not reached yet are passed over. */
static void pass_over(PlanDeepspeedFetch *fetch, const PlanModule *module) {
  guint unseen = 0;
  for (guint i = 0; i < module->n; i++)
    unseen += fetch->held[module->parameters[i]].wanted_for < (gint64)fetch->step;
  while (unseen > 0 && fetch->next_use < fetch->queue->len) {
    const Use *use = &g_array_index(fetch->queue, Use, fetch->next_use++);
    fetch->held[use->parameter].wanted_for = (gint64)use->step;
    unseen--;
  }
}

static void enter(PlanDeepspeedFetch *fetch, const PlanModule *module, PlanPass pass) {
  PlanDeepspeedEngine *engine = fetch->engine;
  plan_walk_cost(engine->walk, model_host_cost(engine->walk->host, MODEL_HOST_DEEPSPEED_MODULE));
  for (guint i = 0; fetch->complete && i < module->before[pass == PLAN_BACKWARD]; i++)
    prefetch(fetch);
  g_autoptr(GArray) missing = g_array_new(FALSE, FALSE, sizeof(guint));
  for (guint i = 0; i < module->n; i++)
    if (fetch->held[module->parameters[i]].status == AWAY)
      g_array_append_val(missing, module->parameters[i]);
  if (missing->len > 0)
    gather_all(fetch, (const guint *)(gpointer)missing->data, missing->len);
  gboolean lacked = FALSE;
  for (guint i = 0; i < module->n; i++) {
    lacked |= fetch->held[module->parameters[i]].gather != NULL;
    wait_for(fetch, module->parameters[i]);
  }
  if (lacked && plan_deepspeed_single(engine))
    plan_deepspeed_single_wait(engine, &fetch->stream, fetch->latest);
  plan_stream_follow(&engine->streams.compute, &fetch->stream);
  if (fetch->complete) {
    pass_over(fetch, module);
    prefetch(fetch);
  }
  fetch->step++;
}

static gboolean is_used_soon(PlanDeepspeedFetch *fetch, guint parameter) {
  Held *held = &fetch->held[parameter];
  while (held->next < held->end && fetch->steps[held->next] < fetch->step)
    held->next++;
  if (held->next == held->end)
    return FALSE;
  guint64 passed = fetch->passed_by[fetch->steps[held->next]] - fetch->passed_by[fetch->step];
  return passed < fetch->engine->options->max_reuse_distance;
}

static gboolean keeps(PlanDeepspeedFetch *fetch, guint parameter) {
  const Held *held = &fetch->held[parameter];
  if (held->persists)
    return TRUE;
  return fetch->complete && (held->wanted_for > (gint64)fetch->step || is_used_soon(fetch, parameter));
}

/* hpZ: when a parameter leaves for the first time in a step, the rank keeps its part of the second copy. */
static void keep_second(PlanDeepspeedFetch *fetch, guint parameter) {
  PlanDeepspeedEngine *engine = fetch->engine;
  guint64 part =
      (elements_of(fetch, parameter) + engine->options->hpz_partition_size - 1) / engine->options->hpz_partition_size;
  plan_stream_pass(&engine->streams.compute, "keep second copy",
                   plan_deepspeed_op(engine, part, 2 * engine->walk->element_bytes));
  plan_walk_host(engine->walk, "wait for the second copy");
  plan_stream_block(&engine->streams.compute);
}

static void leave(PlanDeepspeedFetch *fetch, const PlanModule *module) {
  for (guint i = 0; i < module->n; i++) {
    guint parameter = module->parameters[i];
    if (fetch->held[parameter].status != HERE || keeps(fetch, parameter))
      continue;
    if (fetch->second != PROGRAM_NONE && !fetch->second_valid)
      keep_second(fetch, parameter);
    plan_walk_give(fetch->engine->walk, fetch->held[parameter].tensor, fetch->engine->streams.compute.id);
    fetch->held[parameter].status = AWAY;
    fetch->live -= elements_of(fetch, parameter);
  }
}

void plan_deepspeed_fetch_before(PlanDeepspeedFetch *fetch, guint32 unit, const ModelOp *op, PlanPass pass) {
  guint module = plan_modules_of(fetch->modules, unit, op);
  if (module == PLAN_NO_MODULE)
    return;
  const ModelUnit *of = fetch->engine->walk->units[unit].unit;
  const ModelOp *first = pass == PLAN_BACKWARD ? of->backward : of->forward;
  for (const ModelOp *earlier = op; earlier-- > first;)
    if (plan_modules_of(fetch->modules, unit, earlier) == module &&
        plan_modules_runs(fetch->engine->walk, unit, earlier, pass))
      return;
  program_builder_context(fetch->engine->builder, PROGRAM_GATHER, fetch->engine->walk->units[unit].layer,
                          (gint32)fetch->engine->walk->micro);
  enter(fetch, &fetch->modules->list[module], pass);
}

void plan_deepspeed_fetch_after(PlanDeepspeedFetch *fetch, guint32 unit, const ModelOp *op, PlanPass pass) {
  guint module = plan_modules_of(fetch->modules, unit, op);
  if (module != PLAN_NO_MODULE && plan_modules_leaves(fetch->modules, fetch->engine->walk, unit, op, pass))
    leave(fetch, &fetch->modules->list[module]);
}

/* ---- Micro-batches and steps ---- */

void plan_deepspeed_fetch_section(PlanDeepspeedFetch *fetch) {
  plan_stream_section(&fetch->stream);
  g_array_set_size(fetch->events, 0);
  fetch->passed = fetch->latest = PROGRAM_NONE;
  fetch->second_valid = FALSE;
}

void plan_deepspeed_fetch_micro_batch(PlanDeepspeedFetch *fetch) {
  fetch->complete = fetch->engine->walk->section == PROGRAM_STEADY || fetch->engine->walk->micro > 0;
  fetch->step = fetch->next_use = 0;
  for (guint p = 0; p < fetch->engine->every->n; p++) {
    fetch->held[p].wanted_for = -1;
    fetch->held[p].next = fetch->held[p].first;
  }
}

/* From the end of a step's first forward pass on, the second copy serves. */
void plan_deepspeed_fetch_forward_ended(PlanDeepspeedFetch *fetch) {
  fetch->second_valid = fetch->second != PROGRAM_NONE;
}

/* Parameters that stay gathered are cut up by the step and gathered anew, as one. */
void plan_deepspeed_fetch_step_ended(PlanDeepspeedFetch *fetch) {
  PlanDeepspeedEngine *engine = fetch->engine;
  if (fetch->persisting == 0)
    return;
  program_builder_context(engine->builder, PROGRAM_GATHER, -1, -1);
  plan_deepspeed_offload_fetch(engine, &engine->streams.compute, fetch->persisting / engine->owners);
  CollCall call = {COLL_ALL_GATHER, fetch->persisting * engine->walk->element_bytes};
  plan_stream_collective(&engine->streams.compute, engine->streams.comm, "gather persistent parameters", fetch->slot,
                         call, PROGRAM_HINT_BOUNDARY);
}

/* ---- Setting up ---- */

/* The smallest parameters stay gathered, in order of definition, as long as all of them together may. */
static void choose_persistent(PlanDeepspeedFetch *fetch) {
  const PlanDeepspeed *options = fetch->engine->options;
  guint64 whole = 0;
  for (guint p = 0; p < fetch->engine->every->n; p++) {
    guint64 elements = elements_of(fetch, p);
    if (elements > options->param_persistence_threshold || whole + elements > options->model_persistence_threshold)
      continue;
    whole += elements;
    fetch->persisting += padded(fetch, p);
    fetch->held[p].persists = TRUE;
    fetch->held[p].status = HERE;
  }
}

static void make_queue(PlanDeepspeedFetch *fetch) {
  fetch->queue = g_array_new(FALSE, FALSE, sizeof(Use));
  fetch->passed_by = g_new0(guint64, fetch->trace->len + 1);
  for (guint step = 0; step < fetch->trace->len; step++) {
    fetch->passed_by[step + 1] = fetch->passed_by[step];
    const PlanModule *module = &fetch->modules->list[g_array_index(fetch->trace, guint, step)];
    for (guint i = 0; i < module->n; i++) {
      Use use = {module->parameters[i], step};
      g_array_append_val(fetch->queue, use);
      fetch->passed_by[step + 1] += elements_of(fetch, use.parameter);
    }
  }
}

static void list_steps(PlanDeepspeedFetch *fetch) {
  fetch->steps = g_new(guint, fetch->queue->len + 1);
  const Use *uses = (const Use *)(gpointer)fetch->queue->data;
  for (guint i = 0; i < fetch->queue->len; i++)
    fetch->held[uses[i].parameter].end++;
  guint so_far = 0;
  for (guint p = 0; p < fetch->engine->every->n; p++) {
    Held *held = &fetch->held[p];
    guint n = held->end;
    held->first = held->end = so_far;
    so_far += n;
  }
  for (guint i = 0; i < fetch->queue->len; i++)
    fetch->steps[fetch->held[uses[i].parameter].end++] = uses[i].step;
}

PlanDeepspeedFetch *plan_deepspeed_fetch_new(PlanDeepspeedEngine *engine, guint32 stream, guint32 slot,
                                             guint32 second) {
  PlanDeepspeedFetch *fetch = g_new0(PlanDeepspeedFetch, 1);
  fetch->engine = engine;
  fetch->slot = slot;
  fetch->second = second;
  fetch->modules = plan_modules_new(engine->walk, engine->every, engine->options->module_granularity_threshold);
  fetch->trace = plan_modules_trace(fetch->modules, engine->walk);
  fetch->gathers = g_ptr_array_new_with_free_func(gather_free);
  fetch->events = g_array_new(FALSE, FALSE, sizeof(guint32));
  fetch->held = g_new0(Held, engine->every->n);
  g_autofree guint32 *tensors =
      plan_parameters_tensors(engine->every, engine->walk, "gathered", MEM_COMMUNICATION, engine->walk->element_bytes);
  for (guint p = 0; p < engine->every->n; p++)
    fetch->held[p].tensor = tensors[p];
  plan_stream_init(&fetch->stream, engine->walk, stream);
  choose_persistent(fetch);
  make_queue(fetch);
  list_steps(fetch);
  return fetch;
}

guint64 plan_deepspeed_fetch_persisting(const PlanDeepspeedFetch *fetch) {
  return fetch->persisting;
}

void plan_deepspeed_fetch_free(PlanDeepspeedFetch *fetch) {
  if (fetch == NULL)
    return;
  plan_stream_clear(&fetch->stream);
  plan_modules_free(fetch->modules);
  g_array_unref(fetch->trace);
  g_array_unref(fetch->queue);
  g_free(fetch->steps);
  g_free(fetch->passed_by);
  g_array_unref(fetch->events);
  g_ptr_array_unref(fetch->gathers);
  g_free(fetch->held);
  g_free(fetch);
}
