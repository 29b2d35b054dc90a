/* SPDX-License-Identifier: MIT */
/* Sweeps: axes, the same database for any number of threads and after a stop, points that make no sense, shards; and
 * the cache, whose every answer must be the one that a walk from the files gives. */
#include <string.h>

#include "base-error.h"
#include "report-differs.h"
#include "store-help.h"
#include "study-sweep.h"

static const char *const axes[] = {"nodes=1,2,3", "zero_stage=1..3:1", "training.micro_batch=1,2"};

static Study *study(void) {
  Study *opened = study_open("llama2-7b", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(opened);
  return opened;
}

static StudyGrid *grid_of(const Study *base, const char *const *texts, gsize n) {
  StudyGrid *grid = study_grid_new();
  for (gsize i = 0; i < n; i++)
    CU_ASSERT_TRUE(study_grid_add(grid, base, texts[i], NULL));
  return grid;
}

static const char *value_of(const StudyPoint *point, guint axis) {
  return g_array_index(point->settings, StudyPointSetting, axis).value;
}

static void axes_expand(void) {
  static const struct {
    const char *axis, *values;
  } cases[] = {
      {"nodes=1..8:x2", "1 2 4 8"},
      {"cluster.nodes=2..7:2", "2 4 6"},
      {"micro-batch=1, 2 ,4", "1 2 4"},
      {"cluster.nic_bandwidth=100..400 Gb/s:150", "100 Gb/s 250 Gb/s 400 Gb/s"},
      {"node.nic_achievable=0.1..0.3 GB/s:0.1", "0.1 GB/s 0.2 GB/s 0.3 GB/s"}, /* 0.1 + 2 × 0.1 > 0.3 by rounding */
  };
  g_autoptr(Study) base = study();
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(StudyGrid) grid = grid_of(base, &cases[i].axis, 1);
    g_autofree char *values = g_strjoinv(" ", g_array_index(grid->axes, StudyAxis, 0).values);
    CU_ASSERT_STRING_EQUAL(values, cases[i].values);
  }
}

/* 3 × 3 × 2 points; the last axis runs fastest, so number 7 = (1 × 3 + 0) × 2 + 1 is nodes 2, stage 1, micro-batch
 * 2. */
static void the_last_axis_is_fastest(void) {
  g_autoptr(Study) base = study();
  g_autoptr(StudyGrid) grid = grid_of(base, axes, 3);
  CU_ASSERT_EQUAL(study_grid_size(grid), 18);
  g_autoptr(StudyPoint) point = study_grid_point(grid, 7);
  CU_ASSERT_STRING_EQUAL(value_of(point, 0), "2");
  CU_ASSERT_STRING_EQUAL(value_of(point, 1), "1");
  CU_ASSERT_STRING_EQUAL(value_of(point, 2), "2");
}

static void bad_axes_are_refused(void) {
  static const struct {
    const char *axis, *said;
  } cases[] = {
      {"nodes", "expected KEY=V1,V2"},
      {"node=1,2", "no setting is called \"node\""},
      {"gpu=h100-sxm5-80gb", "\"gpu\" could be any of "},
      {"nodes=1,,2", "found none in one place"},
      {"nodes=1,1", "stands twice"},
      {"nodes=1..8", "A..B:STEP"},
      {"nodes=8..1:1", "never ends"},
      {"nodes=1..8:0", "never ends"},
      {"nodes=1..8:x1", "never ends"},
      {"nodes=1..2000000000:1", "more than 10000000 points"},
      {"zero_stage=1", "is an axis already"},
      {"sequence_length=1,2", "given by --set"},
  };
  g_autoptr(Study) base = study();
  CU_ASSERT_TRUE(study_set(base, "training.sequence_length=2048", NULL));
  const char *first = "zero_stage=1,2";
  g_autoptr(StudyGrid) grid = grid_of(base, &first, 1);
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    HARNESS_FAILS(study_grid_add(grid, base, cases[i].axis, &error), error, cases[i].said);
  }
}

typedef struct {
  guint64 shard, shards, stop_after, done;
  guint threads;
  const char *where;
} Ask;

static gboolean stop(gpointer user) {
  const Ask *ask = user;
  return ask->stop_after > 0 && ask->done >= ask->stop_after;
}

static void count(const StudySweepResult *so_far, gpointer user) {
  (void)so_far;
  ((Ask *)user)->done++;
}

static StudySweepResult sweep_into(const char *path, Ask *ask, const char *const *texts, gsize n) {
  g_autoptr(Study) base = study();
  g_autoptr(StudyGrid) grid = grid_of(base, texts, n);
  g_autoptr(StoreExpression) where = ask->where != NULL ? store_expression_parse(ask->where, NULL) : NULL;
  StudySweep sweep = {.base = base,
                      .grid = grid,
                      .database = path,
                      .where = where,
                      .options = {.fold = TRUE},
                      .threads = ask->threads,
                      .shard = ask->shard,
                      .shards = ask->shards,
                      .stop = stop,
                      .stop_user = ask,
                      .progress = count,
                      .progress_user = ask};
  StudySweepResult result = {0};
  gboolean stopped;
  CU_ASSERT_TRUE(study_sweep_run(&sweep, &result, &stopped, NULL));
  return result;
}

/* All but wall-clock facts. */
static char *dump(const char *path) {
  g_autoptr(StoreDb) db = store_db_open_existing(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(db);
  g_autofree char *runs = store_help_rows(db, "SELECT * FROM run ORDER BY run_id", 0);
  g_autofree char *settings = store_help_rows(db, "SELECT * FROM setting ORDER BY run_id, name", 0);
  g_autofree char *classes = store_help_rows(db, "SELECT * FROM rank_class ORDER BY run_id, rank_class", 0);
  g_autofree char *points = store_help_rows(db, "SELECT * FROM point ORDER BY sweep_id, number", 0);
  return g_strconcat(runs, settings, classes, points, NULL);
}

static void any_threads_give_the_same_database(void) {
  g_autofree char *one = store_help_path("one.db"), *three = store_help_path("three.db");
  StudySweepResult result = sweep_into(one, &(Ask){.threads = 1}, axes, 3);
  CU_ASSERT_EQUAL(result.played, 18);
  sweep_into(three, &(Ask){.threads = 3}, axes, 3);
  g_autofree char *a = dump(one), *b = dump(three);
  CU_ASSERT_STRING_EQUAL(a, b);
  g_autofree char *other = store_help_path("other.db"); /* the comparison can fail */
  sweep_into(other, &(Ask){.threads = 1}, axes, 2);
  g_autofree char *c = dump(other);
  CU_ASSERT_STRING_NOT_EQUAL(a, c);
}

static void a_stopped_sweep_goes_on(void) {
  g_autofree char *whole = store_help_path("whole.db"), *parts = store_help_path("parts.db");
  sweep_into(whole, &(Ask){.threads = 1}, axes, 3);
  StudySweepResult first = sweep_into(parts, &(Ask){.threads = 1, .stop_after = 7}, axes, 3);
  CU_ASSERT_EQUAL(first.played, 7);
  StudySweepResult second = sweep_into(parts, &(Ask){.threads = 2}, axes, 3);
  CU_ASSERT_EQUAL(second.known, 7);
  CU_ASSERT_EQUAL(second.played, 11);
  g_autofree char *a = dump(whole), *b = dump(parts);
  CU_ASSERT_STRING_EQUAL(a, b);
}

/* 16 sequences over 8 × nodes GPUs of one sequence each: two micro-batches on one node, one on two; three do not
 * divide. */
static void a_point_without_sense_is_a_row(void) {
  static const char *const batch[] = {"nodes=1..3:1", "gradient_accumulation=1,2", "global_batch=16"};
  g_autofree char *path = store_help_path("batch.db");
  StudySweepResult result = sweep_into(path, &(Ask){.threads = 2}, batch, 3);
  CU_ASSERT_EQUAL(result.played, 2);
  CU_ASSERT_EQUAL(result.refused, 4);
  g_autoptr(StoreDb) db = store_db_open_existing(path, NULL);
  g_autofree char *numbers = store_help_rows(db, "SELECT number FROM point WHERE status = 'ran' ORDER BY number", 0);
  CU_ASSERT_STRING_EQUAL(numbers, "number=1\nnumber=2\n");
  g_autofree char *why = store_help_value(db, "SELECT status FROM point WHERE number = 5", 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(why, "training.global_batch: 16 is not micro_batch 1"));
}

static void a_condition_narrows_the_grid(void) {
  g_autofree char *path = store_help_path("where.db");
  StudySweepResult result = sweep_into(path, &(Ask){.threads = 2, .where = "zero_stage >= 2 and gpus < 24"}, axes, 3);
  CU_ASSERT_EQUAL(result.played, 2 * 2 * 2); /* nodes 1, 2; stages 2, 3; micro-batches 1, 2 */
  CU_ASSERT_EQUAL(result.unwanted, 10);
}

static void shards_share_the_points(void) {
  g_autofree char *path = store_help_path("shards.db");
  guint64 points = 0;
  for (guint64 shard = 0; shard < 4; shard++) {
    StudySweepResult result = sweep_into(path, &(Ask){.threads = 1, .shard = shard, .shards = 4}, axes, 3);
    CU_ASSERT_EQUAL(result.points, result.played);
    points += result.points;
  }
  CU_ASSERT_EQUAL(points, 18);
  g_autoptr(StoreDb) db = store_db_open_existing(path, NULL);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(DISTINCT run_key) FROM point", 0), 18);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM sweep", 0), 1);
}

/* 40 machines, more than a cache keeps, in an order in which each returns: with a cache and without, the same. */
static void the_cache_changes_nothing(void) {
  g_autoptr(Study) base = study();
  g_autoptr(StudyCache) cache = study_cache_new();
  static const char *const many[] = {"zero_stage=2,3", "framework=paper,fsdp2", "topology=dgx-h100,dgx-a100",
                                     "nodes=1..20:1"};
  g_autoptr(StudyGrid) grid = grid_of(base, many, G_N_ELEMENTS(many));
  StudyOptions options = {.fold = TRUE};
  for (guint64 i = 0; i < study_grid_size(grid); i += i % 20 == 2 ? 18 : 1) {
    g_autoptr(StudyPoint) cached = study_grid_point(grid, i), fresh = study_grid_point(grid, i);
    study_point_run(cached, base, &options, cache);
    study_point_run(fresh, base, &options, NULL);
    g_autofree char *a = study_point_status(cached), *b = study_point_status(fresh);
    CU_ASSERT_STRING_EQUAL(a, b);
    if (cached->report == NULL || fresh->report == NULL)
      continue;
    for (gsize m = 0; m < store_n_metrics; m++) {
      const StoreMetric *metric = &store_metrics[m];
      if (metric->unit == STORE_TEXT)
        CU_ASSERT_STRING_EQUAL(store_metric_get(metric, cached->report).string,
                               store_metric_get(metric, fresh->report).string);
      if (store_metric_is_whole(metric))
        CU_ASSERT_EQUAL(store_metric_get(metric, cached->report).integer,
                        store_metric_get(metric, fresh->report).integer);
    }
    const RunIdentity *kept = &cached->report->identity, *read = &fresh->report->identity;
    CU_ASSERT_EQUAL_FATAL(kept->n_settings, read->n_settings);
    for (guint32 s = 0; s < kept->n_settings; s++) {
      CU_ASSERT_STRING_EQUAL(kept->settings[s].value, read->settings[s].value);
      CU_ASSERT_STRING_EQUAL(kept->settings[s].origin, read->settings[s].origin);
    }
  }
}

/* Programs that are filled into another's form: every byte of the Report is that of a run by itself. */
static void sizes_change_no_rows(void) {
  g_autoptr(Study) base = study();
  g_autoptr(StudyCache) cache = study_cache_new();
  static const char *const sizes[] = {"framework=paper,ddp,deepspeed,fsdp1,fsdp2,megatron", "zero_stage=0,1,3",
                                      "gradient_accumulation=1,2", "micro_batch=1,3", "sequence_length=512,96"};
  g_autoptr(StudyGrid) grid = grid_of(base, sizes, G_N_ELEMENTS(sizes));
  guint played = 0;
  for (guint64 i = 0; i < study_grid_size(grid); i++) {
    g_autoptr(StudyPoint) filled = study_grid_point(grid, i), fresh = study_grid_point(grid, i);
    study_point_run(filled, base, &(StudyOptions){.fold = TRUE}, cache);
    study_point_run(fresh, base, &(StudyOptions){.fold = TRUE}, NULL);
    CU_ASSERT_EQUAL(filled->report != NULL, fresh->report != NULL);
    if (filled->report == NULL || fresh->report == NULL)
      continue;
    played++;
    CU_ASSERT_PTR_NULL(report_differs(filled->report, fresh->report));
  }
  CU_ASSERT_TRUE(played >= 40);
}

/* A host a hundred times slower, by --set and by an overlay, plans other Programs, though it is the same CPU. */
static void another_host_is_another_program(void) {
  g_autoptr(Study) base = study();
  g_autoptr(StudyCache) cache = study_cache_new();
  g_autofree char *path = store_help_path("slow.overlay.ini");
  g_autofree char *overlay = g_strconcat("cluster.overlay=", path, NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, "[node]\nhost_rate = 0.01\n", -1, NULL));
  const char *const axis[] = {"framework=fsdp2", "zero_stage=3", "node.host_rate=1,0.01"};
  const char *const laid[] = {"framework=fsdp2", "zero_stage=3", overlay};
  const StudyOptions options = {.fold = TRUE};
  g_autoptr(StudyGrid) grid = grid_of(base, axis, 3), over = grid_of(base, laid, 3);
  g_autoptr(StudyPoint) own = study_grid_point(grid, 0), slow = study_grid_point(grid, 1);
  g_autoptr(StudyPoint) fresh = study_grid_point(grid, 1), measured = study_grid_point(over, 0);
  study_point_run(own, base, &options, cache);
  study_point_run(slow, base, &options, cache);
  study_point_run(measured, base, &options, cache);
  study_point_run(fresh, base, &options, NULL);
  CU_ASSERT_TRUE_FATAL(own->report != NULL && slow->report != NULL && fresh->report != NULL &&
                       measured->report != NULL);
  CU_ASSERT_TRUE(slow->report->classes[0].step > 2 * own->report->classes[0].step);
  CU_ASSERT_EQUAL(slow->report->classes[0].step, fresh->report->classes[0].step);
  CU_ASSERT_EQUAL(measured->report->classes[0].step, fresh->report->classes[0].step);
}

int main(void) {
  store_help_begin();
  int failed = harness_run("sweep", (HarnessCase[]){{"axes", axes_expand},
                                                    {"order of points", the_last_axis_is_fastest},
                                                    {"bad axes", bad_axes_are_refused},
                                                    {"threads", any_threads_give_the_same_database},
                                                    {"resume", a_stopped_sweep_goes_on},
                                                    {"points without sense", a_point_without_sense_is_a_row},
                                                    {"where", a_condition_narrows_the_grid},
                                                    {"shards", shards_share_the_points},
                                                    {"the cache", the_cache_changes_nothing},
                                                    {"sizes change no rows", sizes_change_no_rows},
                                                    {"another host", another_host_is_another_program},
                                                    {NULL, NULL}});
  store_help_end();
  return failed;
}
