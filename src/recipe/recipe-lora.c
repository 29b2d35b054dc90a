/* SPDX-License-Identifier: MIT */
/* peft's rank and target modules to lora:RANK:NAMES. */
#include "recipe-lora.h"

#include <string.h>

/* Ours for what families call their layers (falcon and gpt_neox, GPT-2, phi, mpt, Meta's llama). */
static const char *ours(const char *name) {
  static const char *const names[][2] = {{"query_key_value", "qkv_proj"},
                                         {"c_attn", "qkv_proj"},
                                         {"Wqkv", "qkv_proj"},
                                         {"W_pack", "qkv_proj"},
                                         {"dense_h_to_4h", "up_proj"},
                                         {"dense_4h_to_h", "down_proj"},
                                         {"c_fc", "up_proj"},
                                         {"fc1", "up_proj"},
                                         {"fc2", "down_proj"},
                                         {"w1", "gate_proj"},
                                         {"w2", "down_proj"},
                                         {"w3", "up_proj"}};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    if (strcmp(names[i][0], name) == 0)
      return names[i][1];
  return name;
}

/* "self_attn.q_proj" is q_proj wherever it stands. FALSE where it is a pattern. */
static gboolean add_target(const char *name, GString *targets) {
  const char *dot = strrchr(name, '.');
  const char *last = dot != NULL ? dot + 1 : name;
  if (*last == '\0' || strspn(last, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_") != strlen(last) ||
      strpbrk(name, "[]()|*+?\\^$") != NULL)
    return FALSE;
  g_string_append_printf(targets, "%s%s", targets->len > 0 ? "+" : "", ours(last));
  return TRUE;
}

/* The last name of a path with alternatives, none of which is a layer by its number: "(q|k|v)_proj" of
 * "layers.[\\d]+.(mlp|self_attn).(q|k|v)_proj" is q_proj, k_proj and v_proj, wherever they stand. */
static gboolean add_pattern(const char *text, GString *targets) {
  int depth = 0;
  gboolean set = FALSE;
  const char *last = text;
  for (const char *at = text; *at != '\0'; at++) {
    depth += (*at == '(') - (*at == ')');
    set = *at == '[' || (set && *at != ']');
    if (g_ascii_isdigit(*at) && !set)
      return FALSE; /* some layers alone */
    if (*at == '|' && depth == 0)
      return FALSE;
    if (*at == '.' && depth == 0)
      last = at + 1;
  }
  const char *end = *last == '(' ? strchr(last, ')') : NULL;
  if (end == NULL)
    return last != text && add_target(last, targets);
  g_autofree char *inside = g_strndup(last + 1, (gsize)(end - last - 1));
  g_auto(GStrv) names = g_strsplit(inside, "|", -1);
  gboolean good = *names != NULL;
  for (char **name = names; *name != NULL && good; name++) {
    g_autofree char *whole = g_strconcat(*name, end + 1, NULL);
    good = add_target(whole, targets);
  }
  return good;
}

/* A list, or names with commas between them, or a pattern. */
static gboolean read_targets(const RecipeReading *reading, const ConfTreeNode *node, GString *targets, GError **error) {
  static const char *const all[] = {"all", "all-linear", NULL};
  gboolean good = TRUE;
  if (node->text != NULL && g_strv_contains(all, node->text)) {
    g_string_assign(targets, "all-linear");
    return TRUE;
  }
  if (node->text != NULL && strpbrk(node->text, "()[]") != NULL)
    return add_pattern(node->text, targets) ||
           conf_tree_fail(reading->tree, node, error,
                          "names layers by a pattern; list them by their names, as in q_proj, v_proj");
  g_auto(GStrv) words = g_strsplit(node->text != NULL ? node->text : "", ",", -1);
  for (char **word = words; *word != NULL && good; word++)
    good = add_target(g_strstrip(*word), targets);
  for (guint i = 0; node->kind == CONF_TREE_LIST && good; i++) {
    g_autofree char *path = g_strdup_printf("%s.%u", node->path, i);
    const ConfTreeNode *element = conf_tree_find(reading->tree, path);
    if (element == NULL)
      break;
    good = element->text != NULL && add_target(element->text, targets);
  }
  return good || conf_tree_fail(reading->tree, node, error,
                                "names layers by a pattern; list them by their names, as in q_proj, v_proj");
}

gboolean recipe_give_base(RecipeReading *reading, const RecipeBase *base, GError **error) {
  const ConfTreeNode *node = conf_tree_given(reading->tree, base->on);
  const ConfTreeNode *twice = base->twice != NULL ? conf_tree_given(reading->tree, base->twice) : NULL;
  const ConfTreeNode *kind = base->kind != NULL ? conf_tree_given(reading->tree, base->kind) : NULL;
  gboolean on = base->usual;
  if (recipe_is_true(reading, base->eight))
    return recipe_give(reading, conf_tree_given(reading->tree, base->eight), "training.base_weights", "int8",
                       "the other parameters stay in training.precision", error);
  if (node == NULL || !recipe_is_true(reading, base->on))
    return TRUE;
  if (kind != NULL && g_strcmp0(kind->text, "nf4") != 0)
    return conf_tree_fail(reading->tree, kind, error, "\"%s\" is not modelled; nf4 is",
                          kind->text != NULL ? kind->text : "");
  if (twice != NULL && !conf_tree_flag(reading->tree, twice, &on, error))
    return FALSE;
  return recipe_give(reading, node, "training.base_weights", on ? "nf4-double" : "nf4",
                     "the other parameters stay in training.precision", error);
}

gboolean recipe_give_lora_dropout(RecipeReading *reading, const char *path, const char *usual, GError **error) {
  const ConfTreeNode *node = conf_tree_given(reading->tree, path);
  const char *remark = "before each adapter";
  if (node != NULL)
    return recipe_give(reading, node, "training.lora_dropout", node->text != NULL ? node->text : "", remark, error);
  return usual == NULL || recipe_give(reading, NULL, "training.lora_dropout", usual, "the tool's default", error);
}

gboolean recipe_give_lora(RecipeReading *reading, const RecipeLora *lora, GError **error) {
  const ConfTreeNode *rank = conf_tree_given(reading->tree, lora->rank),
                     *named = conf_tree_given(reading->tree, lora->targets);
  guint64 ranks = lora->usual_rank;
  g_autoptr(GString) targets = g_string_new(NULL);
  if (rank != NULL && !conf_tree_count(reading->tree, rank, &ranks, error))
    return FALSE;
  if (lora->linear != NULL && recipe_is_true(reading, lora->linear))
    g_string_assign(targets, "all-linear");
  else if (named == NULL && lora->usual != NULL)
    g_string_assign(targets, lora->usual);
  else if (named != NULL && !read_targets(reading, named, targets, error))
    return FALSE;
  g_autofree char *value =
      g_strdup_printf("lora:%" G_GUINT64_FORMAT "%s%s", ranks, targets->len > 0 ? ":" : "", targets->str);
  return recipe_give(reading, rank, "training.trainable", value, "adapters", error) &&
         recipe_give_lora_dropout(reading, "lora_dropout", lora->usual_dropout, error);
}
