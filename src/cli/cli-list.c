/* SPDX-License-Identifier: MIT */
/* foretrain list, foretrain schema: what there is to choose from, and what is written. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "cli-list.h"
#include "cli-write.h"
#include "cli.h"
#include "conf-path.h"
#include "hw-catalog.h"
#include "kernel-time.h"
#include "program-trace.h"
#include "report-text.h"
#include "store-baseline.h"
#include "store-points.h"

typedef struct {
  const char *const *words;
  const char *db;
  gboolean json;
} List;

static CliExit list_gpus(G_GNUC_UNUSED const List *asked, CliListing *listing, GError **error) {
  static const CliColumn columns[] = {{"gpu", "gpu", BASE_LEFT},
                                      {"memory_bytes", "memory GiB", BASE_RIGHT},
                                      {"memory_bandwidth", "GB/s", BASE_RIGHT},
                                      {"peak_flops", "16-bit TFLOP/s", BASE_RIGHT},
                                      {"sustained_flops", "sustained", BASE_RIGHT},
                                      {"trust", "trust", BASE_LEFT},
                                      {"kernels_measured", "kernels measured", BASE_LEFT},
                                      {NULL, NULL, BASE_LEFT}};
  g_autoptr(HwCatalog) catalog = hw_catalog_load(error);
  if (catalog == NULL)
    return CLI_INPUT;
  cli_listing_columns(listing, columns);
  for (const char *const *name = hw_catalog_gpu_names(catalog); *name != NULL; name++) {
    const HwGpu *gpu = hw_catalog_gpu(catalog, *name, NULL, NULL);
    cli_listing_text(listing, *name);
    cli_listing_number(listing, (double)gpu->memory_usable, "%.1f", base_in_gib((guint64)gpu->memory_usable));
    cli_listing_number(listing, gpu->memory_bandwidth, "%.0f", base_in_gb(gpu->memory_bandwidth));
    cli_listing_number(listing, gpu->peak_fp16, "%.0f", base_in_tflops(gpu->peak_fp16));
    cli_listing_number(listing, gpu->matmul_fp16, "%.0f", base_in_tflops(gpu->matmul_fp16));
    cli_listing_text(listing, hw_trust_names[gpu->trust]);
    g_autofree char *measured = kernel_measured(gpu);
    cli_listing_text(listing, measured);
  }
  return CLI_DONE;
}

static CliExit list_links(G_GNUC_UNUSED const List *asked, CliListing *listing, GError **error) {
  static const CliColumn columns[] = {{"link", "link", BASE_LEFT},     {"scope", "scope", BASE_LEFT},
                                      {"raw", "raw GB/s", BASE_RIGHT}, {"achievable", "achievable GB/s", BASE_RIGHT},
                                      {"trust", "trust", BASE_LEFT},   {NULL, NULL, BASE_LEFT}};
  g_autoptr(HwCatalog) catalog = hw_catalog_load(error);
  if (catalog == NULL)
    return CLI_INPUT;
  cli_listing_columns(listing, columns);
  for (const char *const *name = hw_catalog_link_names(catalog); *name != NULL; name++) {
    const HwLink *link = hw_catalog_link(catalog, *name, NULL, NULL);
    cli_listing_text(listing, *name);
    cli_listing_text(listing, hw_link_scope_names[link->scope]);
    cli_listing_number(listing, link->raw, "%.1f", base_in_gb(link->raw));
    cli_listing_number(listing, link->achievable, "%.1f", base_in_gb(link->achievable));
    cli_listing_text(listing, hw_trust_names[link->trust]);
  }
  return CLI_DONE;
}

/* Latencies: nothing, too, is told in microseconds. */
static void time_cell(CliListing *listing, SimTime time) {
  g_autofree char *shown = time != 0 ? base_format_time(time) : g_strdup("0.00 us");
  cli_listing_integer(listing, time, shown);
}

static CliExit list_platforms(G_GNUC_UNUSED const List *asked, CliListing *listing, GError **error) {
  static const CliColumn columns[] = {{"platform", "platform", BASE_LEFT},
                                      {"launch_floor_ps", "launch floor", BASE_RIGHT},
                                      {"nic_latency_ps", "NIC latency", BASE_RIGHT},
                                      {"trust", "trust", BASE_LEFT},
                                      {NULL, NULL, BASE_LEFT}};
  g_autoptr(HwCatalog) catalog = hw_catalog_load(error);
  if (catalog == NULL)
    return CLI_INPUT;
  cli_listing_columns(listing, columns);
  for (const char *const *name = hw_catalog_platform_names(catalog); *name != NULL; name++) {
    const HwPlatform *platform = hw_catalog_platform(catalog, *name, NULL, NULL);
    cli_listing_text(listing, *name);
    time_cell(listing, platform->launch_floor);
    time_cell(listing, platform->nic_latency);
    cli_listing_text(listing, hw_trust_names[platform->trust]);
  }
  return CLI_DONE;
}

static CliExit list_topologies(G_GNUC_UNUSED const List *asked, CliListing *listing, GError **error) {
  return cli_list_topologies(listing, error);
}

static CliExit list_workloads(G_GNUC_UNUSED const List *asked, CliListing *listing, GError **error) {
  return cli_list_workloads(listing, error);
}

#define KEY_SHOWN 10 /* letters of a run key */

/* Columns as in list_runs. */
static void run_row(int n, const char *const *names, const char *const *values, gpointer user) {
  CliListing *listing = user;
  for (int i = 0; i < n; i++) {
    const char *value = values[i] != NULL ? values[i] : "";
    gint64 number = g_ascii_strtoll(value, NULL, 10);
    g_autofree char *step = g_strdup_printf("%.2f", base_in_ms(number));
    g_autofree char *key = g_strndup(value, KEY_SHOWN);
    if (g_str_has_suffix(names[i], "_ps"))
      cli_listing_integer(listing, number, step);
    else if (strcmp(names[i], "run_key") == 0)
      cli_listing_shown(listing, value, key);
    else if (cli_listing_is_right(listing))
      cli_listing_integer(listing, number, value);
    else
      cli_listing_text(listing, value);
  }
}

static CliExit list_runs(const List *asked, CliListing *listing, GError **error) {
  static const CliColumn columns[] = {
      {"run_id", "run", BASE_RIGHT},       {"run_key", "key", BASE_LEFT},         {"workload", "workload", BASE_LEFT},
      {"topology", "topology", BASE_LEFT}, {"framework", "framework", BASE_LEFT}, {"zero_stage", "stage", BASE_RIGHT},
      {"gpus", "GPUs", BASE_RIGHT},        {"verdict", "verdict", BASE_LEFT},     {"step_ps", "step ms", BASE_RIGHT},
      {"step_low_ps", "from", BASE_RIGHT}, {"step_high_ps", "to", BASE_RIGHT},    {NULL, NULL, BASE_LEFT}};
  const char *database = cli_database(asked->db, error);
  g_autoptr(StoreDb) db = database != NULL ? store_db_open_existing(database, error) : NULL;
  if (db == NULL)
    return CLI_FAULT;
  cli_listing_columns(listing, columns);
  const StoreMetric *metrics[G_N_ELEMENTS(columns) - 2]; /* all but run_id and the end */
  for (gsize i = 0; i < G_N_ELEMENTS(metrics); i++)
    metrics[i] = store_metric_find(columns[1 + i].key);
  gboolean good = store_db_columns(db, metrics, G_N_ELEMENTS(metrics), STORE_ALL_RUNS, run_row, listing, error);
  return good ? CLI_DONE : CLI_FAULT;
}

/* An object of which `fill` adds all but its version. */
static CliExit print_object(gboolean (*fill)(BaseJson *json, GError **error), GError **error) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  gboolean good = fill(json, error);
  base_json_end(json);
  if (good)
    cli_print(text->str);
  return good ? CLI_DONE : CLI_FAULT;
}

static void baseline_row(int n, G_GNUC_UNUSED const char *const *names, const char *const *values, gpointer user) {
  CliListing *listing = user;
  const StoreMetric *metric = store_metric_find(values[1]);
  for (int i = 0; i < n; i++) {
    g_autofree char *shown = i == 2 && metric != NULL ? store_metric_shown(metric, values[i]) : g_strdup(values[i]);
    cli_listing_shown(listing, values[i], shown);
  }
}

static CliExit list_baselines(const List *asked, CliListing *listing, GError **error) {
  static const CliColumn columns[] = {{"budget", "budget", BASE_LEFT},  {"metric", "metric", BASE_LEFT},
                                      {"value", "accepted", BASE_LEFT}, {"model_version", "results version", BASE_LEFT},
                                      {"reason", "reason", BASE_LEFT},  {NULL, NULL, BASE_LEFT}};
  const char *database = cli_database(asked->db, error);
  g_autoptr(StoreDb) db = database != NULL ? store_db_open_existing(database, error) : NULL;
  if (db == NULL)
    return CLI_FAULT;
  cli_listing_columns(listing, columns);
  return store_db_visit_baselines(db, baseline_row, listing, error) ? CLI_DONE : CLI_FAULT;
}

static gboolean fill_settings(BaseJson *json, G_GNUC_UNUSED GError **error) {
  base_json_list(json, "settings");
  study_reference_json(json);
  base_json_end(json);
  return TRUE;
}

static CliExit settings_run(gconstpointer data, GError **error) {
  if (((const List *)data)->json)
    return print_object(fill_settings, error);
  g_autoptr(GString) text = g_string_new(NULL);
  study_print_reference(text);
  cli_print(text->str);
  return CLI_DONE;
}

static CliExit list(const List *asked, CliExit (*fill)(const List *asked, CliListing *listing, GError **error),
                    GError **error) {
  g_autoptr(CliListing) listing = cli_listing_new(asked->json);
  CliExit status = fill(asked, listing, error);
  if (status == CLI_DONE)
    cli_listing_print(listing);
  return status;
}

#define NO_DATABASE "reads no database: leave out --db"

static const CliOption table_options[] = {CLI_WORDS(List, words, 0, 0, "no word more"), CLI_JSON(List, json), {NULL}};
static const CliOption runs_options[] = {
    CLI_WORDS(List, words, 0, 0, "no word more"), CLI_DB(List, db), CLI_JSON(List, json), {NULL}};

/* A kind of list: one row of the table below. */
#define KIND(id, what, table, refused)                                                                                 \
  static CliExit id##_run(gconstpointer data, GError **error) {                                                        \
    return list(data, list_##id, error);                                                                               \
  }                                                                                                                    \
  static const CliVerb id = {#id, "", what, table, sizeof(List), NULL, id##_run, refused}

KIND(gpus, "GPUs of the catalogue", table_options, NO_DATABASE);
KIND(links, "links of the catalogue", table_options, NO_DATABASE);
KIND(platforms, "platforms of the catalogue", table_options, NO_DATABASE);
KIND(topologies, "topologies that a bare name finds", table_options, NO_DATABASE);
KIND(workloads, "workloads that a bare name finds", table_options, NO_DATABASE);
KIND(runs, "runs of the database", runs_options, NULL);
KIND(baselines, "what foretrain check accepted, of the database", runs_options, NULL);
static const CliVerb settings = {"settings",    "",           "every key that a workload or a topology may hold",
                                 table_options, sizeof(List), NULL,
                                 settings_run,  NO_DATABASE};

static const CliVerb *const kinds[] = {&gpus, &links,     &platforms, &topologies, &workloads,
                                       &runs, &baselines, &settings,  NULL};

const CliVerb cli_list = {.name = "list",
                          .usage = "gpus|links|platforms|topologies|workloads|runs|baselines|settings",
                          .summary = "what there is to choose from",
                          .kinds = kinds,
                          .wants = "one of %s",
                          .unknown = "nothing to list under"};

typedef struct {
  const char *const *words;
  gboolean json;
} Schema;

static const char *const schemas[] = {"database", "trace", NULL};
static const CliOption schema_options[] = {
    {NULL, 0, CLI_WORD, offsetof(Schema, words), "database or trace", NULL, schemas, 0, 1},
    CLI_JSON(Schema, json),
    {NULL}};

static gboolean fill_trace(BaseJson *json, G_GNUC_UNUSED GError **error) {
  program_trace_reference_json(json);
  return TRUE;
}

static CliExit schema(gconstpointer data, GError **error) {
  const Schema *asked = data;
  const char *word = asked->words[0] != NULL ? asked->words[0] : schemas[0];
  int index = base_names_find(schemas, word);
  if (index < 0) {
    g_autofree char *advice = base_names_advice(schemas, word);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no schema of \"%s\"%s", word, advice);
    return CLI_INPUT;
  }
  if (asked->json)
    return print_object(index == 1 ? fill_trace : store_schema_json, error);
  g_autoptr(GString) trace = g_string_new(NULL);
  if (index == 1)
    program_trace_reference(trace);
  cli_print(index == 1 ? trace->str : store_schema());
  return CLI_DONE;
}

const CliVerb cli_schema = {"schema",       "[database|trace]", "the database, or trace files, documented",
                            schema_options, sizeof(Schema),     NULL,
                            schema};
