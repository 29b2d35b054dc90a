/* SPDX-License-Identifier: MIT */
/* Paths and archives to traces, their steps measured. */
#include "import-kineto-set.h"

#include "base-error.h"
#include "conf-data.h"
#include "import-execution.h"
#include "import-kineto-groups.h"
#include "import-kineto-issue.h"
#include "import-nsys.h"

static gboolean is_json(const char *path) {
  return g_str_has_suffix(path, ".json") || g_str_has_suffix(path, ".json.gz");
}

static gboolean read_path(ImportKinetoSet *set, const char *path, ImportExecution *execution, GError **error) {
  g_autoptr(GPtrArray) parts = conf_data_parts(path, error);
  gboolean any = FALSE;
  if (parts == NULL)
    return FALSE;
  for (guint i = 0; i < parts->len; i++) {
    const ConfPart *part = g_ptr_array_index(parts, i);
    gsize length;
    const char *data = g_bytes_get_data(part->bytes, &length);
    if (parts->len > 1 && !is_json(part->path))
      continue;
    if (parts->len == 1 && import_nsys_is(data, length))
      return import_nsys_read(path, set->traces, error);
    any = TRUE;
    ImportKinetoTrace *trace = import_kineto_parse(part->path, part->bytes, execution, error);
    if (trace == NULL)
      return FALSE;
    g_ptr_array_add(set->traces, trace);
  }
  if (!any)
    base_error_set_at(error, &(BasePlace){.file = path}, "holds no file that ends in .json or .json.gz");
  return any;
}

static gboolean has_kernels(const GArray *issues) {
  for (guint i = 0; i < issues->len; i++)
    if (g_array_index(issues, ImportKinetoIssue, i).kernel != IMPORT_KINETO_NONE)
      return TRUE;
  return FALSE;
}

static gboolean measure(ImportKinetoSet *set, ImportKinetoTrace *trace, GError **error) {
  ImportKinetoStep step = {0};
  step.issues = import_kineto_issues(trace, &step.window, &step.measured.steps, &step.measured.taken);
  gboolean good = has_kernels(step.issues);
  if (good)
    import_kineto_sum(trace, import_kineto_on_gpu(trace, step.issues), &step.measured);
  else
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: step %u of the %u that are marked launches no kernels",
                trace->path, step.measured.taken, step.measured.steps);
  g_array_append_val(set->steps, step);
  return good;
}

static void step_clear(gpointer data) {
  g_array_unref(((ImportKinetoStep *)data)->issues);
}

/* ---- One clock ---- */

/* Ends of the collectives that all ranks take part in, in order. */
static GArray *common_ends(const ImportKinetoTrace *trace, guint32 world) {
  GArray *ends = g_array_new(FALSE, FALSE, sizeof(SimTime));
  for (guint i = 0; i < trace->kernels->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->operation == IMPORT_KINETO_NONE || kernel->group == IMPORT_KINETO_NONE)
      continue;
    guint members = g_array_index(trace->groups, ImportKinetoGroup, kernel->group).ranks->len;
    if (members == 0 || members == world)
      g_array_append_val(ends, kernel->at.end);
  }
  return ends;
}

gint import_kineto_by_time(gconstpointer a, gconstpointer b) {
  SimTime one = *(const SimTime *)a, other = *(const SimTime *)b;
  return (one > other) - (one < other);
}

/* How much the clock of `own` is before that of `first`; FALSE: they do not tell. */
static gboolean offset_of(const GArray *first, const GArray *own, SimTime *ret) {
  if (first->len == 0 || first->len != own->len)
    return FALSE;
  g_autoptr(GArray) apart = g_array_new(FALSE, FALSE, sizeof(SimTime));
  for (guint i = 0; i < own->len; i++) {
    SimTime one = g_array_index(own, SimTime, i) - g_array_index(first, SimTime, i);
    g_array_append_val(apart, one);
  }
  g_array_sort(apart, import_kineto_by_time);
  *ret = g_array_index(apart, SimTime, apart->len / 2);
  return TRUE;
}

/* Into `late`: how much after the first rank each begins. */
static void align(ImportKinetoSet *set) {
  guint n = set->traces->len;
  g_autofree SimTime *starts = g_new0(SimTime, n);
  g_autoptr(GArray) first = common_ends(g_ptr_array_index(set->traces, 0), n);
  SimTime earliest = G_MAXINT64;
  for (guint i = 0; i < n; i++) {
    g_autoptr(GArray) own = common_ends(g_ptr_array_index(set->traces, i), n);
    SimTime offset;
    if (!offset_of(first, own, &offset))
      return;
    starts[i] = g_array_index(set->steps, ImportKinetoStep, i).window.start - offset;
    earliest = MIN(earliest, starts[i]);
  }
  for (guint i = 0; i < n; i++)
    g_array_index(set->steps, ImportKinetoStep, i).late = starts[i] - earliest;
}

static gboolean read_linked(ImportKinetoSet *set, const char *path, const char *of, GError **error) {
  g_autoptr(ImportExecution) execution = import_execution_read(of, error);
  guint before = set->traces->len;
  if (execution == NULL || !read_path(set, path, execution, error))
    return FALSE;
  if (set->traces->len != before + 1) {
    base_error_set_at(error, &(BasePlace){.file = path}, "holds %u traces; an execution trace goes with one",
                      set->traces->len - before);
    return FALSE;
  }
  return import_execution_check(execution, path, error);
}

ImportKinetoSet *import_kineto_open_linked(const char *const *paths, const char *const *executions, guint n,
                                           GError **error) {
  g_autoptr(ImportKinetoSet) set = g_new0(ImportKinetoSet, 1);
  set->traces = g_ptr_array_new_with_free_func((GDestroyNotify)import_kineto_free);
  set->steps = g_array_new(FALSE, FALSE, sizeof(ImportKinetoStep));
  set->name = g_path_get_basename(paths[0]);
  g_array_set_clear_func(set->steps, step_clear);
  for (guint i = 0; i < n; i++)
    if (executions != NULL ? !read_linked(set, paths[i], executions[i], error) : !read_path(set, paths[i], NULL, error))
      return NULL;
  if (!import_kineto_order(set->traces, error))
    return NULL;
  for (guint i = 0; i < set->traces->len; i++)
    if (!measure(set, g_ptr_array_index(set->traces, i), error))
      return NULL;
  if (set->traces->len > 1)
    align(set);
  return g_steal_pointer(&set);
}

ImportKinetoSet *import_kineto_open(const char *const *paths, guint n, GError **error) {
  return import_kineto_open_linked(paths, NULL, n, error);
}

SimTime import_kineto_length(const ImportKinetoSet *set) {
  SimTime length = 0;
  for (guint i = 0; i < set->steps->len; i++)
    length = MAX(length, base_span_length(g_array_index(set->steps, ImportKinetoStep, i).window));
  return length;
}

void import_kineto_set_free(ImportKinetoSet *set) {
  if (set == NULL)
    return;
  g_ptr_array_unref(set->traces);
  g_array_unref(set->steps);
  g_free(set->name);
  g_free(set);
}

guint import_kineto_files(const ImportKinetoSet *set) {
  return set->traces->len;
}

const char *import_kineto_path(const ImportKinetoSet *set, guint file) {
  return ((ImportKinetoTrace *)g_ptr_array_index(set->traces, file))->path;
}

const ImportKineto *import_kineto_measured(const ImportKinetoSet *set, guint file) {
  return &g_array_index(set->steps, ImportKinetoStep, file).measured;
}

gint64 import_kineto_rank(const ImportKinetoSet *set, guint file) {
  return ((ImportKinetoTrace *)g_ptr_array_index(set->traces, file))->rank;
}

guint32 import_kineto_ranks(const ImportKinetoSet *set) {
  return import_kineto_world(set->traces);
}
