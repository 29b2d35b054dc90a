/* SPDX-License-Identifier: MIT */
/* Where the groups of a layout come to lie on a shipped cluster of several nodes: which links their calls load. */
#include <string.h>

#include "axes-case.h"
#include "cluster.h"
#include "group.h"

#define NODES 4
#define RANKS 32

typedef struct {
  const char *order, *tensor, *pipeline;
  guint32 data_away, hop_away; /* ranks from a member of the group to the next */
} Case;

static const Case cases[] = {
    {"parallel.rank_order=tp-cp-ep-dp-pp", "parallel.tensor=8", "parallel.pipeline=2", 8, 16},
    {"parallel.rank_order=tp-cp-ep-pp-dp", "parallel.tensor=8", "parallel.pipeline=2", 16, 8},
    {"parallel.rank_order=tp-cp-ep-dp-pp", "parallel.tensor=4", "parallel.pipeline=4", 4, 8},
    {"parallel.rank_order=tp-cp-ep-pp-dp", "parallel.tensor=4", "parallel.pipeline=2", 8, 4},
};

/* A GPU's own ways, and those of the NIC of its rail. */
static gboolean is_way_of(const HwCluster *cluster, guint32 rank, guint32 link) {
  guint32 node = hw_cluster_node_of(cluster, rank), nic = rank % cluster->gpus_per_node;
  return link == hw_cluster_gpu_out(cluster, rank) || link == hw_cluster_gpu_in(cluster, rank) ||
         link == hw_cluster_nic_out(cluster, node, nic) || link == hw_cluster_nic_in(cluster, node, nic);
}

typedef struct {
  guint32 nics, strange; /* links of NICs, and links but a leaf's that are no member's */
} Loads;

static Loads loads_of(const HwCluster *cluster, const ProgramCommunicator *communicator, CollAlgorithm algorithm) {
  g_autoptr(CollGroup) group = group_new(cluster, communicator->ranks, communicator->n_ranks, NULL);
  const CollRoute *route = coll_group_route(group, algorithm);
  Loads loads = {0};
  for (guint32 i = 0; i < route->n; i++) {
    HwLinkClass kind = cluster->links[route->links[i]].link_class;
    gboolean known = kind == HW_CLASS_LEAF_UP || kind == HW_CLASS_LEAF_DOWN;
    for (guint32 r = 0; r < communicator->n_ranks && !known; r++)
      known = is_way_of(cluster, communicator->ranks[r], route->links[i]);
    loads.strange += !known;
    loads.nics += kind == HW_CLASS_NIC_OUT || kind == HW_CLASS_NIC_IN;
  }
  return loads;
}

/* Tensor groups load no NIC. Of a data group each node sends and receives by a NIC of a member's rail, and by none but
 * those; a hop is a NIC of the one rank's rail and of the other's. Within a node none loads a NIC. */
static void check(const Case *of, const HwCluster *cluster, const Program *program, guint32 slot, guint *seen) {
  const ProgramCommunicator *communicator = &program->communicators[program_group(program, 0, slot)];
  const char *name = program->slots[slot];
  gboolean hop =
      strstr(name, "activations") != NULL || strstr(name, "gradients") != NULL || strstr(name, "neighbours") != NULL;
  gboolean tensor = strcmp(name, "tensor") == 0, data = strcmp(name, "optimizer instance") == 0;
  if (!tensor && !data && !hop)
    return;
  Loads loads = loads_of(cluster, communicator, hop ? COLL_P2P : COLL_RING);
  guint32 away = communicator->ranks[1] - communicator->ranks[0];
  seen[tensor ? 0 : data ? 1 : 2]++;
  CU_ASSERT_EQUAL(loads.strange, 0);
  CU_ASSERT_EQUAL(away, tensor ? 1 : data ? of->data_away : of->hop_away);
  gboolean in_node = away < cluster->gpus_per_node;
  CU_ASSERT_TRUE((loads.nics == 0) == in_node);
  if (data && !in_node)
    CU_ASSERT_EQUAL(loads.nics, 2 * communicator->n_ranks);
}

static void groups_load_their_members_links(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    TestCluster built = cluster_new("dgx-h100", NODES, NULL);
    const char *settings[] = {"parallel.framework=megatron",
                              "parallel.zero_stage=1",
                              cases[i].order,
                              cases[i].tensor,
                              cases[i].pipeline,
                              "training.gradient_accumulation=8",
                              NULL};
    g_autoptr(Program) program = axes_case(8, FALSE, RANKS, settings);
    guint seen[3] = {0};
    for (guint32 slot = 0; slot < program->n_slots; slot++)
      if (program_group(program, 0, slot) != PROGRAM_NONE)
        check(&cases[i], built.cluster, program, slot, seen);
    CU_ASSERT_TRUE(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    cluster_clear(&built);
  }
}

/* The comparison can fail: a data group of one rail, asked of the ranks of the next, is a stranger there. */
static void another_rail_is_strange(void) {
  TestCluster built = cluster_new("dgx-h100", NODES, NULL);
  guint32 ranks[] = {0, 8, 16, 24};
  g_autoptr(CollGroup) group = group_new(built.cluster, ranks, NODES, NULL);
  const CollRoute *route = coll_group_route(group, COLL_RING);
  CU_ASSERT_TRUE(route->n > 0);
  for (guint32 i = 0; i < route->n; i++)
    CU_ASSERT_FALSE(is_way_of(built.cluster, 1, route->links[i]));
  cluster_clear(&built);
}

int main(void) {
  return harness_run("placement", (HarnessCase[]){{"groups load their members' links", groups_load_their_members_links},
                                                  {"another rail is strange", another_rail_is_strange},
                                                  {NULL, NULL}});
}
