/* SPDX-License-Identifier: MIT */
/* foretrain layers: what a workload computes, operation by operation. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-json.h"
#include "base-table.h"
#include "cli-profile.h"
#include "cli-write.h"
#include "cli.h"
#include "report-text.h"

typedef struct {
  CliSettings settings;
  const char *const *words;
  const char *output;
  gboolean json;
} Layers;

static const CliOption options[] = {CLI_WORKLOAD_WORD(Layers, words, "a workload"),
                                    CLI_GROUP_ROW(Layers, settings, cli_settings_options),
                                    CLI_JSON(Layers, json),
                                    CLI_OUTPUT(Layers, output),
                                    {NULL}};

static void cells(BaseTable *table, const char *kind, const CliProfileSum *sum) {
  g_autofree char *time = base_format_time(sum->time);
  base_table_cell(table, "%s", kind);
  base_table_cell(table, "%.3f", base_in_gflop(sum->flops));
  base_table_cell(table, "%.4f", base_in_gb((double)sum->bytes));
  base_table_cell(table, "%.4f", base_in_gb((double)sum->activations));
  base_table_cell(table, "%s", time);
}

static gboolean same_block(const StudyLayerOp *a, const StudyLayerOp *b) {
  return strcmp(a->unit, b->unit) == 0 && strcmp(a->direction, b->direction) == 0;
}

static void print_text(const StudyLayers *layers, GString *text) {
  g_autofree char *parameters = base_format_count(layers->parameters);
  g_string_append_printf(text,
                         "%s: %s parameters, %" G_GUINT64_FORMAT " layers; micro-batch %" G_GUINT64_FORMAT
                         " x %" G_GUINT64_FORMAT " tokens on %s\n%s\n\n",
                         layers->model, parameters, layers->layers, layers->micro_batch, layers->sequence_length,
                         layers->gpu, layers->basis);
  g_autoptr(BaseTable) table = base_table_new();
  const char *heads[] = {"unit", "direction", "operation", "kind", "GFLOP", "GB moved", "GB kept", "time"};
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], i < 4 ? BASE_LEFT : BASE_RIGHT);
  CliProfileSum block = {0};
  for (guint i = 0; i < layers->n_ops; i++) {
    const StudyLayerOp *op = &layers->ops[i];
    CliProfileSum one = {0};
    cli_profile_add(&one, op);
    cli_profile_add(&block, op);
    base_table_cell(table, "%s", op->unit);
    base_table_cell(table, "%s", op->direction);
    base_table_cell(table, "%s", op->name);
    cells(table, op->kind, &one);
    if (i + 1 < layers->n_ops && same_block(op, &layers->ops[i + 1]))
      continue;
    base_table_cell(table, "%s", op->unit);
    base_table_cell(table, "%s", op->direction);
    base_table_cell(table, "all");
    cells(table, "", &block);
    block = (CliProfileSum){0};
    if (i + 1 < layers->n_ops)
      base_table_rule(table);
  }
  base_table_print(table, 0, text);
}

static void json_op(BaseJson *json, const StudyLayerOp *op) {
  base_json_map(json, NULL);
  base_json_text(json, "name", op->name);
  base_json_text(json, "kind", op->kind);
  base_json_number(json, "flops", op->flops);
  base_json_integer(json, "bytes", (gint64)op->bytes);
  base_json_integer(json, "activation_bytes", (gint64)op->activation_bytes);
  base_json_integer(json, "time_ps", op->time);
  base_json_end(json);
}

/* One object per layer and direction, in the order of execution forward, then backward. */
static void json_block(BaseJson *json, const StudyLayers *layers, guint first, guint end, const char *layer,
                       guint64 parameters) {
  CliProfileSum sum = {0};
  for (guint i = first; i < end; i++)
    cli_profile_add(&sum, &layers->ops[i]);
  base_json_map(json, NULL);
  base_json_text(json, "layer", layer);
  base_json_text(json, "direction", layers->ops[first].direction);
  base_json_integer(json, "parameters", (gint64)parameters);
  base_json_number(json, "flops", sum.flops);
  base_json_integer(json, "bytes", (gint64)sum.bytes);
  base_json_integer(json, "activation_bytes", (gint64)sum.activations);
  base_json_integer(json, "time_ps", sum.time);
  base_json_list(json, "operations");
  for (guint i = first; i < end; i++)
    json_op(json, &layers->ops[i]);
  base_json_end(json);
  base_json_end(json);
}

static void print_json(const StudyLayers *layers, GString *text) {
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  base_json_text(json, "model", layers->model);
  base_json_integer(json, "parameters", (gint64)layers->parameters);
  base_json_text(json, "basis", layers->basis);
  base_json_list(json, "layers");
  for (guint first = 0, end; first < layers->n_ops; first = end) {
    const StudyLayerOp *op = &layers->ops[first];
    for (end = first + 1; end < layers->n_ops && same_block(op, &layers->ops[end]);)
      end++;
    ModelUnitKind unit = cli_profile_unit(op->unit);
    if (!model_unit_is_layer(unit))
      json_block(json, layers, first, end, op->unit, layers->unit_parameters[unit]);
    for (guint64 layer = 0; layer < layers->layers; layer++) {
      g_autofree char *name = g_strdup_printf("%" G_GUINT64_FORMAT, layer);
      if (layers->kinds[layer] == unit)
        json_block(json, layers, first, end, name, layers->unit_parameters[unit]);
    }
  }
  base_json_end(json);
  base_json_end(json);
}

static CliExit layers(gconstpointer data, GError **error) {
  const Layers *asked = data;
  if (asked->json && asked->output != NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "layers: --json prints, -o writes a layer profile: choose one");
    return CLI_INPUT;
  }
  g_autoptr(Study) study = cli_open_study(&asked->settings, asked->words[0], error);
  g_autoptr(StudyLayers) found = study != NULL ? study_layers(study, error) : NULL;
  if (found == NULL)
    return CLI_INPUT;
  if (asked->output != NULL)
    return cli_profile_write(found, asked->output, error) ? CLI_DONE : CLI_FAULT;
  g_autoptr(GString) text = g_string_new(NULL);
  (asked->json ? print_json : print_text)(found, text);
  cli_print(text->str);
  return CLI_DONE;
}

const CliVerb cli_layers = {
    "layers", "WORKLOAD",     "operations per layer and direction; -o writes them as a layer profile",
    options,  sizeof(Layers), NULL,
    layers};
