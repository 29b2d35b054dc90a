/* SPDX-License-Identifier: MIT */
/* Lines of a group: what is run, what it must keep to. */
#include "check-budgets.h"

#include <string.h>

#include "base-error.h"
#include "conf-text.h"

static void setting_clear(gpointer data) {
  StudyPointSetting *setting = data;
  g_free(setting->name);
  g_free(setting->value);
}

static void budget_clear(gpointer data) {
  store_expression_free(((CheckBudget *)data)->expression);
}

static void case_clear(gpointer data) {
  CheckCase *one = data;
  g_free(one->name);
  g_free(one->workload);
  g_array_unref(one->settings);
  g_array_unref(one->budgets);
  g_array_unref(one->baselines);
}

void check_budgets_free(CheckBudgets *budgets) {
  if (budgets == NULL)
    return;
  g_array_unref(budgets->cases);
  g_free(budgets->file);
  g_free(budgets);
}

/* Short names of what a budget is of, beside "group.key". */
static const struct {
  const char *key, *setting;
} short_names[] = {{"config", "model.config"}, {"recipe", "parallel.recipe"}, {"topology", "cluster.topology"}};

static const char *setting_of(const char *key) {
  for (gsize i = 0; i < G_N_ELEMENTS(short_names); i++)
    if (strcmp(key, short_names[i].key) == 0)
      return short_names[i].setting;
  gboolean plain = key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_.")] == '\0';
  return plain && strchr(key, '.') != NULL ? key : NULL;
}

/* "2 %", or "0.5 GiB" of a metric in bytes. */
static gboolean read_tolerance(CheckBaseline *baseline, const char *text) {
  static const BaseUnit units[] = {
      [STORE_TIME] = BASE_UNIT_TIME, [STORE_BYTES] = BASE_UNIT_BYTES, [STORE_SHARE] = BASE_UNIT_NONE,
      [STORE_RATE] = BASE_UNIT_NONE, [STORE_MONEY] = BASE_UNIT_MONEY, [STORE_NUMBER] = BASE_UNIT_NONE};
  gboolean share = g_str_has_suffix(text, "%");
  double value;
  if (!base_quantity_parse(text, share ? BASE_UNIT_NONE : units[baseline->metric->unit], &value, NULL) || value < 0)
    return FALSE;
  baseline->tolerance = share ? value : 0;
  baseline->amount = share ? 0 : baseline->metric->unit == STORE_TIME ? (double)sim_time_from_seconds(value) : value;
  return baseline->tolerance < 1;
}

static gboolean add_baseline(CheckCase *one, const char *text, const BasePlace *place, GError **error) {
  gsize length = strcspn(text, " \t");
  g_autofree char *name = g_strndup(text, length);
  g_autofree char *rest = g_strstrip(g_strdup(text + length));
  CheckBaseline baseline = {.metric = store_metric_find(name), .line = place->line};
  if (baseline.metric == NULL) {
    base_error_set_at(error, place,
                      "no metric is called \"%s\"; if it was renamed, foretrain schema lists the columns of run", name);
    return FALSE;
  }
  baseline.either_way = baseline.metric->better == STORE_NEITHER || g_str_has_suffix(rest, "either way");
  if (g_str_has_suffix(rest, "either way"))
    rest[strlen(rest) - strlen("either way")] = '\0';
  g_strstrip(rest);
  if (*rest != '\0' && baseline.metric->unit == STORE_TEXT) {
    base_error_set_at(error, place, "%s is a text and compared as it is: leave its tolerance out", name);
    return FALSE;
  }
  if (*rest != '\0' && !read_tolerance(&baseline, rest)) {
    base_error_set_at(
        error, place,
        "a tolerance of %s is neither a share below 100 %% nor an amount of what %s is measured in; write "
        "it as in \"%s 2 %%\"",
        rest, name, name);
    return FALSE;
  }
  g_array_append_val(one->baselines, baseline);
  return TRUE;
}

static gboolean add_baselines(CheckCase *one, const char *list, const BasePlace *place, GError **error) {
  g_auto(GStrv) parts = g_strsplit(list, ",", -1);
  for (char **part = parts; *part != NULL; part++)
    if (!add_baseline(one, g_strstrip(*part), place, error))
      return FALSE;
  return TRUE;
}

/* The line was cut at its first "=", which may be half of "<=", or not at all. */
static gboolean add_budget(CheckCase *one, const char *key, const char *value, const BasePlace *place, GError **error) {
  gsize length = strlen(key);
  gboolean half = length > 0 && strchr("<>!", key[length - 1]) != NULL, bare = *value == '\0';
  g_autofree char *text = bare ? g_strdup(key) : g_strconcat(key, half ? "= " : " = ", value, NULL);
  CheckBudget budget = {store_expression_parse(text, error), place->line};
  if (budget.expression == NULL) {
    base_error_prefix_at(error, &(BasePlace){.file = place->file, .line = place->line});
    return FALSE;
  }
  g_array_append_val(one->budgets, budget);
  return TRUE;
}

static gboolean read_line(CheckCase *one, const ConfText *text, const char *key, GError **error) {
  const char *value = conf_text_get(text, one->name, key), *name = setting_of(key);
  BasePlace place;
  conf_text_place(text, one->name, key, &place);
  if (strcmp(key, "workload") == 0) {
    one->workload = g_strdup(value);
    one->workload_line = place.line;
    return TRUE;
  }
  if (strcmp(key, "baseline") == 0)
    return add_baselines(one, value, &place, error);
  if (name == NULL)
    return add_budget(one, key, value, &place, error);
  StudyPointSetting setting = {g_strdup(name), g_strdup(value), place.line, place.column};
  g_array_append_val(one->settings, setting);
  return TRUE;
}

static gboolean read_case(CheckBudgets *budgets, const ConfText *text, const char *group, GError **error) {
  BasePlace place;
  conf_text_place(text, group, NULL, &place);
  CheckCase one = {.name = g_strdup(group),
                   .line = place.line,
                   .settings = g_array_new(FALSE, FALSE, sizeof(StudyPointSetting)),
                   .budgets = g_array_new(FALSE, FALSE, sizeof(CheckBudget)),
                   .baselines = g_array_new(FALSE, FALSE, sizeof(CheckBaseline))};
  g_array_set_clear_func(one.settings, setting_clear);
  g_array_set_clear_func(one.budgets, budget_clear);
  g_array_append_val(budgets->cases, one);
  CheckCase *kept = &g_array_index(budgets->cases, CheckCase, budgets->cases->len - 1);
  for (const char *const *key = conf_text_keys(text, group); *key != NULL; key++)
    if (!read_line(kept, text, *key, error))
      return FALSE;
  if (kept->workload != NULL || kept->settings->len > 0)
    return TRUE;
  place.key = group;
  base_error_set_at(error, &place,
                    "expected a workload (or a config and settings); a budget such as \"step <= 1.9 s\" or a baseline "
                    "may follow");
  return FALSE;
}

CheckBudgets *check_budgets_load(const char *path, GError **error) {
  g_autoptr(ConfText) text = conf_text_load_budgets(path, error);
  if (text == NULL)
    return NULL;
  g_autoptr(CheckBudgets) budgets = g_new0(CheckBudgets, 1);
  budgets->file = g_strdup(path);
  budgets->cases = g_array_new(FALSE, FALSE, sizeof(CheckCase));
  g_array_set_clear_func(budgets->cases, case_clear);
  for (const char *const *group = conf_text_groups(text); *group != NULL; group++)
    if (!read_case(budgets, text, *group, error))
      return NULL;
  if (budgets->cases->len > 0)
    return g_steal_pointer(&budgets);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: has no budget: expected groups such as [llama-13b-zero3]", path);
  return NULL;
}
