/* SPDX-License-Identifier: MIT */
/* A shell script, or a list of arguments, as a tree: an option by its name as it is written, "--micro-batch-size"; the
 * launcher's below "launcher.", with the Python program as "launcher.program". An option without value is a flag that
 * is true, one with several a list. */
#include <string.h>

#include "conf-shell.h"
#include "conf-tree-build.h"

static const ConfWord *word_at(const ConfShell *shell, guint index) {
  return g_ptr_array_index(shell->words, index);
}

static gboolean is_option(const ConfWord *word) {
  return g_str_has_prefix(word->text, "--") && word->text[2] != '\0';
}

static gboolean is_number(const char *text) {
  char *end = NULL;
  g_ascii_strtod(text, &end);
  return *text != '\0' && *end == '\0';
}

static gboolean add_value(ConfTree *tree, const char *path, const char *text, const ConfWord *place, GError **error) {
  return conf_tree_add(tree, path, is_number(text) ? CONF_TREE_NUMBER : CONF_TREE_TEXT, text, place->line,
                       place->column, error);
}

static gboolean add_list(ConfTree *tree, const char *path, const ConfShell *shell, guint from, guint to,
                         GError **error) {
  const ConfWord *option = word_at(shell, from - 1);
  if (!conf_tree_add(tree, path, CONF_TREE_LIST, NULL, option->line, option->column, error))
    return FALSE;
  for (guint i = from; i < to; i++) {
    g_autofree char *number = g_strdup_printf("%u", i - from);
    g_autofree char *element = conf_tree_join(path, number);
    if (!add_value(tree, element, word_at(shell, i)->text, word_at(shell, i), error))
      return FALSE;
  }
  return TRUE;
}

/* One option with its values, which end before `to`. */
static gboolean add_option(ConfTree *tree, const ConfShell *shell, guint index, guint to, GError **error) {
  const ConfWord *option = word_at(shell, index);
  const char *equals = strchr(option->text, '=');
  g_autofree char *name =
      equals != NULL ? g_strndup(option->text, (gsize)(equals - option->text)) : g_strdup(option->text);
  g_autofree char *path = conf_tree_join(index < shell->program ? "launcher" : "", name);
  if (equals != NULL)
    return add_value(tree, path, equals + 1, option, error);
  if (to == index + 1)
    return conf_tree_add(tree, path, CONF_TREE_FLAG, "true", option->line, option->column, error);
  return to == index + 2 ? add_value(tree, path, word_at(shell, index + 1)->text, option, error)
                         : add_list(tree, path, shell, index + 1, to, error);
}

/* A launcher's option has one value at most: what follows is the program. */
static guint values_end(const ConfShell *shell, guint index) {
  guint end = index + 1, most = index < shell->program ? MIN(index + 2, shell->program - 1) : shell->words->len;
  while (end < most && !is_option(word_at(shell, end)))
    end++;
  return end;
}

/* The last place of each option: of one that is given twice, the last holds, as argparse has it. */
static GHashTable *find_last(const ConfShell *shell) {
  GHashTable *last = g_hash_table_new(g_str_hash, g_str_equal);
  for (guint i = 0; i < shell->words->len; i++)
    if (is_option(word_at(shell, i)))
      g_hash_table_insert(last, word_at(shell, i)->text, GUINT_TO_POINTER(i));
  return last;
}

static gboolean add_options(ConfTree *tree, const ConfShell *shell, GError **error) {
  g_autoptr(GHashTable) last = find_last(shell);
  for (guint i = 0; i < shell->words->len; i++) {
    const ConfWord *word = word_at(shell, i);
    gboolean holds = is_option(word) && GPOINTER_TO_UINT(g_hash_table_lookup(last, word->text)) == i;
    if (holds && !add_option(tree, shell, i, values_end(shell, i), error))
      return FALSE;
  }
  return TRUE;
}

static gboolean add_program(ConfTree *tree, const ConfShell *shell, GError **error) {
  if (shell->program == 0)
    return TRUE;
  const ConfWord *program = word_at(shell, shell->program - 1);
  g_autofree char *name = g_path_get_basename(program->text);
  return conf_tree_add(tree, "launcher.program", CONF_TREE_TEXT, name, program->line, program->column, error);
}

gboolean conf_tree_read_arguments(ConfTree *tree, char *data, gsize length, GError **error) {
  ConfShell shell = {0};
  (void)length;
  if (!conf_shell_read(tree, data, &shell, error))
    return FALSE;
  gboolean good = add_program(tree, &shell, error) && add_options(tree, &shell, error);
  conf_shell_clear(&shell);
  return good;
}
