/* Two shelves, machines and models, each found by the settings that decide it. */
#include "study-cache.h"

#include <string.h>

#include "study-walk.h"

#define MOST_KEPT 32 /* of each shelf: a grid's machines and models recur in turn */

/* NCCL's tables for one architecture, as read. */
typedef struct {
  char *version; /* as [nccl] names it; NULL: not */
  const char *architecture;
  CollLibrary *library; /* of no cluster that still need exist: only its tables are taken */
  GBytes *text;         /* of the files, which run keys hash */
} Tables;

struct StudyCache {
  HwCatalog *catalog; /* NULL until needed */
  GHashTable *machines, *models;
  GArray *tables;         /* Tables */
  Trust *trust;           /* NULL until needed */
  ConfSettings *defaults; /* likewise */
};

static void machine_free(gpointer data) {
  StudyMachine *machine = data;
  if (machine->figures != NULL)
    g_checksum_free(machine->figures);
  coll_library_free(machine->library);
  hw_cluster_free(machine->cluster);
  conf_settings_free(machine->laid);
  g_free(machine);
}

static void model_free(gpointer data) {
  StudyModel *model = data;
  model_shape_clear(&model->shape);
  conf_settings_free(model->laid);
  g_free(model);
}

static void tables_clear(gpointer data) {
  Tables *tables = data;
  g_free(tables->version);
  coll_library_free(tables->library);
  g_bytes_unref(tables->text);
}

StudyCache *study_cache_new(void) {
  StudyCache *cache = g_new0(StudyCache, 1);
  cache->tables = g_array_new(FALSE, FALSE, sizeof(Tables));
  g_array_set_clear_func(cache->tables, tables_clear);
  cache->machines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, machine_free);
  cache->models = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, model_free);
  return cache;
}

void study_cache_free(StudyCache *cache) {
  if (cache == NULL)
    return;
  g_hash_table_unref(cache->machines);
  g_hash_table_unref(cache->models);
  g_array_unref(cache->tables);
  hw_catalog_free(cache->catalog);
  trust_free(cache->trust);
  conf_settings_free(cache->defaults);
  g_free(cache);
}

/* All given values of the schemas' keys, and where they stand: relative paths start there, and errors name it. */
static char *key_of(const ConfSettings *settings, const ConfSchema *const *schemas) {
  GString *key = g_string_new(NULL);
  for (; *schemas != NULL; schemas++)
    conf_settings_append_given(settings, *schemas, key);
  return g_string_free(key, FALSE);
}

static void keep(GHashTable *shelf, char *key, gpointer made) {
  if (g_hash_table_size(shelf) >= MOST_KEPT)
    g_hash_table_remove_all(shelf);
  g_hash_table_insert(shelf, key, made);
}

const HwCatalog *study_cache_catalog(StudyCache *cache, GError **error) {
  if (cache->catalog == NULL)
    cache->catalog = hw_catalog_load(error);
  if (cache->catalog != NULL)
    hw_catalog_forget_used(cache->catalog);
  return cache->catalog;
}

const Trust *study_cache_trust(StudyCache *cache, GError **error) {
  if (cache->trust == NULL)
    cache->trust = trust_load(error);
  return cache->trust;
}

const ConfSettings *study_cache_defaults(StudyCache *cache) {
  if (cache->defaults == NULL)
    cache->defaults = study_settings_new();
  return cache->defaults;
}

static void add_figure(const char *name, const char *value, gpointer user) {
  g_autofree char *line = g_strdup_printf("%s = %s\n", name, value);
  g_checksum_update(user, (const guchar *)line, -1);
}

StudyMachine *study_cache_machine(StudyCache *cache, ConfSettings *settings, GError **error) {
  static const ConfSchema *const schemas[] = {&hw_cluster_schema, &hw_topology_schema, &coll_knobs_schema, NULL};
  g_autofree char *key = key_of(settings, schemas);
  StudyMachine *machine = g_hash_table_lookup(cache->machines, key);
  if (machine != NULL) {
    conf_settings_take(settings, machine->laid, &hw_topology_schema);
    return machine;
  }
  HwCluster *cluster =
      study_cache_catalog(cache, error) != NULL ? hw_cluster_build(settings, cache->catalog, error) : NULL;
  if (cluster == NULL)
    return NULL;
  machine = g_new0(StudyMachine, 1);
  machine->cluster = cluster;
  machine->laid = conf_settings_copy(settings);
  machine->figures = g_checksum_new(G_CHECKSUM_SHA256);
  hw_catalog_visit_used(cache->catalog, add_figure, machine->figures);
  keep(cache->machines, g_steal_pointer(&key), machine);
  return machine;
}

/* NULL on error. */
static GBytes *read_files(const char *table, GError **error) {
  g_auto(GStrv) files = coll_tuning_files(table, error);
  g_autoptr(GByteArray) all = g_byte_array_new();
  for (char **file = files; file != NULL && *file != NULL; file++) {
    g_autofree char *text = NULL;
    gsize length;
    if (!g_file_get_contents(*file, &text, &length, error))
      return NULL;
    g_byte_array_append(all, (const guint8 *)text, (guint)length);
  }
  return files != NULL ? g_byte_array_free_to_bytes(g_steal_pointer(&all)) : NULL;
}

static const Tables *find_tables(StudyCache *cache, const HwCluster *cluster, const CollKnobs *knobs, GError **error) {
  for (guint i = 0; i < cache->tables->len; i++) {
    const Tables *tables = &g_array_index(cache->tables, Tables, i);
    if (g_strcmp0(tables->version, knobs->version) == 0 &&
        strcmp(tables->architecture, cluster->gpu->architecture) == 0)
      return tables;
  }
  g_autoptr(CollLibrary) library = coll_library_new(cluster, knobs, error);
  GBytes *text = library != NULL ? read_files(library->table, error) : NULL;
  if (text == NULL)
    return NULL;
  Tables tables = {g_strdup(knobs->version), cluster->gpu->architecture, g_steal_pointer(&library), text};
  g_array_append_val(cache->tables, tables);
  return &g_array_index(cache->tables, Tables, cache->tables->len - 1);
}

gboolean study_machine_connect(StudyCache *cache, StudyMachine *machine, const CollKnobs *knobs, GError **error) {
  if (machine->library != NULL)
    return TRUE;
  const Tables *tables = find_tables(cache, machine->cluster, knobs, error);
  const Trust *trust = tables != NULL ? study_cache_trust(cache, error) : NULL;
  if (trust == NULL)
    return FALSE;
  gsize length;
  const guchar *text = g_bytes_get_data(tables->text, &length);
  g_checksum_update(machine->figures, text, (gssize)length);
  g_checksum_update(machine->figures, (const guchar *)trust_sum(trust), -1);
  machine->library = coll_library_new_like(tables->library, machine->cluster, knobs);
  return TRUE;
}

const ModelShape *study_cache_model(StudyCache *cache, ConfSettings *settings, GError **error) {
  static const ConfSchema *const schemas[] = {&model_shape_schema, NULL};
  g_autofree char *given = key_of(settings, schemas);
  const char *length = conf_settings_get(settings, "training.sequence_length"); /* some shapes grow with it */
  g_autofree char *key = g_strconcat(given, length, NULL);
  StudyModel *model = g_hash_table_lookup(cache->models, key);
  if (model != NULL) {
    conf_settings_take(settings, model->laid, &model_shape_schema);
    return &model->shape;
  }
  model = g_new0(StudyModel, 1);
  if (!model_shape_load(settings, &model->shape, error) || !model_shape_record(&model->shape, settings, error)) {
    model_free(model);
    return NULL;
  }
  model->laid = conf_settings_copy(settings);
  keep(cache->models, g_steal_pointer(&key), model);
  return &model->shape;
}
