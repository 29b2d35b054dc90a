/* SPDX-License-Identifier: MIT */
/* A Recipe under the settings that a workload and the command line give. */
#include <string.h>

#include "recipe-map.h"

/* What Hugging Face makes of "auto", as its Python computes it (doubles, cut to whole). Source:
 * transformers/integrations/deepspeed.py, trainer_config_finalize. */
#define PREFETCH_SHARE  0.9
#define PERSISTENT_ROWS 10

const char *const recipe_batch[] = {"training.micro_batch", "training.gradient_accumulation", "training.global_batch",
                                    NULL};

static void place_of(const RecipeTaken *taken, BasePlace *ret) {
  *ret = (BasePlace){.file = taken->file, .line = taken->line, .column = taken->column};
}

static gboolean fail(const RecipeTaken *taken, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);
static gboolean fail(const RecipeTaken *taken, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place;
  place_of(taken, &place);
  place.key = taken->key;
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}

/* What our setting says of the value, with the key it came from. */
static gboolean put(const RecipeTaken *taken, const char *value, ConfSettings *settings, GError **error) {
  BasePlace place;
  place_of(taken, &place);
  GError *cause = NULL;
  if (conf_settings_put(settings, taken->setting, value, CONF_ORIGIN_RECIPE, &place, &cause))
    return TRUE;
  if (*taken->key != '\0')
    g_set_error(error, cause->domain, cause->code, "%s (from the recipe's %s)", cause->message, taken->key);
  else
    g_set_error(error, cause->domain, cause->code, "%s (what the recipe's tool does)", cause->message);
  g_error_free(cause);
  return FALSE;
}

static gboolean resolve_chunks(const RecipeTaken *taken, const RecipeFacts *facts, guint64 *ret, GError **error) {
  const RecipeWait *wait = &taken->wait;
  guint64 stages = (facts->layers + wait->extra + wait->operand - 1) / wait->operand;
  *ret = stages / wait->others;
  return (stages > 0 && stages % wait->others == 0) ||
         fail(taken, error,
              "makes %" G_GUINT64_FORMAT " stages of the model's %" G_GUINT64_FORMAT " layers (%" G_GUINT64_FORMAT
              " more for its ends), which is no multiple of the %" G_GUINT64_FORMAT " pipeline ranks",
              stages, facts->layers, wait->extra, wait->others);
}

gboolean recipe_resolve(const RecipeTaken *taken, const RecipeFacts *facts, guint64 *ret, GError **error) {
  const RecipeWait *wait = &taken->wait;
  double hidden = (double)facts->hidden_size;
  switch (wait->rule) {
  case RECIPE_RULE_HIDDEN_SQUARED:
    *ret = facts->hidden_size * facts->hidden_size;
    return TRUE;
  case RECIPE_RULE_PREFETCH:
    *ret = (guint64)(PREFETCH_SHARE * hidden * hidden);
    return TRUE;
  case RECIPE_RULE_PERSISTENCE:
    *ret = PERSISTENT_ROWS * facts->hidden_size;
    return TRUE;
  case RECIPE_RULE_SHARE:
    *ret = facts->ranks / (wait->operand * wait->others);
    return facts->ranks % (wait->operand * wait->others) == 0 ||
           fail(taken, error, "%" G_GUINT64_FORMAT " copies do not divide %" G_GUINT64_FORMAT " GPUs", wait->operand,
                facts->ranks / wait->others);
  case RECIPE_RULE_CHUNKS:
    return resolve_chunks(taken, facts, ret, error);
  default:
    *ret = wait->operand;
    return facts->ranks == 0 || facts->ranks == wait->operand * wait->others ||
           fail(taken, error,
                "shards over %" G_GUINT64_FORMAT " GPUs without copies, and the cluster has %" G_GUINT64_FORMAT
                "; say cluster.nodes and gpus_per_node to match, or -1 for all",
                wait->operand * wait->others, facts->ranks);
  }
}

static gboolean waits_for_workload(const RecipeTaken *taken) {
  return taken->wait.rule == RECIPE_RULE_WORKLOAD || taken->wait.rule == RECIPE_RULE_MICRO_BATCH;
}

/* How many of the three the workload or the command line says. */
static guint batch_given(const ConfSettings *settings) {
  guint given = 0;
  for (const char *const *name = recipe_batch; *name != NULL; name++)
    given += conf_settings_given(settings, *name) ? 1 : 0;
  return given;
}

/* micro_batch is "auto": something must say it, or the two others. */
static gboolean check_micro_batch(const RecipeTaken *taken, const ConfSettings *settings, GError **error) {
  return conf_settings_given(settings, recipe_batch[0]) ||
         (conf_settings_given(settings, recipe_batch[1]) && conf_settings_given(settings, recipe_batch[2])) ||
         fail(taken, error,
              "is \"auto\", and nothing says it: the Trainer takes it from per_device_train_batch_size; write "
              "micro_batch into [training] of the workload, or --set training.micro_batch=N");
}

/* Whether the workload has the say: its own value, or its config.json, which is a whole model. What is overruled so
 * need not be anything that is modelled. */
static gboolean is_overruled(const RecipeTaken *taken, const ConfSettings *settings) {
  gboolean shape = g_str_has_prefix(taken->setting, "model.");
  return (conf_settings_knows(settings, taken->setting) && conf_settings_given(settings, taken->setting)) ||
         (shape && conf_settings_given(settings, "model.config"));
}

/* A tool's number of micro-batches where its file says no batch of all GPUs: not beside the workload's. */
static gboolean makes_way(const RecipeTaken *taken, const ConfSettings *settings) {
  return *taken->key == '\0' && strcmp(taken->setting, recipe_batch[1]) == 0 &&
         conf_settings_given(settings, recipe_batch[2]);
}

static gboolean put_fixed(const Recipe *recipe, ConfSettings *settings, GError **error) {
  gboolean batch_follows = batch_given(settings) >= 2;
  BaseErrors errors = {0};
  for (guint i = 0; i < recipe->taken->len; i++) {
    const RecipeTaken *taken = g_ptr_array_index(recipe->taken, i);
    gboolean follows = batch_follows && g_strv_contains(recipe_batch, taken->setting);
    GError *cause = NULL;
    if (taken->value != NULL && !follows && !makes_way(taken, settings) && !is_overruled(taken, settings) &&
        !put(taken, taken->value, settings, &cause))
      base_errors_add(&errors, cause);
  }
  return base_errors_end(&errors, error);
}

/* One value that waited for the model or the cluster. */
static gboolean put_found(const RecipeTaken *taken, ConfSettings *settings, const RecipeFacts *facts, GError **error) {
  guint64 number;
  if (!recipe_resolve(taken, facts, &number, error))
    return FALSE;
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, number);
  return put(taken, text, settings, error);
}

static gboolean waits_for_facts(const RecipeTaken *taken, const ConfSettings *settings) {
  return taken->value == NULL && !waits_for_workload(taken) && !is_overruled(taken, settings);
}

static void put_waiting(const Recipe *recipe, ConfSettings *settings, RecipeFind find, gpointer user,
                        BaseErrors *errors) {
  RecipeFacts facts = {0};
  gboolean found = FALSE;
  for (guint i = 0; i < recipe->taken->len; i++) {
    const RecipeTaken *taken = g_ptr_array_index(recipe->taken, i);
    GError *cause = NULL;
    if (taken->wait.rule == RECIPE_RULE_MICRO_BATCH && !check_micro_batch(taken, settings, &cause))
      base_errors_add(errors, g_steal_pointer(&cause));
    if (find == NULL || !waits_for_facts(taken, settings))
      continue;
    if (!found && !find(settings, &facts, user, &cause)) {
      base_errors_add(errors, cause);
      return;
    }
    found = TRUE;
    if (!put_found(taken, settings, &facts, &cause))
      base_errors_add(errors, cause);
  }
}

gboolean recipe_apply(const Recipe *recipe, ConfSettings *settings, RecipeFind find, gpointer user, GError **error) {
  BaseErrors errors = {0};
  GError *cause = NULL;
  if (!put_fixed(recipe, settings, &cause))
    base_errors_add(&errors, cause);
  put_waiting(recipe, settings, find, user, &errors);
  return base_errors_end(&errors, error);
}

gboolean recipe_check(const Recipe *recipe, ConfSettings *settings, GError **error) {
  BaseErrors errors = {0};
  for (guint i = 0; i < recipe->taken->len; i++) {
    const RecipeTaken *taken = g_ptr_array_index(recipe->taken, i);
    GError *cause = NULL;
    if (taken->value != NULL && !put(taken, taken->value, settings, &cause))
      base_errors_add(&errors, cause);
  }
  return base_errors_end(&errors, error);
}
