/* SPDX-License-Identifier: MIT */
/* Text for a terminal or a log, whatever the files that it quotes hold: control characters do nothing there.
 *
 *   g_autofree char *shown = base_display("a\033[2Jb\n");      // a\u001b[2Jb, and the end of the line
 *
 * Line ends and tabs stay. Other control characters (C0, DEL, C1), and those that turn the direction in which text is
 * shown, become \u and four hexadecimal digits, bytes that are not UTF-8 \ufffd: JSON with the same names in its texts
 * stays that JSON. Cost: O(bytes). */
#pragma once

#include <glib.h>

/* Nor are lines commands to a CI runner: "::" that begins one; "##[", "##vso[" and their like anywhere. Caller
 * frees. */
char *base_display(const char *text);
/* For lines that are such commands. Caller frees. */
char *base_display_commands(const char *text);
/* A name within a line: ends of lines and tabs are controls too, so that no name begins a line. Caller frees. */
char *base_display_line(const char *text);
/* Appends such a line and its end, for files that are read line by line, whatever names it holds. */
void base_display_append(GString *text, const char *format, ...) G_GNUC_PRINTF(2, 3);
