/* SPDX-License-Identifier: MIT */
/* Machines: the default trees of shipped topologies, lines of [pci], [nvlink] and [nics], what they refuse, and that a
 * printed machine reads back as itself. */
#include "machine.h"

#define NODE(gpu, gpus, intra) "[node]\ngpu = " gpu "\ngpus = " gpus "\nintra = " intra "\ncpu = intel-icelake\n"
#define NETS(nics)             "nic = ib-hdr200\nnics = " nics "\n"
#define END                    "[environment]\nplatform = infiniband\n"

static guint32 parent_of_gpu(const HwMachine *machine, guint32 gpu) {
  return hw_machine_gpu(machine, gpu)->parent;
}

static guint32 parent_of_nic(const HwMachine *machine, guint32 nic) {
  return machine->parts[hw_machine_nic_part(machine, nic)].parent;
}

static guint32 switch_part(const HwMachine *machine, guint32 index) {
  return hw_machine_switch_part(machine, index);
}

/* Eight GPUs, eight NICs, one switch to each pair of GPU and NIC, four switches to a socket; 450 / 25 = 18 NVLinks. */
static void dgx_h100(void) {
  g_auto(Machine) built = {0};
  const HwMachine *machine = machine_must(&built, NULL, "cluster.topology=dgx-h100");
  CU_ASSERT_EQUAL(machine->sockets, 2);
  CU_ASSERT_EQUAL(machine->switches, 8);
  CU_ASSERT_EQUAL(machine->gpus, 8);
  CU_ASSERT_EQUAL(machine->nics, 8);
  CU_ASSERT_EQUAL(machine->n_parts, 26);
  CU_ASSERT_EQUAL(machine->compute_capability, 90);
  CU_ASSERT_EQUAL(machine->cpu_vendor, HW_CPU_INTEL);
  for (guint32 i = 0; i < 8; i++) {
    CU_ASSERT_EQUAL(parent_of_gpu(machine, i), switch_part(machine, i));
    CU_ASSERT_EQUAL(parent_of_nic(machine, i), switch_part(machine, i));
    CU_ASSERT_EQUAL(hw_machine_socket_of(machine, hw_machine_gpu_part(machine, i)), i / 4);
    CU_ASSERT_EQUAL(machine->switch_nvlinks[i], 18);
    CU_ASSERT_EQUAL(hw_machine_gpu(machine, i)->link.generation, 5);
    CU_ASSERT_EQUAL(hw_machine_gpu(machine, i)->link.width, 16);
    CU_ASSERT_EQUAL(machine->nic[i].rate, 50e9);
    CU_ASSERT_TRUE(machine->nic[i].gdr);
  }
}

/* Four switches with two GPUs and one NIC each, 300 / 25 = 12 NVLinks, gen4. */
static void aws_p4d(void) {
  g_auto(Machine) built = {0};
  const HwMachine *machine = machine_must(&built, NULL, "cluster.topology=aws-p4d");
  CU_ASSERT_EQUAL(machine->switches, 4);
  for (guint32 i = 0; i < 8; i++) {
    CU_ASSERT_EQUAL(parent_of_gpu(machine, i), switch_part(machine, i / 2));
    CU_ASSERT_EQUAL(machine->switch_nvlinks[i], 12);
  }
  for (guint32 i = 0; i < 4; i++)
    CU_ASSERT_EQUAL(parent_of_nic(machine, i), switch_part(machine, i));
  CU_ASSERT_EQUAL(machine->nic[0].latency, 75 * SIM_MICROSECOND);
}

/* One NIC does not go up in eight switches: it sits on the first socket. A PCIe box has no switches; half its GPUs on
 * each socket; sockets' NICs do not reach GPU memory. */
static void other_trees(void) {
  g_auto(Machine) one = {0}, box = {0}, switched = {0};
  const HwMachine *machine = machine_must(&one, NULL, "cluster.topology=h100-eth10");
  CU_ASSERT_EQUAL(parent_of_nic(machine, 0), 0);
  CU_ASSERT_FALSE(machine->nic[0].gdr);
  machine = machine_must(&box, NULL, "cluster.topology=box-rtx4090");
  CU_ASSERT_EQUAL(machine->switches, 0);
  CU_ASSERT_EQUAL(parent_of_gpu(machine, 3), 0);
  CU_ASSERT_EQUAL(parent_of_gpu(machine, 4), 1);
  CU_ASSERT_EQUAL(machine->cpu_vendor, HW_CPU_AMD);
  CU_ASSERT_EQUAL(machine->switch_nvlinks[0], 0);
  machine = machine_must(&switched, NULL, "cluster.topology=box-rtx4090;node.gpus_per_switch=4;node.pcie=gen3x8");
  CU_ASSERT_EQUAL(machine->switches, 2);
  CU_ASSERT_EQUAL(parent_of_gpu(machine, 4), switch_part(machine, 1));
  CU_ASSERT_EQUAL(hw_machine_gpu(machine, 4)->link.generation, 3);
  CU_ASSERT_EQUAL(hw_machine_gpu(machine, 4)->link.width, 8);
}

/* The machine is the topology's, whatever share of it a job uses. */
static void part_of_a_machine(void) {
  g_auto(Machine) built = {0};
  const HwMachine *machine = machine_must(&built, NULL,
                                          "cluster.topology=dgx-h100;cluster.gpus_per_node=4;"
                                          "cluster.nic_bandwidth=200 Gb/s");
  CU_ASSERT_EQUAL(built.cluster->gpus_per_node, 4);
  CU_ASSERT_EQUAL(machine->gpus, 8);
  CU_ASSERT_EQUAL(machine->nic[3].rate, 25e9);
}

static const char lines[] =
    NODE("a100-pcie-40gb", "4", "pcie4-x16") NETS("2") END "[pci]\n"
                                                           "switch.1 = switch.0@x8: gpu.1@gen3x8 nic.1\n"
                                                           "switch.0 = socket.0: gpu.0 nic.0@24GB/s   ; a comment\n"
                                                           "socket.1 = gpu.2 gpu.3\n"
                                                           "[nvlink]\n"
                                                           "gpu.0 = gpu.1*4\n"
                                                           "gpu.1 = gpu.0*4 gpu.2\n"
                                                           "gpu.3 = c2c@360GB/s switch*6\n"
                                                           "[nics]\n"
                                                           "nic.1 = rate:100Gb/s latency:5us card:0 port:2 gdr:no\n";

static void written_lines(void) {
  g_auto(Machine) built = {0};
  const HwMachine *machine = machine_must(&built, lines, "");
  CU_ASSERT_EQUAL(machine->switches, 2);
  CU_ASSERT_EQUAL(machine->parts[switch_part(machine, 1)].parent, switch_part(machine, 0));
  CU_ASSERT_EQUAL(machine->parts[switch_part(machine, 1)].link.generation, 4);
  CU_ASSERT_EQUAL(machine->parts[switch_part(machine, 1)].link.width, 8);
  CU_ASSERT_EQUAL(hw_machine_gpu(machine, 1)->parent, switch_part(machine, 1));
  CU_ASSERT_EQUAL(hw_machine_gpu(machine, 1)->link.generation, 3);
  CU_ASSERT_EQUAL(machine->parts[hw_machine_nic_part(machine, 0)].link.rate, 24e9);
  CU_ASSERT_EQUAL(hw_machine_gpu(machine, 3)->parent, 1);
  CU_ASSERT_EQUAL(hw_machine_nvlinks(machine, 0, 1), 4);
  CU_ASSERT_EQUAL(hw_machine_nvlinks(machine, 2, 1), 1);
  CU_ASSERT_EQUAL(hw_machine_nvlinks(machine, 0, 2), 0);
  CU_ASSERT_EQUAL(machine->switch_nvlinks[3], 6);
  CU_ASSERT_EQUAL(machine->c2c[3], 360e9);
  CU_ASSERT_EQUAL(machine->nic[1].rate, 12.5e9);
  CU_ASSERT_EQUAL(machine->nic[1].latency, 5 * SIM_MICROSECOND);
  CU_ASSERT_EQUAL(machine->nic[1].card, 0);
  CU_ASSERT_EQUAL(machine->nic[1].port, 2);
  CU_ASSERT_FALSE(machine->nic[1].gdr);
  CU_ASSERT_EQUAL(machine->nic[0].rate, 25e9);
  /* The setting that a run keeps is all lines in one. */
  CU_ASSERT_STRING_EQUAL(conf_settings_get(built.settings, "pci.lines"),
                         "switch.1 = switch.0@x8: gpu.1@gen3x8 nic.1, switch.0 = socket.0: gpu.0 nic.0@24GB/s, "
                         "socket.1 = gpu.2 gpu.3");
}

static void set_on_the_command_line(void) {
  g_auto(Machine) built = {0};
  const HwMachine *machine =
      machine_must(&built, lines, "pci.lines=socket.0 = gpu.0 gpu.1 gpu.2 gpu.3 nic.0, socket.1 = nic.1");
  CU_ASSERT_EQUAL(machine->switches, 0);
  CU_ASSERT_EQUAL(parent_of_nic(machine, 1), 1);
}

/* 18 links to three peers: six each. 12 links of a bridged pair. */
static void even_meshes(void) {
  g_auto(Machine) four = {0}, pair = {0};
  const HwMachine *machine = machine_must(&four, NODE("h100-sxm5-80gb", "4", "nvlink4-mesh") END, "");
  for (guint32 a = 0; a < 4; a++)
    for (guint32 b = 0; b < 4; b++)
      CU_ASSERT_EQUAL(hw_machine_nvlinks(machine, a, b), a == b ? 0 : 6);
  CU_ASSERT_EQUAL(machine->switch_nvlinks[0], 0);
  machine = machine_must(&pair, NODE("v100-sxm2-16gb", "2", "nvlink2-mesh") END, "");
  CU_ASSERT_EQUAL(hw_machine_nvlinks(machine, 0, 1), 6);
}

static void printed_machines_read_back(void) {
  const char *const texts[] = {lines, NULL, NULL, NULL};
  const char *const settings[] = {"", "cluster.topology=dgx-h100", "cluster.topology=dgx2-v100",
                                  "cluster.topology=box-l40s"};
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_auto(Machine) built = {0}, again = {0};
    const HwMachine *machine = machine_must(&built, texts[i], settings[i]);
    g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);
    machine_print(machine, first);
    g_autofree char *text = g_strdup_printf(
        "[node]\ngpu = %s\ngpus = %u\nintra = %s\n%snics = %u\nsockets = %u\n[environment]\nplatform = %s\n%s",
        built.cluster->gpu->name, machine->gpus, built.cluster->intra->name,
        machine->nics > 0 ? "nic = ib-hdr200\n" : "", machine->nics, machine->sockets, built.cluster->platform->name,
        first->str);
    machine_print(machine_must(&again, text, ""), second);
    CU_ASSERT_STRING_EQUAL(first->str, second->str);
    CU_ASSERT_EQUAL(again.cluster->machine->switches, machine->switches);
  }
}

static void nonsense_is_refused(void) {
  static const struct {
    const char *lines, *fragment;
  } wrong[] = {
      {"[pci]\nsocket.0 = gpu.0 gpu.1 gpu.2 nic.0 nic.1\n", "mine.ini:10:1: pci.lines: gpu.3 is missing"},
      {"[pci]\nsocket.0 = gpu.0 gpu.1 gpu.2 gpu.3 nic.0\n", "nic.1 is missing"},
      {"[pci]\nsocket.0 = gpu.0 gpu.1\nsocket.1 = gpu.1\n",
       "mine.ini:12:1: pci.lines: socket.1: gpu.1 stands already under socket.0"},
      {"[pci]\nsocket.0 = gpu.0 gpu.4\n", "socket.0: no gpu.4: there are 4, numbered from 0"},
      {"[pci]\nsocket.2 = gpu.0\n", "mine.ini:11:1: pci.lines: socket.2: no socket.2: there are 2"},
      {"[pci]\nswitch.1 = socket.0: gpu.0\n", "switch.1: no switch.1: there is 1, numbered from 0"},
      {"[pci]\nswitch.0 = gpu.0: gpu.1\n", "switch.0 hangs under a socket or a switch, not under gpu.0"},
      {"[pci]\nswitch.0 = gpu.0 gpu.1\n", "switch.0: expected what is above it, a colon and what is below"},
      {"[pci]\nswitch.0 = switch.1: gpu.0 gpu.1\nswitch.1 = switch.0: gpu.2 gpu.3 nic.0 nic.1\n",
       "switch.0 hangs in a circle of switches"},
      {"[pci]\nswitch.0 = socket.0: switch.1\nswitch.1 = switch.0: gpu.0\n", "give switch.1 a line of its own"},
      {"[pci]\ngpu.0 = socket.0\n", "expected a line of a socket or a switch, found \"gpu.0 = socket.0\""},
      {"[pci]\nsocket.0 = gpu0\n", "expected a part such as gpu.0, nic.0, switch.0 or socket.0, found \"gpu0\""},
      {"[pci]\nsocket.0 = gpu.0@gen9\n", "expected a link such as gen4x16, gen4, x8 or 24GB/s, found \"gen9\""},
      {"[pci]\nsocket.0 = gpu.0@x\n", "found \"x\""},
      {"[nvlink]\ngpu.0 = gpu.0\n", "mine.ini:11:1: nvlink.lines: gpu.0 has no NVLink to itself"},
      {"[nvlink]\ngpu.0 = gpu.1*2\ngpu.1 = gpu.0*3\n", "gpu.1: 3 links to gpu.0, but 2 were stated before"},
      {"[nvlink]\ngpu.0 = gpu.1*0\n", "expected 1 to 64 links after \"gpu.1*\", found \"0\""},
      {"[nvlink]\ngpu.0 = nic.0\n", "no nic.0"},
      {"[nvlink]\ngpu.9 = gpu.0\n", "no gpu.9"},
      {"[nvlink]\ngpu.0 = c2c@fast\n", "expected a rate such as c2c@360GB/s, found \"fast\""},
      {"[nics]\nnic.2 = gdr:no\n", "no nic.2: there are 2"},
      {"[nics]\nnic.0 = speed:3\n", "one of rate, latency, card, port, gdr, found \"speed:3\""},
      {"[nics]\nnic.0 = gdr:maybe\n", "\"maybe\" is no gdr of a NIC"},
      {"[nics]\nnic.0 = rate:fast\n", "\"fast\" is no rate of a NIC"},
      {"[pci]\n", "mine.ini:10:1: pci.lines: has no value"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
    g_auto(Machine) built = {0};
    GError *error = NULL;
    g_autofree char *text = g_strconcat(NODE("a100-pcie-40gb", "4", "pcie4-x16") NETS("2") END, wrong[i].lines, NULL);
    HARNESS_FAILS(machine_build(&built, text, "", &error), error, wrong[i].fragment);
  }
  g_auto(Machine) uneven = {0}, pcie = {0}, more = {0};
  GError *error = NULL;
  HARNESS_FAILS(machine_build(&uneven, NODE("v100-sxm2-16gb", "8", "nvlink2-mesh") END, "", &error), error,
                "6 NVLinks of a GPU do not go evenly to 7 others: say in [nvlink]");
  HARNESS_FAILS(machine_build(&pcie, NODE("v100-sxm2-16gb", "2", "nvlink2-mesh") "pcie = fast\n" END, "", &error),
                error, "node.pcie: pcie: expected a link such as");
  HARNESS_FAILS(machine_build(&more, lines, "cluster.nics_per_node=3", &error), error, "nic.2 is missing");
}

/* A changed letter makes another machine or an error, never a crash; a machine that is built has all its parts
 * placed. */
static void survives_mutations(void) {
  static const char letters[] = "0123456789.@:*= \ngpunicswtcheox,-";
  GRand *random = harness_random();
  const char *groups = strstr(lines, "[pci]");
  guint built_ones = 0;
  for (guint round = 0; round < 300; round++) {
    g_autofree char *text = g_strdup(lines);
    for (gint changes = g_rand_int_range(random, 1, 4); changes > 0; changes--)
      text[(groups - lines) + g_rand_int_range(random, 0, (gint)strlen(groups))] =
          letters[g_rand_int_range(random, 0, (gint)strlen(letters))];
    g_auto(Machine) built = {0};
    g_autoptr(GError) error = NULL;
    gboolean done = machine_build(&built, text, "", &error);
    CU_ASSERT_EQUAL(done, error == NULL);
    built_ones += done;
    for (guint32 part = 0; done && part < built.cluster->machine->n_parts; part++)
      CU_ASSERT_TRUE(hw_machine_socket_of(built.cluster->machine, part) < built.cluster->machine->sockets);
  }
  CU_ASSERT_TRUE(built_ones > 5 && built_ones < 200);
  g_rand_free(random);
}

int main(void) {
  return harness_run("hw-machine", (HarnessCase[]){{"DGX H100", dgx_h100},
                                                   {"AWS p4d", aws_p4d},
                                                   {"other trees", other_trees},
                                                   {"part of a machine", part_of_a_machine},
                                                   {"written lines", written_lines},
                                                   {"set on the command line", set_on_the_command_line},
                                                   {"even meshes", even_meshes},
                                                   {"printed machines read back", printed_machines_read_back},
                                                   {"nonsense is refused", nonsense_is_refused},
                                                   {"survives mutations", survives_mutations},
                                                   {NULL, NULL}});
}
