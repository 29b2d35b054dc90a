/* SPDX-License-Identifier: MIT */
/* SimGrid under the loads of bench-net: same tree, same capacities, same flows, no latency, so that the simulated ends
 * of the two programs can be held side by side. It uses nothing of ours; it is built where SimGrid 3.32 is installed
 * (Debian: libsimgrid-dev).
 *
 * How SimGrid is driven: its C interface. One actor (a coroutine) stands on every host and has a mailbox. A flow is an
 * asynchronous put into the mailbox of its target, where a get meets it.
 *
 *   ring      for each message: put to the next host, a blocking get, then wait for the put, so that message s leaves
 *             when message s - 1 has come in and the own s - 1 is out
 *   bursts    (random, all-to-all) all puts and all gets at time 0, then one wait for all
 *
 * Driving matters more than sharing: the same all-to-all by one-sided sends (C++: Comm::sendto_async, then wait_all)
 * takes fifteen to forty times as long, whether from 1 actor or from 256, nearly all of it in CommImpl::finish, that
 * is, in the books that SimGrid keeps and not in its network. Rings by sg_host_sendto and semaphores take the same time
 * for 64 and 256 hosts, and four fifths more for 1 024.
 *
 * The C interface cannot build a platform: it is written as XML to a temporary file. Each leaf is a zone of routing
 * "Cluster", that is, hosts each behind a link of two directions; the core is a zone of routing "Full" whose routes
 * from leaf to leaf are the first's link up and the second's down.
 *
 * Network model CM02 is bare max-min sharing: factors of 1 on bandwidth and latency, and weight-S 0. What it has on by
 * default and would still move the end is switched off: the window bound (network/TCP-gamma) and the 5 % that
 * acknowledgements take of the way back (network/crosstraffic). Completions within 1 ns are one (surf/precision).
 * Random flows play with network/optim Full, which is the faster there, and with --all also with Lazy, the default.
 *
 * Seconds are those of simgrid_run: from the first actor's start to the last one's end, routing included, loading of
 * the platform not. A platform cannot be unloaded, so each load plays in a process of its own. */
#include "bench.h"
#include <simgrid/actor.h>
#include <simgrid/comm.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/mailbox.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xbt/config.h>

#define HOSTS_PER_LEAF 32
#define HOST_RATE      G_GUINT64_CONSTANT(50000000000)

typedef struct {
  guint32 to;
  long bytes;
} Message;

/* What the actor of one host does: a ring's share, or a burst. */
typedef struct {
  sg_mailbox_t own, next;
  guint32 steps;
  long chunk;
  const sg_mailbox_t *mailboxes;
  GArray *messages; /* Message: to send */
  guint32 arrivals;
} Host;

typedef struct Load Load;
struct Load {
  const char *what, *optim;
  guint32 hosts, oversubscription;
  guint64 (*give)(const Load *load, Host *hosts); /* returns the number of flows */
  void (*play)(int argc, char *argv[]);
  int repeats;      /* the fastest counts */
  gboolean is_long; /* over 20 s: only with --all */
};

typedef struct {
  double host_seconds, ends_at;
  guint64 flows;
} Result;

static void append_link(GString *xml, const char *kind, guint32 index, guint64 rate) {
  g_string_append_printf(
      xml, "<link id='%s%u' bandwidth='%" G_GUINT64_FORMAT "Bps' latency='0' sharing_policy='SPLITDUPLEX'/>\n", kind,
      index, rate);
}

static GString *platform_text(const Load *load) {
  const guint32 leaves = load->hosts / HOSTS_PER_LEAF;
  GString *xml = g_string_new("<?xml version='1.0'?>\n"
                              "<!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>\n"
                              "<platform version='4.1'>\n<zone id='core' routing='Full'>\n");
  for (guint32 leaf = 0; leaf < leaves; leaf++) {
    g_string_append_printf(xml, "<zone id='leaf%u' routing='Cluster'>\n", leaf);
    for (guint32 i = leaf * HOSTS_PER_LEAF; i < (leaf + 1) * HOSTS_PER_LEAF; i++) {
      g_string_append_printf(xml, "<host id='host%u' speed='1Gf'/>\n", i);
      append_link(xml, "link", i, HOST_RATE);
      g_string_append_printf(xml, "<host_link id='host%u' up='link%u_UP' down='link%u_DOWN'/>\n", i, i, i);
    }
    g_string_append_printf(xml, "<router id='router%u'/>\n</zone>\n", leaf);
  }
  for (guint32 leaf = 0; leaf < leaves; leaf++)
    append_link(xml, "trunk", leaf, HOSTS_PER_LEAF * HOST_RATE / load->oversubscription);
  for (guint32 from = 0; from < leaves; from++)
    for (guint32 to = 0; to < leaves; to++)
      if (from != to)
        g_string_append_printf(xml,
                               "<zoneRoute src='leaf%u' dst='leaf%u' gw_src='router%u' gw_dst='router%u' "
                               "symmetrical='NO'><link_ctn id='trunk%u' direction='UP'/>"
                               "<link_ctn id='trunk%u' direction='DOWN'/></zoneRoute>\n",
                               from, to, from, to, from, to);
  g_string_append(xml, "</zone>\n</platform>\n");
  return xml;
}

static void load_platform(const Load *load) {
  g_autoptr(GError) error = NULL;
  g_autofree char *path = NULL;
  GString *xml = platform_text(load);
  int file = g_file_open_tmp("bench-simgrid-XXXXXX", &path, &error);
  if (file < 0 || !g_file_set_contents(path, xml->str, (gssize)xml->len, &error))
    g_error("%s", error->message);
  simgrid_load_platform(path);
  close(file);
  unlink(path);
  g_string_free(xml, TRUE);
}

static guint64 give_ring(const Load *load, Host *hosts) {
  for (guint32 i = 0; i < load->hosts; i++) {
    hosts[i].steps = 2 * (load->hosts - 1);
    hosts[i].chunk = (1 << 30) / (long)load->hosts;
  }
  return (guint64)load->hosts * 2 * (load->hosts - 1);
}

static void play_ring(int argc, char *argv[]) {
  (void)argc, (void)argv;
  Host *host = sg_actor_self_get_data();
  for (guint32 step = 0; step < host->steps; step++) {
    sg_comm_t sent = sg_mailbox_put_async(host->next, host, host->chunk);
    sg_mailbox_get(host->own);
    sg_comm_wait(sent);
  }
}

static void add_message(Host *hosts, guint32 from, guint32 to, long bytes) {
  g_array_append_val(hosts[from].messages, ((Message){to, bytes}));
  hosts[to].arrivals++;
}

static guint64 give_all_to_all(const Load *load, Host *hosts) {
  for (guint32 i = 0; i < load->hosts; i++)
    for (guint32 k = 0; k < load->hosts; k++)
      if (i != k)
        add_message(hosts, i, k, 1 << 20);
  return (guint64)load->hosts * (load->hosts - 1);
}

/* Draws what bench-net draws, in its order. */
static guint64 give_random(const Load *load, Host *hosts) {
  const guint32 n = load->hosts, flows = 8192;
  guint64 random = 1;
  for (guint32 i = 0; i < flows; i++) {
    guint32 from = (bench_random(&random) >> 32) % n, step = 1 + (bench_random(&random) >> 32) % (n - 1);
    add_message(hosts, from, (from + step) % n, (long)(1 + (bench_random(&random) >> 38)));
  }
  return flows;
}

static void play_burst(int argc, char *argv[]) {
  (void)argc, (void)argv;
  Host *host = sg_actor_self_get_data();
  g_autofree sg_comm_t *comms = g_new(sg_comm_t, host->messages->len + host->arrivals);
  void *received = NULL;
  guint32 n = 0;
  for (guint i = 0; i < host->messages->len; i++) {
    Message *message = &g_array_index(host->messages, Message, i);
    comms[n++] = sg_mailbox_put_async(host->mailboxes[message->to], host, message->bytes);
  }
  for (guint32 i = 0; i < host->arrivals; i++)
    comms[n++] = sg_mailbox_get_async(host->own, &received);
  sg_comm_wait_all(comms, n);
}

static void play(const Load *load, Result *ret_result) {
  char *arguments[] = {"bench-simgrid", "--log=root.thresh:warning", NULL};
  int n_arguments = 2;
  simgrid_init(&n_arguments, arguments);
  sg_cfg_set_string("network/model", "CM02");
  sg_cfg_set_string("network/optim", load->optim);
  sg_cfg_set_double("network/TCP-gamma", 0);
  sg_cfg_set_boolean("network/crosstraffic", "no");
  load_platform(load);
  g_autofree Host *hosts = g_new0(Host, load->hosts);
  g_autofree sg_mailbox_t *mailboxes = g_new(sg_mailbox_t, load->hosts);
  for (guint32 i = 0; i < load->hosts; i++) {
    g_autofree char *name = g_strdup_printf("host%u", i);
    mailboxes[i] = sg_mailbox_by_name(name);
    hosts[i].mailboxes = mailboxes;
    hosts[i].messages = g_array_new(FALSE, FALSE, sizeof(Message));
  }
  ret_result->flows = load->give(load, hosts);
  for (guint32 i = 0; i < load->hosts; i++) {
    g_autofree char *name = g_strdup_printf("host%u", i);
    hosts[i].own = mailboxes[i];
    hosts[i].next = mailboxes[(i + 1) % load->hosts];
    sg_actor_t actor = sg_actor_init(name, sg_host_by_name(name));
    sg_actor_set_data(actor, &hosts[i]);
    sg_actor_start(actor, load->play, 0, NULL);
  }
  double begin = bench_seconds();
  simgrid_run();
  ret_result->host_seconds = bench_seconds() - begin;
  ret_result->ends_at = simgrid_get_clock();
}

/* The child leaves by _exit: nothing needs to be torn down. */
static void bench(const Load *load, Result *shared) {
  double best = G_MAXDOUBLE;
  for (int repeat = 0; repeat < load->repeats; repeat++) {
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      play(load, shared);
      _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
      g_error("%s: SimGrid did not end well", load->what);
    best = MIN(best, shared->host_seconds);
  }
  printf("  %-40s %8.4f s, %8" G_GUINT64_FORMAT " flows, ends at %.6f s of simulated time\n", load->what, best,
         shared->flows, shared->ends_at);
}

int main(int argc, char *argv[]) {
  static const Load loads[] = {
      {"random flows, 1024 hosts, leaves 2 : 1", "Full", 1024, 2, give_random, play_burst, 1, FALSE},
      {"the same, Lazy", "Lazy", 1024, 2, give_random, play_burst, 1, TRUE},
      {"random flows, 1024 hosts, leaves 1 : 1", "Full", 1024, 1, give_random, play_burst, 1, FALSE},
      {"the same, Lazy", "Lazy", 1024, 1, give_random, play_burst, 1, TRUE},
      {"all-to-all, 256 hosts", "Lazy", 256, 2, give_all_to_all, play_burst, 1, FALSE},
      {"ring all-reduce of 1 GiB, 64 hosts", "Lazy", 64, 2, give_ring, play_ring, 3, FALSE},
      {"ring all-reduce of 1 GiB, 256 hosts", "Lazy", 256, 2, give_ring, play_ring, 3, FALSE},
      {"ring all-reduce of 1 GiB, 1024 hosts", "Lazy", 1024, 2, give_ring, play_ring, 1, FALSE},
  };
  const gboolean all = argc == 2 && strcmp(argv[1], "--all") == 0;
  if (argc > 1 && !all) {
    fprintf(stderr, "usage: bench-simgrid [--all]\n");
    return 2;
  }
  Result *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    g_error("no memory to share with the children");
  bench_head("SimGrid, network model CM02");
  for (guint i = 0; i < G_N_ELEMENTS(loads); i++)
    if (all || !loads[i].is_long)
      bench(&loads[i], shared);
  return 0;
}
