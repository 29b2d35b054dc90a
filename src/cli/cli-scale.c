/* SPDX-License-Identifier: MIT */
/* "compute=0.5" to a factor. */
#include "cli-scale.h"

#include "base-error.h"
#include "base-names.h"
#include "base-quantity.h"

static gboolean read_scale(const char *text, StudyReplay *replay, GError **error) {
  static const char *const names[] = {"compute", NULL};
  g_auto(GStrv) parts = g_strsplit(text, "=", 2);
  g_autofree char *advice = base_names_advice(names, parts[0] != NULL ? parts[0] : "");
  g_autoptr(GError) local = NULL;
  double factor;
  if (parts[0] == NULL || base_names_find(names, parts[0]) < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--scale: nothing to scale is called \"%s\"%s",
                parts[0] != NULL ? parts[0] : "", advice);
    return FALSE;
  }
  if (parts[1] == NULL || !base_quantity_parse(parts[1], BASE_UNIT_NONE, &factor, &local) || factor < 1e-6 ||
      factor > 1e6) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--scale: expected compute=F, F from 1e-6 to 1e6, found \"%s\"",
                text);
    return FALSE;
  }
  replay->compute_scale = factor;
  return TRUE;
}

gboolean cli_scale(const char *const *texts, StudyReplay *replay, GError **error) {
  for (; texts != NULL && *texts != NULL; texts++)
    if (!read_scale(*texts, replay, error))
      return FALSE;
  return TRUE;
}
