/* SPDX-License-Identifier: MIT */
/* Nodes of an execution trace to a table by rf_id. */
#include "import-execution.h"

#include <string.h>

#include "base-error.h"
#include "conf-data.h"

typedef struct {
  gint64 number;
  const char *name, *dims, *types;
} Node;

struct ImportExecution {
  char *path;
  GHashTable *nodes; /* gint64 → Node */
  GStringChunk *texts;
  gboolean any;         /* it has a list of nodes */
  guint linked, others; /* events whose number it has, under the same name and under another */
};

/* What a node is made of while it is read. */
typedef struct {
  GString *key, *name, *number, *dims, *types;
} Parts;

static void parts_init(Parts *parts) {
  GString **const all[] = {&parts->key, &parts->name, &parts->number, &parts->dims, &parts->types};
  for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
    *all[i] = g_string_new(NULL);
}

static void parts_clear(Parts *parts) {
  GString *const all[] = {parts->key, parts->name, parts->number, parts->dims, parts->types};
  for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
    g_string_free(all[i], TRUE);
}

static void parts_empty(Parts *parts) {
  GString *const all[] = {parts->name, parts->number, parts->dims, parts->types};
  for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
    g_string_truncate(all[i], 0);
}

/* ---- Reading ---- */

/* What is no map is passed. */
static gboolean read_map(ConfPull *pull, Parts *parts, ConfPullMember read, GError **error) {
  return conf_pull_peek(pull) == '{' ? conf_pull_map(pull, parts->key, read, parts, error)
                                     : conf_pull_value(pull, NULL, error);
}

/* "inputs" since schema 1.0.2. */
static gboolean read_input(ConfPull *pull, const char *key, gpointer data, GError **error) {
  Parts *parts = data;
  if (strcmp(key, "shapes") == 0)
    return import_kineto_read_raw(pull, parts->dims, error);
  if (strcmp(key, "types") == 0)
    return import_kineto_read_raw(pull, parts->types, error);
  return conf_pull_value(pull, NULL, error);
}

/* One of "attrs" since schema 1.0.2: {"name": "rf_id", "type": "uint64", "value": 24}. */
static gboolean read_attribute(ConfPull *pull, GString *number, GError **error) {
  static const char *const names[] = {"name", "value", NULL};
  g_autoptr(GString) name = g_string_new(NULL);
  g_autoptr(GString) value = g_string_new(NULL);
  GString *const into[] = {name, value};
  if (!import_kineto_read_members(pull, names, into, error))
    return FALSE;
  if (strcmp(name->str, "rf_id") == 0)
    g_string_assign(number, value->str);
  return TRUE;
}

static gboolean read_attributes(ConfPull *pull, Parts *parts, GError **error) {
  gboolean more, good;
  if (conf_pull_peek(pull) != '[')
    return conf_pull_value(pull, NULL, error);
  good = conf_pull_enter(pull, '[', error);
  while (good && (good = conf_pull_next(pull, &more, error)) && more)
    good =
        conf_pull_peek(pull) == '{' ? read_attribute(pull, parts->number, error) : conf_pull_value(pull, NULL, error);
  return good;
}

static gboolean read_member(ConfPull *pull, const char *key, gpointer data, GError **error) {
  Parts *parts = data;
  if (strcmp(key, "name") == 0)
    return conf_pull_value(pull, parts->name, error);
  if (strcmp(key, "rf_id") == 0)
    return conf_pull_value(pull, parts->number, error);
  if (strcmp(key, "input_shapes") == 0)
    return import_kineto_read_raw(pull, parts->dims, error);
  if (strcmp(key, "input_types") == 0)
    return import_kineto_read_raw(pull, parts->types, error);
  if (strcmp(key, "inputs") == 0)
    return read_map(pull, parts, read_input, error);
  return strcmp(key, "attrs") == 0 ? read_attributes(pull, parts, error) : conf_pull_value(pull, NULL, error);
}

/* "Tensor(c10::BFloat16)" as the profiler writes it: "c10::BFloat16"; of a list of tensors the first one's. */
static void bare_types(GString *types) {
  static const char *const around[] = {"GenericList[", "Tensor(", ")"};
  for (gsize i = 0; i < G_N_ELEMENTS(around); i++)
    g_string_replace(types, around[i], "", 0);
}

static void keep(ImportExecution *execution, Parts *parts) {
  gint64 number = import_kineto_number(parts->number);
  if (number <= 0)
    return;
  bare_types(parts->types);
  Node *node = g_new(Node, 1);
  *node = (Node){number, g_string_chunk_insert_const(execution->texts, parts->name->str),
                 g_string_chunk_insert_const(execution->texts, parts->dims->str),
                 g_string_chunk_insert_const(execution->texts, parts->types->str)};
  g_hash_table_replace(execution->nodes, &node->number, node);
}

static gboolean read_nodes(ConfPull *pull, ImportExecution *execution, GError **error) {
  Parts parts;
  parts_init(&parts);
  gboolean more, good = conf_pull_enter(pull, '[', error);
  execution->any = TRUE;
  while (good && (good = conf_pull_next(pull, &more, error)) && more) {
    parts_empty(&parts);
    good = read_map(pull, &parts, read_member, error);
    if (good)
      keep(execution, &parts);
  }
  parts_clear(&parts);
  return good;
}

static gboolean read_key(ConfPull *pull, const char *key, gpointer execution, GError **error) {
  gboolean nodes = strcmp(key, "nodes") == 0 && conf_pull_peek(pull) == '[';
  return nodes ? read_nodes(pull, execution, error) : conf_pull_value(pull, NULL, error);
}

static gboolean read_file(ConfPull *pull, ImportExecution *execution, GError **error) {
  g_autoptr(GString) key = g_string_new(NULL);
  return conf_pull_map(pull, key, read_key, execution, error) && conf_pull_end(pull, error);
}

ImportExecution *import_execution_read(const char *path, GError **error) {
  g_autoptr(GPtrArray) parts = conf_data_parts(path, error);
  if (parts == NULL)
    return NULL;
  if (parts->len != 1) {
    base_error_set_at(error, &(BasePlace){.file = path}, "holds %u files; give the execution trace alone", parts->len);
    return NULL;
  }
  const ConfPart *part = g_ptr_array_index(parts, 0);
  gsize length;
  const char *data = g_bytes_get_data(part->bytes, &length);
  g_autoptr(ImportExecution) execution = g_new0(ImportExecution, 1);
  execution->path = g_strdup(part->path);
  execution->nodes = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
  execution->texts = g_string_chunk_new(4096);
  ConfPull pull;
  conf_pull_begin(&pull, part->path, data, length, NULL);
  if (!read_file(&pull, execution, error))
    return NULL;
  if (!execution->any) {
    base_error_set_at(error, &(BasePlace){.file = part->path},
                      "has no \"nodes\": a PyTorch execution trace (ExecutionTraceObserver) is expected");
    return NULL;
  }
  return g_steal_pointer(&execution);
}

void import_execution_free(ImportExecution *execution) {
  if (execution == NULL)
    return;
  g_free(execution->path);
  g_hash_table_unref(execution->nodes);
  g_string_chunk_free(execution->texts);
  g_free(execution);
}

/* ---- Linking ---- */

gboolean import_execution_link(ImportExecution *execution, ImportKinetoEvent *event) {
  gint64 number = event->function->len > 0 ? import_kineto_number(event->function) : -1;
  const Node *node = number > 0 ? g_hash_table_lookup(execution->nodes, &number) : NULL;
  if (node == NULL)
    return FALSE;
  gboolean same = strcmp(node->name, event->name->str) == 0;
  *(same ? &execution->linked : &execution->others) += 1;
  if (!same)
    return FALSE;
  if (event->dims->len == 0) {
    g_string_assign(event->dims, node->dims);
    g_string_assign(event->types, node->types);
  }
  return TRUE;
}

gboolean import_execution_check(const ImportExecution *execution, const char *trace, GError **error) {
  gboolean belongs = execution->linked > execution->others;
  if (!belongs)
    base_error_set_at(error, &(BasePlace){.file = execution->path},
                      "is not of the run of %s: of the numbers of its operations (\"Record function id\") %u have the "
                      "same name here, %u another; were both recorded at once, the ExecutionTraceObserver first?",
                      trace, execution->linked, execution->others);
  return belongs;
}
