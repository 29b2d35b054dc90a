/* SPDX-License-Identifier: MIT */
/* Layouts against the groups that Megatron-Core, DeepSpeed, nanotron and torchtitan form, and what does not divide. */
#include <string.h>

#include "harness.h"
#include "layout.h"

#define BIT LAYOUT_BIT

static Layout lay(LayoutDegrees degrees, guint32 ranks, const char *order) {
  Layout layout;
  g_autoptr(GError) error = NULL;
  gboolean good = layout_init(&layout, &degrees, ranks, order, &error);
  if (!good)
    printf("\n    %s\n", error->message);
  CU_ASSERT_TRUE_FATAL(good);
  return layout;
}

/* "0 1, 2 3": the groups of a set, in order of their numbers. */
static char *groups_text(const Layout *layout, LayoutSet set) {
  guint32 size = layout_group_size(layout, set);
  g_autofree guint32 *of_rank = g_new(guint32, layout->ranks), *ranks = g_new(guint32, size);
  layout_of_rank(layout, set, of_rank);
  GString *text = g_string_new(NULL);
  for (guint32 group = 0, first = 0; group < layout->ranks / size; group++, first = 0) {
    while (of_rank[first] != group)
      first++;
    layout_group_ranks(layout, set, first, ranks);
    for (guint32 i = 0; i < size; i++) {
      CU_ASSERT_EQUAL(of_rank[ranks[i]], group);
      CU_ASSERT_EQUAL(layout_group(layout, set, ranks[i]), group);
      g_string_append_printf(text, "%s%u", i > 0 ? " " : group > 0 ? ", " : "", ranks[i]);
    }
  }
  return g_string_free(text, FALSE);
}

static void groups_are(const Layout *layout, LayoutSet set, const char *expected) {
  g_autofree char *got = groups_text(layout, set);
  CU_ASSERT_STRING_EQUAL(got, expected);
  if (strcmp(got, expected) != 0)
    printf("\n    got      %s\n    expected %s\n", got, expected);
}

/* The example in the documentation of Megatron-Core's initialize_model_parallel: 16 GPUs, tensor 2, pipeline 4. */
static void megatron_example(void) {
  Layout layout = lay((LayoutDegrees){.tensor = 2, .pipeline = 4}, 16, layout_default_order("megatron", FALSE));
  groups_are(&layout, LAYOUT_DATA, "0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15");
  groups_are(&layout, BIT(LAYOUT_TENSOR), "0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15");
  groups_are(&layout, BIT(LAYOUT_PIPELINE), "0 4 8 12, 1 5 9 13, 2 6 10 14, 3 7 11 15");
}

/* By hand from RankGenerator: order tp-cp-ep-dp-pp, tensor 2, context 2, data 2, pipeline 2: rank = t + 2c + 4d + 8p.
 * dp-cp groups are what gradients are reduced over, tp-pp what the norm of gradients is summed over. */
static void megatron_context(void) {
  Layout layout = lay((LayoutDegrees){.tensor = 2, .context = 2, .pipeline = 2}, 16, "tp-cp-ep-dp-pp");
  groups_are(&layout, BIT(LAYOUT_CONTEXT), "0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15");
  groups_are(&layout, LAYOUT_DATA | BIT(LAYOUT_CONTEXT), "0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15");
  groups_are(&layout, BIT(LAYOUT_TENSOR) | BIT(LAYOUT_PIPELINE), "0 1 8 9, 2 3 10 11, 4 5 12 13, 6 7 14 15");
}

/* use_tp_pp_dp_mapping, the same degrees as the example: rank = t + 2p + 8d. */
static void megatron_pipeline_before_data(void) {
  Layout layout = lay((LayoutDegrees){.tensor = 2, .pipeline = 4}, 16, "tp-cp-ep-pp-dp");
  groups_are(&layout, BIT(LAYOUT_PIPELINE), "0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15");
  groups_are(&layout, LAYOUT_DATA, "0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15");
}

/* Megatron-Core with experts: tensor 2, pipeline 2, expert 4, expert_tensor 1 on 16 GPUs. Dense data 4, expert data
 * 16 / (1 × 4 × 2) = 2: expert rank = e + 4d + 8p, so that an expert group crosses the tensor groups. */
static void megatron_experts(void) {
  Layout layout = lay((LayoutDegrees){.tensor = 2, .pipeline = 2, .expert = 4, .expert_tensor = 1}, 16,
                      layout_default_order("megatron", TRUE));
  groups_are(&layout, LAYOUT_DATA, "0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15");
  groups_are(&layout, BIT(LAYOUT_EXPERT), "0 1 2 3, 4 5 6 7, 8 9 10 11, 12 13 14 15");
  groups_are(&layout, LAYOUT_EXPERT_DATA, "0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15");
  groups_are(&layout, BIT(LAYOUT_PIPELINE), "0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15");
  Layout split = lay((LayoutDegrees){.tensor = 2, .expert = 2}, 8, "tp-cp-ep-dp-pp");
  /* expert_tensor as tensor: rank = t + 2e + 4d. */
  groups_are(&split, BIT(LAYOUT_EXPERT_TENSOR), "0 1, 2 3, 4 5, 6 7");
  groups_are(&split, BIT(LAYOUT_EXPERT), "0 2, 1 3, 4 6, 5 7");
  groups_are(&split, BIT(LAYOUT_EXPERT) | BIT(LAYOUT_EXPERT_TENSOR), "0 1 2 3, 4 5 6 7");
}

/* DeepSpeed tests/unit/runtime/pipe/test_topology.py, test_topology_comm_list: two of pipe, model and data each. */
static void deepspeed_topology(void) {
  Layout layout = lay((LayoutDegrees){.tensor = 2, .pipeline = 2}, 8, layout_default_order("deepspeed", FALSE));
  groups_are(&layout, BIT(LAYOUT_PIPELINE), "0 4, 1 5, 2 6, 3 7");
  groups_are(&layout, LAYOUT_DATA, "0 2, 1 3, 4 6, 5 7");
  groups_are(&layout, BIT(LAYOUT_TENSOR), "0 1, 2 3, 4 5, 6 7");
  /* test_topology_3d: get_rank(pipe=1, data=0, model=1) is 5. */
  CU_ASSERT_EQUAL(layout_coordinate(&layout, 5, LAYOUT_PIPELINE), 1);
  CU_ASSERT_EQUAL(layout_coordinate(&layout, 5, LAYOUT_SHARD), 0);
  CU_ASSERT_EQUAL(layout_coordinate(&layout, 5, LAYOUT_TENSOR), 1);
}

/* nanotron ParallelContext, pipeline 2, data 2, tensor 2. Without experts ranks are (pp, dp, cp, tp); with, dense
 * layers are (dp, pp, cp, tp) and expert layers (expert dp, pp, ep, tp): expert 2, expert_tensor 1, expert data 2. */
static void nanotron_meshes(void) {
  LayoutDegrees degrees = {.tensor = 2, .pipeline = 2};
  Layout dense = lay(degrees, 8, layout_default_order("nanotron", FALSE));
  groups_are(&dense, BIT(LAYOUT_PIPELINE), "0 4, 1 5, 2 6, 3 7");
  groups_are(&dense, LAYOUT_DATA, "0 2, 1 3, 4 6, 5 7");
  degrees.expert = 2;
  degrees.expert_tensor = 1;
  Layout experts = lay(degrees, 8, layout_default_order("nanotron", TRUE));
  groups_are(&experts, BIT(LAYOUT_PIPELINE), "0 2, 1 3, 4 6, 5 7");
  groups_are(&experts, LAYOUT_DATA, "0 4, 1 5, 2 6, 3 7");
  groups_are(&experts, BIT(LAYOUT_EXPERT), "0 1, 2 3, 4 5, 6 7");
  groups_are(&experts, LAYOUT_EXPERT_DATA, "0 4, 1 5, 2 6, 3 7");
}

/* torchtitan's mesh (pp, dp_replicate, dp_shard, cp, tp) = (2, 2, 2, 1, 2): rank = t + 2s + 4r + 8p. Expert 4 with
 * expert_tensor 1 spans dp_shard and tp; the copies stay dp_replicate. */
static void torchtitan_mesh(void) {
  LayoutDegrees degrees = {.tensor = 2, .pipeline = 2, .expert = 4, .expert_tensor = 1};
  Layout layout = lay(degrees, 16, layout_default_order("fsdp2", TRUE));
  g_autoptr(GError) error = NULL;
  CU_ASSERT_TRUE(layout_split_data(&layout, 2, &error));
  groups_are(&layout, BIT(LAYOUT_SHARD), "0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15");
  groups_are(&layout, BIT(LAYOUT_REPLICA), "0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15");
  groups_are(&layout, LAYOUT_DATA, "0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15");
  groups_are(&layout, BIT(LAYOUT_EXPERT), "0 1 2 3, 4 5 6 7, 8 9 10 11, 12 13 14 15");
  groups_are(&layout, BIT(LAYOUT_EXPERT_REPLICA), "0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15");
  CU_ASSERT_EQUAL(layout.degree[LAYOUT_EXPERT_SHARD], 1);
  HARNESS_FAILS(layout_split_data(&layout, 3, &error), error, "groups of 3 do not divide the 4 data ranks");
}

static void data_in_a_node(void) {
  Layout layout = lay((LayoutDegrees){.tensor = 2, .pipeline = 2}, 32, "tp-cp-dp-pp");
  CU_ASSERT_EQUAL(layout_data_in_node(&layout, 8), 4); /* 8 ranks of a node are 2 tensor × 4 data */
  Layout apart = lay((LayoutDegrees){.tensor = 2, .pipeline = 4}, 32, "tp-cp-pp-dp");
  CU_ASSERT_EQUAL(layout_data_in_node(&apart, 8), 1); /* data ranks are 8 apart */
}

static void peers_differ_in_one_axis(void) {
  Layout layout = lay((LayoutDegrees){.tensor = 2, .pipeline = 4}, 16, "tp-cp-dp-pp");
  CU_ASSERT_EQUAL(layout_peer(&layout, 6, LAYOUT_PIPELINE, 3), 14);
  CU_ASSERT_EQUAL(layout_peer(&layout, 6, LAYOUT_TENSOR, 1), 7);
  CU_ASSERT_EQUAL(layout_peer(&layout, 6, LAYOUT_SHARD, 0), 4);
}

static void what_does_not_divide(void) {
  Layout layout;
  g_autoptr(GError) error = NULL;
  LayoutDegrees degrees = {.tensor = 8, .pipeline = 5};
  HARNESS_FAILS(layout_init(&layout, &degrees, 96, "tp-cp-ep-dp-pp", &error), error,
                "96 GPUs are not a multiple of tensor 8 × pipeline 5 = 40; 80 or 120 are");
  degrees = (LayoutDegrees){.tensor = 16};
  HARNESS_FAILS(layout_init(&layout, &degrees, 8, "tp-cp-ep-dp-pp", &error), error,
                "8 GPUs are not a multiple of tensor 16; 16 are, or take tensor 8");
  degrees = (LayoutDegrees){.pipeline = 7}; /* 8 is nearer than 4, and divides */
  HARNESS_FAILS(layout_init(&layout, &degrees, 16, "tp-cp-ep-dp-pp", &error), error,
                "16 GPUs are not a multiple of pipeline 7; 14 or 21 are, or take pipeline 8");
  degrees = (LayoutDegrees){.tensor = 2, .expert = 3};
  HARNESS_FAILS(layout_init(&layout, &degrees, 8, "tp-cp-ep-dp-pp", &error), error,
                "8 GPUs are not a multiple of expert_tensor 2 × expert 3 = 6; 6 or 12 are");
}

static void orders_that_are_none(void) {
  Layout layout;
  g_autoptr(GError) error = NULL;
  LayoutDegrees degrees = {.tensor = 2, .context = 2, .pipeline = 2};
  HARNESS_FAILS(layout_init(&layout, &degrees, 16, "tp-dp-pp", &error), error, "lacks \"cp\", which has 2 ranks");
  HARNESS_FAILS(layout_init(&layout, &degrees, 16, "tp-cp-tp-dp-pp", &error), error, "has \"tp\" twice");
  HARNESS_FAILS(layout_init(&layout, &degrees, 16, "tp-cp-dp-pipe", &error), error, "\"pipe\" in the order");
  HARNESS_FAILS(layout_init(&layout, &degrees, 16, "", &error), error, "lacks \"tp\"");
  /* Dense stages 2 ranks apart, expert stages 4: Megatron-Core refuses it in other words. */
  degrees = (LayoutDegrees){.tensor = 2, .pipeline = 2, .expert = 2, .expert_tensor = 2};
  HARNESS_FAILS(layout_init(&layout, &degrees, 16, "tp-cp-ep-pp-dp", &error), error,
                "a pipeline stage is 2 ranks for dense layers and 4 for experts");
}

/* Any layout and any set of dense axes: groups of one set cover every rank once, are ascending, and every group meets
 * every group of the complement in exactly one rank. */
static void groups_are_a_partition(void) {
  g_autoptr(GRand) random = harness_random();
  static const char *const orders[] = {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", "pp-dp-cp-tp", "dp-pp-tp-cp"};
  const LayoutSet all = BIT(LAYOUT_TENSOR) | BIT(LAYOUT_CONTEXT) | LAYOUT_DATA | BIT(LAYOUT_PIPELINE);
  for (int round = 0; round < 300; round++) {
    LayoutDegrees degrees = {(guint32)g_rand_int_range(random, 1, 4), (guint32)g_rand_int_range(random, 1, 4),
                             (guint32)g_rand_int_range(random, 1, 4), 0, 0};
    guint32 ranks = degrees.tensor * degrees.context * degrees.pipeline * (guint32)g_rand_int_range(random, 1, 5);
    Layout layout = lay(degrees, ranks, orders[g_rand_int_range(random, 0, 4)]);
    LayoutSet set = g_rand_int(random) & all, rest = all & ~set;
    guint32 size = layout_group_size(&layout, set), other = layout_group_size(&layout, rest);
    CU_ASSERT_EQUAL_FATAL(size * other, ranks);
    g_autofree guint8 *met = g_malloc0(ranks);
    for (guint32 rank = 0; rank < ranks; rank++) {
      guint32 group = layout_group(&layout, set, rank), place = layout_group(&layout, rest, rank);
      CU_ASSERT_TRUE_FATAL(group < other && place < size);
      CU_ASSERT_EQUAL(met[(group * size) + place]++, 0);
      g_autofree guint32 *members = g_new(guint32, size);
      layout_group_ranks(&layout, set, rank, members);
      CU_ASSERT_EQUAL(members[place], rank);
    }
  }
}

int main(void) {
  return harness_run("layout",
                     (HarnessCase[]){{"the groups of Megatron-Core's example", megatron_example},
                                     {"Megatron-Core with context", megatron_context},
                                     {"Megatron-Core with the pipeline before data", megatron_pipeline_before_data},
                                     {"Megatron-Core with experts", megatron_experts},
                                     {"DeepSpeed's topology", deepspeed_topology},
                                     {"nanotron's meshes", nanotron_meshes},
                                     {"torchtitan's mesh", torchtitan_mesh},
                                     {"data ranks of a node", data_in_a_node},
                                     {"peers differ in one axis", peers_differ_in_one_axis},
                                     {"what does not divide names what does", what_does_not_divide},
                                     {"orders that are none", orders_that_are_none},
                                     {"groups are a partition", groups_are_a_partition},
                                     {NULL, NULL}});
}
