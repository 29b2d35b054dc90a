/* SPDX-License-Identifier: MIT */
/* Double binary trees of chunks, all-reduce: up to the root, adding, and down again, both at once for different chunks.
 *
 *   place = label of the node × GPUs of a node + place in the node's chain, which begins at the GPU of the NIC:
 *
 *        0 ═══ to the parent's 0         connections: places − 1 up, one from each place but the root's, then as many
 * down │ 1       chunk l goes up from a place when it has arrived from all below; down from the root when all of it
 * has; │       down from others when it has arrived from above. A slot is free when who received it has passed it on.
 *        2 */
#include "coll-build.h"
#include "coll-layout.h"
#include "coll-tree.h"

/* The tree of places. */
typedef struct {
  const CollSteps *steps;
  CollSchedule *schedule;
  guint32 n;
  guint32 *parents;          /* by place; of place 0: itself */
  guint32 *first, *children; /* of a place: children[first[place]] up to first[place + 1] */
  guint32 *order, *position; /* places but the root, furthest first; and back */
} Tree;

static guint32 depth_of(const Tree *tree, guint32 place) {
  guint32 depth = 0;
  for (; place != 0; place = tree->parents[place])
    depth++;
  return depth;
}

static void grow(Tree *tree, const CollLayout *layout) {
  guint32 per_node = layout->per_node, n = tree->n, depth = 0;
  tree->parents = g_new0(guint32, n);
  tree->first = g_new0(guint32, n + 2);
  tree->children = g_new(guint32, n);
  tree->order = g_new(guint32, n);
  tree->position = g_new0(guint32, n);
  for (guint32 place = 1; place < n; place++) {
    tree->parents[place] =
        place % per_node > 0 ? place - 1 : coll_tree_parent(layout->nodes, place / per_node) * per_node;
    tree->first[tree->parents[place] + 2]++;
  }
  for (guint32 place = 0; place < n; place++)
    tree->first[place + 2] += tree->first[place + 1];
  for (guint32 place = 1; place < n; place++) {
    tree->children[tree->first[tree->parents[place] + 1]++] = place;
    depth = MAX(depth, depth_of(tree, place));
  }
  for (guint32 count = 0; depth > 0; depth--)
    for (guint32 place = 1; place < n; place++)
      if (depth_of(tree, place) == depth) {
        tree->position[place] = count;
        tree->order[count++] = place;
      }
}

static void clear(Tree *tree) {
  g_free(tree->parents);
  g_free(tree->first);
  g_free(tree->children);
  g_free(tree->order);
  g_free(tree->position);
}

/* Indices of the transfers between a place and its parent, in a loop. */
static guint32 up_of(const Tree *tree, guint32 place, guint64 loop) {
  return (guint32)loop * 2 * (tree->n - 1) + tree->position[place];
}
static guint32 down_of(const Tree *tree, guint32 place, guint64 loop) {
  return (guint32)loop * 2 * (tree->n - 1) + 2 * (tree->n - 1) - 1 - tree->position[place];
}

typedef void (*AddNeed)(CollSchedule *schedule, CollTransfer *transfer, guint32 need);

static void need_up_of_children(const Tree *tree, CollTransfer *transfer, guint32 place, guint64 loop, AddNeed add) {
  for (guint32 i = tree->first[place]; i < tree->first[place + 1]; i++)
    add(tree->schedule, transfer, up_of(tree, tree->children[i], loop));
}
static void need_down_of_children(const Tree *tree, CollTransfer *transfer, guint32 place, guint64 loop, AddNeed add) {
  for (guint32 i = tree->first[place]; i < tree->first[place + 1]; i++)
    add(tree->schedule, transfer, down_of(tree, tree->children[i], loop));
}

static CollTransfer *write_transfer(const Tree *tree, guint32 index, guint32 connection, guint64 loop, gboolean up) {
  CollTransfer *transfer = &tree->schedule->transfers[index];
  *transfer = (CollTransfer){.connection = connection,
                             .block = (guint32)loop,
                             .offset = loop * tree->steps->chunk,
                             .bytes = coll_steps_bytes(tree->steps, loop),
                             .hop = coll_steps_hop(tree->steps, tree->schedule->connections[connection].network, 0),
                             .reduces = up,
                             .needs = tree->schedule->needs->len};
  return transfer;
}

static void write_up(const Tree *tree, guint32 place, guint64 loop) {
  CollSchedule *schedule = tree->schedule;
  guint32 connection = place - 1, parent = tree->parents[place];
  guint64 depth = coll_build_depth(tree->steps, &schedule->connections[connection]);
  CollTransfer *transfer = write_transfer(tree, up_of(tree, place, loop), connection, loop, TRUE);
  need_up_of_children(tree, transfer, place, loop, coll_build_arrival);
  if (loop > 0)
    coll_build_end(schedule, transfer, up_of(tree, place, loop - 1));
  if (loop < depth)
    return;
  if (parent == 0)
    need_down_of_children(tree, transfer, 0, loop - depth, coll_build_end);
  else
    coll_build_end(schedule, transfer, up_of(tree, parent, loop - depth));
}

static void write_down(const Tree *tree, guint32 place, guint64 loop) {
  CollSchedule *schedule = tree->schedule;
  guint32 connection = tree->n - 1 + place - 1, parent = tree->parents[place];
  guint64 depth = coll_build_depth(tree->steps, &schedule->connections[connection]);
  gboolean leaf = tree->first[place] == tree->first[place + 1];
  CollTransfer *transfer = write_transfer(tree, down_of(tree, place, loop), connection, loop, FALSE);
  if (parent == 0)
    need_up_of_children(tree, transfer, 0, loop, coll_build_arrival);
  else
    coll_build_arrival(schedule, transfer, down_of(tree, parent, loop));
  if (leaf && loop >= depth)
    coll_build_arrival(schedule, transfer, down_of(tree, place, loop - depth));
  if (loop > 0)
    coll_build_end(schedule, transfer, down_of(tree, place, loop - 1));
  if (!leaf && loop >= depth)
    need_down_of_children(tree, transfer, place, loop - depth, coll_build_end);
}

static void connect_places(const Tree *tree, const CollGroup *group) {
  const CollLayout *layout = group->layout;
  CollSchedule *schedule = tree->schedule;
  guint32 n = tree->n, per_node = layout->per_node;
  schedule->places = n;
  schedule->n_connections = 2 * (n - 1);
  schedule->connections = g_new(CollConnection, schedule->n_connections);
  for (guint32 place = 1; place < n; place++) {
    gboolean network = place % per_node == 0;
    schedule->connections[place - 1] = (CollConnection){place, tree->parents[place], network};
    schedule->connections[n - 1 + place - 1] = (CollConnection){tree->parents[place], place, network};
  }
  schedule->members = g_new(guint32, schedule->lanes * n);
  for (guint32 lane = 0; lane < schedule->lanes; lane++)
    for (guint32 place = 0; place < n; place++) {
      guint32 exit = layout->nodes > 1 ? layout->exits[schedule->rings[lane]] : 0;
      guint32 node = coll_tree_node(layout->nodes, lane / group->rings % 2, place / per_node);
      schedule->members[lane * n + place] = node * per_node + (exit + place % per_node) % per_node;
    }
}

void coll_build_tree(const CollGroup *group, const CollSteps *steps, CollSchedule *schedule) {
  Tree tree = {.steps = steps, .schedule = schedule, .n = group->size};
  grow(&tree, group->layout);
  connect_places(&tree, group);
  schedule->n_transfers = (guint32)steps->loops * schedule->n_connections;
  schedule->transfers = g_new0(CollTransfer, schedule->n_transfers);
  for (guint64 loop = 0; loop < steps->loops; loop++) {
    for (guint32 i = 0; i < tree.n - 1; i++)
      write_up(&tree, tree.order[i], loop);
    for (guint32 i = tree.n - 1; i-- > 0;)
      write_down(&tree, tree.order[i], loop);
  }
  clear(&tree);
}
