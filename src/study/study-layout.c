/* SPDX-License-Identifier: MIT */
/* Layouts laid over a study, and those worth a try. */
#include "study-layout.h"

#include <string.h>

#include "base-error.h"
#include "base-names.h"
#include "study-walk.h"

#define MOST_STAGES 64

/* "tensor=4" to "parallel.tensor=4"; NULL: an error. */
static char *whole_assignment(const ConfSettings *settings, const char *word, GError **error) {
  const char *equals = strchr(word, '=');
  if (equals == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--layout: \"%s\" is not KEY=VALUE, as in tensor=4", word);
    return NULL;
  }
  g_autofree char *key = g_strndup(word, (gsize)(equals - word));
  g_autofree char *own = g_strconcat("parallel.", key, NULL);
  if (conf_settings_knows(settings, own))
    return g_strconcat("parallel.", word, NULL);
  g_autofree char *name = conf_settings_name(settings, key, error);
  return name != NULL ? g_strconcat(name, equals, NULL) : NULL;
}

static gboolean names(const char *layout, const char *key) {
  return strstr(layout, key) != NULL;
}

static gboolean keep_batch(ConfSettings *settings, const char *layout, const RunIdentity *base, GError **error) {
  if (names(layout, "gradient_accumulation=") || names(layout, "global_batch="))
    return TRUE;
  g_autofree char *micro = g_strdup_printf("training.micro_batch=%" G_GUINT64_FORMAT, base->micro_batch);
  g_autofree char *global = g_strdup_printf("training.global_batch=%" G_GUINT64_FORMAT, base->global_batch);
  conf_settings_forget(settings, "training.gradient_accumulation");
  return (names(layout, "micro_batch=") || conf_settings_set(settings, micro, error)) &&
         conf_settings_set(settings, global, error);
}

/* tensor and parallel.tensor are one; of two groups' keys of one name neither is taken without its group. */
static gboolean name_alike(const char *a, const char *b) {
  gsize length_a = strcspn(a, "="), length_b = strcspn(b, "=");
  const char *dot_a = memchr(a, '.', length_a), *dot_b = memchr(b, '.', length_b);
  if (dot_a != NULL && dot_b == NULL)
    return name_alike(dot_a + 1, b);
  if (dot_a == NULL && dot_b != NULL)
    return name_alike(a, dot_b + 1);
  return length_a == length_b && strncmp(a, b, length_a) == 0;
}

/* What is said twice would be told as it is not. */
static gboolean is_said_before(char *const *words, char *const *word) {
  for (; words < word; words++)
    if (name_alike(*words, *word))
      return TRUE;
  return FALSE;
}

static gboolean check_words(char *const *words, GError **error) {
  gboolean any = FALSE;
  for (char *const *word = words; *word != NULL; word++) {
    if (**word == '\0')
      continue;
    if (is_said_before(words, word)) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--layout: \"%s\" says again what stands before it", *word);
      return FALSE;
    }
    any = TRUE;
  }
  if (!any)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--layout: expected KEY=VALUE, as in tensor=4, found nothing");
  return any;
}

static gboolean lay(ConfSettings *settings, const char *layout, const RunIdentity *base, GError **error) {
  g_auto(GStrv) words = g_strsplit_set(layout, " ,", -1);
  if (!check_words(words, error))
    return FALSE;
  if (base != NULL && !keep_batch(settings, layout, base, error))
    return FALSE;
  for (char **word = words; *word != NULL; word++) {
    if (**word == '\0')
      continue;
    g_autofree char *assignment = whole_assignment(settings, *word, error);
    if (assignment == NULL || !conf_settings_set(settings, assignment, error))
      return FALSE;
  }
  return TRUE;
}

Study *study_lay_out(const Study *study, const char *layout, const RunIdentity *base, GError **error) {
  g_autoptr(Study) other = g_new0(Study, 1);
  other->workload = g_strdup(study->workload);
  other->settings = conf_settings_copy(study->settings);
  return lay(other->settings, layout, base, error) ? g_steal_pointer(&other) : NULL;
}

guint32 study_degree(const RunIdentity *identity, const char *axis) {
  const char *value = run_identity_setting(identity, axis);
  return value != NULL ? (guint32)MAX(1, g_ascii_strtoull(value, NULL, 10)) : 1;
}

/* Said where it is not what the run has. */
static void say(GString *text, const RunIdentity *identity, const char *key, guint32 degree) {
  g_autofree char *axis = g_strconcat("parallel.", key, NULL);
  if (degree > 1 || study_degree(identity, axis) > 1)
    g_string_append_printf(text, "%s%s=%u", text->len > 0 ? " " : "", key, degree);
}

static void add(GPtrArray *layouts, const RunIdentity *identity, int framework, guint32 tensor, guint32 pipeline,
                guint32 context) {
  GString *text = g_string_new(NULL);
  say(text, identity, "tensor", tensor);
  if (tensor > 1 && plan_framework_sequence_parallel(framework))
    g_string_append(text, " sequence_parallel=yes");
  say(text, identity, "pipeline", pipeline);
  say(text, identity, "context", context);
  g_ptr_array_add(layouts, g_string_free(text, FALSE));
}

char **study_layouts(const RunReport *base) {
  const RunIdentity *identity = &base->identity;
  int framework = base_names_find(plan_framework_names, identity->framework);
  sim_require(framework >= 0, 0, NULL, "a report of framework %s", identity->framework);
  LayoutSet axes = plan_framework_axes(framework);
  guint32 node = identity->gpus / identity->nodes;
  guint32 tensors = (axes & LAYOUT_BIT(LAYOUT_TENSOR)) != 0 ? node : 1;
  guint32 stages = (axes & LAYOUT_BIT(LAYOUT_PIPELINE)) != 0 ? MIN(identity->gpus, MOST_STAGES) : 1;
  guint32 contexts = (axes & LAYOUT_BIT(LAYOUT_CONTEXT)) != 0 ? node : 1;
  GPtrArray *layouts = g_ptr_array_new();
  for (guint32 tensor = 1; tensor <= tensors; tensor *= 2)
    for (guint32 pipeline = 1; pipeline <= stages && tensor * pipeline <= identity->gpus; pipeline *= 2)
      if (tensor * pipeline > 1)
        add(layouts, identity, framework, tensor, pipeline, 1);
  for (guint32 context = 2; context <= contexts; context *= 2)
    add(layouts, identity, framework, 1, 1, context);
  g_ptr_array_add(layouts, NULL);
  return (char **)g_ptr_array_free(layouts, FALSE);
}
