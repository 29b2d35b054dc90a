/* SPDX-License-Identifier: MIT */
/* foretrain import chakra: execution traces of MLCommons' form as a trace file, and what that replays to. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-import-json.h"
#include "cli-import.h"
#include "cli-write.h"
#include "cli-written.h"
#include "import-chakra.h"

static gboolean replay(const CliImport *asked, CliReplayed *replayed, GError **error) {
  g_autoptr(StudyTrace) trace = cli_import_open_trace(asked, asked->output, replayed->ranks, error);
  replayed->report = trace != NULL ? cli_import_play(asked, trace, &replayed->scale, error) : NULL;
  return replayed->report != NULL;
}

static void print_replayed(const CliImport *asked, const CliReplayed *replayed) {
  printf("Replayed on %s, %u ranks", asked->topology, replayed->ranks);
  if (replayed->scale != 1)
    printf(", compute times %g", replayed->scale);
  puts(", in ms:");
  cli_import_print_head("");
  cli_import_print_slowest(replayed->report);
}

static void print_json(const CliImport *asked, const CliReplayed *replayed) {
  CliWritten written;
  cli_written_begin(&written, (const char *const[]){asked->output, NULL});
  base_json_integer(written.json, "ranks", replayed->ranks);
  cli_import_json_replay(written.json, asked->topology, replayed);
  cli_written_print(&written);
}

static gboolean check_asked(const CliImport *asked, gboolean prints, GError **error) {
  const char *why = NULL;
  if (prints && asked->topology != NULL)
    why = "--topology replays the written trace; add -o FILE";
  else if (asked->topology == NULL && (asked->sets != NULL || asked->scales != NULL))
    why = "--set and --scale are of the replay; add --topology T";
  if (why != NULL)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "import chakra: %s", why);
  return why == NULL;
}

CliExit cli_import_chakra(const CliImport *asked, GError **error) {
  gboolean prints = asked->output == NULL || strcmp(asked->output, "-") == 0;
  ImportChakraOptions how = {
      .groups = asked->groups, .ranks = (guint32)asked->ranks, .keep_communication = asked->keep_communication};
  ProgramOrigin origin = {0};
  if (!check_asked(asked, prints, error) || !cli_written_check(asked->json, asked->output, "import", error))
    return CLI_INPUT;
  g_autoptr(Program) program =
      import_chakra_program(asked->paths, g_strv_length((char **)asked->paths), &how, &origin, error);
  if (program == NULL)
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL);
  program_trace_write(program, &origin, NULL, text);
  program_origin_clear(&origin);
  if (prints)
    cli_print(text->str);
  else if (!cli_write(asked->output, text->str, error))
    return CLI_FAULT;
  CliReplayed replayed = {.ranks = program->n_ranks, .scale = 1, .kept = -1};
  if (asked->topology != NULL && !replay(asked, &replayed, error))
    return CLI_INPUT;
  if (asked->json)
    print_json(asked, &replayed);
  else if (replayed.report != NULL)
    print_replayed(asked, &replayed);
  run_report_free(replayed.report);
  return CLI_DONE;
}
