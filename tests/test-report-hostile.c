/* SPDX-License-Identifier: MIT */
/* Names from other people's files reach gnuplot's scripts and data as text alone: whatever way in, nothing of them is
 * executed, and the picture is drawn. */
#include <glib/gstdio.h>
#include <string.h>

#include "base-error.h"
#include "harness.h"
#include "light.h"
#include "report-picture.h"
#include "report-plot.h"
#include "report-sample.h"
#include "store-sweep.h"
#include "store-validation.h"

/* gnuplot executes what follows ! at the start of a line; it runs in the folder of the picture. Besides: every other
 * character below the space, one above ASCII, an end of quotes of either kind, and bytes that are no UTF-8. */
#define HOSTILE                                                                                                        \
  "x\n!touch pwned\n#\r!touch pwned\r#\v\f\t\x1b[2J\x7f\x01"                                                           \
  "\xc2\x85"                                                                                                           \
  "'.system(\"touch pwned\").'`touch pwned`\"\\\xff"

static char *folder;

static char *in_folder(const char *name) {
  return g_build_filename(folder, name, NULL);
}

static void empty(const char *of) {
  g_autoptr(GDir) dir = g_dir_open(of, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
    g_autofree char *file = g_build_filename(of, name, NULL);
    if (g_file_test(file, G_FILE_TEST_IS_DIR))
      empty(file);
    g_remove(file);
  }
}

static void empty_folder(void) {
  empty(folder);
}

/* gnuplot works in a folder of its own within, which goes when nothing but what it was to draw is in it. */
static gboolean pwned(void) {
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  gboolean found = FALSE;
  for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
    found |= strcmp(name, "pwned") == 0 || g_str_has_prefix(name, ".foretrain");
  return found;
}

/* Control characters are those that foretrain writes itself: ends of lines, none of which a command follows. */
static void is_harmless(const char *name) {
  g_autofree char *path = in_folder(name);
  char *text = NULL;
  gsize length;
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, &length, NULL));
  CU_ASSERT_TRUE(g_utf8_validate(text, (gssize)length, NULL));
  CU_ASSERT_PTR_NULL(strstr(text, "\n!"));
  for (const char *at = text; *at != '\0'; at = g_utf8_next_char(at))
    CU_ASSERT_TRUE(*at == '\n' || !g_unichar_iscntrl(g_utf8_get_char(at)));
  g_free(text);
}

/* What was drawn is well-formed, and nothing was executed. */
static void was_drawn(gboolean drawn, GError **error) {
  static const GMarkupParser ignore = {0};
  if (!drawn)
    printf("\n    %s\n", (*error)->message);
  CU_ASSERT_TRUE_FATAL(drawn);
  g_autofree char *path = in_folder("p.svg");
  g_autofree char *svg = NULL, *script = NULL, *drawn_by = in_folder("p.gnuplot");
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &svg, NULL, NULL) &&
                       g_file_get_contents(drawn_by, &script, NULL, NULL));
  g_autoptr(GMarkupParseContext) context = g_markup_parse_context_new(&ignore, 0, NULL, NULL);
  CU_ASSERT_TRUE(g_markup_parse_context_parse(context, svg, -1, NULL));
  CU_ASSERT_TRUE(strstr(svg, "!touch") != NULL ||
                 strstr(script, "!touch") != NULL); /* as a text; of a key, if it fits */
  is_harmless("p.gnuplot");
  is_harmless("p.dat");
  CU_ASSERT_FALSE(pwned());
}

static StoreDb *fresh(void) {
  empty_folder();
  g_autofree char *path = in_folder("a.db");
  StoreDb *db = store_db_open(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(db);
  return db;
}

static void rename_to(char **name, const char *text) {
  g_free(*name);
  *name = g_strdup(text);
}

static void draw_both(const RunReport *report) {
  g_autoptr(GError) error = NULL;
  g_autoptr(StoreDb) db = fresh();
  gint64 run_id;
  g_autofree char *path = in_folder("p.svg");
  CU_ASSERT_TRUE_FATAL(store_db_write(db, report, TRUE, &run_id, NULL));
  was_drawn(report_plot_timeline(db, run_id, -1, -1, LIGHT(path), &error), &error);
  CU_ASSERT_TRUE(report_plot_memory(db, run_id, -1, -1, LIGHT(path), &error));
  is_harmless("p.gnuplot");
  is_harmless("p.dat");
  CU_ASSERT_FALSE(pwned());
}

/* What proves that the others could fail: gnuplot does execute such a line, in that folder. */
static void a_raw_line_is_executed(void) {
  empty_folder();
  g_autofree char *path = in_folder("p.svg");
  g_autoptr(ReportPicture) picture = report_picture_new(LIGHT(path), NULL);
  picture->height = 400;
  g_string_append(picture->script, "set title 'x\n!touch pwned\nplot x\n");
  report_picture_draw(picture, NULL);
  CU_ASSERT_TRUE(pwned());
}

static void names_of_runs(void) {
  for (int which = 0; which < 3; which++) {
    g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
    RunIdentity *identity = &report->identity;
    rename_to((char **[]){&identity->model, &identity->gpu, &identity->framework}[which], HOSTILE);
    draw_both(report);
  }
}

static void names_of_tasks(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  RunClass *slowest = &report->classes[report->slowest];
  for (guint32 i = 0; i < slowest->n_tasks; i++) {
    slowest->tasks[i].stream = HOSTILE;
    slowest->tasks[i].phase = HOSTILE;
  }
  for (guint32 i = 0; i < slowest->n_collectives; i++)
    slowest->collectives[i].operation = HOSTILE;
  draw_both(report);
}

/* A task of a fifth of the step has room for a label of 30 letters. */
static void labels_of_tasks(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  RunClass *slowest = &report->classes[report->slowest];
  g_autoptr(GError) error = NULL;
  g_autoptr(StoreDb) db = fresh();
  gint64 run_id;
  g_autofree char *path = in_folder("p.svg");
  slowest->n_tasks = 2;
  slowest->n_collectives = 0;
  slowest->tasks[0] = slowest->tasks[1] =
      (RunTask){0, "s", "compute", "\"\n!touch pwned\n\\", "forward", -1, 0, 0, 0, 0, 0, 1};
  slowest->tasks[0].end = slowest->step / 5;
  slowest->tasks[1].row = 1;
  slowest->tasks[1].start = slowest->step / 2;
  slowest->tasks[1].end = slowest->step;
  CU_ASSERT_TRUE_FATAL(store_db_write(db, report, TRUE, &run_id, NULL));
  was_drawn(report_plot_timeline(db, run_id, -1, -1, LIGHT(path), &error), &error);
}

/* Two recipes on 8 and 16 GPUs, told apart by what `which` names. */
static StoreDb *two_lines(int which) {
  static const double tokens[] = {10, 30, 12, 20}; /* the front: 8 GPUs of the second, 16 of the first */
  StoreDb *db = fresh();
  for (guint i = 0; i < 4; i++) {
    g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
    RunIdentity *identity = &report->identity;
    gint64 run_id;
    identity->run_key[0] = (char)('a' + i);
    identity->gpus = 8 << (i % 2);
    report->tokens_per_second = tokens[i];
    if (i < 2)
      rename_to(
          (char **[]){&identity->workload, &identity->topology, &identity->framework, &identity->precision}[which],
          HOSTILE);
    CU_ASSERT_TRUE_FATAL(store_db_write(db, report, FALSE, &run_id, NULL));
  }
  return db;
}

static void names_of_many_runs(void) {
  const StoreObjective objectives[] = {{store_metric_find("gpus"), FALSE},
                                       {store_metric_find("tokens_per_second"), TRUE}};
  g_autofree char *path = in_folder("p.svg");
  for (int which = 0; which < 4; which++) {
    g_autoptr(GError) error = NULL;
    g_autoptr(StoreDb) db = two_lines(which);
    was_drawn(report_plot_pareto(db, objectives, NULL, LIGHT(path), &error), &error);
    if (which < 3)
      was_drawn(report_plot_scaling(db, NULL, LIGHT(path), &error), &error);
    CU_ASSERT_FALSE(pwned());
  }
}

static void add_point(StoreDb *db, gint64 sweep, guint64 number) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  gint64 run_id;
  report->identity.run_key[0] = (char)('a' + number);
  report->identity.parameters += number * G_GUINT64_CONSTANT(1000000000);
  rename_to(&report->identity.framework, HOSTILE);
  StorePoint point = {number, "{}", "ran", report->identity.run_key};
  CU_ASSERT_TRUE_FATAL(store_db_write(db, report, FALSE, &run_id, NULL));
  CU_ASSERT_TRUE_FATAL(store_db_write_point(db, sweep, &point, NULL));
}

/* Names and values of axes as JSON has them; the workload's file is the title. */
static void names_of_sweeps(void) {
  static const char axes[] = "{\"a.\\n!touch pwned\\n#'\":[\"1\",\"2\\n!touch pwned\\n#\"],\"b\":[\"1\",\"2\"],"
                             "\"c\\n!touch pwned\\n\":[\"\\r\\n!touch pwned\\n\"]}";
  g_autoptr(GError) error = NULL;
  g_autoptr(StoreDb) db = fresh();
  gint64 sweep_id;
  StoreSweep sweep = {"key", "workloads/" HOSTILE, axes, NULL, 4};
  g_autofree char *path = in_folder("p.svg");
  CU_ASSERT_TRUE_FATAL(store_db_sweep(db, &sweep, &sweep_id, NULL));
  for (guint64 i = 0; i < 4; i++)
    add_point(db, sweep_id, i);
  was_drawn(report_plot_oom_map(db, NULL, NULL, LIGHT(path), &error), &error);
  was_drawn(report_plot_capacity(db, LIGHT(path), &error), &error);
}

static void sources_of_measurements(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(StoreDb) db = fresh();
  gint64 validation_id;
  StoreValidation row = {"t.csv", "a", HOSTILE, "A", "ran", NULL, {0}, {0}};
  for (guint i = 0; i < STORE_MEASURES; i++)
    row.measured[i] = row.predicted[i] = 1;
  g_autofree char *path = in_folder("p.svg");
  CU_ASSERT_TRUE_FATAL(store_db_begin_validation(db, &validation_id, NULL) &&
                       store_db_write_validation(db, validation_id, &row, NULL) &&
                       store_db_end_validation(db, TRUE, NULL));
  was_drawn(report_plot_parity(db, LIGHT(path), &error), &error);
}

/* gnuplot would run what follows | or <, and take - or + for sources of its own and an argument -d for an option. */
static void names_of_pictures(void) {
  static const char *const names[] = {"|touch pwned .svg",
                                      "<touch pwned .svg",
                                      "-d.svg",
                                      "-.svg",
                                      "+.svg",
                                      "++.svg",
                                      "$d.svg",
                                      "~.svg",
                                      "a'.system('touch pwned').'.svg",
                                      "`touch pwned`.svg",
                                      "\xff.svg"};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    empty_folder();
    g_autoptr(GError) error = NULL;
    g_autofree char *path = in_folder(names[i]), *svg = NULL;
    g_autoptr(ReportPicture) picture = report_picture_new(LIGHT(path), &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(picture);
    picture->height = 400;
    g_string_append(picture->data, "0 1\n1 2\n");
    g_string_append_printf(picture->script, "plot %s with lines title 'drawn from data'\n", picture->data_name);
    if (!report_picture_draw(picture, &error))
      printf("\n    %s: %s\n", names[i], error->message);
    CU_ASSERT_TRUE(g_file_get_contents(path, &svg, NULL, NULL));
    CU_ASSERT_PTR_NOT_NULL(svg != NULL ? strstr(svg, "drawn from data") : NULL);
    CU_ASSERT_FALSE(pwned());
  }
  for (char letter = 1; letter < ' '; letter++) {
    const char name[] = {'a', letter, '!', '.', 's', 'v', 'g', '\0'};
    GError *error = NULL;
    g_autofree char *path = in_folder(name);
    HARNESS_FAILS(report_plot_check(path, &error), error, "a !.svg: the name of a picture holds no control characters");
  }
}

/* A program in gnuplot's place. */
static void play_gnuplot(const char *script) {
  g_autofree char *path = in_folder("gnuplot"), *text = g_strconcat("#!/bin/sh\n", script, "\n", NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL) && g_chmod(path, 0700) == 0);
}

/* What is written is looked at: a picture of before is not taken for it. */
static void what_gnuplot_did_is_checked(void) {
  static const struct {
    const char *script, *says;
  } cases[] = {{"kill -9 $$", "gnuplot failed: it was killed by signal 9"},
               {"exit 7", "gnuplot failed: it ended with status 7"},
               {"exit 0", "gnuplot failed: it wrote no picture"},
               {"touch p.svg", "gnuplot failed: it wrote no picture"}};
  empty_folder();
  g_autofree char *old = g_strdup(g_getenv("PATH")), *path = in_folder("p.svg");
  g_autofree char *with = g_strconcat(folder, ":", old, NULL);
  g_autoptr(ReportPicture) picture = report_picture_new(LIGHT(path), NULL);
  picture->height = 400;
  g_string_append(picture->script, "plot x\n");
  CU_ASSERT_TRUE(report_picture_draw(picture, NULL));
  g_setenv("PATH", with, TRUE);
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    play_gnuplot(cases[i].script);
    CU_ASSERT_TRUE(g_file_set_contents(path, "<svg/>", -1, NULL));
    CU_ASSERT_FALSE(report_picture_draw(picture, &error));
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_SYSTEM));
    if (error != NULL && strstr(error->message, cases[i].says) == NULL)
      printf("\n    lacks \"%s\": %s\n", cases[i].says, error->message);
    CU_ASSERT_PTR_NOT_NULL(error != NULL ? strstr(error->message, cases[i].says) : NULL);
    CU_ASSERT_FALSE(g_file_test(path, G_FILE_TEST_EXISTS));
  }
  g_setenv("PATH", old, TRUE);
}

int main(void) {
  folder = g_dir_make_tmp("foretrain-hostile-XXXXXX", NULL);
  int status = harness_run("report-hostile", (HarnessCase[]){
                                                 {"a raw line is executed", a_raw_line_is_executed},
                                                 {"names of runs", names_of_runs},
                                                 {"names of tasks", names_of_tasks},
                                                 {"labels of tasks", labels_of_tasks},
                                                 {"names of many runs", names_of_many_runs},
                                                 {"names of sweeps", names_of_sweeps},
                                                 {"sources of measurements", sources_of_measurements},
                                                 {"names of pictures", names_of_pictures},
                                                 {"what gnuplot did is checked", what_gnuplot_did_is_checked},
                                                 {NULL, NULL},
                                             });
  empty_folder();
  g_rmdir(folder);
  g_free(folder);
  return status;
}
