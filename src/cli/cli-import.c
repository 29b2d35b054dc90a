/* SPDX-License-Identifier: MIT */
/* foretrain import: other tools' files into ours. One row of the table per kind. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli-import.h"
#include "cli-write.h"
#include "cli-written.h"
#include "cli.h"
#include "import-fabric.h"
#include "import-lstopo.h"
#include "import-nccl-topology.h"
#include "import-overlay.h"
#include "import-smi-query.h"
#include "import-smi-topo.h"

static GString *import_nccl_tests(const CliImport *asked, GError **error) {
  g_autoptr(ImportLog) log = import_log_load_all(asked->paths, error);
  if (log == NULL)
    return NULL;
  ImportFitOptions how = {.topology = asked->topology, .nodes = (guint)asked->nodes};
  if (asked->operation != NULL) {
    int operation = base_names_find(import_operation_names + 1, asked->operation);
    if (operation < 0) {
      g_autofree char *advice = base_names_advice(import_operation_names + 1, asked->operation);
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--operation: no such operation \"%s\"%s", asked->operation,
                  advice);
      return NULL;
    }
    how.operation = (ImportOperation)(operation + 1);
  }
  if (asked->topology == NULL) {
    g_autofree char *more = import_fit_missing(log, &how);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "import nccl-tests: add --topology, the machine that the log was measured on%s%s",
                more != NULL ? "; " : "", more != NULL ? more : "");
    return NULL;
  }
  ImportFit fit;
  if (!import_fit_run(log, &how, &fit, error))
    return NULL;
  GString *text = import_overlay_text(log, &fit, "foretrain import nccl-tests");
  import_fit_clear(&fit);
  return text;
}

static GString *machine_text(const CliImport *asked, ImportMachine *machine, GError **error) {
  const ImportParts parts = {asked->gpu, asked->nic, asked->intra, asked->platform, (guint)asked->nics};
  GString *text = machine != NULL ? import_machine_text(machine, &parts, error) : NULL;
  import_machine_free(machine);
  return text;
}

static GString *import_nccl_topology(const CliImport *asked, GError **error) {
  return machine_text(asked, import_nccl_topology_load(asked->paths[0], error), error);
}

static GString *import_smi_topo(const CliImport *asked, GError **error) {
  return machine_text(asked, import_smi_topo_load(asked->paths[0], error), error);
}

static GString *import_smi(const CliImport *asked, GError **error) {
  return machine_text(asked, import_smi_query_load(asked->paths[0], error), error);
}

static GString *import_lstopo(const CliImport *asked, GError **error) {
  return machine_text(asked, import_lstopo_load(asked->paths[0], error), error);
}

static GString *fabric_text(const CliImport *asked, ImportFabric *(*load)(const char *path, GError **error),
                            GError **error) {
  if (asked->topology == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "import: add --topology, the machine that the nodes of the fabric are (foretrain list topologies)");
    return NULL;
  }
  g_autoptr(ImportFabric) fabric = load(asked->paths[0], error);
  return fabric != NULL ? import_fabric_text(fabric, asked->topology, error) : NULL;
}

static GString *import_discover(const CliImport *asked, GError **error) {
  return fabric_text(asked, import_ibnetdiscover_load, error);
}

static GString *import_linkinfo(const CliImport *asked, GError **error) {
  return fabric_text(asked, import_iblinkinfo_load, error);
}

static GString *import_slurm(const CliImport *asked, GError **error) {
  return fabric_text(asked, import_slurm_load, error);
}

/* What stands in the new file's comments: where it is from, what was left out, what was assumed; not those of the file
 * that a fabric is laid over. */
static void visit_remarks(const char *text, void (*visit)(const char *remark, gpointer user), gpointer user) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line != NULL && !g_str_has_prefix(*line, IMPORT_FABRIC_REST); line++)
    if (g_str_has_prefix(*line, "# ") || strcmp(*line, "#") == 0)
      visit((*line)[1] == ' ' ? *line + 2 : "", user);
}

static void print_remark(const char *remark, G_GNUC_UNUSED gpointer user) {
  puts(remark);
}

static void add_remark(const char *remark, gpointer json) {
  base_json_text(json, NULL, remark);
}

static void tell(const CliImport *asked, const char *text) {
  if (!asked->json) {
    visit_remarks(text, print_remark, NULL);
    return;
  }
  CliWritten written;
  cli_written_begin(&written, (const char *const[]){asked->output, NULL});
  base_json_list(written.json, "remarks");
  visit_remarks(text, add_remark, written.json);
  base_json_end(written.json);
  cli_written_print(&written);
}

CliExit cli_import_finish(const CliImport *asked, GString *text, GError **error) {
  if (text == NULL || !cli_written_check(asked->json, asked->output, "import", error)) {
    if (text != NULL)
      g_string_free(text, TRUE);
    return CLI_INPUT;
  }
  gboolean written = TRUE;
  if (asked->output == NULL || strcmp(asked->output, "-") == 0)
    cli_print(text->str);
  else if ((written = cli_write(asked->output, text->str, error)))
    tell(asked, text->str);
  g_string_free(text, TRUE);
  return written ? CLI_DONE : CLI_FAULT;
}

#define ONE_FILE                                                                                                       \
  CLI_WORDS(CliImport, paths, 1, 1, "a kind and one file"), CLI_OUTPUT(CliImport, output), CLI_JSON(CliImport, json)

static const CliOption tests_options[] = {CLI_WORDS(CliImport, paths, 1, CLI_WORDS_ANY, "a kind and a file"),
                                          CLI_OUTPUT(CliImport, output),
                                          CLI_JSON(CliImport, json),
                                          {"topology", 't', CLI_FILE, offsetof(CliImport, topology), "T",
                                           "nccl-tests: the machine it was measured on", .listed = "topologies"},
                                          {"nodes", 0, CLI_NUMBER, offsetof(CliImport, nodes), "N",
                                           "nccl-tests: on how many nodes (as the log's host names say)", .least = 1},
                                          {"operation", 0, CLI_TEXT, offsetof(CliImport, operation), "OPERATION",
                                           "nccl-tests: what it measures, where the log does not say",
                                           import_operation_names + 1},
                                          {NULL}};

static const CliOption machine_options[] = {
    ONE_FILE,
    {"gpu", 0, CLI_TEXT, offsetof(CliImport, gpu), "GPU", "machines: which GPUs (foretrain list gpus)"},
    {"nic", 0, CLI_TEXT, offsetof(CliImport, nic), "LINK", "machines: which NICs (foretrain list links)"},
    {"nics", 0, CLI_NUMBER, offsetof(CliImport, nics), "N", "machines: how many NICs, where the file shows none",
     .least = 1},
    {"intra", 0, CLI_TEXT, offsetof(CliImport, intra), "LINK", "machines: what joins the GPUs (foretrain list links)"},
    {"platform", 0, CLI_TEXT, offsetof(CliImport, platform), "PLATFORM", "machines: foretrain list platforms"},
    {NULL}};

static const CliOption fabric_options[] = {ONE_FILE,
                                           {"topology", 't', CLI_FILE, offsetof(CliImport, topology), "T",
                                            "fabrics: the machine that its nodes are", .listed = "topologies"},
                                           {NULL}};

static const CliOption recipe_options[] = {
    ONE_FILE,
    {"model", 0, CLI_FILE, offsetof(CliImport, model), "FILE",
     "recipe: the model's config.json, which some values that are \"auto\" need"},
    {NULL}};

/* A kind of file: one row of the table below. */
#define KIND(id, name, usage, what, table, import)                                                                     \
  static CliExit id##_run(gconstpointer data, GError **error) {                                                        \
    return cli_import_finish(data, import(data, error), error);                                                        \
  }                                                                                                                    \
  static const CliVerb id = {name, usage, what, table, sizeof(CliImport), NULL, id##_run}

KIND(tests, "nccl-tests", "LOG... -t T", "logs of nccl-tests to an overlay", tests_options, import_nccl_tests);
KIND(nccl, "nccl-topology", "FILE", "NCCL's dump of a machine to a topology", machine_options, import_nccl_topology);
KIND(matrix, "nvidia-smi-topo", "FILE", "nvidia-smi topo -m to a topology", machine_options, import_smi_topo);
KIND(smi, "nvidia-smi", "FILE", "nvidia-smi -q, or -q -x, to a topology", machine_options, import_smi);
KIND(lstopo, "lstopo", "FILE", "hwloc's XML (lstopo machine.xml) to a topology", machine_options, import_lstopo);
KIND(discover, "ibnetdiscover", "FILE -t T", "InfiniBand's switches to a topology of nodes T", fabric_options,
     import_discover);
KIND(linkinfo, "iblinkinfo", "FILE -t T", "the same from iblinkinfo", fabric_options, import_linkinfo);
KIND(slurm, "slurm-topology", "FILE -t T", "the same from Slurm's topology.conf", fabric_options, import_slurm);
static const CliOption kineto_options[] = {
    CLI_WORDS(CliImport, paths, 1, CLI_WORDS_ANY, "a kind and a file"),
    CLI_OUTPUT(CliImport, output),
    CLI_JSON(CliImport, json),
    {"execution", 0, CLI_TEXTS, offsetof(CliImport, executions), "FILE",
     "kineto: PyTorch's execution trace of the same run, one for each file: shapes that the profiler did not note"},
    {"topology", 't', CLI_FILE, offsetof(CliImport, topology), "T",
     "kineto: the machine to replay it on, beside what was measured", .listed = "topologies"},
    {"set", 's', CLI_TEXTS, offsetof(CliImport, sets), "GROUP.KEY=VALUE", "kineto: of the machine to replay it on"},
    {"scale", 0, CLI_TEXTS, offsetof(CliImport, scales), "compute=F", "kineto: stretch compute times in the replay"},
    {"keep-unsized", 0, CLI_FLAG, offsetof(CliImport, keep_unsized), NULL,
     "kineto: communication that does not say what it sends takes the time that was measured"},
    {"keep-communication", 0, CLI_FLAG, offsetof(CliImport, keep_communication), NULL,
     "kineto: all communication takes the time that was measured: nothing is simulated"},
    {"profile", 0, CLI_FLAG, offsetof(CliImport, profile), NULL,
     "kineto: no trace, but a layer profile, which a workload takes in as model.profile"},
    {"calibrate", 0, CLI_FLAG, offsetof(CliImport, calibrate), NULL,
     "kineto: no trace, but an overlay of what collectives and kernels say of --topology"},
    {"nodes", 0, CLI_NUMBER, offsetof(CliImport, nodes), "N", "kineto: --calibrate: on how many nodes it ran (1)",
     .least = 1},
    {"figures", 0, CLI_FLAG, offsetof(CliImport, figures), NULL, "kineto: what was measured, and no trace file"},
    {NULL}};

static CliExit kineto_run(gconstpointer data, GError **error) {
  return cli_import_kineto(data, error);
}

static const CliVerb kineto = {.name = "kineto",
                               .usage = "FILE... -o FILE|--figures|--profile|--calibrate -t T",
                               .summary = "a profiler's step (PyTorch's Kineto) to a trace that replays",
                               .options = kineto_options,
                               .size = sizeof(CliImport),
                               .run = kineto_run};

static const CliOption chakra_options[] = {
    CLI_WORDS(CliImport, paths, 1, CLI_WORDS_ANY, "a kind and a file"),
    CLI_OUTPUT(CliImport, output),
    CLI_JSON(CliImport, json),
    {"groups", 0, CLI_FILE, offsetof(CliImport, groups), "FILE",
     "chakra: ranks of each group, JSON as ASTRA-sim takes it ({\"1\": [0, 1]})"},
    {"ranks", 0, CLI_NUMBER, offsetof(CliImport, ranks), "N", "chakra: how many ranks one file stands for", .least = 1},
    {"topology", 't', CLI_FILE, offsetof(CliImport, topology), "T", "chakra: the machine to replay it on",
     .listed = "topologies"},
    {"set", 's', CLI_TEXTS, offsetof(CliImport, sets), "GROUP.KEY=VALUE", "chakra: of the machine to replay it on"},
    {"scale", 0, CLI_TEXTS, offsetof(CliImport, scales), "compute=F", "chakra: stretch compute times in the replay"},
    {"keep-communication", 0, CLI_FLAG, offsetof(CliImport, keep_communication), NULL,
     "chakra: communication takes the duration that its node states"},
    {NULL}};

static CliExit chakra_run(gconstpointer data, GError **error) {
  return cli_import_chakra(data, error);
}

static const CliVerb chakra = {.name = "chakra",
                               .usage = "FILE... [-o FILE] [--groups FILE] [-t T]",
                               .summary = "Chakra execution traces, a file per rank, to a trace that replays",
                               .options = chakra_options,
                               .size = sizeof(CliImport),
                               .run = chakra_run};
KIND(recipe, "recipe", "FILE", "another tool's recipe to a workload", recipe_options, cli_import_recipe);

static const CliVerb *const kinds[] = {&kineto, &chakra,   &tests,    &nccl,  &matrix, &smi,
                                       &lstopo, &discover, &linkinfo, &slurm, &recipe, NULL};

const CliVerb cli_import = {
    .name = "import",
    .usage = "kineto|chakra|nccl-tests|recipe FILE..., nccl-topology|nvidia-smi-topo|nvidia-smi|lstopo FILE, or "
             "ibnetdiscover|iblinkinfo|slurm-topology FILE -t T [-o FILE]",
    .summary = "other tools' files into ours",
    .kinds = kinds,
    .wants = "a kind and a file, kinds being %s",
    .unknown = "import: no such kind"};
