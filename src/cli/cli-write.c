/* SPDX-License-Identifier: MIT */
/* Writes what it is given, and knows whose fault it is when it cannot. */
#include "cli-write.h"

#include <stdio.h>
#include <string.h>

#include "base-display.h"
#include "base-file.h"

void cli_print(const char *text) {
  g_autofree char *shown = base_display(text);
  fputs(shown, stdout);
}

void cli_print_commands(const char *text) {
  g_autofree char *shown = base_display_commands(text);
  fputs(shown, stdout);
}

gboolean cli_write_bytes(const char *path, const void *data, gsize length, GError **error) {
  if (strcmp(path, "-") == 0) {
    fwrite(data, 1, length, stdout);
    return TRUE;
  }
  return base_file_write(path, data, length, error);
}

gboolean cli_write(const char *path, const char *text, GError **error) {
  return cli_write_bytes(path, text, strlen(text), error);
}
