/* SPDX-License-Identifier: MIT */
/* Names by metrics, and by settings where those are not enough. */
#include "report-names.h"

#include <string.h>

#include "report-points.h"

/* Settings that metrics tell already, or that follow from others. */
static const char *const told[] = {"cluster.topology",
                                   "cluster.nodes",
                                   "parallel.framework",
                                   "parallel.zero_stage",
                                   "training.micro_batch",
                                   "training.sequence_length",
                                   "training.gradient_accumulation",
                                   "training.global_batch",
                                   "training.precision",
                                   "training.activation_checkpointing",
                                   NULL};

static void add_setting(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values,
                        gpointer user) {
  if (!g_strv_contains(told, values[0]))
    g_hash_table_insert(user, g_strdup(values[0]), g_strdup(values[1]));
}

/* Those that are not defaults, by name. */
static GHashTable *settings_of(StoreDb *db, gint64 run_id, GError **error) {
  g_autoptr(GHashTable) settings = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  if (!store_db_query(db, "SELECT name, value FROM setting WHERE run_id = ?1 AND origin <> 'default' ORDER BY name",
                      run_id, add_setting, settings, error))
    return NULL;
  return g_steal_pointer(&settings);
}

/* Runs of one name. */
typedef struct {
  GArray *runs;        /* guint, their places */
  GPtrArray *settings; /* GHashTable of each */
} Alike;

static void alike_free(gpointer data) {
  Alike *alike = data;
  g_array_unref(alike->runs);
  g_ptr_array_unref(alike->settings);
  g_free(alike);
}

static gboolean differs(const Alike *alike, const char *setting) {
  const char *first = g_hash_table_lookup(alike->settings->pdata[0], setting);
  for (guint i = 1; i < alike->settings->len; i++)
    if (g_strcmp0(first, g_hash_table_lookup(alike->settings->pdata[i], setting)) != 0)
      return TRUE;
  return FALSE;
}

static gint by_text(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Settings in which they differ, in order of name; borrowed. */
static GPtrArray *differing(const Alike *alike) {
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  GPtrArray *names = g_ptr_array_new();
  for (guint i = 0; i < alike->settings->len; i++) {
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, alike->settings->pdata[i]);
    while (g_hash_table_iter_next(&iter, &name, NULL))
      if (g_hash_table_add(seen, name) && differs(alike, name))
        g_ptr_array_add(names, name);
  }
  g_ptr_array_sort(names, by_text);
  return names;
}

static void tell_apart(const Alike *alike, GPtrArray *names) {
  g_autoptr(GPtrArray) settings = differing(alike);
  for (guint i = 0; i < alike->runs->len; i++) {
    GString *longer = g_string_new(names->pdata[g_array_index(alike->runs, guint, i)]);
    for (guint s = 0; s < settings->len; s++) {
      const char *name = settings->pdata[s], *dot = strrchr(name, '.');
      const char *value = g_hash_table_lookup(alike->settings->pdata[i], name);
      g_string_append_printf(longer, "%s%s %s", longer->len > 0 ? ", " : "", dot != NULL ? dot + 1 : name,
                             value != NULL ? value : "as by default");
    }
    char **place = (char **)&names->pdata[g_array_index(alike->runs, guint, i)];
    g_free(*place);
    *place = g_string_free(longer, FALSE);
  }
}

static gboolean add_alike(StoreDb *db, const GArray *run_ids, guint run, const char *name, GHashTable *groups,
                          GPtrArray *order, GError **error) {
  Alike *alike = g_hash_table_lookup(groups, name);
  if (alike == NULL) {
    alike = g_new(Alike, 1);
    *alike = (Alike){g_array_new(FALSE, FALSE, sizeof(guint)),
                     g_ptr_array_new_with_free_func((GDestroyNotify)g_hash_table_unref)};
    g_hash_table_insert(groups, g_strdup(name), alike);
    g_ptr_array_add(order, alike);
  }
  GHashTable *settings = settings_of(db, g_array_index(run_ids, gint64, run), error);
  if (settings == NULL)
    return FALSE;
  g_array_append_val(alike->runs, run);
  g_ptr_array_add(alike->settings, settings);
  return TRUE;
}

GPtrArray *report_names(StoreDb *db, const GArray *run_ids, const char *const *without, GError **error) {
  g_autoptr(GPtrArray) metrics = report_differing(db, run_ids, error);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free), order = g_ptr_array_new();
  g_autoptr(GHashTable) groups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, alike_free);
  if (metrics == NULL)
    return NULL;
  for (; without != NULL && *without != NULL; without++)
    g_ptr_array_remove(metrics, (gpointer)store_metric_find(*without));
  for (guint i = 0; i < run_ids->len; i++) {
    char *name = report_run_name(db, g_array_index(run_ids, gint64, i), metrics, error);
    if (name == NULL || !add_alike(db, run_ids, i, name, groups, order, error)) {
      g_free(name);
      return NULL;
    }
    g_ptr_array_add(names, name);
  }
  for (guint i = 0; i < order->len; i++)
    tell_apart(order->pdata[i], names);
  return g_steal_pointer(&names);
}
