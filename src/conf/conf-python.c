/* SPDX-License-Identifier: MIT */
/* Settings that are written as a Python function, into a tree: what it returns, where that is written out.
 *
 *     def llama3_8b():
 *         config = Trainer.Config(training=TrainingConfig(seq_len=8192))     "training.seq_len" number 8192
 *         config.compile.enable = True                                       "compile.enable"   flag
 *         return config
 *
 * Read are assignments to names and below them, calls of functions of the same file that take no arguments, and the
 * return at the end; imports, assertions and descriptions are passed over. Any other statement is an error at its
 * line, because what it changes is not known. A file of several functions is named with one: FILE.py:FUNCTION. */
#include "conf-python.h"

#include <string.h>

#define EDITS_MAX 1000 /* of one name: each looks through the tree */

guint conf_python_column(const ConfPython *python) {
  return (guint)g_utf8_pointer_to_offset(python->here.line_start, python->here.at) + 1;
}

gboolean conf_python_fail(const ConfPython *python, const char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return conf_tree_fail_at(python->tree, python->here.line, conf_python_column(python), path, python->error, "%s",
                           message);
}

static void next_line(ConfPython *python) {
  python->here.at++;
  python->here.line++;
  python->here.line_start = python->here.at;
}

void conf_python_skip(ConfPython *python) {
  for (;;) {
    python->here.at += strspn(python->here.at, " \t\r\f");
    if (*python->here.at == '#')
      python->here.at += strcspn(python->here.at, "\n");
    if (*python->here.at == '\\' && python->here.at[1] == '\n')
      python->here.at++;
    else if (*python->here.at != '\n' || python->brackets == 0)
      return;
    next_line(python);
  }
}

/* Over empty lines and comments, to the next statement. */
static void to_statement(ConfPython *python) {
  for (conf_python_skip(python); *python->here.at == '\n' || *python->here.at == ';'; conf_python_skip(python)) {
    if (*python->here.at == '\n')
      next_line(python);
    else
      python->here.at++;
  }
}

/* Over the rest of a statement, its strings and brackets of several lines with it. */
static gboolean pass_statement(ConfPython *python) {
  while (*python->here.at != '\n' && *python->here.at != '\0') {
    const char *from = python->here.at;
    if (!conf_python_pass(python))
      return FALSE;
    if (*python->here.at != '\n' && *python->here.at != '\0')
      python->here.at++;
    if (python->here.at == from)
      return conf_python_fail(python, "", "expected a statement");
  }
  return TRUE;
}

static gboolean begins_with(const char *at, const char *word) {
  gsize length = strlen(word);
  return strncmp(at, word, length) == 0 && conf_python_name(at) == length;
}

static gboolean is_passed_over(const char *at) {
  static const char *const words[] = {"import", "from", "assert", "pass"};
  gboolean passed = conf_python_string_end(at) != NULL;
  for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
    passed |= begins_with(at, words[i]);
  return passed;
}

/* ---- Assignments ---- */

static void edit_clear(gpointer data) {
  ConfPythonEdit *edit = data;
  g_free(edit->path);
}

static void name_free(gpointer data) {
  ConfPythonName *name = data;
  g_array_unref(name->edits);
  g_free(name);
}

/* `a.b.c = ` or `a: Type = `; NULL, at the same place: something else. Caller frees. */
static char *read_target(ConfPython *python) {
  ConfPythonPlace from = python->here;
  gsize bytes = strspn(from.at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
  g_autofree char *target = g_strndup(from.at, bytes);
  python->here.at += bytes;
  conf_python_skip(python);
  if (*python->here.at == ':')
    python->here.at += strcspn(python->here.at, "=\n");
  gboolean assigns = bytes > 0 && conf_python_name(target) > 0 && *python->here.at == '=' && python->here.at[1] != '=';
  if (!assigns) {
    python->here = from;
    return NULL;
  }
  python->here.at++;
  conf_python_skip(python);
  return g_steal_pointer(&target);
}

static gboolean note_name(ConfPython *python, const char *target) {
  ConfPythonName *name = g_new0(ConfPythonName, 1);
  name->value = python->here;
  name->edits = g_array_new(FALSE, FALSE, sizeof(ConfPythonEdit));
  g_array_set_clear_func(name->edits, edit_clear);
  g_hash_table_replace(python->names, g_strdup(target), name);
  return pass_statement(python);
}

static gboolean note_edit(ConfPython *python, const char *target, const char *dot, guint column) {
  g_autofree char *head = g_strndup(target, (gsize)(dot - target));
  ConfPythonName *name = g_hash_table_lookup(python->names, head);
  if (name == NULL)
    return conf_python_fail(python, "", "\"%s\" is not assigned in this function before", head);
  if (name->edits->len >= EDITS_MAX)
    return conf_python_fail(python, "", "more than %d assignments below \"%s\"", EDITS_MAX, head);
  ConfPythonEdit edit = {g_strdup(dot + 1), python->here, column};
  g_array_append_val(name->edits, edit);
  return pass_statement(python);
}

static gboolean read_assignment(ConfPython *python) {
  guint column = conf_python_column(python);
  g_autofree char *target = read_target(python);
  if (target == NULL) {
    g_autofree char *word = g_strndup(python->here.at, strcspn(python->here.at, " \t\r\n(:"));
    g_autofree char *shown = g_utf8_substring(word, 0, MIN(40, g_utf8_strlen(word, -1)));
    return conf_python_fail(python, "",
                            "\"%s\" begins a statement of Python that is not read; write its values as keyword "
                            "arguments or assignments (config.training.seq_len = 8192)",
                            shown);
  }
  const char *dot = strchr(target, '.');
  return dot == NULL ? note_name(python, target) : note_edit(python, target, dot, column);
}

/* ---- Functions ---- */

/* From behind a function's name to its first statement. */
static gboolean to_body(ConfPython *python) {
  python->brackets = 0;
  while (*python->here.at != ':' && *python->here.at != '\0') {
    char letter = *python->here.at;
    python->brackets += strchr("([{", letter) != NULL;
    python->brackets -= python->brackets > 0 && strchr(")]}", letter) != NULL;
    python->here.at++;
    conf_python_skip(python);
    while (python->brackets > 0 && *python->here.at == ':')
      python->here.at++;
  }
  python->brackets = 0;
  if (*python->here.at != ':')
    return conf_python_fail(python, "", "expected \":\" behind a function's head");
  python->here.at++;
  to_statement(python);
  return TRUE;
}

/* Every statement up to the return, and what that returns. */
static gboolean read_body(ConfPython *python, const char *name, const char *path, guint line, guint column) {
  for (; *python->here.at != '\0' && conf_python_column(python) > 1; to_statement(python)) {
    if (begins_with(python->here.at, "return")) {
      python->here.at += strlen("return");
      return conf_python_value(python, path, line, column);
    }
    if (!(is_passed_over(python->here.at) ? pass_statement(python) : read_assignment(python)))
      return FALSE;
  }
  return conf_python_fail(python, "", "the function %s ends without a return", name);
}

gboolean conf_python_function(ConfPython *python, const char *name, const char *path, guint line, guint column) {
  const ConfPythonPlace *place = g_hash_table_lookup(python->functions, name);
  g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, name_free);
  ConfPython inner = *python;
  inner.names = names;
  inner.here = *place;
  inner.depth++;
  if (inner.depth >= CONF_TREE_DEPTH_MAX)
    return conf_python_fail(python, path, "%s calls itself", name);
  return to_body(&inner) && read_body(&inner, name, path, line, column);
}

/* ---- The file ---- */

static void note_place(GHashTable *table, const char *from, gsize bytes, ConfPythonPlace place) {
  g_hash_table_replace(table, g_strndup(from, bytes), g_memdup2(&place, sizeof place));
}

/* Functions and assignments that begin a line; all else of the file is passed over, line by line. */
static gboolean find_names(ConfPython *python) {
  for (to_statement(python); *python->here.at != '\0'; to_statement(python)) {
    const char *at = python->here.at;
    gboolean outside = conf_python_column(python) == 1, function = outside && begins_with(at, "def");
    if (function) {
      python->here.at += strlen("def");
      conf_python_skip(python);
      gsize bytes = conf_python_name(python->here.at);
      ConfPythonPlace behind = {python->here.at + bytes, python->here.line, python->here.line_start};
      note_place(python->functions, python->here.at, bytes, behind);
    } else if (outside && conf_python_name(at) > 0) {
      g_autofree char *target = read_target(python);
      if (target != NULL)
        note_place(python->globals, target, strlen(target), python->here);
    }
    if (!pass_statement(python))
      return FALSE;
  }
  return TRUE;
}

static gint compare_names(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Names of functions that do not begin with "_", sorted, with commas. Caller frees. */
static char *public_names(const ConfPython *python, guint *ret_count) {
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  GHashTableIter iter;
  gpointer name;
  g_hash_table_iter_init(&iter, python->functions);
  while (g_hash_table_iter_next(&iter, &name, NULL))
    if (*(const char *)name != '_')
      g_ptr_array_add(names, name);
  g_ptr_array_sort(names, compare_names);
  *ret_count = names->len;
  g_ptr_array_add(names, NULL);
  return g_strjoinv(", ", (char **)names->pdata);
}

static gboolean read_wanted(ConfPython *python, const char *wanted) {
  guint count;
  g_autofree char *names = public_names(python, &count);
  const char *name = wanted != NULL ? wanted : names;
  python->here.line = 1;
  if (count == 0)
    return conf_python_fail(python, "", "holds no function that returns settings");
  if (wanted == NULL && count > 1)
    return conf_python_fail(python, "", "holds several functions; name one behind a colon (FILE.py:NAME): %s", names);
  if (!g_hash_table_contains(python->functions, name))
    return conf_python_fail(python, "", "holds no function \"%s\"; it has %s", name, names);
  return conf_python_function(python, name, "", 1, 1);
}

gboolean conf_tree_read_python(ConfTree *tree, char *data, gsize length, GError **error) {
  (void)length;
  g_autoptr(GHashTable) functions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  g_autoptr(GHashTable) globals = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  guint64 work = 0;
  ConfPython python = {
      .work = &work, .tree = tree, .here = {data, 1, data}, .functions = functions, .globals = globals, .error = error};
  if (!find_names(&python))
    return FALSE;
  python.here = (ConfPythonPlace){data, 1, data};
  if (!read_wanted(&python, conf_tree_part(tree)))
    return FALSE;
  conf_tree_order(tree);
  return TRUE;
}
