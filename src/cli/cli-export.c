/* SPDX-License-Identifier: MIT */
/* foretrain export: the recipe of a run or a workload as the file of another tool. */
#include <stdio.h>

#include "base-error.h"
#include "cli-find.h"
#include "cli-write.h"
#include "cli-written.h"
#include "recipe-export.h"
#include "store-db.h"
#include "study-recipe.h"

typedef struct {
  CliSettings settings;
  const char *const *words;
  const char *db, *output;
  int tool;
  gboolean json;
} Export;

static const CliOption options[] = {
    CLI_WORKLOAD_WORD(Export, words, "a workload or a run"),
    CLI_GROUP_ROW(Export, settings, cli_settings_options),
    CLI_DB(Export, db),
    CLI_OUTPUT(Export, output),
    CLI_JSON(Export, json),
    {"as", 0, CLI_CHOICE, offsetof(Export, tool), NULL, "whose file it is (deepspeed)", recipe_export_names},
    {NULL}};

/* A run of the database, or else a workload, with what is laid over it. */
static Study *open_named(const Export *asked, GError **error) {
  gint64 run_id;
  GError *missing = NULL;
  const char *database = cli_database(asked->db, error);
  if (database == NULL)
    return NULL;
  g_autoptr(StoreDb) db = cli_find_kept(database, asked->words[0], &run_id, &missing);
  if (missing != NULL) {
    g_propagate_error(error, missing);
    return NULL;
  }
  if (db == NULL)
    return cli_open_study(&asked->settings, asked->words[0], error);
  g_autoptr(Study) study = cli_find_recipe(db, run_id, "has no recipe", error);
  return study != NULL && cli_settings_lay(&asked->settings, study, error) ? g_steal_pointer(&study) : NULL;
}

static void tell(const Export *asked) {
  CliWritten written;
  cli_written_begin(&written, (const char *const[]){asked->output, NULL});
  base_json_text(written.json, "tool", recipe_export_names[asked->tool]);
  cli_written_print(&written);
}

static CliExit export(gconstpointer data, GError **error) {
  const Export *asked = data;
  if (!cli_written_check(asked->json, asked->output, "export", error))
    return CLI_INPUT;
  g_autoptr(Study) study = open_named(asked, error);
  g_autoptr(GString) text = g_string_new(NULL);
  if (study == NULL || !study_export(study, asked->tool, text, error))
    return CLI_INPUT;
  if (asked->output == NULL)
    cli_print(text->str);
  else if (!cli_write(asked->output, text->str, error))
    return CLI_FAULT;
  if (asked->json)
    tell(asked);
  return CLI_DONE;
}

const CliVerb cli_export = {"export", "WORKLOAD|RUN --as TOOL", "a recipe as the file that another tool reads",
                            options,  sizeof(Export),           NULL,
                            export};
