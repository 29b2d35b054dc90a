/* SPDX-License-Identifier: MIT */
/* How many channels NVLS has on Blackwell, by nodes, GPUs of a node, NICs and version. */
#include "graphs.h"

/* NCCL v2.30.7 src/transport/nvls.cc: 24 in one node; over nodes 32, but 24 on more than two with NICs of 48 GB/s or
 * more, those of 96 and more only with up to eight GPUs in a node. Before 2.30 32 over nodes, whatever the NICs. A
 * user's bounds come last; without multicast there are none. */
static void blackwell(void) {
  static const struct {
    const char *version;
    guint32 nodes, gpus;
    double nic_gb; /* GB/s */
    guint32 least, most, heads, channels;
  } cases[] = {
      {"2.30", 1, 8, 0, 0, 0, 8, 24},    {"2.30", 2, 8, 48, 0, 0, 8, 32},  {"2.30", 3, 8, 48, 0, 0, 8, 24},
      {"2.30", 3, 8, 47.9, 0, 0, 8, 32}, {"2.30", 3, 16, 48, 0, 0, 8, 24}, {"2.30", 2, 8, 96, 0, 0, 8, 32},
      {"2.30", 3, 8, 96, 0, 0, 8, 24},   {"2.30", 3, 9, 96, 0, 0, 8, 32},  {"2.30", 3, 9, 95.9, 0, 0, 8, 24},
      {"2.28", 1, 8, 0, 0, 0, 8, 24},    {"2.28", 2, 8, 48, 0, 0, 8, 32},  {"2.28", 3, 8, 48, 0, 0, 8, 32},
      {"2.28", 3, 16, 96, 0, 0, 8, 32},  {"2.30", 3, 8, 48, 0, 20, 8, 20}, {"2.30", 3, 8, 48, 28, 0, 8, 28},
      {"2.30", 3, 8, 48, 0, 0, 0, 0},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    CollSearchRules rules;
    CU_ASSERT_TRUE_FATAL(coll_search_rules_load(cases[i].version, &rules, NULL));
    CollGraphs graphs = {.nic_rate = cases[i].nic_gb * 1e9, .capability = 100, .node_peer = 1, .net_peer = 1};
    graphs.graph[COLL_GRAPH_RING].channels = graphs.graph[COLL_GRAPH_TREE].channels = 8;
    graphs.graph[COLL_GRAPH_NVLS].channels = cases[i].heads;
    CollGraphRequest request = {.n_gpus = cases[i].gpus,
                                .nodes = cases[i].nodes,
                                .ranks = cases[i].gpus * cases[i].nodes,
                                .min_channels = cases[i].least,
                                .max_channels = cases[i].most};
    CollCounts counts;
    coll_graphs_count(&graphs, &rules, &request, &counts);
    if (counts.nvls != cases[i].channels)
      printf("\n    case %zu: %u\n", i, counts.nvls);
    CU_ASSERT_EQUAL(counts.nvls, cases[i].channels);
  }
}

/* The slowest NIC decides: three nodes of DGX B200 have NICs of 400 Gb/s, 50 GB/s, and so 24 channels; one of 200 Gb/s
 * among them makes it 32. In one node there is no NIC. */
static void of_a_machine(void) {
  static const struct {
    const char *more;
    guint32 nodes, channels;
    double nic_gb; /* GB/s */
  } cases[] = {{"cluster.topology=dgx-b200;cluster.nodes=3", 3, 24, 50},
               {"cluster.topology=dgx-b200;cluster.nodes=3;node.nic=ib-hdr200", 3, 32, 25},
               {"cluster.topology=dgx-b200;cluster.nodes=3", 1, 24, 0}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_auto(World) world = {0};
    const CollGraphs *graphs = world_build(&world, NULL, cases[i].more, 8, cases[i].nodes, "2.30");
    CU_ASSERT_DOUBLE_EQUAL(graphs->nic_rate / 1e9, cases[i].nic_gb, 1e-9);
    CU_ASSERT_EQUAL(graphs->counts.nvls, cases[i].channels);
  }
}

int main(void) {
  return harness_run("coll-counts",
                     (HarnessCase[]){{"NVLS on Blackwell", blackwell}, {"of a machine", of_a_machine}, {NULL, NULL}});
}
