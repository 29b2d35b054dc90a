/* SPDX-License-Identifier: MIT */
/* The reference text of schema tables: what --help and the documentation show is what the reader checks. */
#include "conf-schema.h"

#include <string.h>

#include "base-field.h"
#include "base-names.h"
#include "base-table.h"

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
