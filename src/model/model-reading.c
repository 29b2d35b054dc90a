/* SPDX-License-Identifier: MIT */
/* Questions to a config.json under its prefix. */
#include "model-reading.h"

char *model_reading_path(const ModelReading *reading, const char *name) {
  return g_strconcat(reading->prefix, name, NULL);
}

gboolean model_reading_has(const ModelReading *reading, const char *name) {
  g_autofree char *path = model_reading_path(reading, name);
  return conf_json_has(reading->json, path);
}

gboolean model_reading_states(const ModelReading *reading, const char *name) {
  if (*reading->prefix != '\0')
    return model_reading_has(reading, name);
  return g_strv_contains(conf_json_keys(reading->json), name) || model_reading_has(reading, name);
}

gboolean model_reading_count(const ModelReading *reading, const char *name, guint64 *ret, GError **error) {
  g_autofree char *path = model_reading_path(reading, name);
  return !conf_json_has(reading->json, path) || conf_json_count(reading->json, path, ret, error);
}

gboolean model_reading_flag(const ModelReading *reading, const char *name, gboolean *ret, GError **error) {
  g_autofree char *path = model_reading_path(reading, name);
  return !conf_json_has(reading->json, path) || conf_json_flag(reading->json, path, ret, error);
}

gboolean model_reading_fail(const ModelReading *reading, const char *name, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments), *path = model_reading_path(reading, name);
  va_end(arguments);
  return conf_json_fail(reading->json, path, error, "%s", message);
}

void model_reading_assume(const ModelReading *reading, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(reading->assumed, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}
