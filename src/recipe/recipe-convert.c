/* SPDX-License-Identifier: MIT */
/* Values of other tools to values of our settings. */
#include <string.h>

#include "base-names.h"
#include "recipe-map.h"

typedef struct {
  const char *theirs, *ours;
} Pair;

/* Ours for their name, whatever the case; NULL where it is not in the table. */
static const char *find_pair(const Pair *pairs, gsize n_pairs, const char *text) {
  for (gsize i = 0; i < n_pairs; i++)
    if (g_ascii_strcasecmp(pairs[i].theirs, text) == 0)
      return pairs[i].ours;
  return NULL;
}

static gboolean fail_name(const RecipeReading *reading, const ConfTreeNode *node, const Pair *pairs, gsize n_pairs,
                          GError **error) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  for (gsize i = 0; i < n_pairs; i++)
    g_ptr_array_add(names, (gpointer)pairs[i].theirs);
  g_ptr_array_add(names, NULL);
  g_autofree char *shown = conf_tree_shown(node);
  g_autofree char *advice = base_names_advice((const char *const *)names->pdata, node->text != NULL ? node->text : "");
  return conf_tree_fail(reading->tree, node, error, "%s is not known here%s", shown, advice);
}

static gboolean fail_auto(const RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                          GError **error) {
  return conf_tree_fail(reading->tree, node, error, "is \"auto\", which nothing fills in; write a value (ours is %s)",
                        row->setting);
}

gboolean recipe_take_count(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  guint64 count;
  if (recipe_is_auto(node))
    return fail_auto(reading, row, node, error);
  if (!conf_tree_count(reading->tree, node, &count, error))
    return FALSE;
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, count);
  return recipe_give(reading, node, row->setting, text, row->remark, error);
}

gboolean recipe_give_flag(RecipeReading *reading, const ConfTreeNode *node, const char *setting, const char *yes,
                          const char *no, const char *remark, GError **error) {
  gboolean flag;
  if (!conf_tree_flag(reading->tree, node, &flag, error))
    return FALSE;
  const char *value = flag ? yes : no;
  return value == NULL || recipe_give(reading, node, setting, value, remark, error);
}

gboolean recipe_give_dropout(RecipeReading *reading, const ConfTreeNode *hidden, const ConfTreeNode *attention,
                             const char *usual, GError **error) {
  const ConfTreeNode *const nodes[] = {hidden, attention}, *first = hidden != NULL ? hidden : attention;
  const char *values[] = {usual, usual};
  for (gsize i = 0; i < G_N_ELEMENTS(nodes); i++) {
    if (nodes[i] != NULL && (nodes[i]->text == NULL || nodes[i]->kind == CONF_TREE_FLAG))
      return conf_tree_fail(reading->tree, nodes[i], error, "expected a probability");
    values[i] = nodes[i] != NULL ? nodes[i]->text : usual;
  }
  if ((g_ascii_strtod(values[0], NULL) > 0) != (g_ascii_strtod(values[1], NULL) > 0))
    return conf_tree_fail(reading->tree, first, error,
                          "dropout of hidden states %s and of attention %s: one without the other is not modelled "
                          "(both are %s where they are not said)",
                          values[0], values[1], usual);
  return recipe_give(reading, first, "training.dropout", values[0], NULL, error);
}

gboolean recipe_take_flag(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (recipe_is_auto(node))
    return fail_auto(reading, row, node, error);
  return recipe_give_flag(reading, node, row->setting, "yes", "no", row->remark, error);
}

gboolean recipe_take_text(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *shown = conf_tree_shown(node);
  if (node->text == NULL)
    return conf_tree_fail(reading->tree, node, error, "expected a text, found %s", shown);
  if (recipe_is_auto(node))
    return fail_auto(reading, row, node, error);
  g_autofree char *text = g_ascii_strdown(node->text, -1);
  return recipe_give(reading, node, row->setting, text, row->remark, error);
}

gboolean recipe_take_batch(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (!recipe_is_auto(node))
    return recipe_take_count(reading, row, node, error);
  gboolean micro = strcmp(row->setting, "training.micro_batch") == 0;
  recipe_give_rule(reading, node, row->setting, &(RecipeWait){micro ? RECIPE_RULE_MICRO_BATCH : RECIPE_RULE_WORKLOAD},
                   "auto: the workload's");
  return TRUE;
}

/* "auto" is what the Trainer fills in, 1.0 where its user says nothing. */
gboolean recipe_take_clipping(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (recipe_is_auto(node)) {
    recipe_give_auto(reading, node, row->setting, "1", "auto: the Trainer's default");
    return TRUE;
  }
  g_autofree char *shown = conf_tree_shown(node);
  if (node->text == NULL || node->kind == CONF_TREE_FLAG)
    return conf_tree_fail(reading->tree, node, error, "expected a number, found %s", shown);
  return recipe_give(reading, node, row->setting, node->text, NULL, error);
}

gboolean recipe_take_optimizer(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const struct {
    const char *theirs, *ours, *style; /* style: NULL: the framework's */
  } names[] = {
      {"adam", "adam", NULL},
      {"adamw", "adamw", NULL},
      {"fusedadam", "adam", "fused"},
      {"cpuadam", "adam", NULL},
      {"decoupled_adamw", "adamw", "foreach"},
      {"adamw_torch", "adamw", "foreach"},
      {"adamw_torch_fused", "adamw", "fused"},
      {"adamw_apex_fused", "adamw", "fused"},
      {"adamw_torch_8bit", "adam8bit", NULL},
      {"adamw_torch_4bit", "adam4bit", NULL},
      {"ao_adamw_8bit", "adam8bit", NULL},
      {"ao_adamw_4bit", "adam4bit", NULL},
      {"paged_adamw", "adamw", NULL},
      {"paged_adamw_32bit", "adamw", NULL},
      {"paged_adamw_8bit", "adam8bit", NULL},
      {"lion_32bit", "lion", NULL},
      {"paged_lion_32bit", "lion", NULL},
      {"adamw_8bit", "adam8bit", NULL},
      {"adamw_bnb_8bit", "adam8bit", NULL},
      {"adafactor", "adafactor", NULL},
      {"lamb", "lamb", NULL},
      {"lion", "lion", NULL},
      {"decoupled_lionw", "lion", NULL},
      {"muon", "muon", NULL},
      {"sgd", "sgd", NULL},
  };
  static const char *const compressed[] = {"onebitadam", "zerooneadam", "onebitlamb", NULL};
  g_autofree char *lower = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  if (g_strv_contains(compressed, lower))
    return conf_tree_fail(reading->tree, node, error,
                          "is not modelled: %s compresses what it communicates to one bit; adam and lamb are",
                          node->text);
  Pair pairs[G_N_ELEMENTS(names)];
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    pairs[i] = (Pair){names[i].theirs, names[i].ours};
    if (node->text != NULL && g_ascii_strcasecmp(names[i].theirs, node->text) == 0)
      return recipe_give(reading, node, row->setting, names[i].ours, row->remark, error) &&
             (!g_str_has_prefix(lower, "paged") ||
              recipe_give(reading, node, "training.paged_states", "yes", names[i].theirs, error)) &&
             (names[i].style == NULL ||
              recipe_give(reading, node, "training.optimizer_style", names[i].style, node->text, error));
  }
  return fail_name(reading, node, pairs, G_N_ELEMENTS(pairs), error);
}

gboolean recipe_wraps_checkpoints(const RecipeReading *reading) {
  return recipe_is_true(reading, "fsdp_config.activation_checkpointing") ||
         recipe_is_true(reading, "fsdp_config.fsdp_activation_checkpointing");
}

static gboolean checkpoints_nothing(const RecipeReading *reading) {
  return recipe_is_true(reading, "disable_gradient_checkpointing") ||
         (conf_tree_given(reading->tree, "gradient_checkpointing") != NULL &&
          !recipe_is_true(reading, "gradient_checkpointing"));
}

gboolean recipe_take_reentrant(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean flag;
  if (!conf_tree_flag(reading->tree, node, &flag, error))
    return FALSE;
  const char *idle = recipe_wraps_checkpoints(reading) ? "FSDP's own recomputes, which is not reentrant"
                     : checkpoints_nothing(reading)    ? "nothing is recomputed"
                                                       : NULL;
  if (idle == NULL)
    return recipe_give(reading, node, row->setting, flag ? "no" : "yes",
                       flag ? "reentrant checkpoints run all of a layer again" : NULL, error);
  recipe_leave(reading, node, idle);
  return TRUE;
}

gboolean recipe_give_reentrant(RecipeReading *reading, gboolean reentrant, const char *remark, GError **error) {
  return recipe_wraps_checkpoints(reading) || !recipe_gives(reading, "training.activation_checkpointing", "full") ||
         recipe_give(reading, NULL, "training.checkpoint_early_stop", reentrant ? "no" : "yes", remark, error);
}

gboolean recipe_take_checkpointing(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                   GError **error) {
  static const char *const fsdp[] = {"fsdp_config.activation_checkpointing",
                                     "fsdp_config.fsdp_activation_checkpointing"};
  gboolean flag;
  if (!conf_tree_flag(reading->tree, node, &flag, error))
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(fsdp) && !flag; i++)
    if (strcmp(node->path, fsdp[i]) != 0 && recipe_is_true(reading, fsdp[i])) {
      recipe_leave(reading, node, "FSDP's own recomputes");
      return TRUE;
    }
  return recipe_give(reading, node, row->setting, flag ? "full" : "none", flag ? "every layer is recomputed" : NULL,
                     error);
}

gboolean recipe_take_precision(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const Pair pairs[] = {
      {"bf16", "bf16"}, {"bfloat16", "bf16"}, {"amp_bf16", "bf16"}, {"bfp16", "bf16"},
      {"fp16", "fp16"}, {"float16", "fp16"},  {"amp_fp16", "fp16"}, {"half", "fp16"},
      {"fp32", "fp32"}, {"float32", "fp32"},  {"no", "fp32"},       {"false", "fp32"},
  };
  if (node->text != NULL && g_str_has_suffix(node->text, "fp8"))
    return conf_tree_fail(
        reading->tree, node, error,
        "is not modelled: Transformer Engine's fp8; the workload's training.precision = fp8 is torchao's");
  const char *ours = node->text != NULL ? find_pair(pairs, G_N_ELEMENTS(pairs), node->text) : NULL;
  if (ours == NULL)
    return fail_name(reading, node, pairs, G_N_ELEMENTS(pairs), error);
  return recipe_give(reading, node, row->setting, ours, row->remark, error);
}

/* FSDP's strategies, by name or by accelerate's old numbers. */
gboolean recipe_take_sharding(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const struct {
    const char *name, *stage, *group;
  } strategies[] = {
      {"FULL_SHARD", "3", "all"},    {"SHARD_GRAD_OP", "2", "all"},       {"NO_SHARD", "0", "all"},
      {"HYBRID_SHARD", "3", "node"}, {"HYBRID_SHARD_ZERO2", "2", "node"}, {"_HYBRID_SHARD_ZERO2", "2", "node"},
  };
  Pair pairs[G_N_ELEMENTS(strategies)];
  for (gsize i = 0; i < G_N_ELEMENTS(strategies); i++) {
    pairs[i] = (Pair){strategies[i].name, strategies[i].name};
    g_autofree char *number = g_strdup_printf("%" G_GSIZE_FORMAT, i + 1);
    gboolean same = node->text != NULL &&
                    (g_ascii_strcasecmp(strategies[i].name, node->text) == 0 || strcmp(number, node->text) == 0);
    if (same)
      return recipe_give(reading, node, "parallel.zero_stage", strategies[i].stage, strategies[i].name, error) &&
             recipe_give(reading, node, "parallel.shard_group", strategies[i].group, strategies[i].name, error);
  }
  (void)row;
  return fail_name(reading, node, pairs, G_N_ELEMENTS(pairs), error);
}

gboolean recipe_take_later(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  (void)reading, (void)row, (void)node, (void)error;
  return TRUE;
}
