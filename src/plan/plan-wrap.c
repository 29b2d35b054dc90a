/* Units from the parts of the walk, and how they are cut. */
#include "plan-wrap.h"

typedef enum { EMBEDDING, BLOCK, HEAD } Part;

static Part part_of(const PlanWalk *walk, guint32 index) {
  return index == 0 ? EMBEDDING : index + 1 < walk->n_units ? BLOCK : HEAD;
}

static guint64 elements_of(const PlanWalk *walk, guint32 index) {
  return model_unit_elements(walk->units[index].unit);
}

/* Of Hugging Face's nesting: model{embedding, list of blocks}, head beside it, the whole around both. A list is never a
 * unit. */
static void choose_by_size(const PlanWalk *walk, guint64 least, guint32 *owner) {
  guint32 head = walk->n_units - 1, root = walk->n_units, model = walk->n_units + 1;
  guint64 rest = 0;
  for (guint32 u = 0; u < head; u++) {
    owner[u] = elements_of(walk, u) >= least ? u : model;
    rest += owner[u] == model ? elements_of(walk, u) : 0;
  }
  for (guint32 u = 0; u < head && rest < least; u++)
    owner[u] = owner[u] == model ? root : owner[u];
  owner[head] = elements_of(walk, head) >= least ? head : root;
}

/* By part: itself, or n_units for the root. */
static void choose(const PlanWalk *walk, PlanWrapKind kind, guint64 least, guint32 *owner) {
  if (kind == PLAN_WRAP_SIZE) {
    choose_by_size(walk, least, owner);
    return;
  }
  for (guint32 u = 0; u < walk->n_units; u++) {
    gboolean own = kind == PLAN_WRAP_ENDS || (kind == PLAN_WRAP_BLOCK && part_of(walk, u) == BLOCK);
    owner[u] = own ? u : walk->n_units;
  }
}

static guint32 count_parameters(const PlanWalk *walk, guint32 index) {
  guint32 n = 0;
  for (guint p = 0; p < walk->units[index].unit->n_parameters; p++)
    n += !walk->units[index].unit->parameters[p].shared && !walk->units[index].unit->parameters[p].frozen;
  return n;
}

static void add_unit(PlanWrap *wrap, const PlanWalk *walk, const guint32 *owner, guint32 owned_by) {
  PlanWrapUnit unit = {.layer = -1, .root = owned_by == walk->n_units, .first = walk->n_units};
  for (guint32 u = 0; u < walk->n_units; u++) {
    if (owner[u] != owned_by)
      continue;
    unit.first = MIN(unit.first, u);
    unit.last = u;
    unit.elements += elements_of(walk, u);
    unit.parameters += count_parameters(walk, u);
    wrap->of[u] = wrap->n;
  }
  if (unit.first == walk->n_units)
    return;
  unit.layer = unit.first == unit.last ? walk->units[unit.first].layer : -1;
  wrap->units[wrap->n++] = unit;
}

PlanWrap *plan_wrap_new(const PlanWalk *walk, PlanWrapKind kind, guint64 least) {
  PlanWrap *wrap = g_new0(PlanWrap, 1);
  g_autofree guint32 *owner = g_new(guint32, walk->n_units);
  guint32 root = walk->n_units, model = walk->n_units + 1;
  wrap->units = g_new0(PlanWrapUnit, walk->n_units + 2);
  wrap->of = g_new(guint32, walk->n_units);
  choose(walk, kind, least, owner);
  for (guint32 u = 0; u + 1 < walk->n_units; u++)
    add_unit(wrap, walk, owner, u);
  add_unit(wrap, walk, owner, model);
  add_unit(wrap, walk, owner, walk->n_units - 1);
  add_unit(wrap, walk, owner, root);
  return wrap;
}

void plan_wrap_free(PlanWrap *wrap) {
  if (wrap == NULL)
    return;
  g_free(wrap->units);
  g_free(wrap->of);
  g_free(wrap);
}

gboolean plan_wrap_splits_blocks(const ModelShape *shape, guint64 least) {
  guint64 queries = shape->heads * shape->head_dim, keys = shape->kv_heads * shape->head_dim;
  guint64 attention = shape->hidden_size * (2 * queries + 2 * keys);
  guint64 mlp = shape->hidden_size * shape->intermediate_size * (shape->family == MODEL_LLAMA ? 3 : 2);
  return MAX(attention, mlp) >= least;
}

static guint64 rounded_up(guint64 value, guint64 to) {
  return (value + to - 1) / to * to;
}

static gboolean counts(const ModelParameter *parameter, PlanWrapWhich which) {
  gboolean wanted = which == PLAN_WRAP_TRAINED ? !parameter->frozen : which == PLAN_WRAP_FP8 ? parameter->fp8 : TRUE;
  return wanted && !parameter->shared;
}

typedef guint64 (*Measure)(guint64 so_far, const ModelParameter *parameter, guint64 by);

static guint64 measure(const PlanWrap *wrap, const PlanWalk *walk, PlanWrapWhich which, guint32 unit, Measure add,
                       guint64 by) {
  guint64 sum = 0;
  for (guint32 u = wrap->units[unit].first; u <= wrap->units[unit].last; u++) {
    const ModelUnit *part = walk->units[u].unit;
    for (guint p = 0; p < part->n_parameters && wrap->of[u] == unit; p++)
      if (counts(&part->parameters[p], which))
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
