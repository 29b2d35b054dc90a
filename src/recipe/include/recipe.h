/* SPDX-License-Identifier: MIT */
/* Other tools' recipe files to our settings, key by key: ds_config.json, accelerate and Trainer files, torchtitan's
 * TOML, llm-foundry's, axolotl's, LLaMA-Factory's, torchtune's, TRL's, GPT-NeoX's, NeMo's and Megatron-Bridge's YAML,
 * Megatron-LM's command line as a script or list of arguments.
 *
 *   g_autoptr(Recipe) recipe = recipe_load("ds_config.json", error);   // a key is taken, known to be safe, or an error
 *   if (!recipe_apply(recipe, settings, facts, user, error))           // as CONF_ORIGIN_RECIPE, below the workload
 *     return FALSE;
 *   recipe_print(recipe, NULL, text);                                  // what was taken, what was left, and why
 *
 * Each tool has one table (recipe-deepspeed.c, …): a row per key says which setting of ours it is, or why leaving it is
 * safe, or why it cannot be predicted. A key that would change the answer and is not modelled is an error at its line,
 * and so is one that the tool itself would refuse; all of a file's errors come together, a line each. */
#pragma once

#include "base-errors.h"
#include "conf-settings.h"

/* What a value waits for that the recipe does not hold. */
typedef enum {
  RECIPE_RULE_NONE,           /* the value is there */
  RECIPE_RULE_WORKLOAD,       /* "auto": the workload's value holds; nothing is set */
  RECIPE_RULE_MICRO_BATCH,    /* "auto": likewise, and the workload must say it */
  RECIPE_RULE_HIDDEN_SQUARED, /* "auto" of Hugging Face: hidden_size² */
  RECIPE_RULE_PREFETCH,       /* 0.9 hidden_size² */
  RECIPE_RULE_PERSISTENCE,    /* 10 hidden_size */
  RECIPE_RULE_SHARE,          /* all ranks / operand / others */
  RECIPE_RULE_ALL_RANKS,      /* all: the job must have operand × others ranks */
  RECIPE_RULE_CHUNKS, /* ⌈(layers + extra) / operand⌉ / others: layers per stage to chunks of a pipeline rank */
} RecipeRule;

typedef struct {
  RecipeRule rule;
  guint64 operand, others, extra; /* others 0: 1 */
} RecipeWait;

typedef struct {
  char *file, *key;   /* theirs */
  guint line, column; /* of their key; 0 where the tool's default speaks */
  char *setting;      /* ours: "training.micro_batch" */
  char *value;        /* as a workload file would say it; NULL while `wait` holds */
  char *remark;       /* unit or reading, for people; NULL: none */
  RecipeWait wait;
} RecipeTaken;

typedef struct {
  char *file, *key;
  guint line;
  char *reason; /* why leaving it is safe */
} RecipeLeft;

typedef struct {
  char *file;
  const char *tool; /* "DeepSpeed" */
  GPtrArray *taken; /* RecipeTaken, in the order of the file */
  GPtrArray *left;  /* RecipeLeft */
} Recipe;

/* Errors: SIM_ERROR_INPUT, one line per key at fault: file, line, key, what is wrong and what to do; a file that is of
 * no tool known. */
Recipe *recipe_load(const char *path, GError **error);
/* The same, where errors are gathered: what could be read, though keys were at fault. NULL where nothing could. */
Recipe *recipe_load_some(const char *path, BaseErrors *errors);
void recipe_free(Recipe *recipe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Recipe, recipe_free)

/* [parallel] recipe: the file's path, or NULL. Filled and cleared as conf-settings.h says. */
typedef struct {
  char *file;
} RecipeKeys;
extern const ConfSchema recipe_schema;

/* What "auto" needs beyond the recipe, found when it is needed. */
typedef struct {
  guint64 hidden_size, layers, ranks;
} RecipeFacts;
typedef gboolean (*RecipeFind)(const ConfSettings *settings, RecipeFacts *ret, gpointer user, GError **error);

/* Lays the recipe under what file and command line say. Of micro_batch, gradient_accumulation and global_batch only
 * those are laid that the workload leaves open: where it says two, the third follows from them; and no shape of a model
 * where the workload names a config.json. Errors: each value that our setting does not take, with the recipe's place
 * and key, a line each; "auto" that nothing gives. Settings are then half done: give a copy. `find` NULL: what waits
 * for the model or the cluster is left as it is, for a look at the errors alone. */
gboolean recipe_apply(const Recipe *recipe, ConfSettings *settings, RecipeFind find, gpointer user, GError **error);

/* Whether our settings take every value, for a recipe that is not applied. The settings are then spoilt. Errors: all, a
 * line each. */
gboolean recipe_check(const Recipe *recipe, ConfSettings *settings, GError **error);

/* Tables for people: taken, left. `settings`, to which the recipe is applied, say what overrules it and what "auto"
 * became; NULL: nothing does. Appends. */
void recipe_print(const Recipe *recipe, const ConfSettings *settings, GString *text);
/* "parallel.framework (paper, not fsdp2), cluster.nodes (2, not 1)": what others say in its place, of `settings` to
 * which it is applied; "" where nothing does. Caller frees. */
char *recipe_overruled(const Recipe *recipe, const ConfSettings *settings);
/* The values as sections of a workload file, each with the key it came from, and lines to fill in for what the recipe
 * does not hold. `facts` (ranks 0: not known) and `model`, the config.json they came from, may be NULL: then values
 * that wait for the model are refused. A recipe's own shape of the model yields to `model`. Appends nothing on
 * error. */
gboolean recipe_write(const Recipe *recipe, const RecipeFacts *facts, const char *model, GString *text, GError **error);
