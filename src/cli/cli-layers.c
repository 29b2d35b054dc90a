/* foretrain layers: what a workload computes, operation by operation. */
#include <json-glib/json-glib.h>
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-table.h"
#include "cli-profile.h"
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

static void json_op(JsonBuilder *json, const StudyLayerOp *op) {
  json_builder_begin_object(json);
  json_builder_set_member_name(json, "name");
  json_builder_add_string_value(json, op->name);
  json_builder_set_member_name(json, "kind");
  json_builder_add_string_value(json, op->kind);
  json_builder_set_member_name(json, "flops");
  json_builder_add_double_value(json, op->flops);
  json_builder_set_member_name(json, "bytes");
  json_builder_add_int_value(json, (gint64)op->bytes);
  json_builder_set_member_name(json, "activation_bytes");
  json_builder_add_int_value(json, (gint64)op->activation_bytes);
  json_builder_set_member_name(json, "time_ps");
  json_builder_add_int_value(json, op->time);
  json_builder_end_object(json);
}

/* One object per layer and direction, in the order of execution forward, then backward. */
static void json_block(JsonBuilder *json, const StudyLayers *layers, guint first, guint end, const char *layer,
                       guint64 parameters) {
  CliProfileSum sum = {0};
  for (guint i = first; i < end; i++)
    cli_profile_add(&sum, &layers->ops[i]);
  json_builder_begin_object(json);
  json_builder_set_member_name(json, "layer");
  json_builder_add_string_value(json, layer);
  json_builder_set_member_name(json, "direction");
  json_builder_add_string_value(json, layers->ops[first].direction);
  json_builder_set_member_name(json, "parameters");
  json_builder_add_int_value(json, (gint64)parameters);
  json_builder_set_member_name(json, "flops");
  json_builder_add_double_value(json, sum.flops);
  json_builder_set_member_name(json, "bytes");
  json_builder_add_int_value(json, (gint64)sum.bytes);
  json_builder_set_member_name(json, "activation_bytes");
  json_builder_add_int_value(json, (gint64)sum.activations);
  json_builder_set_member_name(json, "time_ps");
  json_builder_add_int_value(json, sum.time);
  json_builder_set_member_name(json, "operations");
  json_builder_begin_array(json);
  for (guint i = first; i < end; i++)
    json_op(json, &layers->ops[i]);
  json_builder_end_array(json);
  json_builder_end_object(json);
}

static void print_json(const StudyLayers *layers, GString *text) {
  g_autoptr(JsonBuilder) json = json_builder_new();
  json_builder_begin_object(json);
  json_builder_set_member_name(json, "json_version");
  json_builder_add_int_value(json, REPORT_JSON_VERSION);
  json_builder_set_member_name(json, "model");
  json_builder_add_string_value(json, layers->model);
  json_builder_set_member_name(json, "parameters");
  json_builder_add_int_value(json, (gint64)layers->parameters);
  json_builder_set_member_name(json, "basis");
  json_builder_add_string_value(json, layers->basis);
  json_builder_set_member_name(json, "layers");
  json_builder_begin_array(json);
  for (guint first = 0, end; first < layers->n_ops; first = end) {
    const StudyLayerOp *op = &layers->ops[first];
    for (end = first + 1; end < layers->n_ops && same_block(op, &layers->ops[end]);)
      end++;
    guint unit = cli_profile_unit(op->unit);
    guint64 copies = unit == 1 ? layers->layers : 1;
    for (guint64 layer = 0; layer < copies; layer++) {
      g_autofree char *name = unit == 1 ? g_strdup_printf("%" G_GUINT64_FORMAT, layer) : g_strdup(op->unit);
      json_block(json, layers, first, end, name, layers->unit_parameters[unit]);
    }
  }
  json_builder_end_array(json);
  json_builder_end_object(json);
  g_autoptr(JsonNode) root = json_builder_get_root(json);
  g_autofree char *printed = json_to_string(root, TRUE);
  g_string_append_printf(text, "%s\n", printed);
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
  fputs(text->str, stdout);
  return CLI_DONE;
}

const CliVerb cli_layers = {
    "layers", "WORKLOAD",     "operations per layer and direction; -o writes them as a layer profile",
    options,  sizeof(Layers), NULL,
    layers};
