/* SPDX-License-Identifier: MIT */
/* Readers of other people's files, as fuzz targets: any bytes give a value or one error of the input, never more.
 *
 *   FORETRAIN_FUZZ=yaml fuzz-readers FOLDER…       with libFuzzer (./dev fuzz): new inputs for one reader
 *   fuzz-readers CORPUS                            with fuzz-main.c: each reader's corpus once, CORPUS/READER/FILE
 *
 * A reader that takes no memory is given a file. */
#include "fuzz.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base-error.h"
#include "check-budgets.h"
#include "conf-csv.h"
#include "conf-json.h"
#include "conf-text.h"
#include "conf-tree.h"
#include "import-fabric.h"
#include "import-lstopo.h"
#include "import-nccl-tests.h"
#include "import-nccl-topology.h"
#include "import-smi-query.h"
#include "import-smi-topo.h"
#include "program-trace.h"
#include "recipe.h"
#include "store-expression.h"

void fuzz_judge(gboolean value, GError *error) {
  sim_require(value == (error == NULL), 0, NULL, "a value and an error, or neither");
  sim_require(error == NULL || g_error_matches(error, SIM_ERROR, SIM_ERROR_INPUT), 0, NULL, "an error of no input: %s",
              error->message);
  sim_require(error == NULL || (*error->message != '\0' && strlen(error->message) < 32768), 0, NULL,
              "an error of %zu bytes", strlen(error->message));
  g_clear_error(&error);
}

static void read_ini(const char *data, gsize length) {
  GError *error = NULL;
  g_autoptr(ConfText) text = conf_text_parse("a.ini", data, length, &error);
  fuzz_judge(text != NULL, error);
}

static void read_csv(const char *data, gsize length) {
  GError *error = NULL;
  g_autoptr(ConfCsv) csv = conf_csv_parse("a.csv", data, length, &error);
  fuzz_judge(csv != NULL, error);
}

static void read_json(const char *data, gsize length) {
  GError *error = NULL;
  g_autoptr(ConfJson) json = conf_json_parse("a.json", data, length, &error);
  fuzz_judge(json != NULL, error);
}

static void read_tree(ConfSyntax syntax, const char *data, gsize length) {
  GError *error = NULL;
  g_autoptr(ConfTree) tree = conf_tree_parse("a", syntax, data, length, &error);
  fuzz_judge(tree != NULL, error);
}

static void read_yaml(const char *data, gsize length) {
  read_tree(CONF_SYNTAX_YAML, data, length);
}

static void read_toml(const char *data, gsize length) {
  read_tree(CONF_SYNTAX_TOML, data, length);
}

static void read_python(const char *data, gsize length) {
  read_tree(CONF_SYNTAX_PYTHON, data, length);
}

static void read_arguments(const char *data, gsize length) {
  read_tree(CONF_SYNTAX_ARGUMENTS, data, length);
}

static void read_trace(const char *data, gsize length) {
  GError *error = NULL;
  ProgramOrigin origin = {0};
  g_autoptr(Program) program = program_trace_read("a.trace.csv", data, length, &origin, &error);
  if (program != NULL)
    program_origin_clear(&origin);
  fuzz_judge(program != NULL, error);
}

static void read_expression(const char *data, gsize length) {
  g_autofree char *text = g_strndup(data, length);
  GError *error = NULL;
  g_autoptr(StoreExpression) expression = store_expression_parse(text, &error);
  fuzz_judge(expression != NULL, error);
}

static void read_nccl_tests(const char *data, gsize length) {
  g_autoptr(ImportLog) log = import_log_parse("a.log", data, length);
  sim_require(log != NULL, 0, NULL, "any bytes are a log");
}

static void read_machine(const char *path, ImportMachine *(*load)(const char *path, GError **error)) {
  GError *error = NULL;
  g_autoptr(ImportMachine) machine = load(path, &error);
  fuzz_judge(machine != NULL, error);
}

static void read_nccl_topology(const char *path) {
  read_machine(path, import_nccl_topology_load);
}

static void read_smi_topo(const char *path) {
  read_machine(path, import_smi_topo_load);
}

static void read_smi_query(const char *path) {
  read_machine(path, import_smi_query_load);
}

static void read_lstopo(const char *path) {
  read_machine(path, import_lstopo_load);
}

/* Its shape too: any tree of switches is one, or refused. */
static void read_fabric(const char *path, ImportFabric *(*load)(const char *path, GError **error)) {
  GError *error = NULL;
  g_autoptr(ImportFabric) fabric = load(path, &error);
  GString *text = fabric != NULL ? import_fabric_text(fabric, "dgx-h100", &error) : NULL;
  fuzz_judge(text != NULL, error);
  if (text != NULL)
    g_string_free(text, TRUE);
}

static void read_ibnetdiscover(const char *path) {
  read_fabric(path, import_ibnetdiscover_load);
}

static void read_iblinkinfo(const char *path) {
  read_fabric(path, import_iblinkinfo_load);
}

static void read_slurm(const char *path) {
  read_fabric(path, import_slurm_load);
}

static void read_recipe(const char *path) {
  GError *error = NULL;
  g_autoptr(Recipe) recipe = recipe_load(path, &error);
  fuzz_judge(recipe != NULL, error);
}

static void read_budgets(const char *path) {
  GError *error = NULL;
  g_autoptr(CheckBudgets) budgets = check_budgets_load(path, &error);
  fuzz_judge(budgets != NULL, error);
}

typedef struct {
  const char *name;
  void (*of_memory)(const char *data, gsize length);
  void (*of_file)(const char *path);
  gboolean dear; /* some milliseconds each */
} Reader;

static const Reader readers[] = {
    {"ini", read_ini, NULL},
    {"csv", read_csv, NULL},
    {"json", read_json, NULL},
    {"yaml", read_yaml, NULL},
    {"toml", read_toml, NULL},
    {"python", read_python, NULL},
    {"arguments", read_arguments, NULL},
    {"trace", read_trace, NULL},
    {"expression", read_expression, NULL},
    {"quantity", fuzz_quantity, NULL},
    {"words", fuzz_words, NULL},
    {"ranks", fuzz_ranks, NULL},
    {"grid", fuzz_grid, NULL, TRUE},
    {"nccl-tests", read_nccl_tests, NULL},
    {"kineto", NULL, fuzz_kineto},
    {"kineto-program", NULL, fuzz_kineto_program},
    {"execution", NULL, fuzz_execution},
    {"chakra", NULL, fuzz_chakra},
    {"nsys", NULL, fuzz_nsys, TRUE},
    {"nccl-topology", NULL, read_nccl_topology},
    {"smi-topo", NULL, read_smi_topo},
    {"recipe", NULL, read_recipe},
    {"recipe-import", NULL, fuzz_recipe, TRUE},
    {"budgets", NULL, read_budgets},
    {"workload", NULL, fuzz_workload, TRUE},
    {"model", NULL, fuzz_model},
    {"model-study", NULL, fuzz_model_study, TRUE},
    {"topology", NULL, fuzz_topology, TRUE},
    {"overlay", NULL, fuzz_overlay, TRUE},
    {"truth", NULL, fuzz_truth, TRUE},
    {"database", NULL, fuzz_database, TRUE},
    {"smi-query", NULL, read_smi_query},
    {"lstopo", NULL, read_lstopo},
    {"ibnetdiscover", NULL, read_ibnetdiscover},
    {"iblinkinfo", NULL, read_iblinkinfo},
    {"slurm", NULL, read_slurm},
};

static void as_file(const Reader *reader, const char *data, gsize length) {
  g_autofree char *folder = g_dir_make_tmp("fuzz-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "input", NULL);
  gboolean written = g_file_set_contents_full(path, data, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0600, NULL);
  sim_require(written, 0, NULL, "%s cannot be written", path);
  reader->of_file(path);
  g_unlink(path);
  g_rmdir(folder);
}

gboolean fuzz_read(const char *name, const guint8 *data, gsize length) {
  for (gsize i = 0; i < G_N_ELEMENTS(readers); i++) {
    if (strcmp(readers[i].name, name) != 0)
      continue;
    /* Of its own size, so that a sanitizer sees a byte too many. */
    g_autofree char *bytes = g_malloc(MAX(length, 1));
    memcpy(bytes, data, length);
    if (readers[i].of_memory != NULL)
      readers[i].of_memory(bytes, length);
    else
      as_file(&readers[i], bytes, length);
    return TRUE;
  }
  return FALSE;
}

gboolean fuzz_dear(guint i) {
  return readers[i].dear;
}

const char *fuzz_name(guint i) {
  return i < G_N_ELEMENTS(readers) ? readers[i].name : NULL;
}

int LLVMFuzzerTestOneInput(const guint8 *data, size_t size) {
  const char *name = g_getenv("FORETRAIN_FUZZ");
  if (name == NULL || !fuzz_read(name, data, size)) {
    fprintf(stderr, "FORETRAIN_FUZZ names the reader, one of:");
    for (guint i = 0; fuzz_name(i) != NULL; i++)
      fprintf(stderr, " %s", fuzz_name(i));
    fprintf(stderr, "\n");
    exit(2);
  }
  return 0;
}
