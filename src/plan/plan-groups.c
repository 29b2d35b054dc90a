/* SPDX-License-Identifier: MIT */
/* Which rank is in which group. */
#include "plan-groups.h"

#define DENSE_DATA (LAYOUT_DATA | LAYOUT_BIT(LAYOUT_CONTEXT))

Layout plan_groups_layout(const PlanRecipe *recipe) {
  Layout layout = recipe->axes.layout;
  if (layout.ranks == 0) {
    LayoutDegrees none = {0};
    layout_init(&layout, &none, recipe->ranks, "tp-cp-ep-dp-pp", NULL);
  }
  return layout;
}

/* One group that holds all is a communicator, not many side by side. */
static guint32 add(ProgramBuilder *builder, const char *name, const guint32 *of_rank, guint32 ranks, gboolean one) {
  if (!one)
    return program_builder_communicators(builder, name, of_rank, ranks);
  g_autofree guint32 *everyone = g_new(guint32, ranks);
  for (guint32 i = 0; i < ranks; i++)
    everyone[i] = i;
  return program_builder_communicator(builder, name, everyone, ranks);
}

guint32 plan_groups_of(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, LayoutSet set) {
  guint32 known = program_builder_slot(builder, name);
  if (known != PROGRAM_NONE)
    return known;
  Layout layout = plan_groups_layout(recipe);
  g_autofree guint32 *of_rank = g_new(guint32, layout.ranks);
  layout_of_rank(&layout, set, of_rank);
  return add(builder, name, of_rank, layout.ranks, layout_group_size(&layout, set) == layout.ranks);
}

/* ---- Experts over nodes ---- */

static guint32 experts_near(const PlanRecipe *recipe, const Layout *layout) {
  guint32 expert = layout->degree[LAYOUT_EXPERT], stride = layout->stride[LAYOUT_EXPERT];
  guint32 near = stride > 0 ? recipe->ranks_per_node / stride : 0;
  gboolean even = near > 0 && recipe->ranks_per_node % stride == 0 && expert % near == 0;
  return even ? near : expert;
}

guint32 plan_groups_expert_nodes(const PlanRecipe *recipe) {
  Layout layout = plan_groups_layout(recipe);
  return layout.degree[LAYOUT_EXPERT] / experts_near(recipe, &layout);
}

guint32 plan_groups_experts(ProgramBuilder *builder, const PlanRecipe *recipe, gboolean near) {
  const char *name = near ? "expert in node" : "expert across nodes";
  guint32 known = program_builder_slot(builder, name);
  if (known != PROGRAM_NONE)
    return known;
  Layout layout = plan_groups_layout(recipe);
  guint32 inside = experts_near(recipe, &layout), parts = near ? layout.degree[LAYOUT_EXPERT] / inside : inside;
  g_autofree guint32 *of_rank = g_new(guint32, layout.ranks);
  layout_of_rank(&layout, LAYOUT_BIT(LAYOUT_EXPERT), of_rank);
  for (guint32 i = 0; i < layout.ranks; i++) {
    guint32 at = layout_coordinate(&layout, i, LAYOUT_EXPERT);
    of_rank[i] = of_rank[i] * parts + (near ? at / inside : at % inside);
  }
  return program_builder_communicators(builder, name, of_rank, layout.ranks);
}

guint32 plan_groups_everyone(ProgramBuilder *builder, const PlanRecipe *recipe) {
  return plan_groups_of(builder, "data-parallel", recipe, DENSE_DATA);
}

guint32 plan_groups_model(ProgramBuilder *builder, const PlanRecipe *recipe) {
  return plan_groups_of(builder, "model-parallel", recipe, LAYOUT_BIT(LAYOUT_TENSOR) | LAYOUT_BIT(LAYOUT_PIPELINE));
}

/* Ranks of a data group are counted from its lowest on. */
static guint32 split(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, guint32 size,
                     gboolean beside) {
  guint32 known = program_builder_slot(builder, name);
  if (known != PROGRAM_NONE)
    return known;
  Layout layout = plan_groups_layout(recipe);
  guint32 data = layout_group_size(&layout, DENSE_DATA), parts = beside ? data / size : size;
  g_autofree guint32 *of_rank = g_new(guint32, layout.ranks);
  g_autofree guint32 *counted = g_new0(guint32, layout.ranks);
  layout_of_rank(&layout, DENSE_DATA, of_rank);
  for (guint32 i = 0; i < layout.ranks; i++) {
    guint32 group = of_rank[i], at = counted[group]++;
    of_rank[i] = group * parts + (beside ? at / size : at % size);
  }
  return program_builder_communicators(builder, name, of_rank, layout.ranks);
}

guint32 plan_groups_beside(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, guint32 size) {
  return split(builder, name, recipe, size, TRUE);
}

guint32 plan_groups_alike(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, guint32 size) {
  return split(builder, name, recipe, size, FALSE);
}

/* ---- Pairs ---- */

/* Pairs, by the pipeline rank that they start at, in slots in which no two have a rank in common. */
enum { EVEN, ODD, AROUND, COLOURS };

static guint32 colour_of(guint32 start, guint32 p) {
  return p % 2 == 1 && start + 1 == p ? AROUND : start % 2;
}

/* Where the pair of a colour starts that a pipeline rank is in; PROGRAM_NONE: in none. */
static guint32 start_of(guint32 at, guint32 p, guint32 colour, gboolean around) {
  guint32 start = colour_of(at, p) == colour ? at : (at + p - 1) % p;
  return colour_of(start, p) == colour && (start + 1 < p || around) ? start : PROGRAM_NONE;
}

static guint32 add_pairs(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, guint32 colour) {
  Layout layout = plan_groups_layout(recipe);
  guint32 p = layout.degree[LAYOUT_PIPELINE], pairs = 0;
  for (guint32 at = 0; at < p; at++)
    pairs += start_of(at, p, colour, layout_goes_around(&recipe->axes)) == at;
  g_autofree guint32 *of_rank = g_new(guint32, layout.ranks);
  layout_of_rank(&layout, LAYOUT_BIT(LAYOUT_PIPELINE), of_rank);
  for (guint32 i = 0; i < layout.ranks; i++) {
    guint32 at = layout_coordinate(&layout, i, LAYOUT_PIPELINE);
    guint32 start = start_of(at, p, colour, layout_goes_around(&recipe->axes));
    of_rank[i] = start == PROGRAM_NONE ? PROGRAM_NONE : of_rank[i] * pairs + start / 2 * (colour != AROUND);
  }
  return program_builder_communicators(builder, name, of_rank, layout.ranks);
}

guint32 plan_groups_pair(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, guint32 before,
                         guint32 after) {
  static const char *const colours[COLOURS] = {[EVEN] = "even", [ODD] = "odd", [AROUND] = "around"};
  guint32 start = layout_goes_around(&recipe->axes) ? before : MIN(before, after);
  guint32 colour = colour_of(start, plan_groups_layout(recipe).degree[LAYOUT_PIPELINE]);
  g_autofree char *full = g_strdup_printf("%s %s", name, colours[colour]);
  guint32 known = program_builder_slot(builder, full);
  return known != PROGRAM_NONE ? known : add_pairs(builder, full, recipe, colour);
}

guint32 plan_groups_tied(ProgramBuilder *builder, const PlanRecipe *recipe, guint32 output) {
  guint32 known = program_builder_slot(builder, "embeddings");
  if (known != PROGRAM_NONE)
    return known;
  Layout layout = plan_groups_layout(recipe);
  g_autofree guint32 *of_rank = g_new(guint32, layout.ranks);
  layout_of_rank(&layout, LAYOUT_BIT(LAYOUT_PIPELINE), of_rank);
  for (guint32 i = 0; i < layout.ranks; i++) {
    guint32 at = layout_coordinate(&layout, i, LAYOUT_PIPELINE);
    of_rank[i] = at == 0 || at == output ? of_rank[i] : PROGRAM_NONE;
  }
  return program_builder_communicators(builder, "embeddings", of_rank, layout.ranks);
}
