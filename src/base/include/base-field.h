/* SPDX-License-Identifier: MIT */
/* Fields: text to a member of a struct and back, by tables. A row says what texts are taken, in which range, and what
 * they are for; the C type of the member is found by the compiler.
 *
 *   typedef struct { guint64 layers; double bandwidth; SimTime latency; int kind; gboolean tied; char *gpu; } Shape;
 *   #define FIELD(key, kind, member, ...) BASE_ROW("model", key, kind, Shape, member, __VA_ARGS__)
 *   static const BaseField fields[] = {
 *       FIELD("layers", BASE_COUNT, layers, .min = 1, .max = 10000, .initial = "32", .help = "transformer layers"),
 *       FIELD("latency", BASE_TIME, latency, .help = "of a hop"),   // a SimTime: picoseconds; a double: seconds
 *   };
 *   if (!base_field_read(&fields[0], "64", &shape, error)) return FALSE;
 *
 * Settings, catalogue sections, NCCL's tables, heads and rows of traces are tables of it. The records of a run
 * (run-record.h) are not: theirs are values of a database and of JSON, which have types of their own, no text, no range
 * that a person could miss and no advice. */
#pragma once

#include <glib.h>
#include <stddef.h>

#include "base-quantity.h"

typedef enum {
  BASE_TEXT,      /* as it stands */
  BASE_PATH,      /* a text; who reads the table finds the file */
  BASE_NAME,      /* one of `names`, whatever the case */
  BASE_FLAG,      /* yes, no, true, false, on, off, 1, 0 */
  BASE_COUNT,     /* whole: "5e8", "64k" and "2T" (decimal); "1_000" is refused */
  BASE_NUMBER,    /* BASE_UNIT_NONE */
  BASE_BYTES,     /* by base_quantity_parse, never negative unless `min` is; to nearest whole bytes */
  BASE_BYTE_RATE, /* likewise, not rounded; so are the next four */
  BASE_FLOP_RATE,
  BASE_POWER,
  BASE_TIME,
  BASE_MONEY,
  BASE_LIST,  /* a text that may come several times */
  BASE_LINES, /* a text: every line of a group, whatever its key, as "key = value, key = value" */
  BASE_LATER, /* known, not modelled yet. Takes `initial`, "no", "none" or "1", refuses others by name */
  BASE_OWN,   /* what the table's owner reads itself */
} BaseKind;

/* The C type of the member. */
typedef enum {
  BASE_NOWHERE,  /* none: checked and not kept */
  BASE_STRING,   /* char *, g_malloc'ed */
  BASE_BORROWED, /* const char *, into the text that was read */
  BASE_STRINGS,  /* char **, g_malloc'ed, NULL-terminated */
  BASE_INT,      /* gboolean, the index of a name, a number; -1: none */
  BASE_UINT,     /* guint32 */
  BASE_INT64,    /* gint64, SimTime (of BASE_TIME: picoseconds); -1: none */
  BASE_UINT64,
  BASE_DOUBLE, /* SI */
} BaseType;

typedef struct {
  const char *group, *key; /* group: NULL where the table has none. key "*", of BASE_LATER: any key of the group, each
                              refused by `help` */
  BaseKind kind;
  BaseType type;
  gsize offset;
  double min, max;          /* inclusive, in SI; both 0: unbounded; min > 0 and max 0: no upper bound */
  const char *initial;      /* the default in text; NULL: none. Without it an absent key leaves the member as it was */
  gboolean required;        /* absent is an error */
  const char *const *names; /* BASE_NAME: NULL-terminated */
  const char *const *later; /* BASE_NAME: NULL, or names that are known but refused as not modelled yet; "layers:": all
                               that begin so */
  guint marks;              /* what the table's owner means by them */
  const char *help;         /* one line for the reference */
} BaseField;

#define BASE_TYPE_OF(member)                                                                                           \
  _Generic((member),                                                                                                   \
           char *: BASE_STRING,                                                                                        \
           const char *: BASE_BORROWED,                                                                                \
           char **: BASE_STRINGS,                                                                                      \
           int: BASE_INT,                                                                                              \
           guint: BASE_UINT,                                                                                           \
           gint64: BASE_INT64,                                                                                         \
           guint64: BASE_UINT64,                                                                                       \
           double: BASE_DOUBLE)
/* The beginning of a row; other members of BaseField may follow. A member of another C type does not compile. */
#define BASE_FIELD(group_, key_, kind_, Struct, member)                                                                \
  .group = group_, .key = key_, .kind = kind_, .type = BASE_TYPE_OF(((Struct *)NULL)->member),                         \
  .offset = offsetof(Struct, member)
/* A row: BASE_ROW("model", "layers", BASE_COUNT, Shape, layers, .min = 1, .help = "transformer layers"). */
#define BASE_ROW(group_, key_, kind_, Struct, member, ...)                                                             \
  { BASE_FIELD(group_, key_, kind_, Struct, member), __VA_ARGS__ }
/* One that is checked and kept nowhere. */
#define BASE_ROW_UNKEPT(group_, key_, kind_, ...)                                                                      \
  { .group = group_, .key = key_, .kind = kind_, .type = BASE_NOWHERE, __VA_ARGS__ }

/* What a text says. */
typedef struct {
  const char *text; /* as it stands, borrowed */
  double number;    /* BASE_NUMBER and those with units, SI */
  guint64 count;    /* BASE_COUNT */
  int index;        /* BASE_NAME; BASE_FLAG: 0 or 1 */
} BaseValue;

/* Checks kind, range (that of the member's type too) and names. Errors: SIM_ERROR_INPUT without a place, saying what
 * was found and what is taken; *ret is then untouched. */
gboolean base_field_parse(const BaseField *field, const char *text, BaseValue *ret, GError **error);
/* Puts a value of the field into the struct that has it. BASE_STRING is freed first and gets a copy, BASE_STRINGS gets
 * one more. */
void base_field_set(const BaseField *field, gpointer object, const BaseValue *value);
/* Both. */
gboolean base_field_read(const BaseField *field, const char *text, gpointer object, GError **error);

/* Canonical text of a value: "41943040000 B/s"; NULL where BASE_LATER has no default. Caller frees. */
char *base_field_canonical(const BaseField *field, const BaseValue *value);
/* The same of what the struct holds; NULL: nothing (no text, a negative index or count). Not of lists and BASE_OWN. */
char *base_field_print(const BaseField *field, gconstpointer object);

/* What the field takes, for messages and references: "a whole number from 1 to 8", "one of adam, adamw", "yes or no",
 * "a time such as 2.5 us, at least 0 s". Caller frees. */
char *base_field_expected(const BaseField *field);
/* Base unit of a kind, BASE_UNIT_NONE for those without. */
BaseUnit base_kind_unit(BaseKind kind);

static inline gboolean base_kind_is_text(BaseKind kind) {
  return kind == BASE_TEXT || kind == BASE_PATH || kind == BASE_LINES;
}
static inline gboolean base_kind_is_number(BaseKind kind) {
  return kind >= BASE_COUNT && kind <= BASE_MONEY;
}
static inline gpointer base_field_member(const BaseField *field, gpointer object) {
  return (char *)object + field->offset;
}

/* The row of a key; NULL: none. Cost: rows. */
const BaseField *base_fields_find(const BaseField *fields, gsize n_fields, const char *key);
/* Frees what the members own. */
void base_fields_clear(const BaseField *fields, gsize n_fields, gpointer object);

/* FALSE where the text is no flag. */
gboolean base_flag_parse(const char *text, gboolean *ret);
