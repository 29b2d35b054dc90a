/* SPDX-License-Identifier: MIT */
/* Reading and refusing axes, and what follows from them. */
#include "plan-axes.h"

#include <string.h>

/* ---- What a framework has ---- */

static gboolean refuse(const ConfSettings *settings, const PlanRecipe *recipe, const char *key, const char *what,
                       GError **error) {
  return conf_settings_fail(settings, key, error, "framework %s has no %s here", plan_policies[recipe->framework].name,
                            what);
}

guint64 plan_axes_degree(const ConfSettings *settings, const char *key) {
  const char *text = conf_settings_get(settings, key);
  return text != NULL ? g_ascii_strtoull(text, NULL, 10) : 0;
}

/* By what settings say: these hold however the ranks are laid out. */
void plan_axes_gather(const ConfSettings *settings, const PlanRecipe *recipe, BaseErrors *errors) {
  static const struct {
    LayoutAxis axis;
    const char *key, *what;
  } axes[] = {
      {LAYOUT_TENSOR, "parallel.tensor", "tensor parallelism"},
      {LAYOUT_CONTEXT, "parallel.context", "context parallelism"},
      {LAYOUT_PIPELINE, "parallel.pipeline", "pipeline parallelism"},
      {LAYOUT_EXPERT, "parallel.expert", "expert parallelism"},
  };
  LayoutSet has = plan_policies[recipe->framework].axes;
  GError *cause = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS(axes); i++)
    if (plan_axes_degree(settings, axes[i].key) > 1 && (has & LAYOUT_BIT(axes[i].axis)) == 0 &&
        !refuse(settings, recipe, axes[i].key, axes[i].what, &cause))
      base_errors_add(errors, g_steal_pointer(&cause));
  if (conf_settings_given(settings, "parallel.expert_tensor") && (has & LAYOUT_BIT(LAYOUT_EXPERT)) == 0 &&
      !refuse(settings, recipe, "parallel.expert_tensor", "axes of experts", &cause))
    base_errors_add(errors, g_steal_pointer(&cause));
  if (conf_settings_given(settings, "parallel.rank_order") && has == 0 &&
      !refuse(settings, recipe, "parallel.rank_order", "axes to order", &cause))
    base_errors_add(errors, g_steal_pointer(&cause));
}

static gboolean check_axes(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  BaseErrors errors = {0};
  plan_axes_gather(settings, recipe, &errors);
  return base_errors_end(&errors, error);
}

/* "1f1b, interleaved", of a bit for each schedule; caller frees. */
static char *names_of(guint schedules) {
  GString *names = g_string_new(NULL);
  for (guint i = 0; layout_schedule_names[i] != NULL; i++)
    if ((schedules >> i & 1) != 0)
      g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", layout_schedule_names[i]);
  return g_string_free(names, FALSE);
}

static gboolean check_schedule(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  LayoutSchedule schedule = recipe->axes.schedule;
  if (schedule == LAYOUT_SCHEDULE_SINGLE || (plan_policies[recipe->framework].schedules >> schedule & 1) != 0)
    return TRUE;
  const char *key = conf_settings_given(settings, "parallel.schedule") ? "parallel.schedule" : "parallel.interleave";
  g_autofree char *has = names_of(plan_policies[recipe->framework].schedules);
  return conf_settings_fail(settings, key, error, "framework %s has no schedule %s here; it has %s",
                            plan_policies[recipe->framework].name, layout_schedule_names[schedule], has);
}

static gboolean check_sequence_parallel(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  return !recipe->axes.sequence_parallel || plan_policies[recipe->framework].sequence_parallel ||
         refuse(settings, recipe, "parallel.sequence_parallel", "sequence parallelism", error);
}

/* ---- Shard groups ---- */

guint64 plan_axes_divisor(guint64 of, guint64 number) {
  for (guint64 away = 1; number <= of && away < of; away++) {
    if (number > away && of % (number - away) == 0)
      return number - away;
    if (of % (number + away) == 0)
      return number + away;
  }
  return number > of ? of : 1;
}

static gboolean read_shard_group(const ConfSettings *settings, const char *text, PlanRecipe *recipe, GError **error) {
  Layout *layout = &recipe->axes.layout;
  guint32 context = layout->degree[LAYOUT_CONTEXT];
  guint64 size = 0;
  if (g_ascii_strcasecmp(text, "all") == 0)
    size = recipe->ranks;
  else if (g_ascii_strcasecmp(text, "node") == 0)
    size = (guint64)layout_data_in_node(layout, recipe->ranks_per_node) * context;
  else if (!g_ascii_string_to_unsigned(text, 10, 1, recipe->ranks, &size, NULL))
    return conf_settings_fail(settings, "parallel.shard_group", error,
                              "\"%s\" is not all, node, or a number of GPUs from 1 to %u", text, recipe->ranks);
  if (recipe->ranks % size != 0)
    return conf_settings_fail(settings, "parallel.shard_group", error,
                              "%" G_GUINT64_FORMAT " does not divide the %u %s; the nearest that does is "
                              "%" G_GUINT64_FORMAT,
                              size, recipe->ranks,
                              recipe->ranks == layout->ranks ? "GPUs" : "ranks that hold the same parameters",
                              plan_axes_divisor(recipe->ranks, size));
  if (size % context != 0)
    return conf_settings_fail(settings, "parallel.shard_group", error,
                              "%" G_GUINT64_FORMAT " is not a multiple of the %u context ranks", size, context);
  recipe->shard_ranks = (guint32)size;
  g_autoptr(GError) fault = NULL;
  return layout_split_data(layout, (guint32)size / context, &fault) ||
         conf_settings_fail(settings, "parallel.shard_group", error, "%s", fault->message);
}

gboolean plan_axes_load(const PlanGiven *given, guint32 ranks, const char *shard_group, PlanRecipe *recipe,
                        GError **error) {
  const ConfSettings *settings = given->settings;
  const char *framework = plan_policies[recipe->framework].name;
  if (!layout_load(settings, ranks, framework, given->shape->experts > 0, &recipe->axes, error) ||
      !check_axes(settings, recipe, error) || !check_schedule(settings, recipe, error) ||
      !check_sequence_parallel(settings, recipe, error))
    return FALSE;
  recipe->ranks = layout_data(&recipe->axes.layout) * recipe->axes.layout.degree[LAYOUT_CONTEXT];
  const guint32 *degree = recipe->axes.layout.degree;
  recipe->experts_apart =
      given->shape->experts > 0 && (degree[LAYOUT_EXPERT] > 1 || degree[LAYOUT_EXPERT_TENSOR] != degree[LAYOUT_TENSOR]);
  recipe->pipeline.group = recipe->axes.layout.degree[LAYOUT_PIPELINE];
  return read_shard_group(settings, shard_group, recipe, error);
}

/* ---- What follows ---- */

void plan_axes_share(const PlanRecipe *recipe, ModelShare *share) {
  share->tensor = recipe->axes.layout.degree[LAYOUT_TENSOR];
  share->context = recipe->axes.layout.degree[LAYOUT_CONTEXT];
  share->sequence_parallel = recipe->axes.sequence_parallel;
  if ((plan_policies[recipe->framework].axes & LAYOUT_BIT(LAYOUT_EXPERT)) == 0)
    return;
  share->expert = recipe->axes.layout.degree[LAYOUT_EXPERT];
  share->expert_tensor = recipe->axes.layout.degree[LAYOUT_EXPERT_TENSOR];
}

PlanScheduleShape plan_axes_schedule(const PlanRecipe *recipe) {
  PlanScheduleShape shape = {.schedule = recipe->axes.schedule,
                             .ranks = MAX(recipe->axes.layout.degree[LAYOUT_PIPELINE], 1),
                             .chunks = MAX(recipe->axes.chunks, 1),
                             .micros = (guint32)plan_recipe_micro_batches(recipe),
                             .group = recipe->pipeline.group,
                             .early = recipe->pipeline.early};
  if (shape.schedule == LAYOUT_SCHEDULE_DEFAULT)
    shape.schedule = LAYOUT_SCHEDULE_SINGLE;
  return shape;
}

guint32 *plan_axes_bounds(const ModelShape *shape, const PlanRecipe *recipe, GError **error) {
  PlanScheduleShape schedule = plan_axes_schedule(recipe);
  guint32 stages = plan_schedule_stages(&schedule);
  g_autofree guint32 *bounds = g_new(guint32, stages + 1);
  bounds[0] = 0;
  bounds[1] = (guint32)(model_units_of(shape, FALSE) - shape->mtp_layers);
  if (stages > 1 && !plan_policies[recipe->framework].spread(shape, recipe, bounds, error))
    return NULL;
  bounds[stages] += (guint32)shape->mtp_layers; /* they stand before the head */
  for (guint32 stage = 0; stage < stages; stage++)
    if (bounds[stage] == bounds[stage + 1] &&
        (!plan_policies[recipe->framework].idles || bounds[stage] < bounds[stages])) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "stage %u of %u holds nothing of the %u layers", stage, stages,
                  (guint)shape->layers);
      return NULL;
    }
  return g_steal_pointer(&bounds);
}

guint32 plan_axes_output(const ModelShape *shape, const PlanRecipe *recipe) {
  PlanScheduleShape schedule = plan_axes_schedule(recipe);
  guint32 stages = plan_schedule_stages(&schedule), stage = 0, rank, chunk;
  g_autofree guint32 *bounds = plan_axes_bounds(shape, recipe, NULL);
  sim_require(bounds != NULL, 0, NULL, "a recipe that was not checked");
  guint32 unit = bounds[0];
  while (!model_unit_makes_logits(model_unit_kind_among(shape, unit, bounds[stages])))
    unit++;
  while (bounds[stage + 1] <= unit)
    stage++;
  plan_schedule_of_stage(&schedule, stage, &rank, &chunk);
  return rank;
}

/* Autograd runs a checkpointed block again in every backward that comes to it (torch/utils/checkpoint.py), and of
 * weights there is one for each. */
static gboolean check_checkpointing(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  return !plan_schedule_splits(recipe->axes.schedule) || recipe->checkpointing.kind == PLAN_CHECKPOINT_NONE ||
         conf_settings_fail(given->settings, "training.activation_checkpointing", error,
                            "under %s, which plays backward in two passes, a block would run again in both, which is "
                            "not modelled; set training.activation_checkpointing=none",
                            layout_schedule_names[recipe->axes.schedule]);
}

static gboolean check_stages(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  PlanScheduleShape schedule = plan_axes_schedule(recipe);
  g_autoptr(GError) fault = NULL;
  if (!plan_schedule_check(&schedule, &fault))
    return conf_settings_fail(given->settings, "parallel.schedule", error, "%s", fault->message);
  g_autofree guint32 *bounds = plan_axes_bounds(given->shape, recipe, &fault);
  if (bounds == NULL)
    return conf_settings_fail(given->settings, "parallel.pipeline", error, "%s", fault->message);
  gboolean apart = bounds[plan_schedule_stages(&schedule)] > model_units_of(given->shape, FALSE);
  return !apart || (model_head_comes_apart(given->shape, given->model) && given->shape->profile == NULL) ||
         conf_settings_fail(given->settings, "parallel.pipeline", error,
                            "%s spreads blocks by cost, and %u stages cut the head between two of its own; that is "
                            "modelled in 16 bits, with a final norm, uncapped logits and its usual loss, and not of "
                            "profiles; take fewer ranks",
                            plan_policies[recipe->framework].name, plan_schedule_stages(&schedule));
}

/* Gradients of the head that are made in forward, and losses that no vocabulary of several ranks goes through. */
static gboolean check_loss(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const PlanTrainable *trainable = &recipe->trainable;
  if (!model_loss_in_chunks(given->model->loss))
    return TRUE;
  if (recipe->framework == PLAN_MEGATRON || recipe->framework == PLAN_NANOTRON)
    return conf_settings_fail(given->settings, "training.loss", error,
                              "framework %s has no loss without all logits; default or fused",
                              plan_framework_names[recipe->framework]);
  if (recipe->axes.layout.degree[LAYOUT_TENSOR] > 1)
    return conf_settings_fail(given->settings, "training.loss", error,
                              "without all logits, over tensor ranks, is not modelled; eager, fused or vocab-parallel");
  return !trainable->part || trainable->lora.rank > 0 || trainable->head ||
         conf_settings_fail(given->settings, "training.loss", error,
                            "without all logits, above a head that is frozen, is not modelled; eager or fused");
}

gboolean plan_axes_check(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  gboolean parts = recipe->axes.layout.degree[LAYOUT_PIPELINE] > 1;
  if (parts && recipe->trainable.part)
    return conf_settings_fail(given->settings, "training.trainable", error,
                              "what is trained in part is not modelled over a pipeline; set parallel.pipeline=1");
  return check_loss(given, recipe, error) && model_share_check(given->shape, given->model, given->settings, error) &&
         check_checkpointing(given, recipe, error) && check_stages(given, recipe, error);
}

static void add_units(GString *text, guint32 first, guint32 end, guint32 units, const ModelShape *shape) {
  guint32 layers = (guint32)shape->layers, further = (guint32)shape->mtp_layers;
  gboolean after = strstr(text->str, "layers") != NULL;
  if (first == 0)
    g_string_append(text, " embedding");
  guint32 from = MAX(first, 1), to = MIN(end, layers + 1);
  if (from < to)
    g_string_append_printf(text, "%s %s%u-%u", text->str[text->len - 1] == ':' ? "" : ",", after ? "" : "layers ",
                           from - 1, to - 2);
  if (end >= layers + further + 2 && first <= layers + further && further > 0)
    g_string_append_printf(text, "%s further layer", text->str[text->len - 1] == ':' ? "" : ",");
  for (guint32 unit = MAX(first, layers + further + 1); unit < end; unit++)
    g_string_append_printf(text, "%s %s", text->str[text->len - 1] == ':' ? "" : ",",
                           model_unit_names[model_unit_kind_among(shape, unit, units)]);
}

char *plan_rank_text(const ModelShape *shape, const PlanRecipe *recipe, guint32 rank) {
  PlanScheduleShape schedule = plan_axes_schedule(recipe);
  if (schedule.ranks == 1)
    return NULL;
  g_autofree guint32 *bounds = plan_axes_bounds(shape, recipe, NULL);
  guint32 at = layout_coordinate(&recipe->axes.layout, rank, LAYOUT_PIPELINE);
  GString *text = g_string_new(NULL);
  g_string_append_printf(text, "stage %u:", at);
  for (guint32 c = 0; bounds != NULL && c < schedule.chunks; c++) {
    guint32 stage = plan_schedule_stage(&schedule, at, c);
    add_units(text, bounds[stage], bounds[stage + 1], bounds[plan_schedule_stages(&schedule)], shape);
    if (bounds[stage] == bounds[stage + 1])
      g_string_append(text, " nothing");
  }
  return g_string_free(text, FALSE);
}

guint32 plan_units(const ModelShape *shape, const PlanRecipe *recipe) {
  PlanScheduleShape schedule = plan_axes_schedule(recipe);
  g_autofree guint32 *bounds = plan_axes_bounds(shape, recipe, NULL);
  return bounds != NULL ? bounds[plan_schedule_stages(&schedule)] : (guint32)model_units_of(shape, FALSE);
}

gboolean plan_chunk_units(const ModelShape *shape, const PlanRecipe *recipe, guint32 at, guint32 chunk,
                          guint32 *ret_first, guint32 *ret_end) {
  PlanScheduleShape schedule = plan_axes_schedule(recipe);
  g_autofree guint32 *bounds = plan_axes_bounds(shape, recipe, NULL);
  if (bounds == NULL)
    return FALSE;
  guint32 stage = plan_schedule_stage(&schedule, at, chunk);
  *ret_first = bounds[stage];
  *ret_end = bounds[stage + 1];
  return TRUE;
}

gboolean plan_splits_backward(const PlanRecipe *recipe) {
  return plan_schedule_splits(recipe->axes.schedule);
}
