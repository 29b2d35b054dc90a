/* SPDX-License-Identifier: MIT */
/* The overlay: figures measured on one cluster over a topology, under --set, and nothing but figures. */
#include <glib/gstdio.h>
#include <string.h>

#include "cluster.h"
#include "harness.h"

/* Writes an overlay, gives "KEY=its path". Caller frees. */
static char *overlay(const char *key, const char *text) {
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "foretrain-test.overlay.ini", NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
  return g_strdup_printf("%s=%s", key, path);
}

/* Each figure of the overlay replaces the catalogue's. */
static void replaces(void) {
  const char *text = "[environment]\nlaunch_floor = 21 us\nhop_latency = 3 us\n[node]\nintra_achievable = 350 GB/s\n"
                     "nic_achievable = 45 GB/s\nmatmul_rate = 0.5\nmemory_rate = 0.25\nhost_rate = 0.5\n";
  TestCluster own = cluster_new("dgx-h100", 2, NULL);
  static const char *const keys[] = {"cluster.overlay", "environment.overlay"};
  for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
    g_autofree char *assignment = overlay(keys[i], text);
    TestCluster built = cluster_new("dgx-h100", 2, assignment, NULL);
    CU_ASSERT_EQUAL(built.cluster->platform->launch_floor, 21 * SIM_MICROSECOND);
    CU_ASSERT_EQUAL(built.cluster->platform->hop_latency, 3 * SIM_MICROSECOND);
    CU_ASSERT_STRING_EQUAL(built.cluster->platform->name, "infiniband");
    CU_ASSERT_EQUAL(built.cluster->intra_bandwidth, 350e9);
    CU_ASSERT_EQUAL(built.cluster->nic_bandwidth, 45e9);
    CU_ASSERT_EQUAL(built.cluster->gpu->matmul_bf16, own.cluster->gpu->matmul_bf16 / 2);
    CU_ASSERT_EQUAL(built.cluster->gpu->memory_bandwidth_sustained, own.cluster->gpu->memory_bandwidth_sustained / 4);
    CU_ASSERT_EQUAL(built.cluster->host->forward_kernel, own.cluster->host->forward_kernel * 2);
    CU_ASSERT_EQUAL(built.cluster->host->micro_batch, own.cluster->host->micro_batch * 2);
    CU_ASSERT_EQUAL(built.cluster->host->segment_take, own.cluster->host->segment_take);
    cluster_clear(&built);
  }
  cluster_clear(&own);
}

/* --set is above it; a NIC of another rate keeps the measured share: 45 of 50 GB/s, so 22.5 of 25. */
static void under_set(void) {
  g_autofree char *assignment = overlay("cluster.overlay", "[node]\nnic_achievable = 45 GB/s\n");
  TestCluster built = cluster_new("dgx-h100", 2, assignment, "node.nic_achievable=40 GB/s", NULL);
  CU_ASSERT_EQUAL(built.cluster->nic_bandwidth, 40e9);
  cluster_clear(&built);
  built = cluster_new("dgx-h100", 2, assignment, "cluster.nic_bandwidth=200 Gb/s", NULL);
  CU_ASSERT_EQUAL(built.cluster->nic_bandwidth, 22.5e9);
  /* The same settings once more: what the overlay laid there is its own. */
  GError *error = NULL;
  g_autoptr(HwCluster) again = hw_cluster_build(built.settings, built.catalog, &error);
  CU_ASSERT_PTR_NOT_NULL(again);
  g_clear_error(&error);
  cluster_clear(&built);
}

static void refuses(void) {
  static const struct {
    const char *text, *why;
  } cases[] = {
      {"[node]\ngpu = v100-sxm2-32gb\n", ":2:1: node.gpu: an overlay holds measured figures alone"},
      {"[node]\nnic_achivable = 1 GB/s\n", "did you mean \"node.nic_achievable\"?"},
      {"[node]\nnic_achievable = 51 GB/s\n", "is above the raw rate of ib-ndr400, 50 GB/s"},
      {"[node]\nintra_achievable = 451 GB/s\n", "is above the raw rate of nvlink4-nvswitch3"},
      {"[environment]\nlaunch_floor = 3\n", "lacks a unit"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *assignment = overlay("cluster.overlay", cases[i].text);
    TestCluster built = cluster_new("dgx-h100", 2, NULL);
    GError *error = NULL;
    CU_ASSERT_TRUE(conf_settings_set(built.settings, assignment, NULL));
    g_autoptr(HwCluster) cluster = hw_cluster_build(built.settings, built.catalog, &error);
    HARNESS_FAILS(cluster != NULL, error, cases[i].why);
    cluster_clear(&built);
  }
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "foretrain-test.overlay.ini", NULL);
  g_remove(path);
}

int main(void) {
  return harness_run(
      "overlay",
      (HarnessCase[]){{"replaces figures", replaces}, {"under --set", under_set}, {"refuses", refuses}, {NULL, NULL}});
}
