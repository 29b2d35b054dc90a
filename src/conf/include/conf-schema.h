/* SPDX-License-Identifier: MIT */
/* Schema tables: what a group of keys may hold. One table reads files, checks --set and prints the reference.
 *
 *   typedef struct { guint64 layers; double bandwidth; int kind; char *gpu; } Shape;
 *   #define KEY(key, kind, member, ...) BASE_ROW("model", key, kind, Shape, member, __VA_ARGS__)
 *   static const BaseField keys[] = {
 *       KEY("layers", BASE_COUNT, layers, .min = 1, .max = 10000, .initial = "32", .help = "transformer layers"),
 *       {.group = "parallel", .key = "tensor", .kind = BASE_LATER, .initial = "1", .help = "tensor parallelism"},
 *   };
 *   static const ConfSchema schema = {keys, G_N_ELEMENTS(keys)};
 *
 * A floor owns the tables of its own groups; `study` puts them side by side. Of the kinds, BASE_LIST and BASE_OWN are
 * not for schemas; a BASE_PATH is as conf_path_find resolves it, relative to the file that names it. */
#pragma once

#include "base-field.h"
#include "base-json.h"

typedef struct ConfSchema {
  const BaseField *keys;
  gsize n_keys;
} ConfSchema;

/* The reference text: per group, each key with kind, unit example, range, default, help. Appends to `text`. */
void conf_schema_print(const ConfSchema *schemas, gsize n_schemas, GString *text);
/* The same as elements of the list that was begun, a map each: "setting" ("group.key"), "takes", "later" (values that
 * are known and not modelled yet), "modelled" (0: only its default is taken), "required", "default" (null: none),
 * "meaning". */
void conf_schema_json(const ConfSchema *schemas, gsize n_schemas, BaseJson *json);
