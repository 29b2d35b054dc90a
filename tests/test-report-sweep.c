/* SPDX-License-Identifier: MIT */
/* Pictures of a sweep: which cell or point stands for which run, and what cannot be drawn. */
#include <glib/gstdio.h>
#include <string.h>

#include "base-error.h"
#include "harness.h"
#include "light.h"
#include "report-grid.h"
#include "report-plot.h"
#include "report-sample.h"
#include "store-sweep.h"

#define GIB (G_GUINT64_CONSTANT(1) << 30)

static char *folder;

static char *in_folder(const char *name) {
  return g_build_filename(folder, name, NULL);
}

static char *content(const char *name) {
  g_autofree char *path = in_folder(name);
  char *text = NULL;
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, NULL, NULL));
  return text;
}

static void has(const char *text, const char *fragment) {
  if (strstr(text, fragment) == NULL)
    printf("\n    lacks \"%s\" in\n%s", fragment, text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, fragment));
}

static StoreDb *open_sweep(const char *name, const char *axes, guint64 points, gint64 *ret_sweep) {
  g_autofree char *path = in_folder(name);
  StoreDb *db = store_db_open(path, NULL);
  StoreSweep sweep = {name, "workloads/sample.ini", axes, NULL, points};
  CU_ASSERT_TRUE_FATAL(db != NULL && store_db_sweep(db, &sweep, ret_sweep, NULL));
  return db;
}

/* A point whose run needs `used` of `capacity`; capacity 0: it cannot run. */
static void add_point(StoreDb *db, gint64 sweep, guint64 number, guint32 stage, guint32 gpus, guint64 parameters,
                      guint64 used, guint64 capacity) {
  g_autofree char *key = g_strdup_printf("%060" G_GUINT64_FORMAT "%04d", number, (int)sweep);
  StorePoint point = {number, "{}", capacity > 0 ? "ran" : "no such thing", capacity > 0 ? key : NULL};
  if (capacity > 0) {
    g_autoptr(RunReport) report = report_sample(stage, SAMPLE_CAPACITY);
    gint64 run_id;
    g_free(report->identity.run_key);
    report->identity.run_key = g_strdup(key);
    report->identity.gpus = gpus;
    report->identity.parameters = parameters;
    report->verdict = used > capacity ? RUN_OOM : 100 * used > 95 * capacity ? RUN_EDGE : RUN_FITS;
    for (guint32 i = 0; i < report->n_classes; i++) {
      RunClass *class = &report->classes[i];
      class->verdict = report->verdict;
      class->capacity = capacity;
      class->device_used = used;
      class->short_by = used > capacity ? used - capacity : 0;
    }
    CU_ASSERT_TRUE_FATAL(store_db_write(db, report, FALSE, &run_id, NULL));
  }
  CU_ASSERT_TRUE_FATAL(store_db_write_point(db, sweep, &point, NULL));
}

/* Two stages of three sequences by two micro-batches, numbered with the last axis fastest: point 7 is stage 3, sequence
 * 1k, micro-batch 2. Of 80 GiB 4 are 5 %: 3 to spare are made the edge, 4 are not. Point 5 has not been reached. */
static void cells_are_where_their_settings_say(void) {
  gint64 sweep;
  g_autoptr(StoreDb) db = open_sweep(
      "map.db", "{\"p.stage\":[\"2\",\"3\"],\"t.sequence\":[\"1k\",\"2k\",\"4k\"],\"t.micro\":[\"1\",\"2\"]}", 12,
      &sweep);
  const guint64 used[] = {40, 76, 77, 81, 0, 0, 20, 21, 22, 23, 24, 25};
  for (guint64 i = 0; i < G_N_ELEMENTS(used); i++)
    if (i != 5)
      add_point(db, sweep, i, 3, 8, SAMPLE_PARAMETERS, used[i] * GIB, used[i] > 0 ? 80 * GIB : 0);
  g_autofree char *path = in_folder("map.svg"), *turned = in_folder("turned.svg");
  CU_ASSERT_TRUE_FATAL(report_plot_oom_map(db, "t.micro", "sequence", LIGHT(path), NULL));
  g_autofree char *data = content("map.dat"), *script = content("map.gnuplot");
  has(data, "# panel 0 'stage 2': column row kind spare_gib\n"
            "0 0 0 +40.0\n1 0 0 +4.0\n0 1 1 +3.0\n1 1 2 -1.0\n0 2 3 -\n\n");
  has(data, "# panel 1 'stage 3': column row kind spare_gib\n0 0 0 +60.0\n1 0 0 +59.0\n");
  has(script, "set xtics ('1' 0, '2' 1)");
  has(script, "set ytics ('1k' 0, '2k' 1, '4k' 2)");
  /* Left to itself: the axis with most values, and of the two with equally many the later one; the faster goes
   * across. */
  CU_ASSERT_TRUE_FATAL(report_plot_oom_map(db, NULL, NULL, LIGHT(turned), NULL));
  g_autofree char *same = content("turned.dat");
  CU_ASSERT_STRING_EQUAL(same, data);
}

/* ZeRO-2 on 8 GPUs: 7 fits, 13 does not; on 16 both fit, and nothing larger was tried. ZeRO-0: nothing fits on 8. */
static void capacity_is_the_largest_that_fits(void) {
  gint64 sweep;
  g_autoptr(StoreDb) db =
      open_sweep("capacity.db", "{\"m.layers\":[\"1\",\"2\"],\"c.nodes\":[\"1\",\"2\"]}", 8, &sweep);
  add_point(db, sweep, 0, 2, 8, 7 * G_GUINT64_CONSTANT(1000000000), 40 * GIB, 80 * GIB);
  add_point(db, sweep, 1, 2, 8, 13 * G_GUINT64_CONSTANT(1000000000), 90 * GIB, 80 * GIB);
  add_point(db, sweep, 2, 2, 16, 7 * G_GUINT64_CONSTANT(1000000000), 30 * GIB, 80 * GIB);
  add_point(db, sweep, 3, 2, 16, 13 * G_GUINT64_CONSTANT(1000000000), 70 * GIB, 80 * GIB);
  add_point(db, sweep, 4, 0, 8, 7 * G_GUINT64_CONSTANT(1000000000), 120 * GIB, 80 * GIB);
  add_point(db, sweep, 5, 0, 16, 7 * G_GUINT64_CONSTANT(1000000000), 60 * GIB, 80 * GIB);
  g_autofree char *path = in_folder("capacity.svg");
  CU_ASSERT_TRUE_FATAL(report_plot_capacity(db, LIGHT(path), NULL));
  g_autofree char *data = content("capacity.dat"), *script = content("capacity.gnuplot");
  has(data, "ZeRO-0: gpus parameters_in_billions bounded_by_memory\n16 7 0\n\n\n");
  has(data, "ZeRO-2: gpus parameters_in_billions bounded_by_memory\n8 7 1\n16 13 0\n");
  has(script, "set xtics (8, 16)");
}

static void what_cannot_be_drawn_is_said(void) {
  GError *error = NULL;
  gint64 sweep;
  g_autofree char *path = in_folder("no.svg"), *bare = in_folder("bare.db");
  g_autoptr(StoreDb) none = store_db_open(bare, NULL);
  g_autoptr(StoreDb) line = open_sweep("line.db", "{\"t.micro\":[\"1\",\"2\"]}", 2, &sweep);
  g_autoptr(StoreDb) many =
      open_sweep("many.db",
                 "{\"t.a\":[\"1\",\"2\",\"3\",\"4\"],\"t.b\":[\"1\",\"2\",\"3\",\"4\"],\"t.micro\":[\"1\","
                 "\"2\",\"3\",\"4\"],\"t.sequence\":[\"1\",\"2\",\"3\",\"4\"]}",
                 256, &sweep);
  HARNESS_FAILS(report_plot_oom_map(none, NULL, NULL, LIGHT(path), &error), error, "there is no sweep in the database");
  HARNESS_FAILS(report_plot_capacity(none, LIGHT(path), &error), error, "there is no sweep in the database");
  HARNESS_FAILS(report_plot_oom_map(line, NULL, NULL, LIGHT(path), &error), error, "has one axis");
  HARNESS_FAILS(report_plot_capacity(line, LIGHT(path), &error), error, "no models of several sizes");
  HARNESS_FAILS(report_plot_oom_map(many, NULL, NULL, LIGHT(path), &error), error, "more than 12 combinations");
  HARNESS_FAILS(report_plot_oom_map(many, "micr", "a", LIGHT(path), &error), error, "did you mean \"micro\"?");
  HARNESS_FAILS(report_plot_oom_map(many, "a", "t.a", LIGHT(path), &error), error, "both across and up");
  CU_ASSERT_FALSE(g_file_test(path, G_FILE_TEST_EXISTS));
}

int main(void) {
  folder = g_dir_make_tmp("foretrain-sweep-XXXXXX", NULL);
  int status =
      harness_run("report-sweep", (HarnessCase[]){
                                      {"cells are where their settings say", cells_are_where_their_settings_say},
                                      {"capacity is the largest that fits", capacity_is_the_largest_that_fits},
                                      {"what cannot be drawn is said", what_cannot_be_drawn_is_said},
                                      {NULL, NULL},
                                  });
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
    g_autofree char *file = in_folder(name);
    g_unlink(file);
  }
  g_rmdir(folder);
  g_free(folder);
  return status;
}
