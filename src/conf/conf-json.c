/* Values by path: json-glib decodes texts; numbers are read from their own digits, for json-glib wraps large ones. */
#include "conf-json.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "base-names.h"
#include "conf-count.h"
#include "conf-file.h"
#include "conf-json-scan.h"
#include "conf-value.h"

#define SHOWN_MAX 40 /* letters of a wrong value that a message shows */

struct ConfJson {
  char *file;
  char *raw; /* as the person wrote it, but for a BOM */
  JsonNode *root;
  GHashTable *marks; /* path → ConfJsonMark */
  char **keys;
};

void conf_json_free(ConfJson *json) {
  if (json == NULL)
    return;
  g_clear_pointer(&json->root, json_node_unref);
  g_hash_table_unref(json->marks);
  g_strfreev(json->keys);
  g_free(json->raw);
  g_free(json->file);
  g_free(json);
}

/* Keys of an object in order; the strings stay the object's. */
static GPtrArray *keys_of(JsonNode *node) {
  GPtrArray *keys = g_ptr_array_new();
  if (node != NULL && JSON_NODE_HOLDS_OBJECT(node)) {
    g_autoptr(GList) members = json_object_get_members(json_node_get_object(node));
    for (GList *each = members; each != NULL; each = each->next)
      g_ptr_array_add(keys, each->data);
  }
  g_ptr_array_add(keys, NULL);
  return keys;
}

ConfJson *conf_json_parse(const char *name, const char *data, gsize length, GError **error) {
  gsize taken_length = 0;
  g_autofree char *cleaned = conf_file_take(name, data, length, &taken_length, error);
  if (cleaned == NULL)
    return NULL;
  g_autoptr(ConfJson) json = g_new0(ConfJson, 1);
  json->file = g_strdup(name);
  json->raw = g_strdup(cleaned);
  json->marks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  if (!conf_json_scan(name, cleaned, taken_length, json->marks, error))
    return NULL;
  g_autoptr(GError) cause = NULL;
  json->root = json_from_string(cleaned, &cause);
  if (json->root == NULL) {
    base_error_set_at(error, &(BasePlace){.file = name}, "%s", cause != NULL ? cause->message : "is empty");
    return NULL;
  }
  g_autoptr(GPtrArray) keys = keys_of(json->root);
  json->keys = g_strdupv((char **)keys->pdata);
  return g_steal_pointer(&json);
}

ConfJson *conf_json_load(const char *path, GError **error) {
  gsize length = 0;
  g_autofree char *data = conf_file_read(path, &length, error);
  return data != NULL ? conf_json_parse(path, data, length, error) : NULL;
}

const char *conf_json_file(const ConfJson *json) {
  return json->file;
}

const char *const *conf_json_keys(const ConfJson *json) {
  return (const char *const *)json->keys;
}

/* The node at `path` below `node`, or NULL. A key that holds dots itself is found too. */
static JsonNode *find_node(JsonNode *node, const char *path) {
  if (*path == '\0')
    return node;
  if (JSON_NODE_HOLDS_ARRAY(node)) {
    char *end;
    guint64 index = g_ascii_strtoull(path, &end, 10);
    JsonArray *array = json_node_get_array(node);
    gboolean there = g_ascii_isdigit(*path) && index < json_array_get_length(array) && (*end == '.' || *end == '\0');
    return there ? find_node(json_array_get_element(array, (guint)index), end + (*end == '.')) : NULL;
  }
  if (!JSON_NODE_HOLDS_OBJECT(node))
    return NULL;
  JsonObject *object = json_node_get_object(node);
  if (json_object_has_member(object, path))
    return json_object_get_member(object, path);
  for (const char *dot = strchr(path, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
    g_autofree char *key = g_strndup(path, (gsize)(dot - path));
    JsonNode *found =
        json_object_has_member(object, key) ? find_node(json_object_get_member(object, key), dot + 1) : NULL;
    if (found != NULL)
      return found;
  }
  return NULL;
}

gboolean conf_json_has(const ConfJson *json, const char *path) {
  JsonNode *node = find_node(json->root, path);
  return node != NULL && !JSON_NODE_HOLDS_NULL(node);
}

/* The deepest part of `path` that is there; *ret_length of its letters. */
static const ConfJsonMark *deepest_mark(const ConfJson *json, const char *path, gsize *ret_length) {
  g_autofree char *part = g_strdup(path);
  for (;;) {
    const ConfJsonMark *mark = g_hash_table_lookup(json->marks, part);
    if (mark != NULL) {
      *ret_length = strlen(part);
      return mark;
    }
    char *dot = strrchr(part, '.');
    *(dot != NULL ? dot : part) = '\0';
  }
}

void conf_json_place(const ConfJson *json, const char *path, BasePlace *ret) {
  gsize length;
  const ConfJsonMark *mark = deepest_mark(json, path, &length);
  *ret = (BasePlace){.file = json->file, .line = mark->line, .column = mark->column, .key = path};
}

gboolean conf_json_fail(const ConfJson *json, const char *path, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place;
  conf_json_place(json, path, &place);
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}

gboolean conf_json_fail_missing(const ConfJson *json, const char *path, const char *expected, GError **error) {
  gsize length;
  deepest_mark(json, path, &length);
  g_autofree char *there = g_strndup(path, length);
  g_autoptr(GPtrArray) keys = keys_of(find_node(json->root, there));
  if (path[length] == '\0')
    return conf_json_fail(json, path, error, "is null: expected %s", expected);
  const char *rest = path + length + (length > 0);
  const char *near = base_names_nearest((const char *const *)keys->pdata, rest);
  g_autofree char *advice = near != NULL ? g_strdup_printf("; did you mean \"%s\"?", near) : g_strdup("");
  return conf_json_fail(json, path, error, "is missing: expected %s%s", expected, advice);
}

/* What stands at the mark, shortened for a message. */
static char *shown_text(const ConfJson *json, const ConfJsonMark *mark) {
  const char *from = json->raw + mark->start;
  g_autofree char *whole = g_strndup(from, mark->end - mark->start);
  if (*from == '{')
    return g_strdup("an object");
  if (g_utf8_strlen(whole, -1) <= SHOWN_MAX && strchr(whole, '\n') == NULL)
    return g_steal_pointer(&whole);
  g_autofree char *part = g_utf8_substring(whole, 0, MIN(SHOWN_MAX, g_utf8_strlen(whole, -1)));
  return *from == '[' ? g_strdup("a list") : g_strdup_printf("%s…", part);
}

static gboolean fail_found(const ConfJson *json, const char *path, const char *expected, GError **error) {
  g_autofree char *shown = shown_text(json, g_hash_table_lookup(json->marks, path));
  return conf_json_fail(json, path, error, "expected %s, found %s", expected, shown);
}

/* The text of a number, with or without quotes, or of true and false; NULL and an error for what is none of them. */
static char *scalar_text(const ConfJson *json, const char *path, const char *expected, GError **error) {
  JsonNode *node = find_node(json->root, path);
  const ConfJsonMark *mark = g_hash_table_lookup(json->marks, path);
  if (node == NULL || mark == NULL)
    conf_json_fail_missing(json, path, expected, error);
  else if (!JSON_NODE_HOLDS_VALUE(node))
    fail_found(json, path, expected, error);
  else if (json->raw[mark->start] == '"')
    return json_node_dup_string(node);
  else
    return g_strndup(json->raw + mark->start, mark->end - mark->start);
  return NULL;
}

gboolean conf_json_count(const ConfJson *json, const char *path, guint64 *ret, GError **error) {
  g_autofree char *text = scalar_text(json, path, "a whole number", error);
  if (text == NULL)
    return FALSE;
  if (conf_count_parse(text, FALSE, NULL, ret, error))
    return TRUE;
  BasePlace place;
  conf_json_place(json, path, &place);
  base_error_prefix_at(error, &place);
  return FALSE;
}

gboolean conf_json_number(const ConfJson *json, const char *path, double *ret, GError **error) {
  g_autofree char *text = scalar_text(json, path, "a number", error);
  if (text == NULL)
    return FALSE;
  char *end;
  double value = g_ascii_strtod(text, &end);
  if (*text == '\0' || text[strspn(text, "0123456789+-.eE")] != '\0' || *end != '\0' || !isfinite(value))
    return fail_found(json, path, "a number", error);
  *ret = value;
  return TRUE;
}

gboolean conf_json_flag(const ConfJson *json, const char *path, gboolean *ret, GError **error) {
  g_autofree char *text = scalar_text(json, path, "true or false", error);
  return text != NULL && (conf_value_flag(text, ret) || fail_found(json, path, "true or false", error));
}

gboolean conf_json_string(const ConfJson *json, const char *path, const char **ret, GError **error) {
  g_autofree char *text = scalar_text(json, path, "a text in quotes", error);
  if (text == NULL)
    return FALSE;
  const ConfJsonMark *mark = g_hash_table_lookup(json->marks, path);
  if (json->raw[mark->start] != '"')
    return fail_found(json, path, "a text in quotes", error);
  *ret = json_node_get_string(find_node(json->root, path));
  return TRUE;
}
