/* SPDX-License-Identifier: MIT */
/* The fit recovers figures that were planted: a log is written from coll's own times on a cluster with known figures,
 * and the fit on the shipped topology must find them again. */
#include <glib/gstdio.h>
#include <string.h>

#include "cluster.h"
#include "group.h"
#include "harness.h"
#include "import-overlay.h"

static const guint64 sizes[] = {8,        64,        512,       2048,      4096,     65536,   1 << 20,
                                16 << 20, 128 << 20, 256 << 20, 512 << 20, 1u << 30, 2u << 30};

/* A log of all-gathers, whose ring is the one algorithm, by the model itself. `outlier` multiplies every fifth time. */
static char *planted(guint nodes, double outlier, const char *first, const char *second) {
  TestCluster built = cluster_new("dgx-h100", nodes, first, second, NULL);
  guint n = nodes * 8;
  g_autofree guint32 *ranks = g_new(guint32, n);
  GString *text =
      g_string_new("# Collective test starting: all_gather_perf\n# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n");
  for (guint i = 0; i < n; i++) {
    ranks[i] = i;
    g_string_append_printf(text, "#  Rank %u Group  0 Pid  %u on node%u device %u [0000:%02x:00] H100\n", i, i, i / 8,
                           i % 8, i % 8);
  }
  g_autoptr(CollGroup) group = group_new(built.cluster, ranks, n, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
    CollCall call = {.operation = COLL_ALL_GATHER, .bytes = sizes[i]};
    CollPlan plan;
    coll_plan(group, &call, &plan);
    double us = sim_time_to_seconds(plan.latency + sim_time_of_amount(plan.volume, plan.cap)) * 1e6;
    us *= i % 5 == 4 ? outlier : 1;
    g_string_append_printf(
        text, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " float none -1 %.4f 1.00 1.00 0 %.4f 1.00 1.00 0\n", sizes[i],
        sizes[i] / 4, us, us);
  }
  g_string_append(text, "# Avg bus bandwidth    : 1\n");
  cluster_clear(&built);
  return g_string_free(text, FALSE);
}

static gboolean near(double value, double wanted) {
  return value > wanted * 0.99 && value < wanted * 1.01;
}

/* One node: 40 us to launch, 300 GB/s for a ring. Of five small rows one, of five large rows one is three times too
 * slow, which a median does not see. */
static void one_node(void) {
  g_autofree char *text = planted(1, 3, "environment.launch_floor=40 us", "node.intra_achievable=300 GB/s");
  g_autoptr(ImportLog) log = import_log_parse("a.log", text, strlen(text));
  ImportFit fit;
  GError *error = NULL;
  CU_ASSERT_TRUE_FATAL(import_fit_run(log, &(ImportFitOptions){.topology = "dgx-h100"}, &fit, &error));
  CU_ASSERT_TRUE(near(fit.figures[IMPORT_LAUNCH_FLOOR].value, 40e-6));
  CU_ASSERT_TRUE(near(fit.figures[IMPORT_INTRA_ACHIEVABLE].value, 300e9));
  CU_ASSERT_FALSE(fit.figures[IMPORT_NIC_ACHIEVABLE].fitted);
  CU_ASSERT_EQUAL(fit.figures[IMPORT_LAUNCH_FLOOR].rows, 5);
  CU_ASSERT_EQUAL(fit.figures[IMPORT_INTRA_ACHIEVABLE].rows, 5);
  const ImportFitRun *run = &g_array_index(fit.runs, ImportFitRun, 0);
  CU_ASSERT_TRUE(run->after < 0.01 && run->before > 0.1);
  g_autoptr(GString) overlay = import_overlay_text(log, &fit, "foretrain import nccl-tests");
  CU_ASSERT_PTR_NOT_NULL(strstr(overlay->str, "[environment]\nlaunch_floor = 40.00 us ;"));
  CU_ASSERT_PTR_NOT_NULL(strstr(overlay->str, "[node]\nintra_achievable = "));
  CU_ASSERT_PTR_NOT_NULL(
      strstr(overlay->str, "# node.nic_achievable keeps the topology's value: no row of the log shows it."));
  import_fit_clear(&fit);
}

/* Two nodes: NICs of 33 GB/s with 9 us. */
static void two_nodes(void) {
  g_autofree char *text = planted(2, 1, "environment.hop_latency=9 us", "node.nic_achievable=33 GB/s");
  g_autoptr(ImportLog) log = import_log_parse("a.log", text, strlen(text));
  ImportFit fit;
  CU_ASSERT_TRUE_FATAL(import_fit_run(log, &(ImportFitOptions){.topology = "dgx-h100"}, &fit, NULL));
  CU_ASSERT_TRUE(near(fit.figures[IMPORT_HOP_LATENCY].value, 9e-6));
  CU_ASSERT_TRUE(near(fit.figures[IMPORT_NIC_ACHIEVABLE].value, 33e9));
  CU_ASSERT_FALSE(fit.figures[IMPORT_LAUNCH_FLOOR].fitted);
  import_fit_clear(&fit);
}

/* A log of one node and one of two, together: each figure from the rows that decide it. */
static void several_logs(void) {
  g_autofree char *one = planted(1, 1, "environment.launch_floor=40 us", "node.intra_achievable=300 GB/s");
  g_autofree char *two = planted(2, 1, "environment.hop_latency=60 us", "node.nic_achievable=33 GB/s");
  g_autofree char *one_path = g_build_filename(g_get_tmp_dir(), "foretrain-test-one.log", NULL);
  g_autofree char *two_path = g_build_filename(g_get_tmp_dir(), "foretrain-test-two.log", NULL);
  const char *const paths[] = {one_path, two_path, NULL};
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(paths[0], one, -1, NULL) && g_file_set_contents(paths[1], two, -1, NULL));
  g_autoptr(ImportLog) log = import_log_load_all(paths, NULL);
  CU_ASSERT_EQUAL_FATAL(log->runs->len, 2);
  ImportFit fit;
  CU_ASSERT_TRUE_FATAL(import_fit_run(log, &(ImportFitOptions){.topology = "dgx-h100"}, &fit, NULL));
  CU_ASSERT_TRUE(near(fit.figures[IMPORT_LAUNCH_FLOOR].value, 40e-6));
  CU_ASSERT_TRUE(near(fit.figures[IMPORT_INTRA_ACHIEVABLE].value, 300e9));
  CU_ASSERT_TRUE(near(fit.figures[IMPORT_HOP_LATENCY].value, 60e-6));
  CU_ASSERT_TRUE(near(fit.figures[IMPORT_NIC_ACHIEVABLE].value, 33e9));
  import_fit_clear(&fit);
  g_remove(one_path);
  g_remove(two_path);
}

/* Five large calls that take half as long again ask for slower NICs; a hundred of 16 MiB that are foretold as they are
 * speak against it, and the figure stays. */
static void refuted(void) {
  g_autofree char *text = planted(2, 1, "environment.hop_latency=0 us", "node.nic_achievable=48 GB/s");
  g_autoptr(ImportLog) log = import_log_parse("a.log", text, strlen(text));
  const ImportRun *run = g_ptr_array_index(log->runs, 0);
  ImportRow middle = {0};
  for (guint i = 0; i < run->rows->len; i++) {
    ImportRow *row = &g_array_index(run->rows, ImportRow, i);
    if (row->bytes == 16 << 20)
      middle = *row;
    if (row->bytes >= 128 << 20)
      row->in_place.time += row->in_place.time / 2;
  }
  for (int i = 0; i < 100; i++)
    g_array_append_val(run->rows, middle);
  ImportFit fit;
  CU_ASSERT_TRUE_FATAL(import_fit_run(log, &(ImportFitOptions){.topology = "dgx-h100"}, &fit, NULL));
  CU_ASSERT_TRUE(fit.figures[IMPORT_NIC_ACHIEVABLE].refuted);
  CU_ASSERT_FALSE(fit.figures[IMPORT_NIC_ACHIEVABLE].fitted);
  CU_ASSERT_TRUE(fit.figures[IMPORT_NIC_ACHIEVABLE].value < 40e9);
  g_autoptr(GString) overlay = import_overlay_text(log, &fit, "foretrain import nccl-tests");
  CU_ASSERT_PTR_NOT_NULL(strstr(overlay->str, "but then the log as a whole is foretold worse"));
  CU_ASSERT_PTR_NULL(strstr(overlay->str, "\nnic_achievable"));
  import_fit_clear(&fit);
}

/* The overlay's own text, laid over the topology by a workload's [cluster] overlay, gives a cluster of these
 * figures. */
static void overlay_is_read(void) {
  g_autofree char *text = planted(2, 1, "environment.hop_latency=9 us", "node.nic_achievable=33 GB/s");
  g_autoptr(ImportLog) log = import_log_parse("a.log", text, strlen(text));
  ImportFit fit;
  CU_ASSERT_TRUE_FATAL(import_fit_run(log, &(ImportFitOptions){.topology = "dgx-h100"}, &fit, NULL));
  g_autoptr(GString) overlay = import_overlay_text(log, &fit, "foretrain import nccl-tests");
  import_fit_clear(&fit);
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "foretrain-test-fit.overlay.ini", NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, overlay->str, -1, NULL));
  g_autofree char *assignment = g_strconcat("cluster.overlay=", path, NULL);
  TestCluster built = cluster_new("dgx-h100", 2, assignment, NULL);
  CU_ASSERT_TRUE(near(built.cluster->nic_bandwidth, 33e9));
  CU_ASSERT_TRUE(near(sim_time_to_seconds(built.cluster->platform->hop_latency), 9e-6));
  cluster_clear(&built);
  g_remove(path);
}

/* What cannot be fitted is refused with the reason. */
static void refused(void) {
  static const struct {
    const char *text, *topology, *why;
  } cases[] = {
      {"nothing here\n", "dgx-h100", "holds no run"},
      {"64 16 float sum -1 9.0 1.00 1.00 0 9.0 1.00 1.00 0\n", "dgx-h100", "which operation"},
      {"all_reduce_perf -b 8\n64 16 float sum -1 9.0 1.00 1.00 0 9.0 1.00 1.00 0\n", "dgx-h100", "how many nodes"},
      {"hypercube_perf -b 8\n64 1 float none -1 9.0 1.00 1.00 0 9.0 1.00 1.00 0\n", "dgx-h100", "not modelled"},
      {"nothing\n", "dgx-h10", "dgx-h100"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(ImportLog) log = import_log_parse("a.log", cases[i].text, strlen(cases[i].text));
    ImportFit fit;
    GError *error = NULL;
    HARNESS_FAILS(import_fit_run(log, &(ImportFitOptions){.topology = cases[i].topology}, &fit, &error), error,
                  cases[i].why);
  }
}

/* 10 GiB in 90 ms over two GPUs a node is more than a NIC of 100 Gbit/s carries: the log is of another machine. */
static void another_machine(void) {
  static const char text[] = "# Collective test starting: all_reduce_perf\n"
                             "#  Rank  0 Group  0 Pid 1 on a device  0 [0x0f] NVIDIA A100-SXM4-40GB\n"
                             "#  Rank  1 Group  0 Pid 2 on a device  1 [0x15] NVIDIA A100-SXM4-40GB\n"
                             "#  Rank  2 Group  0 Pid 3 on b device  0 [0x0f] NVIDIA A100-SXM4-40GB\n"
                             "#  Rank  3 Group  0 Pid 4 on b device  1 [0x15] NVIDIA A100-SXM4-40GB\n"
                             "10737418240 2684354560 float sum -1 90330 118.87 178.30 0 91945 116.78 175.17 0\n";
  g_autoptr(ImportLog) log = import_log_parse("a.log", text, strlen(text));
  ImportFit fit;
  GError *error = NULL;
  HARNESS_FAILS(import_fit_run(log, &(ImportFitOptions){.topology = "aws-p5"}, &fit, &error), error,
                "a.log does not fit aws-p5, whose GPUs are h100-sxm5-80gb; the log's are NVIDIA A100-SXM4-40GB; name");
}

int main(void) {
  return harness_run("fit", (HarnessCase[]){{"one node", one_node},
                                            {"two nodes", two_nodes},
                                            {"several logs", several_logs},
                                            {"refuted", refuted},
                                            {"an overlay is read", overlay_is_read},
                                            {"refused", refused},
                                            {"another machine", another_machine},
                                            {NULL, NULL}});
}
