/* SPDX-License-Identifier: MIT */
/* Whole-number arithmetic as a shell has it: + - * / % and brackets, over numbers and variables. For this room
 * alone. */
#pragma once

#include <glib.h>

/* FALSE: the variable holds no number. */
typedef gboolean (*ConfShellFind)(gpointer user, const char *name, gint64 *ret);

/* FALSE: it is no such sum, divides by zero or leaves 64 bits; *ret is then untouched. */
gboolean conf_shell_sum(const char *text, ConfShellFind find, gpointer user, gint64 *ret);
