/* SPDX-License-Identifier: MIT */
/* The shipped topologies: every one builds, and the clouds' have what their vendors sell. */
#include <string.h>

#include "cluster.h"
#include "conf-path.h"
#include "harness.h"

/* One node of each, and two of those that have NICs. */
static void all_build(void) {
  g_auto(GStrv) names = conf_path_list("topologies", ".ini");
  guint n = 0;
  for (char **name = names; *name != NULL; name++, n++) {
    TestCluster built = cluster_new(*name, 1, NULL);
    guint nics = built.cluster->nics_per_node;
    CU_ASSERT_EQUAL(built.cluster->machine->gpus, built.cluster->gpus_per_node);
    cluster_clear(&built);
    if (nics > 0) {
      built = cluster_new(*name, 2, NULL);
      CU_ASSERT_EQUAL(hw_cluster_gpus(built.cluster), 2 * built.cluster->gpus_per_node);
      cluster_clear(&built);
    }
  }
  CU_ASSERT_TRUE(n >= 19);
}

/* What the vendors' pages state: network per node between GPUs, in Gb/s, and the latency that the platform's plugin
 * states, in us (75 of EFA for p4d and p5, 35 for p5en and p6; platforms.ini). NVL72: 72 GPUs in one node of NVLink, 72
 * × 400 Gb/s. */
static void clouds(void) {
  static const struct {
    const char *name;
    guint gpus;
    double network_gbps, latency_us;
    const char *gpu;
    double gpu_hour;
  } table[] = {
      {"azure-ndv4", 8, 1600, 0, "a100-sxm4-40gb", 0},   {"azure-ndv5", 8, 3200, 0, "h100-sxm5-80gb", 0},
      {"gcp-a3-mega", 8, 1600, 40, "h100-sxm5-80gb", 0}, {"gcp-a4", 8, 3200, 0, "b200-sxm-180gb", 0},
      {"oci-h100", 8, 3200, 0, "h100-sxm5-80gb", 0},     {"aws-p4d", 8, 400, 75, "a100-sxm4-40gb", 0},
      {"aws-p5", 8, 3200, 75, "h100-sxm5-80gb", 6.88},   {"aws-p5en", 8, 3200, 35, "h200-sxm5-141gb", 63.296 / 8},
      {"aws-p6-b200", 8, 3200, 35, "b200-sxm-180gb", 0}, {"gb200-nvl72", 72, 72 * 400, 0, "gb200-per-gpu-186gb", 0},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
    TestCluster built = cluster_new(table[i].name, 2, NULL);
    const HwCluster *cluster = built.cluster;
    CU_ASSERT_EQUAL(cluster->gpus_per_node, table[i].gpus);
    CU_ASSERT_EQUAL(cluster->nics_per_node * cluster->nics_grouped * cluster->nic->raw * 8 / 1e9,
                    table[i].network_gbps);
    CU_ASSERT_EQUAL(cluster->platform->nic_latency, (SimTime)(table[i].latency_us * SIM_MICROSECOND));
    CU_ASSERT_STRING_EQUAL(cluster->gpu->name, table[i].gpu);
    CU_ASSERT_EQUAL(cluster->gpu_hour, table[i].gpu_hour);
    CU_ASSERT_EQUAL(cluster->intra->scope, HW_LINK_NVSWITCH);
    cluster_clear(&built);
  }
}

/* ND A100 v4: GPU and NIC 0 and 1 share a switch, and it is the second socket's. */
static void tree_of_ndv4(void) {
  TestCluster built = cluster_new("azure-ndv4", 1, NULL);
  const HwMachine *machine = built.cluster->machine;
  CU_ASSERT_EQUAL(hw_machine_gpu(machine, 0)->parent, hw_machine_gpu(machine, 1)->parent);
  CU_ASSERT_EQUAL(hw_machine_gpu(machine, 0)->parent, machine->parts[hw_machine_nic_part(machine, 1)].parent);
  CU_ASSERT_EQUAL(hw_machine_socket_of(machine, hw_machine_gpu_part(machine, 0)), 1);
  CU_ASSERT_EQUAL(hw_machine_socket_of(machine, hw_machine_gpu_part(machine, 2)), 0);
  cluster_clear(&built);
}

int main(void) {
  return harness_run("topologies", (HarnessCase[]){{"all build", all_build},
                                                   {"clouds", clouds},
                                                   {"tree of ND A100 v4", tree_of_ndv4},
                                                   {NULL, NULL}});
}
