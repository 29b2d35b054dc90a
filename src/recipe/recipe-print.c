/* SPDX-License-Identifier: MIT */
/* A Recipe for people: tables, and the sections of a workload file. */
#include <string.h>

#include "base-display.h"
#include "base-table.h"
#include "recipe-map.h"

static ConfOrigin origin_of(const ConfSettings *settings, const char *name) {
  return settings != NULL && conf_settings_knows(settings, name) ? conf_settings_origin(settings, name)
                                                                 : CONF_ORIGIN_DEFAULT;
}

/* The three that belong together: the third follows from two that rank higher than the recipe. */
static gboolean follows(const ConfSettings *settings, const char *name) {
  guint higher = 0;
  if (!g_strv_contains(recipe_batch, name) || origin_of(settings, name) > CONF_ORIGIN_RECIPE)
    return FALSE;
  for (const char *const *key = recipe_batch; *key != NULL; key++)
    higher += origin_of(settings, *key) > CONF_ORIGIN_RECIPE ? 1 : 0;
  return higher >= 2;
}

static gboolean is_overruled(const RecipeTaken *taken, const ConfSettings *settings) {
  gboolean shape = g_str_has_prefix(taken->setting, "model.");
  return origin_of(settings, taken->setting) > CONF_ORIGIN_RECIPE || follows(settings, taken->setting) ||
         (shape && origin_of(settings, "model.config") > CONF_ORIGIN_RECIPE);
}

/* What is said in its place, else the unit or reading. Caller frees. */
static char *remark_of(const RecipeTaken *taken, const ConfSettings *settings) {
  if (follows(settings, taken->setting))
    return g_strdup("not in force: it follows from the two batch sizes that the workload says");
  if (origin_of(settings, taken->setting) > CONF_ORIGIN_RECIPE)
    return g_strdup_printf(
        "%s says %s", origin_of(settings, taken->setting) == CONF_ORIGIN_FILE ? "the workload" : "the command line",
        conf_settings_get(settings, taken->setting));
  if (is_overruled(taken, settings))
    return g_strdup("not in force: the workload's config.json is the model");
  return g_strdup(taken->remark != NULL ? taken->remark : "");
}

/* The value, or what "auto" became; NULL: neither is known. */
static const char *shown_value(const RecipeTaken *taken, const ConfSettings *settings) {
  gboolean became = taken->value == NULL && settings != NULL && conf_settings_knows(settings, taken->setting);
  return became ? conf_settings_get(settings, taken->setting) : taken->value;
}

static void print_taken(const RecipeTaken *taken, const ConfSettings *settings, BaseTable *table) {
  const char *value = shown_value(taken, settings);
  g_autofree char *line = taken->line > 0 ? g_strdup_printf("%u", taken->line) : g_strdup("");
  g_autofree char *remark = remark_of(taken, settings);
  base_table_cell(table, "%s", line);
  base_table_cell(table, "%s", *taken->key != '\0' ? taken->key : "(not said)");
  base_table_cell(table, "%s%s%s", taken->setting, value != NULL ? " = " : "", value != NULL ? value : "");
  base_table_cell(table, "%s", remark);
}

void recipe_print(const Recipe *recipe, const ConfSettings *settings, GString *text) {
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "line", BASE_RIGHT);
  base_table_head(table, "key", BASE_LEFT);
  base_table_head(table, "is", BASE_LEFT);
  base_table_head(table, "", BASE_LEFT);
  for (guint i = 0; i < recipe->taken->len; i++)
    print_taken(g_ptr_array_index(recipe->taken, i), settings, table);
  g_string_append_printf(text, "\n%s, a recipe of %s: what it says\n", recipe->file, recipe->tool);
  base_table_print(table, 2, text);
  if (recipe->left->len == 0)
    return;
  g_autoptr(BaseTable) left = base_table_new();
  base_table_head(left, "line", BASE_RIGHT);
  base_table_head(left, "key", BASE_LEFT);
  base_table_head(left, "because", BASE_LEFT);
  for (guint i = 0; i < recipe->left->len; i++) {
    const RecipeLeft *row = g_ptr_array_index(recipe->left, i);
    base_table_cell(left, "%u", row->line);
    base_table_cell(left, "%s", row->key);
    base_table_cell(left, "%s", row->reason);
  }
  g_string_append(text, "\nLeft out, as it changes no step\n");
  base_table_print(left, 2, text);
}

char *recipe_overruled(const Recipe *recipe, const ConfSettings *settings) {
  g_autoptr(ConfSettings) theirs = conf_settings_copy(settings);
  GString *text = g_string_new(NULL);
  for (guint i = 0; i < recipe->taken->len; i++) {
    const RecipeTaken *taken = g_ptr_array_index(recipe->taken, i);
    gboolean over = taken->value != NULL && conf_settings_knows(settings, taken->setting) &&
                    conf_settings_origin(settings, taken->setting) > CONF_ORIGIN_RECIPE;
    if (!over || !conf_settings_put(theirs, taken->setting, taken->value, CONF_ORIGIN_COMMAND_LINE, NULL, NULL))
      continue;
    const char *ours = conf_settings_get(settings, taken->setting), *other = conf_settings_get(theirs, taken->setting);
    if (g_strcmp0(ours, other) == 0)
      continue;
    g_autofree char *entry = g_strdup_printf("%s (%s, not %s)", taken->setting, ours, other);
    if (strstr(text->str, entry) == NULL)
      g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", entry);
  }
  return g_string_free(text, FALSE);
}

static gboolean waits_for_model(const RecipeTaken *taken) {
  return taken->wait.rule == RECIPE_RULE_HIDDEN_SQUARED || taken->wait.rule == RECIPE_RULE_PREFETCH ||
         taken->wait.rule == RECIPE_RULE_PERSISTENCE || taken->wait.rule == RECIPE_RULE_CHUNKS;
}

/* The text of a value; NULL where the workload says it. Caller frees. */
static char *value_of(const RecipeTaken *taken, const RecipeFacts *facts) {
  guint64 number;
  if (taken->value != NULL)
    return g_strdup(taken->value);
  if (taken->wait.rule != RECIPE_RULE_ALL_RANKS && !waits_for_model(taken))
    return NULL;
  const RecipeFacts none = {0};
  return recipe_resolve(taken, facts != NULL ? facts : &none, &number, NULL)
             ? g_strdup_printf("%" G_GUINT64_FORMAT, number)
             : NULL;
}

/* Whether a value waits for what a file alone cannot say. */
static gboolean check_known(const Recipe *recipe, const RecipeFacts *facts, GError **error) {
  for (guint i = 0; i < recipe->taken->len; i++) {
    const RecipeTaken *taken = g_ptr_array_index(recipe->taken, i);
    BasePlace place = {taken->file, taken->line, taken->column, taken->key};
    if (waits_for_model(taken) && facts == NULL)
      base_error_set_at(error, &place,
                        "%s the model: add --model FILE, its config.json (or name the recipe in a workload: [parallel] "
                        "recipe = FILE)",
                        taken->wait.rule == RECIPE_RULE_CHUNKS ? "depends on" : "is \"auto\", which depends on");
    else if (taken->wait.rule == RECIPE_RULE_SHARE)
      base_error_set_at(error, &place,
                        "leaves the shard group to the number of GPUs: say data_parallel_shard_degree (or name the "
                        "recipe in a workload: [parallel] recipe = FILE)");
    else
      continue;
    return FALSE;
  }
  return TRUE;
}

/* What a workload needs and a recipe may lack, as lines to fill in. */
static const struct {
  const char *group, *unless, *line;
} blanks[] = {
    {"model", "model.hidden_size", "config = config.json           ; to fill in: the model's Hugging Face config.json"},
    {"training", "training.sequence_length", "sequence_length = 4096         ; to fill in: tokens of a sequence"},
    {"cluster", "cluster.topology", "topology = dgx-h100            ; to fill in: foretrain list topologies"},
};

static gboolean is_given(const Recipe *recipe, const char *setting) {
  for (guint i = 0; i < recipe->taken->len; i++)
    if (strcmp(((const RecipeTaken *)g_ptr_array_index(recipe->taken, i))->setting, setting) == 0)
      return TRUE;
  return FALSE;
}

static void write_group(const Recipe *recipe, const RecipeFacts *facts, const char *model, const char *group,
                        GString *text) {
  gboolean has_model = model != NULL && strcmp(group, "model") == 0;
  g_string_append_printf(text, "\n[%s]\n", group);
  if (has_model)
    g_string_append_printf(text, "config = %s\n", model);
  for (gsize i = 0; i < G_N_ELEMENTS(blanks) && !has_model; i++)
    if (strcmp(blanks[i].group, group) == 0 && !is_given(recipe, blanks[i].unless))
      g_string_append_printf(text, "%s\n", blanks[i].line);
  gsize dot = strlen(group);
  for (guint i = 0; i < recipe->taken->len; i++) {
    const RecipeTaken *taken = g_ptr_array_index(recipe->taken, i);
    if (strncmp(taken->setting, group, dot) != 0 || taken->setting[dot] != '.' || has_model)
      continue;
    g_autofree char *value = value_of(taken, facts);
    g_autofree char *said = g_strdup_printf("%s = %s", taken->setting + dot + 1, value != NULL ? value : "");
    base_display_append(text, "%s%-30s ; %s%s%s", value != NULL ? "" : "# ", said,
                        *taken->key != '\0' ? taken->key : "not said", taken->remark != NULL ? ": " : "",
                        taken->remark != NULL ? taken->remark : "");
  }
}

/* Groups in the order in which they are read best, then what else the recipe speaks of: nothing is lost. Caller
 * frees. */
static char **groups_of(const Recipe *recipe) {
  static const char *const first[] = {"model", "training", "parallel", "deepspeed",
                                      "ddp",   "fsdp",     "megatron", "memory"};
  g_autoptr(GStrvBuilder) groups = g_strv_builder_new();
  g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(first); i++) {
    g_strv_builder_add(groups, first[i]);
    g_hash_table_add(known, g_strdup(first[i]));
  }
  g_hash_table_add(known, g_strdup("cluster"));
  for (guint i = 0; i < recipe->taken->len; i++) {
    const char *setting = ((const RecipeTaken *)g_ptr_array_index(recipe->taken, i))->setting;
    g_autofree char *group = g_strndup(setting, strcspn(setting, "."));
    if (g_hash_table_add(known, g_strdup(group)))
      g_strv_builder_add(groups, group);
  }
  g_strv_builder_add(groups, "cluster");
  return g_strv_builder_end(groups);
}

gboolean recipe_write(const Recipe *recipe, const RecipeFacts *facts, const char *model, GString *text,
                      GError **error) {
  g_auto(GStrv) groups = groups_of(recipe);
  if (!check_known(recipe, facts, error))
    return FALSE;
  base_display_append(text, "# From %s, a recipe of %s. Behind each value stands the key it came from.", recipe->file,
                      recipe->tool);
  for (gsize g = 0; groups[g] != NULL; g++) {
    gboolean any = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(blanks); i++)
      any = any || strcmp(blanks[i].group, groups[g]) == 0;
    g_autofree char *prefix = g_strconcat(groups[g], ".", NULL);
    for (guint i = 0; i < recipe->taken->len; i++)
      any = any || g_str_has_prefix(((const RecipeTaken *)g_ptr_array_index(recipe->taken, i))->setting, prefix);
    if (any)
      write_group(recipe, facts, model, groups[g], text);
  }
  g_string_append(text, "\n# Left out, as it changes no step:\n");
  for (guint i = 0; i < recipe->left->len; i++) {
    const RecipeLeft *left = g_ptr_array_index(recipe->left, i);
    base_display_append(text, "#   line %u: %s: %s", left->line, left->key, left->reason);
  }
  return TRUE;
}
