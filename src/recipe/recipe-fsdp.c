/* SPDX-License-Identifier: MIT */
/* fsdp_config of accelerate, of Hugging Face's Trainer and of axolotl: the same keys, with "fsdp_" before them or not.
 *
 * Source: accelerate/utils/dataclasses.py (FullyShardedDataParallelPlugin) and commands/launch.py;
 * transformers/training_args.py. FSDP2 has reshard_after_forward where FSDP1 has a sharding strategy. */
#include <string.h>

#include "recipe-fsdp.h"

#define HERE "fsdp_config."

gboolean recipe_fsdp_second(const RecipeReading *reading) {
  static const char *const paths[] = {"fsdp_config.fsdp_version", "fsdp_config.version", "fsdp_version"};
  for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
    g_autofree char *text = recipe_text(reading, paths[i]);
    if (strcmp(text, "2") == 0)
      return TRUE;
  }
  return FALSE;
}

char *recipe_fsdp_normal(const char *path) {
  static const char prefixed[] = HERE "fsdp_";
  return g_str_has_prefix(path, prefixed) ? g_strconcat(HERE, path + strlen(prefixed), NULL) : g_strdup(path);
}

/* A flag of FSDP2; in FSDP1's files the name of a strategy may stand here. */
static gboolean take_reshard(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean reshards;
  if (!recipe_fsdp_second(reading))
    return recipe_take_sharding(reading, row, node, error);
  return conf_tree_flag(reading->tree, node, &reshards, error) &&
         recipe_give(reading, node, "parallel.zero_stage", reshards ? "3" : "2",
                     reshards ? "parameters are sharded again after forward" : "parameters stay after forward", error);
}

static gboolean take_version(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *text = node->text != NULL ? g_strdup(node->text) : g_strdup("");
  if (strcmp(text, "1") != 0 && strcmp(text, "2") != 0)
    return conf_tree_fail(reading->tree, node, error, "expected 1 or 2");
  return recipe_give(reading, node, row->setting, *text == '2' ? "fsdp2" : "fsdp1", NULL, error);
}

static gboolean take_wrap(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *policy = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  const char *wrap = strcmp(policy, "transformer_based_wrap") == 0 || strcmp(policy, "0") == 0 ? "block"
                     : strcmp(policy, "no_wrap") == 0 || strcmp(policy, "2") == 0              ? "none"
                                                                                               : NULL;
  if (wrap != NULL)
    return recipe_give(reading, node, row->setting, wrap, NULL, error);
  if (strcmp(policy, "size_based_wrap") == 0 || strcmp(policy, "1") == 0)
    return TRUE; /* min_num_params says it */
  g_autofree char *shown = conf_tree_shown(node);
  return conf_tree_fail(reading->tree, node, error,
                        "expected TRANSFORMER_BASED_WRAP, SIZE_BASED_WRAP or NO_WRAP, found %s", shown);
}

static gboolean take_least(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  guint64 least;
  if (!conf_tree_count(reading->tree, node, &least, error))
    return FALSE;
  if (least == 0)
    return TRUE;
  g_autofree char *wrap = g_strdup_printf("size:%" G_GUINT64_FORMAT, least);
  return recipe_give(reading, node, row->setting, wrap, "parameters of a unit at least", error);
}

/* What FSDP2 has no choice of. */
static gboolean leave_second(RecipeReading *reading, const ConfTreeNode *node) {
  gboolean second = recipe_fsdp_second(reading);
  if (second)
    recipe_leave(reading, node, "of FSDP1; version 2 has no such choice");
  return second;
}

gboolean recipe_take_first_flag(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                GError **error) {
  return leave_second(reading, node) || recipe_take_flag(reading, row, node, error);
}

/* BACKWARD_PRE, BACKWARD_POST, NO_PREFETCH. */
gboolean recipe_take_backward_prefetch(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                       GError **error) {
  static const struct {
    const char *theirs, *ours;
  } names[] = {{"backward_pre", "pre"}, {"backward_post", "post"}, {"no_prefetch", "none"}, {"none", "none"}};
  g_autofree char *text = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  if (leave_second(reading, node))
    return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    if (strcmp(names[i].theirs, text) == 0)
      return recipe_give(reading, node, row->setting, names[i].ours, NULL, error);
  g_autofree char *shown = conf_tree_shown(node);
  return conf_tree_fail(reading->tree, node, error, "expected BACKWARD_PRE, BACKWARD_POST or NO_PREFETCH, found %s",
                        shown);
}

/* Explicit prefetch of one unit, or none. */
gboolean recipe_take_forward_prefetch(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                      GError **error) {
  if (leave_second(reading, node))
    return TRUE;
  return recipe_give_flag(reading, node, row->setting, "1", "0", "units gathered ahead", error);
}

/* FSDP keeps parameters, gradients and optimizer on the host, and steps there. */
gboolean recipe_take_fsdp_offload(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                  GError **error) {
  (void)row;
  return recipe_give_flag(reading, node, "fsdp.cpu_offload", "yes", "no", NULL, error);
}

#define TAKE(path, setting, convert)                                                                                   \
  { HERE path, RECIPE_TAKE, setting, convert, NULL, NULL }
#define SAFE(path, remark)                                                                                             \
  { HERE path, RECIPE_SAFE, NULL, NULL, NULL, remark }
#define REFUSE(path, unless, remark)                                                                                   \
  { HERE path, RECIPE_REFUSE, NULL, NULL, unless, remark }

/* Trainer._inner_training_loop and Accelerator.accumulate: no_sync, or set_requires_gradient_sync(False). */
#define ACCUMULATES "gradients stay whole until the last micro-batch (accelerate's no_sync)"
#define LOADING     "loading and saving, between steps"

static const RecipeRow rows[] = {
    TAKE("version", "parallel.framework", take_version),
    TAKE("sharding_strategy", NULL, recipe_take_sharding),
    TAKE("reshard_after_forward", NULL, take_reshard),
    TAKE("auto_wrap_policy", "fsdp.wrap", take_wrap),
    TAKE("min_num_params", "fsdp.wrap", take_least),
    SAFE("transformer_layer_cls_to_wrap", "names the model's own layer class"),
    TAKE("backward_prefetch", "fsdp.backward_prefetch", recipe_take_backward_prefetch),
    TAKE("forward_prefetch", "fsdp.forward_prefetch", recipe_take_forward_prefetch),
    TAKE("limit_all_gathers", "fsdp.limit_all_gathers", recipe_take_first_flag),
    TAKE("use_orig_params", "fsdp.use_orig_params", recipe_take_first_flag),
    TAKE("offload_params", NULL, recipe_take_fsdp_offload),
    SAFE("cpu_offload_pin_memory", "of offload, which matters only with it"),
    TAKE("activation_checkpointing", "training.activation_checkpointing", recipe_take_checkpointing),
    SAFE("state_dict_type", LOADING),
    SAFE("sync_module_states", LOADING),
    SAFE("cpu_ram_efficient_loading", LOADING),
    REFUSE("ignored_modules", "none|", "modules outside FSDP; leave the key out"),
    REFUSE("mixed_precision_policy.*", NULL, "a policy of its own; leave it out and set mixed_precision"),
    REFUSE("xla", "false", "PyTorch/XLA"),
    SAFE("xla_fsdp_settings.*", "of PyTorch/XLA, which is not on"),
    SAFE("xla_fsdp_grad_ckpt", "of PyTorch/XLA, which is not on"),
};
const RecipeRows recipe_fsdp_rows = {rows, G_N_ELEMENTS(rows)};

gboolean recipe_fsdp_finish(RecipeReading *reading, const char *wrap, const char *prefetch, GError **error) {
  gboolean second = recipe_fsdp_second(reading);
  return recipe_give(reading, NULL, "parallel.framework", second ? "fsdp2" : "fsdp1", NULL, error) &&
         recipe_give(reading, NULL, "parallel.zero_stage", "3", "FULL_SHARD is the default", error) &&
         recipe_give(reading, NULL, "fsdp.wrap", wrap, "the tool's default", error) &&
         recipe_give(reading, NULL, "fsdp.sync_every_micro_batch", "no", ACCUMULATES, error) &&
         (second ? recipe_give(reading, NULL, "training.rotary", "halves", "Transformers' models", error)
                 : recipe_give(reading, NULL, "fsdp.backward_prefetch", prefetch, "the tool's default", error));
}
