/* SPDX-License-Identifier: MIT */
/* Clusters: every shipped topology with its links counted, fabrics, overrides, layers, and where errors point. */
#include <glib/gstdio.h>
#include <string.h>

#include "conf-path.h"
#include "conf-settings.h"
#include "harness.h"
#include "hw-cluster.h"

typedef struct {
  HwCatalog *catalog;
  ConfSettings *settings;
  HwCluster *cluster;
} Built;

static void built_clear(Built *built) {
  hw_cluster_free(built->cluster);
  conf_settings_free(built->settings);
  hw_catalog_free(built->catalog);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Built, built_clear)

/* `assignments`: as --set takes them, separated by commas. */
static gboolean build(Built *built, const char *assignments, GError **error) {
  const ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  built->catalog = hw_catalog_load(error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(built->catalog);
  built->settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  g_auto(GStrv) all = g_strsplit(assignments, ",", -1);
  for (char **assignment = all; *assignment != NULL; assignment++)
    if (!conf_settings_set(built->settings, *assignment, error))
      return FALSE;
  built->cluster = hw_cluster_build(built->settings, built->catalog, error);
  return built->cluster != NULL;
}

static const HwCluster *must_build(Built *built, const char *assignments) {
  GError *error = NULL;
  if (!build(built, assignments, &error))
    g_error("%s: %s", assignments, error->message);
  return built->cluster;
}

static guint count_class(const HwCluster *cluster, HwLinkClass link_class) {
  guint count = 0;
  for (guint32 i = 0; i < cluster->n_links; i++)
    count += cluster->links[i].link_class == link_class;
  return count;
}

/* What is written on each machine. Links of n nodes: (gpus + nics) × n × 2, and 2 per leaf. */
static const struct {
  const char *name, *gpu;
  guint32 gpus, nics, nodes, links;
  double node_network; /* achievable bytes/s out of a node */
  gboolean amd;
} machines[] = {
    /* four nodes: (8 + 4) × 4 × 2; 4 × 10.6 GB/s */
    {"aws-p4d", "a100-sxm4-40gb", 8, 4, 4, 96, 42.4e9, FALSE},
    /* two nodes: (8 + 32 / 4) × 2 × 2; 32 × 9.7 GB/s */
    {"aws-p5", "h100-sxm5-80gb", 8, 8, 2, 64, 310.4e9, TRUE},
    /* one node without NICs: 8 × 2 */
    {"box-l40s", "l40s", 8, 0, 1, 16, 0, TRUE},
    {"box-rtx4090", "rtx4090", 8, 0, 1, 16, 0, TRUE},
    /* forty nodes: (8 + 8) × 40 × 2 + two groups of 20, eight rails: 16 leaves × 2 */
    {"dgx-a100", "a100-sxm4-80gb", 8, 8, 40, 1312, 8 * 24e9, TRUE},
    /* thirty-two nodes are one group: no leaf links. (8 + 8) × 32 × 2 */
    {"dgx-b200", "b200-sxm-180gb", 8, 8, 32, 1024, 8 * 48e9, FALSE},
    /* thirty-three nodes: (8 + 8) × 33 × 2 + 2 × 8 leaves × 2 */
    {"dgx-h100", "h100-sxm5-80gb", 8, 8, 33, 1088, 8 * 48e9, FALSE},
    /* two nodes: (8 + 8) × 2 × 2 */
    {"dgx-h200", "h200-sxm5-141gb", 8, 8, 2, 64, 8 * 48e9, FALSE},
    /* two nodes: (4 + 4) × 2 × 2 */
    {"hgx-h200-4gpu", "h200-sxm5-141gb", 4, 4, 2, 32, 4 * 48e9, TRUE},
    /* two nodes: (8 + 4) × 2 × 2 */
    {"dgx1-v100", "v100-sxm2-32gb", 8, 4, 2, 48, 4 * 12e9, FALSE},
    /* seventeen nodes: (16 + 8) × 17 × 2 + two leaves × 2 */
    {"dgx2-v100", "v100-sxm2-32gb", 16, 8, 17, 820, 8 * 12e9, FALSE},
    /* two nodes: (8 + 1) × 2 × 2 */
    {"h100-eth10", "h100-sxm5-80gb", 8, 1, 2, 36, 1.17e9, FALSE},
    {"h100-eth100", "h100-sxm5-80gb", 8, 1, 2, 36, 7.6e9, FALSE},
    /* two nodes and no leaves: (8 + 8) × 2 × 2, or (8 + 16 / 2) × 2 × 2 */
    {"azure-ndv4", "a100-sxm4-40gb", 8, 8, 2, 64, 8 * 24e9, TRUE},
    {"azure-ndv5", "h100-sxm5-80gb", 8, 8, 2, 64, 8 * 48e9, FALSE},
    {"gcp-a3-mega", "h100-sxm5-80gb", 8, 8, 2, 64, 8 * 23.6e9, FALSE},
    {"gcp-a4", "b200-sxm-180gb", 8, 8, 2, 64, 8 * 46e9, FALSE},
    {"oci-h100", "h100-sxm5-80gb", 8, 16, 2, 96, 16 * 22.8e9, FALSE},
    {"aws-p5en", "h200-sxm5-141gb", 8, 8, 2, 64, 16 * 22.8e9, FALSE},
    {"aws-p6-b200", "b200-sxm-180gb", 8, 8, 2, 64, 8 * 37e9, FALSE},
    /* (4 + 1) × 2 × 2, and (4 + 2) × 2 × 2 */
    {"gcp-a2-4g", "a100-sxm4-40gb", 4, 1, 2, 20, 5.9e9, FALSE},
    {"polaris", "a100-sxm4-40gb", 4, 2, 2, 24, 2 * 18.3e9, TRUE},
    {"alps-gh200", "gh200-96gb", 4, 4, 2, 32, 4 * 23.1e9, FALSE},
    /* two nodes of the same sizes, on the links of their kin above; p3dn has one NIC: (8 + 1) × 2 × 2, so has a2 */
    {"aws-p3dn", "v100-sxm2-32gb", 8, 1, 2, 36, 10.6e9, FALSE},
    {"aws-p4de", "a100-sxm4-80gb", 8, 4, 2, 48, 42.4e9, FALSE},
    {"aws-p5e", "h200-sxm5-141gb", 8, 8, 2, 64, 310.4e9, TRUE},
    {"azure-ndv4-80gb", "a100-sxm4-80gb", 8, 8, 2, 64, 8 * 24e9, TRUE},
    {"azure-ndv5-h200", "h200-sxm5-141gb", 8, 8, 2, 64, 8 * 48e9, FALSE},
    {"gcp-a2-8g", "a100-sxm4-40gb", 8, 1, 2, 36, 7.6e9, FALSE},
    {"gcp-a2-ultra", "a100-sxm4-80gb", 8, 1, 2, 36, 7.6e9, FALSE},
    {"gcp-a3-high", "h100-sxm5-80gb", 8, 4, 2, 48, 4 * 20e9, FALSE},
    {"gcp-a3-ultra", "h200-sxm5-141gb", 8, 8, 2, 64, 8 * 46e9, FALSE},
    {"oci-a100", "a100-sxm4-80gb", 8, 16, 2, 96, 16 * 11.5e9, TRUE},
    {"oci-h200", "h200-sxm5-141gb", 8, 8, 2, 64, 8 * 46e9, FALSE},
    /* (72 + 72) × 2 × 2 */
    {"gb200-nvl72", "gb200-per-gpu-186gb", 72, 72, 2, 576, 72 * 48e9, FALSE},
};

static void shipped_topologies(void) {
  g_auto(GStrv) files = conf_path_list("topologies", ".ini", NULL);
  CU_ASSERT_EQUAL(g_strv_length(files), G_N_ELEMENTS(machines));
  for (gsize i = 0; i < G_N_ELEMENTS(machines); i++) {
    CU_ASSERT_TRUE(g_strv_contains((const char *const *)files, machines[i].name));
    g_auto(Built) built = {0};
    g_autofree char *settings =
        g_strdup_printf("cluster.topology=%s,cluster.nodes=%u", machines[i].name, machines[i].nodes);
    const HwCluster *cluster = must_build(&built, settings);
    CU_ASSERT_STRING_EQUAL(cluster->topology, machines[i].name);
    CU_ASSERT_STRING_EQUAL(cluster->gpu->name, machines[i].gpu);
    CU_ASSERT_EQUAL(cluster->gpus_per_node, machines[i].gpus);
    CU_ASSERT_EQUAL(cluster->nics_per_node, machines[i].nics);
    CU_ASSERT_EQUAL(cluster->n_links, machines[i].links);
    CU_ASSERT_EQUAL(cluster->cpu_amd, machines[i].amd);
    CU_ASSERT_DOUBLE_EQUAL(cluster->nics_per_node * cluster->nic_bandwidth, machines[i].node_network, 1);
    CU_ASSERT_EQUAL(hw_cluster_gpus(cluster), machines[i].gpus * machines[i].nodes);
    CU_ASSERT_EQUAL(count_class(cluster, HW_CLASS_GPU_OUT), hw_cluster_gpus(cluster));
    CU_ASSERT_EQUAL(count_class(cluster, HW_CLASS_NIC_IN), machines[i].nics * machines[i].nodes);
  }
}

static void links_by_index(void) {
  g_auto(Built) built = {0};
  const HwCluster *cluster = must_build(&built, "cluster.topology=dgx-h100,cluster.nodes=3");
  g_autofree gboolean *seen = g_new0(gboolean, cluster->n_links);
  for (guint32 rank = 0; rank < 24; rank++) {
    guint32 out = hw_cluster_gpu_out(cluster, rank), in = hw_cluster_gpu_in(cluster, rank);
    CU_ASSERT_EQUAL(cluster->links[out].link_class, HW_CLASS_GPU_OUT);
    CU_ASSERT_EQUAL(cluster->links[in].link_class, HW_CLASS_GPU_IN);
    CU_ASSERT_EQUAL(cluster->links[in].capacity, 382e9);
    seen[out] = seen[in] = TRUE;
    guint32 nic_out = hw_cluster_nic_out(cluster, hw_cluster_node_of(cluster, rank), rank % 8);
    guint32 nic_in = hw_cluster_nic_in(cluster, hw_cluster_node_of(cluster, rank), rank % 8);
    CU_ASSERT_EQUAL(cluster->links[nic_out].link_class, HW_CLASS_NIC_OUT);
    CU_ASSERT_EQUAL(cluster->links[nic_in].link_class, HW_CLASS_NIC_IN);
    CU_ASSERT_EQUAL(cluster->links[nic_in].capacity, 48e9);
    seen[nic_out] = seen[nic_in] = TRUE;
  }
  /* Every link has exactly one owner: 24 × (2 + 2) = 96. */
  CU_ASSERT_EQUAL(cluster->n_links, 96);
  for (guint32 i = 0; i < cluster->n_links; i++) {
    CU_ASSERT_TRUE(seen[i]);
    CU_ASSERT_EQUAL(cluster->links[i].count, 1);
  }
  CU_ASSERT_EQUAL(hw_cluster_node_of(cluster, 15), 1);
}

static void rails_have_a_leaf_each(void) {
  g_auto(Built) built = {0};
  const HwCluster *cluster = must_build(&built, "cluster.topology=dgx-h100,cluster.nodes=5,fabric.nodes_per_leaf=2,"
                                                "fabric.oversubscription=4");
  guint32 up, down, other_up, other_down;
  /* Three groups of eight rails. */
  CU_ASSERT_EQUAL(count_class(cluster, HW_CLASS_LEAF_UP), 24);
  CU_ASSERT_EQUAL(count_class(cluster, HW_CLASS_LEAF_DOWN), 24);
  CU_ASSERT_FALSE(hw_cluster_leaf_links(cluster, 0, 1, 3, &up, &down)); /* nodes 0 and 1 share their leaves */
  CU_ASSERT_TRUE(hw_cluster_leaf_links(cluster, 1, 2, 3, &up, &down));
  CU_ASSERT_EQUAL(cluster->links[up].link_class, HW_CLASS_LEAF_UP);
  CU_ASSERT_EQUAL(cluster->links[down].link_class, HW_CLASS_LEAF_DOWN);
  /* Two members × 48 GB/s / 4; the last group has one member. */
  CU_ASSERT_EQUAL(cluster->links[up].capacity, 24e9);
  CU_ASSERT_TRUE(hw_cluster_leaf_links(cluster, 0, 4, 3, &other_up, &other_down));
  CU_ASSERT_EQUAL(other_up, up); /* the same leaf as node 1's */
  CU_ASSERT_EQUAL(cluster->links[other_down].capacity, 12e9);
  CU_ASSERT_TRUE(hw_cluster_leaf_links(cluster, 1, 2, 4, &other_up, &other_down));
  CU_ASSERT_NOT_EQUAL(other_up, up); /* another rail, another leaf */
}

static void fat_trees_share_a_leaf(void) {
  g_auto(Built) built = {0};
  const HwCluster *cluster = must_build(&built, "cluster.topology=dgx-h100,cluster.nodes=4,fabric.kind=fat-tree,"
                                                "fabric.nodes_per_leaf=2,fabric.oversubscription=2");
  guint32 up, down, other_up, other_down;
  CU_ASSERT_EQUAL(count_class(cluster, HW_CLASS_LEAF_UP), 2);
  CU_ASSERT_TRUE(hw_cluster_leaf_links(cluster, 0, 3, 0, &up, &down));
  CU_ASSERT_TRUE(hw_cluster_leaf_links(cluster, 1, 2, 7, &other_up, &other_down));
  CU_ASSERT_EQUAL(up, other_up);
  CU_ASSERT_EQUAL(down, other_down);
  /* Two nodes × 8 NICs × 48 GB/s / 2. */
  CU_ASSERT_EQUAL(cluster->links[up].capacity, 384e9);
  CU_ASSERT_FALSE(hw_cluster_leaf_links(cluster, 0, 1, 0, &up, &down));
}

static void single_switch_has_no_leaves(void) {
  g_auto(Built) built = {0};
  const HwCluster *cluster = must_build(&built, "cluster.topology=aws-p5,cluster.nodes=100,fabric.nodes_per_leaf=1");
  guint32 up = 7, down = 7;
  CU_ASSERT_FALSE(hw_cluster_leaf_links(cluster, 0, 99, 7, &up, &down));
  CU_ASSERT_EQUAL(up, 7);
  CU_ASSERT_EQUAL(count_class(cluster, HW_CLASS_LEAF_UP), 0);
}

static void overrides(void) {
  g_auto(Built) built = {0};
  const HwCluster *cluster =
      must_build(&built, "cluster.topology=dgx-a100,cluster.nodes=2,cluster.gpus_per_node=4,cluster.gpu=A100-SXM4-40GB,"
                         "cluster.nics_per_node=4,cluster.nic_bandwidth=100 Gb/s");
  CU_ASSERT_STRING_EQUAL(cluster->gpu->name, "a100-sxm4-40gb");
  CU_ASSERT_EQUAL(cluster->gpus_per_node, 4);
  CU_ASSERT_EQUAL(cluster->nics_per_node, 4);
  CU_ASSERT_EQUAL(cluster->n_links, 32); /* (4 + 4) × 2 × 2 */
  /* 12.5 GB/s on the wire, of which HDR's share 24 / 25 is achievable. */
  CU_ASSERT_DOUBLE_EQUAL(cluster->nic_bandwidth, 12e9, 1);
  CU_ASSERT_EQUAL(cluster->links[hw_cluster_nic_in(cluster, 1, 3)].capacity, cluster->nic_bandwidth);
}

static void command_line_stays_above_the_file(void) {
  g_auto(Built) built = {0};
  const HwCluster *cluster =
      must_build(&built, "node.intra=pcie4-x16,cluster.topology=dgx-h100,price.gpu_hour=2 USD,node.cpu=amd-genoa");
  CU_ASSERT_STRING_EQUAL(cluster->intra->name, "pcie4-x16");
  CU_ASSERT_EQUAL(cluster->gpu_hour, 2);
  CU_ASSERT_TRUE(cluster->cpu_amd);
  CU_ASSERT_EQUAL(cluster->nodes, 1);
  /* What the command line leaves open comes from the file, and the settings hold it with its place. */
  CU_ASSERT_STRING_EQUAL(cluster->platform->name, "infiniband");
  CU_ASSERT_EQUAL(cluster->sockets, 2);
  CU_ASSERT_STRING_EQUAL(conf_settings_get(built.settings, "node.gpu"), "h100-sxm5-80gb");
  BasePlace place;
  conf_settings_place(built.settings, "node.gpu", &place);
  CU_ASSERT_TRUE(g_str_has_suffix(place.file, "topologies/dgx-h100.ini"));
}

/* Builds from a topology file of this text, on `nodes` nodes, with more settings. */
static gboolean build_text(Built *built, const char *text, const char *more, GError **error) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *file = g_build_filename(folder, "mine.ini", NULL);
  g_file_set_contents(file, text, -1, NULL);
  g_autofree char *settings = g_strdup_printf("cluster.topology=%s,%s", file, more);
  gboolean done = build(built, settings, error);
  g_remove(file);
  g_rmdir(folder);
  return done;
}

#define NODE    "[node]\ngpu = l40s\ngpus = 8\nintra = pcie4-x16\n"
#define NETWORK "nic = eth-10g\nnics = 1\n"
#define END     "[environment]\nplatform = sockets\n"

static void own_topology(void) {
  g_auto(Built) built = {0};
  GError *error = NULL;
  if (!build_text(&built, NODE END "[price]\nnode_hour = 8 USD\n[host]\ndram_bandwidth = 300 GB/s\n", "cluster.nodes=1",
                  &error))
    g_error("%s", error->message);
  CU_ASSERT_STRING_EQUAL(built.cluster->topology, "mine");
  CU_ASSERT_EQUAL(built.cluster->gpu_hour, 1); /* 8 USD / 8 GPUs */
  CU_ASSERT_EQUAL(built.cluster->dram_bandwidth, 300e9);
  CU_ASSERT_PTR_NULL(built.cluster->nic);
  CU_ASSERT_EQUAL(built.cluster->fabric, HW_FABRIC_SINGLE_SWITCH);
}

static void fails(const char *text, const char *more, const char *fragment) {
  g_auto(Built) built = {0};
  GError *error = NULL;
  HARNESS_FAILS(build_text(&built, text, more, &error), error, fragment);
}

static void errors_point_at_the_topology(void) {
  fails("[node]\ngpu = h100-sxm\ngpus = 8\nintra = pcie4-x16\n" END, "cluster.nodes=1", "mine.ini:2:");
  fails("[node]\ngpu = l40\ngpus = 8\nintra = pcie4-x16\n" END, "cluster.nodes=1", "did you mean \"l40s\"?");
  fails("[node]\ngpu = mi300x\ngpus = 8\nintra = pcie4-x16\n" END, "cluster.nodes=1", "AMD GPUs are not modelled yet");
  fails("[node]\ngpu = l40s\ngpus = 8\nintra = ib-ndr400\n" END, "cluster.nodes=1",
        "node.intra: \"ib-ndr400\" is of scope network; expected one of nvswitch, nvlink, pcie");
  fails(NODE "nic = pcie4-x16\nnics = 1\n" END, "cluster.nodes=1", "node.nic: \"pcie4-x16\" is of scope pcie");
  fails(NODE NETWORK "[environment]\nplatform = infinband\n", "cluster.nodes=1", "did you mean \"infiniband\"?");
  fails("[node]\ngpus = 8\nintra = pcie4-x16\n" END, "cluster.nodes=1", "node.gpu");
  fails(NODE END "[pci]\nswitch.0 = socket.0: gpu.0\n", "cluster.nodes=1", "mine.ini:7:1: pci.lines: gpu.1 is missing");
  fails(NODE END "[fabrik]\nkind = fat-tree\n", "cluster.nodes=1", "did you mean \"fabric\"?");
  fails(NODE END "[training]\nmicro_batch = 1\n", "cluster.nodes=1",
        "mine.ini:7:1: a topology has no group [training]");
  fails(NODE "speed = 3\n" END, "cluster.nodes=1", "mine.ini:5:1");
  fails(NODE NETWORK END "[fabric]\noversubscription = 0.5\n", "cluster.nodes=1", "mine.ini:10:");
  fails(NODE END "[price]\ngpu_hour = 1 USD\nnode_hour = 8 USD\n", "cluster.nodes=1",
        "mine.ini:9:1: price.node_hour: expected one of gpu_hour and node_hour");
}

/* The cap stands in the cluster's own copy; what the kernels' rates were measured at stays. */
static void power_caps(void) {
  g_auto(Built) built = {0}, own = {0};
  const HwGpu *gpu = must_build(&built, "cluster.topology=dgx-h100,cluster.power_cap=0.5 kW")->gpu;
  CU_ASSERT_EQUAL(gpu->power_limit, 500);
  CU_ASSERT_EQUAL(gpu->power_measured, 700);
  CU_ASSERT_STRING_EQUAL(gpu->name, "h100-sxm5-80gb");
  CU_ASSERT_EQUAL(must_build(&own, "cluster.topology=dgx-h100")->gpu->power_limit, 700);
}

/* The share is taken off what long transfers get, not off the line rate by which NCCL chooses. */
static void a_network_gets_its_share(void) {
  g_auto(Built) whole = {0}, part = {0};
  double achieved = must_build(&whole, "cluster.topology=dgx-h100,cluster.nodes=4")->nic_bandwidth;
  const HwCluster *shared = must_build(&part, "cluster.topology=dgx-h100,cluster.nodes=4,cluster.network_share=60%");
  CU_ASSERT_DOUBLE_EQUAL(shared->nic_bandwidth, 0.6 * achieved, 1);
  CU_ASSERT_DOUBLE_EQUAL(shared->links[hw_cluster_nic_in(shared, 1, 3)].capacity, 0.6 * achieved, 1);
}

static void errors_point_at_the_setting(void) {
  fails(NODE END, "cluster.nodes=2", "cluster.nodes: 2 nodes need a network, and a node of \"mine\" has no NICs");
  fails(NODE "nics = 0\n" END, "cluster.nodes=2", "mine.ini:5:1: node.nics: 2 nodes need a network");
  fails(NODE NETWORK END, "cluster.nodes=2,cluster.nics_per_node=0", "cluster.nics_per_node: 2 nodes need a network");
  fails(NODE END, "cluster.nodes=2,cluster.nics_per_node=1", "\"mine\" does not say which (node.nic)");
  fails(NODE END, "cluster.nodes=1,cluster.nic_bandwidth=1 GB/s",
        "cluster.nic_bandwidth: a node of \"mine\" has no NICs");
  fails(NODE END, "cluster.nodes=1,cluster.network_share=60%", "cluster.network_share: a node of \"mine\" has no NICs");
  fails(NODE NETWORK END, "cluster.network_share=1.2", "cluster.network_share");
  fails(NODE NETWORK END, "cluster.nodes=0", "cluster.nodes");
  fails(NODE NETWORK END, "cluster.gpus_per_node=0", "cluster.gpus_per_node");
  fails(NODE NETWORK END, "cluster.gpu=a100", "cluster.gpu: the catalogue has no gpu \"a100\"");
  fails(NODE NETWORK END, "cluster.nodes=65536,cluster.gpus_per_node=32", "are more than 1048576 GPUs");
  fails(NODE NETWORK END, "cluster.gpu_spread=1.05", "cluster.gpu_spread");
  fails(NODE NETWORK END, "cluster.gpu=h100-sxm5-80gb,cluster.power_cap=800 W",
        "cluster.power_cap: h100-sxm5-80gb takes 148 to 700 W");
  fails(NODE NETWORK END, "cluster.gpu=h100-sxm5-80gb,cluster.power_cap=100 W", "takes 148 to 700 W");
  fails(NODE NETWORK END, "cluster.gpu=gh200-96gb,cluster.power_cap=500 W", "no power limit of gh200-96gb is known");
  fails(NODE NETWORK END, "cluster.power_cap=500", "cluster.power_cap");
  g_auto(Built) built = {0};
  GError *error = NULL;
  HARNESS_FAILS(build(&built, "cluster.topology=dgx-h10", &error), error, "did you mean \"dgx-h100\"?");
  g_auto(Built) without = {0};
  HARNESS_FAILS(build(&without, "cluster.nodes=2", &error), error, "cluster.topology");
}

/* `key` = `value` on two DGX H100, where a value may hold commas. */
static gboolean build_faulty(Built *built, const char *key, const char *value, GError **error) {
  const ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  g_autofree char *text = g_strdup_printf("[cluster]\ntopology = dgx-h100\nnodes = 2\n%s = %s\n", key, value);
  g_autoptr(ConfText) workload = conf_text_parse("work.ini", text, strlen(text), NULL);
  built->catalog = hw_catalog_load(NULL);
  built->settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  CU_ASSERT_TRUE_FATAL(conf_settings_load_text(built->settings, workload, CONF_ORIGIN_FILE, NULL));
  built->cluster = hw_cluster_build(built->settings, built->catalog, error);
  return built->cluster != NULL;
}

static void slow_gpus(void) {
  g_auto(Built) built = {0}, whole = {0}, none = {0};
  GError *error = NULL;
  if (!build_faulty(&built, "slow_gpus", "15: 0.8,  3 : 90 %", &error))
    g_error("%s", error->message);
  for (guint32 rank = 0; rank < 16; rank++)
    CU_ASSERT_EQUAL(hw_cluster_speed(built.cluster, rank), rank == 15 ? 0.8 : rank == 3 ? 0.9 : 1);
  must_build(&whole, "cluster.topology=dgx-h100");
  CU_ASSERT_PTR_NULL(whole.cluster->speeds);
  CU_ASSERT_EQUAL(hw_cluster_speed(whole.cluster, 7), 1);
  CU_ASSERT_TRUE(build_faulty(&none, "slow_gpus", "none", &error));
}

static void slow_links(void) {
  g_auto(Built) built = {0};
  GError *error = NULL;
  if (!build_faulty(&built, "slow_links", "nic.1.3: 0.5, gpu.0.7: 0.25", &error))
    g_error("%s", error->message);
  /* 48 GB/s and 382 GB/s, both ways; rank 7 is GPU 7 of node 0; all others are whole. */
  const HwCluster *cluster = built.cluster;
  const guint32 slow[] = {hw_cluster_nic_out(cluster, 1, 3), hw_cluster_nic_in(cluster, 1, 3),
                          hw_cluster_gpu_out(cluster, 7), hw_cluster_gpu_in(cluster, 7)};
  const double left[] = {24e9, 24e9, 95.5e9, 95.5e9};
  const char *const names[] = {"nic.1.3", "nic.1.3", "gpu.0.7", "gpu.0.7"};
  for (gsize i = 0; i < G_N_ELEMENTS(slow); i++) {
    g_autofree char *name = hw_cluster_link_name(cluster, slow[i]);
    CU_ASSERT_EQUAL(cluster->links[slow[i]].capacity, left[i]);
    CU_ASSERT_EQUAL(cluster->links[slow[i]].share, i < 2 ? 0.5 : 0.25);
    CU_ASSERT_STRING_EQUAL(name, names[i]);
  }
  guint whole = 0;
  for (guint32 i = 0; i < cluster->n_links; i++)
    whole += cluster->links[i].share == 1;
  CU_ASSERT_EQUAL(whole, cluster->n_links - 4);
}

static void faults_must_name_what_is_there(void) {
  static const struct {
    const char *key, *value, *fragment;
  } wrong[] = {
      {"slow_gpus", "16: 0.8", "work.ini:4:1: cluster.slow_gpus: no rank 16: the last of 16 is 15"},
      {"slow_gpus", "x: 0.8", "expected \"RANK: SPEED\" such as \"17: 0.8\", found \"x\""},
      {"slow_gpus", "-1: 0.8", "found \"-1\""},
      {"slow_gpus", "3", "expected \"RANK: SPEED\" such as \"17: 0.8\", found \"3\""},
      {"slow_gpus", "3: 0.8,", "found \"\""},
      {"slow_gpus", "3: 0", "3: 0 is out of range: expected a share above 0 and at most 1"},
      {"slow_gpus", "3: 1.2", "3: 1.2 is out of range"},
      {"slow_gpus", "3: fast", "cluster.slow_gpus: 3: "},
      {"slow_gpus", "3: 0.8, 4: 0.8, 3: 0.9", "3 stands twice"},
      {"slow_links", "nic.2.0: 0.5", "work.ini:4:1: cluster.slow_links: no link nic.2.0: the last of 2 nodes is 1"},
      {"slow_links", "nic.0.8: 0.5", "no link nic.0.8: a node has 8 NICs, numbered from 0"},
      {"slow_links", "gpu.0.9: 0.5", "no link gpu.0.9: a node has 8 GPUs, numbered from 0"},
      {"slow_links", "leaf.0: 0.5", "expected \"nic.NODE.INDEX: SHARE\" or \"gpu.NODE.INDEX: SHARE\""},
      {"slow_links", "nic.0: 0.5", "found \"nic.0\""},
      {"slow_links", "nic.0.1: 1.5", "nic.0.1: 1.5 is out of range"},
      {"slow_links", "nic.0.1: 0.5, nic.0.1: 0.5", "nic.0.1 stands twice"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
    g_auto(Built) built = {0};
    GError *error = NULL;
    HARNESS_FAILS(build_faulty(&built, wrong[i].key, wrong[i].value, &error), error, wrong[i].fragment);
  }
}

static void a_workload_names_its_neighbour(void) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *workload = g_build_filename(folder, "work.ini", NULL);
  g_autofree char *topology = g_build_filename(folder, "near.ini", NULL);
  g_file_set_contents(workload, "[cluster]\ntopology = near\nnodes = 3\n", -1, NULL);
  g_file_set_contents(topology, NODE NETWORK END, -1, NULL);
  const ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  g_auto(Built)
      built = {.catalog = hw_catalog_load(NULL), .settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas))};
  GError *error = NULL;
  CU_ASSERT_TRUE_FATAL(conf_settings_load(built.settings, workload, CONF_ORIGIN_FILE, &error));
  built.cluster = hw_cluster_build(built.settings, built.catalog, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(built.cluster);
  CU_ASSERT_STRING_EQUAL(built.cluster->topology, "near");
  CU_ASSERT_EQUAL(hw_cluster_gpus(built.cluster), 24);
  g_remove(workload);
  g_remove(topology);
  g_rmdir(folder);
}

/* A workload that sets a topology's key is told so; the same settings build the same topology again. */
static void a_workload_leaves_the_machine_alone(void) {
  const ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  const char text[] = "[cluster]\ntopology = dgx-h100\n[node]\ngpus = 4\n";
  g_autoptr(ConfText) workload = conf_text_parse("work.ini", text, strlen(text), NULL);
  g_auto(Built)
      built = {.catalog = hw_catalog_load(NULL), .settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas))};
  GError *error = NULL;
  CU_ASSERT_TRUE_FATAL(conf_settings_load_text(built.settings, workload, CONF_ORIGIN_FILE, NULL));
  HARNESS_FAILS(hw_cluster_build(built.settings, built.catalog, &error), error,
                "work.ini:4:1: node.gpus: the topology");
  g_auto(Built) twice = {0};
  must_build(&twice, "cluster.topology=dgx-h100");
  g_autoptr(HwCluster) again = hw_cluster_build(twice.settings, twice.catalog, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(again);
  CU_ASSERT_EQUAL(again->n_links, twice.cluster->n_links);
}

int main(void) {
  return harness_run("hw-cluster",
                     (HarnessCase[]){{"shipped topologies", shipped_topologies},
                                     {"links by index", links_by_index},
                                     {"rails have a leaf each", rails_have_a_leaf_each},
                                     {"fat trees share a leaf", fat_trees_share_a_leaf},
                                     {"a single switch has no leaves", single_switch_has_no_leaves},
                                     {"overrides", overrides},
                                     {"the command line stays above the file", command_line_stays_above_the_file},
                                     {"own topology", own_topology},
                                     {"errors point at the topology", errors_point_at_the_topology},
                                     {"power caps", power_caps},
                                     {"a network gets its share", a_network_gets_its_share},
                                     {"errors point at the setting", errors_point_at_the_setting},
                                     {"slow GPUs", slow_gpus},
                                     {"slow links", slow_links},
                                     {"faults must name what is there", faults_must_name_what_is_there},
                                     {"a workload names its neighbour", a_workload_names_its_neighbour},
                                     {"a workload leaves the machine alone", a_workload_leaves_the_machine_alone},
                                     {NULL, NULL}});
}
