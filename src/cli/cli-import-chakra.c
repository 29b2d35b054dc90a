/* SPDX-License-Identifier: MIT */
/* foretrain import chakra: execution traces of MLCommons' form as a trace file, and what that replays to. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "cli-import.h"
#include "cli-write.h"
#include "import-chakra.h"

static CliExit replay(const CliImport *asked, guint32 ranks, GError **error) {
  double scale = 1;
  g_autoptr(StudyTrace) trace = cli_import_open_trace(asked, asked->output, ranks, error);
  g_autoptr(RunReport) report = trace != NULL ? cli_import_play(asked, trace, &scale, error) : NULL;
  if (report == NULL)
    return CLI_INPUT;
  printf("Replayed on %s, %u ranks", asked->topology, ranks);
  if (scale != 1)
    printf(", compute times %g", scale);
  puts(", in ms:");
  cli_import_print_head("");
  cli_import_print_slowest(report);
  return CLI_DONE;
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
  if (!check_asked(asked, prints, error))
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
  return asked->topology != NULL ? replay(asked, program->n_ranks, error) : CLI_DONE;
}
