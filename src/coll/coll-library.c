/* SPDX-License-Identifier: MIT */
/* Loads the tables of a version, and keeps what was searched. */
#include "coll-library.h"

#include <string.h>

#include "base-version.h"
#include "conf-data.h"
#include "conf-path.h"

/* A request and what was found for it. */
typedef struct {
  CollGraphRequest request;
  CollGraphs *graphs;
} Searched;

static guint hash(gconstpointer key) {
  return coll_graph_request_hash(&((const Searched *)key)->request);
}
static gboolean equal(gconstpointer a, gconstpointer b) {
  return coll_graph_requests_share(&((const Searched *)a)->request, &((const Searched *)b)->request);
}
static void searched_free(gpointer data) {
  Searched *searched = data;
  g_free((gpointer)searched->request.gpus);
  coll_graphs_free(searched->graphs);
  g_free(searched);
}

/* "2.21" of ".../nccl-2.21.ini". */
static char *version_of(const char *table) {
  g_autofree char *name = g_path_get_basename(table);
  const char *dash = strrchr(name, '-');
  return g_strndup(dash + 1, strlen(dash + 1) - strlen(".ini"));
}

static CollLibrary *library_new(const HwCluster *cluster, const CollKnobs *knobs) {
  CollLibrary *library = g_new0(CollLibrary, 1);
  library->cluster = cluster;
  library->tuning = g_rc_box_new0(CollTuning);
  library->knobs = *knobs;
  library->knobs.version = library->knobs.algo = library->knobs.proto = NULL;
  library->graphs = g_hash_table_new_full(hash, equal, searched_free, NULL);
  return library;
}

/* A receiving connection's memory is Simple's buffer, which the knob sizes, and the other protocols'. */
static void take_buffers(CollLibrary *library) {
  library->plain_slot_bytes = library->tuning->slot_bytes[COLL_SIMPLE];
  library->tuning->receive_bytes = library->plain_receive_bytes;
  if (library->knobs.buffer_bytes == 0)
    return;
  guint64 page = library->tuning->page_bytes, plain = library->plain_slot_bytes * library->tuning->slots;
  guint64 rest = library->plain_receive_bytes - MIN(plain, library->plain_receive_bytes);
  library->tuning->slot_bytes[COLL_SIMPLE] = (guint64)library->knobs.buffer_bytes / library->tuning->slots;
  library->tuning->receive_bytes = (rest + (guint64)library->knobs.buffer_bytes + page - 1) / page * page;
}

#define TREE_CHUNK_SINCE BASE_VERSION(2, 20, 3) /* NCCL_NVLSTREE_MAX_CHUNKSIZE's first release */

static guint64 given(double knob, guint64 platform, guint64 table) {
  return knob > 0 ? (guint64)knob : platform > 0 ? platform : table;
}

/* Chunks of heads: as the user's environment says, else as the network's plugin sets it; a tree's never the larger. */
static void take_chunks(CollLibrary *library) {
  const HwPlatform *platform = library->cluster->platform;
  CollNvlsTuning *nvls = &library->tuning->nvls;
  nvls->chunk = given(library->knobs.nvls_chunk, platform->nvls_chunk, library->plain_chunk);
  nvls->tree_chunk_more_nodes = library->plain_tree_chunk;
  if (library->rules.release >= TREE_CHUNK_SINCE)
    nvls->tree_chunk_more_nodes =
        given(library->knobs.nvls_tree_chunk, platform->nvls_tree_chunk, library->plain_tree_chunk);
}

/* The catalogue's files beside the table: each that the library read is in its text. */
static gboolean add_catalogue(CollLibrary *library, GError **error) {
  static const char *const names[] = {"nccl-search.ini", "nccl-tuners.ini"};
  g_autoptr(GByteArray) all = g_bytes_unref_to_array(g_steal_pointer(&library->text));
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    gsize length;
    g_autofree char *path = conf_path_find(names[i], NULL, "topologies/catalog", NULL, NULL, error);
    g_autofree char *text = path != NULL ? conf_data_text(path, &length, error) : NULL;
    if (text == NULL)
      return FALSE;
    g_byte_array_append(all, (const guint8 *)text, (guint)length);
  }
  library->text = g_byte_array_free_to_bytes(g_steal_pointer(&all));
  return TRUE;
}

CollLibrary *coll_library_new(const HwCluster *cluster, const CollKnobs *knobs, GError **error) {
  g_autoptr(CollLibrary) library = library_new(cluster, knobs);
  library->table = coll_tuning_find(knobs->version, &library->exact, error);
  if (library->table == NULL)
    return NULL;
  g_autofree char *version = knobs->version != NULL ? g_strdup(knobs->version) : version_of(library->table);
  if (!coll_tuning_load(library->table, cluster->gpu->architecture, library->tuning, &library->text, error) ||
      !coll_search_rules_load(version, &library->rules, error) ||
      !coll_regions_load(library->rules.release, &library->tuning->regions, error) || !add_catalogue(library, error))
    return NULL;
  library->plain_receive_bytes = library->tuning->receive_bytes;
  library->plain_chunk = library->tuning->nvls.chunk;
  library->plain_tree_chunk = library->tuning->nvls.tree_chunk_more_nodes;
  take_buffers(library);
  take_chunks(library);
  return g_steal_pointer(&library);
}

CollLibrary *coll_library_new_like(const CollLibrary *other, const HwCluster *cluster, const CollKnobs *knobs) {
  CollLibrary *library = library_new(cluster, knobs);
  library->table = g_strdup(other->table);
  library->exact = other->exact;
  *library->tuning = *other->tuning;
  library->tuning->slot_bytes[COLL_SIMPLE] = other->plain_slot_bytes;
  library->plain_receive_bytes = other->plain_receive_bytes;
  library->plain_chunk = other->plain_chunk;
  library->plain_tree_chunk = other->plain_tree_chunk;
  library->rules = other->rules;
  library->text = g_bytes_ref(other->text);
  take_buffers(library);
  take_chunks(library);
  return library;
}

gboolean coll_library_share(CollLibrary *library, const CollLibrary *other) {
  if (strcmp(library->table, other->table) != 0 || library->rules.release != other->rules.release ||
      !hw_machine_equal(library->cluster->machine, other->cluster->machine))
    return FALSE;
  g_hash_table_unref(library->graphs);
  library->graphs = g_hash_table_ref(other->graphs);
  return TRUE;
}

void coll_library_free(CollLibrary *library) {
  if (library == NULL)
    return;
  g_hash_table_unref(library->graphs);
  g_rc_box_release(library->tuning);
  g_free(library->table);
  g_clear_pointer(&library->text, g_bytes_unref);
  g_free(library);
}

const CollGraphs *coll_library_graphs(CollLibrary *library, const CollGraphRequest *request, GError **error) {
  Searched key = {.request = *request}, *searched = g_hash_table_lookup(library->graphs, &key);
  if (searched != NULL)
    return searched->graphs;
  CollGraphs *graphs = coll_graphs_new(library->cluster->machine, &library->rules, request, error);
  if (graphs == NULL)
    return NULL;
  searched = g_memdup2(&key, sizeof key);
  searched->request.gpus = g_memdup2(request->gpus, request->n_gpus * sizeof *request->gpus);
  searched->graphs = graphs;
  g_hash_table_add(library->graphs, searched);
  return graphs;
}
