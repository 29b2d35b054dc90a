/* SPDX-License-Identifier: MIT */
/* The topology file: found, checked to be one, laid between the defaults and --set. */
#include "hw-topology.h"

#include <string.h>

#include "base-names.h"
#include "conf-path.h"
#include "conf-settings.h"
#include "hw-cluster.h"
#include "hw-instance.h"
#include "hw-overlay.h"

static gboolean refuse_group(const ConfText *text, const char *group, GError **error) {
  g_autoptr(GPtrArray) known = g_ptr_array_new();
  for (gsize i = 0; i < hw_topology_schema.n_keys; i++) {
    const char *name = hw_topology_schema.keys[i].group;
    if (known->len == 0 || strcmp(g_ptr_array_index(known, known->len - 1), name) != 0)
      g_ptr_array_add(known, (gpointer)name);
  }
  g_ptr_array_add(known, NULL);
  const char *const *names = (const char *const *)known->pdata;
  if (g_strv_contains(names, group))
    return TRUE;
  BasePlace place;
  conf_text_place(text, group, NULL, &place);
  place.key = NULL;
  g_autofree char *advice = base_names_advice(names, group);
  base_error_set_at(error, &place, "a topology has no group [%s]%s", group, advice);
  return FALSE;
}

typedef struct {
  const ConfSettings *settings;
  const char *path, *overlay; /* overlay: of an earlier load of the same settings; NULL: none */
  GError **error;
  gboolean clean;
} Stray;

static void refuse_stray(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  (void)value;
  Stray *stray = user;
  if (!stray->clean || (origin != CONF_ORIGIN_FILE && origin != CONF_ORIGIN_RECIPE))
    return;
  gboolean ours = FALSE;
  for (gsize i = 0; i < hw_topology_schema.n_keys && !ours; i++) {
    const BaseField *key = &hw_topology_schema.keys[i];
    const char *rest = g_str_has_prefix(name, key->group) ? name + strlen(key->group) : "";
    ours = *rest == '.' && strcmp(rest + 1, key->key) == 0;
  }
  BasePlace place;
  conf_settings_place(stray->settings, name, &place);
  if (ours && g_strcmp0(place.file, stray->path) != 0 &&
      (stray->overlay == NULL || g_strcmp0(place.file, stray->overlay) != 0))
    stray->clean =
        conf_settings_fail(stray->settings, name, stray->error,
                           "the topology %s says this; use [cluster] or --set to differ from it", stray->path);
}

/* Before anything else misses them: it is this file that lacks them. */
static gboolean check_required(const ConfSettings *settings, const char *path, GError **error) {
  for (gsize i = 0; i < hw_topology_schema.n_keys; i++) {
    const BaseField *key = &hw_topology_schema.keys[i];
    if (!key->required)
      continue;
    g_autofree char *name = g_strdup_printf("%s.%s", key->group, key->key);
    if (conf_settings_get(settings, name) != NULL)
      continue;
    BasePlace place = {.file = path, .key = name};
    base_error_set_at(error, &place, "is missing: write \"%s = ...\" under [%s] (%s)", key->key, key->group, key->help);
    return FALSE;
  }
  return TRUE;
}

static gboolean load_topology(ConfSettings *settings, const char *path, ConfText **ret_text, GError **error) {
  g_autoptr(ConfText) text = conf_text_load(path, error);
  if (text == NULL)
    return FALSE;
  for (const char *const *group = conf_text_groups(text); *group != NULL; group++)
    if (!refuse_group(text, *group, error))
      return FALSE;
  g_autofree char *overlay = NULL;
  if (!hw_overlay_path(settings, &overlay, error))
    return FALSE;
  Stray stray = {settings, path, overlay, error, TRUE};
  conf_settings_visit(settings, refuse_stray, &stray);
  if (!stray.clean || !conf_settings_load_text(settings, text, CONF_ORIGIN_FILE, error) ||
      !check_required(settings, path, error))
    return FALSE;
  *ret_text = g_steal_pointer(&text);
  return TRUE;
}

/* Of what a cloud calls the machine; `none` says that it is no file. */
static char *instance_path(const char *name, const BasePlace *place, const GError *none, GError **error) {
  g_autofree char *near = NULL;
  g_autofree char *topology = hw_instance_topology(name, &near);
  if (topology != NULL)
    return conf_path_find(topology, ".ini", "topologies", NULL, place, error);
  if (near != NULL && strstr(none->message, "did you mean") == NULL)
    g_set_error(error, none->domain, none->code, "%s; did you mean the instance \"%s\"?", none->message, near);
  else if (error != NULL)
    *error = g_error_copy(none);
  return NULL;
}

char *hw_topology_find(const char *name, const char *beside, const BasePlace *place, GError **error) {
  g_autoptr(GError) none = NULL;
  char *path = conf_path_find(name, ".ini", "topologies", beside, place, &none);
  return path != NULL ? path : instance_path(name, place, none, error);
}

static char *topology_path(const ConfSettings *settings, const char *name, GError **error) {
  BasePlace place;
  conf_settings_place(settings, "cluster.topology", &place);
  gboolean named_in_file = place.file != NULL && g_file_test(place.file, G_FILE_TEST_IS_REGULAR);
  g_autofree char *beside = named_in_file ? g_path_get_dirname(place.file) : NULL;
  return hw_topology_find(name, beside, &place, error);
}

static char *bare_name(const char *path) {
  char *name = g_path_get_basename(path);
  if (g_str_has_suffix(name, ".ini"))
    name[strlen(name) - strlen(".ini")] = '\0';
  return name;
}

char *hw_topology_load(ConfSettings *settings, const char *name, ConfText **ret_text, GError **error) {
  g_autofree char *path = topology_path(settings, name, error);
  return path != NULL && load_topology(settings, path, ret_text, error) ? bare_name(path) : NULL;
}
