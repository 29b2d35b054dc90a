/* SPDX-License-Identifier: MIT */
/* --json of verbs whose answer is a file: what was written, and where. Private to this floor.
 *
 *   if (!cli_written_check(asked->json, asked->output, "report", error)) return CLI_INPUT;
 *   CliWritten written;
 *   cli_written_begin(&written, (const char *const[]){asked->output, NULL});   // "json_version", "written"
 *   base_json_text(written.json, "tool", "deepspeed");                         // members of the verb's own
 *   cli_written_print(&written);
 */
#pragma once

#include "base-json.h"

typedef struct {
  GString *text;
  BaseJson *json; /* inside the object */
} CliWritten;

/* The file and JSON cannot both be on standard output. Error: SIM_ERROR_INPUT. */
gboolean cli_written_check(gboolean json, const char *output, const char *verb, GError **error);
/* An object with "json_version" and "written" [{"path", "bytes"}]; `paths` ends with NULL, those of files that are not
 * there are left out. cli_written_print ends it, prints it and frees what it took. */
void cli_written_begin(CliWritten *written, const char *const *paths);
void cli_written_print(CliWritten *written);
