/* SPDX-License-Identifier: MIT */
/* Flows on trees: what a settle costs when everything is in one component, when all flows are alike, and when every
 * transfer is alone on its links.
 *
 *              core                 hosts of 50 GB/s up and down; leaves of 32 hosts; a leaf's link to the core carries
 *           ┌───┴────┐              half of what its hosts could send (2 : 1), or all of it (1 : 1)
 *         leaf      leaf …
 *         ││││      ││││
 *         hosts     hosts
 *
 * Targets: random flows 1.0 s, all-to-all 0.05 s, ring 0.003 / 0.04 / 0.5 s.
 *
 * usage: bench-net [HOSTS]: each load once, with so many hosts, and twice as many random flows */
#include "bench.h"
#include "net-system.h"

#define HOSTS_PER_LEAF 32
#define HOST_RATE      50e9

typedef struct {
  EventQueue *queue;
  NetSystem *net;
  guint32 hosts; /* links: up h = h, down h = hosts + h, up and down of leaf l = 2 (hosts + l) and the next */
} Tree;

static void tree_init(Tree *tree, guint32 hosts, guint32 oversubscription) {
  tree->queue = event_queue_new(EVENT_TIE_FORWARD, 0);
  tree->net = net_system_new(tree->queue, NET_SOLVER_LAZY);
  tree->hosts = hosts;
  for (guint32 i = 0; i < 2 * hosts; i++)
    net_link_add(tree->net, HOST_RATE);
  for (guint32 i = 0; i < 2 * ((hosts + HOSTS_PER_LEAF - 1) / HOSTS_PER_LEAF); i++)
    net_link_add(tree->net, HOST_RATE * HOSTS_PER_LEAF / oversubscription);
}

static void tree_clear(Tree *tree) {
  net_system_free(tree->net);
  event_queue_free(tree->queue);
}

static NetRoute *tree_route(Tree *tree, guint32 from, guint32 to) {
  static const guint32 ones[] = {1, 1, 1, 1};
  guint32 leaves = 2 * tree->hosts, from_leaf = from / HOSTS_PER_LEAF, to_leaf = to / HOSTS_PER_LEAF;
  if (from_leaf == to_leaf)
    return net_route_new(tree->net, (guint32[]){from, tree->hosts + to}, ones, 2);
  return net_route_new(tree->net, (guint32[]){from, leaves + 2 * from_leaf, leaves + 2 * to_leaf + 1, tree->hosts + to},
                       ones, 4);
}

static void say(const Tree *tree, const char *what, guint64 flows, double begin) {
  printf("  %-40s %8.4f s, %8" G_GUINT64_FORMAT " flows, %8" G_GUINT64_FORMAT
         " events, ends at %.6f s of simulated time\n",
         what, bench_seconds() - begin, flows, event_queue_played(tree->queue),
         sim_time_to_seconds(event_now(tree->queue)));
}

static void nothing(NetFlow *flow, gpointer owner) {
  (void)flow;
  (void)owner;
}

static void random_flows(guint32 hosts, guint32 n, guint32 oversubscription) {
  double begin = bench_seconds();
  guint64 random = 1;
  Tree tree;
  tree_init(&tree, hosts, oversubscription);
  g_autofree NetFlow *flows = g_new(NetFlow, n);
  for (guint32 i = 0; i < n; i++) {
    guint32 from = (bench_random(&random) >> 32) % hosts, step = 1 + (bench_random(&random) >> 32) % (hosts - 1);
    net_flow_init(&flows[i], nothing, NULL, i);
    net_flow_start(tree.net, &flows[i], tree_route(&tree, from, (from + step) % hosts),
                   (double)(1 + (bench_random(&random) >> 38)), 1, 1, G_MAXDOUBLE); /* up to 64 MiB */
  }
  while (event_queue_step(tree.queue)) {
  }
  g_autofree char *what = g_strdup_printf("random flows, %u hosts, leaves %u : 1", hosts, oversubscription);
  say(&tree, what, n, begin);
  tree_clear(&tree);
}

static void all_to_all(guint32 hosts) {
  double begin = bench_seconds();
  Tree tree;
  tree_init(&tree, hosts, 2);
  g_autofree NetFlow *flows = g_new(NetFlow, hosts * (hosts - 1));
  NetFlow *flow = flows;
  for (guint32 from = 0; from < hosts; from++)
    for (guint32 to = 0; to < hosts; to++)
      if (from != to) {
        net_flow_init(flow, nothing, NULL, flow - flows);
        net_flow_start(tree.net, flow++, tree_route(&tree, from, to), 1 << 20, 1, 1, G_MAXDOUBLE);
      }
  while (event_queue_step(tree.queue)) {
  }
  g_autofree char *what = g_strdup_printf("all-to-all, %u hosts", hosts);
  say(&tree, what, hosts * (hosts - 1), begin);
  tree_clear(&tree);
}

/* Host h sends 2 (n - 1) chunks to host h + 1; a chunk after the first is sent once it has come from host h - 1 and the
 * one before it has gone. */
typedef struct {
  NetFlow flow;
  Tree *tree;
  NetRoute *route;
  guint32 index, sent, received; /* chunks */
} RingHost;

static void send_next(RingHost *host) {
  double chunk = (double)(1 << 30) / host->tree->hosts;
  net_flow_start(host->tree->net, &host->flow, host->route, chunk, 1, 1, G_MAXDOUBLE);
}

static void may_send(RingHost *host) {
  if (!net_flow_is_active(&host->flow) && host->sent < 2 * (host->tree->hosts - 1) && host->received >= host->sent)
    send_next(host);
}

static void chunk_sent(NetFlow *flow, gpointer owner) {
  (void)flow;
  RingHost *host = owner, *next = host->index + 1 < host->tree->hosts ? host + 1 : host - host->index;
  host->sent++;
  next->received++;
  may_send(host);
  may_send(next);
}

static void ring(guint32 hosts) {
  double begin = bench_seconds();
  Tree tree;
  tree_init(&tree, hosts, 2);
  g_autofree RingHost *ring = g_new(RingHost, hosts);
  for (guint32 h = 0; h < hosts; h++) {
    ring[h] = (RingHost){.tree = &tree, .route = tree_route(&tree, h, (h + 1) % hosts), .index = h};
    net_flow_init(&ring[h].flow, chunk_sent, &ring[h], h);
    send_next(&ring[h]);
  }
  while (event_queue_step(tree.queue)) {
  }
  g_autofree char *what = g_strdup_printf("ring all-reduce of 1 GiB, %u hosts", hosts);
  say(&tree, what, (guint64)hosts * 2 * (hosts - 1), begin);
  tree_clear(&tree);
}

int main(int argc, char **argv) {
  bench_head("network, lazy solver");
  guint32 hosts = argc > 1 ? (guint32)g_ascii_strtoull(argv[1], NULL, 10) : 0;
  if (hosts > 0) {
    random_flows(hosts, 2 * hosts, 2);
    all_to_all(hosts);
    ring(hosts);
    return 0;
  }
  random_flows(1024, 8192, 2);
  random_flows(1024, 8192, 1);
  all_to_all(256);
  ring(64);
  ring(256);
  ring(1024);
  return 0;
}
