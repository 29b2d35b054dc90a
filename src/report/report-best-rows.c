/* SPDX-License-Identifier: MIT */
/* Values by run and name, defaults where there is none. */
#include "report-best-rows.h"

#include <string.h>

#include "store-points.h"
#include "study-setting.h"

struct ReportChosen {
  StudySettings *settings;
  gint64 *run_ids;
  guint n;
  GPtrArray *names;   /* interned */
  GHashTable *values; /* "run name" to value */
};

static void take(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values,
                 gpointer user) {
  ReportChosen *chosen = user;
  const char *name = g_intern_string(values[1]);
  if (strchr(name, '.') != NULL && !g_ptr_array_find(chosen->names, name, NULL))
    g_ptr_array_add(chosen->names, (gpointer)name);
  g_hash_table_insert(chosen->values, g_strdup_printf("%s %s", values[0], name), g_strdup(values[2]));
}

static const char *value_of(const ReportChosen *chosen, const char *name, guint row) {
  g_autofree char *key = g_strdup_printf("%" G_GINT64_FORMAT " %s", chosen->run_ids[row], name);
  const char *value = g_hash_table_lookup(chosen->values, key);
  StoreSettingFound found;
  if (value == NULL && study_settings_find(name, &found, chosen->settings))
    value = found.usual;
  return value;
}

static gboolean varies(const ReportChosen *chosen, const char *name) {
  for (guint i = 1; i < chosen->n; i++)
    if (g_strcmp0(value_of(chosen, name, 0), value_of(chosen, name, i)) != 0)
      return TRUE;
  return FALSE;
}

ReportChosen *report_chosen_new(StoreDb *db, const GArray *best, const char *const *shown, GError **error) {
  g_autoptr(ReportChosen) chosen = g_new0(ReportChosen, 1);
  chosen->settings = study_settings_open();
  chosen->n = best->len;
  chosen->run_ids = g_new(gint64, best->len);
  chosen->names = g_ptr_array_new();
  chosen->values = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  for (guint i = 0; i < best->len; i++)
    chosen->run_ids[i] = g_array_index(best, StoreBest, i).run_id;
  if (!store_db_chosen(db, chosen->run_ids, chosen->n, take, chosen, error))
    return NULL;
  for (guint i = chosen->names->len; i-- > 0;) {
    const char *name = g_ptr_array_index(chosen->names, i);
    if (g_strv_contains(shown, strchr(name, '.') + 1) || !varies(chosen, name))
      g_ptr_array_remove_index(chosen->names, i);
  }
  return g_steal_pointer(&chosen);
}

void report_chosen_free(ReportChosen *chosen) {
  if (chosen == NULL)
    return;
  study_settings_close(chosen->settings);
  g_free(chosen->run_ids);
  g_ptr_array_unref(chosen->names);
  g_hash_table_unref(chosen->values);
  g_free(chosen);
}

guint report_chosen_count(const ReportChosen *chosen) {
  return chosen->names->len;
}

const char *report_chosen_name(const ReportChosen *chosen, guint i) {
  return g_ptr_array_index(chosen->names, i);
}

const char *report_chosen_value(const ReportChosen *chosen, guint i, guint row) {
  return value_of(chosen, report_chosen_name(chosen, i), row);
}
