/* SPDX-License-Identifier: MIT */
/* Fabrics out of ibnetdiscover, iblinkinfo and Slurm's topology.conf: the kind, the nodes on a leaf and the
 * oversubscription that each states, read back as a cluster; what it cannot be is refused. */
#include <glib/gstdio.h>
#include <string.h>

#include "cluster.h"
#include "harness.h"
#include "import-fabric.h"

typedef ImportFabric *(*Load)(const char *path, GError **error);

static char *data(const char *name) {
  g_autofree char *relative = g_build_filename("tests/data/fabric", name, NULL);
  return harness_path(relative);
}

static char *temporary(const char *name) {
  return g_build_filename(g_get_tmp_dir(), name, NULL);
}

/* A fabric of a text, laid over a topology; NULL on error. */
static GString *laid(Load load, const char *text, const char *topology, GError **error) {
  g_autofree char *path = temporary("foretrain-test-fabric.txt");
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
  g_autoptr(ImportFabric) fabric = load(path, error);
  GString *result = fabric != NULL ? import_fabric_text(fabric, topology, error) : NULL;
  g_remove(path);
  return result;
}

static TestCluster built_from(const GString *text, guint nodes) {
  g_autofree char *path = temporary("foretrain-test-fabric.ini");
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text->str, -1, NULL));
  TestCluster built = cluster_new(path, nodes, NULL);
  g_remove(path);
  return built;
}

static void check(Load load, const char *file, HwFabric kind, guint per_leaf, double oversubscription) {
  g_autofree char *path = data(file);
  g_autofree char *text = NULL;
  CU_ASSERT_TRUE_FATAL(g_file_get_contents(path, &text, NULL, NULL));
  g_autoptr(GString) topology = laid(load, text, "p5.48xlarge", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(topology);
  TestCluster built = built_from(topology, 4);
  CU_ASSERT_EQUAL(built.cluster->fabric, (int)kind);
  CU_ASSERT_EQUAL(built.cluster->nodes_per_leaf, per_leaf);
  CU_ASSERT_EQUAL(built.cluster->oversubscription, oversubscription);
  CU_ASSERT_STRING_EQUAL(built.cluster->gpu->name, "h100-sxm5-80gb"); /* the rest is the topology's */
  CU_ASSERT_EQUAL(built.cluster->gpu_hour, 6.88);
  cluster_clear(&built);
}

/* Four nodes of two adapters, each on a leaf of its own; a leaf has two nodes of 400 Gb/s and one link of 400 Gb/s up:
 * 2 : 1. The part of a switch that reduces (SHARP) is no node, a port that is down no link; both tools say the same. */
static void rails(void) {
  check(import_ibnetdiscover_load, "rails.ibnetdiscover", HW_FABRIC_RAIL_OPTIMISED, 2, 2);
  check(import_iblinkinfo_load, "rails.iblinkinfo", HW_FABRIC_RAIL_OPTIMISED, 2, 2);
}

/* Two leaves of four nodes; Slurm states no rates. */
static void slurm(void) {
  check(import_slurm_load, "topology.conf", HW_FABRIC_FAT_TREE, 4, 1);
}

/* One leaf with two nodes of one adapter and half of their bandwidth up (100 of 2 × 100 Gb/s: 2 : 1), another with one
 * node and as much up: the tightest counts, and it is said. */
static const char tree[] =
    "Switch 36 \"S-01\" # \"a\" base port 0 lid 1 lmc 0\n"
    "[1] \"H-01\"[1](1) # \"n1 HCA-1\" lid 11 4xEDR\n[2] \"H-02\"[1](2) # \"n2 HCA-1\" lid 12 4xEDR\n"
    "[3] \"S-03\"[1] # \"s\" lid 3 4xEDR\n\n"
    "Switch 36 \"S-02\" # \"b\" base port 0 lid 2 lmc 0\n[1] \"H-03\"[1](3) # \"n3 HCA-1\" lid 13 4xEDR\n"
    "[3] \"S-03\"[2] # \"s\" lid 3 4xEDR\n\n"
    "Switch 36 \"S-03\" # \"s\" base port 0 lid 3 lmc 0\n[1] \"S-01\"[3] # \"a\" lid 1 4xEDR\n"
    "[2] \"S-02\"[3] # \"b\" lid 2 4xEDR\n";

static void uneven(void) {
  g_autoptr(GString) text = laid(import_ibnetdiscover_load, tree, "dgx-h100", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "[fabric]\nkind = fat-tree\nnodes_per_leaf = 2\noversubscription = 2\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "leaves differ, from 1 to 2 : 1; the tightest is taken"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "dgx-h100 has 8 NICs in a node, the fabric shows 1"));
  TestCluster built = built_from(text, 2);
  cluster_clear(&built);
}

/* As scontrol shows it: the nodes of an upper switch are those below it. */
static void shown_by_scontrol(void) {
  g_autoptr(GString) text = laid(import_slurm_load,
                                 "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=a,b\n"
                                 "SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-2]\n"
                                 "SwitchName=b Level=0 LinkSpeed=1 Nodes=n[3-4]\n",
                                 "dgx-h100", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "4 nodes with up to 1 links, on 2 of 3 switches"));
}

/* All nodes on one switch: nothing to cross. */
static void one_switch(void) {
  g_autoptr(GString) text = laid(import_slurm_load, "SwitchName=s Nodes=n[1-3,7],m[01-02]x[1-2]\n", "dgx-h100", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "#   8 nodes with up to 1 links, on 1 of 1 switches\n"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "[fabric]\nkind = single-switch\n"));
}

static void refused(void) {
  static const struct {
    Load load;
    const char *text, *why;
  } cases[] = {
      {import_slurm_load, "SwitchName=a Nodes=n[1-3\n", ":1: Nodes=n[1-3: expected names as node[01-16,20]"},
      {import_slurm_load, "\nSwitchName=a Nodes=n[3-1]\n", ":2: Nodes=n[3-1]"},
      {import_slurm_load, "SwitchName=a Nodes=n[1-99999999]\n", "in all at most 65536"},
      {import_slurm_load, "BlockName=b Nodes=n[1-18]\n", ":1: blocks (topology/block) say who shares NVLink"},
      {import_slurm_load, "Nodes=n1\n", ":1: Nodes before SwitchName"},
      {import_slurm_load, "SwitchName=a Nods=n1\n", "no key \"Nods\" of a switch"},
      {import_slurm_load, "# nothing\n", "holds no switch"},
      {import_slurm_load, "SwitchName=a Switches=b\n", "it has no switch with nodes on it"},
      {import_slurm_load, "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n",
       "switch a has 1 of the 2 nodes and no link"},
      {import_ibnetdiscover_load, "SwitchName=a Nodes=n1\n", "holds no switch: expected lines as Switch 40"},
      {import_iblinkinfo_load, tree, "holds no switch: expected lines as Switch: 0x"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    GString *text = laid(cases[i].load, cases[i].text, "dgx-h100", &error);
    HARNESS_FAILS(text != NULL, error, cases[i].why);
  }
  GError *error = NULL;
  HARNESS_FAILS(laid(import_ibnetdiscover_load, tree, "dgx-h1000", &error) != NULL, error,
                "did you mean \"dgx-h100\"?");
}

int main(void) {
  return harness_run("import-fabric", (HarnessCase[]){{"rails of InfiniBand", rails},
                                                      {"Slurm's tree", slurm},
                                                      {"uneven leaves", uneven},
                                                      {"one switch", one_switch},
                                                      {"as scontrol shows it", shown_by_scontrol},
                                                      {"refused", refused},
                                                      {NULL, NULL}});
}
