/* SPDX-License-Identifier: MIT */
/* Routes as integer loads per link, counted node by node and edge by edge. */
#include "coll-route.h"

#include "coll-tree.h"

typedef struct {
  guint32 link, load;
} Load;

typedef struct {
  const CollLayout *layout;
  const HwCluster *cluster;
  GArray *loads; /* of Load, in any order */
} Loads;

static Loads loads_new(const CollLayout *layout) {
  return (Loads){layout, layout->cluster, g_array_new(FALSE, FALSE, sizeof(Load))};
}

static void add(const Loads *loads, guint32 link, guint32 load) {
  if (load > 0)
    g_array_append_vals(loads->loads, &(Load){link, load}, 1);
}

static int by_link(gconstpointer a, gconstpointer b) {
  guint32 left = ((const Load *)a)->link, right = ((const Load *)b)->link;
  return (left > right) - (left < right);
}

/* Each link once, ascending; the loads are freed. */
static CollRoute loads_end(Loads *loads) {
  g_array_sort(loads->loads, by_link);
  CollRoute route = {g_new(guint32, loads->loads->len), g_new(guint32, loads->loads->len), 0};
  for (guint i = 0; i < loads->loads->len; i++) {
    const Load *load = &g_array_index(loads->loads, Load, i);
    if (route.n == 0 || route.links[route.n - 1] != load->link) {
      route.links[route.n] = load->link;
      route.coefficients[route.n++] = 0;
    }
    route.coefficients[route.n - 1] += load->load;
  }
  g_array_unref(loads->loads);
  return route;
}

static guint32 cluster_node(const CollLayout *layout, guint32 node) {
  return hw_cluster_node_of(layout->cluster, layout->ranks[node * layout->per_node]);
}

/* Transfers from node to node on one NIC. */
static void add_hop(const Loads *loads, guint32 from, guint32 to, guint32 nic, guint32 load) {
  guint32 up, down;
  from = cluster_node(loads->layout, from);
  to = cluster_node(loads->layout, to);
  add(loads, hw_cluster_nic_out(loads->cluster, from, nic), load);
  add(loads, hw_cluster_nic_in(loads->cluster, to, nic), load);
  if (!hw_cluster_leaf_links(loads->cluster, from, to, nic, &up, &down))
    return;
  add(loads, up, load);
  add(loads, down, load);
}

/* One transfer from node to node for every ring. */
static void add_network(const Loads *loads, guint32 from, guint32 to) {
  for (guint32 r = 0; r < loads->layout->n_rings; r++)
    add_hop(loads, from, to, loads->layout->rails[r], 1);
}

/* What every node's member sends and receives inside its node. */
static void add_member(const Loads *loads, guint32 member, guint32 out, guint32 in) {
  for (guint32 node = 0; node < loads->layout->nodes; node++) {
    guint32 rank = loads->layout->ranks[node * loads->layout->per_node + member];
    add(loads, hw_cluster_gpu_out(loads->cluster, rank), out);
    add(loads, hw_cluster_gpu_in(loads->cluster, rank), in);
  }
}

CollRoute coll_route_ring(const CollLayout *layout, guint32 rings) {
  Loads loads = loads_new(layout);
  for (guint32 member = 0; layout->per_node > 1 && member < layout->per_node; member++) {
    guint32 out = rings, in = rings;
    for (guint32 r = 0; r < layout->n_rings; r++) {
      out -= layout->exits[r] == member;
      in -= (layout->exits[r] + 1) % layout->per_node == member;
    }
    add_member(&loads, member, out, in);
  }
  for (guint32 node = 0; layout->nodes > 1 && node < layout->nodes; node++)
    add_network(&loads, node, (node + 1) % layout->nodes);
  return loads_end(&loads);
}

/* A chain from the exit through the node for each of a ring's trees: each member hears from and speaks to both its
 * neighbours, the ends have one. */
static void add_chains(const Loads *loads, guint32 rings, guint32 trees) {
  const CollLayout *layout = loads->layout;
  for (guint32 member = 0; layout->per_node > 1 && member < layout->per_node; member++) {
    guint32 neighbours = 2 * rings;
    for (guint32 r = 0; r < rings; r++) {
      guint32 exit = layout->nodes > 1 ? layout->exits[r] : 0;
      neighbours -= (member == exit) + ((member + 1) % layout->per_node == exit);
    }
    add_member(loads, member, trees * neighbours, trees * neighbours);
  }
}

/* Both double trees over nodes, on every NIC. */
static void add_trees(const Loads *loads) {
  guint32 nodes = loads->layout->nodes;
  for (guint32 tree = 0; tree < 2; tree++)
    for (guint32 label = 1; label < nodes; label++) {
      guint32 node = coll_tree_node(nodes, tree, label);
      guint32 parent = coll_tree_node(nodes, tree, coll_tree_parent(nodes, label));
      add_network(loads, node, parent);
      add_network(loads, parent, node);
    }
}

CollRoute coll_route_tree(const CollLayout *layout, guint32 rings) {
  Loads loads = loads_new(layout);
  add_chains(&loads, rings, 2);
  add_trees(&loads);
  return loads_end(&loads);
}

CollRoute coll_route_heads(const CollLayout *layout, guint32 heads, guint32 trees) {
  Loads loads = loads_new(layout);
  for (guint32 member = 0; member < layout->per_node; member++)
    add_member(&loads, member, trees * (heads + 1), trees * (heads + 1));
  if (layout->nodes > 1)
    add_trees(&loads);
  return loads_end(&loads);
}

CollRoute coll_route_collnet(const CollLayout *layout, guint32 rings, gboolean chain) {
  Loads loads = loads_new(layout);
  if (chain)
    add_chains(&loads, rings, 1);
  for (guint32 member = 0; !chain && layout->per_node > 1 && member < layout->per_node; member++)
    add_member(&loads, member, 2 * (rings - rings / layout->per_node), 2 * (rings - rings / layout->per_node));
  for (guint32 node = 0; node < layout->nodes; node++)
    for (guint32 r = 0; r < layout->n_rings; r++) {
      add(&loads, hw_cluster_nic_out(layout->cluster, cluster_node(layout, node), layout->rails[r]), 1);
      add(&loads, hw_cluster_nic_in(layout->cluster, cluster_node(layout, node), layout->rails[r]), 1);
    }
  return loads_end(&loads);
}

CollRoute coll_route_rounds(const CollLayout *layout) {
  Loads loads = loads_new(layout);
  guint32 nodes = layout->nodes;
  for (guint32 distance = 1; distance < nodes; distance *= 2)
    for (guint32 node = 0; node < nodes; node++)
      add_hop(&loads, node, (node + distance) % nodes, layout->nics[0], MIN(distance, nodes - distance));
  return loads_end(&loads);
}

CollRoute coll_route_symmetric(const CollLayout *layout) {
  Loads loads = loads_new(layout);
  for (guint32 member = 0; member < layout->per_node; member++)
    add_member(&loads, member, 1, 1);
  return loads_end(&loads);
}

CollRoute coll_route_next(const CollLayout *layout) {
  Loads loads = loads_new(layout);
  for (guint32 member = 0; layout->per_node > 1 && member < layout->per_node; member++)
    add_member(&loads, member, layout->nodes == 1 || member + 1 < layout->per_node, layout->nodes == 1 || member > 0);
  for (guint32 node = 0; layout->nodes > 1 && node < layout->nodes; node++)
    add_hop(&loads, node, (node + 1) % layout->nodes, layout->nics[0], 1);
  return loads_end(&loads);
}

/* Leaf links of a node's NIC that lead to and from another leaf. */
static void add_leaves(const Loads *loads, guint32 node, guint32 apart, guint32 nic, guint32 load) {
  guint32 here = cluster_node(loads->layout, node), there = cluster_node(loads->layout, apart), up, down;
  if (!hw_cluster_leaf_links(loads->cluster, here, there, nic, &up, &down))
    return;
  add(loads, up, load);
  hw_cluster_leaf_links(loads->cluster, there, here, nic, &up, &down);
  add(loads, down, load);
}

CollRoute coll_route_pairs(const CollLayout *layout) {
  Loads loads = loads_new(layout);
  guint32 nics = MAX(layout->n_nics, 1), per_node = layout->per_node, nodes = layout->nodes, first = 0;
  guint32 per_leaf = MAX(layout->cluster->nodes_per_leaf, 1);
  for (guint32 member = 0; per_node > 1 && member < per_node; member++)
    add_member(&loads, member, (per_node - 1) * nics, (per_node - 1) * nics);
  while (nodes > 1 && first < nodes) { /* nodes under one leaf stand together */
    guint32 end = first + 1;
    while (end < nodes && cluster_node(layout, end) / per_leaf == cluster_node(layout, first) / per_leaf)
      end++;
    for (guint32 node = first; node < end; node++)
      for (guint32 r = 0; r < layout->n_nics; r++) {
        guint32 here = cluster_node(layout, node), nic = layout->nics[r], pairs = per_node * per_node;
        add(&loads, hw_cluster_nic_out(layout->cluster, here, nic), pairs * (nodes - 1));
        add(&loads, hw_cluster_nic_in(layout->cluster, here, nic), pairs * (nodes - 1));
        if (end - first < nodes)
          add_leaves(&loads, node, first > 0 ? 0 : end, nic, pairs * (nodes - (end - first)));
      }
    first = end;
  }
  return loads_end(&loads);
}

void coll_route_clear(CollRoute *route) {
  g_free(route->links);
  g_free(route->coefficients);
}

double coll_route_rate(const CollRoute *route, const HwCluster *cluster) {
  double least = G_MAXDOUBLE;
  for (guint32 i = 0; i < route->n; i++) {
    double rate = cluster->links[route->links[i]].capacity / route->coefficients[i];
    least = MIN(least, rate);
  }
  return least;
}
