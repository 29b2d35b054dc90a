/* SPDX-License-Identifier: MIT */
/* Reading of catalogue sections: units, required keys, advice on unknown ones. */
#include "hw-section.h"

#include "base-names.h"
#include "conf-text.h"

static void section_place(const ConfText *text, const char *section, const char *key, char **ret_name,
                          BasePlace *ret_place) {
  conf_text_place(text, section, key, ret_place);
  *ret_name = key != NULL ? g_strdup_printf("%s.%s", section, key) : g_strdup(section);
  ret_place->key = *ret_name;
}

static gboolean refuse_unknown(const ConfText *text, const char *section, const BaseField *fields, gsize n_fields,
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

gboolean hw_section_read(const ConfText *text, const char *section, const BaseField *fields, gsize n_fields,
                         gpointer ret, GError **error) {
  if (!refuse_unknown(text, section, fields, n_fields, error))
    return FALSE;
  for (gsize i = 0; i < n_fields; i++) {
    const BaseField *field = &fields[i];
    const char *value = conf_text_get(text, section, field->key);
    if (value != NULL && *value != '\0') {
      if (base_field_read(field, value, ret, error))
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
