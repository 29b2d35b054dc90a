/* SPDX-License-Identifier: MIT */
/* peft's rank and target modules to lora:RANK:NAMES. */
#include "recipe-lora.h"

#include <string.h>

/* "self_attn.q_proj" is q_proj wherever it stands. FALSE where it is a pattern. */
static gboolean add_target(const char *name, GString *targets) {
  const char *dot = strrchr(name, '.');
  const char *last = dot != NULL ? dot + 1 : name;
  if (*last == '\0' || strspn(last, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(last) ||
      strpbrk(name, "[]()|*+?\\^$") != NULL)
    return FALSE;
  g_string_append_printf(targets, "%s%s", targets->len > 0 ? "+" : "", last);
  return TRUE;
}

/* A list, or names with commas between them. */
static gboolean read_targets(const RecipeReading *reading, const ConfTreeNode *node, GString *targets, GError **error) {
  static const char *const all[] = {"all", "all-linear", NULL};
  gboolean good = TRUE;
  if (node->text != NULL && g_strv_contains(all, node->text)) {
    g_string_assign(targets, "all-linear");
    return TRUE;
  }
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

gboolean recipe_give_lora(RecipeReading *reading, const RecipeLora *lora, GError **error) {
  const ConfTreeNode *rank = conf_tree_given(reading->tree, lora->rank),
                     *named = conf_tree_given(reading->tree, lora->targets);
  guint64 ranks = lora->usual_rank;
  g_autoptr(GString) targets = g_string_new(NULL);
  if (rank != NULL && !conf_tree_count(reading->tree, rank, &ranks, error))
    return FALSE;
  if (lora->linear != NULL && recipe_is_true(reading, lora->linear))
    g_string_assign(targets, "all-linear");
  else if (named != NULL && !read_targets(reading, named, targets, error))
    return FALSE;
  g_autofree char *value =
      g_strdup_printf("lora:%" G_GUINT64_FORMAT "%s%s", ranks, targets->len > 0 ? ":" : "", targets->str);
  return recipe_give(reading, rank, "training.trainable", value, "adapters; their dropout is left out", error);
}
