/* SPDX-License-Identifier: MIT */
/* Axes of parallelism laid over ranks: every rank's coordinates, every group's ranks. Pure arithmetic.
 *
 * A layout is two grids over the same ranks. Dense layers: tensor, context, shard, replica, pipeline. Expert layers:
 * expert_tensor, expert, expert_shard, expert_replica, and the same pipeline. Data ranks are shard × replica: those
 * that share out one copy of the state, and the copies (hybrid sharding); shard is the faster of the two, as in
 * torchtitan's mesh and in Megatron-Core's partial data groups. An order is a text, the axis that changes from rank to
 * rank first:
 *
 *   "tp-cp-ep-dp-pp", tensor 2, pipeline 4, 16 ranks (the example of Megatron-Core's initialize_model_parallel):
 *
 *       stage 0   0 1 | 2 3        tensor groups 0 1, 2 3, ...      data groups 0 2, 1 3, 4 6, ...
 *       stage 1   4 5 | 6 7        pipeline groups 0 4 8 12, 1 5 9 13, ...
 *       stage 2   8 9 | 10 11
 *       stage 3  12 13 | 14 15
 *
 *   Layout layout;
 *   LayoutDegrees degrees = {.tensor = 2, .pipeline = 4};      // 0: 1; of expert_tensor 0: as tensor
 *   layout_init(&layout, &degrees, 16, layout_default_order("megatron", FALSE), error);
 *   layout_coordinate(&layout, 5, LAYOUT_PIPELINE);            // 1
 *   layout_of_rank(&layout, LAYOUT_DATA, of_rank);             // for program_builder_communicators
 *
 * Groups of several axes joined are a set of bits: LAYOUT_BIT(LAYOUT_CONTEXT) | LAYOUT_DATA for dense gradients. A set
 * holds axes of one grid only. Layouts are values, nothing is freed. */
#pragma once

#include "base-error.h"
#include <glib.h>

typedef enum {
  LAYOUT_TENSOR,
  LAYOUT_CONTEXT,
  LAYOUT_SHARD,
  LAYOUT_REPLICA,
  LAYOUT_EXPERT_TENSOR,
  LAYOUT_EXPERT,
  LAYOUT_EXPERT_SHARD,
  LAYOUT_EXPERT_REPLICA,
  LAYOUT_PIPELINE, /* of both grids */
  LAYOUT_AXES
} LayoutAxis;
extern const char *const layout_axis_names[]; /* "tensor", "context", ... */

typedef guint32 LayoutSet; /* of LAYOUT_BIT */
#define LAYOUT_BIT(axis)   (1U << (axis))
#define LAYOUT_DATA        (LAYOUT_BIT(LAYOUT_SHARD) | LAYOUT_BIT(LAYOUT_REPLICA))
#define LAYOUT_EXPERT_DATA (LAYOUT_BIT(LAYOUT_EXPERT_SHARD) | LAYOUT_BIT(LAYOUT_EXPERT_REPLICA))

typedef struct {
  guint32 tensor, context, pipeline, expert; /* 0: 1 */
  guint32 expert_tensor; /* 0: as tensor where expert is more than 1 (as Megatron-Core), else no experts */
} LayoutDegrees;

typedef struct {
  guint32 ranks;
  guint32 degree[LAYOUT_AXES]; /* at least 1 */
  guint32 stride[LAYOUT_AXES]; /* ranks from one coordinate to the next */
} Layout;

/* The order that a framework lays its axes in: "megatron", "deepspeed", "nanotron", "fsdp2" (torchtitan), any
 * other. nanotron's changes when a model has experts. Borrowed. */
const char *layout_default_order(const char *framework, gboolean experts);
/* Tensor ranks that split an expert where nobody says: Megatron-Core's are those of other layers, torchtitan's and
 * DeepSpeed's one where ranks hold different experts. */
guint32 layout_default_expert_tensor(const char *framework, guint32 tensor, guint32 expert);

/* Lays `degrees` over `ranks` by `order`; the data axes take what is left, all of it in shard. Errors: an order with an
 * unknown or repeated axis, or without one whose degree is more than 1; ranks that are not a multiple, with the nearest
 * that are; an order that gives expert layers other pipelines than dense ones. */
gboolean layout_init(Layout *ret, const LayoutDegrees *degrees, guint32 ranks, const char *order, GError **error);
/* Splits the data axes into groups of `shard` that share out the state, and copies. Errors: it does not divide them, or
 * leaves a number of copies that does not divide the data ranks of the expert layers. */
gboolean layout_split_data(Layout *layout, guint32 shard, GError **error);
/* Data ranks of a group that stand in one node, at least 1: what `shard_group = node` is. */
guint32 layout_data_in_node(const Layout *layout, guint32 ranks_per_node);

static inline guint32 layout_coordinate(const Layout *layout, guint32 rank, LayoutAxis axis) {
  sim_require(layout->stride[axis] > 0 && layout->degree[axis] > 0, 0, NULL, "a layout that was not laid");
  return rank / layout->stride[axis] % layout->degree[axis];
}
/* The rank that differs from `rank` in `axis` alone, where it has `coordinate`. */
guint32 layout_peer(const Layout *layout, guint32 rank, LayoutAxis axis, guint32 coordinate);

/* Data ranks of dense layers: shard × replica. */
guint32 layout_data(const Layout *layout);
/* Ranks of a group of `set`. */
guint32 layout_group_size(const Layout *layout, LayoutSet set);
/* Groups of `set` are numbered by their lowest rank; the number of `rank`'s. */
guint32 layout_group(const Layout *layout, LayoutSet set, guint32 rank);
/* The number of every rank's group, `ranks` of them. */
void layout_of_rank(const Layout *layout, LayoutSet set, guint32 *ret);
/* The ranks of the group that `rank` is in, ascending, layout_group_size of them. */
void layout_group_ranks(const Layout *layout, LayoutSet set, guint32 rank, guint32 *ret);
