/* SPDX-License-Identifier: MIT */
/* What is made of the tables of verbs and options for others to read: `foretrain --print man|bash|zsh`, which the build
 * runs to install a manual page and completion for shells. Each appends to the text. */
#pragma once

#include <glib.h>

void cli_print_manual(GString *text);
void cli_print_bash(GString *text);
void cli_print_zsh(GString *text);
