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

typedef struct ConfSchema {
  const BaseField *keys;
  gsize n_keys;
} ConfSchema;

/* The reference text: per group, each key with kind, unit example, range, default, help. Appends to `text`. */
void conf_schema_print(const ConfSchema *schemas, gsize n_schemas, GString *text);

/* The names that rows had before fields came. */
typedef BaseField ConfKey;
#define CONF_STRING    BASE_TEXT
#define CONF_PATH      BASE_PATH
#define CONF_NAME      BASE_NAME
#define CONF_FLAG      BASE_FLAG
#define CONF_COUNT     BASE_COUNT
#define CONF_NUMBER    BASE_NUMBER
#define CONF_BYTES     BASE_BYTES
#define CONF_BYTE_RATE BASE_BYTE_RATE
#define CONF_FLOP_RATE BASE_FLOP_RATE
#define CONF_TIME      BASE_TIME
#define CONF_MONEY     BASE_MONEY
#define CONF_LINES     BASE_LINES
#define CONF_LATER     BASE_LATER
