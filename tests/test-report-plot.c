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
  has(data, "# reduce-scatter: start_ms end_ms row");
  /* The first layer of the slower class waits for one gather of 5.1 ms and then computes for 5.25 ms. */
  has(data, "\n5.1 10.35 3\n");
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
  has(svg, "highest here: 10.75 GiB at 168.24 ms");
  has(svg, "14 ranks from rank 0 on, the tightest of 2 classes");
  has(data, "# highest: time_ms GiB\n168.24 10.74");
  CU_ASSERT_PTR_NULL(strstr(svg, "peak of all steps"));
  /* After the peak the drawn window lies below it, and the peak gets a line of its own. */
  draw(report_plot_memory, 500 * SIM_MILLISECOND, -1, "later.svg");
  g_autofree char *later = content("later.svg");
  has(later, "peak of all steps, 10.75");
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
  g_autoptr(ReportBoxes) enough = some_boxes();
  report_boxes_merge(enough, 6, 1, 0);
  CU_ASSERT_EQUAL(enough->boxes->len, 6);
  CU_ASSERT_FALSE(enough->merged);
  g_autoptr(ReportBoxes) by_layer = some_boxes();
  report_boxes_merge(by_layer, 5, 1, 0); /* the two of layer 0 */
  CU_ASSERT_EQUAL(by_layer->boxes->len, 5);
  CU_ASSERT_EQUAL(g_array_index(by_layer->boxes, ReportBox, 0).end, 20);
  CU_ASSERT_EQUAL(g_array_index(by_layer->boxes, ReportBox, 0).layer, 0);
  CU_ASSERT_EQUAL(g_array_index(by_layer->boxes, ReportBox, 1).start, 20);
  g_autoptr(ReportBoxes) by_kind = some_boxes();
  report_boxes_merge(by_kind, 4, 1, 0); /* five are still too many: layers 0 and 1 as well */
  CU_ASSERT_EQUAL(by_kind->boxes->len, 4);
  CU_ASSERT_EQUAL(g_array_index(by_kind->boxes, ReportBox, 0).end, 30);
  CU_ASSERT_EQUAL(g_array_index(by_kind->boxes, ReportBox, 0).layer, -1);
  CU_ASSERT_EQUAL(g_array_index(by_kind->boxes, ReportBox, 1).start, 40);
  CU_ASSERT_TRUE(by_kind->merged);
}

static void narrow_boxes_that_touch_become_one(void) {
  g_autoptr(ReportBoxes) boxes = some_boxes();
  add_box(boxes->boxes, 70, 75, 1, 1, g_array_index(boxes->boxes, ReportBox, 5).kind); /* 5 and 10 wide, touching */
  report_boxes_merge(boxes, 7, 1, 10);                                                 /* 10 is not narrower than 10 */
  CU_ASSERT_EQUAL(boxes->boxes->len, 7);
  report_boxes_merge(boxes, 7, 1, 11);
  CU_ASSERT_EQUAL(boxes->boxes->len, 6);
  CU_ASSERT_EQUAL(g_array_index(boxes->boxes, ReportBox, 5).end, 75);
  CU_ASSERT_PTR_NULL(g_array_index(boxes->boxes, ReportBox, 5).name);
  CU_ASSERT_FALSE(boxes->merged);
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
  /* The first layer, 5.25 ms from 5.1 ms on, less the last tenth of a two-hundredth. */
  has(data, "\n5.1 10.347375 ");
  has(svg, "neighbours alike are drawn as one");
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
                                     {"narrow boxes that touch become one", narrow_boxes_that_touch_become_one},
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
