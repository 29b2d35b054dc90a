/* SPDX-License-Identifier: MIT */
/* Graphs of known machines: what NCCL's logs say of them or follows by hand from its rules, in each case's comment;
 * what the user's knobs do, and how graphs are printed. */
#include "graphs.h"

#define END "[environment]\nplatform = infiniband\n"

/* Four H100, six NVLinks to each other, a NIC of 200 Gb/s under the switch of each; EPYC. */
#define FOUR_H100                                                                                                      \
  "[node]\ngpu = h100-sxm5-80gb\ngpus = 4\nintra = nvlink4-mesh\nnic = ib-hdr200\nnics = 4\ncpu = amd-genoa\n" END
/* Four A100, four NVLinks to each other. */
#define FOUR_A100                                                                                                      \
  "[node]\ngpu = a100-sxm4-40gb\ngpus = 4\nintra = nvlink3-nvswitch2\n" END                                            \
  "[nvlink]\ngpu.0 = gpu.1*4 gpu.2*4 gpu.3*4\ngpu.1 = gpu.2*4 gpu.3*4\ngpu.2 = gpu.3*4\n"
/* DGX-1: six links to four neighbours; a NIC to two GPUs. */
#define CUBE_MESH                                                                                                      \
  "[node]\ngpu = v100-sxm2-16gb\ngpus = 8\nintra = nvlink2-mesh\nnic = ib-edr100\nnics = 4\ncpu = "                    \
  "intel-broadwell\n" END                                                                                              \
  "[nvlink]\ngpu.0 = gpu.1 gpu.2 gpu.3*2 gpu.4*2\ngpu.1 = gpu.2*2 gpu.3 gpu.5*2\ngpu.2 = gpu.3*2 gpu.6\n"              \
  "gpu.3 = gpu.7\ngpu.4 = gpu.5 gpu.6 gpu.7*2\ngpu.5 = gpu.6*2 gpu.7\ngpu.6 = gpu.7*2\n"
/* Two pairs of A100 PCIe, bridged by twelve links, a pair to a socket. */
#define PAIRS(cpu)                                                                                                     \
  "[node]\ngpu = a100-pcie-80gb\ngpus = 4\nintra = pcie4-x16\ncpu = " cpu "\n" END                                     \
  "[nvlink]\ngpu.0 = gpu.1*12\ngpu.2 = gpu.3*12\n"
/* Eight L40S, four to a switch, a switch to a socket. */
#define L40S "[node]\ngpu = l40s\ngpus = 8\nintra = pcie4-x16\ncpu = intel-spr\ngpus_per_switch = 4\n" END

static const struct {
  const char *name, *text, *more;
  guint32 gpus, nodes;
  const char *version;
  Speed ring;
  CollPathType type_intra, type_inter;
  guint32 cross_nic;
  CollPattern tree_pattern;
  Speed tree, nvls;
  CollCounts counts; /* coll, nvls, p2p, to one peer */
} known[] = {
    /* 12 links × 20 = 240 from each GPU: at 40, the first speed, six rings take all of it; 40 is halved. Two trees to a
       ring: 24. A peer has all 12 links: 2 × 12 = 24, to a power of two 32 */
    {"8 A100",
     NULL,
     "cluster.topology=dgx-a100",
     8,
     1,
     "2.30",
     {12, 20, 20},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {12, 20, 20},
     {0, 0, 0},
     {24, 0, 32, 32}},
    /* 18 × 20.6 = 370.8: six rings of 60 (360; eight of 45 are not on the ladder, seven of 50 are 350), halved. NVLS:
     * each GPU pulls once for each of eight heads and twice for its own: nine times 40 is 360, nine times 50 too much;
     * then the other rate is raised to 60, the ladder's top. A log of six and eight H100 shows 24, 16, 32, 32 */
    {"8 H100",
     NULL,
     "cluster.topology=dgx-h100",
     8,
     1,
     "2.30",
     {12, 30, 30},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {12, 30, 30},
     {8, 40, 60},
     {24, 16, 32, 32}},
    /* Seven times 50 is 350 */
    {"6 H100",
     NULL,
     "cluster.topology=dgx-h100",
     6,
     1,
     "2.29",
     {12, 30, 30},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {12, 30, 30},
     {6, 50, 60},
     {24, 16, 32, 32}},
    /* Six links, 123.6, to each of three: two channels of 60 on each, six rings, halved. No switch, no NVLS; 2 × 6 = 12
       channels to a peer, to a power of two 16. As logged */
    {"4 H100 mesh",
     FOUR_H100,
     "",
     4,
     1,
     "2.30",
     {12, 30, 30},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {12, 30, 30},
     {0, 0, 0},
     {24, 0, 32, 16}},
    /* Two channels of 40 on the 80 of each pair: 240 in all, halved; 2 × 4 to a peer */
    {"4 A100 mesh",
     FOUR_A100,
     "",
     4,
     1,
     "2.30",
     {12, 20, 20},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {12, 20, 20},
     {0, 0, 0},
     {24, 0, 32, 8}},
    /* Double links make one cycle through all eight: two ways at 40, 80; at 20 four of those and two more over the
     * single
       links: 120, all of it. 20 is not halved. Some pairs have no NVLink of their own: 2 to a peer */
    {"DGX-1",
     CUBE_MESH,
     "",
     8,
     1,
     "2.30",
     {6, 20, 20},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {6, 20, 20},
     {0, 0, 0},
     {12, 0, 16, 2}},
    /* 721.8: eight of 90, halved; trees the same. Nine times 80 is 720; 90 the top */
    {"8 B200",
     NULL,
     "cluster.topology=dgx-b200",
     8,
     1,
     "2.30",
     {16, 45, 45},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {16, 45, 45},
     {8, 80, 90},
     {32, 24, 32, 32}},
    /* A NIC carries 48 each: eight channels. By one NIC in and out (over the GPU near it) all would need eight ways out
     * of 370.8, that is seven; so pairs of channels swap NICs. Trees do not close: eight, raised no further
     * (8 × 50 × 7/8 is 350, but 50 is not on this ladder). NVLS 40 inside, 48 outside */
    {"2 x 8 H100",
     NULL,
     "cluster.topology=dgx-h100;cluster.nodes=2",
     8,
     2,
     "2.28",
     {8, 48, 48},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     2,
     COLL_TREE_PLAIN,
     {8, 48, 48},
     {8, 40, 48},
     {16, 16, 16, 2}},
    /* Later versions give a peer over the network a channel for each 14 GB/s: 48 is four; 16 ranks are two batches of
       eight, 4 × 2 fit in 16 */
    {"2 x 8 H100 by rate",
     NULL,
     "cluster.topology=dgx-h100;cluster.nodes=2",
     8,
     2,
     "2.30",
     {8, 48, 48},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     2,
     COLL_TREE_PLAIN,
     {8, 48, 48},
     {8, 40, 48},
     {16, 16, 16, 4}},
    /* Four NICs of 200 Gb/s (25, of which 24 is on the ladder): in and out by one NIC, over the GPU near it. Trees go
       twice as fast inside: 48, three channels' ways of 123.6 to each. As a log of two nodes shows: 8, 0, 8, 2 */
    {"2 x 4 H100",
     FOUR_H100,
     "cluster.nodes=2",
     4,
     2,
     "2.22.3",
     {4, 24, 24},
     COLL_PATH_NVL,
     COLL_PATH_PXN,
     0,
     COLL_TREE_PLAIN,
     {4, 48, 24},
     {0, 0, 0},
     {8, 0, 8, 2}},
    /* 12.5 a NIC: 12. Balanced trees: in by GPU a and out by it and its neighbour under the same switch, half each;
     * twice
       as fast inside */
    {"2 x 8 A100 (p4d)",
     NULL,
     "cluster.topology=aws-p4d;cluster.nodes=2",
     8,
     2,
     "2.28",
     {4, 12, 12},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {4, 24, 12},
     {0, 0, 0},
     {8, 0, 8, 2}},
    /* One GPU, one NIC: 24 on Ampere below the speed that is halved; 48 on Hopper halved, so two channels, doubled */
    {"2 x 1 A100",
     NULL,
     "cluster.topology=dgx-a100;cluster.nodes=2;cluster.nics_per_node=8",
     1,
     2,
     "2.28",
     {1, 24, 24},
     COLL_PATH_LOC,
     COLL_PATH_PIX,
     0,
     COLL_TREE_PLAIN,
     {1, 48, 24},
     {0, 0, 0},
     {2, 0, 2, 2}},
    {"2 x 1 H100",
     NULL,
     "cluster.topology=dgx-h100;cluster.nodes=2",
     1,
     2,
     "2.28",
     {2, 24, 24},
     COLL_PATH_LOC,
     COLL_PATH_PIX,
     0,
     COLL_TREE_PLAIN,
     {2, 48, 24},
     {0, 0, 0},
     {4, 0, 4, 2}},
    /* One rank: any speed will do and all channels there are, 64 since 2.25, 32 before. As logged by 2.22 and 2.26 */
    {"1 H100",
     NULL,
     "cluster.topology=dgx-h100",
     1,
     1,
     "2.22",
     {16, 60, 60},
     COLL_PATH_LOC,
     COLL_PATH_PIX,
     0,
     COLL_TREE_PLAIN,
     {16, 60, 60},
     {0, 0, 0},
     {32, 0, 32, 32}},
    {"1 V100",
     NULL,
     "cluster.topology=dgx2-v100",
     1,
     1,
     "2.26",
     {32, 40, 40},
     COLL_PATH_LOC,
     COLL_PATH_PIX,
     0,
     COLL_TREE_PLAIN,
     {32, 40, 40},
     {0, 0, 0},
     {64, 0, 64, 64}},
    /* The sockets carry 16 each way, a ring crosses once each way, and two pairs ask for two channels at least: 2 × 7,
       3 × 5, 4 × 4, 5 × 3; EPYC keeps them alike */
    {"2 bridged pairs, AMD",
     PAIRS("amd-milan"),
     "",
     4,
     1,
     "2.30",
     {4, 4, 4},
     COLL_PATH_SYS,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {4, 4, 4},
     {0, 0, 0},
     {8, 0, 8, 2}},
    /* 10 on Ice Lake: 2 × 5. A chain crosses once: one tree each way, at 10 */
    {"2 bridged pairs, Intel",
     PAIRS("intel-icelake"),
     "",
     4,
     1,
     "2.30",
     {2, 5, 5},
     COLL_PATH_SYS,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {2, 10, 10},
     {0, 0, 0},
     {4, 0, 4, 2}},
    /* 240 in a pair, as in the switch */
    {"a bridged pair",
     PAIRS("amd-milan"),
     "",
     2,
     1,
     "2.30",
     {12, 20, 20},
     COLL_PATH_NVL,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {12, 40, 40},
     {0, 0, 0},
     {24, 0, 32, 32}},
    /* 24 a GPU under one switch: 1 × 20, 1 × 18, 1 × 15, 2 × 12 */
    {"4 L40S under a switch",
     L40S,
     "",
     4,
     1,
     "2.30",
     {2, 12, 12},
     COLL_PATH_PIX,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {2, 12, 12},
     {0, 0, 0},
     {4, 0, 4, 2}},
    /* 22 between Sapphire Rapids: 1 × 20 is more than 2 × 10 is, and as much */
    {"8 L40S over two sockets",
     L40S,
     "",
     8,
     1,
     "2.30",
     {1, 20, 20},
     COLL_PATH_SYS,
     COLL_PATH_PIX,
     0,
     COLL_TREE_BALANCED,
     {1, 20, 20},
     {0, 0, 0},
     {2, 0, 2, 2}},
};

static void known_machines(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++) {
    g_auto(World) world = {0};
    const CollGraphs *graphs =
        world_build(&world, known[i].text, known[i].more, known[i].gpus, known[i].nodes, known[i].version);
    const CollGraph *ring = &graphs->graph[COLL_GRAPH_RING], *tree = &graphs->graph[COLL_GRAPH_TREE];
    expect_speed(known[i].name, "ring", ring, known[i].ring);
    expect_speed(known[i].name, "tree", tree, known[i].tree);
    expect_speed(known[i].name, "nvls", &graphs->graph[COLL_GRAPH_NVLS], known[i].nvls);
    CU_ASSERT_EQUAL(ring->type_intra, known[i].type_intra);
    CU_ASSERT_EQUAL(ring->type_inter, known[i].type_inter);
    CU_ASSERT_EQUAL(ring->cross_nic, known[i].cross_nic);
    CU_ASSERT_EQUAL(tree->pattern, known[i].tree_pattern);
    const CollCounts *counts = &graphs->counts, *wanted = &known[i].counts;
    if (memcmp(counts, wanted, sizeof *counts) != 0)
      printf("\n    %s: %u coll, %u nvls, %u p2p, %u per peer\n", known[i].name, counts->coll, counts->nvls,
             counts->p2p, counts->p2p_per_peer);
    CU_ASSERT_EQUAL(memcmp(counts, wanted, sizeof *counts), 0);
  }
}

static void expect_order(const CollGraph *graph, guint32 channel, const char *wanted) {
  g_autoptr(GString) found = g_string_new(NULL);
  for (guint32 i = 0; i < graph->gpus; i++)
    g_string_append_printf(found, "%s%u", i > 0 ? " " : "", graph->order[channel * graph->gpus + i]);
  CU_ASSERT_STRING_EQUAL(found->str, wanted);
}

/* The log of two nodes of four H100, NCCL 2.22.3, shows the first two rings (ranks of the first node) and the four
 * trees (0 ─ 1 ─ 2 ─ 3; 1 ─ 2 ─ 3 ─ 0; 2 ─ 0 ─ 1 ─ 3; 3 ─ 0 ─ 2 ─ 1), each begun at the GPU whose NIC it uses. */
static void orders_as_logged(void) {
  g_auto(World) world = {0};
  const CollGraphs *graphs = world_build(&world, FOUR_H100, "cluster.nodes=2", 4, 2, "2.22.3");
  const CollGraph *ring = &graphs->graph[COLL_GRAPH_RING], *tree = &graphs->graph[COLL_GRAPH_TREE];
  expect_order(ring, 0, "0 1 2 3");
  expect_order(ring, 1, "1 3 2 0");
  expect_order(tree, 0, "0 1 2 3");
  expect_order(tree, 1, "1 2 3 0");
  expect_order(tree, 2, "2 0 1 3");
  expect_order(tree, 3, "3 0 2 1");
  for (guint32 channel = 0; channel < 4; channel++)
    for (guint end = 0; end < 2; end++) {
      CU_ASSERT_EQUAL(ring->nics[channel * 2 + end], channel);
      CU_ASSERT_EQUAL(tree->nics[channel * 2 + end], channel);
    }
  /* The log of six H100 behind switches: every ring in order of index. */
  g_auto(World) six = {0};
  graphs = world_build(&six, NULL, "cluster.topology=dgx-h100", 6, 1, "2.29");
  for (guint32 channel = 0; channel < 12; channel++) {
    expect_order(&graphs->graph[COLL_GRAPH_RING], channel, "0 1 2 3 4 5");
    expect_order(&graphs->graph[COLL_GRAPH_TREE], channel, "0 1 2 3 4 5");
  }
}

static void described_as_nccl_logs(void) {
  g_auto(World) world = {0};
  const CollGraphs *graphs = world_build(&world, L40S, "", 2, 1, "2.30");
  g_autoptr(GString) text = g_string_new(NULL);
  coll_graphs_describe(graphs, world.gpus, text);
  /* 24 under one switch: 2 × 12 in a ring of two; a chain needs each link one way only, so each tree goes at 20. */
  CU_ASSERT_STRING_EQUAL(text->str,
                         "Pattern 4, crossNic 0, nChannels 2, bw 12.000000/12.000000, type PIX/PIX, sameChannels 1\n"
                         " 0 : GPU/0-0 GPU/0-1\n 1 : GPU/0-0 GPU/0-1\n"
                         "Pattern 1, crossNic 0, nChannels 2, bw 20.000000/20.000000, type PIX/PIX, sameChannels 0\n"
                         " 0 : GPU/0-0 GPU/0-1\n 1 : GPU/0-1 GPU/0-0\n"
                         "Pattern 5, crossNic 0, nChannels 0, bw 0.000000/0.000000, type LOC/LOC, sameChannels 0\n"
                         "4 coll channels, 0 nvls channels, 4 p2p channels, 2 p2p channels per peer\n");
  g_auto(World) nodes = {0};
  graphs = world_build(&nodes, FOUR_H100, "cluster.nodes=2", 4, 2, "2.22");
  g_string_truncate(text, 0);
  coll_graph_describe(&graphs->graph[COLL_GRAPH_TREE], nodes.gpus, text);
  CU_ASSERT_TRUE(g_str_has_prefix(text->str,
                                  "Pattern 3, crossNic 0, nChannels 4, bw 48.000000/24.000000, type NVL/PIX, "
                                  "sameChannels 0\n 0 : NET/0-0 GPU/0-0 GPU/0-1 GPU/0-2 GPU/0-3 NET/0-0\n"));
}

/* The user's bounds; NVLS off; a driver without peer access; one rail only. Then counts without a search. */
static void knobs(void) {
  g_auto(World) world = {0};
  world_build(&world, NULL, "cluster.topology=dgx-h100;cluster.nodes=2", 8, 2, "2.30");
  CollCounts counts;
  CollGraphRequest request = world.request;
  request.max_channels = 4;
  coll_graphs_count(world.graphs, &world.rules, &request, &counts);
  CU_ASSERT_EQUAL(counts.coll, 4);
  CU_ASSERT_EQUAL(counts.nvls, 4);
  CU_ASSERT_EQUAL(counts.p2p, 4);
  request.max_channels = 0;
  request.min_channels = 24;
  coll_graphs_count(world.graphs, &world.rules, &request, &counts);
  CU_ASSERT_EQUAL(counts.coll, 24);
  CU_ASSERT_EQUAL(counts.p2p, 32);
  /* 1 024 ranks are 128 batches of eight: one channel to a peer. */
  request = world.request;
  request.nodes = 128;
  request.ranks = 1024;
  coll_graphs_count(world.graphs, &world.rules, &request, &counts);
  CU_ASSERT_EQUAL(counts.p2p_per_peer, 1);
  CU_ASSERT_TRUE(coll_graph_requests_share(&request, &world.request));
  CU_ASSERT_EQUAL(coll_graph_request_hash(&request), coll_graph_request_hash(&world.request));
  request.nodes = 1;
  CU_ASSERT_FALSE(coll_graph_requests_share(&request, &world.request));
  request = world.request;
  request.nvls = FALSE;
  request.cross_nic = 0;
  CU_ASSERT_FALSE(coll_graph_requests_share(&request, &world.request));
  GError *error = NULL;
  const HwMachine *machine = world.machine.cluster->machine;
  g_autoptr(CollGraphs) off = coll_graphs_new(machine, &world.rules, &request, &error);
  CU_ASSERT_EQUAL(off->graph[COLL_GRAPH_NVLS].channels, 0);
  CU_ASSERT_EQUAL(off->counts.nvls, 0);
  CU_ASSERT_EQUAL(off->graph[COLL_GRAPH_RING].cross_nic, 0);
  /* Each of eight rings takes eight ways out of 370.8 (the last over the GPU near its NIC): 45, where 48 would be
   * seven. */
  expect_speed("one rail", "ring", &off->graph[COLL_GRAPH_RING], (Speed){8, 45, 45});
  request = world.request;
  request.p2p = FALSE;
  request.nodes = 1;
  g_autoptr(CollGraphs) none = coll_graphs_new(machine, &world.rules, &request, &error);
  CU_ASSERT_EQUAL(none->graph[COLL_GRAPH_RING].type_intra, COLL_PATH_SYS);
  g_auto(World) box = {0};
  world_build(&box, L40S, "", 4, 1, "2.30");
  request = box.request;
  request.nodes = 2;
  HARNESS_FAILS(coll_graphs_new(box.machine.cluster->machine, &box.rules, &request, &error) != NULL, error,
                "a communicator over 2 nodes needs NICs");
}

int main(void) {
  return harness_run("coll-graph", (HarnessCase[]){{"known machines", known_machines},
                                                   {"orders as logged", orders_as_logged},
                                                   {"described as NCCL logs", described_as_nccl_logs},
                                                   {"knobs", knobs},
                                                   {NULL, NULL}});
}
