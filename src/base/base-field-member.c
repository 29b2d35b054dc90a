/* SPDX-License-Identifier: MIT */
/* Values into members of a struct and out of them, by the member's C type. */
#include "base-field.h"

#include <math.h>
#include <string.h>

static void add_string(char ***list, const char *text) {
  guint n = *list != NULL ? g_strv_length(*list) : 0;
  *list = g_renew(char *, *list, n + 2);
  (*list)[n] = g_strdup(text);
  (*list)[n + 1] = NULL;
}

static gint64 whole_of(const BaseField *field, const BaseValue *value) {
  switch (field->kind) {
  case BASE_NAME:
  case BASE_FLAG:
    return value->index;
  case BASE_COUNT:
    return (gint64)value->count;
  case BASE_TIME:
    return sim_time_from_seconds(value->number);
  default:
    return (gint64)llround(value->number);
  }
}

void base_field_set(const BaseField *field, gpointer object, const BaseValue *value) {
  gpointer member = base_field_member(field, object);
  switch (field->type) {
  case BASE_STRING:
    g_free(*(char **)member);
    *(char **)member = g_strdup(value->text);
    return;
  case BASE_BORROWED:
    *(const char **)member = value->text;
    return;
  case BASE_STRINGS:
    add_string(member, value->text);
    return;
  case BASE_INT:
    *(int *)member = (int)whole_of(field, value);
    return;
  case BASE_UINT:
    *(guint32 *)member = (guint32)whole_of(field, value);
    return;
  case BASE_INT64:
    *(gint64 *)member = whole_of(field, value);
    return;
  case BASE_UINT64:
    *(guint64 *)member = (guint64)whole_of(field, value);
    return;
  case BASE_DOUBLE:
    *(double *)member = field->kind == BASE_COUNT ? (double)value->count : value->number;
    return;
  default:
    return;
  }
}

gboolean base_field_read(const BaseField *field, const char *text, gpointer object, GError **error) {
  BaseValue value;
  if (!base_field_parse(field, text, &value, error))
    return FALSE;
  base_field_set(field, object, &value);
  return TRUE;
}

/* FALSE: none. */
static gboolean of_whole(const BaseField *field, gint64 whole, BaseValue *ret) {
  if (whole < 0)
    return FALSE;
  if (field->kind == BASE_NAME || field->kind == BASE_FLAG)
    ret->index = (int)whole;
  else if (field->kind == BASE_COUNT)
    ret->count = (guint64)whole;
  else
    ret->number = field->kind == BASE_TIME ? sim_time_to_seconds(whole) : (double)whole;
  return TRUE;
}

static gboolean get(const BaseField *field, gconstpointer object, BaseValue *ret) {
  gconstpointer member = (const char *)object + field->offset;
  switch (field->type) {
  case BASE_STRING:
  case BASE_BORROWED:
    ret->text = *(const char *const *)member;
    return ret->text != NULL;
  case BASE_INT:
    return of_whole(field, *(const int *)member, ret);
  case BASE_UINT:
    return of_whole(field, *(const guint32 *)member, ret);
  case BASE_INT64:
  case BASE_UINT64:
    return of_whole(field, *(const gint64 *)member, ret);
  case BASE_DOUBLE:
    ret->number = *(const double *)member;
    ret->count = field->kind == BASE_COUNT ? (guint64)ret->number : 0;
    return TRUE;
  default:
    return FALSE;
  }
}

char *base_field_print(const BaseField *field, gconstpointer object) {
  BaseValue value = {0};
  return get(field, object, &value) ? base_field_canonical(field, &value) : NULL;
}

const BaseField *base_fields_find(const BaseField *fields, gsize n_fields, const char *key) {
  for (gsize i = 0; i < n_fields; i++)
    if (strcmp(fields[i].key, key) == 0)
      return &fields[i];
  return NULL;
}

void base_fields_clear(const BaseField *fields, gsize n_fields, gpointer object) {
  for (gsize i = 0; i < n_fields; i++) {
    gpointer member = base_field_member(&fields[i], object);
    if (fields[i].type == BASE_STRING)
      g_clear_pointer((char **)member, g_free);
    else if (fields[i].type == BASE_STRINGS)
      g_clear_pointer((char ***)member, g_strfreev);
  }
}
