/* SPDX-License-Identifier: MIT */
/* Pictures: gnuplot draws them, script and data stand beside them. What they are drawn from: test-report-shares.c. */
#include <glib/gstdio.h>
#include <string.h>

#include "base-error.h"
#include "harness.h"
#include "light.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-sample.h"

static char *folder;
static StoreDb *db;
static gint64 run_id;

typedef gboolean (*Plot)(StoreDb *db, gint64 run_id, SimTime from, SimTime to, const ReportCanvas *canvas,
                         GError **error);

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
  if (!plot(db, run_id, from, to, LIGHT(path), &error)) {
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
  /* The first layer of the slower class waits for a gather of 5.1 ms and then computes for 5.25 ms, to 10.35. A column
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

/* Bars stand on each other from 0: the last cause's ends at exposed + idle. */
static void exposed_is_drawn_by_cause(void) {
  g_autofree char *path = in_folder("exposed.svg");
  const gint64 ids[] = {run_id, run_id};
  CU_ASSERT_TRUE_FATAL(report_plot_exposed(db, ids, 2, LIGHT(path), NULL));
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
  HARNESS_FAILS(report_plot_exposed(db, &bare, 1, LIGHT(path), &error), error, "has no timeline, so that its causes");
}

static void png_is_drawn(void) {
  draw(report_plot_timeline, -1, -1, "step.png");
  draw(report_plot_memory, -1, -1, "memory.png");
  g_autofree char *step = content("step.png"), *memory = content("memory.png");
  CU_ASSERT_EQUAL(memcmp(step, "\x89PNG", 4), 0);
  CU_ASSERT_EQUAL(memcmp(memory, "\x89PNG", 4), 0);
}

/* On a dark ground nothing is left black but what is written on boxes: each kind says its letters' and lines' ink, and
 * colours that the ground would swallow have others. */
static void dark_pictures_have_light_ink(void) {
  g_autofree char *memory = in_folder("night.svg"), *exposed = in_folder("night-exposed.svg");
  const ReportCanvas dark = {memory, TRUE}, bars = {exposed, TRUE};
  CU_ASSERT_TRUE(report_plot_memory(db, run_id, -1, -1, &dark, NULL));
  CU_ASSERT_TRUE(report_plot_exposed(db, &run_id, 1, &bars, NULL));
  static const char *const names[] = {"night", "night-exposed"}, *const swallowed[] = {"#333333", "#9c2a1c", "#650000"};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *drawn = g_strconcat(names[i], ".svg", NULL), *written = g_strconcat(names[i], ".gnuplot", NULL);
    g_autofree char *svg = content(drawn), *script = content(written);
    is_svg(drawn);
    has(svg, "fill=\"#1b1d21\"");
    has(svg, "fill=\"rgb(220,223,228)\"");
    CU_ASSERT_PTR_NULL(strstr(svg, "fill=\"black\""));
    for (gsize k = 0; k < G_N_ELEMENTS(swallowed); k++)
      CU_ASSERT_PTR_NULL(strstr(script, swallowed[k]));
  }
}

static guint count_of(const char *text, const char *fragment) {
  guint n = 0;
  for (const char *at = text; (at = strstr(at, fragment)) != NULL; at++)
    n++;
  return n;
}

/* A kernel in the middle of a forward pass becomes one that copies on another stream, beside it. */
static void copy_beside_a_pass(RunClass *of) {
  guint32 i = 0;
  while (strcmp(of->tasks[i].kind, "compute") != 0 || of->tasks[i].layer != 16)
    i++;
  of->tasks[i].name = "copy in";
  of->tasks[i].phase = "gather";
}

/* Lanes from the last stage, at the bottom, to the first: collectives, then passes and waits. A kernel's box ends where
 * its pass does, a wait of bandwidth lies in the stage's own lane. Two passes of each are wide enough for the number of
 * their micro-batch, forward and backward, and a copy beside the first does not make them three. */
static void stages_are_drawn(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  copy_beside_a_pass(&report->classes[0]);
  report->classes[0].role = "stage 0: embedding, layers 0-15";
  report->classes[1].role = "stage 1: layers 16-31, head";
  gint64 piped;
  CU_ASSERT_TRUE_FATAL(store_db_write(db, report, TRUE, &piped, NULL));
  g_autofree char *path = in_folder("stages.svg"), *dark = in_folder("dark.svg"), *one = in_folder("one.svg");
  CU_ASSERT_TRUE(report_plot_timeline(db, piped, -1, -1, LIGHT(path), NULL));
  CU_ASSERT_TRUE(report_plot_timeline_as(db, piped, &(ReportTimeline){-1, -1, -1}, &(ReportCanvas){dark, TRUE}, NULL));
  CU_ASSERT_TRUE(report_plot_timeline_as(db, piped, &(ReportTimeline){-1, -1, 1}, LIGHT(one), NULL));
  is_svg("stages.svg");
  is_svg("dark.svg");
  g_autofree char *script = content("stages.gnuplot"), *night = content("dark.gnuplot"), *data = content("stages.dat"),
                  *stage = content("one.gnuplot"), *svg = content("one.svg");
  has(script, "'' 0, 'stage 1' 1, '' 2, 'stage 0' 3");
  has(script, "all 2 stages");
  has(script, "ground = '#ffffff'");
  has(night, "ground = '#1b1d21'");
  has(night, "lc rgb '#e05252' title '  bandwidth ");
  has(data, "# bandwidth: start_ms end_ms bottom top");
  CU_ASSERT_EQUAL(count_of(data, " 3 \"0\" "), 2);
  CU_ASSERT_EQUAL(count_of(data, " 1 \"0\" "), 2);
  has(stage, "'idle' 0, 'exposed' 1, 'communication' 2, 'compute' 3");
  has(svg, "stage 1: layers 16-31, head");
  g_autoptr(GError) error = NULL;
  HARNESS_FAILS(report_plot_timeline_as(db, piped, &(ReportTimeline){-1, -1, 2}, LIGHT(one), &error), error,
                "has no stage 2 of a pipeline");
}

static void names_with_quotes_are_drawn(void) {
  g_autoptr(RunReport) report = report_sample(2, SAMPLE_CAPACITY);
  gint64 odd;
  g_free(report->identity.model);
  report->identity.model = g_strdup("O'Neill's \"7B\" \\ 50%");
  report->classes[1].tasks[0].name = "say \"it\"";
  CU_ASSERT_TRUE(store_db_write(db, report, TRUE, &odd, NULL));
  g_autofree char *path = in_folder("it's.svg");
  CU_ASSERT_TRUE(report_plot_timeline(db, odd, 0, 20 * SIM_MILLISECOND, LIGHT(path), NULL));
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
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, LIGHT(pdf), &error), error, "ends in .svg or .png");
  HARNESS_FAILS(report_plot_memory(db, run_id, -1, -1, LIGHT(bare), &error), error, "ends in .svg or .png");
  HARNESS_FAILS(report_plot_timeline(db, summary, -1, -1, LIGHT(path), &error), error, "has no timeline");
  HARNESS_FAILS(report_plot_timeline(db, 999, -1, -1, LIGHT(path), &error), error, "no run 999");
  HARNESS_FAILS(report_plot_memory(db, run_id, 5, 5, LIGHT(path), &error), error, "no window from");
  HARNESS_FAILS(report_plot_memory(db, run_id, 5 * SIM_SECOND, -1, LIGHT(path), &error), error, "in a step of 1008.8");
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, LIGHT("/nowhere/no.svg"), &error), error,
                "/nowhere/no.svg: there is no folder \"/nowhere\"");
  g_autofree char *taken = in_folder("taken.svg"), *data = in_folder("data.svg"), *blocked = in_folder("data.dat");
  g_mkdir(taken, 0700);
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, LIGHT(taken), &error), error, "taken.svg: is a folder");
  HARNESS_FAILS(report_plot_check(taken, &error), error, "taken.svg: is a folder");
  g_mkdir(blocked, 0700);
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, LIGHT(data), &error), error,
                "data.dat: cannot be written: Is a directory");
  g_rmdir(taken);
  g_rmdir(blocked);
  CU_ASSERT_FALSE(g_file_test(path, G_FILE_TEST_EXISTS));
}

static void a_missing_gnuplot_is_named(void) {
  GError *error = NULL;
  g_autofree char *path = in_folder("later.png"), *old = g_strdup(g_getenv("PATH"));
  g_setenv("PATH", folder, TRUE);
  HARNESS_FAILS(report_plot_timeline(db, run_id, -1, -1, LIGHT(path), &error), error, "gnuplot does not run");
  g_setenv("PATH", old, TRUE);
  g_autofree char *script = content("later.gnuplot");
  has(script, "set output 'later.png'");
}

static void a_failing_gnuplot_is_quoted(void) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = in_folder("bad.svg");
  g_autoptr(ReportPicture) picture = report_picture_new(LIGHT(path), &error);
  picture->height = 400;
  g_string_append(picture->script, "plot sin(\n");
  CU_ASSERT_FALSE(report_picture_draw(picture, &error));
  CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_SYSTEM));
  has(error->message, "bad.svg: gnuplot failed: ");
  has(error->message, "line 8");
  CU_ASSERT_FALSE(g_file_test(path, G_FILE_TEST_EXISTS));
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
  CU_ASSERT_TRUE(report_plot_pareto(points, objectives, NULL, LIGHT(path), NULL));
  is_svg("front.svg");
  g_autofree char *data = content("front.dat"), *script = content("front.gnuplot");
  has(data, "tokens_per_second\n8 10\n16 18\n32 15\n\n\n# the front, numbered\n8 10 1\n16 18 2\n");
  CU_ASSERT_PTR_NULL(strstr(data, "32 15 3"));
  has(script, "set ylabel 'tokens per second (more is better)'");
  has(script, "'3 runs, 2 on the front'");
  g_autoptr(StoreExpression) none = store_expression_parse("gpus = 7", NULL);
  GError *error = NULL;
  HARNESS_FAILS(report_plot_pareto(points, objectives, none, LIGHT(path), &error), error,
                "no run of the database has gpus");
  store_db_close(points);
}

/* At the first's 10 / 8 a GPU, 16 would make 20 and 32 would make 40: 18 is 90 %, 15 is 37.5 %. */
static void scaling_is_drawn(void) {
  StoreDb *points = three_runs();
  g_autofree char *path = in_folder("scaling.svg");
  CU_ASSERT_TRUE(report_plot_scaling(points, NULL, LIGHT(path), NULL));
  is_svg("scaling.svg");
  g_autofree char *data = content("scaling.dat");
  has(data, " 10 10 100\n16 ");
  has(data, " 18 20 90\n32 ");
  has(data, " 15 40 37.5\n");
  g_autoptr(StoreExpression) one = store_expression_parse("gpus = 8", NULL);
  GError *error = NULL;
  HARNESS_FAILS(report_plot_scaling(points, one, LIGHT(path), &error), error, "no two runs");
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
  CU_ASSERT_TRUE(report_plot_timeline(db, many, -1, -1, LIGHT(path), NULL));
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

int main(void) {
  folder = g_dir_make_tmp("foretrain-plot-XXXXXX", NULL);
  g_autofree char *path = in_folder("a.db");
  db = store_db_open(path, NULL);
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  if (db == NULL || !store_db_write(db, report, TRUE, &run_id, NULL))
    return 1;
  int status = harness_run("report-plot", (HarnessCase[]){
                                              {"timelines are drawn", timelines_are_drawn},
                                              {"stages are drawn", stages_are_drawn},
                                              {"windows are cut", windows_are_cut},
                                              {"memory is drawn", memory_is_drawn},
                                              {"a capacity that is near is drawn", a_capacity_that_is_near_is_drawn},
                                              {"png is drawn", png_is_drawn},
                                              {"dark pictures have light ink", dark_pictures_have_light_ink},
                                              {"names with quotes are drawn", names_with_quotes_are_drawn},
                                              {"what cannot be drawn is said", what_cannot_be_drawn_is_said},
                                              {"a missing gnuplot is named", a_missing_gnuplot_is_named},
                                              {"a failing gnuplot is quoted", a_failing_gnuplot_is_quoted},
                                              {"exposed by cause", exposed_is_drawn_by_cause},
                                              {"fronts", fronts_are_drawn},
                                              {"scaling", scaling_is_drawn},
                                              {"many tasks stay drawable", many_tasks_stay_drawable},
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
