/* SPDX-License-Identifier: MIT */
/* Finds, checks and lays the overlay. */
#include "hw-overlay.h"

#include "base-names.h"
#include "conf-settings.h"

const char *const hw_overlay_keys[] = {
    "environment.launch_floor", "environment.hop_latency", "node.intra_achievable", "node.nic_achievable",
    "node.matmul_rate",         "node.memory_rate",        "node.host_rate",        NULL};

typedef struct {
  char *of_topology, *of_cluster;
} Named;

#define OVERLAY(in_group, field)                                                                                       \
  { BASE_FIELD(in_group, "overlay", BASE_PATH, Named, field) }

static const BaseField named_keys[] = {OVERLAY("environment", of_topology), OVERLAY("cluster", of_cluster)};
static const ConfSchema named_schema = {named_keys, G_N_ELEMENTS(named_keys)};

gboolean hw_overlay_path(const ConfSettings *settings, char **ret, GError **error) {
  Named named = {0};
  if (!conf_settings_fill(settings, &named_schema, &named, error)) {
    conf_struct_clear(&named_schema, &named);
    return FALSE;
  }
  *ret = g_strdup(named.of_cluster != NULL ? named.of_cluster : named.of_topology);
  conf_struct_clear(&named_schema, &named);
  return TRUE;
}

static gboolean check_keys(const ConfText *text, GError **error) {
  for (const char *const *group = conf_text_groups(text); *group != NULL; group++)
    for (const char *const *key = conf_text_keys(text, *group); key != NULL && *key != NULL; key++) {
      g_autofree char *name = g_strdup_printf("%s.%s", *group, *key);
      if (g_strv_contains(hw_overlay_keys, name))
        continue;
      g_autofree char *advice = base_names_advice(hw_overlay_keys, name);
      BasePlace place;
      conf_text_place(text, *group, *key, &place);
      base_error_set_at(error, &place, "an overlay holds measured figures alone%s", advice);
      return FALSE;
    }
  return TRUE;
}

gboolean hw_overlay_load(ConfSettings *settings, const char *path, GError **error) {
  g_autoptr(ConfText) text = conf_text_load(path, error);
  return text != NULL && check_keys(text, error) && conf_settings_load_text(settings, text, CONF_ORIGIN_FILE, error);
}
