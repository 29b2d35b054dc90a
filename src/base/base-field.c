/* SPDX-License-Identifier: MIT */
/* Each kind of value: what it takes, what it refuses and in which words. */
#include "base-field.h"

#include <math.h>
#include <string.h>

#include "base-count.h"
#include "base-error.h"
#include "base-names.h"

BaseUnit base_kind_unit(BaseKind kind) {
  static const BaseUnit units[] = {
      [BASE_BYTES] = BASE_UNIT_BYTES, [BASE_BYTE_RATE] = BASE_UNIT_BYTE_RATE, [BASE_FLOP_RATE] = BASE_UNIT_FLOP_RATE,
      [BASE_POWER] = BASE_UNIT_POWER, [BASE_TIME] = BASE_UNIT_TIME,           [BASE_MONEY] = BASE_UNIT_MONEY,
      [BASE_OWN] = BASE_UNIT_NONE,
  };
  return units[kind];
}

/* The largest number that the member can hold. */
static double type_most(const BaseField *field) {
  if (field->type == BASE_UINT)
    return G_MAXUINT32;
  if (field->type == BASE_INT)
    return G_MAXINT32;
  gboolean whole = field->kind != BASE_TIME && (field->type == BASE_INT64 || field->type == BASE_UINT64);
  return whole ? (double)BASE_COUNT_MAX : INFINITY;
}

/* Where a field's values begin and end; infinite where they do not. */
static void bounds_of(const BaseField *field, double *ret_low, double *ret_high) {
  gboolean bounded = field->min != 0 || field->max != 0;
  gboolean signless = base_kind_unit(field->kind) != BASE_UNIT_NONE;
  *ret_low = bounded ? field->min : signless ? 0 : -INFINITY;
  double high = bounded && !(field->max == 0 && field->min > 0) ? field->max : INFINITY;
  *ret_high = MIN(high, type_most(field));
}

/* "from 1 GB/s to 900 GB/s", "at least 1", "at most 4"; "" where all values are taken. */
static char *range_text(const BaseField *field) {
  double low, high;
  bounds_of(field, &low, &high);
  high = high >= (double)BASE_COUNT_MAX ? INFINITY : high;
  if (field->kind == BASE_COUNT)
    low = low <= 0 && !isfinite(high) ? -INFINITY : MAX(low, 0);
  BaseUnit unit = base_kind_unit(field->kind);
  g_autofree char *first = isfinite(low) ? base_quantity_readable(low, unit) : NULL;
  g_autofree char *last = isfinite(high) ? base_quantity_readable(high, unit) : NULL;
  if (first != NULL && last != NULL)
    return g_strdup_printf("from %s to %s", first, last);
  if (first != NULL)
    return g_strdup_printf("at least %s", first);
  return last != NULL ? g_strdup_printf("at most %s", last) : g_strdup("");
}

char *base_field_expected(const BaseField *field) {
  static const char *const nouns[] = {
      [BASE_TEXT] = "text",        [BASE_PATH] = "the name of a file",
      [BASE_FLAG] = "yes or no",   [BASE_COUNT] = "a whole number",
      [BASE_NUMBER] = "a number",  [BASE_BYTES] = "a size",
      [BASE_BYTE_RATE] = "a rate", [BASE_FLOP_RATE] = "a rate",
      [BASE_POWER] = "a power",    [BASE_TIME] = "a time",
      [BASE_MONEY] = "a price",    [BASE_LINES] = "lines of the group",
      [BASE_LIST] = "text",
  };
  g_autofree char *range = range_text(field);
  switch (field->kind) {
  case BASE_TEXT:
  case BASE_LINES:
  case BASE_PATH:
  case BASE_LIST:
  case BASE_FLAG:
    return g_strdup(nouns[field->kind]);
  case BASE_OWN:
    return g_strdup(field->help);
  case BASE_NAME: {
    g_autofree char *all = base_names_join(field->names);
    return g_strdup_printf("one of %s", all);
  }
  case BASE_LATER:
    return g_strdup(field->initial != NULL ? field->initial : "no");
  case BASE_COUNT:
  case BASE_NUMBER:
    return g_strdup_printf("%s%s%s", nouns[field->kind], *range == '\0' ? "" : *range == 'f' ? " " : " of ", range);
  default:
    return g_strdup_printf("%s such as %s%s%s", nouns[field->kind], base_unit_example(base_kind_unit(field->kind)),
                           *range != '\0' ? ", " : "", range);
  }
}

static gboolean check_range(const BaseField *field, const char *text, double value, GError **error) {
  double low, high;
  bounds_of(field, &low, &high);
  if (value >= low && value <= high)
    return TRUE;
  g_autofree char *range = range_text(field);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s is out of range: expected %s", text, range);
  return FALSE;
}

static gboolean parse_count(const BaseField *field, const char *text, BaseValue *value, GError **error) {
  if (!base_count_parse(text, TRUE, NULL, &value->count, NULL)) {
    g_autofree char *expected = base_field_expected(field);
    return base_count_parse(text, TRUE, expected, &value->count, error);
  }
  return check_range(field, text, (double)value->count, error);
}

static gboolean parse_quantity(const BaseField *field, const char *text, BaseValue *value, GError **error) {
  BaseUnit unit = base_kind_unit(field->kind);
  if (!base_quantity_parse(text, unit, &value->number, error) || !check_range(field, text, value->number, error))
    return FALSE;
  if (unit == BASE_UNIT_BYTES)
    value->number = round(value->number);
  return TRUE;
}

/* An entry of `later` that ends in ":" stands for all that begins so. */
static gboolean is_later(const BaseField *field, const char *text) {
  for (const char *const *name = field->later; name != NULL && *name != NULL; name++) {
    gsize length = strlen(*name);
    gboolean prefix = length > 0 && (*name)[length - 1] == ':';
    if (prefix ? g_ascii_strncasecmp(*name, text, length) == 0 : g_ascii_strcasecmp(*name, text) == 0)
      return TRUE;
  }
  return FALSE;
}

/* `; did you mean "ddp" (not modelled yet)?`, or "" where nothing is near. Caller frees. */
static char *name_advice(const BaseField *field, const char *text) {
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  const char *const *const tables[] = {field->names, field->later};
  for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
    for (const char *const *name = tables[i]; name != NULL && *name != NULL; name++)
      g_ptr_array_add(all, (gpointer)*name);
  g_ptr_array_add(all, NULL);
  const char *near = base_names_nearest((const char *const *)all->pdata, text);
  if (near == NULL)
    return g_strdup("");
  return g_strdup_printf("; did you mean \"%s\"%s?", near, is_later(field, near) ? " (not modelled yet)" : "");
}

static gboolean parse_name(const BaseField *field, const char *text, BaseValue *value, GError **error) {
  value->index = base_names_find(field->names, text);
  if (value->index >= 0)
    return TRUE;
  g_autofree char *all = base_names_join(field->names);
  if (is_later(field, text)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s \"%s\" is not modelled yet; expected one of %s", field->key,
                text, all);
    return FALSE;
  }
  g_autofree char *advice = name_advice(field, text);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected one of %s, found \"%s\"%s", all, text, advice);
  return FALSE;
}

gboolean base_flag_parse(const char *text, gboolean *ret) {
  static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1", NULL};
  int found = base_names_find(words, text);
  if (found >= 0)
    *ret = found % 2;
  return found >= 0;
}

static gboolean parse_flag(const char *text, BaseValue *value, GError **error) {
  if (base_flag_parse(text, &value->index))
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected yes or no, found \"%s\"", text);
  return FALSE;
}

static gboolean check_later(const BaseField *field, const char *text, GError **error) {
  const char *const taken[] = {"no", "none", "1", field->initial, NULL};
  if (base_names_find(taken, text) >= 0)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s is not modelled yet (only %s is taken), found \"%s\"", field->help,
              field->initial != NULL ? field->initial : "\"no\"", text);
  return FALSE;
}

static gboolean parse_kind(const BaseField *field, const char *text, BaseValue *value, GError **error) {
  switch (field->kind) {
  case BASE_COUNT:
    return parse_count(field, text, value, error);
  case BASE_NAME:
    return parse_name(field, text, value, error);
  case BASE_FLAG:
    return parse_flag(text, value, error);
  case BASE_LATER:
    return check_later(field, text, error);
  case BASE_NUMBER:
  case BASE_BYTES:
  case BASE_BYTE_RATE:
  case BASE_FLOP_RATE:
  case BASE_POWER:
  case BASE_TIME:
  case BASE_MONEY:
    return parse_quantity(field, text, value, error);
  default:
    return TRUE;
  }
}

gboolean base_field_parse(const BaseField *field, const char *text, BaseValue *ret, GError **error) {
  BaseValue value = {.text = text};
  if (*text == '\0' && field->kind != BASE_TEXT) {
    g_autofree char *expected = base_field_expected(field);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "has no value: expected %s", expected);
    return FALSE;
  }
  if (!parse_kind(field, text, &value, error))
    return FALSE;
  *ret = value;
  return TRUE;
}

char *base_field_canonical(const BaseField *field, const BaseValue *value) {
  switch (field->kind) {
  case BASE_COUNT:
    return g_strdup_printf("%" G_GUINT64_FORMAT, value->count);
  case BASE_NAME:
    return g_strdup(field->names[value->index]);
  case BASE_FLAG:
    return g_strdup(value->index ? "yes" : "no");
  case BASE_LATER:
    return g_strdup(field->initial);
  case BASE_NUMBER:
  case BASE_BYTES:
  case BASE_BYTE_RATE:
  case BASE_FLOP_RATE:
  case BASE_POWER:
  case BASE_TIME:
  case BASE_MONEY:
    return base_quantity_canonical(value->number, base_kind_unit(field->kind));
  default:
    return g_strdup(value->text);
  }
}
