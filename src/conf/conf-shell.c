/* SPDX-License-Identifier: MIT */
/* Commands of a shell script: assignments, and the Python program whose arguments are wanted. */
#include "conf-shell.h"

#include <string.h>

#include "conf-shell-test.h"
#include "conf-shell-words.h"

#define UNKNOWN "has options inside a condition, loop or function that is not evaluated; keep the branch that is meant"

/* A condition, loop or function that is open. */
typedef struct {
  ConfShellTruth runs;  /* this branch */
  ConfShellTruth taken; /* a branch before it was */
  ConfShellTruth test;  /* of a condition that is being read, so far */
  gboolean reading;     /* its condition, up to "then" */
} Block;

typedef struct {
  ConfShellText text;
  GArray *blocks;         /* Block */
  char joint;             /* what ended the command before: '|' for ||, '&' for &&, else 0 */
  gboolean inverts;       /* "!" before the command */
  GPtrArray *best;        /* ConfWord: of the command with a program; or all words of mere lists */
  guint program, options; /* of best; program 0: none yet */
} Shell;

/* ---- Commands ---- */

/* ---- Conditions ---- */

/* Whether what is read now would run. */
static ConfShellTruth state(const Shell *shell) {
  ConfShellTruth runs = CONF_SHELL_TRUE;
  for (guint i = 0; i < shell->blocks->len; i++)
    runs = conf_shell_and(runs, g_array_index(shell->blocks, Block, i).runs);
  return runs;
}

static Block *innermost(const Shell *shell) {
  return shell->blocks->len > 0 ? &g_array_index(shell->blocks, Block, shell->blocks->len - 1) : NULL;
}

static void open_block(Shell *shell, gboolean condition) {
  Block block = {condition ? CONF_SHELL_TRUE : CONF_SHELL_UNKNOWN, CONF_SHELL_FALSE, CONF_SHELL_TRUE, condition};
  g_array_append_val(shell->blocks, block);
}

static void close_block(Shell *shell) {
  if (shell->blocks->len > 0)
    g_array_set_size(shell->blocks, shell->blocks->len - 1);
}

static void add_test(Shell *shell, const GPtrArray *words) {
  Block *block = innermost(shell);
  ConfShellTruth test = conf_shell_test(words);
  if (block == NULL || !block->reading || words->len == 0)
    return;
  test = shell->inverts ? conf_shell_not(test) : test;
  block->test = shell->joint == '|'   ? conf_shell_or(block->test, test)
                : shell->joint == '&' ? conf_shell_and(block->test, test)
                                      : test;
}

static void turn(Shell *shell, const char *word) {
  Block *block = innermost(shell);
  if (block == NULL)
    return;
  ConfShellTruth others = conf_shell_not(block->taken);
  if (strcmp(word, "then") == 0 && block->reading) {
    block->runs = conf_shell_and(others, block->test);
    block->taken = conf_shell_or(block->taken, block->test);
    block->reading = FALSE;
  } else if (strcmp(word, "elif") == 0) {
    block->runs = others;
    block->reading = TRUE;
  } else if (strcmp(word, "else") == 0) {
    block->runs = others;
  }
}

/* ---- Commands with options ---- */

static gboolean is_option(const ConfWord *word) {
  return g_str_has_prefix(word->text, "--") && word->text[2] != '\0';
}

static guint count_options(const GPtrArray *words, guint from) {
  guint n = 0;
  for (guint i = from; i < words->len; i++)
    n += is_option(g_ptr_array_index(words, i));
  return n;
}

/* "sh -c 'python x.py --a 1'": the words in it. */
static GPtrArray *unpack(GPtrArray *words) {
  GPtrArray *flat = conf_words_new();
  for (guint i = 0; i < words->len; i++) {
    const ConfWord *word = g_ptr_array_index(words, i);
    if (strstr(word->text, ".py ") != NULL)
      conf_shell_split(word->text, word->line, word->column, flat);
    else
      g_ptr_array_add(flat, conf_word_new(word->text, word->line, word->column));
  }
  g_ptr_array_unref(words);
  return flat;
}

static void keep_list(Shell *shell, GPtrArray *words) {
  for (guint i = 0; i < words->len; i++) {
    const ConfWord *word = g_ptr_array_index(words, i);
    g_ptr_array_add(shell->best, conf_word_new(word->text, word->line, word->column));
  }
}

/* A command with a Python program; or, while there was none, words of a mere list. */
static void end_command(Shell *shell, GPtrArray *given) {
  g_autoptr(GPtrArray) words = unpack(given);
  guint program = 0;
  while (program < words->len && !g_str_has_suffix(((ConfWord *)g_ptr_array_index(words, program))->text, ".py"))
    program++;
  gboolean runs = program < words->len;
  guint options = runs ? count_options(words, program + 1) : 0;
  ConfShellTruth here = state(shell);
  if (here == CONF_SHELL_UNKNOWN && count_options(words, 0) > 0) {
    const ConfWord *first = g_ptr_array_index(words, 0);
    conf_shell_fail(&shell->text, first->line, first->column, UNKNOWN);
  } else if (here == CONF_SHELL_TRUE && runs && options > shell->options) {
    g_ptr_array_set_size(shell->best, 0);
    keep_list(shell, words);
    shell->program = program + 1;
    shell->options = options;
  } else if (here == CONF_SHELL_TRUE && words->len > 0 && is_option(g_ptr_array_index(words, 0)) &&
             shell->program == 0) {
    keep_list(shell, words);
  }
}

/* "NAME=" or "NAME+=" at the cursor: its length, else 0. */
static gsize assignment(const char *at) {
  gsize name = g_ascii_isalpha(*at) || *at == '_' ? strspn(at, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_") : 0;
  gsize sign = at[name] == '=' ? 1 : at[name] == '+' && at[name + 1] == '=' ? 2 : 0;
  return name > 0 && sign > 0 ? name + sign : 0;
}

static void read_array(Shell *shell, GPtrArray *value) {
  guint line = shell->text.line, column = conf_shell_column(&shell->text);
  conf_shell_step(&shell->text);
  for (conf_shell_skip(&shell->text, TRUE); *shell->text.at != ')' && *shell->text.at != '\0';
       conf_shell_skip(&shell->text, TRUE)) {
    const char *before = shell->text.at;
    conf_shell_word(&shell->text, value);
    if (shell->text.at == before)
      conf_shell_step(&shell->text);
  }
  if (*shell->text.at == '\0')
    conf_shell_fail(&shell->text, line, column, "is a bracket that nothing closes");
  else
    conf_shell_step(&shell->text);
}

/* A scalar is one word, whatever variables in it held. */
static void read_scalar(Shell *shell, GPtrArray *value) {
  g_autoptr(GPtrArray) words = conf_words_new();
  guint line = shell->text.line, column = conf_shell_column(&shell->text);
  conf_shell_word(&shell->text, words);
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < words->len; i++) {
    const ConfWord *word = g_ptr_array_index(words, i);
    g_string_append_printf(text, "%s%s", i > 0 ? " " : "", word->text);
    if (i == 0)
      line = word->line, column = word->column;
  }
  g_ptr_array_add(value, conf_word_new(text->str, line, column));
}

static void append_value(GPtrArray *value, GPtrArray *more, gboolean array) {
  for (guint i = 0; i < more->len; i++) {
    const ConfWord *word = g_ptr_array_index(more, i);
    ConfWord *only = !array && value->len > 0 ? g_ptr_array_index(value, 0) : NULL;
    if (only == NULL) {
      g_ptr_array_add(value, conf_word_new(word->text, word->line, word->column));
    } else {
      char *joined = g_strconcat(only->text, word->text, NULL);
      g_free(only->text);
      only->text = joined;
    }
  }
}

static void read_assignment(Shell *shell, gsize length) {
  guint line = shell->text.line, column = conf_shell_column(&shell->text);
  gboolean more = shell->text.at[length - 2] == '+';
  char *name = g_strndup(shell->text.at, length - (more ? 2 : 1));
  shell->text.at += length;
  gboolean array = *shell->text.at == '(';
  g_autoptr(GPtrArray) value = conf_words_new();
  if (array)
    read_array(shell, value);
  else
    read_scalar(shell, value);
  ConfShellTruth here = state(shell);
  if (here == CONF_SHELL_UNKNOWN && array && count_options(value, 0) > 0)
    conf_shell_fail(&shell->text, line, column, UNKNOWN);
  if (here != CONF_SHELL_TRUE) {
    if (here == CONF_SHELL_UNKNOWN)
      g_hash_table_remove(shell->text.variables, name); /* it may hold either */
    g_free(name);
    return;
  }
  GPtrArray *held = more ? g_hash_table_lookup(shell->text.variables, name) : NULL;
  if (held == NULL) {
    held = conf_words_new();
    g_hash_table_replace(shell->text.variables, name, held);
  } else {
    g_free(name);
  }
  append_value(held, value, array);
}

static gboolean is_one_of(const char *const *list, const char *word) {
  return g_strv_contains(list, word);
}

/* Reserved words at the begin of a command. TRUE: it was one, and another may follow. */
static gboolean take_reserved(Shell *shell, const char *word) {
  static const char *const opening[] = {"if", "for", "while", "until", "case", "{", "function", NULL};
  static const char *const closing[] = {"fi", "done", "esac", "}", NULL};
  static const char *const between[] = {"then",     "else", "elif", "do",   "export", "local", "declare",
                                        "readonly", "set",  "exec", "time", "!",      NULL};
  if (is_one_of(opening, word)) {
    open_block(shell, strcmp(word, "if") == 0);
    return strcmp(word, "if") == 0 || strcmp(word, "while") == 0 || strcmp(word, "until") == 0 ||
           strcmp(word, "{") == 0;
  }
  if (is_one_of(closing, word))
    close_block(shell);
  turn(shell, word);
  shell->inverts |= strcmp(word, "!") == 0;
  return is_one_of(closing, word) || is_one_of(between, word);
}

static char *peek(const Shell *shell) {
  const char *end = shell->text.at;
  while (!conf_shell_ends(*end))
    end++;
  return g_strndup(shell->text.at, (gsize)(end - shell->text.at));
}

/* "2>": what is redirected is no word. */
static gboolean is_redirection(const char *at, const char *word) {
  gsize length = strlen(word);
  return length > 0 && strspn(word, G_CSET_DIGITS) == length && (at[length] == '>' || at[length] == '<');
}

/* Behind a command: its joint to the next, and the bracket of a function or of a case's branch. */
static void take_end(Shell *shell, guint words) {
  const char *at = shell->text.at;
  gboolean opens = *at == '(' && words == 1;
  shell->joint = (*at == '|' || *at == '&') && at[1] == *at ? *at : 0;
  if (opens)
    open_block(shell, FALSE); /* "name() {": its body's bracket closes it */
  conf_shell_step(&shell->text);
  while (*shell->text.at != '\0' && strchr(";&|)>", *shell->text.at) != NULL)
    conf_shell_step(&shell->text);
  if (opens)
    conf_shell_skip(&shell->text, TRUE), shell->text.at += *shell->text.at == '{';
}

static void read_words(Shell *shell, GPtrArray *words) {
  gboolean first = TRUE;
  for (conf_shell_skip(&shell->text, FALSE); *shell->text.at != '\0' && *shell->text.at != '\n';
       conf_shell_skip(&shell->text, FALSE)) {
    g_autofree char *next = peek(shell);
    gsize length = first ? assignment(shell->text.at) : 0;
    if (length > 0) {
      read_assignment(shell, length);
    } else if ((first && take_reserved(shell, next)) || is_redirection(shell->text.at, next)) {
      shell->text.at += strlen(next);
    } else if (strchr(";&|()<>", *shell->text.at) != NULL) {
      return;
    } else {
      first = FALSE;
      conf_shell_word(&shell->text, words);
    }
  }
}

static void read_command(Shell *shell) {
  GPtrArray *words = conf_words_new();
  shell->inverts = FALSE;
  read_words(shell, words);
  add_test(shell, words);
  if (*shell->text.at == '\n')
    shell->joint = 0, conf_shell_step(&shell->text);
  else if (*shell->text.at != '\0')
    take_end(shell, words->len);
  end_command(shell, words);
}

gboolean conf_shell_read(ConfTree *tree, const char *data, ConfShell *ret, GError **error) {
  Shell shell = {.text = {.tree = tree, .at = data, .line_start = data, .line = 1}, .best = conf_words_new()};
  shell.blocks = g_array_new(FALSE, FALSE, sizeof(Block));
  shell.text.variables = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
  while (*shell.text.at != '\0' && shell.text.error == NULL)
    read_command(&shell);
  g_hash_table_unref(shell.text.variables);
  g_array_unref(shell.blocks);
  if (shell.text.error != NULL) {
    g_ptr_array_unref(shell.best);
    g_propagate_error(error, shell.text.error);
    return FALSE;
  }
  *ret = (ConfShell){shell.best, shell.program};
  return TRUE;
}

void conf_shell_clear(ConfShell *shell) {
  g_clear_pointer(&shell->words, g_ptr_array_unref);
}
