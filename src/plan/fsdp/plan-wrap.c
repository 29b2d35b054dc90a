/* SPDX-License-Identifier: MIT */
/* Units from the parts of the walk, and how they are cut. */
#include "plan-wrap.h"

#include <string.h>

#include "base-error.h"

/* What stands between two stacks is of the model around their blocks, as the embedding is. */
typedef enum { EMBEDDING, BLOCK, HEAD } Part;

static Part part_of(const PlanWalk *walk, guint32 index) {
  ModelUnitKind kind = walk->units[index].unit->kind;
  return model_unit_is_layer(kind) ? BLOCK : kind == MODEL_UNIT_HEAD ? HEAD : EMBEDDING;
}

#define ROOT(walk)  ((walk)->n_units)     /* owners beside the parts themselves */
#define MODEL(walk) ((walk)->n_units + 1) /* Hugging Face's model, within the whole beside the head */

/* Whether what no unit inside it holds of a part is a unit of its own. */
static gboolean stands_alone(const PlanWalk *walk, PlanWrapKind kind, guint64 least, guint32 part, guint64 left) {
  if (kind == PLAN_WRAP_SIZE)
    return left >= least;
  return kind == PLAN_WRAP_ENDS || (kind == PLAN_WRAP_BLOCK && part_of(walk, part) == BLOCK);
}

/* A parameter joins the unit that is being made. */
static void take(PlanWrap *wrap, PlanWrapUnit *unit, const PlanWalk *walk, guint32 part, guint p) {
  const ModelParameter *parameter = &walk->units[part].unit->parameters[p];
  wrap->of[part][p] = wrap->n;
  unit->elements += parameter->shared ? 0 : parameter->elements;
  unit->parameters += !parameter->shared && !parameter->frozen;
}

/* ---- Inside a block ---- */

static gboolean touches(const ModelOp *op, guint64 parameters, gboolean backward) {
  guint64 made = (op->gradient_of >= 0 ? (guint64)1 << op->gradient_of : 0) |
                 (op->also_gradient_of >= 0 ? (guint64)1 << op->also_gradient_of : 0);
  return ((op->uses | (backward ? made : 0)) & parameters) != 0;
}

static PlanSpan span_of(const ModelOp *ops, guint n, guint64 parameters, gboolean backward) {
  PlanSpan span = {n, 0};
  for (guint i = 0; i < n; i++)
    if (touches(&ops[i], parameters, backward)) {
      span.begin = MIN(span.begin, i);
      span.end = i;
    }
  return span;
}

static PlanSpan forward_of(const ModelUnit *block, const PlanWrapModule *module) {
  return span_of(block->forward, block->n_forward, module->span, FALSE);
}

static void add_inside(PlanWrap *wrap, const PlanWalk *walk, guint32 part, const PlanWrapModule *module) {
  const ModelUnit *block = walk->units[part].unit;
  PlanWrapUnit *unit = &wrap->units[wrap->n];
  *unit = (PlanWrapUnit){.layer = walk->units[part].layer, .first = part, .last = part, .inside = module->name};
  unit->forward = forward_of(block, module);
  unit->backward = (PlanSpan){span_of(block->backward, block->n_backward, module->span, TRUE).begin,
                              span_of(block->backward, block->n_backward, module->parameters, TRUE).end};
  for (guint p = 0; p < block->n_parameters; p++)
    if (module->parameters >> p & 1)
      take(wrap, unit, walk, part, p);
  wrap->has_inside = TRUE;
  wrap->n++;
}

/* Whether its forward ends before the other's, or with it and within it. */
static gboolean ends_before(PlanSpan a, PlanSpan b) {
  return a.end != b.end ? a.end < b.end : a.begin > b.begin;
}

/* Units inside the block, in order of forward's end, which is that of their modules; returns the elements that they
 * leave. */
static guint64 split_block(PlanWrap *wrap, const PlanWalk *walk, guint32 part, guint64 least) {
  const ModelUnit *block = walk->units[part].unit;
  PlanWrapModule made[PLAN_WRAP_INSIDE];
  guint64 left = model_unit_elements(block);
  guint n = left < least ? 0 : plan_wrap_inside(block, least, made);
  for (guint m = 1; m < n; m++)
    sim_require(!ends_before(forward_of(block, &made[m]), forward_of(block, &made[m - 1])), 0, NULL,
                "the forward of %s ends before that of %s", made[m].name, made[m - 1].name);
  for (guint m = 0; m < n; m++) {
    add_inside(wrap, walk, part, &made[m]);
    left -= wrap->units[wrap->n - 1].elements;
  }
  return left;
}

/* A block's experts, where their data ranks are not the others'; returns the elements that they leave. */
static guint64 take_experts(PlanWrap *wrap, const PlanWalk *walk, guint32 part) {
  const ModelUnit *block = walk->units[part].unit;
  guint64 left = model_unit_elements(block), experts = 0;
  for (guint p = 0; p < block->n_parameters && walk->recipe->experts_apart; p++)
    experts |= block->parameters[p].expert ? (guint64)1 << p : 0;
  if (experts == 0)
    return left;
  add_inside(wrap, walk, part, &(PlanWrapModule){"experts", experts, experts});
  wrap->units[wrap->n - 1].apart = TRUE;
  return left - wrap->units[wrap->n - 1].elements;
}

/* Low-rank matrices, each a module: "q_proj.lora_A.weight". */
static gboolean is_adapter(const ModelParameter *parameter) {
  return !parameter->frozen && strstr(parameter->name, ".lora_") != NULL;
}

/* A block's adapters, each a unit, in order of forward's end. */
static void take_adapters(PlanWrap *wrap, const PlanWalk *walk, guint32 part) {
  const ModelUnit *block = walk->units[part].unit;
  g_autoptr(GArray) modules = g_array_new(FALSE, FALSE, sizeof(PlanWrapModule));
  for (guint p = 0; p < block->n_parameters && walk->recipe->fsdp.wraps_adapters; p++) {
    const ModelParameter *parameter = &block->parameters[p];
    PlanWrapModule module = {parameter->name, (guint64)1 << p, (guint64)1 << p};
    guint at = modules->len;
    if (!is_adapter(parameter) || wrap->of[part][p] != PROGRAM_NONE)
      continue;
    while (at > 0 &&
           ends_before(forward_of(block, &module), forward_of(block, &g_array_index(modules, PlanWrapModule, at - 1))))
      at--;
    g_array_insert_val(modules, at, module);
  }
  for (guint m = 0; m < modules->len; m++)
    add_inside(wrap, walk, part, &g_array_index(modules, PlanWrapModule, m));
}

/* ---- Whole parts ---- */

/* What no unit inside holds of the owner's parts. */
static void add_unit(PlanWrap *wrap, const PlanWalk *walk, const PlanChunk *chunk, const guint32 *owner,
                     guint32 owned_by) {
  PlanWrapUnit unit = {.layer = -1, .root = owned_by == ROOT(walk), .first = walk->n_units};
  gboolean alone = owned_by < walk->n_units;
  for (guint32 u = alone ? owned_by : chunk->first; u <= (alone ? owned_by : chunk->last); u++) {
    if (owner[u] != owned_by)
      continue;
    unit.first = MIN(unit.first, u);
    unit.last = u;
    sim_require(wrap->of[u] != NULL, 0, NULL, "unit %u has no owners", u);
    for (guint p = 0; p < walk->units[u].unit->n_parameters; p++)
      if (wrap->of[u][p] == PROGRAM_NONE)
        take(wrap, &unit, walk, u, p);
  }
  if (unit.first == walk->n_units)
    return;
  unit.layer = unit.first == unit.last ? walk->units[unit.first].layer : -1;
  wrap->units[wrap->n++] = unit;
}

/* Outer units begin first: the root, then those that begin with an earlier part, which one alone has as a whole, then
 * those that hold more. */
static gboolean begins_before(const PlanWrapUnit *a, const PlanWrapUnit *b) {
  if (a->root != b->root)
    return a->root;
  if (a->first != b->first)
    return a->first < b->first;
  if ((a->inside == NULL) != (b->inside == NULL))
    return a->inside == NULL;
  return a->forward.begin != b->forward.begin ? a->forward.begin < b->forward.begin : a->forward.end > b->forward.end;
}

static void order_beginnings(PlanWrap *wrap, guint32 from) {
  for (guint32 w = from; w < wrap->n; w++) {
    guint32 at = w;
    for (; at > from && begins_before(&wrap->units[w], &wrap->units[wrap->begun[at - 1]]); at--)
      wrap->begun[at] = wrap->begun[at - 1];
    wrap->begun[at] = w;
  }
}

static void add_chunk(PlanWrap *wrap, const PlanWalk *walk, PlanWrapKind kind, guint64 least, const PlanChunk *chunk) {
  g_autofree guint32 *owner = g_new(guint32, walk->n_units);
  gboolean has_head = part_of(walk, chunk->last) == HEAD;
  guint32 head = has_head ? chunk->last : chunk->last + 1;
  guint64 rest = 0;
  for (guint32 u = chunk->first; u <= chunk->last; u++)
    owner[u] = ROOT(walk);
  for (guint32 u = chunk->first; u <= chunk->last; u++) {
    gboolean splits = kind == PLAN_WRAP_SIZE && part_of(walk, u) == BLOCK;
    guint64 left = splits ? split_block(wrap, walk, u, least) : take_experts(wrap, walk, u);
    take_adapters(wrap, walk, u);
    owner[u] = stands_alone(walk, kind, least, u, left) ? u : u < head ? MODEL(walk) : ROOT(walk);
    rest += owner[u] == MODEL(walk) ? left : 0;
    if (u < head && owner[u] == u)
      add_unit(wrap, walk, chunk, owner, u);
  }
  /* A list of blocks is never a unit, but the model that holds it may be. */
  for (guint32 u = chunk->first; u < head && (kind != PLAN_WRAP_SIZE || rest < least); u++)
    owner[u] = owner[u] == MODEL(walk) ? ROOT(walk) : owner[u];
  add_unit(wrap, walk, chunk, owner, MODEL(walk));
  if (has_head)
    add_unit(wrap, walk, chunk, owner, head);
  add_unit(wrap, walk, chunk, owner, ROOT(walk));
}

/* ---- By part of the walk ---- */

static guint32 first_of(const PlanWrapUnit *unit) {
  return unit->first;
}

static guint32 last_of(const PlanWrapUnit *unit) {
  return unit->last;
}

/* Units in an order (NULL: as they are), by the part that each says. */
static void index_units(const PlanWrap *wrap, const guint32 *order, guint32 (*part)(const PlanWrapUnit *unit),
                        PlanWrapIndex *ret) {
  g_autofree guint32 *next = g_new0(guint32, wrap->n_parts + 1);
  ret->from = g_new0(guint32, wrap->n_parts + 1);
  ret->list = g_new(guint32, wrap->n);
  for (guint32 w = 0; w < wrap->n; w++)
    ret->from[part(&wrap->units[w]) + 1]++;
  for (guint32 u = 0; u < wrap->n_parts; u++)
    next[u + 1] = ret->from[u + 1] += ret->from[u];
  for (guint32 i = 0; i < wrap->n; i++) {
    guint32 w = order == NULL ? i : order[i];
    ret->list[next[part(&wrap->units[w])]++] = w;
  }
}

static void index_all(PlanWrap *wrap) {
  index_units(wrap, NULL, first_of, &wrap->firsts);
  index_units(wrap, NULL, last_of, &wrap->lasts);
  index_units(wrap, wrap->begun, first_of, &wrap->begins);
  wrap->place = g_new(guint32, wrap->n);
  for (guint32 i = 0; i < wrap->n; i++)
    wrap->place[wrap->begun[i]] = i;
}

static void clear_index(PlanWrapIndex *index) {
  g_free(index->from);
  g_free(index->list);
}

PlanWrap *plan_wrap_new(const PlanWalk *walk, PlanWrapKind kind, guint64 least) {
  PlanWrap *wrap = g_new0(PlanWrap, 1);
  gsize most = kind == PLAN_WRAP_SIZE ? (gsize)walk->n_units * (PLAN_WRAP_INSIDE + 1) : 2 * (gsize)walk->n_units;
  most += 2 * (gsize)walk->holding->n_chunks;
  for (guint32 u = 0; u < walk->n_units && walk->recipe->fsdp.wraps_adapters; u++)
    most += walk->units[u].unit->n_parameters;
  wrap->units = g_new0(PlanWrapUnit, most);
  wrap->begun = g_new(guint32, most);
  wrap->n_parts = walk->n_units;
  wrap->of = g_new0(guint32 *, walk->n_units);
  for (guint32 u = 0; u < walk->n_units; u++) {
    guint n = walk->units[u].unit->n_parameters;
    wrap->of[u] = g_new(guint32, n);
    for (guint p = 0; p < n; p++)
      wrap->of[u][p] = PROGRAM_NONE;
  }
  for (guint32 c = 0; c < walk->holding->n_chunks; c++) {
    guint32 from = wrap->n;
    add_chunk(wrap, walk, kind, least, &walk->holding->chunks[c]);
    for (guint32 w = from; w < wrap->n; w++)
      wrap->units[w].chunk = c;
    order_beginnings(wrap, from);
  }
  index_all(wrap);
  return wrap;
}

void plan_wrap_free(PlanWrap *wrap) {
  if (wrap == NULL)
    return;
  for (guint32 u = 0; u < wrap->n_parts; u++)
    g_free(wrap->of[u]);
  g_free(wrap->of);
  g_free(wrap->begun);
  g_free(wrap->place);
  clear_index(&wrap->firsts);
  clear_index(&wrap->lasts);
  clear_index(&wrap->begins);
  g_free(wrap->units);
  g_free(wrap);
}

guint32 plan_wrap_next(const PlanWrap *wrap, guint32 unit) {
  guint32 at = wrap->place[unit];
  guint32 next = at + 1 < wrap->n ? wrap->begun[at + 1] : PROGRAM_NONE;
  return next != PROGRAM_NONE && wrap->units[next].chunk == wrap->units[unit].chunk ? next : PROGRAM_NONE;
}

guint32 plan_wrap_around(const PlanWrap *wrap, guint32 part) {
  for (guint32 i = wrap->firsts.from[part]; i < wrap->firsts.from[part + 1]; i++) {
    const PlanWrapUnit *unit = &wrap->units[wrap->firsts.list[i]];
    if (unit->inside == NULL && unit->last == part)
      return wrap->firsts.list[i];
  }
  return PROGRAM_NONE;
}

gboolean plan_wrap_holds(const PlanWrap *wrap, const PlanWalk *walk, guint32 unit, guint32 part) {
  for (guint p = 0; p < walk->units[part].unit->n_parameters; p++)
    if (wrap->of[part][p] == unit)
      return TRUE;
  return FALSE;
}

static guint64 rounded_up(guint64 value, guint64 to) {
  return (value + to - 1) / to * to;
}

static gboolean counts(const ModelParameter *parameter, PlanWrapWhich which) {
  const gboolean wanted[] = {[PLAN_WRAP_ALL] = TRUE,
                             [PLAN_WRAP_TRAINED] = !parameter->frozen,
                             [PLAN_WRAP_FP8] = parameter->fp8,
                             [PLAN_WRAP_ALIKE] = parameter->place != MODEL_PLACE_SPLIT};
  return wanted[which] && !parameter->shared;
}

typedef guint64 (*Measure)(guint64 so_far, const ModelParameter *parameter, guint64 by);

static guint64 measure(const PlanWrap *wrap, const PlanWalk *walk, PlanWrapWhich which, guint32 unit, Measure add,
                       guint64 by) {
  guint64 sum = 0;
  for (guint32 u = wrap->units[unit].first; u <= wrap->units[unit].last; u++) {
    const ModelUnit *part = walk->units[u].unit;
    for (guint p = 0; p < part->n_parameters; p++)
      if (wrap->of[u][p] == unit && counts(&part->parameters[p], which))
        sum = add(sum, &part->parameters[p], by);
  }
  return sum;
}

static guint64 add_flat(guint64 so_far, const ModelParameter *parameter, guint64 aligned) {
  return rounded_up(so_far, aligned) + parameter->elements;
}

static guint64 add_rows(guint64 so_far, const ModelParameter *parameter, guint64 ranks) {
  return so_far + rounded_up(parameter->rows, ranks) / ranks * (parameter->elements / parameter->rows);
}

guint64 plan_wrap_flat_shard(const PlanWrap *wrap, const PlanWalk *walk, PlanWrapWhich which, guint32 unit,
                             guint32 ranks, guint64 aligned) {
  return rounded_up(measure(wrap, walk, which, unit, add_flat, aligned), ranks) / ranks;
}

guint64 plan_wrap_rows_shard(const PlanWrap *wrap, const PlanWalk *walk, PlanWrapWhich which, guint32 unit,
                             guint32 ranks) {
  return measure(wrap, walk, which, unit, add_rows, ranks);
}
