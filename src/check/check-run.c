/* SPDX-License-Identifier: MIT */
/* Each case is a point, and its baseline's recipe another; then lines. */
#include "check-run.h"

#include <stdlib.h>
#include <string.h>

#include "base-error.h"
#include "conf-path.h"
#include "study-batch.h"

const char *const check_verdict_names[] = {"passed", "failed", "moved", "accepted", NULL};

/* A case at work. */
typedef struct {
  const CheckCase *of;
  Study *study, *recalled;
  GArray *baselines;         /* StoreBaseline */
  RunReport *now, *replayed; /* replayed NULL: there is no baseline */
} Work;

typedef struct {
  const CheckBudgets *budgets;
  const CheckOptions *options;
  GArray *works;
  guint next; /* two to a case: as it is, and recalled */
} Checking;

static void work_clear(gpointer data) {
  Work *work = data;
  study_free(work->study);
  study_free(work->recalled);
  if (work->baselines != NULL)
    g_array_unref(work->baselines);
  run_report_free(work->now);
  run_report_free(work->replayed);
}

static gboolean fail(const CheckBudgets *budgets, const CheckCase *of, GError **error, const char *format, ...)
    G_GNUC_PRINTF(4, 5);
static gboolean fail(const CheckBudgets *budgets, const CheckCase *of, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  base_error_set_at(error, &(BasePlace){.file = budgets->file, .line = of->line, .key = of->name}, "%s", message);
  return FALSE;
}

/* At the line of the setting that the first reason is of, else at the group's. */
static gboolean fail_point(const CheckBudgets *budgets, const CheckCase *of, const StudyPoint *point, GError **error) {
  g_autofree char *reasons = study_point_status(point);
  for (guint i = 0; i < of->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(of->settings, StudyPointSetting, i);
    BasePlace place = {.file = budgets->file, .line = setting->line, .column = setting->column, .key = of->name};
    if (!g_str_has_prefix(reasons, setting->name) || reasons[strlen(setting->name)] != ':')
      continue;
    base_error_set_at(error, &place, "%s", reasons);
    return FALSE;
  }
  return fail(budgets, of, error, "%s", reasons);
}

/* Beside the budgets, else as anywhere. */
static Study *open_study(const CheckBudgets *budgets, const CheckCase *of, GError **error) {
  if (of->workload == NULL)
    return study_new(of->name);
  g_autofree char *beside = g_path_get_dirname(budgets->file);
  BasePlace place = {.file = budgets->file, .line = of->workload_line, .key = of->name};
  g_autofree char *path = conf_path_find(of->workload, ".ini", "workloads", beside, &place, error);
  return path != NULL ? study_open(path, error) : NULL;
}

/* What was accepted, and the study that gave it. */
static gboolean recall(const Checking *checking, Work *work, GError **error) {
  const CheckCase *of = work->of;
  if (of->baselines->len == 0 || checking->options->accept != NULL)
    return TRUE;
  StoreDb *db = checking->options->db;
  work->baselines = db != NULL ? store_db_baselines(db, of->name, error) : g_array_new(FALSE, FALSE, 1);
  if (work->baselines == NULL)
    return FALSE;
  if (work->baselines->len == 0)
    return fail(
        checking->budgets, of, error,
        "has no accepted baseline in %s%s; foretrain check --accept --reason TEXT takes what is there, --db names "
        "another database",
        checking->options->database, db == NULL ? ", which does not exist" : "");
  g_autoptr(GArray) recipe = store_db_baseline_recipe(db, of->name, error);
  if (recipe == NULL)
    return FALSE;
  g_autoptr(GError) wrong = NULL;
  const char *name = of->workload != NULL ? of->workload : of->name;
  work->recalled = study_recall(name, (const RunSetting *)(gpointer)recipe->data, recipe->len, &wrong);
  return work->recalled != NULL ||
         fail(checking->budgets, of, error,
              "the recipe of its baseline is not one of this version: %s; accept a new baseline", wrong->message);
}

static gboolean begin(Checking *checking, GError **error) {
  for (guint i = 0; i < checking->budgets->cases->len; i++) {
    const CheckCase *of = &g_array_index(checking->budgets->cases, CheckCase, i);
    Work work = {.of = of, .study = open_study(checking->budgets, of, error)};
    g_array_append_val(checking->works, work);
    if (work.study == NULL || !recall(checking, &g_array_index(checking->works, Work, i), error))
      return FALSE;
  }
  return TRUE;
}

static StudyPoint *point_of(const Checking *checking, const Work *work) {
  StudyPoint *point = study_point_new(checking->budgets->file);
  for (guint i = 0; i < work->of->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(work->of->settings, StudyPointSetting, i);
    study_point_add(point, setting->name, setting->value, setting->line, setting->column);
  }
  return point;
}

static StudyPoint *next(gpointer user) {
  Checking *checking = user;
  for (; checking->next < 2 * checking->works->len; checking->next++) {
    Work *work = &g_array_index(checking->works, Work, checking->next / 2);
    gboolean recalled = checking->next % 2 == 1;
    if (recalled && work->recalled == NULL)
      continue;
    StudyPoint *point = recalled ? study_point_new(checking->budgets->file) : point_of(checking, work);
    point->base = recalled ? work->recalled : work->study;
    point->number = checking->next++;
    return point;
  }
  return NULL;
}

static gboolean deliver(StudyPoint *point, gpointer user, GError **error) {
  Checking *checking = user;
  Work *work = &g_array_index(checking->works, Work, point->number / 2);
  gboolean recalled = point->number % 2 == 1;
  if (!study_point_check(point, error))
    return FALSE;
  if (point->report == NULL && !recalled)
    return fail_point(checking->budgets, work->of, point, error);
  if (point->report == NULL) {
    g_autofree char *reasons = study_point_status(point);
    return fail(checking->budgets, work->of, error,
                "the recipe of its baseline cannot be played by this version: %s; accept a new baseline", reasons);
  }
  gint64 run_id;
  if (checking->options->accept != NULL && !store_db_has(checking->options->db, point->report->identity.run_key) &&
      !store_db_write_summary(checking->options->db, point->report, &run_id, error))
    return FALSE;
  *(recalled ? &work->replayed : &work->now) = g_steal_pointer(&point->report);
  return TRUE;
}

static void line_clear(gpointer data) {
  CheckLine *line = data;
  char *texts[] = {line->what, line->now, line->was, line->tool, line->recipe, line->why, line->file};
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
    g_free(texts[i]);
}

static void add_line(CheckResult *result, const CheckLine *line) {
  g_array_append_val(result->lines, *line);
  result->failed += line->verdict == CHECK_FAILED;
}

static char *shown(const StoreMetric *metric, const RunReport *report) {
  g_autofree char *value = store_metric_value(metric, report);
  g_autofree char *text = store_metric_shown(metric, value);
  if (report->step_low == 0 || strcmp(metric->name, "step") != 0)
    return g_steal_pointer(&text);
  g_autofree char *low = base_format_time(report->step_low), *high = base_format_time(report->step_high);
  return g_strdup_printf("%s (%s to %s)", text, low, high);
}

/* "step 1.95 s (1.71 s to 2.30 s), capacity 79 GiB" */
static char *figures(const StoreExpression *expression, const RunReport *report) {
  GString *text = g_string_new(NULL);
  for (const StoreMetric *const *metric = store_expression_metrics(expression); *metric != NULL; metric++) {
    g_autofree char *value = shown(*metric, report);
    g_string_append_printf(text, "%s%s %s", text->len > 0 ? ", " : "", (*metric)->name, value);
  }
  return g_string_free(text, FALSE);
}

/* "price_to_train has no value here": an expression of it never holds. */
static char *without_value(const StoreExpression *expression, const RunReport *report) {
  GString *text = g_string_new(NULL);
  for (const StoreMetric *const *metric = store_expression_metrics(expression); *metric != NULL; metric++) {
    g_autofree char *value = store_metric_value(*metric, report);
    if (value == NULL)
      g_string_append_printf(text, "%s%s has no value in this run", text->len > 0 ? ", " : "", (*metric)->name);
  }
  return g_string_free(text, FALSE);
}

static gboolean is_verdict(const StoreMetric *metric) {
  return strcmp(metric->name, "verdict") == 0;
}

static gboolean speaks_of_verdict(const CheckCase *of) {
  for (guint i = 0; i < of->budgets->len; i++) {
    const StoreExpression *expression = g_array_index(of->budgets, CheckBudget, i).expression;
    for (const StoreMetric *const *metric = store_expression_metrics(expression); *metric != NULL; metric++)
      if (is_verdict(*metric))
        return TRUE;
  }
  for (guint i = 0; i < of->baselines->len; i++)
    if (is_verdict(g_array_index(of->baselines, CheckBaseline, i).metric))
      return TRUE;
  return FALSE;
}

/* Of a group that asks nothing else. */
static void pass_memory(CheckResult *result, const Work *work) {
  const RunClass *tight = run_report_tightest(work->now);
  g_autofree char *used = base_format_gib(tight->device_used), *capacity = base_format_gib(tight->capacity);
  CheckLine line = {.of = work->of,
                    .line = work->of->line,
                    .what = g_strdup("memory"),
                    .verdict = CHECK_PASSED,
                    .now = g_strdup_printf("verdict %s, device_used %s, capacity %s",
                                           run_verdict_names[work->now->verdict], used, capacity),
                    .why = g_strdup("")};
  add_line(result, &line);
}

/* One that does not fit, where its group never asked. */
static void judge_memory(const Checking *checking, CheckResult *result, const Work *work) {
  RunVerdict verdict = work->now->verdict;
  if (speaks_of_verdict(work->of))
    return;
  if (run_report_fits(work->now, checking->options->study.edge_fits)) {
    if (work->of->budgets->len + work->of->baselines->len == 0)
      pass_memory(result, work);
    return;
  }
  const char *figure = verdict == RUN_OOM ? "short_by" : "device_used_high";
  g_autofree char *value = shown(store_metric_find(figure), work->now);
  CheckLine line = {.of = work->of,
                    .line = work->of->line,
                    .what = g_strdup("memory"),
                    .verdict = CHECK_FAILED,
                    .now = g_strdup_printf("verdict %s, %s %s", run_verdict_names[verdict], figure, value),
                    .why = g_strdup(verdict == RUN_OOM
                                        ? "times are those if it fitted; \"verdict = oom\" in the group expects it"
                                        : "whether it fits cannot be told; --edge-fits, or \"verdict != oom\" in the "
                                          "group, lets it pass")};
  add_line(result, &line);
}

static void judge_budgets(const Checking *checking, CheckResult *result, const Work *work) {
  judge_memory(checking, result, work);
  for (guint i = 0; i < work->of->budgets->len; i++) {
    const CheckBudget *budget = &g_array_index(work->of->budgets, CheckBudget, i);
    gboolean holds = store_expression_holds(budget->expression, work->now);
    CheckLine line = {.of = work->of,
                      .line = budget->line,
                      .what = g_strdup(store_expression_text(budget->expression)),
                      .verdict = holds ? CHECK_PASSED : CHECK_FAILED,
                      .now = figures(budget->expression, work->now),
                      .why = without_value(budget->expression, work->now)};
    add_line(result, &line);
  }
}

static const char *setting_of(const RunReport *report, const char *name) {
  for (guint32 i = 0; i < report->identity.n_settings; i++)
    if (strcmp(report->identity.settings[i].name, name) == 0)
      return report->identity.settings[i].value;
  return "nothing";
}

/* "training.micro_batch is 2, was 1": what the recipe changed. */
static char *changes(const Work *work) {
  g_autoptr(GPtrArray) told = g_ptr_array_new_with_free_func(g_free);
  const RunIdentity *now = &work->now->identity, *was = &work->replayed->identity;
  for (guint32 i = 0; i < now->n_settings; i++) {
    const char *before = setting_of(work->replayed, now->settings[i].name);
    if (strcmp(before, now->settings[i].value) != 0)
      g_ptr_array_add(told, g_strdup_printf("%s is %s, was %s", now->settings[i].name, now->settings[i].value, before));
  }
  for (guint32 i = 0; i < was->n_settings; i++)
    if (strcmp(setting_of(work->now, was->settings[i].name), "nothing") == 0)
      g_ptr_array_add(told, g_strdup_printf("%s was %s", was->settings[i].name, was->settings[i].value));
  g_ptr_array_add(told, NULL);
  return g_strjoinv(", ", (char **)told->pdata);
}

/* "+3.2 %", "from fits to oom", "nothing". */
static char *moved_by(const StoreMetric *metric, const char *from, const char *to) {
  if (g_strcmp0(from, to) == 0)
    return g_strdup("nothing");
  double before = from != NULL ? g_ascii_strtod(from, NULL) : 0, after = to != NULL ? g_ascii_strtod(to, NULL) : 0;
  if (metric->unit != STORE_TEXT && before != 0 && to != NULL)
    return g_strdup_printf("%+.3g %%", 100 * (after / before - 1));
  g_autofree char *a = store_metric_shown(metric, from), *b = store_metric_shown(metric, to);
  return g_strdup_printf("from %s to %s", a, b);
}

/* Worse by more than its tolerance; either way: different by more. */
static gboolean recipe_broke(const CheckBaseline *baseline, const char *before, const char *now) {
  if (g_strcmp0(before, now) == 0)
    return FALSE;
  if (baseline->metric->unit == STORE_TEXT || before == NULL || now == NULL)
    return TRUE;
  double was = g_ascii_strtod(before, NULL), is = g_ascii_strtod(now, NULL);
  double worse = baseline->either_way ? ABS(is - was) : baseline->metric->better == STORE_MORE ? was - is : is - was;
  return worse > MAX(baseline->tolerance * ABS(was), baseline->amount);
}

static const StoreBaseline *accepted(const Work *work, const StoreMetric *metric) {
  for (guint i = 0; work->baselines != NULL && i < work->baselines->len; i++)
    if (strcmp(g_array_index(work->baselines, StoreBaseline, i).metric, metric->name) == 0)
      return &g_array_index(work->baselines, StoreBaseline, i);
  return NULL;
}

static char *baseline_text(const CheckBaseline *baseline) {
  g_autofree char *amount = NULL;
  char value[G_ASCII_DTOSTR_BUF_SIZE];
  if (baseline->amount > 0)
    amount = store_metric_shown(baseline->metric, g_ascii_formatd(value, sizeof value, "%.0f", baseline->amount));
  const char *either = baseline->either_way && baseline->metric->better != STORE_NEITHER ? ", either way" : "";
  if (amount != NULL)
    return g_strdup_printf("%s within %s%s", baseline->metric->name, amount, either);
  return baseline->tolerance > 0
             ? g_strdup_printf("%s within %.4g %%%s", baseline->metric->name, 100 * baseline->tolerance, either)
             : g_strdup_printf("%s as accepted%s", baseline->metric->name, either);
}

/* In the folder that annotations are relative to, without its name; NULL: elsewhere. */
static char *in_repository(const char *file) {
  g_autofree char *here = g_get_current_dir();
  g_autofree char *folder = g_strconcat(here, "/", NULL);
  if (!g_path_is_absolute(file))
    return g_strdup(file);
  return g_str_has_prefix(file, folder) ? g_strdup(file + strlen(folder)) : NULL;
}

/* The line that changed the recipe: of the budgets themselves, the workload or the recipe that it names. */
static void find_change(const Checking *checking, const Work *work, CheckLine *line) {
  const RunIdentity *now = &work->now->identity;
  g_autoptr(StudyPoint) point = point_of(checking, work);
  for (guint32 i = 0; i < now->n_settings && line->file == NULL; i++) {
    const char *name = now->settings[i].name;
    g_autofree char *file = NULL;
    if (strcmp(setting_of(work->replayed, name), now->settings[i].value) != 0 &&
        study_point_place(point, work->study, name, &file, &line->file_line))
      line->file = in_repository(file);
  }
}

static gboolean judge_baseline(const Checking *checking, CheckResult *result, const Work *work,
                               const CheckBaseline *baseline, GError **error) {
  const StoreMetric *metric = baseline->metric;
  const StoreBaseline *was = accepted(work, metric);
  if (was == NULL)
    return fail(checking->budgets, work->of, error, "its accepted baseline has no %s; accept a new one", metric->name);
  g_autofree char *before = store_metric_value(metric, work->replayed);
  g_autofree char *now = store_metric_value(metric, work->now);
  gboolean broke = recipe_broke(baseline, before, now), moved = g_strcmp0(was->value, now) != 0;
  g_autofree char *recipe = g_strcmp0(before, now) != 0 ? changes(work) : g_strdup("");
  g_autofree char *version = g_strcmp0(was->value, before) != 0
                                 ? g_strdup_printf("%saccepted under results version %s, this is %s",
                                                   *recipe != '\0' ? "; " : "", was->model_version, RUN_MODEL_VERSION)
                                 : g_strdup("");
  CheckLine line = {.of = work->of,
                    .line = baseline->line,
                    .what = baseline_text(baseline),
                    .verdict = broke   ? CHECK_FAILED
                               : moved ? CHECK_MOVED
                                       : CHECK_PASSED,
                    .now = store_metric_shown(metric, now),
                    .was = store_metric_shown(metric, was->value),
                    .tool = moved_by(metric, was->value, before),
                    .recipe = moved_by(metric, before, now),
                    .why = g_strconcat(recipe, version, NULL)};
  if (line.verdict != CHECK_PASSED)
    find_change(checking, work, &line);
  add_line(result, &line);
  return TRUE;
}

/* Of accepted metrics each must still be one, asked for or not: a name that went is not silently forgotten. */
static gboolean check_names(const Checking *checking, const Work *work, GError **error) {
  for (guint i = 0; i < work->baselines->len; i++) {
    const char *name = g_array_index(work->baselines, StoreBaseline, i).metric;
    if (store_metric_find(name) == NULL)
      return fail(checking->budgets, work->of, error, "its baseline is of a metric \"%s\", which this version lacks",
                  name);
  }
  return TRUE;
}

static gboolean accept(const Checking *checking, CheckResult *result, const Work *work, GError **error) {
  const GArray *baselines = work->of->baselines;
  g_autofree const StoreMetric **metrics = g_new0(const StoreMetric *, baselines->len + 1);
  for (guint i = 0; i < baselines->len; i++) {
    const CheckBaseline *baseline = &g_array_index(baselines, CheckBaseline, i);
    metrics[i] = baseline->metric;
    CheckLine line = {.of = work->of,
                      .line = baseline->line,
                      .what = baseline_text(baseline),
                      .verdict = CHECK_ACCEPTED,
                      .now = shown(baseline->metric, work->now),
                      .why = g_strdup("")};
    add_line(result, &line);
  }
  return store_db_accept(checking->options->db, work->of->name, work->now, metrics, baselines->len,
                         checking->options->accept, error);
}

static gboolean judge(const Checking *checking, CheckResult *result, const Work *work, GError **error) {
  judge_budgets(checking, result, work);
  if (checking->options->accept != NULL && work->of->baselines->len > 0)
    return accept(checking, result, work, error);
  if (work->baselines != NULL && !check_names(checking, work, error))
    return FALSE;
  for (guint i = 0; i < work->of->baselines->len; i++)
    if (!judge_baseline(checking, result, work, &g_array_index(work->of->baselines, CheckBaseline, i), error))
      return FALSE;
  return TRUE;
}

CheckResult *check_run(const CheckBudgets *budgets, const CheckOptions *options, GError **error) {
  g_autoptr(GArray) works = g_array_new(FALSE, TRUE, sizeof(Work));
  g_array_set_clear_func(works, work_clear);
  Checking checking = {.budgets = budgets, .options = options, .works = works};
  StudyBatch batch = {
      .next = next, .deliver = deliver, .user = &checking, .options = options->study, .threads = options->threads};
  if (!begin(&checking, error) || !study_batch_run(&batch, NULL, error))
    return NULL;
  g_autoptr(CheckResult) result = g_new0(CheckResult, 1);
  result->budgets = budgets;
  result->lines = g_array_new(FALSE, FALSE, sizeof(CheckLine));
  g_array_set_clear_func(result->lines, line_clear);
  for (guint i = 0; i < works->len; i++) {
    const Work *work = &g_array_index(works, Work, i);
    guint first = result->lines->len;
    if (!judge(&checking, result, work, error))
      return NULL;
    g_array_index(result->lines, CheckLine, first).seconds = work->now->wall_seconds;
  }
  return g_steal_pointer(&result);
}

void check_result_free(CheckResult *result) {
  if (result == NULL)
    return;
  g_array_unref(result->lines);
  g_free(result);
}
