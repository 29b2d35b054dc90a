/* SPDX-License-Identifier: MIT */
/* Lookup by name, and advice in the order in which it helps: another group's key, a slip in this group, a slip
 * elsewhere. */
#include "conf-table.h"

#include <string.h>

#include "base-names.h"

ConfTable *conf_table_new(const ConfSchema *schemas, gsize n_schemas) {
  g_autoptr(GPtrArray) keys = g_ptr_array_new();
  g_autoptr(GPtrArray) names = g_ptr_array_new();
  g_autoptr(GPtrArray) groups = g_ptr_array_new();
  ConfTable *table = g_atomic_rc_box_new0(ConfTable);
  table->index = g_hash_table_new(g_str_hash, g_str_equal);
  table->rows = g_hash_table_new(g_direct_hash, g_direct_equal);
  for (gsize s = 0; s < n_schemas; s++)
    for (gsize k = 0; k < schemas[s].n_keys; k++) {
      const BaseField *key = &schemas[s].keys[k];
      char *name = g_strconcat(key->group, ".", key->key, NULL);
      g_ptr_array_add(keys, (gpointer)key);
      g_ptr_array_add(names, name);
      gboolean fresh = g_hash_table_insert(table->index, name, GUINT_TO_POINTER(keys->len));
      g_hash_table_insert(table->rows, (gpointer)key, GUINT_TO_POINTER(keys->len));
      sim_require(fresh, 0, NULL, "two schemas own the key %s", name);
      sim_require(key->offset == 0 || key->type != BASE_NOWHERE, 0, NULL, "%s has a member of no type", name);
      if (!g_ptr_array_find_with_equal_func(groups, key->group, g_str_equal, NULL))
        g_ptr_array_add(groups, g_strdup(key->group));
    }
  table->n_keys = keys->len;
  g_ptr_array_add(names, NULL);
  g_ptr_array_add(groups, NULL);
  table->keys = (const BaseField **)g_ptr_array_free(g_steal_pointer(&keys), FALSE);
  table->names = (char **)g_ptr_array_free(g_steal_pointer(&names), FALSE);
  table->groups = (char **)g_ptr_array_free(g_steal_pointer(&groups), FALSE);
  return table;
}

ConfTable *conf_table_ref(ConfTable *table) {
  return g_atomic_rc_box_acquire(table);
}

static void table_clear(gpointer data) {
  ConfTable *table = data;
  g_hash_table_unref(table->index);
  g_hash_table_unref(table->rows);
  g_strfreev(table->names);
  g_strfreev(table->groups);
  g_free(table->keys);
}

void conf_table_unref(ConfTable *table) {
  if (table != NULL)
    g_atomic_rc_box_release_full(table, table_clear);
}

static gboolean find(GHashTable *index, gconstpointer key, gsize *ret_index) {
  gsize found = GPOINTER_TO_SIZE(g_hash_table_lookup(index, key));
  if (found > 0)
    *ret_index = found - 1;
  return found > 0;
}

gboolean conf_table_find(const ConfTable *table, const char *name, gsize *ret_index) {
  return find(table->index, name, ret_index);
}

gboolean conf_table_find_row(const ConfTable *table, const BaseField *key, gsize *ret_index) {
  return find(table->rows, key, ret_index);
}

gboolean conf_table_find_lines(const ConfTable *table, const char *group, gsize *ret_index) {
  for (gsize i = 0; i < table->n_keys; i++)
    if (table->keys[i]->kind == BASE_LINES && strcmp(table->keys[i]->group, group) == 0) {
      *ret_index = i;
      return TRUE;
    }
  return FALSE;
}

gboolean conf_table_check_group(const ConfTable *table, const char *group, const BasePlace *place, GError **error) {
  if (g_strv_contains((const char *const *)table->groups, group))
    return TRUE;
  g_autofree char *advice = base_names_advice((const char *const *)table->groups, group);
  base_error_set_at(error, place, "no such group [%s]%s", group, advice);
  return FALSE;
}

/* The key that stands for every key of its group. */
static gboolean is_wild(const BaseField *key) {
  return strcmp(key->key, "*") == 0;
}

/* Keys of one group, of all where it is NULL; NULL-terminated, borrowed. */
static GPtrArray *keys_of(const ConfTable *table, const char *group) {
  GPtrArray *keys = g_ptr_array_new();
  for (gsize i = 0; i < table->n_keys; i++)
    if (!is_wild(table->keys[i]) && (group == NULL || strcmp(table->keys[i]->group, group) == 0))
      g_ptr_array_add(keys, (gpointer)table->keys[i]->key);
  g_ptr_array_add(keys, NULL);
  return keys;
}

/* "[training], [parallel]": the groups that have the key; empty where none has. */
static GString *owners_of(const ConfTable *table, const char *key) {
  GString *owners = g_string_new(NULL);
  for (gsize i = 0; i < table->n_keys; i++)
    if (g_ascii_strcasecmp(table->keys[i]->key, key) == 0)
      g_string_append_printf(owners, "%s[%s]", owners->len > 0 ? ", " : "", table->keys[i]->group);
  return owners;
}

gboolean conf_table_find_advised(const ConfTable *table, const char *group, const char *key, const BasePlace *place,
                                 gsize *ret_index, GError **error) {
  if (!conf_table_check_group(table, group, place, error))
    return FALSE;
  g_autofree char *name = g_strconcat(group, ".", key, NULL);
  if (strcmp(key, "*") != 0 && conf_table_find(table, name, ret_index))
    return TRUE;
  g_autofree char *wild = g_strconcat(group, ".*", NULL);
  gsize index;
  if (conf_table_find(table, wild, &index)) {
    base_error_set_at(error, place, "%s is not modelled yet; leave the key out", table->keys[index]->help);
    return FALSE;
  }
  g_autofree char *whole_group = g_strconcat(group, ".*", NULL);
  gsize later;
  if (conf_table_find(table, whole_group, &later)) {
    base_error_set_at(error, place, "%s is not modelled yet", table->keys[later]->help);
    return FALSE;
  }
  g_autoptr(GPtrArray) own = keys_of(table, group);
  g_autoptr(GPtrArray) all = keys_of(table, NULL);
  g_autoptr(GString) owners = owners_of(table, key);
  g_autoptr(GString) advice = g_string_new(NULL);
  const char *near = base_names_nearest((const char *const *)own->pdata, key);
  const char *elsewhere = base_names_nearest((const char *const *)all->pdata, key);
  if (near != NULL && (owners->len == 0 || g_ascii_strcasecmp(near, key) == 0)) {
    g_string_printf(advice, "did you mean \"%s\"?", near);
  } else if (owners->len > 0) {
    g_string_printf(advice, "%s belongs to %s", key, owners->str);
  } else if (elsewhere != NULL) {
    g_autoptr(GString) of = owners_of(table, elsewhere);
    g_string_printf(advice, "did you mean \"%s\" of %s?", elsewhere, of->str);
  } else {
    g_autofree char *list = base_names_join((const char *const *)own->pdata);
    g_string_printf(advice, "it takes %s", list);
  }
  base_error_set_at(error, place, "no such key in [%s]; %s", group, advice->str);
  return FALSE;
}

const char *conf_table_nearest(const ConfTable *table, const char *name) {
  for (gsize i = 0; i < table->n_keys; i++)
    if (g_ascii_strcasecmp(table->keys[i]->key, name) == 0)
      return table->names[i];
  const char *near = base_names_nearest((const char *const *)table->names, name);
  if (near != NULL || strchr(name, '.') != NULL)
    return near != NULL && !g_str_has_suffix(near, ".*") ? near : NULL;
  g_autoptr(GPtrArray) keys = keys_of(table, NULL);
  const char *key = base_names_nearest((const char *const *)keys->pdata, name);
  return key != NULL ? conf_table_nearest(table, key) : NULL;
}

char *conf_table_whole_name(const ConfTable *table, const char *name, char **ret_several) {
  g_autofree char *key = g_strdelimit(g_strdup(name), "-", '_');
  g_autoptr(GPtrArray) found = g_ptr_array_new();
  for (gsize i = 0; i < table->n_keys; i++)
    if (strcmp(table->names[i], key) == 0 || strcmp(table->keys[i]->key, key) == 0)
      g_ptr_array_add(found, table->names[i]);
  if (found->len <= 1)
    return found->len == 1 ? g_strdup(g_ptr_array_index(found, 0)) : NULL;
  g_ptr_array_add(found, NULL);
  *ret_several = base_names_join((const char *const *)found->pdata);
  return NULL;
}
