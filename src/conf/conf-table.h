/* SPDX-License-Identifier: MIT */
/* The keys of several schemas side by side, found by name; and what to say about a name that is not there. For this
 * room alone.
 *
 *   ConfTable *table = conf_table_new(schemas, n_schemas);
 *   if (!conf_table_find_advised(table, "training", "micro_bach", &place, &index, error)) …
 *   // a.ini:3:1: training.micro_bach: no such key in [training]; did you mean "micro_batch"?
 *
 * Never changes once made, so copies of settings on several threads share one. */
#pragma once

#include "base-error.h"
#include "conf-schema.h"

typedef struct {
  const BaseField **keys; /* in schema order */
  char **names;           /* "group.key" of each, NULL-terminated */
  gsize n_keys;
  char **groups;     /* each once, in order, NULL-terminated */
  GHashTable *index; /* name → position + 1 */
  GHashTable *rows;  /* key, by its address → the same */
} ConfTable;

/* The same key twice is a broken contract: each has one owner. */
ConfTable *conf_table_new(const ConfSchema *schemas, gsize n_schemas);
ConfTable *conf_table_ref(ConfTable *table);
void conf_table_unref(ConfTable *table);

gboolean conf_table_find(const ConfTable *table, const char *name, gsize *ret_index);
/* By the row itself, one of those that the table was made of: no name is read. */
gboolean conf_table_find_row(const ConfTable *table, const BaseField *key, gsize *ret_index);
/* The group's key of kind BASE_LINES. */
gboolean conf_table_find_lines(const ConfTable *table, const char *group, gsize *ret_index);

/* Errors: SIM_ERROR_INPUT at `place` with the nearest group. */
gboolean conf_table_check_group(const ConfTable *table, const char *group, const BasePlace *place, GError **error);
/* Errors: the same for groups; for keys the group they belong to, the nearest, or all that the group takes. */
gboolean conf_table_find_advised(const ConfTable *table, const char *group, const char *key, const BasePlace *place,
                                 gsize *ret_index, GError **error);
/* The whole name that was meant by a key without its group, or by a name with a slip; NULL where none is near. */
const char *conf_table_nearest(const ConfTable *table, const char *name);
/* "nodes" → "cluster.nodes": the whole name of a key without its group, "-" standing for "_". NULL where no group has
 * it; *ret_several: the names, where more than one has. Both to be freed. */
char *conf_table_whole_name(const ConfTable *table, const char *name, char **ret_several);
