/* Rows of table memory, one per tenant that changed, to levels of all tenants. */
#include "report-levels.h"

#include "base-names.h"

typedef struct {
  GArray *levels;
  const ReportScene *scene;
} Loading;

/* Columns: at_ps, tenant, bytes; by time. */
static void take_level(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                       gpointer user) {
  Loading *loading = user;
  GArray *levels = loading->levels;
  SimTime at = MAX(g_ascii_strtoll(v[0], NULL, 10), loading->scene->from);
  int tenant = base_names_find(run_tenant_names, v[1]);
  if (at >= loading->scene->to || tenant < 0)
    return;
  ReportLevel level = {.at = at};
  if (levels->len > 0)
    level = g_array_index(levels, ReportLevel, levels->len - 1);
  if (levels->len > 0 && level.at == at)
    g_array_set_size(levels, levels->len - 1);
  level.at = at;
  level.held[tenant] = g_ascii_strtoull(v[2], NULL, 10);
  g_array_append_val(levels, level);
}

guint64 report_level_total(const ReportLevel *level) {
  guint64 total = 0;
  for (guint t = 0; t < RUN_TENANTS; t++)
    total += level->held[t];
  return total;
}

GArray *report_levels_load(StoreDb *db, gint64 run_id, const ReportScene *scene, GError **error) {
  g_autoptr(GArray) levels = g_array_new(FALSE, FALSE, sizeof(ReportLevel));
  Loading loading = {levels, scene};
  if (!store_db_query(db,
                      "SELECT at_ps, tenant, bytes FROM memory JOIN run USING (run_id)"
                      " WHERE run_id = ?1 AND rank_class = tightest_class ORDER BY at_ps, tenant",
                      run_id, take_level, &loading, error))
    return NULL;
  return g_steal_pointer(&levels);
}

void report_levels_thin(GArray *levels, const ReportScene *scene, guint bins) {
  if (levels->len <= 2 * bins)
    return;
  SimTime span = MAX((scene->to - scene->from) / bins, 1);
  guint kept = 0, i = 0;
  while (i < levels->len) {
    SimTime bin = (g_array_index(levels, ReportLevel, i).at - scene->from) / span;
    ReportLevel highest = g_array_index(levels, ReportLevel, i), last = highest;
    for (; i < levels->len && (g_array_index(levels, ReportLevel, i).at - scene->from) / span == bin; i++) {
      last = g_array_index(levels, ReportLevel, i);
      if (report_level_total(&last) > report_level_total(&highest))
        highest = last;
    }
    g_array_index(levels, ReportLevel, kept++) = highest;
    if (last.at != highest.at)
      g_array_index(levels, ReportLevel, kept++) = last;
  }
  g_array_set_size(levels, kept);
}
