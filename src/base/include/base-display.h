/* SPDX-License-Identifier: MIT */
/* Text for a terminal or a log, whatever the files that it quotes hold: control characters do nothing there.
 *
 *   g_autofree char *shown = base_display("a\033[2Jb\n");      // a\u001b[2Jb, and the end of the line
 *
 * Line ends and tabs stay. Other control characters (C0, DEL, C1) become \u and four hexadecimal digits, bytes that are
 * not UTF-8 \ufffd: JSON with the same names in its texts stays that JSON. Cost: O(bytes). */
#pragma once

#include <glib.h>

/* Caller frees. */
char *base_display(const char *text);
