/* SPDX-License-Identifier: MIT */
/* Writes what it is given, and knows whose fault it is when it cannot. */
#include "cli-write.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#include "base-display.h"
#include "base-error.h"

void cli_print(const char *text) {
  g_autofree char *shown = base_display(text);
  fputs(shown, stdout);
}

gboolean cli_write_bytes(const char *path, const void *data, gsize length, GError **error) {
  if (strcmp(path, "-") == 0) {
    fwrite(data, 1, length, stdout);
    return TRUE;
  }
  FILE *file = g_fopen(path, "wb");
  gboolean written = file != NULL && fwrite(data, 1, length, file) == length;
  written = file != NULL && fclose(file) == 0 && written;
  if (written)
    return TRUE;
  int cause = errno;
  if (file != NULL && g_file_test(path, G_FILE_TEST_IS_REGULAR))
    g_unlink(path);
  gboolean theirs = cause == ENOENT || cause == ENOTDIR || cause == EISDIR;
  g_set_error(error, SIM_ERROR, theirs ? SIM_ERROR_INPUT : SIM_ERROR_SYSTEM, "%s: cannot be written: %s", path,
              g_strerror(cause));
  return FALSE;
}

gboolean cli_write(const char *path, const char *text, GError **error) {
  return cli_write_bytes(path, text, strlen(text), error);
}
