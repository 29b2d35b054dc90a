/* JSON into a tree: the scan of conf-json-scan finds the places, json-glib decodes the texts, and numbers keep the
 * digits they were written with. */
#include <json-glib/json-glib.h>
#include <string.h>

#include "conf-json-scan.h"
#include "conf-tree-build.h"

typedef struct {
  ConfTree *tree;
  const char *raw; /* as it was written */
  GHashTable *marks;
  GError **error;
} Walk;

static gboolean add_below(Walk *walk, const char *path, JsonNode *node);

/* The scalar at the mark: texts decoded, the rest as it stands. */
static gboolean add_scalar(Walk *walk, const char *path, JsonNode *node, const ConfJsonMark *mark) {
  const char *from = walk->raw + mark->start;
  if (*from == '"')
    return conf_tree_add(walk->tree, path, CONF_TREE_TEXT, json_node_get_string(node), mark->line, mark->column,
                         walk->error);
  g_autofree char *text = g_strndup(from, mark->end - mark->start);
  gboolean null = strcmp(text, "null") == 0, flag = *text == 't' || *text == 'f';
  return conf_tree_add(walk->tree, path,
                       null   ? CONF_TREE_NULL
                       : flag ? CONF_TREE_FLAG
                              : CONF_TREE_NUMBER,
                       null ? NULL : text, mark->line, mark->column, walk->error);
}

static gboolean add_node(Walk *walk, const char *path, JsonNode *node) {
  const ConfJsonMark *mark = g_hash_table_lookup(walk->marks, path);
  gboolean map = JSON_NODE_HOLDS_OBJECT(node);
  if (!map && !JSON_NODE_HOLDS_ARRAY(node))
    return add_scalar(walk, path, node, mark);
  return conf_tree_add(walk->tree, path, map ? CONF_TREE_MAP : CONF_TREE_LIST, NULL, mark->line, mark->column,
                       walk->error) &&
         add_below(walk, path, node);
}

static gboolean add_below(Walk *walk, const char *path, JsonNode *node) {
  if (JSON_NODE_HOLDS_OBJECT(node)) {
    JsonObject *object = json_node_get_object(node);
    g_autoptr(GList) members = json_object_get_members(object);
    for (GList *each = members; each != NULL; each = each->next) {
      g_autofree char *below = conf_tree_join(path, each->data);
      if (!add_node(walk, below, json_object_get_member(object, each->data)))
        return FALSE;
    }
    return TRUE;
  }
  JsonArray *array = json_node_get_array(node);
  for (guint i = 0; i < json_array_get_length(array); i++) {
    g_autofree char *number = g_strdup_printf("%u", i);
    g_autofree char *below = conf_tree_join(path, number);
    if (!add_node(walk, below, json_array_get_element(array, i)))
      return FALSE;
  }
  return TRUE;
}

gboolean conf_tree_read_json(ConfTree *tree, char *data, gsize length, GError **error) {
  g_autofree char *raw = g_strdup(data);
  g_autoptr(GHashTable) marks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  if (!conf_json_scan(conf_tree_file(tree), data, length, marks, error))
    return FALSE;
  g_autoptr(GError) cause = NULL;
  g_autoptr(JsonNode) root = json_from_string(data, &cause);
  if (root == NULL)
    return conf_tree_fail_at(tree, 1, 1, "", error, "%s", cause != NULL ? cause->message : "is empty");
  Walk walk = {tree, raw, marks, error};
  return add_below(&walk, "", root);
}
