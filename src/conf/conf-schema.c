/* SPDX-License-Identifier: MIT */
/* The reference text of schema tables, and the same as JSON: what --help and the documentation show is what the reader
 * checks. */
#include "conf-schema.h"

#include <string.h>

#include "base-field.h"
#include "base-names.h"
#include "base-table.h"

#define TAKES_WIDTH 64 /* characters; longer lists of values push their meaning on */

static void add_row(BaseTable *table, const BaseField *key) {
  g_autofree char *expected = base_field_expected(key);
  g_autofree char *later = key->later != NULL ? base_names_join(key->later) : NULL;
  base_table_cell(table, "%s", key->key);
  if (key->kind == BASE_LATER)
    base_table_cell(table, key->initial != NULL ? "not modelled yet: only %s is taken" : "not modelled yet", expected);
  else
    base_table_cell(table, "%s%s%s", expected, later != NULL ? "; not modelled yet: " : "", later != NULL ? later : "");
  base_table_cell(table, "%s", key->required ? "required" : key->initial != NULL ? key->initial : "");
  base_table_cell(table, "%s", key->help != NULL ? key->help : "");
}

static void print_group(const ConfSchema *schemas, gsize n_schemas, const char *group, GString *text) {
  g_autoptr(BaseTable) table = base_table_new();
  base_table_cap(table, TAKES_WIDTH);
  base_table_head(table, "key", BASE_LEFT);
  base_table_head(table, "takes", BASE_LEFT);
  base_table_head(table, "default", BASE_LEFT);
  base_table_head(table, "meaning", BASE_LEFT);
  for (gsize s = 0; s < n_schemas; s++)
    for (gsize k = 0; k < schemas[s].n_keys; k++)
      if (strcmp(schemas[s].keys[k].group, group) == 0)
        add_row(table, &schemas[s].keys[k]);
  g_string_append_printf(text, "%s[%s]\n", text->len > 0 ? "\n" : "", group);
  base_table_print(table, 2, text);
}

void conf_schema_print(const ConfSchema *schemas, gsize n_schemas, GString *text) {
  g_autoptr(GHashTable) printed = g_hash_table_new(g_str_hash, g_str_equal);
  for (gsize s = 0; s < n_schemas; s++)
    for (gsize k = 0; k < schemas[s].n_keys; k++)
      if (g_hash_table_add(printed, (gpointer)schemas[s].keys[k].group))
        print_group(schemas, n_schemas, schemas[s].keys[k].group, text);
}

static void add_map(const BaseField *key, BaseJson *json) {
  g_autofree char *name = g_strconcat(key->group, ".", key->key, NULL), *expected = base_field_expected(key);
  base_json_map(json, NULL);
  base_json_text(json, "setting", name);
  base_json_text(json, "takes", expected);
  base_json_list(json, "later");
  for (const char *const *value = key->later; value != NULL && *value != NULL; value++)
    base_json_text(json, NULL, *value);
  base_json_end(json);
  base_json_integer(json, "modelled", key->kind != BASE_LATER);
  base_json_integer(json, "required", key->required);
  base_json_text(json, "default", key->initial);
  base_json_text(json, "meaning", key->help);
  base_json_end(json);
}

void conf_schema_json(const ConfSchema *schemas, gsize n_schemas, BaseJson *json) {
  for (gsize s = 0; s < n_schemas; s++)
    for (gsize k = 0; k < schemas[s].n_keys; k++)
      add_map(&schemas[s].keys[k], json);
}
