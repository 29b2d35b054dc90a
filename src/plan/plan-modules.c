/* SPDX-License-Identifier: MIT */
/* Modules of units, and the order in which they are entered. */
#include "plan-modules.h"

#include <string.h>

#include "plan-lives.h"

#define CONTAINERS 4 /* of a layer: itself, attention, MLP, its activation */
#define FORWARD    0
#define BACKWARD   1

static gsize stem(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot != NULL ? (gsize)(dot - name) : strlen(name);
}

static gboolean same_module(const ModelParameter *a, const ModelParameter *b) {
  return stem(a->name) == stem(b->name) && strncmp(a->name, b->name, stem(a->name)) == 0;
}

guint plan_modules_of(const PlanModules *modules, guint32 unit, const ModelOp *op) {
  guint first = 0;
  if (op->uses != 0)
    while (!(op->uses >> first & 1))
      first++;
  else if (op->gradient_of >= 0)
    first = (guint)op->gradient_of;
  else
    return PLAN_NO_MODULE;
  return modules->of_unit[unit][first];
}

gboolean plan_modules_runs(const PlanWalk *walk, guint32 unit, const ModelOp *op, PlanPass pass) {
  const PlanUnit *where = &walk->units[unit];
  return pass != PLAN_RECOMPUTE || model_set_has(where->lives->again, (guint)(op - where->unit->forward));
}

gboolean plan_modules_leaves(const PlanModules *modules, const PlanWalk *walk, guint32 unit, const ModelOp *op,
                             PlanPass pass) {
  const ModelUnit *of = walk->units[unit].unit;
  const ModelOp *end = pass == PLAN_BACKWARD ? of->backward + of->n_backward : of->forward + of->n_forward;
  guint module = plan_modules_of(modules, unit, op);
  for (const ModelOp *later = op + 1; later < end; later++)
    if (plan_modules_runs(walk, unit, later, pass) && plan_modules_of(modules, unit, later) == module)
      return FALSE;
  return TRUE;
}

static void trace_ops(const PlanModules *modules, const PlanWalk *walk, guint32 unit, const ModelOp *ops, guint n,
                      PlanPass pass, GArray *trace) {
  for (guint i = 0; i < n; i++) {
    if (!plan_modules_runs(walk, unit, &ops[i], pass))
      continue;
    guint module = plan_modules_of(modules, unit, &ops[i]);
    if (module != PLAN_NO_MODULE && plan_modules_leaves(modules, walk, unit, &ops[i], pass))
      g_array_append_val(trace, module);
  }
}

GArray *plan_modules_trace(const PlanModules *modules, const PlanWalk *walk) {
  GArray *trace = g_array_new(FALSE, FALSE, sizeof(guint));
  for (guint32 u = 0; u < walk->n_units; u++)
    trace_ops(modules, walk, u, walk->units[u].unit->forward, walk->units[u].unit->n_forward, PLAN_FORWARD, trace);
  for (guint32 u = walk->n_units; u-- > 0;) {
    const ModelUnit *unit = walk->units[u].unit;
    guint at = walk->units[u].lives->again != 0 ? walk->units[u].lives->again_at : 0;
    trace_ops(modules, walk, u, unit->backward, at, PLAN_BACKWARD, trace);
    trace_ops(modules, walk, u, unit->forward, unit->n_forward, PLAN_RECOMPUTE, trace);
    trace_ops(modules, walk, u, unit->backward + at, unit->n_backward - at, PLAN_BACKWARD, trace);
  }
  return trace;
}

/* ---- Setting up ---- */

static void add_parameter(PlanModule *module, guint parameter) {
  for (guint i = 0; i < module->n; i++)
    if (module->parameters[i] == parameter)
      return;
  module->parameters = g_renew(guint, module->parameters, module->n + 1);
  module->parameters[module->n++] = parameter;
}

static guint count_modules(const ModelUnit *unit) {
  guint n = 0;
  for (guint p = 0; p < unit->n_parameters; p++) {
    gboolean first = TRUE;
    for (guint q = 0; q < p; q++)
      first &= !same_module(&unit->parameters[p], &unit->parameters[q]);
    n += first;
  }
  return n;
}

/* Module of each of the unit's parameters, numbered from `first`. Returns how many. */
static guint number(const ModelUnit *unit, gboolean as_one, guint first, guint *of) {
  guint n = 0;
  for (guint p = 0; p < unit->n_parameters; p++) {
    of[p] = PLAN_NO_MODULE;
    for (guint q = 0; q < p; q++)
      if (as_one || same_module(&unit->parameters[p], &unit->parameters[q]))
        of[p] = of[q];
    if (of[p] == PLAN_NO_MODULE)
      of[p] = first + n++;
  }
  return n;
}

/* A layer's modules in order of execution, and where its containers begin and end among them. */
typedef struct {
  GArray *modules; /* guint */
  guint attention, attention_end, mlp,
      mlp_end; /* of what is no norm: the first, the last of o_proj, the next, the last */
} Order;

static void add_to_order(Order *order, const char *name, guint module) {
  guint at = order->modules->len;
  gboolean norm = strstr(name, "norm") != NULL, none_yet = order->attention == G_MAXUINT;
  if (!norm && none_yet)
    order->attention = at;
  if (g_str_has_prefix(name, "o_proj")) {
    order->attention_end = at;
    order->mlp = G_MAXUINT;
  } else if (!norm && order->mlp == G_MAXUINT) {
    order->mlp = at;
  }
  if (!norm)
    order->mlp_end = at;
  g_array_append_val(order->modules, module);
}

static void add_containers(PlanModules *modules, const PlanWalk *walk, guint32 u) {
  const ModelUnit *unit = walk->units[u].unit;
  g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(guint));
  Order order = {.modules = list, .attention = G_MAXUINT};
  for (guint i = 0; i < unit->n_forward; i++) {
    guint module = plan_modules_of(modules, u, &unit->forward[i]);
    if (module != PLAN_NO_MODULE)
      add_to_order(&order, unit->forward[i].name, module);
  }
  if (list->len <= CONTAINERS || modules->n == 0)
    return;
  guint forward[] = {0, order.attention, order.mlp, order.mlp_end};
  guint backward[] = {order.mlp_end, order.mlp_end, order.mlp_end - 1, order.attention_end};
  for (guint i = 0; i < CONTAINERS; i++) {
    modules->list[g_array_index(list, guint, forward[i])].before[FORWARD]++;
    modules->list[g_array_index(list, guint, backward[i])].before[BACKWARD]++;
  }
}

PlanModules *plan_modules_new(const PlanWalk *walk, const PlanParameters *parameters, guint64 granularity) {
  PlanModules *modules = g_new0(PlanModules, 1);
  modules->n_units = walk->n_units;
  modules->of_unit = g_new0(guint *, walk->n_units);
  for (guint32 u = 0; u < walk->n_units; u++) {
    const ModelUnit *unit = walk->units[u].unit;
    guint parts = count_modules(unit) + CONTAINERS;
    gboolean layer = walk->units[u].layer >= 0;
    gboolean as_one = layer && granularity > 0 && model_unit_elements(unit) / parts <= granularity;
    modules->of_unit[u] = g_new0(guint, unit->n_parameters);
    guint n = number(unit, as_one, modules->n, modules->of_unit[u]);
    modules->list = g_renew(PlanModule, modules->list, modules->n + n);
    memset(modules->list + modules->n, 0, n * sizeof *modules->list);
    modules->n += n;
    for (guint p = 0; p < unit->n_parameters; p++) {
      guint parameter = plan_parameters_find(parameters, u, p);
      if (parameter != PLAN_NO_PARAMETER)
        add_parameter(&modules->list[modules->of_unit[u][p]], parameter);
    }
    if (layer && !as_one)
      add_containers(modules, walk, u);
  }
  return modules;
}

void plan_modules_free(PlanModules *modules) {
  if (modules == NULL)
    return;
  for (guint i = 0; i < modules->n; i++)
    g_free(modules->list[i].parameters);
  for (guint32 u = 0; u < modules->n_units; u++)
    g_free(modules->of_unit[u]);
  g_free(modules->of_unit);
  g_free(modules->list);
  g_free(modules);
}
