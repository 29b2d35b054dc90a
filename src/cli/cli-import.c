/* foretrain import: other tools' files into ours. One row of the table per kind. */
#include "cli-write.h"

#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli.h"
#include "import-overlay.h"
#include "study-recipe.h"

/* Gives the text of the new file; NULL on error. */
typedef GString *(*Import)(const CliOptions *options, const char *path, GError **error);

static GString *import_nccl_tests(const CliOptions *options, const char *path, GError **error) {
  if (options->topology == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "import nccl-tests: add --topology, the machine that the log was measured on");
    return NULL;
  }
  g_autoptr(ImportLog) log = import_log_load(path, error);
  if (log == NULL)
    return NULL;
  ImportFitOptions how = {.topology = options->topology, .nodes = (guint)MAX(options->nodes, 0)};
  if (options->operation != NULL) {
    int operation = base_names_find(import_operation_names + 1, options->operation);
    if (operation < 0) {
      g_autofree char *advice = base_names_advice(import_operation_names + 1, options->operation);
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--operation: no such operation \"%s\"%s", options->operation,
                  advice);
      return NULL;
    }
    how.operation = (ImportOperation)(operation + 1);
  }
  ImportFit fit;
  if (!import_fit_run(log, &how, &fit, error))
    return NULL;
  GString *text = import_overlay_text(log, &fit);
  import_fit_clear(&fit);
  return text;
}

/* The model's path stands in the new file, which may lie in another folder. */
static GString *import_recipe(const CliOptions *options, const char *path, GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  gboolean elsewhere = options->output != NULL && strchr(options->output, '/') != NULL;
  gboolean here = options->model != NULL && g_file_test(options->model, G_FILE_TEST_EXISTS);
  g_autofree char *model = elsewhere && here ? g_canonicalize_filename(options->model, NULL) : g_strdup(options->model);
  return study_import_recipe(path, model, text, error) ? g_steal_pointer(&text) : NULL;
}

/* Which of its own options a kind takes. */
typedef enum { TAKES_TOPOLOGY = 1 << 0, TAKES_PARTS = 1 << 1, TAKES_MODEL = 1 << 2 } Takes;

static const struct {
  const char *name;
  Import import;
  guint takes;
} kinds[] = {
    {"nccl-tests", import_nccl_tests, TAKES_TOPOLOGY},
    {"recipe", import_recipe, TAKES_MODEL},
};

static gboolean refuse_option(const char *kind, const char *option, gboolean given, GError **error) {
  if (given)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "import %s does not take %s", kind, option);
  return given;
}

static gboolean refuse_options(const CliOptions *options, const char *kind, guint takes, GError **error) {
  const struct {
    guint takes;
    const char *option;
    gboolean given;
  } table[] = {
      {TAKES_TOPOLOGY, "--topology", options->topology != NULL},
      {TAKES_TOPOLOGY, "--nodes", options->nodes != 0},
      {TAKES_TOPOLOGY, "--operation", options->operation != NULL},
      {TAKES_MODEL, "--model", options->model != NULL},
      {TAKES_PARTS, "--gpu", options->gpu != NULL},
      {TAKES_PARTS, "--nic", options->nic != NULL},
      {TAKES_PARTS, "--intra", options->intra != NULL},
      {TAKES_PARTS, "--platform", options->platform != NULL},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
    if (!(takes & table[i].takes) && refuse_option(kind, table[i].option, table[i].given, error))
      return TRUE;
  return FALSE;
}

CliExit cli_import(const CliOptions *options, GError **error) {
  if (!cli_want(options, 2, "a kind and a file", error))
    return CLI_INPUT;
  const char *names[G_N_ELEMENTS(kinds) + 1] = {NULL};
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    names[i] = kinds[i].name;
  int kind = base_names_find(names, options->rest[0]);
  if (kind < 0) {
    g_autofree char *advice = base_names_advice(names, options->rest[0]);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "import: no such kind \"%s\"%s", options->rest[0], advice);
    return CLI_INPUT;
  }
  if (options->nodes < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--nodes: expected at least 1, found %d", options->nodes);
    return CLI_INPUT;
  }
  if (refuse_options(options, kinds[kind].name, kinds[kind].takes, error))
    return CLI_INPUT;
  GString *text = kinds[kind].import(options, options->rest[1], error);
  if (text == NULL)
    return CLI_INPUT;
  gboolean written = TRUE;
  if (options->output != NULL)
    written = cli_write(options->output, text->str, error);
  else
    fputs(text->str, stdout);
  g_string_free(text, TRUE);
  return written ? CLI_DONE : CLI_FAULT;
}
