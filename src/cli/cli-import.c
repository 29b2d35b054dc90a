/* foretrain import: other tools' files into ours. One row of the table per kind. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli-import.h"
#include "cli-write.h"
#include "cli.h"
#include "import-nccl-topology.h"
#include "import-overlay.h"
#include "import-smi-topo.h"

/* Gives the text of the new file; NULL on error. */
typedef GString *(*Import)(const CliOptions *options, const char *const *paths, GError **error);

static GString *import_nccl_tests(const CliOptions *options, const char *const *paths, GError **error) {
  if (options->topology == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "import nccl-tests: add --topology, the machine that the log was measured on");
    return NULL;
  }
  g_autoptr(ImportLog) log = import_log_load_all(paths, error);
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

static GString *machine_text(const CliOptions *options, ImportMachine *machine, GError **error) {
  const ImportParts parts = {options->gpu, options->nic, options->intra, options->platform};
  GString *text = machine != NULL ? import_machine_text(machine, &parts, error) : NULL;
  import_machine_free(machine);
  return text;
}

static GString *import_nccl_topology(const CliOptions *options, const char *const *paths, GError **error) {
  return machine_text(options, import_nccl_topology_load(paths[0], error), error);
}

static GString *import_smi_topo(const CliOptions *options, const char *const *paths, GError **error) {
  return machine_text(options, import_smi_topo_load(paths[0], error), error);
}

/* Which of its own options a kind takes. */
typedef enum { TAKES_TOPOLOGY = 1 << 0, TAKES_PARTS = 1 << 1, TAKES_MODEL = 1 << 2 } Takes;

static const struct {
  const char *name;
  Import import;
  guint takes;
  gboolean many; /* files at once */
} kinds[] = {
    {"nccl-tests", import_nccl_tests, TAKES_TOPOLOGY, TRUE},
    {"nccl-topology", import_nccl_topology, TAKES_PARTS, FALSE},
    {"nvidia-smi-topo", import_smi_topo, TAKES_PARTS, FALSE},
    {"recipe", cli_import_recipe, TAKES_MODEL, FALSE},
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

/* What stands in the new file's comments: where it is from, what was left out, what was assumed. */
static void print_remarks(const char *text) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line != NULL; line++)
    if (g_str_has_prefix(*line, "# ") || strcmp(*line, "#") == 0)
      puts(**line != '\0' && (*line)[1] == ' ' ? *line + 2 : "");
}

CliExit cli_import(const CliOptions *options, GError **error) {
  guint words = options->rest != NULL ? g_strv_length(options->rest) : 0;
  if (words < 2 && !cli_want(options, 2, "a kind and a file", error))
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
  if (!kinds[kind].many && !cli_want(options, 2, "a kind and one file", error))
    return CLI_INPUT;
  if (options->nodes < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--nodes: expected at least 1, found %d", options->nodes);
    return CLI_INPUT;
  }
  if (refuse_options(options, kinds[kind].name, kinds[kind].takes, error))
    return CLI_INPUT;
  GString *text = kinds[kind].import(options, (const char *const *)options->rest + 1, error);
  if (text == NULL)
    return CLI_INPUT;
  gboolean written = TRUE;
  if (options->output == NULL || strcmp(options->output, "-") == 0)
    fputs(text->str, stdout);
  else if ((written = cli_write(options->output, text->str, error)))
    print_remarks(text->str);
  g_string_free(text, TRUE);
  return written ? CLI_DONE : CLI_FAULT;
}
