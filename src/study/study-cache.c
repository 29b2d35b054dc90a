/* SPDX-License-Identifier: MIT */
/* Shelves of machines, models and Programs, each found by the settings that decide it. */
#include "study-cache.h"

#include <string.h>

#include "plan-form.h"
#include "study-folded.h"
#include "study-walk.h"

/* Of each shelf, and in all: a grid's machines and models recur in turn. */
#define MOST_MACHINES 512
#define MOST_LINKS    200000 /* a few megabytes */
#define MOST_MODELS   512
#define MOST_PROGRAMS 4
#define MOST_FORMS    4
#define MOST_ROWS     40000 /* of a Program, lest long ones fill the memory */

/* NCCL's tables for one architecture, as read. */
typedef struct {
  char *version; /* as [nccl] names it; NULL: not */
  const char *architecture;
  CollLibrary *library; /* of no cluster that still need exist: only its tables and their text are taken */
} Tables;

typedef struct {
  char *key; /* NULL: none stands here yet */
  Program *program;
  guint64 number;
} Kept;

/* Programs that differ in how many tokens a micro-batch has. */
typedef struct {
  char *key; /* NULL: none stands here yet */
  PlanForm *form;
} Form;

struct StudyCache {
  HwCatalog *catalog; /* NULL until needed */
  GHashTable *machines, *models;
  GHashTable *played; /* GBytes, of study-played.h */
  RunRecall *recall;  /* NULL until needed */
  guint32 links;      /* of all machines */
  Kept programs[MOST_PROGRAMS];
  guint oldest;           /* Program */
  guint64 n_programs;     /* that were kept so far */
  Form forms[MOST_FORMS]; /* a ring */
  guint next_form;
  StudyFolded *folded;
  GArray *tables;         /* Tables */
  Trust *trust;           /* NULL until needed */
  ConfSettings *defaults; /* likewise */
  StudyPower *power;      /* likewise */
};

static void machine_free(gpointer data) {
  StudyMachine *machine = data;
  if (machine->figures != NULL)
    g_checksum_free(machine->figures);
  coll_library_free(machine->library);
  coll_library_free(machine->searches);
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
}

static void form_clear(Form *form) {
  g_free(form->key);
  plan_form_free(form->form);
  *form = (Form){NULL, NULL};
}

StudyCache *study_cache_new(void) {
  StudyCache *cache = g_new0(StudyCache, 1);
  cache->folded = study_folded_new();
  cache->tables = g_array_new(FALSE, FALSE, sizeof(Tables));
  g_array_set_clear_func(cache->tables, tables_clear);
  cache->machines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, machine_free);
  cache->models = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, model_free);
  cache->played = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
  return cache;
}

void study_cache_free(StudyCache *cache) {
  if (cache == NULL)
    return;
  study_folded_free(cache->folded);
  for (guint i = 0; i < MOST_PROGRAMS; i++) {
    g_free(cache->programs[i].key);
    program_free(cache->programs[i].program);
  }
  for (guint i = 0; i < MOST_FORMS; i++)
    form_clear(&cache->forms[i]);
  g_hash_table_unref(cache->played);
  run_recall_free(cache->recall);
  g_hash_table_unref(cache->machines);
  g_hash_table_unref(cache->models);
  g_array_unref(cache->tables);
  hw_catalog_free(cache->catalog);
  trust_free(cache->trust);
  conf_settings_free(cache->defaults);
  g_free(cache->power);
  g_free(cache);
}

GHashTable *study_cache_played(StudyCache *cache) {
  return cache->played;
}

StudyFolded *study_cache_folded(StudyCache *cache) {
  return cache->folded;
}

RunRecall *study_cache_recall(StudyCache *cache) {
  if (cache->recall == NULL)
    cache->recall = run_recall_new();
  return cache->recall;
}

guint64 study_cache_recalled(StudyCache *cache, guint64 *ret_missed) {
  *ret_missed = run_recall_missed(study_cache_recall(cache));
  return run_recall_met(cache->recall);
}

/* All given values of the schemas' keys, and the files they stand in: relative paths start there. */
static char *key_of(const ConfSettings *settings, const ConfSchema *const *schemas, const char *const *except) {
  GString *key = g_string_new(NULL);
  for (; *schemas != NULL; schemas++)
    conf_settings_append_given(settings, *schemas, except, key);
  return g_string_free(key, FALSE);
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

const StudyPower *study_cache_power(StudyCache *cache, GError **error) {
  StudyPower power;
  if (cache->power == NULL && study_power_load(&power, error))
    cache->power = g_memdup2(&power, sizeof power);
  return cache->power;
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

/* Its price is no part of a machine: points that differ in it share one. */
StudyMachine *study_cache_machine(StudyCache *cache, ConfSettings *settings, GError **error) {
  static const ConfSchema *const schemas[] = {&hw_cluster_schema, &hw_topology_schema, &coll_knobs_schema, NULL};
  g_autofree char *key = key_of(settings, schemas, hw_price_keys);
  StudyMachine *machine = g_hash_table_lookup(cache->machines, key);
  if (machine != NULL) {
    conf_settings_take(settings, machine->laid, &hw_topology_schema);
    return machine;
  }
  g_autoptr(ConfSettings) plain = conf_settings_copy(settings);
  for (const char *const *price = hw_price_keys; *price != NULL; price++)
    conf_settings_forget(plain, *price);
  HwCluster *cluster =
      study_cache_catalog(cache, error) != NULL ? hw_cluster_build(plain, cache->catalog, error) : NULL;
  if (cluster == NULL)
    return NULL;
  conf_settings_take(settings, plain, &hw_topology_schema);
  machine = g_new0(StudyMachine, 1);
  machine->cluster = cluster;
  machine->laid = g_steal_pointer(&plain);
  machine->figures = g_checksum_new(G_CHECKSUM_SHA256);
  hw_catalog_visit_used(cache->catalog, add_figure, machine->figures);
  if (g_hash_table_size(cache->machines) >= MOST_MACHINES || cache->links + cluster->n_links > MOST_LINKS) {
    g_hash_table_remove_all(cache->played);
    study_folded_forget(cache->folded);
    g_hash_table_remove_all(cache->machines);
    cache->links = 0;
  }
  cache->links += cluster->n_links;
  g_hash_table_insert(cache->machines, g_steal_pointer(&key), machine);
  return machine;
}

static const Tables *find_tables(StudyCache *cache, const HwCluster *cluster, const CollKnobs *knobs, GError **error) {
  for (guint i = 0; i < cache->tables->len; i++) {
    const Tables *tables = &g_array_index(cache->tables, Tables, i);
    if (g_strcmp0(tables->version, knobs->version) == 0 &&
        strcmp(tables->architecture, cluster->gpu->architecture) == 0)
      return tables;
  }
  g_autoptr(CollLibrary) library = coll_library_new(cluster, knobs, error);
  if (library == NULL)
    return NULL;
  Tables tables = {g_strdup(knobs->version), cluster->gpu->architecture, g_steal_pointer(&library)};
  g_array_append_val(cache->tables, tables);
  return &g_array_index(cache->tables, Tables, cache->tables->len - 1);
}

/* Searches of rings and trees take milliseconds, and a grid's machines mostly differ in what these do not see. */
static void share_searches(const StudyCache *cache, CollLibrary *library) {
  GHashTableIter iter;
  gpointer value;
  g_hash_table_iter_init(&iter, cache->machines);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    const StudyMachine *other = value;
    if ((other->library != NULL && coll_library_share(library, other->library)) ||
        (other->searches != NULL && coll_library_share(library, other->searches)))
      return;
  }
}

static CollLibrary *library_of(StudyCache *cache, const Tables *tables, const HwCluster *cluster,
                               const CollKnobs *knobs) {
  CollLibrary *library = coll_library_new_like(tables->library, cluster, knobs);
  share_searches(cache, library);
  return library;
}

CollLibrary *study_cache_library(StudyCache *cache, StudyMachine *machine, const CollKnobs *knobs, GError **error) {
  const Tables *tables = find_tables(cache, machine->cluster, knobs, error);
  if (tables == NULL)
    return NULL;
  CollLibrary *library = library_of(cache, tables, machine->cluster, knobs);
  if (machine->searches == NULL) {
    machine->searches = coll_library_new_like(tables->library, machine->cluster, knobs);
    coll_library_share(machine->searches, library);
  }
  return library;
}

gboolean study_machine_connect(StudyCache *cache, StudyMachine *machine, const CollKnobs *knobs, GError **error) {
  if (machine->library != NULL)
    return TRUE;
  const Tables *tables = find_tables(cache, machine->cluster, knobs, error);
  const Trust *trust = tables != NULL ? study_cache_trust(cache, error) : NULL;
  if (trust == NULL)
    return FALSE;
  gsize length;
  const guchar *text = g_bytes_get_data(tables->library->text, &length);
  g_checksum_update(machine->figures, text, (gssize)length);
  g_checksum_update(machine->figures, (const guchar *)trust_sum(trust), -1);
  machine->library = library_of(cache, tables, machine->cluster, knobs);
  return TRUE;
}

const ModelShape *study_cache_model(StudyCache *cache, ConfSettings *settings, GError **error) {
  static const ConfSchema *const schemas[] = {&model_shape_schema, NULL};
  g_autofree char *given = key_of(settings, schemas, NULL);
  const char *length = conf_settings_get(settings, "training.sequence_length"); /* some shapes grow with it */
  g_autofree char *key = g_strconcat(given, length, NULL);
  StudyModel *model = g_hash_table_lookup(cache->models, key);
  if (model != NULL) {
    conf_settings_take(settings, model->laid, &model_shape_schema);
    return model_shape_record_training(&model->shape, settings, error) ? &model->shape : NULL;
  }
  model = g_new0(StudyModel, 1);
  if (!model_shape_load(settings, &model->shape, error) || !model_shape_record(&model->shape, settings, error)) {
    model_free(model);
    return NULL;
  }
  model->laid = conf_settings_copy(settings);
  if (g_hash_table_size(cache->models) >= MOST_MODELS)
    g_hash_table_remove_all(cache->models);
  g_hash_table_insert(cache->models, g_steal_pointer(&key), model);
  return &model->shape;
}

/* All that plan sees, but for keys `except`. */
static char *program_key(const StudyWalk *walk, const char *const *except) {
  ConfSchema schemas[2 + PLAN_SCHEMAS_MOST] = {model_shape_schema, model_recipe_schema};
  gsize n = 2 + plan_schemas(schemas + 2, PLAN_SCHEMAS_MOST);
  GString *key = g_string_new(NULL);
  for (gsize i = 0; i < n; i++)
    conf_settings_append_given(walk->settings, &schemas[i], except, key);
  const HwHost *host = walk->recipe.host;
  const char *rate = conf_settings_get(walk->settings, "node.host_rate");
  g_string_append_printf(
      key, "%s%u ranks, %u per node, %" G_GUINT64_FORMAT " micro-batches, pages %d %" G_GUINT64_FORMAT ", %s %s",
      walk->every_section ? "walked " : "", walk->recipe.ranks, walk->recipe.ranks_per_node, walk->recipe.micro_batches,
      walk->recipe.pages_move, walk->recipe.pages_room, host != NULL ? host->name : "", rate != NULL ? rate : "");
  return g_string_free(key, FALSE);
}

char *study_cache_program_key(const StudyWalk *walk) {
  return program_key(walk, NULL);
}

/* What decides how many tokens a micro-batch has. Whether a batch was given decides no more than that. */
static char *form_key(const StudyWalk *walk) {
  static const char *const sizes[] = {"training.sequence_length", "training.micro_batch", "training.global_batch",
                                      NULL};
  g_autofree char *key = program_key(walk, sizes);
  return g_strdup_printf("%s, %" G_GUINT64_FORMAT " accumulated", key, walk->recipe.gradient_accumulation);
}

static gsize rows_of(const Program *program) {
  gsize rows = 0;
  for (guint32 r = 0; r < program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      rows += program->roles[r].sections[s].n_rows;
  return rows;
}

static Form *find_form(StudyCache *cache, const char *key) {
  for (guint i = 0; i < MOST_FORMS; i++)
    if (g_strcmp0(cache->forms[i].key, key) == 0)
      return &cache->forms[i];
  Form *next = &cache->forms[cache->next_form];
  cache->next_form = (cache->next_form + 1) % MOST_FORMS;
  form_clear(next);
  return next;
}

/* Of the form of one before, if there is any. */
static Program *new_program(StudyCache *cache, const StudyWalk *walk) {
  if (walk->every_section)
    return study_walk_program(walk);
  g_autofree char *key = form_key(walk);
  Form *form = find_form(cache, key);
  Program *program =
      form->form != NULL ? plan_form_program(form->form, &walk->shape, &walk->model_recipe, &walk->recipe) : NULL;
  if (program != NULL)
    return program;
  form_clear(form);
  program = plan_form_new(&walk->shape, &walk->model_recipe, &walk->recipe, &form->form);
  if (form->form != NULL && rows_of(program) <= MOST_ROWS)
    form->key = g_steal_pointer(&key);
  else
    form_clear(form);
  return program;
}

Program *study_cache_program(StudyCache *cache, const StudyWalk *walk, guint64 *ret_kept) {
  g_autofree char *key = study_cache_program_key(walk);
  for (guint i = 0; i < MOST_PROGRAMS; i++)
    if (g_strcmp0(cache->programs[i].key, key) == 0) {
      *ret_kept = cache->programs[i].number;
      return cache->programs[i].program;
    }
  Program *program = new_program(cache, walk);
  *ret_kept = 0;
  if (rows_of(program) > MOST_ROWS)
    return program;
  *ret_kept = ++cache->n_programs;
  Kept *place = &cache->programs[cache->oldest];
  cache->oldest = (cache->oldest + 1) % MOST_PROGRAMS;
  g_free(place->key);
  program_free(place->program);
  *place = (Kept){g_steal_pointer(&key), program, *ret_kept};
  return program;
}
