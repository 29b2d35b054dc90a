/* SPDX-License-Identifier: MIT */
/* NCCL's search on machines drawn at random: channels are whole, links carry them, and the search's short cuts change
 * nothing. */
#include <math.h>

#include "coll-search.h"
#include "graphs.h"

#define END "[environment]\nplatform = infiniband\n"

static char *random_machine(GRand *random, guint32 *ret_gpus, gboolean *ret_nics) {
  static const char *const gpus[] = {"h100-sxm5-80gb", "a100-sxm4-80gb", "v100-sxm2-16gb", "b200-sxm-180gb"};
  static const char *const cpus[] = {"intel-spr", "intel-icelake", "amd-genoa", "arm-grace"};
  guint kind = (guint)g_rand_int_range(random, 0, 4), n = (guint)g_rand_int_range(random, 1, 9);
  guint nics = (guint)g_rand_int_range(random, 0, 9);
  GString *text = g_string_new(NULL);
  g_string_printf(text, "[node]\ngpu = %s\ngpus = %u\nintra = pcie4-x16\ncpu = %s\nnics = %u\nnic = %s\n" END,
                  gpus[kind], n, cpus[g_rand_int_range(random, 0, 4)], nics,
                  g_rand_boolean(random) ? "ib-ndr400" : "ib-edr100");
  guint switches = (guint)g_rand_int_range(random, 1, 5);
  g_autofree GString **lines = g_new(GString *, switches);
  for (guint i = 0; i < switches; i++) {
    lines[i] = g_string_new(NULL);
    gboolean nested = i > 0 && g_rand_int_range(random, 0, 3) == 0;
    g_string_printf(lines[i], "switch.%u = %s.%u:", i, nested ? "switch" : "socket",
                    nested ? (guint)g_rand_int_range(random, 0, (gint)i) : (guint)g_rand_int_range(random, 0, 2));
  }
  for (guint i = 0; i < n; i++)
    g_string_append_printf(lines[g_rand_int_range(random, 0, (gint)switches)], " gpu.%u", i);
  for (guint i = 0; i < nics; i++)
    g_string_append_printf(lines[g_rand_int_range(random, 0, (gint)switches)], " nic.%u", i);
  g_string_append(text, "[pci]\n");
  for (guint i = 0; i < switches; i++) {
    g_string_append_printf(text, "%s\n", lines[i]->str);
    g_string_free(lines[i], TRUE);
  }
  guint wiring = (guint)g_rand_int_range(random, 0, 3);
  if (wiring > 0 && n > 1)
    g_string_append(text, "[nvlink]\n");
  for (guint i = 0; wiring > 0 && n > 1 && i < n; i++) {
    guint peer = (i + 1 + (guint)g_rand_int_range(random, 0, (gint)n - 1)) % n;
    if (wiring == 1)
      g_string_append_printf(text, "gpu.%u = switch*18\n", i);
    else if (peer > i)
      g_string_append_printf(text, "gpu.%u = gpu.%u*%u\n", i, peer, 1 + (guint)g_rand_int_range(random, 0, 4));
  }
  *ret_gpus = n;
  *ret_nics = nics > 0;
  return g_string_free(text, FALSE);
}

/* What a channel takes of every link: `times` its rate along a path, with NCCL's extras. */
static void load_path(const CollSystem *system, double *load, guint32 from, guint32 to, double rate) {
  const CollPath *path = coll_system_path(system, from, to);
  gboolean intel = FALSE;
  for (guint32 i = 0; i < path->count; i++) {
    guint32 at = coll_system_link(system, g_array_index(system->hops, guint32, path->first + i))->to;
    intel |= system->parts[at].kind == COLL_PART_SOCKET;
  }
  intel &= system->cpu_intel && path->type == COLL_PATH_PHB && system->parts[from].kind == COLL_PART_GPU;
  for (guint32 i = 0; i < path->count; i++) {
    guint32 index = g_array_index(system->hops, guint32, path->first + i);
    const CollLink *link = coll_system_link(system, index);
    double taken = rate * (intel && link->type == COLL_PATH_PIX ? 1.2 : 1);
    load[index] += taken;
    if (system->parts[link->to].kind == COLL_PART_GPU && system->compute_capability < 80 &&
        system->parts[from].kind != COLL_PART_GPU)
      load[link->back] += taken / 8;
  }
}

static void load_graph(const CollSystem *system, const CollGraph *graph, double *load) {
  guint32 n = graph->gpus;
  for (guint32 channel = 0; channel < graph->channels; channel++) {
    const guint32 *order = graph->order + channel * n;
    for (guint32 i = 0; i + 1 < n; i++)
      load_path(system, load, order[i], order[i + 1], graph->intra);
    if (graph->nics == NULL) {
      if (graph->pattern == COLL_PATTERN_RING && n > 1)
        load_path(system, load, order[n - 1], order[0], graph->intra);
      continue;
    }
    guint32 in = coll_system_net(system, graph->nics[channel * 2]),
            out = coll_system_net(system, graph->nics[channel * 2 + 1]);
    load_path(system, load, in, order[0], graph->inter);
    if (graph->pattern == COLL_PATTERN_RING) {
      load_path(system, load, order[n - 1], out, graph->inter);
    } else if (graph->pattern == COLL_TREE_BALANCED) {
      load_path(system, load, order[0], out, graph->inter / 2);
      load_path(system, load, order[1], out, graph->inter / 2);
    } else {
      load_path(system, load, order[0], out, graph->inter);
    }
  }
}

/* The links that carry more than they have. */
static guint overloaded(const CollSystem *system, const CollGraph *graph) {
  g_autofree double *load = g_new0(double, system->links->len);
  guint over = 0;
  load_graph(system, graph, load);
  for (guint32 i = 0; i < system->links->len; i++)
    over += load[i] > (double)coll_system_link(system, i)->rate + 1000;
  return over;
}

static gboolean is_whole(const CollGraph *graph) {
  for (guint32 channel = 0; channel < graph->channels; channel++) {
    guint64 seen = 0;
    for (guint32 i = 0; i < graph->gpus; i++)
      seen |= G_GUINT64_CONSTANT(1) << graph->order[channel * graph->gpus + i];
    if (seen != (G_GUINT64_CONSTANT(1) << graph->gpus) - 1)
      return FALSE;
  }
  return graph->channels > 0;
}

static void channels_are_whole_and_links_carry_them(void) {
  GRand *random = harness_random();
  for (guint round = 0; round < 120; round++) {
    guint32 n;
    gboolean nics;
    g_autofree char *text = random_machine(random, &n, &nics);
    guint32 nodes = nics && g_rand_boolean(random) ? 2 : 1;
    g_auto(World) world = {0};
    const CollGraphs *graphs = world_build(&world, text, "", n, nodes, "2.30");
    g_autoptr(CollSystem) system =
        coll_system_new(world.machine.cluster->machine, &world.rules, &(CollView){world.gpus, n, nodes > 1, TRUE});
    for (guint kind = COLL_GRAPH_RING; kind <= COLL_GRAPH_TREE; kind++) {
      const CollGraph *graph = &graphs->graph[kind];
      gboolean fell_back = graph->intra == (double)world.rules.fallback;
      guint over = overloaded(system, graph);
      if (!is_whole(graph) || (over > 0 && !fell_back))
        printf("\n    round %u, graph %u: %u links over\n%s", round, kind, over, text);
      CU_ASSERT_TRUE(is_whole(graph));
      CU_ASSERT_TRUE(over == 0 || fell_back);
      /* The check can fail: at four times the speed of everything some link must give way (unless all is local). */
      CollGraph faster = *graph;
      faster.intra *= 1000;
      faster.inter *= 1000;
      CU_ASSERT_TRUE(overloaded(system, &faster) > 0 || n == 1 || fell_back);
    }
  }
  g_rand_free(random);
}

/* With and without the bound: the same drafts, to the order of every channel, unless NCCL's steps run out before it has
 * tried all speeds. */
static void short_cuts_change_nothing(void) {
  GRand *random = harness_random();
  guint compared = 0;
  for (guint round = 0; round < 20; round++) {
    guint32 n;
    gboolean nics;
    g_autofree char *text = random_machine(random, &n, &nics);
    g_auto(World) world = {0};
    world_build(&world, text, "", n, 1, "2.30");
    g_autoptr(CollSystem) system =
        coll_system_new(world.machine.cluster->machine, &world.rules, &(CollView){world.gpus, n, nics, TRUE});
    guint32 rings = 0;
    for (guint tree = 0; tree < 2; tree++) {
      CollSearchTask task = {tree ? COLL_TREE_BALANCED : COLL_PATTERN_RING, tree ? rings : 1, tree ? rings : 32, 2,
                             FALSE};
      CollDraft quick, plain;
      coll_search(system, &world.rules, &task, &quick);
      task.plain = TRUE;
      coll_search(system, &world.rules, &task, &plain);
      rings = quick.channels;
      gboolean same = quick.channels == plain.channels && quick.intra == plain.intra && quick.inter == plain.inter &&
                      quick.type_intra == plain.type_intra && quick.type_inter == plain.type_inter &&
                      quick.pattern == plain.pattern && quick.cross_nic == plain.cross_nic &&
                      quick.same == plain.same &&
                      memcmp(quick.order, plain.order, quick.channels * n * sizeof *quick.order) == 0;
      same |= plain.ran_out;
      compared += !plain.ran_out;
      if (!same)
        printf("\n    round %u, %s: %u x %g/%g %s/%s %u against %u x %g/%g %s/%s %u\n%s", round, tree ? "tree" : "ring",
               quick.channels, (double)quick.intra / 1e9, (double)quick.inter / 1e9, coll_path_names[quick.type_intra],
               coll_path_names[quick.type_inter], quick.cross_nic, plain.channels, (double)plain.intra / 1e9,
               (double)plain.inter / 1e9, coll_path_names[plain.type_intra], coll_path_names[plain.type_inter],
               plain.cross_nic, text);
      CU_ASSERT_TRUE(same);
      coll_draft_clear(&quick);
      coll_draft_clear(&plain);
    }
    for (guint32 i = 0; i < system->links->len; i++)
      CU_ASSERT_EQUAL(coll_system_link(system, i)->free, coll_system_link(system, i)->rate);
  }
  CU_ASSERT_TRUE(compared > 25);
  g_rand_free(random);
}

#define PAIR                                                                                                           \
  "[node]\ngpu = a100-sxm4-80gb\ngpus = 2\nintra = pcie4-x16\ncpu = intel-icelake\nnic = ib-hdr200\nnics = 2\n" END    \
  "[pci]\nswitch.0 = socket.0: gpu.0 nic.0\nswitch.1 = socket.0: gpu.1 nic.1\n[nvlink]\ngpu.0 = gpu.1*12\n"

/* Two functions of a card, one to each GPU. With ports of their own, 25 GB/s each, there is a ring of 24 (NCCL's
 * ladder) over each; with one port, one ring. Counted down in whole GB/s, as NCCL counts: a port of 4.5 has room for
 * two of 2.4, where no two of the ladder's next, 3, find it. A port that is slower than one GB/s is not counted down:
 * its own link has room for five of 0.12 in 0.6, ten over both, which are more than four of 0.24. */
static void ports_are_shared(void) {
  static const struct {
    const char *nics;
    guint32 channels;
    double speed; /* GB/s */
  } cases[] = {
      {"nic.0 = card:0\nnic.1 = card:1\n", 2, 24},
      {"nic.0 = card:0\nnic.1 = card:0\n", 1, 24},
      {"nic.0 = card:0 port:0\nnic.1 = card:0 port:1\n", 2, 24},
      {"nic.0 = card:0 rate:4.5GB/s\nnic.1 = card:0 rate:4.5GB/s\n", 2, 2.4},
      {"nic.0 = card:0 rate:0.6GB/s\nnic.1 = card:1 rate:0.6GB/s\n", 10, 0.12},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    for (guint plain = 0; plain < 2; plain++) {
      g_auto(World) world = {0};
      g_autofree char *text = g_strconcat(PAIR, "[nics]\n", cases[i].nics, NULL);
      world_build(&world, text, "cluster.nodes=2", 2, 2, "2.30");
      g_autoptr(CollSystem) system =
          coll_system_new(world.machine.cluster->machine, &world.rules, &(CollView){world.gpus, 2, TRUE, TRUE});
      CollDraft draft;
      coll_search(system, &world.rules, &(CollSearchTask){COLL_PATTERN_RING, 1, 32, 2, plain}, &draft);
      if (draft.channels != cases[i].channels || draft.inter != llround(cases[i].speed * 1e9))
        printf("\n    case %zu, %s: %u x %g\n", i, plain ? "plain" : "quick", draft.channels,
               (double)draft.inter / 1e9);
      CU_ASSERT_EQUAL(draft.channels, cases[i].channels);
      CU_ASSERT_EQUAL(draft.inter, llround(cases[i].speed * 1e9));
      coll_draft_clear(&draft);
    }
}

#define UNEVEN                                                                                                         \
  "[node]\ngpu = a100-pcie-80gb\ngpus = 4\nintra = pcie4-x16\ncpu = intel-icelake\nnic = ib-edr100\nnics = 1\n" END    \
  "[pci]\nswitch.0 = socket.0: gpu.0 gpu.1@x8 nic.0\nswitch.1 = switch.0: gpu.2 gpu.3@x8\n"

/* The NIC's 12.5 GB/s and the 12 of eight lanes are both 12 whole ones: then the wider PCI link comes before the
 * shorter way (NCCL's order of comparison, src/graph/search.cc: cmpScore), and at last, of two with eight lanes, the
 * shorter. */
static void wider_links_come_first(void) {
  static const guint32 expected[] = {2, 1, 3};
  g_auto(World) world = {0};
  world_build(&world, UNEVEN, "cluster.nodes=2", 4, 2, "2.30");
  g_autoptr(CollSystem) system =
      coll_system_new(world.machine.cluster->machine, &world.rules, &(CollView){world.gpus, 4, TRUE, TRUE});
  CU_ASSERT_EQUAL(coll_system_path(system, coll_system_net(system, 0), 1)->rate, 12000000000);
  CU_ASSERT_EQUAL(coll_system_path(system, coll_system_net(system, 0), 2)->rate, 12500000000);
  guint64 used[4] = {1};
  guint32 nets[2] = {0};
  CollSearch search = {.system = system, .rules = &world.rules, .used = used, .draft.nets = nets};
  search.stack = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (gint look = -1; look <= 1; look += 2) {
    g_array_set_size(search.stack, 0);
    CU_ASSERT_EQUAL(coll_search_next(&search, 0, look), 3);
    for (guint i = 0; i < 3; i++)
      CU_ASSERT_EQUAL(g_array_index(search.stack, guint32, i), expected[i]);
  }
  g_array_unref(search.stack);
}

int main(void) {
  return harness_run("coll-search", (HarnessCase[]){{"channels are whole and links carry them",
                                                     channels_are_whole_and_links_carry_them},
                                                    {"short cuts change nothing", short_cuts_change_nothing},
                                                    {"ports are shared", ports_are_shared},
                                                    {"wider links come first", wider_links_come_first},
                                                    {NULL, NULL}});
}
