/* SPDX-License-Identifier: MIT */
/* Pictures: gnuplot draws them, script and data stand beside them, and what is merged or thinned keeps its meaning. */
#include <glib/gstdio.h>
#include <string.h>

#include "base-error.h"
#include "harness.h"
#include "report-boxes.h"
#include "report-levels.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-sample.h"
#include "report-shares.h"

static char *folder;
static StoreDb *db;
static gint64 run_id;

typedef gboolean (*Plot)(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const char *path, GError **error);

static char *in_folder(const char *name) {
  return g_build_filename(folder, name, NULL);
}

static char *content(const char *name) {
  g_autofree char *path = in_folder(name);
  char *text = NULL;
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, NULL, NULL));
  return text;
}

static void draw(Plot plot, SimTime from, SimTime to, const char *name) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = in_folder(name);
  if (!plot(db, run_id, from, to, path, &error)) {
    printf("\n    %s\n", error->message);
    CU_FAIL_FATAL("not drawn");
  }
}

static void is_svg(const char *name) {
  static const GMarkupParser ignore = {0};
  g_autofree char *text = content(name);
  g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&ignore, 0, NULL, NULL);
  CU_ASSERT_TRUE(g_markup_parse_context_parse(context, text, -1, NULL));
  CU_ASSERT_TRUE(g_markup_parse_context_end_parse(context, NULL));
  CU_ASSERT_PTR_NOT_NULL(strstr(text, "<svg"));
}

static void has(const char *text, const char *fragment) {
  if (strstr(text, fragment) == NULL)
    printf("\n    lacks \"%s\"\n", fragment);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, fragment));
}

static void timelines_are_drawn(void) {
  draw(report_plot_timeline, -1, -1, "step.svg");
  is_svg("step.svg");
  g_autofree char *script = content("step.gnuplot"), *data = content("step.dat"), *svg = content("step.svg");
  has(script, "set output 'step.svg'");
  has(script, "'idle' 0, 'exposed' 1, 'communication' 2, 'compute' 3");
  has(script, "set xrange [0:1008.875]");
  has(data, "# reduce-scatter: start_ms end_ms bottom top");
  /* The first layer of the slower class waits for one gather of 5.1 ms and then computes for 5.25 ms, to 10.35. A column
   * is 1008.875 / 864 = 1.16768 ms wide: the fifth, from 4.67072 on, is forward's for 0.63 of its width. */
  has(data, "# forward: start_ms end_ms bottom top\n4.67071759 5.83839699 2.58 3.11118");
  has(svg, "Llama-2-7B, ZeRO-3 (paper), 16 × h100-sxm5-80gb in 2 nodes: 1008.88 ms (908 to 1312 ms) a step");
  has(svg, "2 ranks from rank 14 on, the slowest of 2 classes");
  has(svg, "bandwidth");
}

static void windows_are_cut(void) {
  draw(report_plot_timeline, 400 * SIM_MILLISECOND, 460 * SIM_MILLISECOND, "window.svg");
  g_autofree char *script = content("window.gnuplot"), *data = content("window.dat");
  has(script, "set xrange [400:460]");
  has(data, "decoder_layer L22");
  CU_ASSERT_PTR_NULL(strstr(data, "# forward"));
  CU_ASSERT_PTR_NULL(strstr(data, "# optimizer"));
}

static void memory_is_drawn(void) {
  draw(report_plot_memory, -1, -1, "memory.svg");
  is_svg("memory.svg");
  g_autofree char *script = content("memory.gnuplot"), *data = content("memory.dat"), *svg = content("memory.svg");
  /* The peak, 10 GiB and 763.5 MiB, is below half of 79 GiB: the axis ends 1.3 times above, at 13.969, and the capacity
   * lies beyond it. */
  has(script, "set yrange [0:13.969");
  has(svg, "capacity 79.00 GiB, above");
  CU_ASSERT_PTR_NULL(strstr(svg, "capacity, 79.00"));
  has(svg, "tensors hold at most 10.75 GiB, at 168.24 ms");
  has(svg, "14 ranks from rank 0 on, the tightest of 2 classes");
  has(data, "# highest: time_ms GiB\n168.24 10.74");
  has(svg, "peak on the device, 10.75");
  has(svg, "cache, rounding");
  /* After the peak tensors hold less, and the cache fills the stack up to it. */
  draw(report_plot_memory, 500 * SIM_MILLISECOND, -1, "later.svg");
  g_autofree char *later = content("later.svg"), *levels = content("later.dat");
  has(later, "peak on the device, 10.75");
  g_auto(GStrv) lines = g_strsplit(levels, "\n", 3);
  CU_ASSERT_TRUE(g_str_has_prefix(lines[1], "500 0 "));
  g_autoptr(RunReport) report = store_db_load(db, run_id, FALSE, NULL);
  g_autofree char *device = g_strdup_printf(" %.9g", base_in_gib(run_report_tightest(report)->device_used));
  CU_ASSERT_TRUE(g_str_has_suffix(lines[1], device));
}

static void a_capacity_that_is_near_is_drawn(void) {
  g_autoptr(RunReport) report = report_sample(3, (guint64)12 << 30);
  gint64 before = run_id;
  CU_ASSERT_TRUE_FATAL(store_db_write(db, report, TRUE, &run_id, NULL));
  draw(report_plot_memory, -1, -1, "near.svg");
  run_id = before;
  g_autofree char *script = content("near.gnuplot"), *svg = content("near.svg");
  has(script, "set yrange [0:12.6]"); /* 5 % above 12 GiB */
  has(svg, "capacity, 12.00");
  CU_ASSERT_PTR_NULL(strstr(svg, "above"));
}

/* A host that issues three kernels at 1, 2 and 3 and then waits; they start at 10, 20 and 30. What it takes for the second
 * and gives back with the third stands from 20 to 30; what it takes after all of them, at the step's end. */
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

/* The host spends 2 on a kernel that it has issued at 5, of a step of 100 in which compute waits for it for 1: a row. Less
 * than a thousandth: none. */
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

/* Bars stand on each other from 0: the last cause's ends at exposed + idle. */
static void exposed_is_drawn_by_cause(void) {
  g_autofree char *path = in_folder("exposed.svg");
  const gint64 ids[] = {run_id, run_id};
  CU_ASSERT_TRUE_FATAL(report_plot_exposed(db, ids, 2, path, NULL));
  is_svg("exposed.svg");
  g_autofree char *data = content("exposed.dat"), *script = content("exposed.gnuplot");
  g_autoptr(RunReport) report = store_db_load(db, run_id, TRUE, NULL);
  const RunClass *slow = run_report_slowest(report);
  g_autofree char *top = g_strdup_printf(" %.9g\n1 ", base_in_ms(slow->exposed + slow->idle));
  has(data, "# bandwidth: run bottom_ms top_ms\n0 ");
  has(data, top);
  has(script, "'ZeRO-3 (paper)'.\"\\nrun 1: 1008.88 ms\" 0, ");
  g_autoptr(RunReport) summary = report_sample(1, SAMPLE_CAPACITY);
  gint64 bare;
  CU_ASSERT_TRUE(store_db_write(db, summary, FALSE, &bare, NULL));
  GError *error = NULL;
  HARNESS_FAILS(report_plot_exposed(db, &bare, 1, path, &error), error, "has no timeline, so that its causes");
}

static void png_is_drawn(void) {
  draw(report_plot_timeline, -1, -1, "step.png");
  draw(report_plot_memory, -1, -1, "memory.png");
  g_autofree char *step = content("step.png"), *memory = content("memory.png");
  CU_ASSERT_EQUAL(memcmp(step, "\x89PNG", 4), 0);
  CU_ASSERT_EQUAL(memcmp(memory, "\x89PNG", 4), 0);
}

static void names_with_quotes_are_drawn(void) {
  g_autoptr(RunReport) report = report_sample(2, SAMPLE_CAPACITY);
  gint64 odd;
  g_free(report->identity.model);
  report->identity.model = g_strdup("O'Neill's \"7B\" \\ 50%");
  report->classes[1].tasks[0].name = "say \"it\"";
  CU_ASSERT_TRUE(store_db_write(db, report, TRUE, &odd, NULL));
  g_autofree char *path = in_folder("it's.svg");
  CU_ASSERT_TRUE(report_plot_timeline(db, odd, 0, 20 * SIM_MILLISECOND, path, NULL));
  is_svg("it's.svg");
  g_autofree char *svg = content("it's.svg");
  has(svg, "50%, ZeRO-2");
}

static void what_cannot_be_drawn_is_said(void) {
  GError *error = NULL;
  g_autoptr(RunReport) report = report_sample(1, SAMPLE_CAPACITY);
  gint64 summary;
  CU_ASSERT_TRUE(store_db_write(db, report, FALSE, &summary, NULL));
  g_autofree char *path = in_folder("no.svg"), *pdf = in_folder("no.pdf"), *bare = in_folder(".svg");
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, pdf, &error), error, "ends in .svg or .png");
  HARNESS_FAILS(report_plot_memory(db, run_id, -1, -1, bare, &error), error, "ends in .svg or .png");
  HARNESS_FAILS(report_plot_timeline(db, summary, -1, -1, path, &error), error, "has no timeline");
  HARNESS_FAILS(report_plot_timeline(db, 999, -1, -1, path, &error), error, "no run 999");
  HARNESS_FAILS(report_plot_memory(db, run_id, 5, 5, path, &error), error, "no window from");
  HARNESS_FAILS(report_plot_memory(db, run_id, 5 * SIM_SECOND, -1, path, &error), error, "in a step of 1008.8");
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, "/nowhere/no.svg", &error), error,
                "/nowhere/no.svg: there is no folder \"/nowhere\"");
  g_autofree char *taken = in_folder("taken.svg"), *data = in_folder("data.svg"), *blocked = in_folder("data.dat");
  g_mkdir(taken, 0700);
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, taken, &error), error, "taken.svg: is a folder");
  HARNESS_FAILS(report_plot_check(taken, &error), error, "taken.svg: is a folder");
  g_mkdir(blocked, 0700);
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, data, &error), error,
                "data.dat: cannot be written: Is a directory");
  g_rmdir(taken);
  g_rmdir(blocked);
  CU_ASSERT_FALSE(g_file_test(path, G_FILE_TEST_EXISTS));
}

static void a_missing_gnuplot_is_named(void) {
  GError *error = NULL;
  g_autofree char *path = in_folder("later.png"), *old = g_strdup(g_getenv("PATH"));
  g_setenv("PATH", folder, TRUE);
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, path, &error), error, "gnuplot does not run");
  g_setenv("PATH", old, TRUE);
  g_autofree char *script = content("later.gnuplot");
  has(script, "set output 'later.png'");
}

static void a_failing_gnuplot_is_quoted(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = in_folder("bad.svg");
  g_autoptr(ReportPicture) picture = report_picture_new(path, &error);
  picture->height = 400;
  g_string_append(picture->script, "plot sin(\n");
  CU_ASSERT_FALSE(report_picture_draw(picture, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_SYSTEM));
  has(error->message, "bad.svg: gnuplot failed: ");
  has(error->message, "line 5");
  CU_ASSERT_FALSE(g_file_test(path, G_FILE_TEST_EXISTS));
}

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

/* Columns of 10 over 0 … 70: row 0 is forward for 10, 9, 10, 0, 10, then backward for 10; row 1 is backward in the last.
 */
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

/* Three runs of one recipe: 8, 16 and 32 GPUs at 10, 18 and 15 tokens per second. */
static StoreDb *three_runs(void) {
  static const struct {
    guint32 gpus;
    double tokens;
  } runs[] = {{8, 10}, {16, 18}, {32, 15}};
  g_autofree char *path = in_folder("points.db");
  g_remove(path);
  StoreDb *points = store_db_open(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(points);
  for (gsize i = 0; i < G_N_ELEMENTS(runs); i++) {
    g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
    report->identity.run_key[0] = (char)('a' + i);
    report->identity.gpus = runs[i].gpus;
    report->tokens_per_second = runs[i].tokens;
    gint64 id;
    CU_ASSERT_TRUE(store_db_write(points, report, FALSE, &id, NULL));
  }
  return points;
}

/* Fewer GPUs and more tokens are better: the third run has more of the one and less of the other than the second. */
static void fronts_are_drawn(void) {
  StoreDb *points = three_runs();
  const StoreObjective objectives[] = {{store_metric_find("gpus"), FALSE},
                                       {store_metric_find("tokens_per_second"), TRUE}};
  g_autofree char *path = in_folder("front.svg");
  CU_ASSERT_TRUE(report_plot_pareto(points, objectives, NULL, path, NULL));
  is_svg("front.svg");
  g_autofree char *data = content("front.dat"), *script = content("front.gnuplot");
  has(data, "tokens_per_second\n8 10\n16 18\n32 15\n\n\n# the front, numbered\n8 10 1\n16 18 2\n");
  CU_ASSERT_PTR_NULL(strstr(data, "32 15 3"));
  has(script, "set ylabel 'tokens per second (more is better)'");
  has(script, "'3 runs, 2 on the front'");
  g_autoptr(StoreExpression) none = store_expression_parse("gpus = 7", NULL);
  GError *error = NULL;
  HARNESS_FAILS(report_plot_pareto(points, objectives, none, path, &error), error, "no run of the database has gpus");
  store_db_close(points);
}

/* At the first's 10 / 8 a GPU, 16 would make 20 and 32 would make 40: 18 is 90 %, 15 is 37.5 %. */
static void scaling_is_drawn(void) {
  StoreDb *points = three_runs();
  g_autofree char *path = in_folder("scaling.svg");
  CU_ASSERT_TRUE(report_plot_scaling(points, NULL, path, NULL));
  is_svg("scaling.svg");
  g_autofree char *data = content("scaling.dat");
  has(data, " 10 10 100\n16 ");
  has(data, " 18 20 90\n32 ");
  has(data, " 15 40 37.5\n");
  g_autoptr(StoreExpression) one = store_expression_parse("gpus = 8", NULL);
  GError *error = NULL;
  HARNESS_FAILS(report_plot_scaling(points, one, path, &error), error, "no two runs");
  store_db_close(points);
}

/* Each of 194 tasks becomes 200 with small gaps: what is drawn stays below a few thousand boxes and covers the same
 * time. */
static void many_tasks_stay_drawable(void) {
  enum { PIECES = 200 };
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  RunClass *slowest = &report->classes[report->slowest];
  RunTask *tasks = g_new0(RunTask, (gsize)slowest->n_tasks * PIECES);
  for (guint32 i = 0; i < slowest->n_tasks * PIECES; i++) {
    SimTime piece = (slowest->tasks[i / PIECES].end - slowest->tasks[i / PIECES].start) / PIECES;
    tasks[i] = slowest->tasks[i / PIECES];
    tasks[i].start += piece * (i % PIECES);
    tasks[i].end = tasks[i].start + piece * 9 / 10;
    tasks[i].row = i;
  }
  g_free(slowest->tasks);
  slowest->tasks = tasks;
  slowest->n_tasks *= PIECES;
  slowest->n_collectives = 0;
  gint64 many;
  CU_ASSERT_TRUE_FATAL(store_db_write(db, report, TRUE, &many, NULL));
  g_autofree char *path = in_folder("many.svg");
  CU_ASSERT_TRUE(report_plot_timeline(db, many, -1, -1, path, NULL));
  g_autofree char *data = content("many.dat"), *svg = content("many.svg");
  g_auto(GStrv) lines = g_strsplit(data, "\n", -1);
  CU_ASSERT_TRUE(g_strv_length(lines) < 5000);
  SimTime forward = 0;
  for (guint32 i = 0; i < slowest->n_tasks; i++)
    forward += strcmp(tasks[i].phase, "forward") == 0 && strcmp(tasks[i].kind, "compute") == 0
                   ? tasks[i].end - tasks[i].start
                   : 0;
  g_autofree char *key = g_strdup_printf("forward %.2f", base_in_ms(forward));
  has(svg, key);
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
  folder = g_dir_make_tmp("foretrain-plot-XXXXXX", NULL);
  g_autofree char *path = in_folder("a.db");
  db = store_db_open(path, NULL);
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  if (db == NULL || !store_db_write(db, report, TRUE, &run_id, NULL))
    return 1;
  int status =
      harness_run("report-plot", (HarnessCase[]){
                                     {"timelines are drawn", timelines_are_drawn},
                                     {"windows are cut", windows_are_cut},
                                     {"memory is drawn", memory_is_drawn},
                                     {"a capacity that is near is drawn", a_capacity_that_is_near_is_drawn},
                                     {"png is drawn", png_is_drawn},
                                     {"names with quotes are drawn", names_with_quotes_are_drawn},
                                     {"what cannot be drawn is said", what_cannot_be_drawn_is_said},
                                     {"a missing gnuplot is named", a_missing_gnuplot_is_named},
                                     {"a failing gnuplot is quoted", a_failing_gnuplot_is_quoted},
                                     {"neighbours alike become one", neighbours_alike_become_one},
                                     {"wide boxes keep their names", wide_boxes_keep_their_names},
                                     {"thin boxes are drawn by their share", thin_boxes_are_drawn_by_their_share},
                                     {"painted shares", painted_shares_are_those_of_the_database},
                                     {"memory on the clock of the GPU", memory_is_on_the_clock_of_the_gpu},
                                     {"a host that is waited for", a_host_that_is_waited_for_has_a_row},
                                     {"exposed by cause", exposed_is_drawn_by_cause},
                                     {"fronts", fronts_are_drawn},
                                     {"scaling", scaling_is_drawn},
                                     {"many tasks stay drawable", many_tasks_stay_drawable},
                                     {"thinned levels keep the peak", thinned_levels_keep_the_peak},
                                     {NULL, NULL},
                                 });
  store_db_close(db);
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
    g_autofree char *file = in_folder(name);
    g_unlink(file);
  }
  g_rmdir(folder);
  g_free(folder);
  return status;
}
