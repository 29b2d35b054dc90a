/* SPDX-License-Identifier: MIT */
/* Paths of known machines: type, rate and length by hand from what NCCL counts for each link (topologies/catalog/
 * nccl-search.ini); who prefers which NIC; what changes with the version. */
#include <glib/gstdio.h>

#include "coll-path.h"
#include "machine.h"

#define GB(x) ((gint64)((x)*1000000000.0 + 0.5))

typedef struct {
  Machine machine;
  CollSearchRules rules;
  CollSystem *system;
} World;

static void world_clear(World *world) {
  coll_system_free(world->system);
  machine_clear(&world->machine);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(World, world_clear)

/* The first `n` GPUs. */
static const CollSystem *build(World *ret, const char *text, const char *more, guint32 n, guint32 nodes, gboolean p2p,
                               const char *version) {
  GError *error = NULL;
  const HwMachine *machine = machine_must(&ret->machine, text, more);
  if (!coll_search_rules_load(version, &ret->rules, &error))
    g_error("%s", error->message);
  g_autofree guint32 *gpus = g_new(guint32, n);
  for (guint32 i = 0; i < n; i++)
    gpus[i] = i;
  ret->system = coll_system_new(machine, &ret->rules, &(CollView){gpus, n, nodes > 1, p2p});
  return ret->system;
}

static void expect(const CollSystem *system, guint32 from, guint32 to, CollPathType type, gint64 rate, guint32 count) {
  const CollPath *path = coll_system_path(system, from, to);
  if (path->type != type || path->rate != rate || path->count != count)
    printf("\n    %u to %u: %s %g GB/s %u steps\n", from, to, coll_path_names[path->type], (double)path->rate / 1e9,
           path->count);
  CU_ASSERT_EQUAL(path->type, type);
  CU_ASSERT_EQUAL(path->rate, rate);
  CU_ASSERT_EQUAL(path->count, count);
}

static guint32 gpu(guint32 index) {
  return index;
}

static guint32 net(const CollSystem *system, guint32 index) {
  return coll_system_net(system, index);
}

/* 18 NVLinks of 20.6 into the switch and out: two steps. A GPU and its own NIC share a switch: GPU, switch, NIC,
 * network: three steps at what gen5 x16 carries, 48. To another's NIC over the GPU near it: 2 + 3. Back, where no such
 * detour is taken: over the host bridge, NIC, switch, socket, switch, GPU; and between Sapphire Rapids at 22. */
static void dgx_h100(void) {
  g_auto(World) world = {0};
  const CollSystem *system = build(&world, NULL, "cluster.topology=dgx-h100;cluster.nodes=2", 8, 2, TRUE, "2.30");
  expect(system, gpu(0), gpu(1), COLL_PATH_NVL, GB(370.8), 2);
  expect(system, gpu(0), gpu(7), COLL_PATH_NVL, GB(370.8), 2);
  expect(system, gpu(3), net(system, 3), COLL_PATH_PIX, GB(48), 3);
  expect(system, net(system, 3), gpu(3), COLL_PATH_PIX, GB(48), 3);
  expect(system, gpu(0), net(system, 1), COLL_PATH_PXN, GB(48), 5);
  expect(system, gpu(0), net(system, 7), COLL_PATH_PXN, GB(48), 5);
  expect(system, net(system, 1), gpu(0), COLL_PATH_PHB, GB(48), 5);
  expect(system, net(system, 7), gpu(0), COLL_PATH_SYS, GB(22), 6);
  CU_ASSERT_EQUAL(system->most_rate, GB(48));
  CU_ASSERT_EQUAL(system->total_rate, GB(370.8));
  for (guint32 i = 0; i < 8; i++) {
    CU_ASSERT_EQUAL(system->near_gpu[i], i);
    CU_ASSERT_EQUAL(system->n_near_nets[i], 1);
    CU_ASSERT_EQUAL(system->near_nets[i][0], i);
  }
}

/* Without the network nobody sees NICs. In 2.18 a Hopper link counts 20; the sockets 10. */
static void by_version(void) {
  g_auto(World) old = {0}, net_old = {0};
  const CollSystem *system = build(&old, NULL, "cluster.topology=dgx-h100", 8, 1, TRUE, "2.18.3");
  expect(system, gpu(0), gpu(1), COLL_PATH_NVL, GB(360), 2);
  CU_ASSERT_EQUAL(system->n_nets, 0);
  system = build(&net_old, NULL, "cluster.topology=dgx-h100;cluster.nodes=2", 8, 2, TRUE, "2.20");
  expect(system, gpu(0), gpu(1), COLL_PATH_NVL, GB(370.8), 2);
  expect(system, net(system, 7), gpu(0), COLL_PATH_SYS, GB(10), 6);
  CollSearchRules rules;
  GError *error = NULL;
  HARNESS_FAILS(coll_search_rules_load("2.16", &rules, &error), error, "has no such figure for NCCL 2.16");
  HARNESS_FAILS(coll_search_rules_load("new", &rules, &error), error, "expected a version of NCCL such as 2.30");
}

/* Two GPUs and one NIC under each switch; 12 links of 20; EFA's 12.5 on the wire. GPU 1's NIC is GPU 0's too; both are
 * equally near, so the first is the NIC's own. */
static void aws_p4d(void) {
  g_auto(World) world = {0};
  const CollSystem *system = build(&world, NULL, "cluster.topology=aws-p4d;cluster.nodes=2", 8, 2, TRUE, "2.30");
  expect(system, gpu(0), gpu(1), COLL_PATH_NVL, GB(240), 2);
  expect(system, gpu(1), net(system, 0), COLL_PATH_PIX, GB(12.5), 3);
  expect(system, gpu(2), net(system, 0), COLL_PATH_PXN, GB(12.5), 5);
  CU_ASSERT_EQUAL(system->near_nets[1][0], 0);
  CU_ASSERT_EQUAL(system->near_gpu[0], 0);
  CU_ASSERT_EQUAL(system->near_gpu[3], 6);
}

/* Two GPUs and two NICs under each switch: the first GPU takes the first. Four NICs to a GPU: all four, from the
 * first. */
static void who_prefers_which(void) {
  g_auto(World) a100 = {0}, p5 = {0};
  const CollSystem *system = build(&a100, NULL, "cluster.topology=dgx-a100;cluster.nodes=2", 8, 2, TRUE, "2.30");
  for (guint32 i = 0; i < 8; i++) {
    CU_ASSERT_EQUAL(system->n_near_nets[i], 1);
    CU_ASSERT_EQUAL(system->near_nets[i][0], i);
    CU_ASSERT_EQUAL(system->near_gpu[i], i);
  }
  system = build(&p5, NULL, "cluster.topology=aws-p5;cluster.nodes=2;node.nics_grouped=1", 8, 2, TRUE, "2.30");
  for (guint32 i = 0; i < 8; i++) {
    CU_ASSERT_EQUAL(system->n_near_nets[i], 4);
    for (guint32 channel = 0; channel < 4; channel++) {
      CU_ASSERT_EQUAL(system->near_nets[i][channel], 4 * i + channel);
      CU_ASSERT_EQUAL(system->near_gpu[4 * i + channel], i);
    }
  }
}

#define BOX(gpus, cpu, platform)                                                                                       \
  "[node]\ngpu = a100-pcie-80gb\ngpus = " gpus "\nintra = pcie4-x16\nnic = ib-hdr200\nnics = 1\ncpu = " cpu            \
  "\n[environment]\nplatform = " platform "\n"

/*    socket 0                socket 1
 *      switch 0                 gpu 4
 *       ├ gpu 0, gpu 1, nic 0
 *       ├ switch 1: gpu 2
 *      switch 2: gpu 3
 *
 * Under one switch PIX; through two PXB, also to a NIC; between switches of a socket PHB; between sockets SYS. Beyond
 * PXB GPUs do not reach each other, so they go over the socket of the one that receives: the same steps here. */
static void pci_tree(void) {
  g_auto(World) world = {0};
  const char *text = BOX("5", "intel-icelake", "infiniband") "[pci]\nswitch.0 = socket.0: gpu.0 gpu.1 nic.0\nswitch.1 "
                                                             "= switch.0@x8: gpu.2\nswitch.2 = socket.0@gen3: gpu.3\n"
                                                             "socket.1 = gpu.4\n";
  const CollSystem *system = build(&world, text, "cluster.nodes=2", 5, 2, TRUE, "2.30");
  expect(system, gpu(0), gpu(1), COLL_PATH_PIX, GB(24), 2);
  expect(system, gpu(0), gpu(2), COLL_PATH_PXB, GB(12), 3); /* gen4 x8 */
  expect(system, gpu(0), gpu(3), COLL_PATH_PHB, GB(12), 4); /* gen3 x16 */
  expect(system, gpu(0), gpu(4), COLL_PATH_SYS, GB(10), 4); /* Ice Lake's 10 between the sockets */
  expect(system, gpu(1), net(system, 0), COLL_PATH_PIX, GB(24), 3);
  expect(system, gpu(2), net(system, 0), COLL_PATH_PXB, GB(12), 4);
  expect(system, gpu(4), net(system, 0), COLL_PATH_SYS, GB(10), 5);
  CU_ASSERT_EQUAL(system->most_rate, GB(24));
  CU_ASSERT_EQUAL(system->total_rate, GB(24));
}

/* A link whose rate is given has that, in whole bytes/s, whatever its generation and lanes; it may be the least. */
static void given_rates(void) {
  g_auto(World) world = {0};
  const char *text =
      BOX("2", "intel-icelake", "infiniband") "[pci]\nswitch.0 = socket.0@20.5GB/s: gpu.0@21.5GB/s nic.0\n"
                                              "socket.1 = gpu.1\n";
  const CollSystem *system = build(&world, text, "cluster.nodes=2", 2, 2, TRUE, "2.30");
  expect(system, gpu(0), net(system, 0), COLL_PATH_PIX, GB(21.5), 3);
  expect(system, gpu(0), coll_system_part(system, COLL_PART_SOCKET, 0), COLL_PATH_PHB, GB(20.5), 2);
  CU_ASSERT_EQUAL(system->pci_rate[0], 21500000000);
  CU_ASSERT_EQUAL(system->pci_rate[1], 24000000000);
}

/* Two GPUs on two EPYC sockets reach each other; not where the driver forbids it. With P2P off all pairs go over the
 * socket: under one switch GPU, switch, socket, switch, GPU instead of two steps. */
static void peers(void) {
  g_auto(World) amd = {0}, forbidden = {0};
  const char *two = BOX("2", "amd-milan", "infiniband") "[pci]\nsocket.0 = gpu.0 nic.0\nsocket.1 = gpu.1\n";
  const CollSystem *system = build(&amd, two, "", 2, 1, TRUE, "2.30");
  expect(system, gpu(0), gpu(1), COLL_PATH_SYS, GB(16), 3);
  const char *pair = BOX("2", "amd-milan", "infiniband") "[pci]\nswitch.0 = socket.0: gpu.0 gpu.1 nic.0\n";
  system = build(&forbidden, pair, "", 2, 1, FALSE, "2.30");
  expect(system, gpu(0), gpu(1), COLL_PATH_PHB, GB(24), 4);
  expect(system, gpu(0), gpu(0), COLL_PATH_LOC, G_MAXINT64, 0);
}

/* A NIC that does not reach GPU memory is reached over the host's: three steps become GPU, switch, socket and socket,
 * switch, NIC, network. */
static void no_gdr(void) {
  g_auto(World) world = {0}, with = {0};
  const char *tree = "[pci]\nswitch.0 = socket.0: gpu.0 nic.0\n";
  g_autofree char *without = g_strconcat(BOX("1", "intel-icelake", "sockets"), tree, NULL);
  const CollSystem *system = build(&world, without, "cluster.nodes=2", 1, 2, TRUE, "2.30");
  expect(system, gpu(0), net(system, 0), COLL_PATH_PHB, GB(24), 5);
  expect(system, net(system, 0), gpu(0), COLL_PATH_PHB, GB(24), 5);
  g_autofree char *direct = g_strconcat(BOX("1", "intel-icelake", "infiniband"), tree, NULL);
  system = build(&with, direct, "cluster.nodes=2", 1, 2, TRUE, "2.30");
  expect(system, gpu(0), net(system, 0), COLL_PATH_PIX, GB(24), 3);
}

/* The cube mesh of DGX-1: six links of 20 to four neighbours, two of them double. */
#define CUBE_MESH                                                                                                      \
  "[node]\ngpu = v100-sxm2-16gb\ngpus = 8\nintra = nvlink2-mesh\nnic = ib-edr100\nnics = 4\ncpu = intel-broadwell\n"   \
  "[environment]\nplatform = infiniband\n[nvlink]\n"                                                                   \
  "gpu.0 = gpu.1 gpu.2 gpu.3*2 gpu.4*2\ngpu.1 = gpu.2*2 gpu.3 gpu.5*2\ngpu.2 = gpu.3*2 gpu.6\ngpu.3 = gpu.7\n"         \
  "gpu.4 = gpu.5 gpu.6 gpu.7*2\ngpu.5 = gpu.6*2 gpu.7\ngpu.6 = gpu.7*2\n"

/* Neighbours directly; others over one GPU (NVB), at the lesser of the two: 0 to 5 by 1 (20, 40) or 4 (40, 20); 0 to 6
 * by 2 or 4, 20 again; 0 to 7 by 4 (40, 40): the first find of most rate. */
static void cube_mesh(void) {
  g_auto(World) world = {0};
  const CollSystem *system = build(&world, CUBE_MESH, "", 8, 1, TRUE, "2.30");
  expect(system, gpu(0), gpu(1), COLL_PATH_NVL, GB(20), 1);
  expect(system, gpu(0), gpu(3), COLL_PATH_NVL, GB(40), 1);
  expect(system, gpu(0), gpu(5), COLL_PATH_NVB, GB(20), 2);
  expect(system, gpu(0), gpu(6), COLL_PATH_NVB, GB(20), 2);
  expect(system, gpu(0), gpu(7), COLL_PATH_NVB, GB(40), 2);
  CU_ASSERT_EQUAL(system->most_rate, GB(40));
  CU_ASSERT_EQUAL(system->total_rate, GB(120));
}

/* GH200: four modules with C2C to their socket, a NIC on each socket. GPU, socket, NIC, network; by C2C and PCI it is
 * P2C. Another's NIC over its GPU, which is near it. */
static void gh200(void) {
  g_auto(World) world = {0};
  const char *text = "[node]\ngpu = gh200-96gb\ngpus = 4\nintra = nvlink4-mesh\nnic = slingshot11-200\nnics = 4\n"
                     "cpu = arm-grace\nsockets = 4\n[environment]\nplatform = infiniband\n"
                     "[pci]\nsocket.0 = gpu.0 nic.0\nsocket.1 = gpu.1 nic.1\nsocket.2 = gpu.2 nic.2\n"
                     "socket.3 = gpu.3 nic.3\n"
                     "[nvlink]\ngpu.0 = gpu.1*6 gpu.2*6 gpu.3*6 c2c@360GB/s\ngpu.1 = gpu.2*6 gpu.3*6 c2c@360GB/s\n"
                     "gpu.2 = gpu.3*6 c2c@360GB/s\ngpu.3 = c2c@360GB/s\n";
  const CollSystem *system = build(&world, text, "cluster.nodes=2", 4, 2, TRUE, "2.30");
  expect(system, gpu(0), gpu(1), COLL_PATH_NVL, GB(123.6), 1);
  expect(system, gpu(0), net(system, 0), COLL_PATH_P2C, GB(25), 3);
  expect(system, gpu(0), net(system, 1), COLL_PATH_PXN, GB(25), 4);
  expect(system, net(system, 1), gpu(0), COLL_PATH_SYS, GB(6), 4);
}

static void rules_fail(const char *text, const char *fragment) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *catalog = g_build_filename(folder, "topologies", "catalog", NULL);
  g_autofree char *file = g_build_filename(catalog, "nccl-search.ini", NULL);
  g_autofree char *before = g_strdup(g_getenv("FORETRAIN_DATA"));
  g_mkdir_with_parents(catalog, 0700);
  g_file_set_contents(file, text, -1, NULL);
  g_setenv("FORETRAIN_DATA", folder, TRUE);
  CollSearchRules rules;
  GError *error = NULL;
  HARNESS_FAILS(coll_search_rules_load("2.30", &rules, &error), error, fragment);
  g_setenv("FORETRAIN_DATA", before, TRUE);
  g_remove(file);
  g_rmdir(catalog);
  g_autofree char *topologies = g_path_get_dirname(catalog);
  g_rmdir(topologies);
  g_rmdir(folder);
}

#define ABOUT "source = here\ntrust = recalled\n"

static void broken_rules(void) {
  rules_fail("[links 2.18]\nnvlink = 3 GB/s\n" ABOUT, "nccl-search.ini:2:1: nvlink: no such figure in [links 2.18]");
  rules_fail("[links 2.18]\nnvlink_volta = 20 GB/s\n", "links 2.18: lacks \"source\" or \"trust\"");
  rules_fail("[links 2.18]\nnvlink_volta = 20\n" ABOUT, "nccl-search.ini:2:1: nvlink_volta: ");
  rules_fail("[links 2.31]\nnvlink_volta = 20 GB/s\n" ABOUT, "[links] has no such figure for NCCL 2.30");
  rules_fail("[links]\nnvlink_volta = 20 GB/s\n" ABOUT, "no such figure in [links]");
}

/* Every path is a chain of links from its start to its target, at the least of their rates, on every shipped
 * machine. */
static void paths_hold_together(void) {
  const char *const machines[] = {"dgx-h100", "aws-p4d", "aws-p5", "box-l40s", "dgx2-v100", "h100-eth10", "dgx-b200"};
  for (gsize m = 0; m < G_N_ELEMENTS(machines); m++) {
    g_auto(World) world = {0};
    g_autofree char *more = g_strconcat("cluster.topology=", machines[m], NULL);
    const CollSystem *system = build(&world, NULL, more, 8, strcmp(machines[m], "box-l40s") == 0 ? 1 : 2, TRUE, "2.30");
    for (guint32 to = 0; to < system->starts[COLL_PART_NIC]; to++)
      for (guint32 from = 0; from < coll_system_n_parts(system); from++) {
        const CollPath *path = coll_system_path(system, from, to);
        if (path->type == COLL_PATH_DIS || from == to)
          continue;
        guint32 at = from;
        gint64 rate = G_MAXINT64;
        for (guint32 i = 0; i < path->count; i++) {
          const CollLink *link = coll_system_link(system, g_array_index(system->hops, guint32, path->first + i));
          CU_ASSERT_EQUAL(link->from, at);
          at = link->to;
          rate = MIN(rate, link->rate);
        }
        CU_ASSERT_EQUAL(at, to);
        CU_ASSERT_EQUAL(rate, path->rate);
      }
    for (guint32 i = 0; i < system->links->len; i++) {
      const CollLink *link = coll_system_link(system, i), *back = coll_system_link(system, link->back);
      CU_ASSERT_EQUAL(back->from, link->to);
      CU_ASSERT_EQUAL(back->to, link->from);
      CU_ASSERT_EQUAL(back->rate, link->rate);
    }
  }
}

int main(void) {
  return harness_run("coll-path", (HarnessCase[]){{"DGX H100", dgx_h100},
                                                  {"by version", by_version},
                                                  {"AWS p4d", aws_p4d},
                                                  {"who prefers which NIC", who_prefers_which},
                                                  {"a PCI tree", pci_tree},
                                                  {"given rates", given_rates},
                                                  {"peers", peers},
                                                  {"NICs without GPU memory", no_gdr},
                                                  {"a cube mesh", cube_mesh},
                                                  {"GH200", gh200},
                                                  {"broken rules", broken_rules},
                                                  {"paths hold together", paths_hold_together},
                                                  {NULL, NULL}});
}
