/* SPDX-License-Identifier: MIT */
/* What pictures of one run are drawn from: boxes, their shares of columns, levels of memory on the GPU's clock. What is
 * merged, thinned or divided keeps its meaning. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "report-boxes.h"
#include "report-levels.h"
#include "report-sample.h"
#include "report-shares.h"

static StoreDb *db;
static gint64 run_id;

static void add_box(GArray *boxes, SimTime start, SimTime end, guint row, gint32 layer, const char *kind) {
  ReportBox box = {start, end, row, layer, kind, "mlp"};
  g_array_append_val(boxes, box);
}

static ReportBoxes *some_boxes(void) {
  static const char forward[] = "forward", backward[] = "backward";
  ReportBoxes *boxes = g_new0(ReportBoxes, 1);
  boxes->boxes = g_array_new(FALSE, FALSE, sizeof(ReportBox));
  boxes->rows = g_ptr_array_new();
  add_box(boxes->boxes, 0, 10, 0, 0, forward);
  add_box(boxes->boxes, 11, 20, 0, 0, forward);
  add_box(boxes->boxes, 20, 30, 0, 1, forward);
  add_box(boxes->boxes, 40, 50, 0, 1, forward); /* 10 apart */
  add_box(boxes->boxes, 50, 60, 0, 1, backward);
  add_box(boxes->boxes, 60, 70, 1, 1, backward); /* another row */
  return boxes;
}

static void neighbours_alike_become_one(void) {
  g_autoptr(ReportBoxes) boxes = some_boxes();
  report_boxes_merge(boxes, 1, 100); /* the two of layer 0, 1 apart */
  CU_ASSERT_EQUAL(boxes->boxes->len, 5);
  CU_ASSERT_EQUAL(g_array_index(boxes->boxes, ReportBox, 0).end, 20);
  CU_ASSERT_EQUAL(g_array_index(boxes->boxes, ReportBox, 0).layer, 0);
  CU_ASSERT_PTR_NULL(g_array_index(boxes->boxes, ReportBox, 0).name);
  CU_ASSERT_EQUAL(g_array_index(boxes->boxes, ReportBox, 1).start, 20);
  CU_ASSERT_EQUAL(g_array_index(boxes->boxes, ReportBox, 2).start, 40);
}

static void wide_boxes_keep_their_names(void) {
  g_autoptr(ReportBoxes) boxes = some_boxes();
  add_box(boxes->boxes, 70, 75, 1, 1, g_array_index(boxes->boxes, ReportBox, 5).kind); /* 5 and 10 wide, touching */
  report_boxes_merge(boxes, 0, 10);                                                    /* 10 is not narrower than 10 */
  CU_ASSERT_EQUAL(boxes->boxes->len, 7);
  report_boxes_merge(boxes, 0, 11);
  CU_ASSERT_EQUAL(boxes->boxes->len, 6);
  CU_ASSERT_EQUAL(g_array_index(boxes->boxes, ReportBox, 5).end, 75);
  CU_ASSERT_PTR_NULL(g_array_index(boxes->boxes, ReportBox, 5).name);
}

/* Columns of 10 over 0 … 70: row 0 is forward for 10, 9, 10, 0, 10, then backward for 10; row 1 is backward in the
 * last. */
static void thin_boxes_are_drawn_by_their_share(void) {
  g_autoptr(ReportBoxes) boxes = some_boxes();
  g_ptr_array_add(boxes->rows, "low");
  g_ptr_array_add(boxes->rows, "high");
  g_autoptr(GArray) shares = report_shares(boxes, 0, 70, 7);
  CU_ASSERT_EQUAL_FATAL(shares->len, 6);
  const ReportShare *share = &g_array_index(shares, ReportShare, 0);
  CU_ASSERT_EQUAL(share[0].end, 10);
  CU_ASSERT_EQUAL(share[0].top, 1);
  CU_ASSERT_EQUAL(share[1].time, 9);
  CU_ASSERT_EQUAL(share[1].bottom, 0);
  CU_ASSERT_EQUAL(share[1].top, 0.9);
  CU_ASSERT_EQUAL(share[2].start, 20);
  CU_ASSERT_EQUAL(share[3].start, 40);
  CU_ASSERT_EQUAL(share[4].look, report_look_index(report_look("backward")));
  CU_ASSERT_EQUAL(share[5].row, 1);
  /* One column: 39 and 10 of 70, one above the other. */
  g_autoptr(GArray) whole = report_shares(boxes, 0, 70, 1);
  CU_ASSERT_EQUAL_FATAL(whole->len, 3);
  share = &g_array_index(whole, ReportShare, 0);
  CU_ASSERT_EQUAL(share[0].time, 39);
  CU_ASSERT_EQUAL(share[1].time, 10);
  CU_ASSERT_EQUAL(share[0].top, share[1].bottom);
  CU_ASSERT_EQUAL(share[1].top, 49.0 / 70);
}

static SimTime painted(const GArray *shares, guint look) {
  SimTime time = 0;
  for (guint i = 0; i < shares->len; i++) {
    const ReportShare *share = &g_array_index(shares, ReportShare, i);
    double drawn = (share->top - share->bottom) * (double)(share->end - share->start);
    time += share->look == look ? share->time : 0;
    CU_ASSERT_TRUE(drawn - (double)share->time < 1 && (double)share->time - drawn < 1); /* area is time, to a ps */
  }
  return time;
}

/* What is painted of each cause is what the database has of it, however coarse the picture is. */
static void painted_shares_are_those_of_the_database(void) {
  g_auto(ReportScene) scene = {0};
  CU_ASSERT_TRUE_FATAL(report_scene_load(db, run_id, REPORT_SLOWEST, -1, -1, &scene, NULL));
  g_autoptr(ReportBoxes) boxes = report_boxes_new(&scene);
  static const guint columns[] = {1, 7, 864, 100000};
  for (gsize i = 0; i < G_N_ELEMENTS(columns); i++) {
    g_autoptr(GArray) shares = report_shares(boxes, scene.from, scene.to, columns[i]);
    for (guint cause = 0; cause < RUN_CAUSES; cause++)
      CU_ASSERT_EQUAL(painted(shares, report_look_index(report_look(run_cause_names[cause]))),
                      scene.of->by_cause[cause]);
  }
}

/* A host that issues three kernels at 1, 2 and 3 and then waits; they start at 10, 20 and 30. What it takes for the
 * second and gives back with the third stands from 20 to 30; what it takes after all of them, at the step's end. */
static void memory_is_on_the_clock_of_the_gpu(void) {
  RunTask tasks[] = {{.stream = "compute", .kind = "compute", .issued = 1, .start = 10, .end = 20},
                     {.stream = "comm", .kind = "collective", .issued = 1, .start = 1, .end = 9},
                     {.stream = "compute", .kind = "compute", .issued = 2, .start = 20, .end = 30},
                     {.stream = "compute", .kind = "compute", .issued = 3, .start = 30, .end = 40}};
  RunMemorySample samples[] = {{0, {1}}, {1, {2}}, {2, {9}}, {2, {8}}, {3, {4}}, {5, {3}}};
  RunClass of = {
      .tasks = tasks, .n_tasks = 4, .step = 50, .samples = samples, .n_samples = G_N_ELEMENTS(samples), .ranks = 1};
  ReportScene scene = {.of = &of, .from = 0, .to = 50};
  g_autoptr(GArray) levels = report_levels(&scene);
  static const RunMemorySample expected[] = {{0, {1}}, {10, {2}}, {20, {9}}, {20, {8}}, {30, {4}}};
  CU_ASSERT_EQUAL_FATAL(levels->len, G_N_ELEMENTS(expected));
  for (guint i = 0; i < levels->len; i++) {
    CU_ASSERT_EQUAL(g_array_index(levels, ReportLevel, i).at, expected[i].at);
    CU_ASSERT_EQUAL(g_array_index(levels, ReportLevel, i).held[0], expected[i].held[0]);
  }
  scene.from = 25; /* the level that stands there */
  g_autoptr(GArray) later = report_levels(&scene);
  CU_ASSERT_EQUAL(g_array_index(later, ReportLevel, 0).at, 25);
  CU_ASSERT_EQUAL(g_array_index(later, ReportLevel, 0).held[0], 8);
}

/* The host spends 2 on a kernel that it has issued at 5, of a step of 100 in which compute waits for it for 1: a row.
 * Less than a thousandth: none. */
static void a_host_that_is_waited_for_has_a_row(void) {
  RunTask task = {.stream = "compute",
                  .kind = "compute",
                  .phase = "forward",
                  .name = "a",
                  .issued = 5,
                  .host = 2,
                  .start = 6,
                  .end = 99};
  RunExposure piece = {.start = 5, .end = 6, .row = G_MAXUINT32, .cause = RUN_CAUSE_HOST_IDLE, .repeats = 1};
  RunClass of = {.tasks = &task, .n_tasks = 1, .step = 100, .exposures = &piece, .n_exposures = 1, .ranks = 1};
  ReportScene scene = {.of = &of, .from = 0, .to = 100};
  g_autoptr(ReportBoxes) boxes = report_boxes_new(&scene);
  CU_ASSERT_STRING_EQUAL(boxes->rows->pdata[boxes->rows->len - 1], "host");
  const ReportBox *last = &g_array_index(boxes->boxes, ReportBox, boxes->boxes->len - 1);
  CU_ASSERT_EQUAL(last->start, 3);
  CU_ASSERT_EQUAL(last->end, 5);
  scene.to = 2000;
  g_autoptr(ReportBoxes) without = report_boxes_new(&scene);
  CU_ASSERT_STRING_EQUAL(without->rows->pdata[without->rows->len - 1], "compute");
}

/* 5000 levels in 10 bins: of each bin the highest and the last stay, and so does the highest of all. */
static void thinned_levels_keep_the_peak(void) {
  g_autoptr(GArray) levels = g_array_new(FALSE, FALSE, sizeof(ReportLevel));
  ReportScene scene = {.from = 1000, .to = 6000};
  g_autoptr(GRand) random = harness_random();
  guint64 peak = 0;
  for (SimTime at = scene.from; at < scene.to; at++) {
    ReportLevel level = {.at = at, .held = {g_rand_int(random), g_rand_int(random)}};
    peak = MAX(peak, report_level_total(&level));
    g_array_append_val(levels, level);
  }
  ReportLevel last = g_array_index(levels, ReportLevel, levels->len - 1);
  report_levels_thin(levels, &scene, 10);
  CU_ASSERT_TRUE(levels->len >= 10 && levels->len <= 20);
  guint64 kept = 0;
  for (guint i = 0; i < levels->len; i++) {
    kept = MAX(kept, report_level_total(&g_array_index(levels, ReportLevel, i)));
    CU_ASSERT_TRUE(i == 0 || g_array_index(levels, ReportLevel, i - 1).at < g_array_index(levels, ReportLevel, i).at);
  }
  CU_ASSERT_EQUAL(kept, peak);
  CU_ASSERT_EQUAL(g_array_index(levels, ReportLevel, levels->len - 1).at, last.at);
}

int main(void) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-shares-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "a.db", NULL);
  db = store_db_open(path, NULL);
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  if (db == NULL || !store_db_write(db, report, TRUE, &run_id, NULL))
    return 1;
  int status = harness_run("report-shares", (HarnessCase[]){
                                                {"neighbours alike become one", neighbours_alike_become_one},
                                                {"wide boxes keep their names", wide_boxes_keep_their_names},
                                                {"thin boxes", thin_boxes_are_drawn_by_their_share},
                                                {"painted shares", painted_shares_are_those_of_the_database},
                                                {"clock of the GPU", memory_is_on_the_clock_of_the_gpu},
                                                {"a host's row", a_host_that_is_waited_for_has_a_row},
                                                {"thinned levels keep the peak", thinned_levels_keep_the_peak},
                                                {NULL, NULL},
                                            });
  store_db_close(db);
  g_unlink(path);
  g_rmdir(folder);
  return status;
}
