/* SPDX-License-Identifier: MIT */
/* Sizes are read back from the files themselves. */
#include "cli-written.h"

#include <glib/gstdio.h>

#include "base-error.h"
#include "cli-write.h"
#include "report-text.h"

gboolean cli_written_check(gboolean json, const char *output, const char *verb, GError **error) {
  if (!json || (output != NULL && !g_str_equal(output, "-")))
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: --json tells of the file that is written, and standard output cannot be both; add -o FILE", verb);
  return FALSE;
}

void cli_written_begin(CliWritten *written, const char *const *paths) {
  written->text = g_string_new(NULL);
  written->json = base_json_new(written->text, BASE_JSON_SPREAD);
  base_json_map(written->json, NULL);
  base_json_integer(written->json, "json_version", REPORT_JSON_VERSION);
  base_json_list(written->json, "written");
  for (; *paths != NULL; paths++) {
    GStatBuf about;
    if (g_stat(*paths, &about) != 0)
      continue;
    base_json_map(written->json, NULL);
    base_json_text(written->json, "path", *paths);
    base_json_integer(written->json, "bytes", about.st_size);
    base_json_end(written->json);
  }
  base_json_end(written->json);
}

void cli_written_print(CliWritten *written) {
  base_json_end(written->json);
  base_json_free(g_steal_pointer(&written->json));
  cli_print(written->text->str);
  g_string_free(g_steal_pointer(&written->text), TRUE);
}
