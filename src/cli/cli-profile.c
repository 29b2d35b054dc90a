/* SPDX-License-Identifier: MIT */
/* Sums per unit and direction as rows of CSV. */
#include "cli-profile.h"

#include <string.h>

#include "base-names.h"
#include "cli-write.h"

void cli_profile_add(CliProfileSum *sum, const StudyLayerOp *op) {
  sum->flops += op->flops;
  sum->bytes += op->bytes;
  sum->activations += op->activation_bytes;
  sum->time += op->time;
}

static const char *const directions[] = {"forward", "backward", NULL};

ModelUnitKind cli_profile_unit(const char *unit) {
  return (ModelUnitKind)MAX(base_names_find(model_unit_names, unit), 0);
}

static void print_row(const StudyLayers *layers, ModelUnitKind unit, const char *layer, const char *direction,
                      GString *text) {
  CliProfileSum sum = {0};
  for (guint i = 0; i < layers->n_ops; i++)
    if (cli_profile_unit(layers->ops[i].unit) == unit && strcmp(layers->ops[i].direction, direction) == 0)
      cli_profile_add(&sum, &layers->ops[i]);
  g_string_append_printf(text,
                         "%s,%s,%" G_GINT64_FORMAT ".%06" G_GINT64_FORMAT ",%.0f,%" G_GUINT64_FORMAT
                         ",%" G_GUINT64_FORMAT ",%" G_GUINT64_FORMAT "\n",
                         layer, direction, sum.time / SIM_MICROSECOND, sum.time % SIM_MICROSECOND, sum.flops, sum.bytes,
                         sum.activations, layers->unit_parameters[unit]);
}

static void print_rows(const StudyLayers *layers, ModelUnitKind unit, const char *layer, GString *text) {
  for (guint d = 0; directions[d] != NULL; d++)
    print_row(layers, unit, layer, directions[d], text);
}

static GString *profile(const StudyLayers *layers) {
  GString *text = g_string_new("layer,phase,time_us,flops,bytes,activation_bytes,parameters\n");
  print_rows(layers, MODEL_UNIT_EMBEDDING, model_unit_names[MODEL_UNIT_EMBEDDING], text);
  if (layers->between)
    print_rows(layers, MODEL_UNIT_BETWEEN, model_unit_names[MODEL_UNIT_BETWEEN], text);
  for (guint64 layer = 0; layer < layers->layers; layer++) {
    g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, layer);
    print_rows(layers, layers->kinds[layer], number, text);
  }
  print_rows(layers, MODEL_UNIT_HEAD, model_unit_names[MODEL_UNIT_HEAD], text);
  return text;
}

gboolean cli_profile_write(const StudyLayers *layers, const char *path, GError **error) {
  g_autoptr(GString) text = profile(layers);
  return cli_write(path, text->str, error);
}
