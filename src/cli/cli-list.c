/* foretrain list, foretrain schema: what there is to choose from, and what is written. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "base-table.h"
#include "cli.h"
#include "conf-path.h"
#include "hw-catalog.h"
#include "store-db.h"

static CliExit print_table(BaseTable *table) {
  g_autoptr(GString) text = g_string_new(NULL);
  base_table_print(table, 0, text);
  fputs(text->str, stdout);
  return CLI_DONE;
}

static void rate_cell(BaseTable *table, double rate, double unit) {
  if (rate > 0)
    base_table_cell(table, "%.0f", rate / unit);
  else
    base_table_cell(table, "-");
}

static CliExit list_gpus(const CliOptions *options, GError **error) {
  (void)options;
  g_autoptr(HwCatalog) catalog = hw_catalog_load(error);
  if (catalog == NULL)
    return CLI_INPUT;
  g_autoptr(BaseTable) table = base_table_new();
  const char *heads[] = {"gpu", "memory GiB", "TB/s", "16-bit TFLOP/s", "sustained", "trust"};
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], i == 0 || i == 5 ? BASE_LEFT : BASE_RIGHT);
  const double tera = 1e12, gib = 1024.0 * 1024 * 1024;
  for (const char *const *name = hw_catalog_gpu_names(catalog); *name != NULL; name++) {
    const HwGpu *gpu = hw_catalog_gpu(catalog, *name, NULL, NULL);
    base_table_cell(table, "%s", *name);
    base_table_cell(table, "%.1f", (double)gpu->memory_usable / gib);
    base_table_cell(table, "%.2f", gpu->memory_bandwidth / tera);
    rate_cell(table, gpu->peak_fp16, tera);
    rate_cell(table, gpu->matmul_fp16, tera);
    base_table_cell(table, "%s", hw_trust_names[gpu->trust]);
  }
  return print_table(table);
}

static CliExit list_links(const CliOptions *options, GError **error) {
  (void)options;
  g_autoptr(HwCatalog) catalog = hw_catalog_load(error);
  if (catalog == NULL)
    return CLI_INPUT;
  g_autoptr(BaseTable) table = base_table_new();
  const char *heads[] = {"link", "scope", "raw", "achievable", "trust"};
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], i == 2 || i == 3 ? BASE_RIGHT : BASE_LEFT);
  for (const char *const *name = hw_catalog_link_names(catalog); *name != NULL; name++) {
    const HwLink *link = hw_catalog_link(catalog, *name, NULL, NULL);
    g_autofree char *raw = base_format_byte_rate(link->raw);
    g_autofree char *achievable = base_format_byte_rate(link->achievable);
    base_table_cell(table, "%s", *name);
    base_table_cell(table, "%s", hw_link_scope_names[link->scope]);
    base_table_cell(table, "%s", raw);
    base_table_cell(table, "%s", achievable);
    base_table_cell(table, "%s", hw_trust_names[link->trust]);
  }
  return print_table(table);
}

static CliExit list_platforms(const CliOptions *options, GError **error) {
  (void)options;
  g_autoptr(HwCatalog) catalog = hw_catalog_load(error);
  if (catalog == NULL)
    return CLI_INPUT;
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "platform", BASE_LEFT);
  base_table_head(table, "launch floor", BASE_RIGHT);
  base_table_head(table, "NIC latency", BASE_RIGHT);
  base_table_head(table, "trust", BASE_LEFT);
  for (const char *const *name = hw_catalog_platform_names(catalog); *name != NULL; name++) {
    const HwPlatform *platform = hw_catalog_platform(catalog, *name, NULL, NULL);
    g_autofree char *launch = base_format_time(platform->launch_floor);
    g_autofree char *nic = base_format_time(platform->nic_latency);
    base_table_cell(table, "%s", *name);
    base_table_cell(table, "%s", launch);
    base_table_cell(table, "%s", nic);
    base_table_cell(table, "%s", hw_trust_names[platform->trust]);
  }
  return print_table(table);
}

static CliExit list_files(const char *folder) {
  g_auto(GStrv) names = conf_path_list(folder, ".ini");
  for (char **name = names; *name != NULL; name++)
    puts(*name);
  return CLI_DONE;
}

static CliExit list_topologies(const CliOptions *options, GError **error) {
  (void)options, (void)error;
  return list_files("topologies");
}

static CliExit list_workloads(const CliOptions *options, GError **error) {
  (void)options, (void)error;
  return list_files("workloads");
}

static void run_row(int n, const char *const *names, const char *const *values, gpointer table) {
  (void)names;
  for (int i = 0; i < n; i++)
    base_table_cell(table, "%s", values[i] != NULL ? values[i] : "");
}

static CliExit list_runs(const CliOptions *options, GError **error) {
  g_autoptr(StoreDb) db = store_db_open(cli_database(options), error);
  if (db == NULL)
    return CLI_FAULT;
  g_autoptr(BaseTable) table = base_table_new();
  const char *heads[] = {"run", "key", "workload", "topology", "framework", "stage", "GPUs", "verdict", "step ms"};
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], i == 0 || i == 5 || i == 6 || i == 8 ? BASE_RIGHT : BASE_LEFT);
  gboolean good =
      store_db_query(db,
                     "SELECT run_id, substr(run_key, 1, 10), workload, topology, framework, zero_stage, gpus, "
                     "verdict, printf('%.2f', step_ps / 1e9) FROM run ORDER BY run_id",
                     0, run_row, table, error);
  return good ? print_table(table) : CLI_FAULT;
}

static CliExit list_settings(const CliOptions *options, GError **error) {
  (void)options, (void)error;
  g_autoptr(GString) text = g_string_new(NULL);
  study_print_reference(text);
  fputs(text->str, stdout);
  return CLI_DONE;
}

CliExit cli_list(const CliOptions *options, GError **error) {
  static const char *const names[] = {"gpus",      "links", "platforms", "topologies",
                                      "workloads", "runs",  "settings",  NULL};
  static const CliVerbRun lists[] = {list_gpus,      list_links, list_platforms, list_topologies,
                                     list_workloads, list_runs,  list_settings};
  if (!cli_want(options, 1, "one of gpus, links, platforms, topologies, workloads, runs, settings", error))
    return CLI_INPUT;
  int index = base_names_find(names, options->rest[0]);
  if (index >= 0)
    return lists[index](options, error);
  g_autofree char *advice = base_names_advice(names, options->rest[0]);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "nothing to list under \"%s\"%s", options->rest[0], advice);
  return CLI_INPUT;
}

CliExit cli_schema(const CliOptions *options, GError **error) {
  if (!cli_want(options, 0, "no more words", error))
    return CLI_INPUT;
  fputs(store_schema(), stdout);
  return CLI_DONE;
}
