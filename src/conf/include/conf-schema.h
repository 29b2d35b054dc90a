/* Schema tables: what a group of keys may hold. One table reads files, checks --set and prints the reference.
 *
 *   typedef struct { guint64 layers; double bandwidth; int kind; char *gpu; } Shape;
 *   static const ConfKey keys[] = {
 *       {.group = "model", .key = "layers", .kind = CONF_COUNT, .offset = G_STRUCT_OFFSET(Shape, layers),
 *        .min = 1, .max = 10000, .initial = "32", .help = "transformer layers"},
 *       {.group = "parallel", .key = "tensor", .kind = CONF_LATER, .initial = "1", .help = "tensor parallelism"},
 *   };
 *   static const ConfSchema schema = {keys, G_N_ELEMENTS(keys)};
 *
 * A floor owns the tables of its own groups; `study` puts them side by side. */
#pragma once

#include <glib.h>

#include "base-quantity.h"

typedef enum {
  CONF_STRING,    /* char *: g_malloc'd copy */
  CONF_PATH,      /* char *: as conf_path_find resolves it, relative to the file that names it */
  CONF_NAME,      /* int: index into `names`, whatever the case */
  CONF_FLAG,      /* gboolean: yes, no, true, false, on, off, 1, 0 */
  CONF_COUNT,     /* guint64: whole; "5e8", "1_000" is refused, "64k" and "2T" are taken (decimal) */
  CONF_NUMBER,    /* double: BASE_UNIT_NONE */
  CONF_BYTES,     /* double: SI, by base_quantity_parse, never negative unless `min` is; to nearest whole bytes */
  CONF_BYTE_RATE, /* double: SI, likewise; so are the next three */
  CONF_FLOP_RATE,
  CONF_TIME,
  CONF_MONEY,
  CONF_LINES, /* char *: every line of the group, whatever its key, as "key = value, key = value" */
  CONF_LATER, /* nothing: known, not modelled yet. Takes `initial`, "no", "none" or "1", refuses others by name */
} ConfKind;

typedef struct {
  const char *group, *key; /* key "*", of CONF_LATER: any key of the group, each refused by `help` */
  ConfKind kind;
  gsize offset;             /* of the field in the struct that conf_settings_fill writes */
  double min, max;          /* inclusive, in SI; both 0: unbounded; min > 0 and max 0: no upper bound */
  const char *initial;      /* the default in text; NULL: none. Without it an absent key leaves the field as it was */
  gboolean required;        /* absent is an error */
  const char *const *names; /* CONF_NAME: NULL-terminated */
  const char *const *later; /* CONF_NAME: NULL, or names that are known but refused as not modelled yet; "layers:": all
                               that begin so */
  const char *help;         /* one line for the reference */
} ConfKey;

typedef struct ConfSchema {
  const ConfKey *keys;
  gsize n_keys;
} ConfSchema;

/* Base unit of a kind, BASE_UNIT_NONE for those without. */
BaseUnit conf_kind_unit(ConfKind kind);

/* The reference text: per group, each key with kind, unit example, range, default, help. Appends to `text`. */
void conf_schema_print(const ConfSchema *schemas, gsize n_schemas, GString *text);
