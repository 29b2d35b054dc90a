/* SPDX-License-Identifier: MIT */
/* Contents of a file that the person named, "-" for standard output; whose fault a failure is.
 *
 *   if (!cli_write(options->output, text->str, error)) return CLI_FAULT;   // cli_exit_of tells 2 from 3
 *
 * A file is written whole or not at all (base-file.h). Of standard output main tells whether all arrived. */
#pragma once

#include <glib.h>

/* A verb's answer to standard output; control characters of what it quotes do nothing there. */
void cli_print(const char *text);
/* The same for lines that are commands to a CI runner. */
void cli_print_commands(const char *text);

gboolean cli_write_bytes(const char *path, const void *data, gsize length, GError **error);
gboolean cli_write(const char *path, const char *text, GError **error);
