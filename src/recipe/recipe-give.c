/* SPDX-License-Identifier: MIT */
/* What a recipe says, each setting once: a key over the tool's default, a value over "auto", and what says a thing
 * again is named as such. */
#include <string.h>

#include "recipe-map.h"

static RecipeTaken *find_taken(const RecipeReading *reading, const char *setting) {
  for (guint i = 0; i < reading->recipe->taken->len; i++) {
    RecipeTaken *taken = g_ptr_array_index(reading->recipe->taken, i);
    if (strcmp(taken->setting, setting) == 0)
      return taken;
  }
  return NULL;
}

gboolean recipe_gives(const RecipeReading *reading, const char *setting, const char *value) {
  const RecipeTaken *taken = find_taken(reading, setting);
  return taken != NULL && (value == NULL || g_strcmp0(taken->value, value) == 0);
}

static gboolean is_default(const RecipeTaken *taken) {
  return *taken->key == '\0';
}

static gboolean waits_for_workload(const RecipeTaken *taken) {
  return taken->wait.rule == RECIPE_RULE_WORKLOAD || taken->wait.rule == RECIPE_RULE_MICRO_BATCH;
}

static void fill(RecipeReading *reading, RecipeTaken *taken, const ConfTreeNode *node, const char *value,
                 const char *remark) {
  taken->file = g_strdup(conf_tree_file(reading->tree));
  taken->key = g_strdup(node != NULL ? node->path : "");
  taken->line = node != NULL ? node->line : 0;
  taken->column = node != NULL ? node->column : 0;
  taken->value = g_strdup(value);
  taken->remark = g_strdup(remark);
}

static void add(RecipeReading *reading, const ConfTreeNode *node, const char *setting, const char *value,
                const char *remark, const RecipeWait *wait) {
  RecipeTaken *taken = g_new0(RecipeTaken, 1);
  fill(reading, taken, node, value, remark);
  taken->setting = g_strdup(setting);
  taken->wait = *wait;
  taken->wait.others = MAX(wait->others, 1);
  g_ptr_array_add(reading->recipe->taken, taken);
}

/* `node` speaks in the place of a default or an "auto". */
static void replace(RecipeReading *reading, RecipeTaken *taken, const ConfTreeNode *node, const char *value,
                    const char *remark) {
  if (!is_default(taken)) {
    g_autofree char *reason = g_strdup_printf("auto: %s says it", node->path);
    RecipeLeft *left = g_new(RecipeLeft, 1);
    *left = (RecipeLeft){g_strdup(taken->file), g_strdup(taken->key), taken->line, g_steal_pointer(&reason)};
    g_ptr_array_add(reading->recipe->left, left);
  }
  g_free(taken->file);
  g_free(taken->key);
  g_free(taken->value);
  g_free(taken->remark);
  fill(reading, taken, node, value, remark);
  taken->wait.rule = RECIPE_RULE_NONE;
}

static void leave_again(RecipeReading *reading, const ConfTreeNode *node, const RecipeTaken *taken) {
  g_autofree char *reason = recipe_is_auto(node)
                                ? g_strdup_printf("auto: %s says it", taken->key)
                                : g_strdup_printf("says what %s says (line %u)", taken->key, taken->line);
  if (strcmp(node->path, taken->key) != 0)
    recipe_leave(reading, node, reason);
}

gboolean recipe_give(RecipeReading *reading, const ConfTreeNode *node, const char *setting, const char *value,
                     const char *remark, GError **error) {
  RecipeTaken *taken = find_taken(reading, setting);
  if (taken == NULL)
    add(reading, node, setting, value, remark, &(RecipeWait){RECIPE_RULE_NONE});
  else if (node == NULL)
    return TRUE; /* a default yields to what a key said */
  else if (is_default(taken) || waits_for_workload(taken))
    replace(reading, taken, node, value, remark);
  else if (g_strcmp0(taken->value, value) == 0)
    leave_again(reading, node, taken);
  else
    return conf_tree_fail(reading->tree, node, error, "says %s = %s, and %s (line %u) says %s; keep one of the two",
                          setting, value, taken->key, taken->line, taken->value != NULL ? taken->value : "auto");
  return TRUE;
}

void recipe_give_rule(RecipeReading *reading, const ConfTreeNode *node, const char *setting, const RecipeWait *wait,
                      const char *remark) {
  const RecipeTaken *taken = find_taken(reading, setting);
  if (taken == NULL)
    add(reading, node, setting, NULL, remark, wait);
  else
    leave_again(reading, node, taken);
}

void recipe_give_auto(RecipeReading *reading, const ConfTreeNode *node, const char *setting, const char *value,
                      const char *remark) {
  const RecipeTaken *taken = find_taken(reading, setting);
  if (taken == NULL)
    add(reading, node, setting, value, remark, &(RecipeWait){RECIPE_RULE_WORKLOAD});
  else
    leave_again(reading, node, taken);
}

void recipe_withdraw(RecipeReading *reading, const char *setting) {
  RecipeTaken *taken = find_taken(reading, setting);
  if (taken != NULL && is_default(taken))
    g_ptr_array_remove(reading->recipe->taken, taken);
}

void recipe_leave(RecipeReading *reading, const ConfTreeNode *node, const char *reason) {
  RecipeLeft *left = g_new(RecipeLeft, 1);
  *left = (RecipeLeft){g_strdup(conf_tree_file(reading->tree)), g_strdup(node->path), node->line, g_strdup(reason)};
  g_ptr_array_add(reading->recipe->left, left);
}
