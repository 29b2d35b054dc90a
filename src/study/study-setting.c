/* SPDX-License-Identifier: MIT */
/* Kinds of fields to units of expressions. */
#include "study-setting.h"

#include "study-walk.h"

StudySettings *study_settings_open(void) {
  return study_settings_new();
}

void study_settings_close(StudySettings *settings) {
  conf_settings_free(settings);
}

static StoreUnit unit_of(BaseKind kind) {
  switch (kind) {
  case BASE_COUNT:
  case BASE_NUMBER:
    return STORE_NUMBER;
  case BASE_BYTES:
    return STORE_BYTES;
  case BASE_BYTE_RATE:
    return STORE_RATE;
  case BASE_TIME:
    return STORE_TIME;
  case BASE_MONEY:
    return STORE_MONEY;
  default:
    return STORE_TEXT;
  }
}

gboolean study_settings_find(const char *word, StoreSettingFound *ret, gpointer settings) {
  g_autofree char *name = conf_settings_name(settings, word, NULL);
  if (name == NULL)
    return FALSE;
  const BaseField *field = conf_settings_field(settings, name);
  *ret = (StoreSettingFound){g_intern_string(name), unit_of(field->kind), conf_settings_get(settings, name)};
  return TRUE;
}
