/* SPDX-License-Identifier: MIT */
/* Axes from text, and the mixed-radix number of a point. */
#include "study-grid.h"

#include <string.h>

#include "study-walk.h"

#define MOST_POINTS 10000000u

static void axis_clear(gpointer data) {
  StudyAxis *axis = data;
  g_free(axis->name);
  g_strfreev(axis->values);
}

StudyGrid *study_grid_new(void) {
  StudyGrid *grid = g_new0(StudyGrid, 1);
  grid->axes = g_array_new(FALSE, FALSE, sizeof(StudyAxis));
  g_array_set_clear_func(grid->axes, axis_clear);
  return grid;
}

void study_grid_free(StudyGrid *grid) {
  if (grid == NULL)
    return;
  g_array_unref(grid->axes);
  g_free(grid);
}

static gboolean refuse(const char *axis, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);
static gboolean refuse(const char *axis, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "--grid %s: %s", axis, message);
  return FALSE;
}

typedef struct {
  double from, to, step;
  gboolean factor;  /* step multiplies */
  const char *unit; /* with its space; "" */
} Range;

/* A number and what is left of the text behind it. */
static gboolean take_number(const char **text, double *ret) {
  char *end;
  *ret = g_ascii_strtod(*text, &end);
  gboolean found = end != *text;
  *text = end;
  return found;
}

/* FALSE without an error: the text is no range. `unit` is storage for the range's. */
static gboolean parse_range(const char *axis, const char *text, Range *ret, char **unit, GError **error) {
  const char *dots = strstr(text, ".."), *colon = dots != NULL ? strrchr(dots, ':') : NULL;
  if (dots == NULL)
    return FALSE;
  if (colon == NULL)
    return refuse(axis, error, "a range is A..B:STEP, as in 1..8:1, or A..B:xF, as in 1..64:x2");
  g_autofree char *first = g_strndup(text, (gsize)(dots - text));
  g_autofree char *last = g_strndup(dots + 2, (gsize)(colon - dots - 2));
  const char *a = first, *b = last, *step = colon + 1;
  ret->factor = *step == 'x';
  step += ret->factor;
  if (!take_number(&a, &ret->from) || a[strspn(a, " ")] != '\0')
    return refuse(axis, error, "expected a number before \"..\", found \"%s\"; a unit stands behind B", first);
  if (!take_number(&b, &ret->to))
    return refuse(axis, error, "expected a number behind \"..\", found \"%s\"", last);
  if (!take_number(&step, &ret->step) || *step != '\0')
    return refuse(axis, error, "expected a number as step, found \"%s\"", colon + 1);
  gboolean ends = ret->factor ? ret->step > 1 && ret->from > 0 : ret->step > 0;
  if (!ends || ret->to < ret->from)
    return refuse(axis, error, "the range never ends: B is not below A, a step is above 0, a factor above 1");
  *unit = g_strdup(b);
  ret->unit = *unit;
  return TRUE;
}

/* Values are counted, so that no rounding adds up; the last is taken if it is B but for rounding. */
static void expand_range(const Range *range, GPtrArray *values) {
  double beyond = range->to + (range->factor ? range->to : range->step) * 1e-9, value = range->from;
  for (guint i = 0; value <= beyond && i <= MOST_POINTS; i++) {
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_formatd(number, sizeof number, "%.12g", value);
    g_ptr_array_add(values, g_strconcat(number, range->unit, NULL));
    value = range->factor ? value * range->step : range->from + (i + 1) * range->step;
  }
}

static gboolean range_is_bounded(const char *axis, const Range *range, GError **error) {
  return range->factor || (range->to - range->from) / range->step < MOST_POINTS ||
         refuse(axis, error, "more than %u points", MOST_POINTS);
}

static gboolean parse_values(const char *axis, const char *text, GPtrArray *values, GError **error) {
  Range range = {0};
  g_autofree char *unit = NULL;
  GError *wrong = NULL;
  if (parse_range(axis, text, &range, &unit, &wrong)) {
    if (!range_is_bounded(axis, &range, error))
      return FALSE;
    expand_range(&range, values);
    return TRUE;
  }
  if (wrong != NULL) {
    g_propagate_error(error, wrong);
    return FALSE;
  }
  g_auto(GStrv) parts = g_strsplit(text, ",", -1);
  for (char **part = parts; *part != NULL; part++) {
    g_strstrip(*part);
    if (**part == '\0')
      return refuse(axis, error, "expected values with commas between, found none in one place");
    if (g_ptr_array_find_with_equal_func(values, *part, g_str_equal, NULL))
      return refuse(axis, error, "the value %s stands twice", *part);
    g_ptr_array_add(values, g_strdup(*part));
  }
  return TRUE;
}

static gboolean check_key(const StudyGrid *grid, const Study *study, const char *axis, const char *name,
                          GError **error) {
  for (guint i = 0; i < grid->axes->len; i++)
    if (strcmp(g_array_index(grid->axes, StudyAxis, i).name, name) == 0)
      return refuse(axis, error, "%s is an axis already", name);
  if (conf_settings_origin(study->settings, name) == CONF_ORIGIN_COMMAND_LINE)
    return refuse(axis, error, "%s is given by --set or --topology too", name);
  return TRUE;
}

gboolean study_grid_add(StudyGrid *grid, const Study *study, const char *axis, GError **error) {
  const char *equals = strchr(axis, '=');
  if (equals == NULL)
    return refuse(axis, error, "expected KEY=V1,V2,... or KEY=A..B:STEP");
  g_autofree char *key = g_strstrip(g_strndup(axis, (gsize)(equals - axis)));
  g_autofree char *name = conf_settings_name(study->settings, key, error);
  if (name == NULL) {
    g_prefix_error(error, "--grid %s: ", axis);
    return FALSE;
  }
  if (!check_key(grid, study, axis, name, error))
    return FALSE;
  g_autoptr(GPtrArray) values = g_ptr_array_new_with_free_func(g_free);
  if (!parse_values(axis, equals + 1, values, error))
    return FALSE;
  if (values->len == 0)
    return refuse(axis, error, "no value");
  if (study_grid_size(grid) * values->len > MOST_POINTS)
    return refuse(axis, error, "more than %u points", MOST_POINTS);
  StudyAxis made = {.name = g_steal_pointer(&name), .n = values->len};
  g_ptr_array_add(values, NULL);
  made.values = (char **)g_ptr_array_steal(values, NULL);
  g_array_append_val(grid->axes, made);
  return TRUE;
}

guint64 study_grid_size(const StudyGrid *grid) {
  guint64 size = 1;
  for (guint i = 0; i < grid->axes->len; i++)
    size *= g_array_index(grid->axes, StudyAxis, i).n;
  return size;
}

StudyPoint *study_grid_point(const StudyGrid *grid, guint64 number) {
  StudyPoint *point = study_point_new("--grid");
  point->typed = TRUE;
  point->number = number;
  guint64 rest = study_grid_size(grid);
  for (guint i = 0; i < grid->axes->len; i++) {
    const StudyAxis *axis = &g_array_index(grid->axes, StudyAxis, i);
    rest /= axis->n;
    study_point_add(point, axis->name, axis->values[number / rest % axis->n], 0, 0);
  }
  return point;
}
