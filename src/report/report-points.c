/* SPDX-License-Identifier: MIT */
/* Names and units for pictures of many runs. */
#include "report-points.h"

#include <string.h>

#include "base-quantity.h"

#define PERCENT 100

/* What a reader tells runs apart by, and how it is said. */
static const struct {
  const char *metric, *before, *after;
} parts[] = {
    {"workload", "", ""},
    {"topology", "", ""},
    {"framework", "", ""},
    {"zero_stage", "ZeRO-", ""},
    {"nodes", "nodes ", ""},
    {"micro_batch", "micro-batch ", ""},
    {"sequence_length", "", " tokens"},
    {"gradient_accumulation", "accumulation ", ""},
    {"precision", "", ""},
    {"activation_checkpointing", "checkpointing ", ""},
};

char *report_axis(const StoreMetric *metric) {
  static const char *const units[] = {
      [STORE_TIME] = ", ms",   [STORE_BYTES] = ", GiB", [STORE_SHARE] = ", %", [STORE_RATE] = "",
      [STORE_MONEY] = ", USD", [STORE_NUMBER] = "",     [STORE_TEXT] = ""};
  g_autofree char *words = g_strdelimit(g_strdup(metric->name), "_", ' ');
  return g_strconcat(words, units[metric->unit], NULL);
}

double report_axis_value(const StoreMetric *metric, double value) {
  switch (metric->unit) {
  case STORE_TIME:
    return base_in_ms((SimTime)value);
  case STORE_BYTES:
    return base_in_gib((guint64)value);
  case STORE_SHARE:
    return PERCENT * value;
  default:
    return value;
  }
}

typedef struct {
  char *first[G_N_ELEMENTS(parts)];
  gboolean differs[G_N_ELEMENTS(parts)];
} Seen;

/* Columns: run_id, then the parts. */
static void look(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values,
                 gpointer user) {
  Seen *seen = user;
  for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    if (seen->first[i] == NULL)
      seen->first[i] = g_strdup(values[1 + i]);
    else
      seen->differs[i] = seen->differs[i] || g_strcmp0(seen->first[i], values[1 + i]) != 0;
}

static gboolean read_parts(StoreDb *db, gint64 run_id, StoreRow row, gpointer user, GError **error) {
  const StoreMetric *metrics[G_N_ELEMENTS(parts)];
  for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    metrics[i] = store_metric_find(parts[i].metric);
  return store_db_columns(db, metrics, G_N_ELEMENTS(parts), run_id, row, user, error);
}

GPtrArray *report_differing(StoreDb *db, const GArray *run_ids, GError **error) {
  Seen seen = {{0}, {0}};
  gboolean good = TRUE;
  for (guint i = 0; good && i < run_ids->len; i++)
    good = read_parts(db, g_array_index(run_ids, gint64, i), look, &seen, error);
  g_autoptr(GPtrArray) differing = g_ptr_array_new();
  for (gsize i = 0; i < G_N_ELEMENTS(parts); i++) {
    if (seen.differs[i])
      g_ptr_array_add(differing, (gpointer)store_metric_find(parts[i].metric));
    g_free(seen.first[i]);
  }
  return good ? g_steal_pointer(&differing) : NULL;
}

typedef struct {
  const GPtrArray *metrics;
  GString *name;
} Naming;

static void say(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values, gpointer user) {
  Naming *naming = user;
  for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    if (g_ptr_array_find((GPtrArray *)naming->metrics, store_metric_find(parts[i].metric), NULL))
      g_string_append_printf(naming->name, "%s%s%s%s", naming->name->len > 0 ? ", " : "", parts[i].before,
                             values[1 + i], parts[i].after);
}

char *report_run_name(StoreDb *db, gint64 run_id, const GPtrArray *metrics, GError **error) {
  g_autoptr(GString) name = g_string_new(NULL);
  Naming naming = {metrics, name};
  if (!read_parts(db, run_id, say, &naming, error))
    return NULL;
  return g_string_free(g_steal_pointer(&name), FALSE);
}
