/* Each kind of value: what it takes, what it refuses and in which words. */
#include "conf-value.h"

#include <math.h>
#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "conf-count.h"

BaseUnit conf_kind_unit(ConfKind kind) {
  static const BaseUnit units[] = {
      [CONF_BYTES] = BASE_UNIT_BYTES, [CONF_BYTE_RATE] = BASE_UNIT_BYTE_RATE, [CONF_FLOP_RATE] = BASE_UNIT_FLOP_RATE,
      [CONF_TIME] = BASE_UNIT_TIME,   [CONF_MONEY] = BASE_UNIT_MONEY,         [CONF_LATER] = BASE_UNIT_NONE,
  };
  return units[kind];
}

void conf_value_clear(ConfValue *value) {
  g_clear_pointer(&value->text, g_free);
}

/* Where a key's values begin and end; infinite where they do not. */
static void bounds_of(const ConfKey *key, double *ret_low, double *ret_high) {
  gboolean bounded = key->min != 0 || key->max != 0;
  gboolean signless = conf_kind_unit(key->kind) != BASE_UNIT_NONE;
  *ret_low = bounded ? key->min : signless ? 0 : -INFINITY;
  *ret_high = bounded && !(key->max == 0 && key->min > 0) ? key->max : INFINITY;
}

/* "from 1 GB/s to 900 GB/s", "at least 1", "at most 4"; "" where all values are taken. */
static char *range_text(const ConfKey *key) {
  double low, high;
  bounds_of(key, &low, &high);
  if (key->kind == CONF_COUNT) {
    low = low <= 0 && !isfinite(high) ? -INFINITY : MAX(low, 0);
    high = high >= (double)CONF_COUNT_MAX ? INFINITY : high;
  }
  BaseUnit unit = conf_kind_unit(key->kind);
  g_autofree char *first = isfinite(low) ? base_quantity_readable(low, unit) : NULL;
  g_autofree char *last = isfinite(high) ? base_quantity_readable(high, unit) : NULL;
  if (first != NULL && last != NULL)
    return g_strdup_printf("from %s to %s", first, last);
  if (first != NULL)
    return g_strdup_printf("at least %s", first);
  return last != NULL ? g_strdup_printf("at most %s", last) : g_strdup("");
}

char *conf_value_expected(const ConfKey *key) {
  static const char *const nouns[] = {
      [CONF_STRING] = "text",          [CONF_PATH] = "the name of a file",  [CONF_FLAG] = "yes or no",
      [CONF_COUNT] = "a whole number", [CONF_NUMBER] = "a number",          [CONF_BYTES] = "a size",
      [CONF_BYTE_RATE] = "a rate",     [CONF_FLOP_RATE] = "a rate",         [CONF_TIME] = "a time",
      [CONF_MONEY] = "a price",        [CONF_LINES] = "lines of the group",
  };
  g_autofree char *range = range_text(key);
  switch (key->kind) {
  case CONF_STRING:
  case CONF_LINES:
  case CONF_PATH:
  case CONF_FLAG:
    return g_strdup(nouns[key->kind]);
  case CONF_NAME: {
    g_autofree char *all = base_names_join(key->names);
    return g_strdup_printf("one of %s", all);
  }
  case CONF_LATER:
    return g_strdup(key->initial != NULL ? key->initial : "no");
  case CONF_COUNT:
  case CONF_NUMBER:
    return g_strdup_printf("%s%s%s", nouns[key->kind], *range == '\0' ? "" : *range == 'f' ? " " : " of ", range);
  default:
    return g_strdup_printf("%s such as %s%s%s", nouns[key->kind], base_unit_example(conf_kind_unit(key->kind)),
                           *range != '\0' ? ", " : "", range);
  }
}

static gboolean check_range(const ConfKey *key, const char *text, double value, GError **error) {
  double low, high;
  bounds_of(key, &low, &high);
  if (value >= low && value <= high)
    return TRUE;
  g_autofree char *range = range_text(key);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s is out of range: expected %s", text, range);
  return FALSE;
}

static gboolean parse_count(const ConfKey *key, const char *text, ConfValue *value, GError **error) {
  if (!conf_count_parse(text, TRUE, NULL, &value->count, NULL)) {
    g_autofree char *expected = conf_value_expected(key);
    return conf_count_parse(text, TRUE, expected, &value->count, error);
  }
  value->text = g_strdup_printf("%" G_GUINT64_FORMAT, value->count);
  return check_range(key, text, (double)value->count, error);
}

static gboolean parse_quantity(const ConfKey *key, const char *text, ConfValue *value, GError **error) {
  BaseUnit unit = conf_kind_unit(key->kind);
  if (!base_quantity_parse(text, unit, &value->number, error) || !check_range(key, text, value->number, error))
    return FALSE;
  if (unit == BASE_UNIT_BYTES)
    value->number = round(value->number);
  value->text = base_quantity_canonical(value->number, unit);
  return TRUE;
}

/* An entry of `later` that ends in ":" stands for all that begins so. */
static gboolean is_later(const ConfKey *key, const char *text) {
  for (const char *const *name = key->later; name != NULL && *name != NULL; name++) {
    gsize length = strlen(*name);
    gboolean prefix = length > 0 && (*name)[length - 1] == ':';
    if (prefix ? g_ascii_strncasecmp(*name, text, length) == 0 : g_ascii_strcasecmp(*name, text) == 0)
      return TRUE;
  }
  return FALSE;
}

/* `; did you mean "ddp" (not modelled yet)?`, or "" where nothing is near. Caller frees. */
static char *name_advice(const ConfKey *key, const char *text) {
  g_autoptr(GPtrArray) all = g_ptr_array_new();
  const char *const *const tables[] = {key->names, key->later};
  for (gsize i = 0; i < G_N_ELEMENTS(tables); i++)
    for (const char *const *name = tables[i]; name != NULL && *name != NULL; name++)
      g_ptr_array_add(all, (gpointer)*name);
  g_ptr_array_add(all, NULL);
  const char *near = base_names_nearest((const char *const *)all->pdata, text);
  if (near == NULL)
    return g_strdup("");
  return g_strdup_printf("; did you mean \"%s\"%s?", near, is_later(key, near) ? " (not modelled yet)" : "");
}

static gboolean parse_name(const ConfKey *key, const char *text, ConfValue *value, GError **error) {
  value->index = base_names_find(key->names, text);
  if (value->index >= 0) {
    value->text = g_strdup(key->names[value->index]);
    return TRUE;
  }
  g_autofree char *all = base_names_join(key->names);
  if (is_later(key, text)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s \"%s\" is not modelled yet; expected one of %s", key->key, text,
                all);
    return FALSE;
  }
  g_autofree char *advice = name_advice(key, text);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected one of %s, found \"%s\"%s", all, text, advice);
  return FALSE;
}

gboolean conf_value_flag(const char *text, gboolean *ret) {
  static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1", NULL};
  int found = base_names_find(words, text);
  if (found >= 0)
    *ret = found % 2;
  return found >= 0;
}

static gboolean parse_flag(const char *text, ConfValue *value, GError **error) {
  if (!conf_value_flag(text, &value->index)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "expected yes or no, found \"%s\"", text);
    return FALSE;
  }
  value->text = g_strdup(value->index ? "yes" : "no");
  return TRUE;
}

static gboolean parse_later(const ConfKey *key, const char *text, ConfValue *value, GError **error) {
  const char *const taken[] = {"no", "none", "1", key->initial, NULL};
  if (base_names_find(taken, text) < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s is not modelled yet (only %s is taken), found \"%s\"", key->help,
                key->initial != NULL ? key->initial : "\"no\"", text);
    return FALSE;
  }
  value->text = g_strdup(key->initial);
  return TRUE;
}

static gboolean parse_kind(const ConfKey *key, const char *text, ConfValue *value, GError **error) {
  switch (key->kind) {
  case CONF_COUNT:
    return parse_count(key, text, value, error);
  case CONF_NAME:
    return parse_name(key, text, value, error);
  case CONF_FLAG:
    return parse_flag(text, value, error);
  case CONF_LATER:
    return parse_later(key, text, value, error);
  case CONF_STRING:
  case CONF_LINES:
  case CONF_PATH:
    value->text = g_strdup(text);
    return TRUE;
  default:
    return parse_quantity(key, text, value, error);
  }
}

gboolean conf_value_parse(const ConfKey *key, const char *text, ConfValue *ret, GError **error) {
  g_autofree char *clean = g_strstrip(g_strdup(text));
  g_auto(ConfValue) value = {0};
  if (*clean == '\0' && key->kind != CONF_STRING) {
    g_autofree char *expected = conf_value_expected(key);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "has no value: expected %s", expected);
    return FALSE;
  }
  if (!parse_kind(key, clean, &value, error))
    return FALSE;
  *ret = value;
  value.text = NULL;
  return TRUE;
}
