/* SPDX-License-Identifier: MIT */
/* What a shell script or a list of arguments says to the program that it runs, as words with their places. For this
 * room alone.
 *
 *   TP=8
 *   ARGS=(--tensor-model-parallel-size $TP)                     words: --tensor-model-parallel-size, 8
 *   torchrun --nnodes 2 pretrain_gpt.py ${ARGS[@]} --bf16       program 2: index of what follows pretrain_gpt.py
 *
 * Variables, arrays, += , defaults (${1:-x}) and sums ($((A * B))) are followed in the order of the text. What cannot
 * be known, as $1 or $(hostname), stays as ${…}; conditions are followed where they compare what is known. Loops and
 * functions are not evaluated. */
#pragma once

#include "conf-tree.h"

typedef struct {
  char *text;
  guint line, column; /* where it is written, be it in a variable */
} ConfWord;

typedef struct {
  GPtrArray *words; /* ConfWord: of the command whose Python program gets most options; of a mere list, all */
  guint program;    /* words before it are the launcher's */
} ConfShell;

/* `data` is NUL-terminated. Errors: quotes or brackets that nothing closes, options inside a condition that is
 * not known, a loop or a function. Cost: one pass. */
gboolean conf_shell_read(ConfTree *tree, const char *data, ConfShell *ret, GError **error);
void conf_shell_clear(ConfShell *shell);
