/* SPDX-License-Identifier: MIT */
/* Machines out of NCCL's XML and nvidia-smi's matrices, from small files: what the topology says, what it owns to have
 * assumed, and that the same program reads it back as that machine. */
#include <glib/gstdio.h>
#include <string.h>

#include "cluster.h"
#include "harness.h"
#include "import-lstopo.h"
#include "import-nccl-topology.h"
#include "import-smi-query.h"
#include "import-smi-topo.h"

static char *data(const char *folder, const char *name) {
  g_autofree char *relative = g_build_filename("tests/data", folder, name, NULL);
  return harness_path(relative);
}

/* By the folder of tests/data that holds such files. */
static ImportMachine *load_machine(const char *folder, const char *path, GError **error) {
  static const struct {
    const char *folder;
    ImportMachine *(*load)(const char *path, GError **error);
  } loads[] = {{"nccl-topology", import_nccl_topology_load},
               {"nvidia-smi", import_smi_query_load},
               {"nvidia-smi-topo", import_smi_topo_load},
               {"lstopo", import_lstopo_load}};
  for (gsize i = 0; i < G_N_ELEMENTS(loads); i++)
    if (strcmp(folder, loads[i].folder) == 0)
      return loads[i].load(path, error);
  CU_FAIL_FATAL("no such folder");
  return NULL;
}

static GString *topology_of(const char *folder, const char *name, const ImportParts *parts, GError **error) {
  g_autofree char *path = data(folder, name);
  g_autoptr(ImportMachine) machine = load_machine(folder, path, error);
  return machine != NULL ? import_machine_text(machine, parts, error) : NULL;
}

/* The text as a cluster of so many nodes. */
static TestCluster built_from(const GString *text, guint nodes) {
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "foretrain-test-machine.ini", NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text->str, -1, NULL));
  TestCluster built = cluster_new(path, nodes, NULL);
  g_remove(path);
  return built;
}

static gboolean says(const GString *text, const char *fragment) {
  gboolean found = strstr(text->str, fragment) != NULL;
  if (!found)
    printf("\n    lacks \"%s\":\n%s\n", fragment, text->str);
  return found;
}

/* GPUs are numbered by dev, NICs too; the two levels of the switch are one; the card's ports share card 0; the NIC of
 * the socket is no GPU's nearest (gpu.1 has the switch's, and for gpu.0, in the other socket, all are as far: so it is
 * kept for that one). 9 + 9 links and 18 links go into the switch. */
static void full_dump(void) {
  g_autoptr(GString) text = topology_of("nccl-topology", "full.xml", &(ImportParts){0}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_TRUE(says(text,
                      "[node]\ngpu = h100-sxm5-80gb\ngpus = 2\nintra = nvlink4-nvswitch3\nnic = ib-hdr200\nnics = 3\n"
                      "cpu = intel-spr\nsockets = 2\n"));
  CU_ASSERT_TRUE(says(text, "switch.0 = socket.0@gen2x16: gpu.1@gen5x16 nic.0@gen5x8 nic.1@gen5x8\n"));
  CU_ASSERT_TRUE(says(text, "socket.0 = nic.2\nsocket.1 = gpu.0@gen3x16\n"));
  CU_ASSERT_TRUE(says(text, "gpu.0 = switch*18\ngpu.1 = switch*18\n"));
  CU_ASSERT_TRUE(says(text, "nic.0 = rate:200Gb/s latency:1.5us card:0 port:1 gdr:yes ; mlx5_0\n"));
  CU_ASSERT_TRUE(says(text, "nic.2 = rate:10Gb/s latency:0us card:1 port:1 gdr:no ; eth0\n"));
  CU_ASSERT_TRUE(says(text, "#   1 PCI links without a speed are generation 3"));
  CU_ASSERT_TRUE(says(text, "#   net \"mlx5_9\" has no number (dev)"));
  CU_ASSERT_TRUE(says(text, "#   pci 0000:01:00.0, class 0x010802"));
  CU_ASSERT_TRUE(says(text, "#   eth0 is a eth-10g: all NICs are taken as ib-hdr200"));
  TestCluster built = built_from(text, 2);
  const HwMachine *machine = built.cluster->machine;
  CU_ASSERT_EQUAL(built.cluster->gpus_per_node, 2);
  CU_ASSERT_EQUAL(hw_machine_gpu(machine, 1)->parent, hw_machine_switch_part(machine, 0));
  CU_ASSERT_EQUAL(hw_machine_gpu(machine, 0)->parent, 1); /* socket.1 */
  CU_ASSERT_EQUAL(machine->switch_nvlinks[1], 18);
  CU_ASSERT_EQUAL(machine->nic[1].card, machine->nic[0].card);
  CU_ASSERT_EQUAL(machine->nic[1].rate, 25e9); /* 200 Gb/s */
  CU_ASSERT_EQUAL(machine->nic[1].latency, 1500 * SIM_NANOSECOND);
  cluster_clear(&built);
}

/* PCI alone: GPUs and NICs by bus number (0001 before 0003, although it stands second); what they are the person says,
 * and two A100 are no board of eight, so no NVLink is assumed. */
static void skeleton(void) {
  GError *error = NULL;
  HARNESS_FAILS(topology_of("nccl-topology", "skeleton.xml", &(ImportParts){0}, &error) != NULL, error,
                "add --gpu NAME");
  g_autoptr(GString) text =
      topology_of("nccl-topology", "skeleton.xml", &(ImportParts){.gpu = "A100-SXM4-40GB", .nic = "ib-ndr400"}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_TRUE(
      says(text, "gpu = a100-sxm4-40gb\ngpus = 2\nintra = pcie4-x16-shm\nnic = ib-ndr400\nnics = 2\ncpu = amd-rome\n"));
  CU_ASSERT_TRUE(says(text, "switch.0 = socket.0@gen4x16: gpu.1@gen4x16 nic.1@gen4x16\n"
                            "switch.1 = socket.1@gen4x16: gpu.0@gen4x16 nic.0@gen4x16\n"));
  CU_ASSERT_TRUE(says(text, "#   no NVLink joins the GPUs: the file holds PCI alone"));
  TestCluster built = built_from(text, 2);
  CU_ASSERT_EQUAL(built.cluster->nics_per_node, 2);
  cluster_clear(&built);
  HARNESS_FAILS(topology_of("nccl-topology", "skeleton.xml", &(ImportParts){.gpu = "a100-sxm4"}, &error) != NULL, error,
                "a100-sxm4-40gb");
  HARNESS_FAILS(topology_of("nccl-topology", "skeleton.xml", &(ImportParts){.gpu = "mi300x"}, &error) != NULL, error,
                "AMD GPUs are not modelled yet");
}

/* A pair of cards under bridges: twelve links stated on both sides are twelve; links to oneself are left out. */
static void bridged(void) {
  g_autoptr(GString) text = topology_of("nccl-topology", "bridged.xml", &(ImportParts){0}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_TRUE(says(text, "intra = nvlink3-mesh\n"));
  CU_ASSERT_TRUE(says(text, "[nvlink]\ngpu.0 = gpu.1*12\n"));
  CU_ASSERT_TRUE(says(text, "#   line 11: NVLinks of GPU 0002:00:00.0 to itself"));
  CU_ASSERT_TRUE(says(text, "cpu = amd-genoa\n"));
  CU_ASSERT_TRUE(says(text, "platform = sockets\n"));
  TestCluster built = built_from(text, 1);
  CU_ASSERT_EQUAL(hw_machine_nvlinks(built.cluster->machine, 1, 0), 12);
  cluster_clear(&built);
}

/* AWS's plugin gives the four NICs of a p5's GPU to NCCL as one net of 400 Gb/s: that, and its platform, are told by
 * the device and the rate. */
static void grouped_nics(void) {
  g_autofree char *path = data("nccl-topology", "full.xml");
  g_autofree char *text = NULL;
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, NULL, NULL));
  g_autoptr(GString) changed = g_string_new(text);
  CU_ASSERT_TRUE(g_string_replace(changed, "0x15b3\" device=\"0x1021", "0x1d0f\" device=\"0xefa1", 0) == 1);
  CU_ASSERT_TRUE(g_string_replace(changed, "dev=\"0\" speed=\"200000", "dev=\"0\" speed=\"400000", 0) == 1);
  g_autofree char *changed_path = g_build_filename(g_get_tmp_dir(), "foretrain-test-grouped.xml", NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(changed_path, changed->str, -1, NULL));
  g_autoptr(ImportMachine) machine = import_nccl_topology_load(changed_path, NULL);
  g_autoptr(GString) topology = import_machine_text(machine, &(ImportParts){0}, NULL);
  CU_ASSERT_TRUE(says(topology, "nic = efa-v2-4x100g\n"));
  CU_ASSERT_TRUE(says(topology, "platform = efa\n"));
  CU_ASSERT_TRUE(says(topology, "#   mlx5_1 is a efa-v2-100g: all NICs are taken as efa-v2-4x100g"));
  g_remove(changed_path);
}

static void deep_xml(void) {
  g_autoptr(GString) text = g_string_new("<system version=\"1\">\n");
  for (int i = 0; i < 200000; i++)
    g_string_append(text, "<pci>");
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "foretrain-test-deep.xml", NULL);
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text->str, -1, NULL));
  GError *error = NULL;
  ImportMachine *machine = import_nccl_topology_load(path, &error);
  HARNESS_FAILS(machine != NULL, error, "over 200 elements stand within each other");
  g_remove(path);
}

/* Every refusal names file and line. Each row changes one thing in the skeleton. */
static void refused_xml(void) {
  static const struct {
    const char *from, *to, *why;
  } cases[] = {
      {"link_width=\"16\"/>\n      <pci busid=\"0103", "link_width=\"16\">\n      <pci busid=\"0103",
       ":7:9: is no well-formed XML"},
      {"</system>", "", "is no well-formed XML"},
      {"<system version=\"1\">", "<system version=\"1\" bad>", ":1:24: is no well-formed XML"},
      {"system", "graphs", ":1: a graph (NCCL_GRAPH_FILE)"},
      {"<cpu numaid=\"0\"", "<cpu host_hash=\"0x1\" numaid=\"0\"", NULL},
      {"class=\"0x030200\" ", "", ":4: pci 0003:00:00.0 does not say what it is"},
      {"class=\"0x030200\"", "class=\"0x038000\" vendor=\"0x1002\"", ":4: GPU 0003:00:00.0 (vendor 1002): AMD GPUs"},
      {"class=\"0x030200\"", "class=\"0x010000\"", "it holds no GPU"},
      {"link_width=\"16\"", "link_width=\"15\"", ":3: link_width \"15\""},
  };
  g_autofree char *path = data("nccl-topology", "skeleton.xml");
  g_autofree char *good = NULL;
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &good, NULL, NULL));
  g_autofree char *changed_path = g_build_filename(g_get_tmp_dir(), "foretrain-test-machine.xml", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GString) changed = g_string_new(good);
    CU_ASSERT_TRUE_FATAL(g_string_replace(changed, cases[i].from, cases[i].to, 0) > 0);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(changed_path, changed->str, -1, NULL));
    GError *error = NULL;
    g_autoptr(ImportMachine) machine = import_nccl_topology_load(changed_path, &error);
    g_autoptr(GString) text =
        machine != NULL ? import_machine_text(machine, &(ImportParts){.gpu = "h100-sxm5-80gb"}, &error) : NULL;
    if (cases[i].why != NULL)
      HARNESS_FAILS(text != NULL, error, cases[i].why);
    else
      CU_ASSERT_PTR_NOT_NULL(text); /* one host, named once */
  }
  g_remove(changed_path);
}

static void matrix_nvswitch(void) {
  g_autoptr(GString) text =
      topology_of("nvidia-smi-topo", "nvswitch.txt", &(ImportParts){.gpu = "h100-sxm5-80gb"}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  /* 3 × 18 links to peers are more than the 18 of an H100: an NVSwitch. */
  CU_ASSERT_TRUE(says(text, "intra = nvlink4-nvswitch3\nnic = ib-ndr400\nnics = 2\n"));
  CU_ASSERT_TRUE(says(text, "gpu.3 = switch*18\n"));
  /* PXB: three bridges in one tree; PIX: one switch; no relation: the root port. */
  CU_ASSERT_TRUE(says(text, "switch.0 = socket.0:\nswitch.1 = switch.0: gpu.0\nswitch.2 = switch.0: gpu.1\n"
                            "switch.3 = switch.0: nic.0\nswitch.4 = socket.1: gpu.2 nic.1\nsocket.1 = gpu.3\n"));
  CU_ASSERT_TRUE(says(text, "#   NIC2 is left out"));
  CU_ASSERT_TRUE(says(text, "#   the NICs are ib-ndr400, as such machines mostly have"));
  TestCluster built = built_from(text, 2);
  CU_ASSERT_EQUAL(built.cluster->machine->switches, 5);
  cluster_clear(&built);
}

/* Four cards in two bridged pairs: four links each way do not pass the twelve of an Ampere GPU. Processors 0-15 are one
 * socket, although no NUMA node is told. */
static void matrix_pairs(void) {
  g_autoptr(GString) text =
      topology_of("nvidia-smi-topo", "pairs.txt", &(ImportParts){.gpu = "rtx3090", .nic = "roce-100g"}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_TRUE(
      says(text, "intra = nvlink3-bridge-rtx3090\nnic = roce-100g\nnics = 1\ncpu = intel-spr\nsockets = 2\n"));
  CU_ASSERT_TRUE(says(text, "switch.0 = socket.0: gpu.0 nic.0\nsocket.0 = gpu.1 gpu.2\nsocket.1 = gpu.3\n"));
  CU_ASSERT_TRUE(says(text, "[nvlink]\ngpu.0 = gpu.1*4\ngpu.2 = gpu.3*4\n"));
  TestCluster built = built_from(text, 1);
  CU_ASSERT_EQUAL(hw_machine_nvlinks(built.cluster->machine, 0, 1), 4);
  CU_ASSERT_EQUAL(hw_machine_nvlinks(built.cluster->machine, 0, 2), 0);
  cluster_clear(&built);
}

/* Four H100 whose fabric is complete: an NVSwitch with all 18 links of each. What the query cannot know is said, and
 * the PCI tree is left to the topology. */
static void query_text(void) {
  g_autoptr(GString) text =
      topology_of("nvidia-smi", "h100x4.txt", &(ImportParts){.nic = "ib-ndr400", .nics = 2}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_TRUE(says(text, "[node]\ngpu = h100-sxm5-80gb\ngpus = 4\nintra = nvlink4-nvswitch3\nnic = ib-ndr400\n"
                            "nics = 2\ncpu = intel-spr\nsockets = 2\npcie = gen5x16\n[nvlink]\ngpu.0 = switch*18\n"));
  CU_ASSERT_TRUE(says(text, "#   2 NICs evenly beside the GPUs, as --nics says"));
  CU_ASSERT_TRUE(says(text, "[host]\nlink = pcie5-x16-host\n"));
  TestCluster built = built_from(text, 2);
  CU_ASSERT_EQUAL(built.cluster->machine->switch_nvlinks[3], 18);
  cluster_clear(&built);
}

/* The same facts as XML: two L40S, PCI Express 4.0 x16, no fabric. */
static void query_xml(void) {
  g_autoptr(GString) text = topology_of("nvidia-smi", "l40sx2.xml", &(ImportParts){0}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_TRUE(says(text,
                      "gpu = l40s\ngpus = 2\nintra = pcie4-x16-shm\ncpu = intel-spr\nsockets = 2\npcie = gen4x16\n"
                      "[fabric]\n"));
  TestCluster built = built_from(text, 1);
  cluster_clear(&built);
}

/* Ports with one device alone are its links, the bridge with two ports below it is a switch; GPUs that show 4 GB/s are
 * idle; 1 TiB of memory at each socket; an NVMe disk is neither GPU nor NIC. */
static void hwloc(void) {
  g_autoptr(GString) text = topology_of("lstopo", "h100x2.xml", &(ImportParts){0}, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_TRUE(says(text, "gpu = h100-sxm5-80gb\ngpus = 2\nintra = pcie5-x16\nnic = ib-ndr400\nnics = 2\n"
                            "cpu = intel-spr\nsockets = 2\n"));
  CU_ASSERT_TRUE(says(text, "switch.0 = socket.0@gen5x16: gpu.0 nic.0@gen5x16\n"
                            "switch.1 = socket.1@gen5x16: gpu.1 nic.1@gen5x16\n"));
  CU_ASSERT_TRUE(says(text, "#   the links of 2 GPUs are as usual for them"));
  CU_ASSERT_TRUE(says(text, "dram = 2048 GiB\n"));
  TestCluster built = built_from(text, 2);
  CU_ASSERT_EQUAL(built.cluster->machine->switches, 2);
  CU_ASSERT_EQUAL(built.cluster->dram, (guint64)2 << 40);
  cluster_clear(&built);
}

/* Each row changes one thing in a good file. Ethernet cards become RoCE of their rate, an unknown processor is named
 * with what is taken for it. */
static void queries_changed(void) {
  static const struct {
    const char *folder, *file, *from, *to, *why; /* why: of the error, or what the topology says */
    gboolean good;
  } cases[] = {
      {"nvidia-smi", "h100x4.txt", "NVSMI LOG", "LOG", "gpu = h100", TRUE},
      {"nvidia-smi", "h100x4.txt", "Attached GPUs                             : 4",
       "Attached GPUs                             : 8", "8 GPUs are attached, and 4 stand in it", FALSE},
      {"nvidia-smi", "h100x4.txt", "\nGPU 0", "\nGPX 0", "holds no GPU of nvidia-smi -q", FALSE},
      {"nvidia-smi", "h100x4.txt", "Completed", "N/A", "intra = pcie5-x16\n", TRUE},
      {"nvidia-smi", "l40sx2.xml", "nvidia_smi_log", "log", "expected <nvidia_smi_log>", FALSE},
      {"nvidia-smi", "l40sx2.xml", "26B910DE", "DEAD10DE", "gpu = l40s\n", TRUE}, /* by its name */
      {"lstopo", "h100x2.xml", "0207 [15b3:1021]", "0200 [15b3:1021]", "nic = roce-400g\n", TRUE},
      {"lstopo", "h100x2.xml", "0207 [15b3:1021]", "0200 [ffff:1021]",
       "#   the NICs are roce-400g, as such machines mostly have on Ethernet", TRUE},
      {"lstopo", "h100x2.xml", "0302 [10de:2330]", "0380 [1002:74a1]", "AMD GPUs are not modelled yet", FALSE},
      {"lstopo", "h100x2.xml", "0302 [10de:2330]", "none", "pci_type \"none", FALSE},
      {"lstopo", "h100x2.xml", "CPUModelNumber\" value=\"143\"", "CPUModelNumber\" value=\"999\"",
       "#   the processor, GenuineIntel family 6 model 999, is not in the catalogue: it is taken as intel-spr", TRUE},
      {"lstopo", "h100x2.xml", "<topology", "<system", "is no well-formed XML", FALSE},
      {"lstopo", "h100x2.xml", "type=\"NUMANode\"", "type=\"Machine\"", "a second Machine", FALSE},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *path = data(cases[i].folder, cases[i].file);
    g_autofree char *good = NULL;
    CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &good, NULL, NULL));
    g_autoptr(GString) changed = g_string_new(good);
    CU_ASSERT_TRUE_FATAL(g_string_replace(changed, cases[i].from, cases[i].to, 0) > 0);
    g_autofree char *changed_path = g_build_filename(g_get_tmp_dir(), "foretrain-test-query", NULL);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(changed_path, changed->str, -1, NULL));
    GError *error = NULL;
    g_autoptr(ImportMachine) machine = load_machine(cases[i].folder, changed_path, &error);
    g_autoptr(GString) text = machine != NULL ? import_machine_text(machine, &(ImportParts){0}, &error) : NULL;
    if (cases[i].good)
      CU_ASSERT_TRUE(text != NULL && says(text, cases[i].why));
    if (!cases[i].good)
      HARNESS_FAILS(text != NULL, error, cases[i].why);
    g_remove(changed_path);
  }
}

static void refused_matrix(void) {
  static const struct {
    const char *from, *to, *why;
  } cases[] = {
      {"GPU2    PHB     SYS      X      NV4", "GPU2    PHB     MX       X      NV4", ":7: \"MX\" is a link of MetaX"},
      {"GPU2    PHB     SYS", "GPU2    XGMI    SYS", ":7: \"XGMI\" is a link of rocm-smi: AMD GPUs"},
      {"GPU2    PHB", "GPU2    SYS", ":7: GPU2 and GPU0 are related otherwise in line 5"},
      {"GPU2    PHB     SYS      X      NV4     PHB     0-15            N/A", "GPU2    PHB",
       ":7: the row of GPU2 ends after 1 of 5"},
      {"GPU3    SYS     SYS     NV4      X      SYS     16-31           N/A\n", "", "GPU3 has a column but no row"},
      {"GPU1    NV4      X ", "GPU1    NV4     PIX", ":6: the row of GPU1 has \"PIX\" in the column of GPU1"},
      {"GPU2    PHB     SYS", "GPU1    PHB     SYS", ":7: a second row of GPU1 (the first in line 6)"},
      {"GPU0    GPU1", "CPU0    CPU1", "holds no matrix"},
      {"PIX", "PPP", ":5: no such relation \"PPP\""},
  };
  g_autofree char *path = data("nvidia-smi-topo", "pairs.txt");
  g_autofree char *good = NULL;
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &good, NULL, NULL));
  g_autofree char *changed_path = g_build_filename(g_get_tmp_dir(), "foretrain-test-matrix.txt", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GString) changed = g_string_new(good);
    CU_ASSERT_TRUE_FATAL(g_string_replace(changed, cases[i].from, cases[i].to, 1) > 0);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(changed_path, changed->str, -1, NULL));
    GError *error = NULL;
    HARNESS_FAILS(import_smi_topo_load(changed_path, &error) != NULL, error, cases[i].why);
  }
  g_remove(changed_path);
}

/* Letters changed anywhere: an error or a machine, never a crash. */
static void any_bytes(void) {
  static const char *const files[][2] = {{"nccl-topology", "full.xml"}, {"nvidia-smi-topo", "nvswitch.txt"}};
  g_autofree char *changed_path = g_build_filename(g_get_tmp_dir(), "foretrain-test-any-bytes", NULL);
  GRand *random = harness_random();
  guint read = 0, refused = 0;
  for (int round = 0; round < 400; round++) {
    const char *const *file = files[round % 2];
    g_autofree char *path = data(file[0], file[1]);
    g_autofree char *text = NULL;
    gsize length;
    CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, &length, NULL));
    for (int i = 0; i < round % 8; i++)
      text[g_rand_int_range(random, 0, (gint32)length)] = (char)g_rand_int_range(random, 1, 256);
    CU_ASSERT_TRUE_FATAL(g_file_set_contents(changed_path, text, (gssize)length, NULL));
    g_autoptr(GError) error = NULL;
    g_autoptr(ImportMachine) machine =
        round % 2 == 0 ? import_nccl_topology_load(changed_path, &error) : import_smi_topo_load(changed_path, &error);
    g_autoptr(GString) topology =
        machine != NULL ? import_machine_text(machine, &(ImportParts){.gpu = "h100-sxm5-80gb"}, &error) : NULL;
    CU_ASSERT_TRUE((topology == NULL) == (error != NULL));
    read += topology != NULL;
    refused += topology == NULL;
  }
  CU_ASSERT_TRUE(read > 0 && refused > 0);
  g_remove(changed_path);
  g_rand_free(random);
}

int main(void) {
  return harness_run("machines", (HarnessCase[]){{"a full dump", full_dump},
                                                 {"a cloud's skeleton", skeleton},
                                                 {"bridged cards", bridged},
                                                 {"grouped NICs", grouped_nics},
                                                 {"refused XML", refused_xml},
                                                 {"XML within XML", deep_xml},
                                                 {"a matrix with NVSwitch", matrix_nvswitch},
                                                 {"a matrix of pairs", matrix_pairs},
                                                 {"nvidia-smi -q", query_text},
                                                 {"nvidia-smi -q -x", query_xml},
                                                 {"lstopo", hwloc},
                                                 {"queries with one thing changed", queries_changed},
                                                 {"refused matrices", refused_matrix},
                                                 {"any bytes", any_bytes},
                                                 {NULL, NULL}});
}
