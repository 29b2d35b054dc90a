/* SPDX-License-Identifier: MIT */
/* From a file to a Recipe: whose it is, then key by key. */
#include "recipe.h"

#include <string.h>

#include "recipe-map.h"

/* In the order in which they are tried: the more telling marks first. */
static const RecipeTable *const tables[] = {
    &recipe_nanotron,    &recipe_generation,        &recipe_reinforcement,    &recipe_megatron,   &recipe_nemo,
    &recipe_neox,        &recipe_torchtune,         &recipe_llama_factory_v1, &recipe_accelerate, &recipe_torchtitan,
    &recipe_llm_foundry, &recipe_axolotl,           &recipe_llama_factory,    &recipe_trl,        &recipe_trainer,
    &recipe_deepspeed,   &recipe_torchtitan_python,
};

static void taken_free(gpointer data) {
  RecipeTaken *taken = data;
  g_free(taken->file);
  g_free(taken->key);
  g_free(taken->setting);
  g_free(taken->value);
  g_free(taken->remark);
  g_free(taken);
}

static void left_free(gpointer data) {
  RecipeLeft *left = data;
  g_free(left->file);
  g_free(left->key);
  g_free(left->reason);
  g_free(left);
}

void recipe_begin(Recipe *recipe) {
  recipe->taken = g_ptr_array_new_with_free_func(taken_free);
  recipe->left = g_ptr_array_new_with_free_func(left_free);
}

void recipe_end(Recipe *recipe) {
  g_ptr_array_unref(recipe->taken);
  g_ptr_array_unref(recipe->left);
}

void recipe_free(Recipe *recipe) {
  if (recipe == NULL)
    return;
  recipe_end(recipe);
  g_free(recipe->file);
  g_free(recipe);
}

/* Of what a function of Python builds. */
static const RecipeTable *find_python(const ConfTree *tree, GError **error) {
  const char *call = conf_tree_root_call(tree);
  for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
    for (const char *const *ending = tables[i]->calls; ending != NULL && *ending != NULL; ending++)
      if (g_str_has_suffix(call, *ending))
        return tables[i];
  base_error_set_at(error, &(BasePlace){.file = conf_tree_file(tree)},
                    "builds %s; of Python, functions are read that return "
                    "torchtitan's Trainer.Config(…) or change a Megatron-Bridge recipe",
                    call);
  return NULL;
}

/* Beside its words: the file that Trainer's --fsdp_config names has neither --fsdp nor a batch. */
static gboolean is_fsdp_config(const ConfTree *tree) {
  static const char *const keys[] = {"transformer_layer_cls_to_wrap",
                                     "fsdp_transformer_layer_cls_to_wrap",
                                     "backward_prefetch",
                                     "fsdp_backward_prefetch",
                                     "min_num_params",
                                     "fsdp_min_num_params",
                                     "reshard_after_forward",
                                     "fsdp_reshard_after_forward",
                                     "auto_wrap_policy",
                                     "fsdp_auto_wrap_policy",
                                     NULL};
  gboolean found = FALSE;
  for (const char *const *key = keys; *key != NULL; key++)
    found |= conf_tree_find(tree, *key) != NULL;
  return found;
}

/* Two readers may be of one tool. */
static char *list_tools(void) {
  g_autoptr(GPtrArray) tools = g_ptr_array_new();
  for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
    if (tables[i]->refused == NULL && !g_ptr_array_find_with_equal_func(tools, tables[i]->tool, g_str_equal, NULL))
      g_ptr_array_add(tools, (gpointer)tables[i]->tool);
  g_ptr_array_add(tools, NULL);
  return g_strjoinv(", ", (char **)tools->pdata);
}

static const RecipeTable *find_table(const ConfTree *tree, GError **error) {
  if (conf_tree_root_call(tree) != NULL)
    return find_python(tree, error);
  for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
    for (const char *const *mark = tables[i]->marks; mark != NULL && *mark != NULL; mark++)
      if (conf_tree_find(tree, *mark) != NULL)
        return tables[i];
  BasePlace place = {.file = conf_tree_file(tree)};
  g_autofree char *tools = list_tools();
  if (is_fsdp_config(tree))
    base_error_set_at(
        error, &place,
        "is what Trainer's --fsdp_config names, which does not say what is sharded; write "
        "{\"fsdp\": \"full_shard auto_wrap\", \"fsdp_config\": {...}} with what stands here in place of ...");
  else
    base_error_set_at(error, &place,
                      "is no recipe of a tool that is read (%s): it has none of their leading keys, such as "
                      "zero_optimization, distributed_type or parallelism",
                      tools);
  return NULL;
}

static Recipe *recipe_new(const ConfTree *tree, const char *tool) {
  Recipe *recipe = g_new0(Recipe, 1);
  recipe->file = g_strdup(conf_tree_file(tree));
  recipe->tool = tool;
  recipe_begin(recipe);
  return recipe;
}

static Recipe *read_tree(const ConfTree *tree, BaseErrors *errors, GError **error) {
  const RecipeTable *table = find_table(tree, error);
  if (table == NULL)
    return NULL;
  if (table->refused != NULL) {
    base_error_set_at(error, &(BasePlace){.file = conf_tree_file(tree)}, "is a file of %s: %s", table->tool,
                      table->refused);
    return NULL;
  }
  Recipe *recipe = recipe_new(tree, table->tool);
  recipe_read(recipe, tree, table, errors);
  return recipe;
}

Recipe *recipe_load_some(const char *path, BaseErrors *errors) {
  GError *cause = NULL;
  g_autoptr(ConfTree) tree = conf_tree_load(path, &cause);
  Recipe *recipe = tree != NULL ? read_tree(tree, errors, &cause) : NULL;
  base_errors_add(errors, cause);
  return recipe;
}

Recipe *recipe_load(const char *path, GError **error) {
  BaseErrors errors = {0};
  g_autoptr(Recipe) recipe = recipe_load_some(path, &errors);
  return base_errors_end(&errors, error) ? g_steal_pointer(&recipe) : NULL;
}
