/* SPDX-License-Identifier: MIT */
/* Settings over a study: every refusal is kept, so that a reader learns at once all that stands in a point's way. */
#include "study-point.h"

#include <string.h>

#include "study-walk.h"

static void setting_clear(gpointer data) {
  StudyPointSetting *setting = data;
  g_free(setting->name);
  g_free(setting->value);
}

StudyPoint *study_point_new(const char *file) {
  StudyPoint *point = g_new0(StudyPoint, 1);
  point->file = g_strdup(file);

  point->settings = g_array_new(FALSE, FALSE, sizeof(StudyPointSetting));
  g_array_set_clear_func(point->settings, setting_clear);
  point->reasons = g_ptr_array_new_with_free_func(g_free);
  return point;
}

void study_point_free(StudyPoint *point) {
  if (point == NULL)
    return;
  g_array_unref(point->settings);
  g_ptr_array_unref(point->reasons);
  run_report_free(point->report);
  g_free(point->run_key);
  g_free(point->file);
  g_free(point);
}

void study_point_add(StudyPoint *point, const char *name, const char *value, guint line, guint column) {
  StudyPointSetting setting = {g_strdup(name), g_strdup(value), line, column};
  g_array_append_val(point->settings, setting);
}

/* What base_error_set_at put in front, "file:line:column: ", told elsewhere. */
static const char *without_place(const char *message, const StudyPoint *point) {
  gsize length = point->file != NULL ? strlen(point->file) : 0;
  if (length == 0 || strncmp(message, point->file, length) != 0 || message[length] != ':')
    return message;
  const char *rest = message + length;
  rest += strspn(rest, ":0123456789");
  return *rest == ' ' ? rest + 1 : message;
}

void study_point_refuse(StudyPoint *point, GError *error) {
  const char *message = without_place(error->message, point);
  if (!g_ptr_array_find_with_equal_func(point->reasons, message, g_str_equal, NULL))
    g_ptr_array_add(point->reasons, g_strdup(message));
  point->faulty |= g_error_matches(error, SIM_ERROR, SIM_ERROR_SYSTEM);
  g_error_free(error);
}

void study_point_lay(StudyPoint *point, ConfSettings *settings) {
  for (guint i = 0; i < point->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, i);
    BasePlace place = {.file = point->file, .line = setting->line, .column = setting->column};
    GError *error = NULL;
    if (!conf_settings_put(settings, setting->name, setting->value,
                           point->typed ? CONF_ORIGIN_COMMAND_LINE : CONF_ORIGIN_FILE, &place, &error))
      study_point_refuse(point, error);
  }
}

void study_point_play(StudyPoint *point, const Study *study, const StudyOptions *options, StudyCache *cache,
                      StudyJudge judge, gpointer user) {
  g_autoptr(ConfSettings) settings = conf_settings_copy(study->settings);
  GError *error = NULL;
  study_point_lay(point, settings);
  if (point->reasons->len == 0)
    point->report =
        study_run_settings(study->workload, g_steal_pointer(&settings), options, cache, judge, user, &error);
  if (error != NULL)
    study_point_refuse(point, error);
}

static StudyVerdict play_all(G_GNUC_UNUSED const RunReport *identity, G_GNUC_UNUSED gpointer user) {
  return STUDY_PLAY;
}

void study_point_run(StudyPoint *point, const Study *study, const StudyOptions *options, StudyCache *cache) {
  study_point_play(point, study, options, cache, play_all, NULL);
}

gboolean study_point_check(const StudyPoint *point, GError **error) {
  if (!point->faulty)
    return TRUE;
  g_autofree char *status = study_point_status(point);
  g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s", status);
  return FALSE;
}

char *study_point_status(const StudyPoint *point) {
  GString *status = g_string_new(NULL);
  for (guint i = 0; i < point->reasons->len; i++)
    g_string_append_printf(status, "%s%s", i > 0 ? "; " : "", (const char *)g_ptr_array_index(point->reasons, i));
  return g_string_free(status, FALSE);
}

gboolean study_point_concerns(const char *name, const char *framework) {
  static const char *const groups[] = {"ddp.", "deepspeed.", "fsdp.", "megatron.", "nanotron."};
  for (gsize i = 0; i < G_N_ELEMENTS(groups); i++)
    if (g_str_has_prefix(name, groups[i]))
      return strncmp(framework, groups[i], strlen(groups[i]) - 1) == 0;
  return TRUE;
}
