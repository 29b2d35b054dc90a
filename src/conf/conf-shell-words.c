/* SPDX-License-Identifier: MIT */
/* Words of a shell script: quotes, and what variables stand for. */
#include "conf-shell-words.h"

#include <string.h>

#include "conf-shell-sum.h"
#include "conf-tree-build.h"

#define COPIED_MAX (4 << 20) /* bytes that variables stand for: A=$A$A doubles */

/* A word that is being read. */
typedef struct {
  GString *text;
  gboolean begun;
  guint line, column;
  GPtrArray *words; /* where it goes */
} Reading;

static void word_free(gpointer data) {
  ConfWord *word = data;
  g_free(word->text);
  g_free(word);
}

ConfWord *conf_word_new(const char *text, guint line, guint column) {
  ConfWord *word = g_new(ConfWord, 1);
  *word = (ConfWord){g_strdup(text), line, column};
  return word;
}

GPtrArray *conf_words_new(void) {
  return g_ptr_array_new_with_free_func(word_free);
}

guint conf_shell_column(const ConfShellText *shell) {
  return (guint)(shell->at - shell->line_start) + 1;
}

void conf_shell_fail(ConfShellText *shell, guint line, guint column, const char *what) {
  if (shell->error == NULL)
    conf_tree_fail_at(shell->tree, line, column, "", &shell->error, "%s", what);
}

void conf_shell_step(ConfShellText *shell) {
  if (*shell->at == '\n') {
    shell->line++;
    shell->line_start = shell->at + 1;
  }
  shell->at++;
}

/* ---- Words ---- */

static void begin(Reading *reading, guint line, guint column) {
  if (!reading->begun)
    reading->line = line, reading->column = column;
  reading->begun = TRUE;
}

static void flush(Reading *reading) {
  if (reading->begun)
    g_ptr_array_add(reading->words, conf_word_new(reading->text->str, reading->line, reading->column));
  g_string_truncate(reading->text, 0);
  reading->begun = FALSE;
}

/* Splits at blanks; a line break within counts for the places. */
static void add_split(Reading *reading, const char *text, guint line, guint column) {
  for (const char *at = text, *start = text; *at != '\0'; at++) {
    if (g_ascii_isspace(*at)) {
      flush(reading);
      if (*at == '\n')
        line++, start = at + 1, column = 1;
      continue;
    }
    begin(reading, line, column + (guint)(at - start));
    g_string_append_c(reading->text, *at);
  }
}

void conf_shell_split(const char *text, guint line, guint column, GPtrArray *words) {
  Reading reading = {.text = g_string_new(NULL), .words = words};
  add_split(&reading, text, line, column);
  flush(&reading);
  g_string_free(reading.text, TRUE);
}

static void add_value(ConfShellText *shell, Reading *reading, const GPtrArray *value, gboolean quoted, gboolean each) {
  for (guint i = 0; i < value->len && shell->error == NULL; i++) {
    const ConfWord *word = g_ptr_array_index(value, i);
    shell->copied += strlen(word->text) + 1;
    if (shell->copied > COPIED_MAX)
      conf_shell_fail(shell, shell->line, 1, "makes too long a text of its variables");
    if (i > 0 && (each || !quoted))
      flush(reading);
    if (quoted && !g_str_has_prefix(word->text, "--")) {
      begin(reading, word->line, word->column);
      g_string_append(reading->text, word->text);
    } else {
      add_split(reading, word->text, word->line, word->column);
    }
    if (!each)
      break;
  }
}

static char *take_until(ConfShellText *shell, char open, char close) {
  guint depth = 1, line = shell->line, column = conf_shell_column(shell);
  const char *start = shell->at;
  for (; *shell->at != '\0'; conf_shell_step(shell)) {
    depth += *shell->at == open && open != close;
    depth -= *shell->at == close;
    if (depth == 0)
      break;
  }
  char *inside = g_strndup(start, (gsize)(shell->at - start));
  if (*shell->at == '\0')
    conf_shell_fail(shell, line, column - 1, "is a bracket or quote that nothing closes");
  else
    conf_shell_step(shell);
  return inside;
}

/* A number where the variable holds one. */
static gboolean find_number(gpointer user, const char *name, gint64 *ret) {
  const ConfShellText *shell = user;
  const GPtrArray *value = g_hash_table_lookup(shell->variables, name);
  const ConfWord *word = value != NULL && value->len > 0 ? g_ptr_array_index(value, 0) : NULL;
  return word != NULL && conf_shell_sum(word->text, NULL, NULL, ret);
}

static void add_unknown(Reading *reading, const char *what, guint line, guint column) {
  begin(reading, line, column);
  g_string_append_printf(reading->text, "${%s}", what);
}

/* "NAME", "NAME[@]", "NAME:-default", "#NAME" … */
static void add_parameter(ConfShellText *shell, Reading *reading, const char *inside, gboolean quoted, guint line,
                          guint column) {
  gsize length = strspn(inside, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
  g_autofree char *name = g_strndup(inside, length);
  const char *rest = inside + length;
  gboolean each = g_str_has_prefix(rest, "[@]") || g_str_has_prefix(rest, "[*]");
  rest += each ? 3 : 0;
  const GPtrArray *value = g_hash_table_lookup(shell->variables, name);
  const char *otherwise = g_str_has_prefix(rest, ":-") || g_str_has_prefix(rest, ":=") ? rest + 2
                          : *rest == '-' || *rest == '='                               ? rest + 1
                                                                                       : NULL;
  if (length > 0 && value != NULL && (*rest == '\0' || otherwise != NULL)) {
    add_value(shell, reading, value, quoted, each);
    return;
  }
  if (otherwise == NULL || strchr(otherwise, '$') != NULL) {
    add_unknown(reading, inside, line, column);
    return;
  }
  g_autofree char *bare = g_strdup(otherwise);
  g_strdelimit(bare, "\"'", ' ');
  g_strstrip(bare);
  begin(reading, line, column);
  g_string_append(reading->text, bare);
}

static void add_sum(ConfShellText *shell, Reading *reading, const char *inside, guint line, guint column) {
  gint64 sum;
  gsize length = strlen(inside); /* "(A * B)" */
  g_autofree char *bare = length >= 2 ? g_strndup(inside + 1, length - 2) : g_strdup("");
  if (!conf_shell_sum(bare, find_number, shell, &sum)) {
    add_unknown(reading, bare, line, column);
    return;
  }
  begin(reading, line, column);
  g_string_append_printf(reading->text, "%" G_GINT64_FORMAT, sum);
}

/* Behind a "$". */
static void add_dollar(ConfShellText *shell, Reading *reading, gboolean quoted) {
  guint line = shell->line, column = conf_shell_column(shell);
  if (*shell->at == '{' || *shell->at == '(') {
    char open = *shell->at;
    conf_shell_step(shell);
    g_autofree char *inside = take_until(shell, open, open == '{' ? '}' : ')');
    if (open == '{')
      add_parameter(shell, reading, inside, quoted, line, column);
    else if (*inside == '(')
      add_sum(shell, reading, inside, line, column);
    else
      add_unknown(reading, inside, line, column);
    return;
  }
  gsize length = g_ascii_isdigit(*shell->at) || strchr("@*#?$!", *shell->at) != NULL
                     ? *shell->at != '\0'
                     : strspn(shell->at, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_");
  g_autofree char *name = g_strndup(shell->at, length);
  shell->at += length;
  if (length > 0)
    add_parameter(shell, reading, name, quoted, line, column);
  else
    g_string_append_c(reading->text, '$');
}

static void add_quoted(ConfShellText *shell, Reading *reading) {
  guint line = shell->line, column = conf_shell_column(shell);
  begin(reading, line, column + 1);
  conf_shell_step(shell);
  while (*shell->at != '\0' && *shell->at != '"') {
    if (*shell->at == '\\' && shell->at[1] != '\0') {
      conf_shell_step(shell);
      g_string_append_c(reading->text, *shell->at);
      conf_shell_step(shell);
    } else if (*shell->at == '$') {
      conf_shell_step(shell);
      add_dollar(shell, reading, TRUE);
    } else {
      g_string_append_c(reading->text, *shell->at);
      conf_shell_step(shell);
    }
  }
  if (*shell->at == '\0')
    conf_shell_fail(shell, line, column, "is a quote that nothing closes");
  else
    conf_shell_step(shell);
}

static void add_literal(ConfShellText *shell, Reading *reading, char quote) {
  guint line = shell->line, column = conf_shell_column(shell);
  conf_shell_step(shell);
  g_autofree char *inside = take_until(shell, quote, quote);
  begin(reading, line, column + 1);
  if (quote == '`')
    add_unknown(reading, inside, line, column);
  else
    g_string_append(reading->text, inside);
}

gboolean conf_shell_ends(char c) {
  return c == '\0' || strchr(" \t\r\n;&|()<>", c) != NULL;
}

/* The script's own arguments, of which none are known: no word at all. */
static gboolean skip_own_arguments(ConfShellText *shell) {
  static const char *const forms[] = {"\"$@\"", "$@", "\"${@}\"", "${@}", "\"${@:1}\"", "$*", "\"$*\""};
  for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
    gsize length = strlen(forms[i]);
    if (strncmp(shell->at, forms[i], length) != 0 || !conf_shell_ends(shell->at[length]))
      continue;
    shell->at += length;
    return TRUE;
  }
  return FALSE;
}

/* Words that the next characters make: none, or several where a variable holds several. */
void conf_shell_word(ConfShellText *shell, GPtrArray *words) {
  if (skip_own_arguments(shell))
    return;
  Reading reading = {.text = g_string_new(NULL), .words = words};
  while (!conf_shell_ends(*shell->at)) {
    if (*shell->at == '\\' && shell->at[1] != '\0') {
      gboolean broken = shell->at[1] == '\n' || (shell->at[1] == '\r' && shell->at[2] == '\n');
      if (broken)
        break;
      conf_shell_step(shell);
      begin(&reading, shell->line, conf_shell_column(shell));
      g_string_append_c(reading.text, *shell->at);
      conf_shell_step(shell);
    } else if (*shell->at == '"') {
      add_quoted(shell, &reading);
    } else if (*shell->at == '\'' || *shell->at == '`') {
      add_literal(shell, &reading, *shell->at);
    } else if (*shell->at == '$') {
      conf_shell_step(shell);
      add_dollar(shell, &reading, FALSE);
    } else {
      begin(&reading, shell->line, conf_shell_column(shell));
      g_string_append_c(reading.text, *shell->at);
      conf_shell_step(shell);
    }
  }
  flush(&reading);
  g_string_free(reading.text, TRUE);
}

/* Blanks, comments, and line ends behind a backslash; `lines`: every line end. */
void conf_shell_skip(ConfShellText *shell, gboolean lines) {
  for (;;) {
    if (*shell->at == '#')
      while (*shell->at != '\0' && *shell->at != '\n')
        shell->at++;
    gboolean broken = *shell->at == '\\' && (shell->at[1] == '\n' || shell->at[1] == '\r' || shell->at[1] == '\0');
    gboolean blank = *shell->at == ' ' || *shell->at == '\t' || *shell->at == '\r' || (lines && *shell->at == '\n');
    if (!broken && !blank)
      return;
    conf_shell_step(shell);
    if (broken && *shell->at == '\r')
      conf_shell_step(shell);
    if (broken && *shell->at == '\n')
      conf_shell_step(shell);
  }
}
