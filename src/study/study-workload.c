/* SPDX-License-Identifier: MIT */
/* A workload's file from settings: group by group, what somebody gave. */
#include <string.h>

#include "conf-path.h"
#include "conf-schema.h"
#include "hw-cluster.h"
#include "study-recipe.h"
#include "study-walk.h"

typedef struct {
  const ConfSettings *settings;
  const char *folder;
  GString *text, *left_out;
  char *group; /* of the last line */
} Writing;

static gboolean is_of_topology(const char *name) {
  for (gsize i = 0; i < hw_topology_schema.n_keys; i++) {
    const BaseField *key = &hw_topology_schema.keys[i];
    gsize length = strlen(key->group);
    if (strncmp(name, key->group, length) == 0 && name[length] == '.' && strcmp(name + length + 1, key->key) == 0)
      return TRUE;
  }
  return FALSE;
}

/* A file that is found by its name wherever the workload lies keeps it; another gets its whole path. Caller frees. */
static char *value_from(const Writing *writing, const char *name, const char *value) {
  const BaseField *field = conf_settings_field(writing->settings, name);
  gboolean is_file = field->kind == BASE_PATH || strcmp(name, "cluster.topology") == 0;
  BasePlace place;
  conf_settings_place(writing->settings, name, &place);
  if (!is_file || g_path_is_absolute(value))
    return g_strdup(value);
  g_autofree char *folder = place.file != NULL ? g_path_get_dirname(place.file) : g_strdup("");
  g_autofree char *beside = g_path_is_absolute(folder) ? g_canonicalize_filename(value, folder) : NULL;
  g_autofree char *shipped = conf_path_find(value, NULL, "workloads", NULL, NULL, NULL);
  g_autofree char *found = shipped != NULL ? g_canonicalize_filename(shipped, NULL) : NULL;
  if (beside != NULL && g_file_test(beside, G_FILE_TEST_IS_REGULAR))
    return g_strdup(g_strcmp0(beside, found) == 0 ? value : beside);
  gboolean here = g_file_test(value, G_FILE_TEST_IS_REGULAR) && strcmp(writing->folder, ".") != 0;
  return here ? g_canonicalize_filename(value, NULL) : g_strdup(value);
}

static void write_setting(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  Writing *writing = user;
  if (origin == CONF_ORIGIN_DEFAULT || origin == CONF_ORIGIN_RECIPE)
    return;
  if (is_of_topology(name)) {
    g_string_append_printf(writing->left_out, "; a topology says this: --set %s=\"%s\"\n", name, value);
    return;
  }
  const char *dot = strchr(name, '.');
  g_autofree char *group = g_strndup(name, (gsize)(dot - name)), *text = value_from(writing, name, value);
  if (g_strcmp0(group, writing->group) != 0) {
    g_string_append_printf(writing->text, "%s[%s]\n", writing->text->len > 0 ? "\n" : "", group);
    g_free(writing->group);
    writing->group = g_strdup(group);
  }
  g_string_append_printf(writing->text, "%s = %s\n", dot + 1, text);
}

gboolean study_print_workload(const Study *study, const char *folder, GString *text, GError **error) {
  g_autoptr(GString) left_out = g_string_new(NULL), settings = g_string_new(NULL);
  Writing writing = {study->settings, folder, settings, left_out, NULL};
  conf_settings_visit(study->settings, write_setting, &writing);
  g_free(writing.group);
  if (!g_utf8_validate(settings->str, (gssize)settings->len, NULL)) {
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_INPUT, "a file's name is not UTF-8: a workload cannot name it");
    return FALSE;
  }
  g_string_append_printf(text, "; %s, as foretrain advises it\n%s%s", study->workload, left_out->str, settings->str);
  return TRUE;
}
