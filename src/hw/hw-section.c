/* Reading of catalogue sections: units, required keys, advice on unknown ones. */
#include "hw-section.h"

#include <math.h>

#include "base-names.h"
#include "conf-text.h"

static void section_place(const ConfText *text, const char *section, const char *key, char **ret_name,
                          BasePlace *ret_place) {
  conf_text_place(text, section, key, ret_place);
  *ret_name = key != NULL ? g_strdup_printf("%s.%s", section, key) : g_strdup(section);
  ret_place->key = *ret_name;
}

static gboolean refuse_unknown(const ConfText *text, const char *section, const HwField *fields, gsize n_fields,
                               GError **error) {
  g_autofree const char **known = g_new0(const char *, n_fields + 1);
  for (gsize i = 0; i < n_fields; i++)
    known[i] = fields[i].key;
  for (const char *const *key = conf_text_keys(text, section); *key != NULL; key++) {
    if (g_strv_contains(known, *key))
      continue;
    g_autofree char *advice = base_names_advice(known, *key);
    g_autofree char *name = NULL;
    BasePlace place;
    section_place(text, section, *key, &name, &place);
    base_error_set_at(error, &place, "no such key%s", advice);
    return FALSE;
  }
  return TRUE;
}

static const BaseUnit field_units[] = {
    [HW_FIELD_COUNT] = BASE_UNIT_NONE,          [HW_FIELD_BYTES] = BASE_UNIT_BYTES,
    [HW_FIELD_BYTE_RATE] = BASE_UNIT_BYTE_RATE, [HW_FIELD_FLOP_RATE] = BASE_UNIT_FLOP_RATE,
    [HW_FIELD_TIME] = BASE_UNIT_TIME,           [HW_FIELD_NUMBER] = BASE_UNIT_NONE,
};

static gboolean read_number(const HwField *field, const char *text, gpointer target, GError **error) {
  double value;
  if (!base_quantity_parse(text, field_units[field->kind], &value, error))
    return FALSE;
  if (value < 0 || (value == 0 && field->kind != HW_FIELD_TIME && field->kind != HW_FIELD_NUMBER)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "\"%s\" is not more than zero; leave the key out where the part has none", text);
    return FALSE;
  }
  if (field->kind == HW_FIELD_COUNT && value != floor(value)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" is not a whole number", text);
    return FALSE;
  }
  if (field->kind == HW_FIELD_TIME)
    *(SimTime *)target = sim_time_from_seconds(value);
  else if (field->kind == HW_FIELD_COUNT || field->kind == HW_FIELD_BYTES)
    *(guint64 *)target = (guint64)round(value);
  else
    *(double *)target = value;
  return TRUE;
}

static gboolean read_field(const HwField *field, const char *text, gpointer target, GError **error) {
  if (field->kind == HW_FIELD_TEXT) {
    g_free(*(char **)target);
    *(char **)target = g_strdup(text);
    return TRUE;
  }
  if (field->kind != HW_FIELD_NAME)
    return read_number(field, text, target, error);
  int found = base_names_find(field->names, text);
  if (found < 0) {
    g_autofree char *advice = base_names_advice(field->names, text);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "\"%s\" is not known%s", text, advice);
    return FALSE;
  }
  *(int *)target = found;
  return TRUE;
}

gboolean hw_section_read(const ConfText *text, const char *section, const HwField *fields, gsize n_fields, gpointer ret,
                         GError **error) {
  if (!refuse_unknown(text, section, fields, n_fields, error))
    return FALSE;
  for (gsize i = 0; i < n_fields; i++) {
    const HwField *field = &fields[i];
    const char *value = conf_text_get(text, section, field->key);
    if (value != NULL && *value != '\0') {
      if (read_field(field, value, G_STRUCT_MEMBER_P(ret, field->offset), error))
        continue;
      g_autofree char *name = NULL;
      BasePlace place;
      section_place(text, section, field->key, &name, &place);
      base_error_prefix_at(error, &place);
      return FALSE;
    }
    if (field->required) {
      g_autofree char *name = NULL;
      BasePlace place;
      section_place(text, section, NULL, &name, &place);
      base_error_set_at(error, &place, "lacks \"%s\"", field->key);
      return FALSE;
    }
  }
  return TRUE;
}

void hw_section_clear(const HwField *fields, gsize n_fields, gpointer object) {
  for (gsize i = 0; i < n_fields; i++)
    if (fields[i].kind == HW_FIELD_TEXT)
      g_clear_pointer((char **)G_STRUCT_MEMBER_P(object, fields[i].offset), g_free);
}

char *hw_section_canonical(const HwField *field, gconstpointer object) {
  gconstpointer value = (const char *)object + field->offset;
  switch (field->kind) {
  case HW_FIELD_TEXT:
    return g_strdup(*(char *const *)value);
  case HW_FIELD_NAME:
    return g_strdup(field->names[*(const int *)value]);
  case HW_FIELD_COUNT:
  case HW_FIELD_BYTES:
    return base_quantity_canonical((double)*(const guint64 *)value, field_units[field->kind]);
  case HW_FIELD_TIME:
    return base_quantity_canonical(sim_time_to_seconds(*(const SimTime *)value), BASE_UNIT_TIME);
  default:
    return base_quantity_canonical(*(const double *)value, field_units[field->kind]);
  }
}
