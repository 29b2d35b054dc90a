/* SPDX-License-Identifier: MIT */
/* Writes a file, reads it back, and says in comments what it leaves unsaid. */
#include "recipe-export.h"

#include <string.h>

#include "base-names.h"
#include "recipe-export-tool.h"
#include "recipe-map.h"

const char *const recipe_export_names[] = {"deepspeed", "accelerate", "trainer", "torchtitan", "megatron", NULL};

static const struct {
  const char *title, *ending;
  RecipeOutForm form;
  ConfSyntax syntax;
  const RecipeTable *table;
  const char *frameworks[5];
  void (*write)(const RecipeExport *what, RecipeOut *out);
  const char *program;
} tools[] = {
    [RECIPE_EXPORT_DEEPSPEED] = {"DeepSpeed",
                                 ".json",
                                 RECIPE_OUT_JSON,
                                 CONF_SYNTAX_JSON,
                                 &recipe_deepspeed,
                                 {"deepspeed", NULL},
                                 recipe_export_deepspeed,
                                 NULL},
    [RECIPE_EXPORT_ACCELERATE] = {"accelerate",
                                  ".yaml",
                                  RECIPE_OUT_YAML,
                                  CONF_SYNTAX_YAML,
                                  &recipe_accelerate,
                                  {"ddp", "deepspeed", "fsdp1", "fsdp2", NULL},
                                  recipe_export_accelerate,
                                  NULL},
    [RECIPE_EXPORT_TRAINER] = {"Hugging Face's Trainer",
                               ".yaml",
                               RECIPE_OUT_YAML,
                               CONF_SYNTAX_YAML,
                               &recipe_trainer,
                               {"ddp", "fsdp1", "fsdp2", NULL},
                               recipe_export_trainer,
                               NULL},
    [RECIPE_EXPORT_TORCHTITAN] = {"torchtitan",
                                  ".toml",
                                  RECIPE_OUT_TOML,
                                  CONF_SYNTAX_TOML,
                                  &recipe_torchtitan,
                                  {"fsdp2", NULL},
                                  recipe_export_torchtitan,
                                  NULL},
    [RECIPE_EXPORT_MEGATRON] = {"Megatron-LM",
                                ".sh",
                                RECIPE_OUT_SCRIPT,
                                CONF_SYNTAX_ARGUMENTS,
                                &recipe_megatron,
                                {"megatron", NULL},
                                recipe_export_megatron,
                                "torchrun"},
};

const char *recipe_export_ending(int tool) {
  return tools[tool].ending;
}

static gboolean check_framework(const RecipeExport *what, GError **error) {
  const char *framework = conf_settings_get(what->settings, "parallel.framework");
  if (g_strv_contains(tools[what->tool].frameworks, framework))
    return TRUE;
  g_autoptr(GString) others = g_string_new(NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(tools); i++)
    if (g_strv_contains(tools[i].frameworks, framework))
      g_string_append_printf(others, "%s--as %s", others->len > 0 ? ", " : "", recipe_export_names[i]);
  return conf_settings_fail(
      what->settings, "parallel.framework", error, "%s does not run %s%s%s", tools[what->tool].title, framework,
      others->len > 0 ? "; what does: " : ", and no tool whose files are written does", others->str);
}

/* ---- What it leaves unsaid ---- */

static gboolean find_facts(const ConfSettings *settings, RecipeFacts *ret, gpointer user, GError **error) {
  (void)settings, (void)error;
  *ret = ((const RecipeExport *)user)->facts;
  return TRUE;
}

/* Settings as the tool would read the file; NULL: it would not. */
static ConfSettings *read_back(const RecipeExport *what, const GString *text, GError **error) {
  g_autofree char *name = g_strconcat("the file for ", tools[what->tool].title, NULL);
  g_autoptr(ConfTree) tree = conf_tree_parse(name, tools[what->tool].syntax, text->str, text->len, error);
  if (tree == NULL)
    return NULL;
  Recipe recipe = {.file = name, .tool = tools[what->tool].title};
  recipe_begin(&recipe);
  BaseErrors errors = {0};
  recipe_read(&recipe, tree, tools[what->tool].table, &errors);
  g_autoptr(ConfSettings) theirs = conf_settings_copy(what->blank);
  gboolean good = base_errors_end(&errors, error) && recipe_apply(&recipe, theirs, find_facts, (gpointer)what, error);
  recipe_end(&recipe);
  return good ? g_steal_pointer(&theirs) : NULL;
}

typedef struct {
  const ConfSettings *ours, *theirs;
  GPtrArray *unsaid; /* "training.gradient_clipping = 0" */
  int tool;
} Compared;

/* A section that the framework in force does not read. */
static gboolean is_others(const char *name, const char *framework) {
  static const char *const sections[] = {"ddp", "fsdp", "deepspeed", "megatron", "nanotron", NULL};
  for (const char *const *section = sections; *section != NULL; section++) {
    gsize length = strlen(*section);
    if (strncmp(name, *section, length) == 0 && name[length] == '.')
      return !g_str_has_prefix(framework, *section);
  }
  return FALSE;
}

/* What is no part of a recipe. A file of arguments says the model too, by its sizes. */
static gboolean is_elsewhere(const char *name, int tool) {
  static const char *const groups[] = {"cluster.", "node.", "fabric.", "environment.", "host.", "price.", "pci.", NULL};
  static const char *const files[] = {"parallel.recipe", "model.config", "model.profile", "model.parameters", NULL};
  for (const char *const *group = groups; *group != NULL; group++)
    if (g_str_has_prefix(name, *group))
      return TRUE;
  return g_strv_contains(files, name) || (tool != RECIPE_EXPORT_MEGATRON && g_str_has_prefix(name, "model."));
}

/* As many key heads as heads are what is meant where nobody says it. */
static gboolean is_implied(const Compared *compared, const char *name, const char *value) {
  return strcmp(name, "model.kv_heads") == 0 && conf_settings_get(compared->theirs, name) == NULL &&
         g_strcmp0(value, conf_settings_get(compared->ours, "model.heads")) == 0;
}

static void compare(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  const Compared *compared = user;
  gboolean given = origin > CONF_ORIGIN_DEFAULT || conf_settings_origin(compared->theirs, name) > CONF_ORIGIN_DEFAULT;
  const char *theirs = conf_settings_get(compared->theirs, name);
  const char *framework = conf_settings_get(compared->ours, "parallel.framework");
  if (given && !is_elsewhere(name, compared->tool) && !is_others(name, framework) &&
      !is_implied(compared, name, value) && g_strcmp0(value, theirs) != 0)
    g_ptr_array_add(compared->unsaid, g_strdup_printf("%s = %s", name, value));
}

/* Of three batch sizes that agree two are enough. */
static gboolean batch_follows(const Compared *compared) {
  guint same = 0;
  for (const char *const *name = recipe_batch; *name != NULL; name++) {
    const char *ours = conf_settings_get(compared->ours, *name), *theirs = conf_settings_get(compared->theirs, *name);
    same += ours != NULL && g_strcmp0(ours, theirs) == 0;
  }
  return same >= 2;
}

static gboolean is_batch(const char *line) {
  for (const char *const *name = recipe_batch; *name != NULL; name++)
    if (g_str_has_prefix(line, *name))
      return TRUE;
  return FALSE;
}

static void add_remarks(const RecipeExport *what, const ConfSettings *theirs, GPtrArray *remarks) {
  g_autoptr(GPtrArray) unsaid = g_ptr_array_new_with_free_func(g_free);
  Compared compared = {what->settings, theirs, unsaid, what->tool};
  conf_settings_visit(what->settings, compare, &compared);
  gboolean follows = batch_follows(&compared);
  g_ptr_array_add(remarks, g_strdup_printf("Written by foretrain for %s.", tools[what->tool].title));
  guint first = remarks->len;
  for (guint i = 0; i < unsaid->len; i++)
    if (!follows || !is_batch(g_ptr_array_index(unsaid, i)))
      g_ptr_array_add(remarks, g_strconcat("  ", g_ptr_array_index(unsaid, i), NULL));
  g_ptr_array_insert(remarks, (gint)first,
                     g_strdup(remarks->len > first ? "What was predicted beside it, and no key here says:"
                                                   : "With the model and the cluster this is all that was predicted."));
}

gboolean recipe_export(const RecipeExport *what, GString *text, GError **error) {
  if (!check_framework(what, error))
    return FALSE;
  g_autoptr(RecipeOut) out = recipe_out_new(what->settings);
  g_autoptr(GPtrArray) remarks = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GString) draft = g_string_new(NULL);
  tools[what->tool].write(what, out);
  recipe_out_print(out, tools[what->tool].form, remarks, tools[what->tool].program, draft);
  g_autoptr(ConfSettings) theirs = read_back(what, draft, error);
  if (theirs == NULL)
    return FALSE;
  add_remarks(what, theirs, remarks);
  recipe_out_print(out, tools[what->tool].form, remarks, tools[what->tool].program, text);
  return TRUE;
}
