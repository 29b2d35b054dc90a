/* SPDX-License-Identifier: MIT */
/* A layout from its degrees, and the arithmetic of coordinates and groups. */
#include <string.h>

#include "base-error.h"
#include "layout-order.h"
#include "layout.h"

const char *const layout_axis_names[] = {"tensor", "context",      "shard",          "replica",  "expert_tensor",
                                         "expert", "expert_shard", "expert_replica", "pipeline", NULL};

#define EXPERT_GRID (LAYOUT_BIT(LAYOUT_EXPERT_TENSOR) | LAYOUT_BIT(LAYOUT_EXPERT) | LAYOUT_EXPERT_DATA)
#define DENSE_GRID  (LAYOUT_BIT(LAYOUT_TENSOR) | LAYOUT_BIT(LAYOUT_CONTEXT) | LAYOUT_DATA)

static gboolean has(LayoutSet set, guint axis) {
  return (set & LAYOUT_BIT(axis)) != 0;
}

/* "tensor 8 × pipeline 5 = 40" */
static char *product_text(const Layout *layout, LayoutSet set, guint64 product) {
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint axis = 0; axis < LAYOUT_AXES; axis++)
    if (has(set, axis) && layout->degree[axis] > 1)
      g_string_append_printf(text, "%s%s %u", text->len > 0 ? " × " : "", layout_axis_names[axis],
                             layout->degree[axis]);
  if (strchr(text->str, ' ') != strrchr(text->str, ' '))
    g_string_append_printf(text, " = %" G_GUINT64_FORMAT, product);
  return g_string_free(g_steal_pointer(&text), FALSE);
}

/* The degree nearest to one that does not divide, where it is that of one axis alone; 0: of several. */
static guint64 nearest_degree(guint32 ranks, guint64 product, LayoutSet set, const Layout *layout) {
  guint axes = 0;
  for (guint axis = 0; axis < LAYOUT_AXES; axis++)
    axes += has(set, axis) && layout->degree[axis] > 1;
  guint64 below = MIN(product, ranks), above = product;
  while (ranks % below != 0)
    below--;
  while (above < ranks && ranks % above != 0)
    above++;
  if (axes > 1)
    return 0;
  return above <= ranks && above - product < product - below ? above : below;
}

/* Of the axis that a product_text begins with. */
static char *degree_text(const char *axes, guint64 degree) {
  return g_strdup_printf(", or take %.*s %" G_GUINT64_FORMAT, (int)strcspn(axes, " "), axes, degree);
}

/* What is left of the ranks for the data axis when the axes of `set` are taken. */
static gboolean divide_ranks(const Layout *layout, LayoutSet set, guint32 *ret, GError **error) {
  guint64 product = 1;
  for (guint axis = 0; axis < LAYOUT_AXES; axis++)
    if (has(set, axis) && product <= G_MAXUINT32)
      product *= layout->degree[axis];
  if (layout->ranks % product == 0) {
    *ret = (guint32)(layout->ranks / product);
    return TRUE;
  }
  guint64 below = layout->ranks / product * product;
  g_autofree char *axes = product_text(layout, set, product);
  guint64 degree = nearest_degree(layout->ranks, product, set, layout);
  g_autofree char *advice = degree > 0 ? degree_text(axes, degree) : g_strdup("");
  if (below == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%u GPUs are not a multiple of %s; %" G_GUINT64_FORMAT " are%s",
                layout->ranks, axes, product, advice);
  else
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%u GPUs are not a multiple of %s; %" G_GUINT64_FORMAT " or %" G_GUINT64_FORMAT " are%s", layout->ranks,
                axes, below, below + product, advice);
  return FALSE;
}

static void take_degrees(Layout *layout, const LayoutDegrees *degrees) {
  for (guint axis = 0; axis < LAYOUT_AXES; axis++)
    layout->degree[axis] = 1;
  layout->degree[LAYOUT_TENSOR] = MAX(1, degrees->tensor);
  layout->degree[LAYOUT_CONTEXT] = MAX(1, degrees->context);
  layout->degree[LAYOUT_PIPELINE] = MAX(1, degrees->pipeline);
  layout->degree[LAYOUT_EXPERT] = MAX(1, degrees->expert);
  guint32 tensor = degrees->expert > 1 ? layout->degree[LAYOUT_TENSOR] : 1;
  layout->degree[LAYOUT_EXPERT_TENSOR] = degrees->expert_tensor > 0 ? degrees->expert_tensor : tensor;
}

/* Expert layers pass activations along the same pipelines as dense layers: a stage must be as far from the next in both
 * grids. With the pipeline last it always is. */
static gboolean check_pipelines(const Layout *layout, const LayoutWord order[LAYOUT_WORDS], const char *text,
                                GError **error) {
  guint32 dense = layout->stride[LAYOUT_PIPELINE];
  guint32 stride = 1;
  for (guint i = 0; order[i] != LAYOUT_WORD_PP; i++) {
    if (order[i] == LAYOUT_WORD_TP)
      stride *= layout->degree[LAYOUT_EXPERT_TENSOR];
    if (order[i] == LAYOUT_WORD_EP)
      stride *= layout->degree[LAYOUT_EXPERT];
    if (order[i] == LAYOUT_WORD_DP)
      stride *= layout->degree[LAYOUT_EXPERT_SHARD] * layout->degree[LAYOUT_EXPERT_REPLICA];
  }
  if (layout->degree[LAYOUT_PIPELINE] == 1 || stride == dense)
    return TRUE;
  g_set_error(
      error, SIM_ERROR, SIM_ERROR_INPUT,
      "in the order \"%s\" a pipeline stage is %u ranks for dense layers and %u for experts; let tensor × context "
      "equal expert_tensor × expert, or put \"pp\" last",
      text, dense, stride);
  return FALSE;
}

gboolean layout_init(Layout *ret, const LayoutDegrees *degrees, guint32 ranks, const char *order, GError **error) {
  Layout layout = {.ranks = ranks};
  gboolean experts = degrees->expert > 1 || degrees->expert_tensor > 0;
  take_degrees(&layout, degrees);
  LayoutSet dense = LAYOUT_BIT(LAYOUT_TENSOR) | LAYOUT_BIT(LAYOUT_CONTEXT) | LAYOUT_BIT(LAYOUT_PIPELINE);
  LayoutSet expert = LAYOUT_BIT(LAYOUT_EXPERT_TENSOR) | LAYOUT_BIT(LAYOUT_EXPERT) | LAYOUT_BIT(LAYOUT_PIPELINE);
  if (!divide_ranks(&layout, dense, &layout.degree[LAYOUT_SHARD], error) ||
      !divide_ranks(&layout, expert, &layout.degree[LAYOUT_EXPERT_SHARD], error))
    return FALSE;
  guint32 extent[LAYOUT_WORDS] = {MAX(layout.degree[LAYOUT_TENSOR], layout.degree[LAYOUT_EXPERT_TENSOR]),
                                  layout.degree[LAYOUT_CONTEXT], layout.degree[LAYOUT_EXPERT],
                                  MAX(layout.degree[LAYOUT_SHARD], experts ? layout.degree[LAYOUT_EXPERT_SHARD] : 1),
                                  layout.degree[LAYOUT_PIPELINE]};
  LayoutWord words[LAYOUT_WORDS];
  if (!layout_order_read(order, extent, words, error))
    return FALSE;
  layout_order_apply(words, &layout);
  if (experts && !check_pipelines(&layout, words, order, error))
    return FALSE;
  *ret = layout;
  return TRUE;
}

gboolean layout_split_data(Layout *layout, guint32 shard, GError **error) {
  guint32 data = layout_data(layout);
  guint32 expert_data = layout_group_size(layout, LAYOUT_EXPERT_DATA);
  if (shard == 0 || data % shard != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "groups of %u do not divide the %u data ranks", shard, data);
    return FALSE;
  }
  guint32 copies = data / shard;
  if (expert_data % copies != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%u copies of the state do not divide the %u data ranks of experts",
                copies, expert_data);
    return FALSE;
  }
  layout->degree[LAYOUT_SHARD] = shard;
  layout->degree[LAYOUT_REPLICA] = copies;
  layout->stride[LAYOUT_REPLICA] = layout->stride[LAYOUT_SHARD] * shard;
  layout->degree[LAYOUT_EXPERT_SHARD] = expert_data / copies;
  layout->degree[LAYOUT_EXPERT_REPLICA] = copies;
  layout->stride[LAYOUT_EXPERT_REPLICA] = layout->stride[LAYOUT_EXPERT_SHARD] * layout->degree[LAYOUT_EXPERT_SHARD];
  return TRUE;
}

guint32 layout_data_in_node(const Layout *layout, guint32 ranks_per_node) {
  guint32 data = layout_data(layout);
  return CLAMP(ranks_per_node / layout->stride[LAYOUT_SHARD], 1, data);
}

guint32 layout_peer(const Layout *layout, guint32 rank, LayoutAxis axis, guint32 coordinate) {
  sim_require(coordinate < layout->degree[axis], 0, NULL, "coordinate %u of %u", coordinate, layout->degree[axis]);
  return rank - (layout_coordinate(layout, rank, axis) * layout->stride[axis]) + (coordinate * layout->stride[axis]);
}

guint32 layout_data(const Layout *layout) {
  return layout->degree[LAYOUT_SHARD] * layout->degree[LAYOUT_REPLICA];
}

guint32 layout_group_size(const Layout *layout, LayoutSet set) {
  guint32 size = 1;
  for (guint axis = 0; axis < LAYOUT_AXES; axis++)
    if (has(set, axis))
      size *= layout->degree[axis];
  return size;
}

/* The axes of the grid that a set is of, those without extent left out, in order of their strides. */
static guint grid_axes(const Layout *layout, LayoutSet set, LayoutAxis ret[LAYOUT_AXES]) {
  sim_require((set & EXPERT_GRID) == 0 || (set & DENSE_GRID) == 0, 0, NULL, "axes %x of both grids", set);
  LayoutSet grid = ((set & EXPERT_GRID) != 0 ? EXPERT_GRID : DENSE_GRID) | LAYOUT_BIT(LAYOUT_PIPELINE);
  guint n = 0;
  for (guint axis = 0; axis < LAYOUT_AXES; axis++) {
    if (!has(grid, axis) || layout->degree[axis] == 1)
      continue;
    guint at = n++;
    for (; at > 0 && layout->stride[ret[at - 1]] > layout->stride[axis]; at--)
      ret[at] = ret[at - 1];
    ret[at] = (LayoutAxis)axis;
  }
  return n;
}

static guint32 group_of(const Layout *layout, LayoutSet set, const LayoutAxis *axes, guint n, guint32 rank) {
  guint32 group = 0, weight = 1;
  for (guint i = 0; i < n; i++)
    if (!has(set, axes[i])) {
      group += weight * layout_coordinate(layout, rank, axes[i]);
      weight *= layout->degree[axes[i]];
    }
  return group;
}

guint32 layout_group(const Layout *layout, LayoutSet set, guint32 rank) {
  LayoutAxis axes[LAYOUT_AXES];
  guint n = grid_axes(layout, set, axes);
  return group_of(layout, set, axes, n, rank);
}

void layout_of_rank(const Layout *layout, LayoutSet set, guint32 *ret) {
  LayoutAxis axes[LAYOUT_AXES];
  guint n = grid_axes(layout, set, axes);
  for (guint32 rank = 0; rank < layout->ranks; rank++)
    ret[rank] = group_of(layout, set, axes, n, rank);
}

void layout_group_ranks(const Layout *layout, LayoutSet set, guint32 rank, guint32 *ret) {
  LayoutAxis axes[LAYOUT_AXES];
  guint n_axes = grid_axes(layout, set, axes);
  guint32 n = 1;
  ret[0] = rank;
  for (guint i = 0; i < n_axes; i++)
    if (has(set, axes[i]))
      ret[0] -= layout_coordinate(layout, rank, axes[i]) * layout->stride[axes[i]];
  for (guint i = 0; i < n_axes; i++) {
    if (!has(set, axes[i]))
      continue;
    guint32 inner = n;
    for (; n < inner * layout->degree[axes[i]]; n++)
      ret[n] = ret[n - inner] + layout->stride[axes[i]];
  }
}
