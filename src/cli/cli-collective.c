/* SPDX-License-Identifier: MIT */
/* foretrain collective: a table in nccl-tests' layout, predicted. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-json.h"
#include "cli-measured.h"
#include "cli-write.h"
#include "cli.h"
#include "import-usable.h"
#include "report-text.h"
#include "study-collective.h"

#define MOST_BYTES ((guint64)1 << 50) /* of one call */

typedef struct {
  guint64 from, to;
  gboolean given;
} Sizes;

typedef struct {
  CliSettings settings;
  Sizes sizes;
  const char *const *words;
  const char *nodes, *gpus_per_node, *dtype, *compare;
  gboolean json, explain;
} Collective;

/* Digits and an ending that counts in 1024s, as nccl-tests reads -b and -e. */
static gboolean read_size(const char *text, guint64 *ret) {
  static const char endings[] = "KMGT";
  char *end;
  guint64 number = g_ascii_isdigit(*text) ? g_ascii_strtoull(text, &end, 10) : 0;
  if (number == 0 || number > MOST_BYTES)
    return FALSE;
  const char *ending = *end != '\0' ? strchr(endings, g_ascii_toupper(*end)) : NULL;
  if (*end != '\0' && (ending == NULL || end[1] != '\0'))
    return FALSE;
  guint shift = ending != NULL ? 10 * (guint)(ending - endings + 1) : 0;
  if (number > MOST_BYTES >> shift)
    return FALSE;
  *ret = number << shift;
  return TRUE;
}

static gboolean read_sizes(const char *option, const char *text, gpointer field, GError **error) {
  Sizes *sizes = field;
  g_auto(GStrv) parts = g_strsplit(text, "..", 2);
  const char *to = parts[0] != NULL && parts[1] != NULL ? parts[1] : parts[0];
  sizes->given = TRUE;
  if (parts[0] != NULL && read_size(parts[0], &sizes->from) && read_size(to, &sizes->to) && sizes->from <= sizes->to)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: expected a size or FROM..TO, as in 64M or 8..8G, from 1 to 1024T, found \"%s\"", option, text);
  return FALSE;
}

static const CliOption options[] = {
    CLI_WORDS(Collective, words, 1, 1, "an operation"),
    CLI_GROUP_ROW(Collective, settings, cli_settings_options),
    CLI_JSON(Collective, json),
    {"nodes", 'n', CLI_TEXT, offsetof(Collective, nodes), "N", "nodes of the communicator (1)"},
    {"gpus-per-node", 'g', CLI_TEXT, offsetof(Collective, gpus_per_node), "N", "GPUs of each node (all)"},
    {"dtype", 'd', CLI_TEXT, offsetof(Collective, dtype), "TYPE", "of the elements, by nccl-tests' names (float)"},
    {"bytes", 'b', CLI_READ, offsetof(Collective, sizes), "FROM..TO",
     "sizes, doubled from the first to the last; K, M and G are 1024s, as in nccl-tests (8..8G)", .read = read_sizes},
    {"explain", 0, CLI_FLAG, offsetof(Collective, explain), NULL, "say what every algorithm would take"},
    {"compare", 'c', CLI_FILE, offsetof(Collective, compare), "LOG",
     "beside a log of nccl-tests: its sizes and type, unless asked otherwise"},
    {NULL}};

static gboolean put(StudyCollective *collective, const char *option, const char *name, const char *value,
                    GError **error) {
  BasePlace place = {.file = option};
  return value == NULL || study_collective_put(collective, name, value, &place, error);
}

/* As the option says, else as the log does, else the default. */
static gboolean put_either(StudyCollective *collective, const Collective *asked, const char *option, const char *name,
                           const char *value, const char *measured, GError **error) {
  gboolean given = value != NULL || *measured == '\0';
  return put(collective, given ? option : asked->compare, name, given ? value : measured, error);
}

/* `measured`: of the log that is compared with; empty where there is none. */
static StudyCollective *open_collective(const Collective *asked, const CliMeasuredSettings *measured, GError **error) {
  g_autoptr(StudyCollective) collective = study_collective_new();
  if (asked->settings.topology == NULL && asked->settings.sets == NULL) {
    base_error_set_at(error, &(BasePlace){.file = "--topology"},
                      "is missing: a file, or one of foretrain list topologies");
    return NULL;
  }
  if (!put(collective, "OPERATION", "collective.operation", asked->words[0], error) ||
      !put(collective, "--topology", "cluster.topology", asked->settings.topology, error) ||
      !put_either(collective, asked, "--nodes", "cluster.nodes", asked->nodes, measured->nodes, error) ||
      !put_either(collective, asked, "--gpus-per-node", "cluster.gpus_per_node", asked->gpus_per_node,
                  measured->gpus_per_node, error) ||
      !put_either(collective, asked, "--dtype", "collective.dtype", asked->dtype, measured->dtype, error))
    return NULL;
  for (guint i = 0; asked->settings.sets != NULL && asked->settings.sets[i] != NULL; i++)
    if (!study_collective_set(collective, asked->settings.sets[i], error))
      return NULL;
  if (!study_collective_build(collective, error))
    return NULL;
  return g_steal_pointer(&collective);
}

/* nccl-tests keeps seven characters, with fewer decimals as numbers grow. */
static char *seven(double value) {
  return g_strdup_printf(value < 10000 ? "%7.2f" : value < 100000 ? "%7.1f" : "%7.0f", value);
}

/* Twice the same: what is predicted does not depend on whether the buffers are one. Nothing is checked: N/A. */
static void print_call(const StudyCollective *collective, const StudyCollectiveCall *call, GString *text) {
  g_autofree char *time = seven(base_in_us(call->time));
  g_autofree char *algorithm_bandwidth = seven(base_in_gb(call->algorithm_bandwidth));
  g_autofree char *bus_bandwidth = seven(base_in_gb(call->bus_bandwidth));
  g_autofree char *measures = g_strdup_printf("  %s %s %s %6s", time, algorithm_bandwidth, bus_bandwidth, "N/A");
  g_string_append_printf(text, "%12" G_GUINT64_FORMAT " %13" G_GUINT64_FORMAT " %9s %7s %7d%s%s  # %-5s %-6s %3u\n",
                         call->bytes, call->elements, study_collective_dtype(collective), call->redop, call->root,
                         measures, measures, call->algorithm, call->protocol, call->channels);
}

static void print_head(const StudyCollective *collective, GString *text) {
  static const char halves[] = "  %7s %7s %7s %6s  %7s %7s %7s %6s";
  g_autofree char *nccl = study_collective_nccl(collective);
  g_string_append_printf(
      text,
      "# foretrain %s: %s on %s, %u nodes of %u %s, %u ranks, constants of %s\n"
      "# Predicted, not measured: in place as out of place; #wrong is nothing that was checked.\n"
      "#\n# %57s%-33s %s\n",
      FORETRAIN_VERSION, study_collective_operation(collective), study_collective_topology(collective),
      study_collective_nodes(collective), study_collective_ranks(collective) / study_collective_nodes(collective),
      study_collective_gpu(collective), study_collective_ranks(collective), nccl, "", "out-of-place", "in-place");
  g_string_append_printf(text, "# %10s %13s %9s %7s %7s", "size", "count", "type", "redop", "root");
  g_string_append_printf(text, halves, "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong");
  g_string_append_printf(text, "  # %-5s %-6s %3s\n", "algo", "proto", "nch");
  g_string_append_printf(text, "# %10s %13s %9s %7s %7s", "(B)", "(elements)", "", "", "");
  g_string_append_printf(text, halves, "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)", "(GB/s)", "");
  g_string_append_c(text, '\n');
}

/* `row`: as measured, or NULL. */
static void json_call(BaseJson *json, const StudyCollectiveCall *call, const ImportRow *row) {
  base_json_map(json, NULL);
  base_json_integer(json, "bytes", (gint64)call->bytes);
  base_json_integer(json, "count", (gint64)call->elements);
  base_json_text(json, "redop", call->redop);
  base_json_integer(json, "root", call->root);
  base_json_integer(json, "time_ps", call->time);
  base_json_number(json, "algorithm_bandwidth", call->algorithm_bandwidth);
  base_json_number(json, "bus_bandwidth", call->bus_bandwidth);
  base_json_text(json, "algorithm", call->algorithm);
  base_json_text(json, "protocol", call->protocol);
  base_json_integer(json, "channels", call->channels);
  if (row != NULL)
    cli_measured_json(call, row, json);
  base_json_end(json);
}

static void json_begin(BaseJson *json, const StudyCollective *collective) {
  const struct {
    const char *key, *value;
  } texts[] = {{"operation", study_collective_operation(collective)},
               {"dtype", study_collective_dtype(collective)},
               {"topology", study_collective_topology(collective)},
               {"gpu", study_collective_gpu(collective)}};
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
    base_json_text(json, texts[i].key, texts[i].value);
  }
  base_json_integer(json, "nodes", study_collective_nodes(collective));
  base_json_integer(json, "group_size", study_collective_ranks(collective));
  base_json_list(json, "calls");
}

static void json_end(BaseJson *json) {
  base_json_end(json);
  base_json_end(json);
}

static CliExit print_compared(const Collective *asked, GError **error) {
  guint64 from = asked->sizes.given ? asked->sizes.from : 0, to = asked->sizes.given ? asked->sizes.to : MOST_BYTES;
  g_autoptr(ImportLog) log = import_log_load(asked->compare, error);
  const ImportRun *run = log != NULL ? cli_measured_run(log, asked->words[0], error) : NULL;
  if (run == NULL)
    return CLI_INPUT;
  CliMeasuredSettings measured = {0};
  cli_measured_settings(run, &measured);
  g_autoptr(StudyCollective) collective = open_collective(asked, &measured, error);
  if (collective == NULL || !cli_measured_check(log, run, collective, error))
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL), objects = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(objects, BASE_JSON_SPREAD);
  g_autoptr(CliMeasured) table = cli_measured_new(log, run, collective);
  json_begin(json, collective);
  for (guint i = 0; i < run->rows->len; i++) {
    const ImportRow *row = &g_array_index(run->rows, ImportRow, i);
    StudyCollectiveCall call;
    if (row->bytes < from || row->bytes > to || import_row_is_wrong(row) ||
        !study_collective_call(collective, row->bytes, &call))
      continue;
    cli_measured_add(table, &call, row);
    json_call(json, &call, row);
  }
  json_end(json);
  cli_measured_print(table, text);
  cli_print((asked->json ? objects : text)->str);
  return CLI_DONE;
}

static CliExit collective(gconstpointer data, GError **error) {
  const Collective *asked = data;
  if (asked->compare != NULL && asked->explain) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--compare and --explain are two tables: ask for one");
    return CLI_INPUT;
  }
  if (asked->compare != NULL)
    return print_compared(asked, error);
  g_autoptr(StudyCollective) calls = open_collective(asked, &(CliMeasuredSettings){0}, error);
  if (calls == NULL)
    return CLI_INPUT;
  g_autoptr(GString) text = g_string_new(NULL), reasons = g_string_new(NULL), objects = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(objects, BASE_JSON_SPREAD);
  json_begin(json, calls);
  print_head(calls, text);
  if (asked->explain)
    study_collective_explain_choice(calls, reasons);
  for (guint64 bytes = asked->sizes.from; bytes <= asked->sizes.to; bytes *= 2) {
    StudyCollectiveCall call;
    if (!study_collective_call(calls, bytes, &call))
      continue;
    print_call(calls, &call, text);
    json_call(json, &call, NULL);
    if (asked->explain)
      study_collective_explain(calls, bytes, reasons);
  }
  json_end(json);
  cli_print((asked->json ? objects : text)->str);
  if (!asked->json)
    cli_print(reasons->str);
  return CLI_DONE;
}

static const Collective defaults = {.sizes = {8, G_GUINT64_CONSTANT(8) << 30, FALSE}};

const CliVerb cli_collective = {"collective",
                                "OPERATION --topology T [--nodes N] [--compare LOG]",
                                "a collective by size, in the columns of nccl-tests",
                                options,
                                sizeof(Collective),
                                &defaults,
                                collective};
