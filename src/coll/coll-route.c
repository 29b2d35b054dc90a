/* Routes as integer loads per link, counted node by node and edge by edge. */
#include "coll-route.h"

#include "coll-tree.h"

typedef struct {
  const CollLayout *layout;
  const HwCluster *cluster;
  guint32 *loads; /* by link */
} Loads;

static Loads loads_new(const CollLayout *layout) {
  return (Loads){layout, layout->cluster, g_new0(guint32, layout->cluster->n_links)};
}

/* Ascending by link; the loads are freed. */
static CollRoute loads_end(Loads *loads) {
  CollRoute route = {0};
  for (guint32 link = 0; link < loads->cluster->n_links; link++)
    route.n += loads->loads[link] > 0;
  route.links = g_new(guint32, route.n);
  route.coefficients = g_new(guint32, route.n);
  route.n = 0;
  for (guint32 link = 0; link < loads->cluster->n_links; link++)
    if (loads->loads[link] > 0) {
      route.links[route.n] = link;
      route.coefficients[route.n++] = loads->loads[link];
    }
  g_free(loads->loads);
  return route;
}

static guint32 cluster_node(const CollLayout *layout, guint32 node) {
  return hw_cluster_node_of(layout->cluster, layout->ranks[node * layout->per_node]);
}

/* One transfer from node to node on every NIC. */
static void add_network(const Loads *loads, guint32 from, guint32 to) {
  from = cluster_node(loads->layout, from);
  to = cluster_node(loads->layout, to);
  for (guint32 r = 0; r < loads->layout->n_nics; r++) {
    guint32 nic = loads->layout->nics[r], up, down;
    loads->loads[hw_cluster_nic_out(loads->cluster, from, nic)]++;
    loads->loads[hw_cluster_nic_in(loads->cluster, to, nic)]++;
    if (!hw_cluster_leaf_links(loads->cluster, from, to, nic, &up, &down))
      continue;
    loads->loads[up]++;
    loads->loads[down]++;
  }
}

/* What every node's member sends and receives inside its node. */
static void add_member(const Loads *loads, guint32 member, guint32 out, guint32 in) {
  for (guint32 node = 0; node < loads->layout->nodes; node++) {
    guint32 rank = loads->layout->ranks[node * loads->layout->per_node + member];
    loads->loads[hw_cluster_gpu_out(loads->cluster, rank)] += out;
    loads->loads[hw_cluster_gpu_in(loads->cluster, rank)] += in;
  }
}

CollRoute coll_route_ring(const CollLayout *layout, guint32 rings) {
  Loads loads = loads_new(layout);
  for (guint32 member = 0; layout->per_node > 1 && member < layout->per_node; member++) {
    guint32 out = rings, in = rings;
    for (guint32 r = 0; r < layout->n_nics; r++) {
      out -= layout->exits[r] == member;
      in -= (layout->exits[r] + 1) % layout->per_node == member;
    }
    add_member(&loads, member, out, in);
  }
  for (guint32 node = 0; layout->nodes > 1 && node < layout->nodes; node++)
    add_network(&loads, node, (node + 1) % layout->nodes);
  return loads_end(&loads);
}

/* A chain from the exit through the node: each member hears from and speaks to both its neighbours, the ends have one.
 */
static void add_chains(const Loads *loads, guint32 rings) {
  const CollLayout *layout = loads->layout;
  for (guint32 member = 0; layout->per_node > 1 && member < layout->per_node; member++) {
    guint32 neighbours = 2 * rings;
    for (guint32 r = 0; r < rings; r++) {
      guint32 exit = layout->nodes > 1 ? layout->exits[r] : 0;
      neighbours -= (member == exit) + ((member + 1) % layout->per_node == exit);
    }
    add_member(loads, member, 2 * neighbours, 2 * neighbours);
  }
}

CollRoute coll_route_tree(const CollLayout *layout, guint32 rings) {
  Loads loads = loads_new(layout);
  add_chains(&loads, rings);
  for (guint32 tree = 0; tree < 2; tree++)
    for (guint32 label = 1; label < layout->nodes; label++) {
      guint32 node = coll_tree_node(layout->nodes, tree, label);
      guint32 parent = coll_tree_node(layout->nodes, tree, coll_tree_parent(layout->nodes, label));
      add_network(&loads, node, parent);
      add_network(&loads, parent, node);
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
