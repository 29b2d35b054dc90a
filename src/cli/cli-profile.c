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

static const char *const units[] = {"embedding", "layer", "head", NULL};
static const char *const directions[] = {"forward", "backward", NULL};

guint cli_profile_unit(const char *unit) {
  return (guint)MAX(base_names_find(units, unit), 0);
}

static void print_row(const StudyLayers *layers, guint unit, const char *layer, const char *direction, GString *text) {
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

static GString *profile(const StudyLayers *layers) {
  GString *text = g_string_new("layer,phase,time_us,flops,bytes,activation_bytes,parameters\n");
  for (guint unit = 0; units[unit] != NULL; unit++) {
    guint64 copies = strcmp(units[unit], "layer") == 0 ? layers->layers : 1;
    for (guint64 layer = 0; layer < copies; layer++) {
      g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, layer);
      const char *name = strcmp(units[unit], "layer") == 0 ? number : units[unit];
      for (guint d = 0; directions[d] != NULL; d++)
        print_row(layers, unit, name, directions[d], text);
    }
  }
  return text;
}

gboolean cli_profile_write(const StudyLayers *layers, const char *path, GError **error) {
  g_autoptr(GString) text = profile(layers);
  return cli_write(path, text->str, error);
}
