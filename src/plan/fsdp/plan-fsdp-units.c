/* SPDX-License-Identifier: MIT */
/* What FSDP sets up before its first step: communicators, how large each unit's shards and buffers are, the
 * optimizer. */
#include "mem-tenant.h"
#include "plan-fsdp.h"
#include "plan-groups.h"

/* Caller frees. */
static char *unit_name(const PlanFsdp *fsdp, guint32 unit) {
  const PlanWrapUnit *wrapped = &fsdp->wrap->units[unit];
  if (wrapped->inside != NULL)
    return g_strdup_printf("layer%d.%s", wrapped->layer, wrapped->inside);
  if (wrapped->layer >= 0)
    return g_strdup_printf("layer%d", wrapped->layer);
  return g_strdup(wrapped->root ? "root" : model_unit_names[fsdp->walk->units[wrapped->first].unit->kind]);
}

static guint32 unit_tensor(PlanFsdp *fsdp, guint32 unit, const char *what, MemTenant tenant, guint64 bytes,
                           guint64 unique) {
  g_autofree char *of = unit_name(fsdp, unit), *name = g_strconcat(of, ".", what, NULL);
  return program_builder_tensor(fsdp->builder, name, (guint8)tenant, bytes, unique);
}

/* FSDP1 has one flat parameter, FSDP2 keeps each by itself: shards, what is gathered of them and the optimizer's states
 * are as many requests. `trained`: of what the optimizer updates. A unit of the parts of a block is one with frozen
 * parameters beside others in FSDP1 alone. */
static PlanBlocks unit_blocks(PlanFsdp *fsdp, guint32 w, const char *what, MemTenant tenant, guint64 bytes,
                              guint64 unique, gboolean trained, guint32 copies) {
  const PlanWrapUnit *members = &fsdp->wrap->units[w];
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autoptr(GArray) elements = g_array_new(FALSE, FALSE, sizeof(guint64));
  for (guint32 u = members->first; u <= members->last; u++) {
    const ModelUnit *part = fsdp->walk->units[u].unit;
    for (guint p = 0; p < part->n_parameters; p++) {
      const ModelParameter *parameter = &part->parameters[p];
      if (fsdp->wrap->of[u][p] != w || parameter->shared || (trained && parameter->frozen))
        continue;
      g_ptr_array_add(names, (gpointer)parameter->name);
      g_array_append_val(elements, parameter->elements);
    }
  }
  gboolean flat = fsdp->schedule == &plan_fsdp1_schedule;
  static const char *const flat_name[] = {"flat"};
  static const guint64 flat_weight[] = {1};
  g_autofree char *of = unit_name(fsdp, w);
  PlanBlocksWhole whole = {of, what, (guint8)tenant, bytes, unique};
  return flat ? plan_blocks_cut(fsdp->walk, &whole, flat_name, flat_weight, 1, copies)
              : plan_blocks_cut(fsdp->walk, &whole, (const char *const *)names->pdata,
                                (const guint64 *)(gpointer)elements->data, names->len, copies);
}

/* Of what is kept in shards, this much exists once: a copy's share of the cluster's, of what tensor ranks hold alike
 * theirs. */
static guint64 unique_of(const PlanFsdp *fsdp, const PlanFsdpUnit *unit, guint64 bytes) {
  guint64 alike = unit->size.replicated > 0
                      ? (guint64)((double)bytes * ((double)unit->size.replicated / (double)unit->size.shard))
                      : 0;
  return (bytes - alike + alike / fsdp->ranks.tensors) / unit->data->replicas;
}

static gboolean holds_head(const PlanFsdp *fsdp, guint32 w) {
  return fsdp->walk->units[fsdp->wrap->units[w].last].unit->kind == MODEL_UNIT_HEAD;
}

static void measure_unit(PlanFsdp *fsdp, guint32 w) {
  PlanFsdpUnit *unit = &fsdp->units[w];
  for (guint32 u = fsdp->wrap->units[w].first; u <= fsdp->wrap->units[w].last; u++)
    unit->has_backward |= plan_walk_has_backward(fsdp->walk, u) && plan_wrap_holds(fsdp->wrap, fsdp->walk, w, u);
  const PlanFsdpKeys *keys = fsdp->keys;
  gboolean apart = fsdp->wrap->units[w].apart;
  unit->data = apart ? &fsdp->experts : &fsdp->data;
  guint32 shards = unit->data->shards;
  unit->is_awaited = apart && unit->has_backward;
  unit->size.shard = fsdp->schedule->shard(fsdp, w);
  unit->size.padded = unit->size.shard * shards;
  if (keys->gathers_fp8)
    unit->size.fp8_shard = plan_wrap_rows_shard(fsdp->wrap, fsdp->walk, PLAN_WRAP_FP8, w, shards);
  unit->size.gathered_bytes =
      unit->size.padded * keys->parameter_bytes - unit->size.fp8_shard * shards * (keys->parameter_bytes - 1);
  unit->size.reduced_shard = fsdp->schedule->reduced_shard(fsdp, w);
  unit->size.reduced_padded = unit->size.reduced_shard * shards;
  guint64 trained = plan_wrap_flat_shard(fsdp->wrap, fsdp->walk, PLAN_WRAP_TRAINED, w, shards, 1);
  unit->size.owned = unit->size.reduced_shard == unit->size.shard && trained < unit->size.shard && keys->use_orig_params
                         ? trained
                         : unit->size.reduced_shard;
  if (fsdp->ranks.tensors > 1 && !apart)
    unit->size.replicated = plan_wrap_rows_shard(fsdp->wrap, fsdp->walk, PLAN_WRAP_ALIKE, w, shards);
  gboolean stays = keys->reshard == PLAN_RESHARD_DEFAULT && fsdp->schedule == &plan_fsdp2_schedule &&
                   (fsdp->ranks.piped || (keys->wrap == PLAN_WRAP_ENDS && holds_head(fsdp, w)));
  unit->reshards = fsdp->recipe->zero_stage == 3 && !fsdp->wrap->units[w].root && !stays;
}

/* Of a unit's states. With parameters of their own each of them decides, whose parts of the shard are as large as their
 * parts of the unit; else the flat one. */
static guint64 paged_of(const PlanFsdp *fsdp, guint32 w) {
  const PlanFsdpUnit *unit = &fsdp->units[w];
  guint64 all = 0, large = 0;
  if (!fsdp->keys->use_orig_params)
    return plan_paged_bytes(fsdp->recipe, unit->size.owned);
  for (guint32 u = fsdp->wrap->units[w].first; u <= fsdp->wrap->units[w].last; u++)
    for (guint p = 0; p < fsdp->walk->units[u].unit->n_parameters; p++) {
      const ModelParameter *parameter = &fsdp->walk->units[u].unit->parameters[p];
      guint64 elements = parameter->frozen || parameter->shared ? 0 : parameter->elements;
      all += elements;
      large += plan_paged_bytes(fsdp->recipe, elements) > 0 ? elements : 0;
    }
  return large > 0 ? plan_optimizer_paged_bytes(fsdp->recipe->optimizer,
                                                (guint64)((double)unit->size.owned * (double)large / (double)all))
                   : 0;
}

static void add_unit(PlanFsdp *fsdp, guint32 w) {
  PlanFsdpUnit *unit = &fsdp->units[w];
  const PlanFsdpKeys *keys = fsdp->keys;
  gboolean first = fsdp->schedule == &plan_fsdp1_schedule;
  measure_unit(fsdp, w);
  guint64 gathered = unit->size.gathered_bytes, shard = unit->size.reduced_shard * keys->shard_bytes;
  guint64 whole = unit->size.reduced_padded * keys->reduce_bytes;
  unit->tensor.fetched =
      unit_tensor(fsdp, w, "fetched shard", MEM_COMMUNICATION, unit->size.shard * keys->shard_bytes, 0);
  unit->tensor.unsharded = unit_blocks(fsdp, w, "unsharded", MEM_COMMUNICATION, gathered, 0, FALSE, 1);
  unit->tensor.gathering =
      first ? unit_tensor(fsdp, w, "cast shard", MEM_COMMUNICATION, unit->size.shard * keys->parameter_bytes, 0)
            : unit_tensor(fsdp, w, "all-gather output", MEM_COMMUNICATION, gathered, 0);
  unit->tensor.regathering = unit_tensor(fsdp, w, "all-gather output", MEM_COMMUNICATION, gathered, 0);
  if (keys->reshard == PLAN_RESHARD_SMALLER)
    unit->tensor.kept = unit_tensor(fsdp, w, "smaller shard", MEM_COMMUNICATION, gathered / keys->reshard_ranks, 0);
  MemTenant tenant = keys->syncs_always ? MEM_COMMUNICATION : MEM_GRADIENTS;
  guint64 flat = unit->size.reduced_padded * keys->parameter_bytes;
  if (first)
    unit->tensor.gradient = unit_tensor(fsdp, w, "flat gradient", tenant, flat, 0);
  else
    unit->tensor.accumulated = unit_blocks(fsdp, w, "accumulated gradient", MEM_GRADIENTS, whole, 0, TRUE, 1);
  unit->tensor.joined = unit_tensor(fsdp, w, "joined gradient", MEM_COMMUNICATION, flat, 0);
  unit->tensor.reducing = unit_tensor(fsdp, w, "reduce-scatter input", MEM_COMMUNICATION, whole, 0);
  unit->tensor.reduced = unit_tensor(fsdp, w, "reduce-scatter output", MEM_COMMUNICATION,
                                     unit->size.reduced_shard * keys->reduce_bytes, 0);
  unit->tensor.gradient_shard =
      unit_tensor(fsdp, w, "gradient shard", MEM_GRADIENTS, shard, unique_of(fsdp, unit, shard));
  guint64 parameters = unit->size.shard * keys->shard_bytes;
  guint64 states = plan_optimizer_states(fsdp->walk, unit->size.owned, keys->shard_bytes) - paged_of(fsdp, w);
  unit->tensor.parameters =
      unit_blocks(fsdp, w, "parameter shard", MEM_PARAMETERS, parameters, unique_of(fsdp, unit, parameters), FALSE, 1);
  unit->tensor.states = unit_blocks(fsdp, w, "optimizer states", MEM_OPTIMIZER, states, unique_of(fsdp, unit, states),
                                    TRUE, MAX(plan_optimizer_momenta(fsdp->recipe->optimizer), 1));
  unit->tensor.temporaries =
      unit_blocks(fsdp, w, "foreach temporaries", MEM_TEMPORARY, unit->size.owned * keys->shard_bytes, 0, TRUE, 1);
}

static void add_scales(PlanFsdp *fsdp) {
  guint64 elements = 0;
  fsdp->fp8.find = PROGRAM_NONE;
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    elements += fsdp->units[w].size.fp8_shard;
  for (guint32 u = 0; u < fsdp->walk->n_units; u++)
    for (guint p = 0; p < fsdp->walk->units[u].unit->n_parameters; p++)
      fsdp->fp8.tensors += fsdp->walk->units[u].unit->parameters[p].fp8;
  if (elements > 0)
    fsdp->fp8.find = program_builder_memory_op(fsdp->builder, elements * fsdp->keys->shard_bytes);
}

static void add_states(PlanFsdp *fsdp) {
  const PlanFsdpKeys *keys = fsdp->keys;
  ModelOptimizer what = {.element_bytes = keys->shard_bytes, .gradient_bytes = keys->shard_bytes};
  fsdp->units = g_new0(PlanFsdpUnit, fsdp->wrap->n);
  for (guint32 w = 0; w < fsdp->wrap->n; w++) {
    add_unit(fsdp, w);
    what.elements += fsdp->units[w].size.owned;
    what.tensors += keys->use_orig_params ? fsdp->wrap->units[w].parameters : 1;
  }
  fsdp->optimizer.elements = what.elements;
  fsdp->optimizer.is_foreach = plan_optimizer_style(fsdp->recipe, MODEL_OPTIMIZER_FOREACH) == MODEL_OPTIMIZER_FOREACH;
  fsdp->optimizer.update = plan_update_usual(fsdp->walk, MODEL_OPTIMIZER_FOREACH, what);
  plan_update_over(fsdp->optimizer.update, fsdp->data.shard);
  guint64 paged = 0;
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    paged += paged_of(fsdp, w);
  plan_paged_init(&fsdp->optimizer.paged, fsdp->walk, paged, fsdp->data.replicas);
}

void plan_fsdp_add_units(PlanFsdp *fsdp) {
  add_states(fsdp);
  add_scales(fsdp);
}

static void add_expert_groups(PlanFsdp *fsdp) {
  const PlanRecipe *recipe = fsdp->recipe;
  LayoutSet alike = recipe->zero_stage == 0 ? LAYOUT_EXPERT_DATA : LAYOUT_BIT(LAYOUT_EXPERT_REPLICA);
  if (fsdp->experts.shards > 1)
    fsdp->experts.shard = plan_groups_of(fsdp->builder, "expert shard", recipe, LAYOUT_BIT(LAYOUT_EXPERT_SHARD));
  if (fsdp->experts.replicas > 1)
    fsdp->experts.replica = plan_groups_of(fsdp->builder, "expert replicate", recipe, alike);
  if (plan_groups_layout(recipe).degree[LAYOUT_EXPERT] > 1)
    fsdp->slots.expert = plan_groups_of(fsdp->builder, "expert", recipe, LAYOUT_BIT(LAYOUT_EXPERT));
}

/* Ranks side by side share a copy; those of one place in their copy hold the same shard. */
void plan_fsdp_add_communicators(PlanFsdp *fsdp) {
  const PlanRecipe *recipe = fsdp->recipe;
  guint32 kept = fsdp->keys->reshard == PLAN_RESHARD_SMALLER ? fsdp->keys->reshard_ranks : 1;
  fsdp->slots.tensor = fsdp->slots.pipeline = fsdp->slots.expert = PROGRAM_NONE;
  if (fsdp->data.shards > 1)
    fsdp->data.shard = plan_groups_beside(fsdp->builder, "shard", recipe, fsdp->data.shards);
  if (fsdp->data.replicas > 1)
    fsdp->data.replica = plan_groups_alike(fsdp->builder, "replicate", recipe, fsdp->data.shards);
  if (kept > 1)
    fsdp->slots.kept = plan_groups_beside(fsdp->builder, "post-forward", recipe, kept);
  if (fsdp->ranks.tensors > 1) {
    fsdp->slots.tensor = plan_groups_of(fsdp->builder, "tensor", recipe, LAYOUT_BIT(LAYOUT_TENSOR));
    fsdp->streams.tensor = program_builder_stream(fsdp->builder, "tensor");
  }
  if (recipe->experts_apart)
    add_expert_groups(fsdp);
  if (fsdp->ranks.piped)
    fsdp->slots.pipeline = plan_groups_of(fsdp->builder, "pipeline", recipe, LAYOUT_BIT(LAYOUT_PIPELINE));
}
