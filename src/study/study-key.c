/* SPDX-License-Identifier: MIT */
/* Canonical text into a checksum. */
#include "study-key.h"

#include "conf-data.h"

static void add_line(GString *text, const char *name, const char *value) {
  g_string_append(text, name);
  g_string_append(text, " = ");
  g_string_append(text, value);
  g_string_append_c(text, '\n');
}

static void add_setting(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  (void)origin; /* where a value came from does not change what it is */
  add_line(user, name, value);
}

static gboolean add_file(const char *path, GChecksum *sum, GError **error) {
  gsize length;
  g_autofree char *text = conf_data_small_text(path, &length, error);
  if (text == NULL)
    return FALSE;
  g_checksum_update(sum, (const guchar *)text, (gssize)length);
  return TRUE;
}

char *study_key(const ConfSettings *settings, const GChecksum *figures, guint64 parameters, const char *fidelity,
                gboolean contention, const char *profile, GError **error) {
  g_autoptr(GChecksum) sum = g_checksum_copy(figures);
  g_autoptr(GString) text = g_string_sized_new(4096);
  g_autofree char *count = g_strdup_printf("%" G_GUINT64_FORMAT, parameters);
  add_line(text, "model_version", RUN_MODEL_VERSION);
  add_line(text, "parameters", count);
  add_line(text, "fidelity", fidelity);
  add_line(text, "contention", contention ? "on" : "off");
  conf_settings_visit(settings, add_setting, text);
  g_checksum_update(sum, (const guchar *)text->str, (gssize)text->len);
  if (profile != NULL && !add_file(profile, sum, error))
    return NULL;
  return g_strdup(g_checksum_get_string(sum));
}

static void keep_setting(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  RunSetting setting = {g_strdup(name), g_strdup(value), g_strdup(conf_origin_names[origin])};
  g_array_append_val((GArray *)user, setting);
}

void study_key_settings(const ConfSettings *settings, RunIdentity *ret) {
  GArray *kept = g_array_new(FALSE, FALSE, sizeof(RunSetting));
  conf_settings_visit(settings, keep_setting, kept);
  ret->n_settings = kept->len;
  ret->settings = (RunSetting *)g_array_free(kept, FALSE);
}
