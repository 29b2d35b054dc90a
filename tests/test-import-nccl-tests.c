/* SPDX-License-Identifier: MIT */
/* Logs of nccl-tests in every layout, from small files with invented numbers: what a run is, what its rows are, what
 * was not used and why. */
#include <string.h>

#include "harness.h"
#include "import-nccl-tests.h"
#include "import-usable.h"

static ImportLog *load(const char *name) {
  g_autofree char *relative = g_build_filename("tests/data/nccl-tests", name, NULL);
  g_autofree char *path = harness_path(relative);
  GError *error = NULL;
  ImportLog *log = import_log_load(path, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(log);
  return log;
}

static const ImportRun *run_at(const ImportLog *log, guint i) {
  CU_ASSERT_FATAL(i < log->runs->len);
  return g_ptr_array_index(log->runs, i);
}

static const ImportRow *row_at(const ImportRun *run, guint i) {
  CU_ASSERT_FATAL(i < run->rows->len);
  return &g_array_index(run->rows, ImportRow, i);
}

static gboolean skipped(const ImportLog *log, guint line, const char *fragment) {
  for (guint i = 0; i < log->skipped->len; i++) {
    const ImportSkip *skip = g_ptr_array_index(log->skipped, i);
    if (skip->line == line && strstr(skip->why, fragment) != NULL)
      return TRUE;
  }
  return FALSE;
}

/* Banners of 2.17, two operations in a file, sizes in steps and cut to multiples of ranks, a column without "#", an
 * N/A, a blank reduction, wrong values. */
static void two_collectives(void) {
  g_autoptr(ImportLog) log = load("two-collectives.log");
  CU_ASSERT_EQUAL(log->runs->len, 2);
  const ImportRun *reduce = run_at(log, 0), *gather = run_at(log, 1);
  CU_ASSERT_EQUAL(reduce->operation, IMPORT_ALL_REDUCE);
  CU_ASSERT_EQUAL(reduce->ranks, 4);
  CU_ASSERT_EQUAL(reduce->nodes, 2);
  CU_ASSERT_EQUAL(reduce->line, 1);
  CU_ASSERT_EQUAL(reduce->bad_values, 3);
  CU_ASSERT_FALSE(reduce->derived);
  CU_ASSERT_STRING_EQUAL(reduce->gpu, "NVIDIA H100 80GB HBM3");
  CU_ASSERT_STRING_EQUAL(reduce->nccl_version, "2.29.2"); /* 22902 */
  CU_ASSERT_EQUAL(reduce->rows->len, 2);
  const ImportRow *row = row_at(reduce, 1);
  CU_ASSERT_EQUAL(row->line, 17);
  CU_ASSERT_EQUAL(row->bytes, 2097152);
  CU_ASSERT_STRING_EQUAL(row->type, "double");
  CU_ASSERT_EQUAL(row->out_of_place.time, 125080 * SIM_NANOSECOND);
  CU_ASSERT_EQUAL(row->out_of_place.bus_bandwidth, 25.15e9);
  CU_ASSERT_EQUAL(row->in_place.wrong, 3);
  CU_ASSERT_TRUE(skipped(log, 11, "memory"));
  CU_ASSERT_EQUAL(gather->operation, IMPORT_ALL_GATHER);
  CU_ASSERT_EQUAL(gather->rows->len, 2);
  CU_ASSERT_EQUAL(row_at(gather, 0)->bytes, 33553920);
  CU_ASSERT_EQUAL(row_at(gather, 0)->in_place.wrong, -1);
  CU_ASSERT_STRING_EQUAL(row_at(gather, 0)->reduction, "none");
  CU_ASSERT_STRING_EQUAL(row_at(gather, 1)->reduction, "");
  CU_ASSERT_EQUAL(row_at(gather, 1)->in_place.time, 1190 * SIM_MICROSECOND);
}

/* No root, an error instead of a count, no group; the operation from the command line, NCCL's version from its own
 * line. */
static void old_layout(void) {
  g_autoptr(ImportLog) log = load("old-layout.log");
  const ImportRun *run = run_at(log, 0);
  CU_ASSERT_EQUAL(log->runs->len, 1);
  CU_ASSERT_EQUAL(run->operation, IMPORT_ALL_REDUCE);
  CU_ASSERT_EQUAL(run->ranks, 4);
  CU_ASSERT_EQUAL(run->nodes, 1);
  CU_ASSERT_STRING_EQUAL(run->nccl_version, "2.4.6");
  CU_ASSERT_EQUAL(run->rows->len, 2);
  CU_ASSERT_EQUAL(row_at(run, 0)->out_of_place.time, 31400 * SIM_NANOSECOND);
  CU_ASSERT_EQUAL(row_at(run, 0)->out_of_place.wrong, 2e-7);
  CU_ASSERT_EQUAL(row_at(run, 1)->in_place.algorithm_bandwidth, 14.17e9);
}

/* Rows in pieces, glued to the name of a host that begins with a digit: "-1" and "38dcf0a1" stay what they are. A rest
 * without a beginning and a beginning without a rest are named. */
static void torn(void) {
  g_autoptr(ImportLog) log = load("torn.log");
  const ImportRun *run = run_at(log, 0);
  CU_ASSERT_EQUAL(log->runs->len, 1);
  CU_ASSERT_EQUAL(run->ranks, 2);
  CU_ASSERT_STRING_EQUAL(run->nccl_version, "2.29.2");
  CU_ASSERT_EQUAL(run->rows->len, 2);
  CU_ASSERT_EQUAL(row_at(run, 0)->line, 12);
  CU_ASSERT_EQUAL(row_at(run, 0)->bytes, 268435456);
  CU_ASSERT_EQUAL(row_at(run, 0)->out_of_place.time, 1112 * SIM_MICROSECOND);
  CU_ASSERT_EQUAL(row_at(run, 0)->in_place.time, 1110 * SIM_MICROSECOND);
  CU_ASSERT_EQUAL(row_at(run, 1)->in_place.time, 2160 * SIM_MICROSECOND);
  CU_ASSERT_TRUE(skipped(log, 18, "beginning is missing"));
  CU_ASSERT_TRUE(skipped(log, 19, "without its end"));
}

/* Tags of mpirun and srun; rows of no bytes; no banner, so nodes and operation are unknown but where the table's own
 * arithmetic tells: 78.34 / 41.78 = 1.875 = 2 (16 - 1) / 16, all-reduce of 16 ranks; a ratio of one tells nothing. */
static void tagged(void) {
  g_autoptr(ImportLog) log = load("tagged.log");
  CU_ASSERT_EQUAL(log->runs->len, 2);
  const ImportRun *first = run_at(log, 0), *second = run_at(log, 1);
  CU_ASSERT_EQUAL(first->operation, IMPORT_UNKNOWN);
  CU_ASSERT_EQUAL(first->ranks, 0);
  CU_ASSERT_EQUAL(first->rows->len, 2);
  CU_ASSERT_EQUAL(row_at(first, 1)->out_of_place.time, 268435 * SIM_MICROSECOND);
  CU_ASSERT_TRUE(skipped(log, 5, "no bytes"));
  CU_ASSERT_TRUE(skipped(log, 6, "no bytes"));
  CU_ASSERT_EQUAL(second->operation, IMPORT_ALL_REDUCE);
  CU_ASSERT_EQUAL(second->ranks, 16);
  CU_ASSERT_EQUAL(second->nodes, 0);
  CU_ASSERT_TRUE(second->derived);
  CU_ASSERT_EQUAL(second->rows->len, 2);
}

/* Markdown around it, "#" stripped, N/A in columns and in a whole half; prose with program names starts nothing. */
static void markdown(void) {
  g_autoptr(ImportLog) log = load("markdown.log");
  const ImportRun *run = run_at(log, 0);
  CU_ASSERT_EQUAL(log->runs->len, 1);
  CU_ASSERT_EQUAL(run->operation, IMPORT_REDUCE_SCATTER);
  CU_ASSERT_EQUAL(run->ranks, 4);
  CU_ASSERT_EQUAL(run->rows->len, 2);
  CU_ASSERT_EQUAL(row_at(run, 0)->out_of_place.wrong, -1);
  CU_ASSERT_EQUAL(row_at(run, 1)->in_place.time, SIM_TIME_NEVER);
  CU_ASSERT_EQUAL(row_at(run, 1)->out_of_place.time, 150 * SIM_MICROSECOND);
}

static void no_measurement(void) {
  g_autoptr(ImportLog) alone = load("alone.log");
  CU_ASSERT_EQUAL(alone->runs->len, 1);
  CU_ASSERT_EQUAL(run_at(alone, 0)->processes, 2);
  CU_ASSERT_EQUAL(run_at(alone, 0)->ranks, 1);
  CU_ASSERT_EQUAL(run_at(alone, 0)->rows->len, 4);
  g_autoptr(ImportLog) failed = load("failed.log");
  CU_ASSERT_EQUAL(failed->runs->len, 1);
  CU_ASSERT_EQUAL(run_at(failed, 0)->rows->len, 0);
  CU_ASSERT_EQUAL(run_at(failed, 0)->failure_line, 6);
  CU_ASSERT_PTR_NOT_NULL(strstr(run_at(failed, 0)->failure, "unhandled system error"));
  g_autoptr(ImportLog) rccl = load("rccl.log");
  CU_ASSERT_TRUE(run_at(rccl, 0)->rccl);
  CU_ASSERT_EQUAL(run_at(rccl, 0)->ranks, 16); /* the list is cut: ranks 0, 7, 8, 15 */
  CU_ASSERT_EQUAL(run_at(rccl, 0)->nodes, 2);
  g_autoptr(ImportLog) nothing = import_log_parse("x", "no log\n\xff\xfe\n", 10);
  CU_ASSERT_EQUAL(nothing->runs->len, 0);
  GError *error = NULL;
  HARNESS_FAILS(import_log_load("nowhere.log", &error) != NULL, error, "no file \"nowhere.log\"");
}

/* A group or rank below 0, or of more digits than there are GPUs, is no line of the list. */
static void absurd_ranks(void) {
  static const char *const lines[] = {
      "#  Rank  0 Group -1 Pid 1 on h device  0 [0x07] A100\n",
      "#  Rank -1 Group 0 Pid 1 on h device  0 [0x07] A100\n",
      "#  Rank  2 Group 18446744073709551616 Pid 2 on a device  0 [0x07] A100\n",
      "Rank 4294967295 Group 4294967295 Pid 2 on a device 0 [0] A100\n",
  };
  for (gsize i = 0; i < G_N_ELEMENTS(lines); i++) {
    g_autoptr(ImportLog) log = import_log_parse("x", lines[i], strlen(lines[i]));
    for (guint r = 0; r < log->runs->len; r++)
      CU_ASSERT_EQUAL(run_at(log, r)->ranks, 0);
  }
}

/* Any bytes at all are read: prefixes of a real layout, cut anywhere and with letters changed, crash nothing. */
static void any_bytes(void) {
  g_autofree char *path = harness_path("tests/data/nccl-tests/torn.log");
  g_autofree char *text = NULL;
  gsize length;
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, &length, NULL));
  GRand *random = harness_random();
  guint rows = 0;
  for (int round = 0; round < 300; round++) {
    g_autofree char *changed = g_memdup2(text, length);
    for (int i = 0; i < 20; i++)
      changed[g_rand_int_range(random, 0, (gint32)length)] = (char)g_rand_int_range(random, 0, 256);
    g_autoptr(ImportLog) log = import_log_parse("x", changed, (gsize)g_rand_int_range(random, 0, (gint32)length));
    for (guint i = 0; i < log->runs->len; i++)
      rows += run_at(log, i)->rows->len;
  }
  CU_ASSERT_TRUE(rows > 0);
  g_rand_free(random);
}

#define HEAD "# nThread 1 nGpus 2 minBytes 8 maxBytes 8\n"
#define TAIL "# Out of bounds values : 1 FAILED\n# Avg bus bandwidth    : 1\n"

/* A row with wrong results is one row; where no row says which were wrong, the run is refused. */
static void wrong_rows(void) {
  static const struct {
    const char *text;
    gboolean used;
  } logs[] = {
      {HEAD "1024 256 float sum -1 10.0 0.10 0.10 0 10.0 0.10 0.10 7\n2048 512 float sum -1 9.0 0.2 0.2 0 9.0 0.2 0.2 "
            "0\n" TAIL,
       TRUE},
      {HEAD "1024 256 float sum -1 10.0 0.10 0.10 0 10.0 0.10 0.10 0\n" TAIL, FALSE},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(logs); i++) {
    g_autoptr(ImportLog) log = import_log_parse("a.log", logs[i].text, strlen(logs[i].text));
    const ImportRun *run = g_ptr_array_index(log->runs, 0);
    g_autofree char *why = import_run_refusal(run);
    CU_ASSERT_EQUAL(why == NULL, logs[i].used);
    CU_ASSERT_TRUE(import_run_may_be(run, IMPORT_ALL_REDUCE));
    CU_ASSERT_FALSE(import_run_may_be(run, IMPORT_ALL_GATHER)); /* which reduces nothing */
    CU_ASSERT_EQUAL(import_row_is_wrong(&g_array_index(run->rows, ImportRow, 0)), logs[i].used);
  }
}

/* Open MPI's tag of another process in the middle of a line names no host; of a row, neither does pdsh's or srun's. */
static void tags_inside_lines(void) {
  static const char text[] = "# Rank  0 Pid 11 on [1,4]<stdout>:node1 device  0 [0x0f] NVIDIA H100 80GB HBM3\n"
                             "[1,1]<stdout>:# Rank  1 Pid 12 on node1 device  1 [0x1f] NVIDIA H100 80GB HBM3\n"
                             "1024 256 float sum -1 10.0 0.10 0.10 0 10.0 0.10 0.10 0\n"
                             "2048 512 node1: float sum -1 11.0 0.19 0.19 0 3: 11.0 0.19 0.19 0\n";
  g_autoptr(ImportLog) log = import_log_parse("a.log", text, strlen(text));
  const ImportRun *run = g_ptr_array_index(log->runs, 0);
  CU_ASSERT_EQUAL(run->rows->len, 2);
  CU_ASSERT_EQUAL(run->nodes, 1);
  CU_ASSERT_EQUAL(run->ranks, 2);
  CU_ASSERT_FALSE(import_run_other_gpu(run, "h100-sxm5-80gb"));
  CU_ASSERT_TRUE(import_run_other_gpu(run, "a100-sxm4-80gb"));
}

/* One table behind the tags of launchers: srun -l, pdsh, torchrun, PyTorch, MPICH, docker compose, kubectl, a
 * container's clock, Open MPI 4 and 5, words that nobody knows. Always two ranks on one node and two rows. */
static void tags(void) {
  static const char *const lines[] = {
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1",
      "#  Rank  0 Group  0 Pid  1 on node0 device  0 [0x00] NVIDIA H100 80GB HBM3",
      "#  Rank  1 Group  0 Pid  2 on node0 device  1 [0x01] NVIDIA H100 80GB HBM3",
      "           8             2     float     sum      -1    12.10    0.00    0.00      0    12.00    0.00    0.00   "
      "   0",
      "          16             4     float     sum      -1    12.10    0.00    0.00      0    12.00    0.00    0.00   "
      "   0",
  };
  static const char *const tags[] = {"",
                                     "0: ",
                                     "node0: ",
                                     "[default0]:",
                                     "[rank0]: ",
                                     "[0] ",
                                     "worker-0  | ",
                                     "[pod/a-0/main] ",
                                     "2026-03-02T10:11:12.123Z ",
                                     "2026-03-02 10:11:12 [rank0]: ",
                                     "[1,0]<stdout>:",
                                     "[job,0]<stdout>: ",
                                     "a-worker-0 nccl "};
  for (gsize t = 0; t < G_N_ELEMENTS(tags); t++) {
    g_autoptr(GString) text = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
      g_string_append_printf(text, "%s%s\n", tags[t], lines[i]);
    g_autoptr(ImportLog) log = import_log_parse("a.log", text->str, text->len);
    CU_ASSERT_EQUAL_FATAL(log->runs->len, 1);
    const ImportRun *run = g_ptr_array_index(log->runs, 0);
    CU_ASSERT_EQUAL(run->rows->len, 2);
    CU_ASSERT_EQUAL(run->ranks, 2);
    CU_ASSERT_EQUAL(run->nodes, 1);
    CU_ASSERT_EQUAL(log->skipped->len, 0);
  }
}

/* A row with a letter in a number costs itself, and is told. */
static void bad_row(void) {
  static const char text[] = "    8    2  float  sum  -1  12.10  0.00  0.00  0  12.00  0.00  0.00  0\n"
                             "   16    4  float  sum  -1  1x.10  0.00  0.00  0  12.00  0.00  0.00  0\n"
                             "   32    8  float  sum  -1  12.10  0.00  0.00  0  12.00  0.00  0.00  0\n";
  g_autoptr(ImportLog) log = import_log_parse("a.log", text, strlen(text));
  CU_ASSERT_EQUAL_FATAL(log->runs->len, 1);
  CU_ASSERT_EQUAL(((const ImportRun *)g_ptr_array_index(log->runs, 0))->rows->len, 2);
  CU_ASSERT_EQUAL_FATAL(log->skipped->len, 1);
  CU_ASSERT_EQUAL(((const ImportSkip *)g_ptr_array_index(log->skipped, 0))->line, 2);
}

int main(void) {
  return harness_run("nccl-tests logs", (HarnessCase[]){{"two collectives", two_collectives},
                                                        {"the layout of 2019", old_layout},
                                                        {"torn rows", torn},
                                                        {"tags of launchers", tagged},
                                                        {"Markdown", markdown},
                                                        {"no measurement", no_measurement},
                                                        {"absurd ranks", absurd_ranks},
                                                        {"any bytes", any_bytes},
                                                        {"wrong rows", wrong_rows},
                                                        {"tags inside lines", tags_inside_lines},
                                                        {"tags of all launchers", tags},
                                                        {"a bad row", bad_row},
                                                        {NULL, NULL}});
}
