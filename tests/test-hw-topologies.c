/* SPDX-License-Identifier: MIT */
/* The shipped topologies: every one builds, and the clouds' have what their vendors sell. */
#include <string.h>

#include "cluster.h"
#include "conf-path.h"
#include "harness.h"

/* One node of each, and two of those that have NICs. */
static void all_build(void) {
  g_auto(GStrv) names = conf_path_list("topologies", ".ini", NULL);
  guint n = 0;
  for (char **name = names; *name != NULL; name++, n++) {
    TestCluster built = cluster_new(*name, 1, NULL);
    guint nics = built.cluster->nics_per_node;
    CU_ASSERT_EQUAL(built.cluster->machine->gpus, built.cluster->gpus_per_node);
    CU_ASSERT_PTR_NOT_NULL(built.cluster->host_link); /* [host] of each: offload can be asked of all */
    CU_ASSERT_TRUE(built.cluster->dram_bandwidth > 0);
    cluster_clear(&built);
    if (nics > 0) {
      built = cluster_new(*name, 2, NULL);
      CU_ASSERT_EQUAL(hw_cluster_gpus(built.cluster), 2 * built.cluster->gpus_per_node);
      cluster_clear(&built);
    }
  }
  CU_ASSERT_TRUE(n >= 33);
}

/* What the vendors' pages state: network per node between GPUs, in Gb/s, and the latency that the platform's plugin
 * states, in us (75 of EFA for p4d and p5, 35 for p5en and p6, 450 of TCPX, 40 of TCPXO, 13 of sockets; platforms.ini).
 * NVL72: 72 GPUs in one node of NVLink, 72 × 400 Gb/s. */
static void clouds(void) {
  static const struct {
    const char *name;
    guint gpus;
    double network_gbps, latency_us;
    const char *gpu;
    double node_hour; /* as the topologies' [price] says with its date */
  } table[] = {
      {"azure-ndv4", 8, 1600, 0, "a100-sxm4-40gb", 27.197},
      {"azure-ndv4-80gb", 8, 1600, 0, "a100-sxm4-80gb", 32.77},
      {"azure-ndv5", 8, 3200, 0, "h100-sxm5-80gb", 98.32},
      {"azure-ndv5-h200", 8, 3200, 0, "h200-sxm5-141gb", 0},
      {"gcp-a2-ultra", 8, 100, 13, "a100-sxm4-80gb", 40.550383123},
      {"gcp-a2-8g", 8, 100, 13, "a100-sxm4-40gb", 29.38708},
      {"gcp-a3-high", 8, 800, 450, "h100-sxm5-80gb", 88.490000119},
      {"gcp-a3-mega", 8, 1600, 40, "h100-sxm5-80gb", 0},
      {"gcp-a3-ultra", 8, 3200, 0, "h200-sxm5-141gb", 84.806908493},
      {"gcp-a4", 8, 3200, 0, "b200-sxm-180gb", 0},
      {"oci-a100", 8, 1600, 0, "a100-sxm4-80gb", 32},
      {"oci-h100", 8, 3200, 0, "h100-sxm5-80gb", 80},
      {"oci-h200", 8, 3200, 0, "h200-sxm5-141gb", 0},
      {"aws-p4d", 8, 400, 75, "a100-sxm4-40gb", 21.95764},
      {"aws-p4de", 8, 400, 75, "a100-sxm4-80gb", 27.44705},
      {"aws-p5", 8, 3200, 75, "h100-sxm5-80gb", 8 * 6.88},
      {"aws-p5e", 8, 3200, 75, "h200-sxm5-141gb", 0},
      {"aws-p5en", 8, 3200, 35, "h200-sxm5-141gb", 63.296},
      {"aws-p6-b200", 8, 3200, 35, "b200-sxm-180gb", 113.9328},
      {"gb200-nvl72", 72, 72 * 400, 0, "gb200-per-gpu-186gb", 0},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(table); i++) {
    TestCluster built = cluster_new(table[i].name, 2, NULL);
    const HwCluster *cluster = built.cluster;
    CU_ASSERT_EQUAL(cluster->gpus_per_node, table[i].gpus);
    CU_ASSERT_EQUAL(cluster->nics_per_node * cluster->nics_grouped * cluster->nic->raw * 8 / 1e9,
                    table[i].network_gbps);
    CU_ASSERT_EQUAL(cluster->platform->nic_latency, (SimTime)(table[i].latency_us * SIM_MICROSECOND));
    CU_ASSERT_STRING_EQUAL(cluster->gpu->name, table[i].gpu);
    CU_ASSERT_DOUBLE_EQUAL(cluster->gpu_hour, table[i].node_hour / table[i].gpus, 1e-9);
    CU_ASSERT_EQUAL(cluster->intra->scope, HW_LINK_NVSWITCH);
    CU_ASSERT_TRUE(cluster->dram > 0);
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

static void builds_as(G_GNUC_UNUSED const char *cloud, const char *name, const char *topology, gpointer user) {
  g_autofree char *lower = g_ascii_strdown(name, -1);
  TestCluster one = cluster_new(lower, 1, NULL), other = cluster_new(topology, 1, NULL);
  CU_ASSERT_STRING_EQUAL(one.cluster->topology, topology);
  CU_ASSERT_STRING_EQUAL(one.cluster->gpu->name, other.cluster->gpu->name);
  CU_ASSERT_EQUAL(one.cluster->gpu_hour, other.cluster->gpu_hour);
  cluster_clear(&one);
  cluster_clear(&other);
  ++*(guint *)user;
}

/* What clouds call a machine is its topology, whatever the case; one that is near is
 * named, and one that is near nothing is no file. */
static void instances(void) {
  guint n = 0;
  hw_instances_visit(builds_as, &n);
  CU_ASSERT_TRUE(n >= 20);
  TestCluster built = cluster_new("Standard_ND96isr_H100_v5", 2, NULL);
  CU_ASSERT_STRING_EQUAL(built.cluster->topology, "azure-ndv5");
  GError *error = NULL;
  ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  g_autoptr(ConfSettings) settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  CU_ASSERT_TRUE(conf_settings_set(settings, "cluster.topology=p5.48xlarg", NULL));
  HARNESS_FAILS(hw_cluster_build(settings, built.catalog, &error) != NULL, error,
                "did you mean the instance \"p5.48xlarge\"?");
  CU_ASSERT_TRUE(conf_settings_set(settings, "cluster.topology=abacus", NULL));
  HARNESS_FAILS(hw_cluster_build(settings, built.catalog, &error) != NULL, error, "no file \"abacus.ini\"");
  cluster_clear(&built);
}

int main(void) {
  return harness_run("topologies", (HarnessCase[]){{"all build", all_build},
                                                   {"clouds", clouds},
                                                   {"instances", instances},
                                                   {"tree of ND A100 v4", tree_of_ndv4},
                                                   {NULL, NULL}});
}
