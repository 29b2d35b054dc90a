/* SPDX-License-Identifier: MIT */
/* A shell script word by word, variables put in: the lower half of conf-shell.c. For this room alone.
 *
 *   conf_shell_skip(&text, FALSE);                // blanks, comments, line ends behind a backslash
 *   conf_shell_word(&text, words);                // none, or several where a variable holds several
 */
#pragma once

#include "conf-shell.h"

typedef struct {
  ConfTree *tree;
  const char *at, *line_start;
  guint line;
  GHashTable *variables; /* name to GPtrArray of ConfWord */
  gsize copied;          /* bytes that variables were put in for */
  GError *error;         /* the first */
} ConfShellText;

ConfWord *conf_word_new(const char *text, guint line, guint column);
GPtrArray *conf_words_new(void);

/* Appends what the next characters make. */
void conf_shell_word(ConfShellText *shell, GPtrArray *words);
/* `lines`: every line end too. */
void conf_shell_skip(ConfShellText *shell, gboolean lines);
/* Past one character. */
void conf_shell_step(ConfShellText *shell);
guint conf_shell_column(const ConfShellText *shell);
gboolean conf_shell_ends(char c);
/* Appends the words between the blanks of a text that begins at that place. */
void conf_shell_split(const char *text, guint line, guint column, GPtrArray *words);
void conf_shell_fail(ConfShellText *shell, guint line, guint column, const char *what);
