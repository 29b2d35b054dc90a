/* SPDX-License-Identifier: MIT */
/* Another tool's recipe under a workload's settings, and what it needs of model and cluster. */
#include "study-recipe.h"

#include <string.h>

#include "base-error.h"
#include "recipe-export.h"
#include "study-walk.h"

/* hidden_size and layers of the model and GPUs of the cluster, as the settings have them. */
static gboolean find_facts(const ConfSettings *settings, RecipeFacts *ret, gpointer user, GError **error) {
  const HwCatalog *catalog = user;
  g_autoptr(ConfSettings) copy = conf_settings_copy(settings); /* the topology is laid over it */
  ModelShape shape = {0};
  if (!model_shape_load(copy, &shape, error))
    return FALSE;
  HwCluster *cluster = hw_cluster_build(copy, catalog, error);
  if (cluster != NULL)
    *ret = (RecipeFacts){.hidden_size = shape.hidden_size, .layers = shape.layers, .ranks = hw_cluster_gpus(cluster)};
  gboolean found = cluster != NULL;
  model_shape_clear(&shape);
  hw_cluster_free(cluster);
  return found;
}

gboolean study_refuse_recipe(const char *path, GError **error) {
  static const char *const endings[] = {".json", ".yaml", ".yml", ".toml", ".sh", ".args"};
  for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
    if (!g_str_has_suffix(path, endings[i]))
      continue;
    base_error_set_at(error, &(BasePlace){.file = path},
                      "is no workload; where it is another tool's recipe, name it in one ([parallel] recipe = %s), or "
                      "make one of it: foretrain import recipe %s -o workload.ini",
                      path, path);
    return FALSE;
  }
  return TRUE;
}

/* The settings' recipe, as far as it can be read; NULL where there is none. */
static Recipe *load(const ConfSettings *settings, BaseErrors *errors) {
  RecipeKeys keys = {0};
  GError *cause = NULL;
  if (!conf_settings_fill(settings, &recipe_schema, &keys, &cause)) {
    base_errors_add(errors, cause);
    return NULL;
  }
  Recipe *recipe = keys.file != NULL ? recipe_load_some(keys.file, errors) : NULL;
  conf_struct_clear(&recipe_schema, &keys);
  return recipe;
}

Recipe *study_recipe_apply(ConfSettings *settings, const HwCatalog *catalog, BaseErrors *errors) {
  guint before = errors->lines;
  Recipe *recipe = load(settings, errors);
  RecipeFind find = errors->lines == before ? find_facts : NULL;
  GError *cause = NULL;
  if (recipe != NULL && !recipe_apply(recipe, settings, find, (gpointer)catalog, &cause))
    base_errors_add(errors, cause);
  return recipe;
}

/* The batch size that follows from two others, as if it had been said. */
static void put_batch(ConfSettings *settings, const PlanRecipe *plan) {
  const struct {
    const char *name;
    guint64 value;
  } batch[] = {{"training.micro_batch", plan->micro_batch},
               {"training.gradient_accumulation", plan->gradient_accumulation},
               {"training.global_batch", plan->global_batch}};
  for (gsize i = 0; i < G_N_ELEMENTS(batch); i++) {
    g_autofree char *value = g_strdup_printf("%" G_GUINT64_FORMAT, batch[i].value);
    if (!conf_settings_given(settings, batch[i].name))
      conf_settings_put(settings, batch[i].name, value, CONF_ORIGIN_FILE, NULL, NULL);
  }
}

char *study_recipe_note(const Recipe *recipe, const PlanRecipe *plan, const ConfSettings *settings) {
  g_autoptr(ConfSettings) full = conf_settings_copy(settings);
  put_batch(full, plan);
  g_autofree char *overruled = recipe_overruled(recipe, full);
  const char *also = *overruled != '\0' ? "; the workload or --set says otherwise of " : "";
  return g_strdup_printf(
      "%s is a recipe of %s: %u settings come of it, %u keys change no step (--explain lists both)%s%s", recipe->file,
      recipe->tool, recipe->taken->len, recipe->left->len, also, overruled);
}

gboolean study_recipe_fail(const Recipe *recipe, const ConfSettings *settings, GError **error) {
  if (recipe == NULL || error == NULL || *error == NULL)
    return FALSE;
  for (guint i = 0; i < recipe->taken->len; i++) {
    const RecipeTaken *taken = g_ptr_array_index(recipe->taken, i);
    const char *ours = conf_settings_get(settings, "parallel.framework");
    if (strcmp(taken->setting, "parallel.framework") != 0 || g_strcmp0(ours, taken->value) == 0)
      continue;
    g_autofree char *message = g_strdup((*error)->message);
    g_clear_error(error);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s; the recipe is of framework %s, but the workload says %s: leave framework out there", message,
                taken->value, ours);
    break;
  }
  return FALSE;
}

gboolean study_print_recipe(const Study *study, GString *text, GError **error) {
  if (conf_settings_get(study->settings, "parallel.recipe") == NULL)
    return TRUE;
  g_autoptr(ConfSettings) applied = conf_settings_copy(study->settings);
  g_autoptr(HwCatalog) catalog = hw_catalog_load(error);
  if (catalog == NULL)
    return FALSE;
  BaseErrors errors = {0};
  g_autoptr(Recipe) recipe = study_recipe_apply(applied, catalog, &errors);
  if (!base_errors_end(&errors, error))
    return FALSE;
  recipe_print(recipe, applied, text);
  return TRUE;
}

/* hidden_size and layers of a config.json. */
static gboolean read_model(const char *model, RecipeFacts *ret, GError **error) {
  g_autoptr(ConfSettings) settings = study_settings_new();
  ModelShape shape = {0};
  const BasePlace place = {.file = "--model"};
  if (!conf_settings_put(settings, "model.config", model, CONF_ORIGIN_COMMAND_LINE, &place, error) ||
      !model_shape_load(settings, &shape, error))
    return FALSE;
  *ret = (RecipeFacts){.hidden_size = shape.hidden_size, .layers = shape.layers};
  model_shape_clear(&shape);
  return TRUE;
}

gboolean study_import_recipe(const char *path, const char *model, GString *text, GError **error) {
  RecipeFacts facts;
  g_autoptr(Recipe) recipe = recipe_load(path, error);
  g_autoptr(ConfSettings) settings = study_settings_new();
  if (recipe == NULL || !recipe_check(recipe, settings, error) || (model != NULL && !read_model(model, &facts, error)))
    return FALSE;
  return recipe_write(recipe, model != NULL ? &facts : NULL, model, text, error);
}

/* What follows from the framework where nobody says it, as if it had been said. */
static void put_resolved(ConfSettings *settings, const PlanRecipe *plan) {
  const char *name = "parallel.sequence_parallel";
  put_batch(settings, plan);
  if (plan->axes.layout.degree[LAYOUT_TENSOR] > 1 && !conf_settings_given(settings, name))
    conf_settings_put(settings, name, plan->axes.sequence_parallel ? "yes" : "no", CONF_ORIGIN_FILE, NULL, NULL);
}

gboolean study_export(const Study *study, int tool, GString *text, GError **error) {
  StudyWalk walk = {.settings = conf_settings_copy(study->settings), .fidelity = "flow", .contention = TRUE};
  g_autoptr(ConfSettings) blank = study_settings_new();
  gboolean good = study_walk_read(&walk, error);
  if (good) {
    put_resolved(walk.settings, &walk.recipe);
    RecipeExport what = {.tool = tool,
                         .settings = walk.settings,
                         .blank = blank,
                         .facts = {walk.shape.hidden_size, walk.shape.layers, hw_cluster_gpus(walk.cluster)},
                         .nodes = walk.cluster->nodes,
                         .gpus_per_node = walk.cluster->gpus_per_node};
    good = recipe_export(&what, text, error);
  }
  study_walk_clear(&walk);
  return good;
}
