/* SPDX-License-Identifier: MIT */
/* Grid to batch to database: one writer, many points to a transaction. */
#include "study-sweep.h"

#include <string.h>

#include "base-json.h"
#include "store-sweep.h"
#include "study-mpi.h"
#include "study-walk.h"

#define WRITE_EVERY_US 200000 /* so much, at most, is lost when the machine stops */

typedef struct {
  const StudySweep *sweep;
  StudySweepResult *result;
  StoreDb *db;
  gint64 sweep_id, begun_at; /* of the transaction that is open; 0: none is */
  guint64 number;            /* the next point's */
} Sweeping;

static StudyPoint *point_of(guint64 number, gpointer user) {
  const Sweeping *sweeping = user;
  StudyPoint *point = study_grid_point(sweeping->sweep->grid, number);
  point->base = sweeping->sweep->base;
  return point;
}

static StudyPoint *next(gpointer user) {
  Sweeping *sweeping = user;
  const StudySweep *sweep = sweeping->sweep;
  if (sweeping->number >= study_grid_size(sweep->grid))
    return NULL;
  StudyPoint *point = point_of(sweeping->number, user);
  sweeping->number += MAX(sweep->shards, 1);
  return point;
}

static gboolean wanted(const RunReport *identity, gpointer user) {
  const Sweeping *sweeping = user;
  return store_expression_holds(sweeping->sweep->where, identity);
}

static char *settings_json(const StudyPoint *point) {
  GString *text = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_COMPACT);
  base_json_map(json, NULL);
  for (guint i = 0; i < point->settings->len; i++) {
    const StudyPointSetting *setting = &g_array_index(point->settings, StudyPointSetting, i);
    base_json_text(json, setting->name, setting->value);
  }
  base_json_end(json);
  return g_string_free(text, FALSE);
}

static char *axes_json(const StudyGrid *grid) {
  GString *text = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_COMPACT);
  base_json_map(json, NULL);
  for (guint i = 0; i < grid->axes->len; i++) {
    const StudyAxis *axis = &g_array_index(grid->axes, StudyAxis, i);
    base_json_list(json, axis->name);
    for (guint v = 0; v < axis->n; v++)
      base_json_text(json, NULL, axis->values[v]);
    base_json_end(json);
  }
  base_json_end(json);
  return g_string_free(text, FALSE);
}

static void add_setting(const char *name, const char *value, ConfOrigin origin, gpointer user) {
  (void)origin;
  g_autofree char *line = g_strdup_printf("%s = %s\n", name, value);
  g_checksum_update(user, (const guchar *)line, -1);
}

static char *sweep_key(const StudySweep *sweep, const char *axes, const char *condition) {
  g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
  conf_settings_visit(sweep->base->settings, add_setting, sum);
  add_setting("axes", axes, CONF_ORIGIN_DEFAULT, sum);
  add_setting("where", condition != NULL ? condition : "", CONF_ORIGIN_DEFAULT, sum);
  add_setting("workload", sweep->base->workload, CONF_ORIGIN_DEFAULT, sum);
  return g_strdup(g_checksum_get_string(sum));
}

static gboolean register_sweep(Sweeping *sweeping, GError **error) {
  const StudySweep *sweep = sweeping->sweep;
  g_autofree char *axes = axes_json(sweep->grid);
  const char *condition = sweep->where != NULL ? store_expression_text(sweep->where) : NULL;
  g_autofree char *key = sweep_key(sweep, axes, condition);
  StoreSweep row = {key, sweep->base->workload, axes, condition, study_grid_size(sweep->grid)};
  return store_db_sweep(sweeping->db, &row, &sweeping->sweep_id, error);
}

static gboolean write_point(const Sweeping *sweeping, const StudyPoint *point, const char *run_key, GError **error) {
  g_autofree char *settings = settings_json(point);
  g_autofree char *status = run_key != NULL ? g_strdup("ran") : study_point_status(point);
  StorePoint row = {point->number, settings, status, run_key};
  return store_db_write_point(sweeping->db, sweeping->sweep_id, &row, error);
}

/* Another process, or an equal point before it, may have written the run meanwhile. */
static gboolean write_run(const Sweeping *sweeping, const RunReport *report, GError **error) {
  gint64 run_id;
  if (store_db_has(sweeping->db, report->identity.run_key))
    return TRUE;
  return sweeping->sweep->options.timeline ? store_db_write(sweeping->db, report, TRUE, &run_id, error)
                                           : store_db_write_summary(sweeping->db, report, &run_id, error);
}

static gboolean begin(Sweeping *sweeping, GError **error) {
  if (sweeping->begun_at != 0)
    return TRUE;
  if (!store_db_begin(sweeping->db, error))
    return FALSE;
  sweeping->begun_at = g_get_monotonic_time();
  return TRUE;
}

/* What took long is kept at once. */
static gboolean end(Sweeping *sweeping, gboolean now, GError **error) {
  if (sweeping->begun_at == 0 || (!now && g_get_monotonic_time() - sweeping->begun_at < WRITE_EVERY_US))
    return TRUE;
  sweeping->begun_at = 0;
  return store_db_end(sweeping->db, TRUE, error);
}

static gboolean deliver(StudyPoint *point, gpointer user, GError **error) {
  Sweeping *sweeping = user;
  StudySweepResult *result = sweeping->result;
  if (!study_point_check(point, error))
    return FALSE;
  const char *run_key = point->report != NULL ? point->report->identity.run_key : point->run_key;
  guint64 *became = point->unwanted         ? &result->unwanted
                    : point->report != NULL ? &result->played
                    : run_key != NULL       ? &result->known
                                            : &result->refused;
  (*became)++;
  if (!point->unwanted &&
      (!begin(sweeping, error) || (point->report != NULL && !write_run(sweeping, point->report, error)) ||
       !write_point(sweeping, point, run_key, error) || !end(sweeping, FALSE, error)))
    return FALSE;
  if (sweeping->sweep->progress != NULL)
    sweeping->sweep->progress(result, sweeping->sweep->progress_user);
  return TRUE;
}

static guint64 points_of_share(const StudySweep *sweep) {
  guint64 size = study_grid_size(sweep->grid), shards = MAX(sweep->shards, 1);
  return sweep->shard < size ? (size - sweep->shard - 1) / shards + 1 : 0;
}

static gboolean is_led(const StudySweep *sweep) {
  return sweep->mpi != NULL && sweep->mpi->rank > 0;
}

static gboolean run_batch(const StudySweep *sweep, const StudyBatch *batch, gboolean *ret_stopped, GError **error) {
  return sweep->mpi != NULL && sweep->mpi->size > 1 ? study_mpi_batch_run(sweep->mpi, batch, ret_stopped, error)
                                                    : study_batch_run(batch, ret_stopped, error);
}

gboolean study_sweep_run(const StudySweep *sweep, StudySweepResult *ret, gboolean *ret_stopped, GError **error) {
  g_autoptr(StoreDb) db = is_led(sweep) ? NULL : store_db_open(sweep->database, error);
  StudySweepResult result = {.points = points_of_share(sweep)};
  Sweeping sweeping = {.sweep = sweep, .result = &result, .db = db, .number = sweep->shard};
  gboolean ready = is_led(sweep) || (db != NULL && register_sweep(&sweeping, error));
  if (sweep->mpi != NULL ? !study_mpi_agree(sweep->mpi, ready, error) : !ready)
    return FALSE;
  StudyBatch batch = {.next = next,
                      .again = point_of,
                      .wanted = sweep->where != NULL ? wanted : NULL,
                      .deliver = deliver,
                      .user = &sweeping,
                      .database = sweep->database,
                      .options = sweep->options,
                      .threads = sweep->threads,
                      .stop = sweep->stop,
                      .stop_user = sweep->stop_user};
  gboolean good = run_batch(sweep, &batch, ret_stopped, error);
  if (!good && sweeping.begun_at != 0)
    store_db_end(db, FALSE, NULL);
  if (!good || !end(&sweeping, TRUE, error))
    return FALSE;
  result.sweep_id = sweeping.sweep_id;
  *ret = result;
  return TRUE;
}
